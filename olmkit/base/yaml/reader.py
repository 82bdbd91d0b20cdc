"""Build plain values from libyaml's events, like Go's yaml.v2 and Kubernetes.

This is the authoritative reader: complete, exact, with a place for every error. Keys become
strings, a merge key overrides earlier keys, and the expansion of aliases is limited, so that a
small file cannot become a huge value.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from yaml import events

from olmkit.base.go import floats
from olmkit.base.yaml import events as yaml_events
from olmkit.base.yaml import scalars
from olmkit.base.yaml.events import YamlError
from olmkit.base.yaml.scalars import ScalarError

MAX_DEPTH: Final = 500
# An alias may repeat a long text without many nodes; Go does not limit that, but memory does.
MAX_EXPANDED: Final = 128 * 1024 * 1024


class NoDocument:
    """Marks a missing document, since `None` is a value."""


MISSING: Final = NoDocument()

_ODD_TAG: Final = re.compile(r"(?:&\w+\s+)?!(?!<)\S*?([,\[\]{}])")
_SLASH: Final = re.compile(r'"(?:[^\\]++|\\[^/])*+\\/', re.DOTALL)


Plain = Callable[[str], scalars.Scalar]
"""The value of an unquoted scalar without a tag."""


class YamlReading(NamedTuple):
    """The value of a document (or `MISSING`), and irregularities of its text."""

    value: Any
    more: bool = False
    repeated: bool = False


def read(data: bytes) -> YamlReading:
    """Return the first document, whether `more` follow, and whether a key is `repeated`.

    The rest of the text is ignored, as in Go's reader.
    """
    return yaml_events.read(data, _first)


def read_all(data: bytes, plain: Plain = scalars.plain) -> list[YamlReading]:
    """Return every document; `plain` returns the value of an unquoted scalar."""
    return yaml_events.read(
        data, lambda text: list(_from_events(yaml_events.events(text), text, plain))
    )


def _first(data: bytes) -> YamlReading:
    stream = yaml_events.events(data)
    found = next(_from_events(stream, data), None)
    if found is None:
        return YamlReading(MISSING)
    try:
        return found._replace(more=type(next(stream)) is not events.StreamEndEvent)
    except YamlError:
        return found._replace(more=True)


def _from_events(
    stream: Iterator[Any], data: bytes, plain: Plain = scalars.plain
) -> Iterator[YamlReading]:
    for event in stream:
        if type(event) is events.DocumentStartEvent:
            _check_version(event)
            builder = _Builder(stream, data, plain)
            value = builder.document()
            yield YamlReading(value, repeated=builder.repeated)


def _check_version(event: Any) -> None:
    if event.version is not None and tuple(event.version) != (1, 1):
        raise yaml_events.error_at(
            event,
            "found incompatible YAML document",
            hint="remove the `%YAML` line; Kubernetes reads version 1.1",
        )


class _Frame:
    """A mapping or a sequence that is being read."""

    __slots__ = ("anchor", "at", "depth", "flow", "items", "key", "merge", "nodes", "text")

    def __init__(self, items: Any, at: Any, anchor: str | None) -> None:
        self.items = items
        self.at = at
        self.anchor = anchor
        self.flow = bool(at.flow_style)
        self.key: Any = MISSING
        self.merge = False
        self.depth = 1
        self.nodes = 1
        self.text = 0


class _Anchor:
    __slots__ = ("depth", "done", "nodes", "text", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.depth = 0
        self.nodes = 0
        self.text = 0
        self.done = False


class _Builder:
    """Builds one document from the events after its start."""

    def __init__(self, stream: Iterator[Any], data: bytes, plain: Plain) -> None:
        self._stream = stream
        self._plain = plain
        self._data = data
        self._text: str | None = None
        self._slashes = b"\\/" in data
        self._anchors: dict[str, _Anchor] = {}
        self._stack: list[_Frame] = []
        self.repeated = False
        self._nodes = 0
        self._aliased = 0
        self._expanded = 0

    def document(self) -> Any:
        scalar_event = events.ScalarEvent
        root: Any = MISSING
        for event in self._stream:
            kind = type(event)
            if kind is scalar_event:
                value, depth, nodes, text = self._scalar(event), 0, 1, len(event.value)
                self._nodes += 1
            elif kind is events.MappingStartEvent or kind is events.SequenceStartEvent:
                self._start(event, {} if kind is events.MappingStartEvent else [])
                continue
            elif kind is events.AliasEvent:
                value, depth, nodes, text = self._alias(event)
            elif kind is events.DocumentEndEvent:
                return root
            else:
                frame = self._stack.pop()
                value, depth, nodes, text = frame.items, frame.depth, frame.nodes, frame.text
                self._finish(frame)
                event = frame.at
            if self._stack:
                self._put(value, event, depth, nodes, text)
            else:
                root = _finite(value, event)
        return root  # pragma: no cover - libyaml always ends a document

    def _scalar(self, event: events.ScalarEvent) -> Any:
        tag = event.tag
        text: str = event.value
        if self._slashes and event.style == '"':
            self._check_slashes(event)
        if tag is None:
            value = self._plain(text) if event.implicit[0] else text
            if "?" in text and event.implicit[0] and self._stack and self._stack[-1].flow:
                raise yaml_events.error_at(
                    event, "found unexpected '?'", hint="quote a string with a question mark"
                )
        else:
            self._check_tag(event)
            try:
                value = scalars.parse_tagged(tag, text)
            except ScalarError as error:
                raise yaml_events.error_at(event, str(error)) from None
        if event.anchor is not None:
            anchor = self._anchors[event.anchor] = _Anchor()
            anchor.value, anchor.nodes, anchor.text, anchor.done = value, 1, len(text), True
        return value

    def _source(self) -> str:
        """Return the whole text: a copy of its rest for each event would take quadratic time."""
        if self._text is None:
            self._text = yaml_events.decode(self._data)
        return self._text

    def _check_tag(self, event: Any) -> None:
        # Go treats these characters as part of the tag, the parser here as its end.
        odd = _ODD_TAG.match(self._source(), event.start_mark.index)
        if odd:
            raise yaml_events.error_at(
                event, f"the tag ends in `{odd.group(1)}`", hint="put a space after the tag"
            )

    def _check_slashes(self, event: Any) -> None:
        # The parser here supports the escape `\\/` of JSON, Go's does not.
        if _SLASH.match(self._source(), event.start_mark.index, event.end_mark.index):
            raise yaml_events.error_at(
                event, "found unknown escape character", hint="write `/` without a backslash"
            )

    def _start(self, event: Any, items: Any) -> None:
        if len(self._stack) >= MAX_DEPTH:
            raise _too_deep(event)
        if event.tag is not None:
            self._check_tag(event)
        self._nodes += 1
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchor()
        self._stack.append(_Frame(items, event, event.anchor))

    def _finish(self, frame: _Frame) -> None:
        if frame.anchor is None:
            return
        anchor = self._anchors[frame.anchor]
        if not anchor.done:
            anchor.value, anchor.depth = frame.items, frame.depth
            anchor.nodes, anchor.text = frame.nodes, frame.text
            anchor.done = True

    def _alias(self, event: Any) -> tuple[Any, int, int, int]:
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            raise yaml_events.error_at(
                event,
                f"unknown anchor '{event.anchor}' referenced",
                hint=f"set `&{event.anchor}` before the alias, in the same document",
            )
        if not anchor.done:
            raise yaml_events.error_at(event, f"anchor '{event.anchor}' value contains itself")
        self._nodes += 1 + anchor.nodes
        self._aliased += anchor.nodes
        self._expanded += anchor.text
        if self._excessive():
            raise yaml_events.error_at(
                event,
                "document contains excessive aliasing",
                hint="write the repeated values out, or drop the aliases",
            )
        if len(self._stack) + anchor.depth > MAX_DEPTH:
            raise _too_deep(event)
        return _copy(anchor.value), anchor.depth, 1 + anchor.nodes, anchor.text

    def _excessive(self) -> bool:
        # The ratio that Go allows decreases from 99 % to 10 % as a document grows.
        if self._expanded > MAX_EXPANDED:
            return True
        if self._aliased <= 100 or self._nodes <= 1000:
            return False
        grown = min(max((self._nodes - 400_000) / 3_600_000, 0.0), 1.0)
        return self._aliased / self._nodes > 0.99 - 0.89 * grown

    def _put(self, value: Any, event: Any, depth: int, nodes: int, text: int) -> None:
        frame = self._stack[-1]
        if depth >= frame.depth:
            frame.depth = depth + 1
        frame.nodes += nodes
        frame.text += text
        items = frame.items
        if type(items) is list:
            items.append(_finite(value, event))
        elif frame.merge:
            frame.merge = False
            self._merge(items, value, event)
        elif frame.key is MISSING:
            if _is_merge(event):
                frame.merge = True
            else:
                frame.key = value if type(value) is str else _key(value, event)
        else:
            if frame.key in items:
                self.repeated = True
            items[frame.key] = _finite(value, event)
            frame.key = MISSING

    def _merge(self, items: dict[str, Any], value: Any, event: Any) -> None:
        # A list of maps must be directly here, not in an alias.
        written_out = isinstance(value, list) and type(event) is not events.AliasEvent
        parts = value if written_out else [value]
        if not all(isinstance(part, dict) for part in parts):
            raise yaml_events.error_at(
                event, "map merge requires map or sequence of maps as the value"
            )
        # Earlier maps of a list take precedence; merged values override keys before the merge.
        for part in reversed(parts):
            items.update(_copy(part))


def _is_merge(event: Any) -> bool:
    return (
        type(event) is events.ScalarEvent
        and event.value == "<<"
        and (event.implicit[0] or event.tag == scalars.MERGE)
    )


def _key(value: Any, event: Any) -> str:
    if isinstance(value, dict | list):
        raise yaml_events.error_at(
            event,
            "a list or a map cannot be a key",
            hint="text in braces or brackets must be quoted: '{{ name }}'",
        )
    try:
        return scalars.key(value)
    except ScalarError as error:
        raise yaml_events.error_at(
            event, str(error), hint="quote the key to make it a string"
        ) from None


def _finite(value: Any, event: Any) -> Any:
    if type(value) is not float:
        return value
    if not math.isfinite(value):
        name = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        raise yaml_events.error_at(
            event,
            f"json: unsupported value: {name}",
            hint="JSON, and so Kubernetes, has no such number; quote it to make it a string",
        )
    return floats.normal(value)


def _copy(value: Any) -> Any:
    if type(value) is dict:
        return {key: _copy(item) for key, item in value.items()}
    if type(value) is list:
        return [_copy(item) for item in value]
    return value


def _too_deep(event: Any) -> YamlError:
    return yaml_events.error_at(
        event,
        f"nested more than {MAX_DEPTH} levels deep",
        hint="real manifests need a few dozen levels; look for a repeated bracket",
    )
