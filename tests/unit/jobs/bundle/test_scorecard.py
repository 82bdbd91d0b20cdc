"""The scorecard of a bundle: the selected tests, and the order in which they run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.bundle.model import Bundle
from olmkit.bundle.scorecard.configuration import ScorecardTest
from olmkit.bundle.scorecard.results import ScorecardResult
from olmkit.edges import disk
from olmkit.jobs.bundle import scorecard
from olmkit.jobs.bundle.scorecard import Scorecard
from olmkit.kube.api import ClusterError

CONFIG = b"""stages:
- tests:
  - {image: own:1, entrypoint: [first], labels: {test: first}}
  - image: quay.io/operator-framework/scorecard-test:v1
    entrypoint: [scorecard-test, basic-check-spec]
    labels: {suite: basic, test: spec}
- parallel: true
  tests:
  - {image: own:1, entrypoint: [second], labels: {test: second}}
  - {image: own:1, entrypoint: [third], labels: {test: third}}
storage: {spec: {mountPath: {path: /data}}}
"""


class Recorded:
    """Records calls instead of creating pods. `slow` tests never end."""

    def __init__(self, *, slow: str = "", broken: str = "", unclean: str = "") -> None:
        self.done: list[str] = []
        self._slow, self._broken, self._unclean = slow, broken, unclean

    async def start(self, bundle: Bundle) -> None:
        self.done.append(f"start {bundle.root}")

    async def run(self, test: ScorecardTest) -> tuple[ScorecardResult, ...]:
        name = test.labels["test"]
        self.done.append(name)
        await asyncio.sleep(60 if name == self._slow else 0.01)
        if name == self._broken:
            raise ClusterError("no pod")
        self.done.append(f"end {name}")
        return (ScorecardResult(name=name),)

    def waiting(self, test: ScorecardTest) -> str:
        return f"{test.labels['test']} has no image"

    async def clean(self) -> None:
        self.done.append("clean")
        if self._unclean:
            raise ClusterError(self._unclean)


@pytest.fixture
def tree(root: Path) -> Tree:
    return disk.read_tree(root / "bundle/0.0.2").merge({"tests/scorecard/config.yaml": CONFIG})


def load(tree: Tree, selector: str = "", config: Path | None = None) -> Scorecard:
    return scorecard.load(tree, "bundle", config=config, selector=selector)


def run(card: Scorecard, pods: Recorded, *, seconds: float = 10) -> scorecard.ScorecardRun:
    return asyncio.run(scorecard.run(card, pods, seconds=seconds))


def test_stages_run_in_order_and_parallel_tests_together(tree: Tree) -> None:
    pods = Recorded()
    found = run(load(tree), pods)

    assert [one.results[0].name for one in found.outcomes] == [
        *("first", "basic-check-spec", "second", "third")
    ]
    assert pods.done == [
        *("start bundle", "first", "end first", "second", "third"),
        *("end second", "end third", "clean"),
    ]
    assert found.passed
    assert found.problem is None


def test_the_default_storage_is_that_of_the_configuration(tree: Tree) -> None:
    assert {test.storage for test in load(tree).tests} == {"/data"}


def test_built_in_tests_need_no_cluster(tree: Tree) -> None:
    card = load(tree, "suite=basic")
    assert card.of_pods() == ()
    assert len(card.of_pods(all_in_pods=True)) == 1
    pods = Recorded()
    assert run(card, pods).passed
    assert pods.done == []


def test_a_test_that_cannot_run_fails_and_the_others_run(tree: Tree) -> None:
    pods = Recorded(broken="first")
    found = run(load(tree), pods)
    assert found.outcomes[0].results == (ScorecardResult(state="fail", errors=("no pod",)),)
    assert [one.passed for one in found.outcomes] == [False, True, True, True]
    assert pods.done[-1] == "clean"


def test_after_the_time_limit_every_test_has_a_result_and_all_objects_are_removed(
    tree: Tree,
) -> None:
    pods = Recorded(slow="first")
    found = run(load(tree), pods, seconds=0.2)
    assert [one.results[0].errors for one in found.outcomes] == [
        ("the test did not end within 0 s: first has no image",),
        *[("the test did not start within 0 s",)] * 3,
    ]
    assert found.problem is not None
    assert found.problem.message == "the tests did not end within 0 s"
    assert pods.done == ["start bundle", "first", "clean"]


def test_an_interruption_removes_the_created_objects(tree: Tree) -> None:
    pods = Recorded(slow="first")

    async def interrupted() -> None:
        work = asyncio.ensure_future(scorecard.run(load(tree), pods, seconds=10))
        await asyncio.sleep(0.1)
        work.cancel()
        await work

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    assert pods.done == ["start bundle", "first", "clean"]


def test_results_are_kept_if_the_removal_fails(tree: Tree) -> None:
    found = run(load(tree), Recorded(unclean="forbidden"))
    assert found.passed
    assert found.problem is not None
    assert found.problem.message == "forbidden"


def test_another_configuration_can_be_named(tree: Tree, tmp_path: Path) -> None:
    path = tmp_path / "other.yaml"
    path.write_text("stages: [{tests: [{image: x}]}]")
    assert [test.image for test in load(tree, config=path).tests] == ["x"]
    with pytest.raises(ConfigurationError, match=r"missing\.yaml` does not exist"):
        load(tree, config=tmp_path / "missing.yaml")


@pytest.mark.parametrize(
    ("remove", "words"),
    [
        ("tests/", "there is no scorecard configuration at `bundle/tests/scorecard/config.yaml`"),
        ("metadata/", "the bundle `bundle` has no `metadata/annotations.yaml`"),
    ],
)
def test_missing_files_are_named(tree: Tree, remove: str, words: str) -> None:
    left = Tree({path: file for path, file in tree.items() if not path.startswith(remove)})
    with pytest.raises(InputError) as raised:
        load(left)
    assert raised.value.message == words


def test_invalid_annotations_are_not_reported_as_missing(tree: Tree) -> None:
    with pytest.raises(InputError) as raised:
        load(tree.merge({"metadata/annotations.yaml": b"a: 1\n b: 2\n"}))
    [found] = raised.value.diagnostics
    assert (found.rule, str(found.at)) == ("DOC001", "bundle/metadata/annotations.yaml:2:3")


def test_an_invalid_selector_is_invalid_usage(tree: Tree) -> None:
    with pytest.raises(ConfigurationError, match="is not a label selector"):
        load(tree, "a b")


def test_an_image_that_cannot_be_pulled_is_reported_for_its_test() -> None:
    with pytest.raises(OlmkitError, match="gone"):
        scorecard.read_tree("image", {"image": ClusterError("gone")})
