"""`explain` has an answer for objects with any missing or invalid parts."""

from __future__ import annotations

import copy
import random
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.olm import cluster_state
from olmkit.olm.explain.installs import explain
from olmkit.olm.explain.workloads import pods
from tests import golden_inputs

STRANGE: tuple[Any, ...] = (None, "", "words", 7, True, [], {}, [None], [{}], {"a": None}, ["x"])


def cases(root: Path) -> list[tuple[str, list[Any]]]:
    found = []
    for case in sorted((root / "tests/golden/why").iterdir()):
        file = golden_inputs.files(case).get("objects.yaml")
        if file:
            parts = documents.load_all(file.read_bytes(), str(file))
            found.append((case.name, [part.value for part in parts]))
    return found


def broken(source: random.Random, value: Any, chance: float) -> Any:
    """Return `value` with some of its parts missing or invalid."""
    if source.random() < chance:
        return copy.deepcopy(source.choice(STRANGE))
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if source.random() > chance}
        return {key: broken(source, item, chance) for key, item in kept.items()}
    if isinstance(value, list):
        return [broken(source, item, chance) for item in value]
    return value


@pytest.mark.parametrize("seed", range(60))
def test_invalid_objects_never_raise_an_exception(root: Path, seed: int) -> None:
    source = random.Random(seed)
    for name, objects in source.sample(cases_once(root), 25):
        package = objects[0]["spec"].get("name", name)
        odd = [broken(source, one, source.choice((0.005, 0.01, 0.05, 0.2))) for one in objects]
        seen = cluster_state.from_objects(
            [one for one in odd if isinstance(one, dict)], f"t-{name}"
        )

        assert explain(seen, package).message
        assert list(pods.find_needed_logs(seen)) is not None
        assert list(cluster_state.objects_of(seen)) is not None


_CASES: list[tuple[str, list[Any]]] = []


def cases_once(root: Path) -> list[tuple[str, list[Any]]]:
    if not _CASES:
        _CASES.extend(cases(root))
    return _CASES
