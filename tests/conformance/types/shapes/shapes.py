"""One kind that uses most forms of types and markers."""

# +groupName=shapes.example.com
# +versionName=v1

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Annotated, Literal, NewType

from annotated_types import Gt, MinLen
from pydantic import BaseModel, Field

from olmkit.runtime.kinds import (
    Condition,
    CustomResource,
    Int32,
    Int64,
    IntOrString,
    Quantity,
    RawExtension,
)


class Colour(StrEnum):
    """Colour is what a side is painted in."""

    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    """Level counts."""

    LOW = 1
    HIGH = 2


# Name is a short text.
# +kubebuilder:validation:MinLength=4
# +kubebuilder:validation:Pattern=`^[a-z]+$`
Name = NewType("Name", str)


@dataclass
class Side:
    """Side is one side of a shape."""

    length: Annotated[Int64, Gt(0)]
    """Length in millimetres."""

    # +kubebuilder:validation:MinLength=2
    name: Name

    colour: Colour = Colour.RED
    inner: Corner | None = None


# +kubebuilder:validation:AtMostOneOf=degrees;radians
# +kubebuilder:validation:XValidation:rule="self.degrees < 360",message="too far"
class Corner(BaseModel):
    """Corner is where two sides meet."""

    degrees: Int32 | None = None
    radians: str | None = None


class Common(BaseModel):
    """Common is shared by shapes."""

    title: str = Field(title="The title", examples=["Square"])
    """Title of the shape."""

    # +k8s:immutable
    serial: str | None = None


class ShapeSpec(Common):
    """ShapeSpec says what a shape is like.

    It has two paragraphs.
    """

    # +listType=map
    # +listMapKey=name
    sides: Annotated[list[Side], Field(min_length=3, max_length=12)]
    """Sides, each with a different name."""

    by_colour: dict[str, Side] = {}

    # +kubebuilder:validation:items:MaxLength=10
    tags: set[str] = set()

    labels: dict[str, str] | None = None
    level: Level | None = None

    # +nullable
    weight: Quantity | None = None

    port: int | str | None = None
    since: datetime | None = None
    wait: timedelta | None = None
    data: bytes | None = None
    extra: RawExtension | None = None

    owner: Annotated[str, MinLen(1)]

    counts: dict[str, int] = {"a": 1}
    numbers: list[int] = [1, 2]
    priority: Literal["low", "high"] = "low"

    # +kubebuilder:validation:Format=uri
    # +kubebuilder:externalDocs:url=https://example.com,description="More of it."
    link: str | None = None

    on: bool | None = None


class ShapeStatus(BaseModel):
    """ShapeStatus says how a shape does."""

    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] = []


# +kubebuilder:subresource:status
# +kubebuilder:subresource:scale:specpath=.spec.replicas,statuspath=.status.replicas
# +kubebuilder:resource:path=shapes,shortName=sh;shp,categories=all,scope=Cluster
# +kubebuilder:printcolumn:name=Title,type=string,JSONPath=.spec.title,priority=1
# +kubebuilder:selectablefield:JSONPath=.spec.title
# +kubebuilder:metadata:labels=made=here,annotations="a.b/c=d"
class Shape(CustomResource):
    """Shape has sides."""

    spec: ShapeSpec
    status: ShapeStatus | None = None


Port = IntOrString
