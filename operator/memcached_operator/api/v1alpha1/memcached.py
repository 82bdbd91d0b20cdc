"""The kind `Memcached`.

`olmkit generate` reads this file as text. It derives the CRD, the descriptors in the CSV and
their descriptions from the classes, their docstrings and the marker comments.
"""

from typing import Annotated, ClassVar

from annotated_types import Ge, Le
from olmkit.runtime import GVK, Condition, CustomResource, Int32, Int64, Model
from pydantic import Field


class MemcachedSpec(Model):
    """MemcachedSpec defines the desired state of Memcached."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podCount"}
    size: Annotated[Int32, Ge(1), Le(5)] = 1
    """Number of Memcached pods."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Container port",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:number"}
    container_port: Annotated[Int32, Ge(1), Le(65535)] = 11211
    """Port on which Memcached listens inside its container."""


class MemcachedStatus(Model):
    """MemcachedStatus defines the observed state of Memcached."""

    # +listType=map
    # +listMapKey=type
    # +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
    conditions: list[Condition] = Field(default_factory=list)
    """What is known about this Memcached: Available, Progressing and Degraded."""

    # +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Nodes",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:podStatuses"}
    nodes: list[str] = Field(default_factory=list)
    """Names of the pods that run Memcached, sorted."""

    observed_generation: Int64 | None = None
    """The generation of the object that this status describes."""

    replicas: Int32 | None = None
    """How many pods the Deployment has."""

    ready_replicas: Int32 | None = None
    """How many of them are ready."""

    selector: str | None = None
    """Which labels the pods have, for autoscalers."""


# +kubebuilder:storageversion
# +kubebuilder:subresource:status
# +kubebuilder:subresource:scale:specpath=.spec.size,statuspath=.status.replicas,selectorpath=.status.selector
# +kubebuilder:printcolumn:name="Size",type="integer",JSONPath=".spec.size"
# +kubebuilder:printcolumn:name="Ready",type="integer",JSONPath=".status.readyReplicas"
# +kubebuilder:printcolumn:name="Available",type="string",JSONPath=".status.conditions[?(@.type=='Available')].status"
# +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp"
# +operator-sdk:csv:customresourcedefinitions:displayName="Memcached",resources={{Deployment,v1,""},{Service,v1,""},{Pod,v1,""}}
class Memcached(CustomResource):
    """Memcached is a cache that runs as a Deployment."""

    gvk: ClassVar[GVK] = GVK(group="cache.example.com", version="v1alpha1", kind="Memcached")

    spec: MemcachedSpec
    """What is wanted."""

    status: MemcachedStatus | None = None
    """What there is."""
