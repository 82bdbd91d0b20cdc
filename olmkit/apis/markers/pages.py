"""Every marker in words, and every finding about types and markers: for the reference pages.

They come from the tables that reading asks, so they cannot say anything else; `olmkit
generate --list-markers` prints the one of markers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.apis.findings import RULES
from olmkit.apis.markers.language import Argument
from olmkit.apis.markers.table import REGISTRY
from olmkit.apis.markers.values import ListOf, MapOf, Scalar, ValueType

PAGE = "docs/reference/markers.md"
FINDINGS_PAGE = "docs/reference/types.md"
_WORDS = {
    Scalar.STRING: "text",
    Scalar.INT: "integer",
    Scalar.NUMBER: "number",
    Scalar.BOUND: "number",
    Scalar.COUNT: "integer",
    Scalar.BOOL: "bool",
    Scalar.ANY: "value",
    Scalar.JSON: "JSON",
    Scalar.RAW: "text",
}
_HEAD = """\
# Markers

Made from the program's own table by `make docs`; do not edit. `olmkit generate --list-markers`
prints the same.

A marker is a comment line: `// +name=value` in Go, `# +name=value` in Python. Arguments in
brackets may be left out; items of a list stand between semicolons, or between commas in braces."""


_FINDINGS_HEAD = """\
# What generating says about types and markers

Made from the program's own table by `make docs`; do not edit.

An error writes nothing, and has exit code 1. `--strict-markers` makes errors of API004, API005 and
API022. For types in Go, API028, API029 and API031 are warnings: controller-gen writes the same, and
a patch of an overlay can fix it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One marker on the levels where it means the same."""

    name: str
    levels: tuple[str, ...]
    arguments: tuple[tuple[str, str, bool], ...]
    doc: str
    is_used: bool

    @property
    def form(self) -> str:
        """How it is written: `+name:first=text[,second=list of text]`."""
        if not self.arguments:
            return f"+{self.name}"
        if not self.arguments[0][0]:
            return f"+{self.name}=<{self.arguments[0][1]}>"
        named = [(f"{name}=<{kind}>", required) for name, kind, required in self.arguments]
        needed = [text for text, required in named if required]
        optional = [text for text, required in named if not required]
        text = ",".join(needed)
        if optional:
            text += f"[{',' if needed else ''}{','.join(optional)}]"
        return f"+{self.name}:{text}"


def rows() -> tuple[Row, ...]:
    """All markers, by name."""
    return tuple(sorted(_rows(), key=lambda row: (not row.is_used, row.name, row.levels)))


def _rows() -> Iterator[Row]:
    for definition in REGISTRY:
        yield Row(
            name=definition.name,
            levels=tuple(sorted(str(level) for level in definition.levels)),
            arguments=tuple(_argument(argument) for argument in definition.arguments),
            doc=definition.doc,
            is_used=definition.is_used,
        )


def _argument(argument: Argument) -> tuple[str, str, bool]:
    return (argument.name, _kind(argument.type), argument.required)


def _kind(kind: ValueType) -> str:
    match kind:
        case ListOf(item=item):
            return f"list of {_kind(item)}"
        case MapOf(value=value):
            return f"map of {_kind(value)}"
        case _:
            return _WORDS[kind]


def listing() -> str:
    """All markers as text, each with its levels and what it does."""
    return "\n".join(
        f"{row.form}\n    on {_and(row.levels)}: {row.doc}" for row in rows() if row.is_used
    )


def page() -> str:
    """The reference page."""
    lines = [_HEAD, "", "| marker | stands on | what it does |", "| --- | --- | --- |"]
    lines += [f"| `{row.form}` | {_and(row.levels)} | {row.doc} |" for row in rows()]
    return "\n".join(lines) + "\n"


def findings_page() -> str:
    """The reference page of what can be found wrong."""
    lines = [_FINDINGS_HEAD, "", "| code | name | weight | meaning |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {rule.code} | {rule.name} | {rule.severity} | {rule.doc} |" for rule in RULES.values()
    ]
    return "\n".join(lines) + "\n"


def _and(levels: tuple[str, ...]) -> str:
    return " and ".join(levels)
