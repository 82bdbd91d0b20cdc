"""The fast search for a position has the result of the slow one, or none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.yaml import positions as yaml_positions
from olmkit.base.yaml.lines import Lines

MINIMAL = Path(__file__).parents[2] / "rules" / "minimal"


def _paths(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield above
    yield (*above, "no such key")
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*above, key)
        if isinstance(inner, dict | list):
            yield from _paths(inner, (*above, key))


def _slowly(data: bytes, keys: tuple[str | int, ...], *, of_key: bool) -> tuple[int, ...]:
    node = yaml_positions.compose(data)
    assert node is not None
    for index, key in enumerate(keys):
        entry = node.entries.get(key)
        if entry is None:
            break
        node = entry[0] if of_key and index == len(keys) - 1 else entry[1]
    return (node.line, node.column, node.end_line, node.end_column)


def _compare(data: bytes) -> tuple[int, int]:
    """Return how many positions were found fast, and how many in total; check all found ones."""
    value = documents.load(data, "x").value
    lines = Lines(data, value)
    found = asked = 0
    for keys in _paths(value):
        for of_key in (False, True):
            place = lines.find(keys, of_key=of_key)
            asked += 1
            if place is not None:
                found += 1
                assert place == _slowly(data, keys, of_key=of_key), (keys, of_key)
    return found, asked


@pytest.mark.parametrize("path", sorted(MINIMAL.rglob("*.yaml")), ids=lambda path: path.name)
def test_ordinary_manifests_need_no_tree(path: Path) -> None:
    found, asked = _compare(path.read_bytes())

    assert found > 0.8 * asked


PLAIN = [
    "a: 1\nb: text # comment\nc: 'x # y'\n",
    "# licence\n---\na:\n  b: 1\n",
    "a:\n- b: 1\n  c: 2\n- b: 3\nd: 4\n",
    "a:\n  - b\n  - 'c'\n  -   d\n",
    "a:\n\n  # note\n  b:\n    c: 1\n\n# end\nd: é\nü: 1\n",
    "a: |\n  text: x\n  more\n\nb: >-\n    folded\n    text\n# c\nc: 1\n",
    "a: |\n  last\n",
    "a: {}\nb: []\nc: ''\n",
    'a: "x: \\"y\\" # z" # comment\nb: http://x#y\n',
    "a:\n- - b\nc: 1\n",
    "a: b:c\n",
]
ODD = [
    "a: {b: 1}\n",
    "a: [b]\n",
    "a: &x b\nc: *x\n",
    "a: &x {b: 1}\nc:\n  <<: *x\n",
    "a: one\n  two\nb: 1\n",
    'a: "one\n  two"\nb: 1\n',
    "a: 1\na: 2\n",
    "a:\nb: 1\n",
    "a: 1\r\nb: 2\r\n",
    "a:\t1\n",
    "? a\n: b\n",
    "yes: 1\n",
    "a: !!str 1\n",
    "a: 1\n---\nb: 2\n",
    "a: 1",
    "a:\n  - b: 1\n    c: |2\n       x\n    d: 1\n",
    "text\n",
    "- a\n- b:\n    c: 1\n",
    "a:\n-\n  b: 1\n",
    "'a''b': 1\n",
    '"a\\nb": 1\n',
]


@pytest.mark.parametrize("text", PLAIN + ODD)
def test_found_positions_are_correct(text: str) -> None:
    value = documents.load(text.encode(), "x").value
    if isinstance(value, dict | list):
        _compare(text.encode())
    else:
        assert Lines(text.encode(), value).find((), of_key=False) is None


@pytest.mark.parametrize("text", PLAIN[:3])
def test_positions_in_plain_text_are_found_fast(text: str) -> None:
    found, asked = _compare(text.encode())

    assert found == asked


def test_positions_in_real_bundles_are_correct(cases: Path) -> None:
    found = asked = 0
    for path in sorted((cases / "bundles").rglob("*.yaml")):
        if "metadata" in path.parts or path.name.endswith("clusterserviceversion.yaml"):
            data = path.read_bytes()
            if len(data) > 40_000:
                continue
            node = yaml_positions.compose(data)
            value = documents.load(data, "x").value
            lines = Lines(data, value)
            for keys in list(_paths(value))[::5]:
                place = lines.find(keys, of_key=False)
                asked += 1
                if place is None or node is None:
                    continue
                found += 1
                there = node
                for key in keys:
                    entry = there.entries.get(key)
                    if entry is None:
                        break
                    there = entry[1]
                assert place == (there.line, there.column, there.end_line, there.end_column)

    assert found > 0.8 * asked
