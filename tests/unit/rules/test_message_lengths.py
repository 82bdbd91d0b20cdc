"""Findings repeat at most 120 characters of a value, for any bundle or catalog.

Each value of each fixture that violates a rule is replaced by a long one.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.base import texts
from olmkit.base.diagnostics import Diagnostic, OlmkitError
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc
from olmkit.rules import engine

HERE = Path(__file__).parent
BREAKS, PUBLISHING, CATALOG = (
    yaml.safe_load((HERE / name).read_text("utf-8"))
    for name in ("breaks.yaml", "publishing_breaks.yaml", "catalog_breaks.yaml")
)
MINIMAL = (HERE / "minimal_catalog.yaml").read_text("utf-8")
RULES = engine.rules(engine.CATALOG)
LONG = ("q" * 5000, "qz " * 1700)
_REPEATED = re.compile(r"q{30,}|(?:qz ?){10,}")
_PARTS = ("csv", "crd", "annotations")

Judge = Callable[[Mapping[str, Any]], tuple[Diagnostic, ...]]


def _repeated(found: Diagnostic) -> int:
    """Return the length of the longest part of a value in the messages of a finding."""
    said = (found.message, found.subject, found.hint, *(one.message for one in found.related))
    return max((len(one) for text in said for one in _REPEATED.findall(text)), default=0)


def _too_long(found: tuple[Diagnostic, ...]) -> list[tuple[str, int, str]]:
    assert not engine.has_crashed(found)
    return [
        (one.rule, _repeated(one), one.message[:200])
        for one in found
        if _repeated(one) > texts.MOST or len(one.message) > texts.MOST_OF_MESSAGE
    ]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(item, (*path, key))
    else:
        yield path


def _with(value: Any, path: tuple[Any, ...], new: str) -> Any:
    if not path:
        return new
    changed = copy.deepcopy(value)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = new
    return changed


def _lengthened(text: str) -> Iterator[str]:
    """Yield a YAML text with each scalar, including keys, replaced in turn by a long one."""
    try:
        nodes = list(yaml.compose_all(text))
    except yaml.YAMLError:
        return
    while nodes:
        node = nodes.pop()
        if isinstance(node, yaml.ScalarNode):
            for long in LONG:
                yield f'{text[: node.start_mark.index]}"{long}"{text[node.end_mark.index :]}'
        elif isinstance(node, yaml.SequenceNode):
            nodes += node.value
        elif node is not None:
            nodes += [one for pair in node.value for one in pair]


def _changed(changes: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the changes of a fixture with each value replaced in turn."""
    for part in _PARTS:
        for path in _places(changes.get(part, {})):
            for long in LONG:
                yield {**changes, part: _with(changes[part], path, long)}
    for name, text in changes.get("files", {}).items():
        if text is not None and name.endswith((".yaml", ".yml")):
            for longer in _lengthened(text):
                yield {**changes, "files": {**changes["files"], name: longer}}


@pytest.mark.parametrize("code", sorted((*BREAKS, *PUBLISHING)))
def test_findings_about_a_bundle_shorten_values(
    code: str, findings_of: Judge, publication_findings: Judge
) -> None:
    findings_for = findings_of if code in BREAKS else publication_findings
    for changes in _changed(BREAKS.get(code) or PUBLISHING[code]):
        assert _too_long(findings_for(changes)) == []


@pytest.mark.parametrize("name", ["annotations", "csv", "crd"])
def test_findings_about_long_values_of_a_valid_bundle_shorten_them(
    name: str, publication_findings: Judge
) -> None:
    (file,) = (HERE / "publishable").rglob(
        {"annotations": "annotations.yaml", "csv": "*.clusterserviceversion.yaml"}.get(
            name, "*kettles.yaml"
        )
    )
    path = file.relative_to(HERE / "publishable").as_posix()
    for longer in list(_lengthened(file.read_text("utf-8")))[::5]:
        assert _too_long(publication_findings({"files": {path: longer}})) == []


def _findings_of(text: str) -> tuple[Diagnostic, ...]:
    try:
        blobs = list(fbc.load_stream(text.encode(), "catalog.yaml"))
    except OlmkitError as error:
        return tuple(error.diagnostics)
    return engine.run(model.from_blobs(blobs), RULES)


@pytest.mark.parametrize("code", [*sorted(CATALOG), ""])
def test_findings_about_a_catalog_shorten_values(code: str) -> None:
    text = MINIMAL
    for old, new in CATALOG.get(code, {}).get("replace", {}).items():
        text = text.replace(old, new)
    text += CATALOG.get(code, {}).get("append", "")
    kept = set(MINIMAL.splitlines()) if code else set()
    for longer in _lengthened(text):
        changed = next(line for line in longer.splitlines() if "qqq" in line or "qz qz" in line)
        rest = re.sub(r'"(?:q|qz )+"', "", changed)
        if not any(rest.strip() and line.startswith(rest) for line in kept):
            assert _too_long(_findings_of(longer)) == []
