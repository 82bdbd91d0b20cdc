"""The kind `Memcached`, with the field names of other scalable kinds.

The operator works with v1alpha1, which is stored; `memcached_operator.conversions` converts
between both.
"""

from typing import Annotated, ClassVar

from annotated_types import Ge, Le
from olmkit.runtime import GVK, Condition, CustomResource, Int32, Int64, Model
from pydantic import Field


class MemcachedSpec(Model):
    """MemcachedSpec defines the desired state of Memcached."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Replicas",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
    replicas: Annotated[Int32, Ge(1), Le(5)] = 1
    """Number of Memcached pods."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
    port: Annotated[Int32, Ge(1), Le(65535)] = 11211
    """Port on which Memcached listens inside its container."""


class MemcachedPod(Model):
    """MemcachedPod is one of the pods that run Memcached."""

    name: str
    """Name of the pod."""


class MemcachedStatus(Model):
    """MemcachedStatus defines the observed state of Memcached."""

    # +listType=map
    # +listMapKey=type
    # +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
    conditions: list[Condition] = Field(default_factory=list)
    """What is known about this Memcached: Available, Progressing and Degraded."""

    # +listType=map
    # +listMapKey=name
    # +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Pods"
    pods: list[MemcachedPod] = Field(default_factory=list)
    """The pods that run Memcached, by name."""

    observed_generation: Int64 | None = None
    """The generation of the object that this status describes."""

    replicas: Int32 | None = None
    """How many pods the Deployment has."""

    ready_replicas: Int32 | None = None
    """How many of them are ready."""

    selector: str | None = None
    """Which labels the pods have, for autoscalers."""


# +kubebuilder:subresource:status
# +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas,selectorpath=.status.selector
# +kubebuilder:printcolumn:name="Replicas",type="integer",JSONPath=".spec.replicas"
# +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas"
# +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
# +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
# +operator-sdk:csv:customresourcedefinitions:displayName="Memcached",resources={{Deployment,v1,""},{Service,v1,""},{Pod,v1,""}}
class Memcached(CustomResource):
    """Memcached is a cache that runs as a Deployment."""

    gvk: ClassVar[GVK] = GVK(group="cache.example.com", version="v1beta1", kind="Memcached")

    spec: MemcachedSpec
    """What is wanted."""

    status: MemcachedStatus | None = None
    """What there is."""
