"""`--fix`: its changes for every fixture that violates a rule."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.base.diagnostics import Diagnostic, Severity
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.edges import disk
from olmkit.rules import engine, fixing
from olmkit.rules.engine import Facts

HERE = Path(__file__).parent
CSV = "manifests/kettle.clusterserviceversion.yaml"
ANNOTATIONS = "metadata/annotations.yaml"
BREAKS = {
    **yaml.safe_load((HERE / "breaks.yaml").read_text()),
    **yaml.safe_load((HERE / "publishing_breaks.yaml").read_text()),
}
LAST_MODE = "    - type: AllNamespaces\n      supported: true\n"
PREFIX = "operators.operatorframework.io.bundle"


def _findings_of(tree: Tree) -> Sequence[Diagnostic]:
    return engine.run(layout.read(tree, "kettle"), engine.rules(), facts=Facts())


@pytest.fixture(scope="module")
def publishable() -> Tree:
    return disk.read_tree(HERE / "publishable")


def _with(tree: Tree, path: str, *pairs: tuple[str, str]) -> Tree:
    text = tree.data(path).decode()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new, 1)
    return tree.merge({path: text.encode()})


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (CSV, "minKubeVersion: 1.28.0", "minkubeversion: 1.28.0"),
        (CSV, "minKubeVersion: 1.28.0", "miniKubeVersion: 1.28.0"),
        (CSV, "minKubeVersion: 1.28.0", "minKubeVersion: v1.28.0"),
        (CSV, "  version: 1.2.3", "  version: v1.2.3"),
        (CSV, "kind: ClusterServiceVersion", "kind: clusterserviceversion"),
        (CSV, "capabilities: Basic Install", "capabilities: basic install"),
        (CSV, "categories: Developer Tools", "categories: developer tools"),
        (CSV, 'proxy-aware: "false"', "proxy-aware: false"),
        (CSV, "mediatype: image/svg+xml", "mediatype: image/png"),
        (CSV, "mediatype: image/svg+xml", "mediatype: image/svg"),
        (CSV, "displayName: Kettle\n", "displayName: Kettle \t\n"),
        (CSV, "    - type: OwnNamespace\n", "    - type: ownNamespace\n"),
        (
            CSV,
            "      supported: true\n",
            "      supported: true\n    - {type: AllNamespaces, supported: true}\n",
        ),
        (CSV, "strategy: deployment\n", "strategy: deployment\n    strategy: deployment\n"),
        (ANNOTATIONS, "annotations:", "Annotations:"),
        (ANNOTATIONS, "stable,fast", "stable, fast"),
        (ANNOTATIONS, "stable,fast", "stable,,fast,stable"),
        (ANNOTATIONS, "v1: manifests/", "v1: /manifests/"),
        (ANNOTATIONS, f"{PREFIX}.package.v1", f"{PREFIX}.packages.v1"),
        (ANNOTATIONS, "versions: v4.15\n", "versions: v4.15"),
    ],
)
def test_a_fix_restores_every_byte(publishable: Tree, path: str, old: str, new: str) -> None:
    done = fixing.apply_fixes(_with(publishable, path, (old, new)), "kettle", _findings_of)

    assert done.tree.data(path).decode() == publishable.data(path).decode()
    assert done.fixes > 0


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        # The correct key is also present.
        (CSV, "minKubeVersion: 1.28.0", "minKubeVersion: 1.28.0\n  minkubeversion: 1.29.0"),
        # A number is missing, and any number would be a guess.
        (CSV, "  version: 1.2.3", "  version: v1.2"),
        # Two entries that contradict each other.
        (
            CSV,
            "supported: true\n",
            "supported: true\n    - {type: AllNamespaces, supported: false}\n",
        ),
        # Spaces of a literal block are content.
        (CSV, "alm-examples: |\n      [", "alm-examples: |\n      \n      ["),
        # The name leads to a value of a wrong type.
        (CSV, "  keywords: [kettle]", "  keyword: kettle"),
    ],
)
def test_ambiguous_errors_are_not_fixed(publishable: Tree, path: str, old: str, new: str) -> None:
    broken = _with(publishable, path, (old, new))

    assert fixing.apply_fixes(broken, "kettle", _findings_of).tree == broken


def test_comments_and_layout_are_kept(publishable: Tree) -> None:
    broken = _with(
        publishable,
        CSV,
        ("  minKubeVersion: 1.28.0", "  # the oldest\n  'minkubeversion':   'v1.28.0'   # tested"),
    )

    text = fixing.apply_fixes(broken, "kettle", _findings_of).tree.data(CSV).decode()

    assert "  # the oldest\n  'minKubeVersion':   '1.28.0'   # tested\n" in text


@pytest.mark.parametrize("code", sorted(BREAKS))
def test_fixing_twice_has_the_result_of_fixing_once_and_creates_no_error(
    code: str,
    publishable: Tree,
    change: Callable[[Tree, Mapping[str, Any]], Tree],
) -> None:
    tree = change(publishable, BREAKS[code])
    before = _findings_of(tree)

    once = fixing.apply_fixes(tree, "kettle", _findings_of)
    twice = fixing.apply_fixes(once.tree, "kettle", _findings_of)

    assert twice.tree == once.tree
    assert twice.fixes == 0
    assert _errors(once.diagnostics) <= _errors(before)
    for path in tree:
        old, new = (side.data(path).decode("utf-8", "replace") for side in (tree, once.tree))
        touched = [
            line for line in difflib.ndiff(old.split("\n"), new.split("\n")) if line[0] in "+-"
        ]
        assert len(touched) <= 4 * once.fixes + 1, path


def _errors(found: Sequence[Diagnostic]) -> set[tuple[str, str]]:
    return {(one.rule, one.message) for one in found if one.severity is Severity.ERROR}
