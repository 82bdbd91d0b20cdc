"""The marker language: `+name:argument=value` in comments → typed values.

The names and types of a marker's arguments are in one registry,
`olmkit.apis.markers.table.REGISTRY`; reading, explaining and warning all use it. The effect of a
marker is described where it is implemented: `schema`, `manifests`, `roles`, `csv_markers`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from olmkit.apis.markers.values import (
    IDENTIFIER,
    MarkerError,
    MarkerListOf,
    MarkerMapOf,
    MarkerScalar,
    Reader,
    ValueType,
)
from olmkit.base.diagnostics import Location

# Prefixes of known generators, below which an unknown name is a typo.
PREFIXES = ("kubebuilder:", "k8s:", "operator-sdk:", "olmkit:")


class MarkerLevel(StrEnum):
    """The levels of markers."""

    PACKAGE = "package"
    TYPE = "type"
    FIELD = "field"


@dataclass(frozen=True, slots=True)
class Argument:
    """A named argument, or the only value of a marker if `name` is empty."""

    name: str
    type: ValueType
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerDefinition:
    """The definition of a marker: its name, levels and arguments.

    `is_used` is False for markers of other generators, which are listed to avoid warnings about
    them. `drops_comment`: text from the first `#` is not part of the value.
    """

    name: str
    levels: frozenset[MarkerLevel]
    arguments: tuple[Argument, ...] = ()
    doc: str = ""
    is_used: bool = True
    drops_comment: bool = False

    @property
    def value(self) -> Argument | None:
        """Return the anonymous argument, if the marker has one."""
        return self.arguments[0] if self.arguments and not self.arguments[0].name else None

    @property
    def usage(self) -> str:
        """Return how it is written, for hints."""
        if not self.arguments:
            return f"+{self.name}"
        if self.value:
            return f"+{self.name}=<{_words(self.value.type)}>"
        named = ",".join(f"{a.name}=<{_words(a.type)}>" for a in self.arguments if a.required)
        return f"+{self.name}:{named or self.arguments[0].name + '=…'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """One comment line that starts with `+`: the text after it, and its place."""

    text: str
    at: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A parsed marker. `value` is its anonymous value, `arguments` the named ones."""

    definition: MarkerDefinition
    comment: Comment
    value: Any = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.definition.name

    @property
    def at(self) -> Location:
        return self.comment.at

    def get(self, argument: str, default: Any = None) -> Any:
        return self.arguments.get(argument, default)


class MarkerRegistry:
    """All markers, by level and name. A name may have different meanings on different levels."""

    def __init__(self, definitions: Iterable[MarkerDefinition]) -> None:
        self._by_level: dict[MarkerLevel, dict[str, MarkerDefinition]] = {
            level: {} for level in MarkerLevel
        }
        for definition in definitions:
            for level in definition.levels:
                self._by_level[level][definition.name] = definition

    def __iter__(self) -> Iterator[MarkerDefinition]:
        seen = {id(d): d for names in self._by_level.values() for d in names.values()}
        return iter(sorted(seen.values(), key=lambda definition: definition.name))

    def names(self) -> frozenset[str]:
        return frozenset(name for names in self._by_level.values() for name in names)

    def find(self, text: str, level: MarkerLevel) -> MarkerDefinition | None:
        """Return the definition of a marker's text on this level, if there is one."""
        names = self._by_level[level]
        left, equals, _ = text.partition("=")
        if left in names:
            return names[left]
        short = left.rpartition(":")[0] or left
        return names.get(short) if equals else None

    def name(self, text: str) -> str:
        """Return the name of a marker without its arguments, as users know it."""
        found = (self.find(text, level) for level in MarkerLevel)
        return next((one.name for one in found if one), marker_name(text))

    def levels(self, text: str) -> tuple[MarkerLevel, ...]:
        """Return the levels on which the marker is known."""
        return tuple(level for level in MarkerLevel if self.find(text, level))

    def suggestion(self, text: str) -> str:
        """Return the name that an unknown marker probably means, or an empty string."""
        import difflib

        name = marker_name(text)
        candidates = sorted(self.names())
        near = difflib.get_close_matches(name, candidates, n=1, cutoff=0.8)
        if near:
            return near[0]
        folded = {candidate.lower(): candidate for candidate in candidates}
        near = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.8)
        if near:
            return folded[near[0]]
        # The last segment may be an argument: `kubebuilder:resorce:path`.
        head = name.rpartition(":")[0]
        near = difflib.get_close_matches(head, candidates, n=1, cutoff=0.85)
        return near[0] if near else ""


def marker_name(text: str) -> str:
    """Return the text of a marker before its first `=`."""
    return text.partition("=")[0].strip()


def is_ours(text: str) -> bool:
    """Return whether the marker has a known prefix."""
    return text.startswith(PREFIXES)


def parse(comment: Comment, definition: MarkerDefinition) -> Marker:
    """Parse one marker; raise `MarkerError` if it does not match its definition."""
    text = comment.text
    left, equals, _ = text.partition("=")
    start = len(left) + len(equals)
    if definition.drops_comment:
        text = text.partition("#")[0]
    if not definition.arguments:
        if text[start:].strip():
            raise MarkerError("takes no value", start)
        return Marker(definition=definition, comment=comment)
    if definition.value:
        return _parse_value(comment, definition, definition.value, text, start)
    if not equals:
        return _parse_named(comment, definition, "", 0)
    first = left.rpartition(":")[0]
    return _parse_named(comment, definition, text, len(first) + 1 if first else 0)


def _parse_value(
    comment: Comment, definition: MarkerDefinition, argument: Argument, text: str, start: int
) -> Marker:
    reader = Reader(text, start)
    if reader.at_end():
        if argument.required:
            raise MarkerError("needs a value", start, f"write `{definition.usage}`")
        return Marker(definition=definition, comment=comment, value="")
    reader.position = start
    value = reader.value(argument.type)
    _expect_end(reader)
    return Marker(definition=definition, comment=comment, value=value)


def _parse_named(comment: Comment, definition: MarkerDefinition, text: str, start: int) -> Marker:
    known = {argument.name: argument for argument in definition.arguments}
    found: dict[str, Any] = {}
    reader = Reader(text, start)
    while text:
        reader.skip_space()
        match = IDENTIFIER.match(text, reader.position)
        if match is None:
            raise MarkerError(
                "expected the name of an argument, "
                + (
                    f"found `{text[reader.position :]}`" if not reader.at_end() else "found the end"
                ),
                reader.position,
            )
        name = match.group()
        if name not in known:
            raise _unknown_argument(name, reader.position, known)
        reader.position = match.end()
        if reader.peek() != "=":
            raise MarkerError(
                f"expected `=` after `{name}`",
                reader.position,
                "join the items of a list with `;`, or put them into braces",
            )
        reader.position += 1
        found[name] = reader.value(known[name].type)
        if reader.at_end():
            break
        if reader.peek() != ",":
            _expect_end(reader)
        reader.position += 1
    for argument in definition.arguments:
        if argument.required and argument.name not in found:
            raise MarkerError(
                f"lacks the argument `{argument.name}`",
                len(comment.text),
                f"write `{definition.usage}`",
            )
    return Marker(definition=definition, comment=comment, arguments=found)


def _unknown_argument(name: str, offset: int, known: Mapping[str, Argument]) -> MarkerError:
    import difflib

    folded = {known_name.lower(): known_name for known_name in known}
    near = difflib.get_close_matches(name.lower(), list(folded), n=1, cutoff=0.6)
    if near:
        hint = f"did you mean `{folded[near[0]]}`?"
    else:
        hint = "it takes " + ", ".join(f"`{known_name}`" for known_name in known)
    return MarkerError(f"has no argument `{name}`", offset, hint)


def _expect_end(reader: Reader) -> None:
    if not reader.at_end():
        raise MarkerError(
            f"`{reader.text[reader.position :]}` is unexpected",
            reader.position,
            "quote a value that contains a comma, a semicolon or a brace",
        )


def _words(kind: ValueType) -> str:
    match kind:
        case MarkerScalar():
            return kind.value
        case MarkerListOf():
            return "list"
        case MarkerMapOf():
            return "map"
