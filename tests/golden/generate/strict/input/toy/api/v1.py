"""Toys."""

# +groupName=toys.example.com
# +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get;list;watch
# +kubebuilder:rbac:groups=toys.example.com,resources=toys/status,verbs=get;patch;update

from enum import StrEnum
from typing import Annotated

from annotated_types import Ge

from olmkit.runtime import CustomResource, Model


class Colour(StrEnum):
    """What it is painted in."""

    RED = "red"
    BLUE = "blue"


class ToySpec(Model):
    """What is wanted."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Price"
    price: Annotated[int, Ge(0)]
    """In cents."""

    colour: Colour = Colour.RED


# +kubebuilder:subresource:statuss
# +kubebuilder:printcolumn:name=Price,type=integer,JSONPath=.spec.price
# +operator-sdk:csv:customresourcedefinitions:displayName="A toy",resources={{Deployment,v1}}
class Toy(CustomResource):
    """Something to play with."""

    spec: ToySpec
