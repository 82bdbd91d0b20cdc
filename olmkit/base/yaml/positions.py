"""A tree with the positions of values in YAML.

Created only when a place is requested, by reading the text a second time. JSON is also read as YAML
here; text that only one of them accepts has been handled before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from yaml import events

from olmkit.base.yaml import events as yaml_events
from olmkit.base.yaml import scalars
from olmkit.base.yaml.events import YamlError
from olmkit.base.yaml.scalars import ScalarError


@dataclass(slots=True, kw_only=True)
class YamlNode:
    """One value: its range (lines and columns from 0) and its child nodes.

    `entries` maps a key, or an index, to the node of the key and of the value; in a list
    both are the same. `twice` has the key nodes of entries that a later one replaced.
    """

    line: int
    column: int
    end_line: int = 0
    end_column: int = 0
    entries: dict[str | int, tuple[YamlNode, YamlNode]] = field(default_factory=dict)
    twice: list[tuple[str, YamlNode, YamlNode]] = field(default_factory=list)


def compose(data: bytes, *, index: int = 0) -> YamlNode | None:
    """Return the node tree of document number `index`; None if it cannot be parsed."""
    try:
        return yaml_events.read(data, lambda text: _document(text, index))
    except YamlError:
        return None


def literal_lines(data: bytes) -> set[int] | None:
    """Return the lines, from 0, of literal and folded texts; None if the text is not YAML."""
    try:
        return yaml_events.read(data, _literal_lines)
    except YamlError:
        return None


def _literal_lines(data: bytes) -> set[int]:
    lines: set[int] = set()
    for event in yaml_events.events(data):
        if type(event) is events.ScalarEvent and event.style in ("|", ">"):
            node = _node(event)
            lines.update(range(node.line + 1, node.end_line))
    return lines


def _document(data: bytes, index: int) -> YamlNode | None:
    stream = yaml_events.events(data)
    for event in stream:
        if type(event) is events.DocumentStartEvent:
            if index == 0:
                return _compose(stream)
            index -= 1
    return None


@dataclass(slots=True)
class _Open:
    node: YamlNode
    sequence: bool
    anchor: str | None
    key: tuple[str, YamlNode] | None = None
    merge: bool = False
    own: set[str] = field(default_factory=set)


def _compose(stream: Iterator[Any]) -> YamlNode | None:
    anchors: dict[str, YamlNode] = {}
    stack: list[_Open] = []
    root: YamlNode | None = None
    for event in stream:
        kind = type(event)
        if kind is events.DocumentEndEvent:
            break
        if kind is events.SequenceStartEvent or kind is events.MappingStartEvent:
            sequence = kind is events.SequenceStartEvent
            stack.append(_Open(_node(event), sequence, event.anchor))
            continue
        if kind is events.ScalarEvent:
            node, anchor = _node(event), event.anchor
        elif kind is events.AliasEvent:
            target = anchors.get(event.anchor)
            node, anchor = _node(event), None
            if target is not None:
                node.entries = target.entries
        else:
            opened = stack.pop()
            node, anchor = opened.node, opened.anchor
            node.end_line, node.end_column = event.end_mark.line, event.end_mark.column
            if event.end_mark.index == event.start_mark.index and node.entries:
                # A block ends where the next token starts; its last entry is more precise.
                last = next(reversed(node.entries.values()))[1]
                node.end_line, node.end_column = last.end_line, last.end_column
        if anchor is not None:
            anchors[anchor] = node
        if not stack:
            root = node
        else:
            _add(stack[-1], node, event if kind is events.ScalarEvent else None)
    return root


def _add(parent: _Open, node: YamlNode, event: Any | None) -> None:
    entries = parent.node.entries
    if parent.sequence:
        entries[len(entries)] = (node, node)
    elif parent.merge:
        parent.merge = False
        entries.update(node.entries)
    elif parent.key is None:
        if event is not None and event.value == "<<" and event.implicit[0]:
            parent.merge = True
        else:
            parent.key = (_key_text(event), node)
    else:
        name, key_node = parent.key
        if name in parent.own:
            parent.node.twice.append((name, entries[name][0], key_node))
        parent.own.add(name)
        entries[name] = (key_node, node)
        parent.key = None


def _key_text(event: Any | None) -> str:
    if event is None:
        return ""
    try:
        if event.tag is not None or event.implicit[0]:
            return scalars.key(scalars.parse_tagged(event.tag, event.value))
    except ScalarError:
        pass
    return str(event.value)


def _node(event: Any) -> YamlNode:
    start, end = event.start_mark, event.end_mark
    return YamlNode(line=start.line, column=start.column, end_line=end.line, end_column=end.column)
