"""A kind of attrs' classes, in its newer and its older spelling."""

# +groupName=toys.example.com

from typing import Annotated

import attr
import attrs
from annotated_types import Ge
from attrs import define, frozen

from olmkit.runtime import ObjectMeta


@attr.s(auto_attribs=True)
class Part:
    """Part of a toy."""

    size: int = attr.ib(default=3)


@define
class ToySpec:
    """ToySpec is what is wanted."""

    count: Annotated[int, Ge(1)]
    name: str = "x"
    parts: list[Part] = attrs.field(factory=list)
    later: int | None = None
    named: int = attrs.field(default=5, alias="other")
    made: list[str] = attrs.Factory(list)


@frozen
class Toy:
    """Toy to play with."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    spec: ToySpec
