"""The kind `Toy`.

`olmkit generate` reads this file as text. It derives the CRD, the descriptors in the CSV and
their descriptions from the classes, their docstrings and the marker comments.
"""

from typing import ClassVar

from olmkit.runtime import GVK, Condition, CustomResource, Model
from pydantic import Field


class ToySpec(Model):
    """ToySpec defines the desired state of Toy."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Foo"
    foo: str | None = None
    """An example field; change it, and run `olmkit generate`."""


class ToyStatus(Model):
    """ToyStatus defines the observed state of Toy."""

    # +listType=map
    # +listMapKey=type
    # +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
    conditions: list[Condition] = Field(default_factory=list)
    """What is known about this Toy."""


# +kubebuilder:subresource:status
# +operator-sdk:csv:customresourcedefinitions:displayName="Toy"
class Toy(CustomResource):
    """Toy is the Schema for the toys API."""

    gvk: ClassVar[GVK] = GVK(group="toys.example.com", version="v1alpha1", kind="Toy")

    spec: ToySpec
    """What is wanted."""

    status: ToyStatus | None = None
    """What there is."""
