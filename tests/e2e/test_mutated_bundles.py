"""Changed copies of published bundles: each has one result within the time limit.

`OLMKIT_MUTATIONS=10000` tests ten thousand.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from olmkit.base.diagnostics import Diagnostic, InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.cli.frame import output, reports
from olmkit.edges import disk
from olmkit.rules import engine, fixing
from tests.mutations import mutated

COUNT = int(os.environ.get("OLMKIT_MUTATIONS", "200"))
PARTS = 20
SECONDS = 5.0  # CPU seconds for the check of one bundle
ROOT = "bundle"

pytestmark = pytest.mark.e2e


def _judge(tree: Tree) -> Sequence[Diagnostic]:
    try:
        bundle = layout.read(tree, ROOT)
    except InputError:
        return ()
    return engine.run(bundle, engine.rules())


@pytest.fixture(scope="module")
def published(cases: Path) -> list[Tree]:
    folders = sorted(path.parent for path in (cases / "bundles").glob("*/*/metadata"))
    return [disk.read_tree(folder) for folder in folders]


@pytest.mark.parametrize("part", range(PARTS))
def test_a_changed_bundle_is_checked_in_time_and_fixed_once(
    published: list[Tree], part: int
) -> None:
    for seed in range(part, COUNT, PARTS):
        dice = random.Random(seed)
        broken = mutated(dice.choice(published), dice)
        begin = time.process_time()
        try:
            bundle = layout.read(broken, ROOT)
        except OlmkitError:
            continue
        found = engine.run(bundle, engine.rules())
        output.text(found, {f"{ROOT}/{path}": file.data for path, file in broken.items()}.get)
        reports.sarif(found)
        spent = time.process_time() - begin

        crashes = [one.message for one in found if one.rule == engine.CRASH]
        assert crashes == [], seed
        assert all(one.message and "\n" not in one.message for one in found), seed
        assert spent < SECONDS, (seed, spent)

        if any(one.fix is not None for one in found):
            once = fixing.apply_fixes(broken, ROOT, _judge).tree
            assert once == broken or fixing.apply_fixes(once, ROOT, _judge).tree == once, seed
