"""A kind that uses all that can be said with pydantic."""

# +groupName=toys.example.com

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping, Sequence
from enum import Enum, IntEnum, StrEnum
from typing import Annotated, Any, ClassVar, Literal, NewType, Optional, TypeAlias, Union

from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MaxLen, MinLen, MultipleOf
from pydantic import ConfigDict, Field, HttpUrl, PositiveInt, StringConstraints, conint, conlist

from olmkit.runtime import (
    JSON,
    Condition,
    CustomResource,
    Duration,
    Int32,
    Int64,
    IntOrString,
    MicroTime,
    Model,
    ObjectMeta,
    Quantity,
    RawExtension,
    Time,
)

Port = Annotated[int, Ge(1), Le(65535)]

# +kubebuilder:validation:MinLength=1
Name = NewType("Name", str)

Names: TypeAlias = list[Name]


class Color(StrEnum):
    """Values in the order of their definition."""

    RED = "red"
    BLUE = "blue"
    GREEN = enum.auto()


# +k8s:enum
class Sorted(StrEnum):
    Z = "z"
    A = "a"


class Level(IntEnum):
    LOW = 1
    HIGH = 3


class Mixed(str, Enum):
    A = "a"


class Base(Model):
    """Base has what others share."""

    shared: str = "x"
    """Shared by all."""


class Node(Base):
    """Node is one of many."""

    name: Name
    port: Port = 80
    weight: Annotated[int, Gt(0), Lt(100), MultipleOf(5)] | None = None


# +kubebuilder:validation:ExactlyOneOf=left;right
class Either(Model):
    left: str | None = None
    right: str | None = None


# +kubebuilder:validation:XValidation:rule="self.count >= 0",message="count must not be negative"
class ToySpec(Base):
    """ToySpec has everything."""

    model_config = ConfigDict(extra="allow")
    KIND: ClassVar[str] = "x"
    _private: int = 0

    flag: bool = True
    text: Annotated[str, MinLen(1), MaxLen(20)] = "it's"
    said: str = Field(pattern=r"^[a-z]+$", description="Said by Field.", title="T", examples=["a"])
    blob: bytes = b""
    count: int
    small: Int32 = 3
    big: Int64 | None = None
    when: datetime.datetime | None = None
    moment: Time | None = None
    micro: Optional[MicroTime] = None
    span: datetime.timedelta | None = None
    go_span: Duration = "1m"
    amount: Quantity = "100Mi"
    either_way: IntOrString = 8080
    number_or_name: int | str = "http"
    older_union: Union[int, str, None] = None
    raw: RawExtension | None = None
    meta: ObjectMeta | None = None
    # +kubebuilder:pruning:PreserveUnknownFields
    anything: Any = None
    json_: JSON = Field(None, alias="json")
    many: list[Node] = Field(default_factory=list, min_length=1, max_length=10)
    several: tuple[int, ...] = ()
    sequence: Sequence[str] = ()
    tags: set[str] = set()
    numbers: frozenset[Int32] = frozenset()
    labels: dict[str, str] = {}
    by_key: Mapping[Name, Node] = Field(default_factory=dict, max_length=3)
    in_lists: dict[str, list[dict[str, int]]] = {}
    color: Color = Color.RED
    sorted_: Sorted | None = Field(None, alias="sorted")
    level: Level = Level.LOW
    mixed: Mixed | None = None
    literal: Literal["a", "b"] = "a"
    number: Literal[1, 2] | None = None
    nested: Node | None = None
    either: Either | None = None
    strict: Annotated[str, StringConstraints(min_length=2, pattern="^x")] = "xx"
    between: Annotated[int, Interval(ge=1, lt=5)] = 1
    some: Annotated[list[str], Len(1, 4)] = ["a"]
    names: Names = []
    positive: PositiveInt = 1
    counted: conint(ge=1, le=9) = 2
    short_list: conlist(str, max_length=2) = ["a"]
    home: HttpUrl | None = None
    aliased: str = Field("x", alias="otherName")
    written: str = Field("x", serialization_alias="thirdName", validation_alias="thirdName")
    secret: str = Field("x", exclude=True)

    # +nullable
    nullable: str | None = None

    # +kubebuilder:default=7
    marked: int = 5

    # +olmkit:nodefault
    undefaulted: int = 5

    # +optional
    optional_by_marker: str

    # +required
    required_by_marker: str = "x"

    # +listType=map
    # +listMapKey=name
    by_name: list[Node] = []

    # +listType=atomic
    # +kubebuilder:validation:items:MaxLength=3
    whole: list[str] = []

    # +mapType=atomic
    whole_map: dict[str, str] = {}

    # +kubebuilder:validation:EmbeddedResource
    # +kubebuilder:pruning:PreserveUnknownFields
    embedded: RawExtension | None = None

    # +kubebuilder:validation:XValidation:rule="self > 1",message="more"
    # +k8s:immutable
    cel: int = 2

    # +kubebuilder:validation:Schemaless
    # +kubebuilder:pruning:PreserveUnknownFields
    schemaless: "SomethingElse | complex" = None

    # +kubebuilder:example={a: 1}
    # +kubebuilder:title="A title"
    # +kubebuilder:externalDocs:url="https://example.com/x",description="more"
    documented: dict[str, int] | None = None

    @property
    def own(self) -> int:
        """No field."""
        return 1


class ToyStatus(Model):
    # +listType=map
    # +listMapKey=type
    conditions: list[Condition] = Field(default_factory=list)
    # A comment that is documentation.
    replicas: int | None = None
    selector: str | None = None


# +kubebuilder:resource:shortName=ty,categories=all,singular=toy
# +kubebuilder:subresource:status
# +kubebuilder:subresource:scale:specpath=.spec.count,statuspath=.status.replicas,selectorpath=.status.selector
# +kubebuilder:printcolumn:name=Count,type=integer,JSONPath=.spec.count,priority=1
# +kubebuilder:selectablefield:JSONPath=.spec.text
# +kubebuilder:metadata:labels="a=b",annotations="c=d"
class Toy(CustomResource):
    """Toy is all of it."""

    spec: ToySpec
    status: ToyStatus | None = None
