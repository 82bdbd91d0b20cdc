"""Random models as source text, and random objects that match them or almost do.

Excluded values are those that differ by rule, as `docs/how-to/python-types.md` says: null,
strings for numbers, `true` for 1, whole numbers as 3.0, repeated items of a set, bytes,
quantities and times.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

HEAD = """\
# +groupName=random.example.com
from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Annotated, ClassVar, Literal, Optional

from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, MinLen, MultipleOf
from pydantic import Field, PositiveInt, conint, conlist, constr

from olmkit.kube.objects import GVK
from olmkit.runtime.kinds import CustomResource, Int32, Int64, Model


"""
_WRONG = st.sampled_from([False, 1.5, "", "zz", -1000, 1000, [], {}, [1], {"a": 1}])


def _usually(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Values of a type, and sometimes another value."""
    return st.integers(0, 30).flatmap(lambda chance: values if chance else _WRONG)


_NAMES = ("one", "two_words", "three", "fourth_field", "five")


@dataclass(frozen=True)
class RandomType:
    """A type as text, objects of it, and a literal default or None."""

    text: str
    values: st.SearchStrategy[Any]
    default: str | None = None


@dataclass
class Author:
    """Writes classes as they are needed; each has a different name."""

    draw: Any
    classes: list[str] = field(default_factory=list)

    def pick(self, *choices: Any) -> Any:
        return self.draw(st.sampled_from(choices))

    def scalar(self) -> RandomType:
        return self.pick(
            self._integer, self._text, self._flag, self._literal, self._enum, self._number
        )()

    def any(self, depth: int) -> RandomType:
        if depth == 0:
            return self.scalar()
        return self._nested(depth)

    def _nested(self, depth: int) -> RandomType:
        kind = self.pick("scalar", "scalar", "list", "map", "set", "model")
        match kind:
            case "list":
                return self._list(depth)
            case "map":
                inner = self.any(depth - 1)
                keys = st.sampled_from(["a", "b", "c"])
                return RandomType(
                    f"dict[str, {inner.text}]", st.dictionaries(keys, inner.values, max_size=2)
                )
            case "set":
                inner = self.pick(self._integer, self._text)()
                values = st.lists(inner.values, max_size=3, unique_by=repr)
                return RandomType(f"set[{inner.text}]", values)
            case "model":
                return self.model(depth - 1)
            case _:
                return self.scalar()

    def _list(self, depth: int) -> RandomType:
        inner = self.any(depth - 1)
        least = self.pick(0, 0, 1)
        limit = {0: "MaxLen(2)", 1: "Len(1, 2)"}[least]
        text = self.pick(
            f"list[{inner.text}]",
            f"Annotated[list[{inner.text}], {limit}]",
            f"conlist({inner.text}, min_length={least}, max_length=2)",
            f"tuple[{inner.text}, ...]",
        )
        return RandomType(text, st.lists(inner.values, max_size=3))

    def model(self, depth: int) -> RandomType:
        """A separate class, with some of the fields required."""
        lines: list[str] = []
        required: dict[str, st.SearchStrategy[Any]] = {}
        optional: dict[str, st.SearchStrategy[Any]] = {}
        for name in _NAMES[: self.draw(st.integers(1, len(_NAMES)))]:
            drawn = self.any(depth)
            json_name = "".join(
                part.capitalize() if index else part for index, part in enumerate(name.split("_"))
            )
            alias = self.pick("", "", f"{json_name}Alias")
            said = f'alias="{alias}"' if alias else ""
            default = self.pick("", "None", drawn.default or "")
            annotation = f"{drawn.text} | None" if default == "None" else drawn.text
            if drawn.text.startswith("con"):
                annotation = f"Optional[{drawn.text}]" if default == "None" else drawn.text
            value = ", ".join(part for part in (default and f"default={default}", said) if part)
            lines.append(f"    {name}: {annotation}" + (f" = Field({value})" if value else ""))
            (optional if default else required)[alias or json_name] = drawn.values
        name = f"Model{len(self.classes)}"
        self.classes.append(f"class {name}(Model):\n" + "\n".join(lines) + "\n")
        whole = st.fixed_dictionaries(required, optional=optional)
        some = st.fixed_dictionaries({}, optional=required | optional)
        return RandomType(name, _usually(st.one_of(whole, whole, whole, whole, some)))

    def _integer(self) -> RandomType:
        low = self.draw(st.integers(-9, 8))
        high = self.draw(st.integers(low + 1, 9))  # limits that no value satisfies are refused
        text = self.pick(
            "int",
            "Int32",
            "Int64",
            "PositiveInt",
            f"Annotated[int, Ge({low}), Le({high})]",
            f"Annotated[Int32, Gt({low}), Lt({high})]",
            f"conint(ge={low}, lt={high})",
            "Annotated[int, MultipleOf(3)]",
        )
        values = _usually(st.integers(-10, 10))
        return RandomType(text, values, "3" if text in ("int", "Int32", "PositiveInt") else None)

    def _number(self) -> RandomType:
        text = self.pick("float", "Annotated[float, Ge(-1.5), Lt(2.5)]")
        values = _usually(st.one_of(st.sampled_from([-2.5, -1.5, 0.25, 2.5]), st.integers(-3, 3)))
        return RandomType(text, values, "0.5")

    def _text(self) -> RandomType:
        text = self.pick(
            "str",
            "Annotated[str, MinLen(1), MaxLen(3)]",
            'Annotated[str, Field(pattern="^[ab]+$")]',
            "constr(min_length=2)",
        )
        values = _usually(st.text(alphabet="abü€😀", max_size=4))
        return RandomType(text, values, '"ab"')

    def _flag(self) -> RandomType:
        return RandomType("bool", _usually(st.booleans()), "True")

    def _literal(self) -> RandomType:
        if self.draw(st.booleans()):
            return RandomType('Literal["x", "y"]', _usually(st.sampled_from("xyz")), '"x"')
        return RandomType("Literal[1, 2]", _usually(st.integers(0, 3)), "2")

    def _enum(self) -> RandomType:
        name = f"Choice{len(self.classes)}"
        if self.draw(st.booleans()):
            self.classes.append(f'class {name}(StrEnum):\n    A = "a"\n    B = "b"\n')
            return RandomType(name, _usually(st.sampled_from("abc")))
        self.classes.append(f"class {name}(IntEnum):\n    A = 1\n    B = 5\n")
        return RandomType(name, _usually(st.sampled_from([1, 2, 5])))


@dataclass(frozen=True)
class World:
    """Return the source of a kind `Thing`, and objects for its spec."""

    source: str
    specs: list[Any]


@st.composite
def worlds(draw: Any, *, specs: int = 12) -> World:
    author = Author(draw)
    spec = author.model(2)
    values = [draw(spec.values) for _ in range(specs)]
    kind = (
        "class Thing(CustomResource):\n"
        '    gvk: ClassVar[GVK] = GVK(group="random.example.com", version="v1", kind="Thing")\n\n'
        f"    spec: {spec.text}\n"
    )
    return World(HEAD + "\n\n".join([*author.classes, kind]), values)
