"""The kind `Bucket`.

`olmkit generate` reads this file as text: the CRD, the descriptors in the CSV and
their texts come from the classes, their docstrings and the marker comments.
"""

from typing import ClassVar

from olmkit.runtime import GVK, CustomResource, Int32, Int64, Model


class BucketSpec(Model):
    """BucketSpec defines the desired state of Bucket."""

    # +kubebuilder:validation:Minimum=1
    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Size"
    size: Int32 = 1
    """The size in GiB."""


class BucketStatus(Model):
    """BucketStatus defines the observed state of Bucket."""

    # +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Address"
    address: str | None = None
    """Where the bucket is."""

    observed_generation: Int64 = 0
    """The generation of the spec that this status describes."""


# +kubebuilder:subresource:status
# +kubebuilder:printcolumn:name="Address",type=string,JSONPath=".status.address"
# +operator-sdk:csv:customresourcedefinitions:displayName="Bucket"
class Bucket(CustomResource):
    """Bucket is a bucket in the store."""

    gvk: ClassVar[GVK] = GVK(group="storage.example.com", version="v1", kind="Bucket")

    spec: BucketSpec
    """What is wanted."""

    status: BucketStatus | None = None
    """What there is."""
