"""Toys with every kind of fault."""

# +groupName=toys.example.com
# +kubebuilder:rbac:groups=toys.example.com,resources=toys,verb=get

from enum import Enum
from typing import Annotated, Any, Generic, Literal

from annotated_types import Ge, MinLen

from olmkit.runtime import CustomResource, Int32, Model
from toy.parts import Wheel


class Kind(Enum):
    SOME = object()


class Node(Model):
    next: "Node"


class ToySpec(Model):
    # +kubebuilder:validation:Pattern=`[a-z
    name: str

    # +kubebuilder:validation:maximum=5
    size: int

    # +kubebuilder:validation:MaxLength=5
    count: Annotated[Int32, Ge(1)] = "one"

    # +kubebuilder:validation:Minimum=1
    limit: Annotated[int, Ge(2)]

    anything: Any
    price: float
    wheel: Wheel
    kind: Kind
    node: Node
    short: Annotated[int, MinLen(2)]
    same_name: int
    sameName: int
    colour: Literal["red"]  # +optional
    plain = 1


# +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get
# +kubebuilder:metadata:labels=none
# +kubebuilder:resource:scope=World
class Toy(CustomResource):
    """A toy.

    +kubebuilder:subresource:status
    """

    spec: ToySpec
