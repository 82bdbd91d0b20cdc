"""Which end-to-end tests a worker runs."""

from __future__ import annotations

import pytest

from tests.e2e.scheduling import choose, preferences

V0 = "tests/e2e/cluster/test_story.py"
V1 = "tests/e2e/cluster/v1/test_story.py"
OTHER = "tests/e2e/test_chain.py"


@pytest.mark.parametrize(
    ("position", "workers", "expected"),
    [
        (0, 6, [V1, V0, OTHER]),
        (1, 6, [V0, OTHER, V1]),
        (3, 6, [V0, OTHER, V1]),
        (4, 6, [OTHER]),
        (5, 6, [OTHER]),
        (0, 1, [V1, V0, OTHER]),
        (1, 2, [OTHER]),
        (1, 3, [V0, OTHER, V1]),
    ],
)
def test_few_workers_start_a_cluster(position: int, workers: int, expected: list[str]) -> None:
    waiting = [OTHER, V0, V1]
    found = []
    while file := choose(waiting, preferences(position, workers)):
        found.append(file)
        waiting.remove(file)
    assert found == expected


def test_files_of_one_kind_keep_their_order() -> None:
    waiting = ["tests/e2e/test_b.py", V0, "tests/e2e/test_a.py"]
    assert choose(waiting, preferences(5, 6)) == "tests/e2e/test_b.py"


def test_a_worker_without_a_cluster_leaves_its_tests_to_others() -> None:
    assert choose([V0, V1], preferences(5, 6)) is None
