"""The scorecard of a bundle: select its tests, and run them in this process or as pods.

The built-in tests of operator-sdk's image need only the files of the bundle. They run in this
process by default; every other test is an image that runs in a cluster.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple, Protocol

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError, RemoteError
from olmkit.base.tree import Tree
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle
from olmkit.bundle.scorecard import configuration, results
from olmkit.bundle.scorecard.configuration import Configuration, ScorecardTest, Stage
from olmkit.bundle.scorecard.results import ScorecardOutcome, ScorecardResult
from olmkit.edges import disk
from olmkit.jobs.validation import Pulled
from olmkit.kube.labels import LabelSelector
from olmkit.rules import scorecard as built_in


class Scorecard(NamedTuple):
    """A bundle, its configuration, and the tests that were selected."""

    bundle: Bundle
    configuration: Configuration
    stages: tuple[Stage, ...]

    @property
    def tests(self) -> tuple[ScorecardTest, ...]:
        return tuple(test for stage in self.stages for test in stage.tests)

    def listed(self) -> tuple[ScorecardOutcome, ...]:
        """Return the selected tests, without results."""
        return tuple(ScorecardOutcome(test) for test in self.tests)

    def of_pods(self, *, all_in_pods: bool = False) -> tuple[ScorecardTest, ...]:
        """Return the selected tests that need a cluster."""
        return tuple(test for test in self.tests if all_in_pods or built_in.name_of(test) is None)


class ScorecardRun(NamedTuple):
    """The selected tests with their results, and the reason if the run was not completed."""

    outcomes: tuple[ScorecardOutcome, ...]
    problem: OlmkitError | None = None

    @property
    def passed(self) -> bool:
        return all(outcome.passed for outcome in self.outcomes)


class ScorecardPods(Protocol):
    """Runs tests in a cluster."""

    async def start(self, bundle: Bundle) -> None:
        """Prepare the cluster; raises `OlmkitError`."""

    async def run(self, test: ScorecardTest) -> tuple[ScorecardResult, ...]:
        """Return the results of one test; raise `OlmkitError` when it cannot run."""

    def waiting(self, test: ScorecardTest) -> str:
        """Return what an unfinished test is waiting for; empty if that is not known."""

    async def clean(self) -> None:
        """Remove the created objects; raises `OlmkitError`."""


def read_tree(reference: str, pulled: Pulled) -> Tree:
    """Return the files of a bundle: pulled before, or from the folder; raise `OlmkitError`."""
    found = pulled.get(reference)
    if isinstance(found, OlmkitError):
        raise found
    return disk.read_tree(Path(reference)) if found is None else found


def load(tree: Tree, reference: str, *, config: Path | None, selector: str) -> Scorecard:
    """Load the scorecard of a bundle; `config` replaces the configuration in the bundle.

    Raises `InputError` if the metadata is missing or the configuration cannot be read, and
    `ConfigurationError` for an invalid selector or a missing `config`.
    """
    bundle = layout.read(tree, reference)
    if bundle.annotations_document is None:
        for broken in bundle.unreadable:
            if posixpath.dirname(broken.path) == bundle.metadata_dir:
                raise broken.error
        raise InputError(
            f"the bundle `{reference}` has no `metadata/annotations.yaml`",
            hint="pass the folder that contains `manifests/` and `metadata/`",
        )
    found = _configuration(bundle, config)
    try:
        chosen = LabelSelector.parse(selector)
    except InputError as error:
        raise ConfigurationError(error.message, hint=error.hint) from error
    stages = tuple(
        stage._replace(
            tests=tuple(
                test._replace(storage=test.storage or found.storage) for test in stage.tests
            )
        )
        for stage in found.selected(chosen)
    )
    return Scorecard(bundle=bundle, configuration=found, stages=stages)


def _configuration(bundle: Bundle, config: Path | None) -> Configuration:
    if config is not None:
        data = disk.read_if_there(config)
        if data is None:
            raise ConfigurationError(f"`{config}` does not exist")
        return configuration.load(data, str(config))
    path = configuration.path_of(bundle)
    shown = model.join(bundle.root, path)
    if path not in bundle.tree:
        raise InputError(
            f"there is no scorecard configuration at `{shown}`",
            hint="`olmkit edit --scorecard` adds one to the project, and `olmkit bundle generate` "
            "to the bundle; or name a file with `--config`",
        )
    return configuration.load(bundle.tree.data(path), shown)


async def run(
    card: Scorecard, pods: ScorecardPods | None = None, *, all_in_pods: bool = False, seconds: float
) -> ScorecardRun:
    """Run the selected tests, stage by stage; `seconds` is the time limit for all of them.

    `pods` is needed only if a test needs a cluster. Its objects are removed at the end, also after
    an interruption. Raises `OlmkitError` if the cluster cannot be prepared.
    """
    runner = _Runner(card, pods, all_in_pods=all_in_pods, seconds=seconds)
    problem: OlmkitError | None = None
    needed = pods if card.of_pods(all_in_pods=all_in_pods) else None
    try:
        if needed is not None:
            await needed.start(card.bundle)
        await runner.run()
        problem = runner.problem
    finally:
        if needed is not None:
            # An interruption must not stop the removal.
            removed = await asyncio.shield(asyncio.ensure_future(_outcome_of(needed.clean())))
            problem = problem or removed
    return ScorecardRun(runner.outcomes(), problem)


async def _outcome_of(work: Awaitable[None]) -> OlmkitError | None:
    try:
        await work
    except OlmkitError as error:
        return error
    return None


class _Runner:
    def __init__(
        self, card: Scorecard, pods: ScorecardPods | None, *, all_in_pods: bool, seconds: float
    ) -> None:
        self._card = card
        self._pods = pods
        self._all_in_pods = all_in_pods
        self._seconds = seconds
        self._results: dict[tuple[int, int], tuple[ScorecardResult, ...]] = {}
        self._begun: set[tuple[int, int]] = set()
        self.problem: OlmkitError | None = None

    async def run(self) -> None:
        try:
            async with asyncio.timeout(self._seconds):
                for number, stage in enumerate(self._card.stages):
                    works = [
                        self._work((number, index), test) for index, test in enumerate(stage.tests)
                    ]
                    if stage.parallel:
                        await asyncio.gather(*(work() for work in works))
                    else:
                        for work in works:
                            await work()
        except TimeoutError:
            self.problem = RemoteError(
                f"the tests did not end within {self._seconds:.0f} s",
                hint="raise `--wait-time`",
                temporary=True,
            )

    def outcomes(self) -> tuple[ScorecardOutcome, ...]:
        """Return every selected test in the order of the configuration."""
        return tuple(
            ScorecardOutcome(
                test, self._results.get((number, index)) or self._late((number, index), test)
            )
            for number, stage in enumerate(self._card.stages)
            for index, test in enumerate(stage.tests)
        )

    def _work(self, place: tuple[int, int], test: ScorecardTest) -> Callable[[], Awaitable[None]]:
        async def work() -> None:
            self._begun.add(place)
            self._results[place] = await self._result(test)

        return work

    async def _result(self, test: ScorecardTest) -> tuple[ScorecardResult, ...]:
        name = None if self._all_in_pods else built_in.name_of(test)
        if name is not None:
            return built_in.run(name, self._card.bundle)
        if self._pods is None:
            return results.failure("this test needs a cluster")
        try:
            return await self._pods.run(test)
        except OlmkitError as error:
            return results.failure(error.message)

    def _late(self, place: tuple[int, int], test: ScorecardTest) -> tuple[ScorecardResult, ...]:
        if place not in self._begun:
            return results.failure(f"the test did not start within {self._seconds:.0f} s")
        reason = self._pods.waiting(test) if self._pods is not None else ""
        why = f": {reason}" if reason else ""
        return results.failure(f"the test did not end within {self._seconds:.0f} s{why}")
