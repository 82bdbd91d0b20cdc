"""Check bundles with rules.

Bundles come from folders or images. One bundle is checked in this process; many are distributed
over the processors. A bundle that cannot be read is a result with its error, so that it does not
hide the findings in others.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.edges import disk, paths, workers
from olmkit.jobs import validation
from olmkit.jobs.validation import Pulled, ValidationResult
from olmkit.project import ignores
from olmkit.rules import engine
from olmkit.rules.engine import Facts, Profile, Rule

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.rules.baselines import Baseline


PYPROJECT_FILE = "pyproject.toml"


class GivenFacts(NamedTuple):
    """Facts as strings from the command line; empty if not set.

    `optional_values` has the form of operator-sdk: `KEY=VALUE`, several separated by commas.
    """

    kube_version: str = ""
    openshift_versions: str = ""
    containerfile: str = ""
    categories: str = ""
    optional_values: Sequence[str] = ()


class CheckOptions(NamedTuple):
    """The rules to run and their facts. `suites` are added to those of the profile."""

    profile: str = "default"
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()
    suites: frozenset[str] = frozenset()
    facts: Facts = Facts()

    @property
    def chosen_profile(self) -> Profile:
        profile = engine.profile(self.profile)
        return profile._replace(suites=profile.suites | self.suites)

    def rules(self) -> tuple[Rule, ...]:
        """Return the rules to run; raise `ConfigurationError` for an unknown rule or profile."""
        return engine.choose(self.chosen_profile, select=self.select, ignore=self.ignore)


async def pull(references: Sequence[str], access: Access) -> Pulled:
    """Pull the references that are images; return their files or errors."""
    from olmkit.edges.images import transports

    async def read(reference: str) -> Tree:
        return (await transports.read_bundle_tree(reference, access)).tree

    return await validation.pull(references, read)


def project_ignores(folder: Path) -> Mapping[str, str]:
    """Return the rules that the project of a folder ignores, each with its reason."""
    path = folder / PYPROJECT_FILE
    return ignores.parse(disk.read_if_there(path), str(path))


def read_baseline(path: Path) -> Baseline:
    """Read the baseline of a file; raise `ConfigurationError` if it does not exist."""
    data = disk.read_if_there(path)
    if data is None:
        raise ConfigurationError(
            f"`{path}` does not exist", hint=f"write it with `--write-baseline {path}`"
        )
    from olmkit.rules.baselines import Baseline

    return Baseline.load(data, str(path))


def write_baseline(path: Path, results: Sequence[ValidationResult]) -> int:
    """Write the findings as the baseline; return their number."""
    from olmkit.rules.baselines import Baseline

    found = [one for result in results for one in result.diagnostics]
    disk.write_atomically(path, Baseline(found).dump())
    return len(found)


def without_known(
    results: Sequence[ValidationResult], baseline: Baseline
) -> tuple[ValidationResult, ...]:
    """Return the results without the findings of the baseline."""
    return tuple(
        replace(result, diagnostics=baseline.new(result.diagnostics)) for result in results
    )


def validate_bundles(
    references: Sequence[str],
    options: CheckOptions,
    *,
    pulled: Pulled | None = None,
) -> tuple[ValidationResult, ...]:
    """Check each bundle; the results are in the order of the references.

    Raises `ConfigurationError` for an unknown rule or profile, before any work.
    """
    check = _Check(options)
    trees = pulled or {}

    def work(reference: str) -> ValidationResult:
        return check.run(reference, trees.get(reference))

    with _without_collector():
        return tuple(workers.map_all(work, references))


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Disable the garbage collector, which takes half of the time and finds nothing here."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _require_bundle(folder: Path) -> None:
    """Raise `InputError` for the folder of a project, which contains its bundle and much more."""
    inner = folder / "bundle"
    if paths.is_folder(inner / "manifests") and not paths.is_folder(folder / "manifests"):
        raise InputError(
            f"`{folder}` is not a bundle: it has no `manifests/` folder",
            hint=f"its bundle is in `{inner}`",
        )


class _Check:
    def __init__(self, options: CheckOptions) -> None:
        self._rules = options.rules()
        self._severities = options.chosen_profile.severities
        self._facts = options.facts
        self._options = options

    def run(self, reference: str, tree: Tree | OlmkitError | None) -> ValidationResult:
        if isinstance(tree, OlmkitError):
            return ValidationResult(reference=reference, error=tree)
        found: Tree | None = None
        try:
            if tree is None:
                _require_bundle(Path(reference))
            found = disk.read_tree(Path(reference)) if tree is None else tree
            bundle = layout.read(found, reference)
        except OlmkitError as error:
            of_package = self._validate_package(reference, found) if found is not None else None
            return of_package or ValidationResult(reference=reference, error=error)
        return ValidationResult(
            reference=reference,
            name=bundle.csv.name if bundle.csv else "",
            diagnostics=engine.run(
                bundle, self._rules, facts=self._facts, severities=self._severities
            ),
        )

    def _validate_package(self, reference: str, tree: Tree) -> ValidationResult | None:
        """Return the findings about a folder of package manifests; None for other folders."""
        from olmkit.bundle import package_manifest  # imported here, since it is rarely needed

        manifest = package_manifest.find(tree, reference)
        if manifest is None:
            return None
        chosen = self._options
        rules = engine.choose(
            chosen.chosen_profile,
            select=chosen.select,
            ignore=chosen.ignore,
            subject=engine.PACKAGE,
        )
        found = engine.run(manifest, rules, severities=self._severities)
        return ValidationResult(reference=reference, name=manifest.name, diagnostics=found)
