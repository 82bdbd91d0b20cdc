"""A kind of dataclasses: the standard library's, and pydantic's."""

# +groupName=toys.example.com

import dataclasses
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import Annotated, ClassVar

from annotated_types import Ge
from pydantic.dataclasses import dataclass as checked

from olmkit.runtime import ObjectMeta


@checked
class Part:
    """Part of a toy."""

    some_value: int = 1


@dataclass(kw_only=True)
class ToySpec:
    """ToySpec is what is wanted."""

    count: Annotated[int, Ge(1)]
    """Words of count."""
    name: str = "x"
    parts: list[Part] = field(default_factory=list)
    given: int = dataclasses.field(default=5)
    start: InitVar[int] = 3
    LIMIT: ClassVar[int] = 4
    _: KW_ONLY
    later: int | None = None


@dataclass
class Toy:
    """Toy to play with."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    spec: ToySpec
