"""A thousand broken bundles: whatever a bundle holds, olmkit answers and no rule crashes."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import pytest
import yaml

from olmkit.base import documents
from olmkit.base.diagnostics import OlmkitError
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.cli.frame import output, reports
from olmkit.rules import engine

COUNT = 1000
EXTRA = {
    "metadata/dependencies.yaml": (
        b"dependencies:\n- {type: olm.package, value: {packageName: a, version: 1.x}}\n"
        b"- {type: olm.constraint, value: {failureMessage: m, cel: {rule: 'true'}}}\n"
    ),
    "metadata/properties.yaml": b"properties:\n- {type: olm.maxOpenShiftVersion, value: '4.15'}\n",
    "manifests/role.yaml": (
        b"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n"
        b"rules:\n- {apiGroups: [''], resources: [pods], verbs: [get]}\n"
    ),
}
ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 2**70, "", "x", "\u0000", "~", "a/b/c", [], [None], [[]], {},
    {"": None}, {"a": {"b": []}}, ["x", 1, None, {}], "ü" * 300, "1.2.3", "v1", "$ref", "- a\nb",
)  # fmt: skip


def _flip(data: bytes, dice: random.Random) -> bytes:
    """Some bytes replaced."""
    changed = bytearray(data)
    for _ in range(dice.randint(1, 8)):
        if changed:
            changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed)


def _truncate(data: bytes, dice: random.Random) -> bytes:
    return data[: dice.randint(0, len(data))]


def _double(data: bytes, dice: random.Random) -> bytes:
    """A line, and perhaps what is below it, twice."""
    lines = data.splitlines(keepends=True)
    start = dice.randrange(len(lines))
    part = lines[start : start + dice.randint(1, 6)]
    return b"".join([*lines[:start], *part, *part, *lines[start + len(part) :]])


def _drop(data: bytes, dice: random.Random) -> bytes:
    """Some lines gone."""
    lines = data.splitlines(keepends=True)
    start = dice.randrange(len(lines))
    return b"".join([*lines[:start], *lines[start + dice.randint(1, 6) :]])


def _indent(data: bytes, dice: random.Random) -> bytes:
    """A line moved in or out."""
    lines = data.splitlines(keepends=True)
    at = dice.randrange(len(lines))
    lines[at] = b"  " + lines[at] if dice.random() < 0.5 else lines[at].lstrip()
    return b"".join(lines)


def _retype(data: bytes, dice: random.Random) -> bytes:
    """Some values replaced by others of any type."""
    value = documents.load(data, "x").value
    for _ in range(dice.randint(1, 3)):
        places = list(_places(value))
        if places:
            holder, key = dice.choice(places)
            holder[key] = copy.deepcopy(dice.choice(ODD))
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True).encode("utf-8", "replace")


def _rekey(data: bytes, dice: random.Random) -> bytes:
    """A key renamed, a list shortened, or a value moved elsewhere."""
    value = documents.load(data, "x").value
    holder, key = dice.choice(list(_places(value)))
    if isinstance(holder, dict):
        moved = holder.pop(key)
        holder[dice.choice([key.upper(), f"{key}s", "", "<<", "kind", "x.y/z"])] = moved
    else:
        del holder[key]
    return yaml.safe_dump(value, sort_keys=False).encode()


def _places(value: Any) -> list[tuple[Any, Any]]:
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        node = stack.pop()
        items = node.items() if isinstance(node, dict) else enumerate(node)
        for key, inner in list(items):
            found.append((node, key))
            if isinstance(inner, dict | list):
                stack.append(inner)
    return found


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip, _truncate, _double, _drop, _indent, _retype, _retype, _retype, _rekey, _rekey,
)  # fmt: skip


@pytest.mark.parametrize("part", range(4))
def test_a_broken_bundle_is_judged_without_a_crash(minimal: Tree, part: int) -> None:
    base = minimal.merge(EXTRA)
    for seed in range(part, COUNT, 4):
        dice = random.Random(seed)
        files = {path: file.data for path, file in base.items()}
        for _ in range(dice.randint(1, 2)):
            path = dice.choice(sorted(files))
            try:
                files[path] = dice.choice(MUTATIONS)(files[path], dice)
            except (OlmkitError, AttributeError, IndexError, TypeError, ValueError):
                continue  # what the first change left cannot be changed this way
        try:
            bundle = layout.read(Tree(files), "bundle")
        except OlmkitError:
            continue
        found = engine.run(bundle, engine.rules())
        assert not engine.crashed(found), (
            seed,
            [f.message for f in found if f.rule == engine.CRASH],
        )
        assert all(finding.message and "\n" not in finding.message for finding in found), seed
        output.text(found, {f"bundle/{path}": data for path, data in files.items()}.get)
        reports.sarif(found)
