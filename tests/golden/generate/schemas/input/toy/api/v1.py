"""Toys whose schemas no API server takes, or nothing fits."""

# +groupName=toys.example.com

from typing import Annotated, Literal

from annotated_types import Ge, Le, Len
from pydantic import Field

from olmkit.runtime import CustomResource, Model


class Part(Model):
    name: str | None = None
    label: str
    size: Annotated[int, Field(ge=3, lt=3)]


class ToySpec(Model):
    range: Annotated[int, Ge(5), Le(3)]
    size: Annotated[str, Len(4, 2)] = "abc"
    names: Annotated[list[str], Field(min_length=2, max_length=1)]
    pattern: Annotated[str, Field(pattern="^(?=a)")]
    low: Annotated[int, Ge(5)] = 1
    short: Annotated[str, Field(max_length=2)] = "long"
    letters: Annotated[str, Field(pattern="^[a-z]+$")] = "A1"

    # +kubebuilder:validation:Pattern="[a-z"
    marked: str

    # +kubebuilder:validation:MaxLength=-1
    negative: str

    # +kubebuilder:default="c"
    colour: Literal["a", "b"]

    # +kubebuilder:default={label: x, other: y}
    part: Part

    # +kubebuilder:validation:items:Pattern="*"
    patterns: list[str]

    # +kubebuilder:validation:UniqueItems=true
    unique: list[str]

    # +listType=map
    # +listMapKey=name
    parts: list[Part]

    # +kubebuilder:validation:Schemaless
    free: dict[str, str]

    # +kubebuilder:validation:XValidation:rule="self > 0"
    # +kubebuilder:validation:XValidation:rule="self >"
    ruled: int


# +kubebuilder:resource:shortName=Toy;t_y,categories="a b",singular=One
# +kubebuilder:subresource:scale:specpath=.spec[0],statuspath=.spec.a,selectorpath=.metadata.b
# +kubebuilder:printcolumn:name=A,type=text,JSONPath=spec.size,format=f
# +kubebuilder:selectablefield:JSONPath=.spec.size
# +kubebuilder:selectablefield:JSONPath=.spec.size
# +kubebuilder:selectablefield:JSONPath=.metadata.name
# +kubebuilder:deprecatedversion:warning="two\nlines"
class Toy(CustomResource):
    """A toy."""

    spec: ToySpec
