"""A kind of msgspec's structs."""

# +groupName=toys.example.com

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from olmkit.runtime import ObjectMeta


class Part(Struct, rename="kebab"):
    """Part of a toy."""

    some_size: int = 1


class ToySpec(Struct, rename="camel", kw_only=True):
    """ToySpec is what is wanted."""

    count: Annotated[int, Meta(ge=1, description="Words.", title="T", examples=[3])]
    some_name: Annotated[str, Meta(max_length=4, pattern="^a")] = "a"
    parts: list[Part] = []
    later: int | UnsetType = UNSET
    wire: int = msgspec.field(default=4, name="theWire")
    made: list[str] = msgspec.field(default_factory=list)


class Toy(msgspec.Struct):
    """Toy to play with."""

    api_version: str
    kind: str
    metadata: ObjectMeta
    spec: ToySpec
