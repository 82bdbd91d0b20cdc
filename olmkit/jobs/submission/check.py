"""Check a repository of operators: bundles, operators, and changes.

Bundles are checked first, many at the same time, and reduced to the facts that the rules about
whole operators need, so that memory does not grow with the repository.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from olmkit.base import findings
from olmkit.base.diagnostics import (
    ConfigurationError,
    Diagnostic,
    InputError,
    Location,
    OlmkitError,
)
from olmkit.bundle import layout
from olmkit.edges import disk, paths, workers
from olmkit.edges.folder import Folder
from olmkit.edges.programs import git
from olmkit.jobs.bundle.validate import CheckOptions
from olmkit.jobs.validation import ValidationResult
from olmkit.kube import openshift
from olmkit.rules import engine
from olmkit.rules.engine import BUNDLE, PULL_REQUEST, SUBMISSION, Facts, Profile, Rule
from olmkit.submission import changes as changes_
from olmkit.submission import operators, settings
from olmkit.submission.changes import ChangedFile, ChangeSet
from olmkit.submission.operators import CATALOGS, OPERATORS, Operator, VersionFolder
from olmkit.submission.settings import PROFILES, Settings, Target

MAX_CATALOG_FILE: Final = 512 * 1024 * 1024
_BATCH: Final = 48  # items between two reports of progress

Report = Callable[[str, int, int], None]
"""Receives the current item, the number of finished items, and their total number."""

T = TypeVar("T")
R = TypeVar("R")

# Rules about one bundle that a rule about all versions replaces.
_SUPERSEDED: Final = frozenset({"CRT006"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionOptions:
    """The options of a check. The default `target` is the repository's pipeline.

    With `base`, only changes since that branch are checked; `operators` restricts it further.
    """

    target: Target | None = None
    base: str = ""
    operators: Sequence[str] = ()
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmissionReport:
    """A result for each operator, and one for the pull request if there is a base."""

    target: Target
    results: tuple[ValidationResult, ...]
    versions: int
    rules: tuple[Rule, ...] = field(repr=False, default=())


class _Item(NamedTuple):
    """A version folder; `is_judged` if bundle rules run on it."""

    operator: str
    folder: str
    is_judged: bool


class _Checked(NamedTuple):
    version: VersionFolder
    found: tuple[Diagnostic, ...]


def check(repository: Path, options: SubmissionOptions, report: Report) -> SubmissionReport:
    """Check a checkout of a repository of operators.

    Raises `ConfigurationError` for a folder that is not one, an unknown operator, rule or branch.
    """
    found = read_settings(repository)
    target = options.target or found.target
    changed = _changes(repository, options.base) if options.base else None
    names = _choose_operators(repository, options, changed)
    run = _Run(repository, target, found, options)
    items = list(_items(repository, names, changed))
    checked = _run_in_batches(run.bundle, items, "bundles", report)
    of_operator: dict[str, list[_Checked]] = {name: [] for name in names}
    for item, one in zip(items, checked, strict=True):
        of_operator[item.operator].append(one)
    work = partial(_operator, run)
    results = _run_in_batches(work, list(of_operator.items()), "operators", report)
    if changed is not None:
        results.insert(0, run.pull_request(changed))
    return SubmissionReport(
        target=target, results=tuple(results), versions=len(items), rules=run.all_rules
    )


def read_settings(repository: Path) -> Settings:
    """Read the settings of a repository, or raise `ConfigurationError` if it has no operators."""
    if not paths.is_folder(repository / OPERATORS):
        raise ConfigurationError(
            f"`{repository}` has no folder `{OPERATORS}`",
            hint="name a checkout of a repository such as `community-operators`",
        )
    path = repository / settings.FILE
    return settings.read(disk.read_if_there(path), str(path))


def operator_names(repository: Path) -> tuple[str, ...]:
    """Return the sorted operators of a repository."""
    return tuple(folders(repository / OPERATORS))


def read_operator(
    repository: Path, name: str, versions: Sequence[VersionFolder], found: Settings
) -> Operator:
    """Return an operator with known versions; its files are read when needed."""
    known = folders(repository / CATALOGS) if paths.is_folder(repository / CATALOGS) else []
    folder = repository / OPERATORS / name
    return Operator(
        name=name,
        root=_shown_path(repository),
        files=Folder(folder),
        versions=tuple(sorted(versions, key=lambda version: version.order)),
        catalogs={
            catalog: Folder(repository / CATALOGS / catalog / name, file_limit=MAX_CATALOG_FILE)
            for catalog in known
            if paths.is_folder(repository / CATALOGS / catalog / name)
        },
        known_catalogs=frozenset(known),
        settings=found,
    )


def version_folders(repository: Path, operator: str) -> Iterator[str]:
    """Return the bundle folders of an operator, with `manifests/` and `metadata/`."""
    folder = repository / OPERATORS / operator
    for name in folders(folder):
        if all(
            paths.is_folder(folder / name / part)
            for part in (layout.DEFAULT_MANIFESTS, layout.DEFAULT_METADATA)
        ):
            yield name


class _Run:
    """The rules of one check; passed to other processes by forking."""

    def __init__(
        self, repository: Path, target: Target, found: Settings, options: SubmissionOptions
    ) -> None:
        self.repository = repository
        self.settings = found
        self.target = target
        profile = CheckOptions(profile=PROFILES[target]).chosen_profile
        self.profile: Profile = profile
        chosen = engine.choose_for(
            (BUNDLE, SUBMISSION, PULL_REQUEST),
            profile,
            select=options.select,
            ignore=options.ignore,
        )
        self.rules = {
            subject: tuple(rule for rule in rules if rule.code not in _SUPERSEDED)
            for subject, rules in chosen.items()
        }

    @property
    def all_rules(self) -> tuple[Rule, ...]:
        return tuple(rule for rules in self.rules.values() for rule in rules)

    def bundle(self, item: _Item) -> _Checked:
        """Return the facts of a version, and the findings of the bundle rules."""
        folder = self.repository / OPERATORS / item.operator / item.folder
        shown = (
            f"{_shown_path(self.repository, slash=True)}{OPERATORS}/{item.operator}/{item.folder}"
        )
        try:
            bundle = layout.read(disk.read_tree(folder), shown)
        except OlmkitError as error:
            return _Checked(VersionFolder(folder=item.folder), _unreadable_finding(error, shown))
        version = operators.version_of(bundle, item.folder)
        if not item.is_judged:
            return _Checked(version, ())
        found = engine.run(
            bundle,
            self._select_rules(BUNDLE, item.operator),
            facts=self._facts(version),
            severities=self.profile.severities,
        )
        return _Checked(version, found)

    def _facts(self, version: VersionFolder) -> Facts:
        """Return the facts about the newest supported Kubernetes, as the pipeline sets them."""
        if self.target is Target.OPERATORHUB:
            return Facts()
        minors = openshift.parse(version.openshift) if version.openshift else None
        newest = minors[-1] if minors else openshift.LATEST
        return Facts(kube_version=f"1.{openshift.kubernetes(newest)}")

    def _select_rules(self, subject: str, operator: str) -> tuple[Rule, ...]:
        """Return the rules without those that the repository waives for an operator."""
        return tuple(
            rule for rule in self.rules[subject] if not self.settings.waives(rule.code, operator)
        )

    def operator(self, name: str, checked: Sequence[_Checked]) -> ValidationResult:
        """Return the findings in an operator and its versions, sorted by place."""
        reference = f"{OPERATORS}/{name}"
        found = [one for item in checked for one in item.found]
        versions = [item.version for item in checked]
        try:
            operator = read_operator(self.repository, name, versions, self.settings)
            found += engine.run(
                operator, self._select_rules(SUBMISSION, name), severities=self.profile.severities
            )
        except OlmkitError as error:
            found += _unreadable_finding(
                error, f"{_shown_path(self.repository, slash=True)}{reference}"
            )
        found.sort(key=Diagnostic.sort_key)
        return ValidationResult(reference=reference, name=name, diagnostics=tuple(found))

    def pull_request(self, changed: ChangeSet) -> ValidationResult:
        """Return the findings about the pull request as a whole."""
        found = engine.run(changed, self.rules[PULL_REQUEST], severities=self.profile.severities)
        return ValidationResult(reference="pull request", diagnostics=found)


def _operator(run: _Run, item: tuple[str, Sequence[_Checked]]) -> ValidationResult:
    return run.operator(*item)


def _changes(repository: Path, base: str) -> ChangeSet:
    commit = git.merge_base(repository, base)
    files = tuple(ChangedFile(*found) for found in git.changed_files(repository, commit))
    names = sorted(changes_.operators(files))
    after = {name: frozenset(_present(repository, name)) for name in names}
    return ChangeSet(
        files=files,
        before={
            name: frozenset(git.folders(repository, commit, f"{OPERATORS}/{name}"))
            for name in names
        },
        after=after,
        file_based=frozenset(
            name
            for name in names
            if paths.is_folder(repository / OPERATORS / name)
            and read_operator(repository, name, (), Settings()).is_file_based
        ),
        root=_shown_path(repository),
    )


def _present(repository: Path, name: str) -> Iterator[str]:
    if paths.is_folder(repository / OPERATORS / name):
        yield from version_folders(repository, name)


def _choose_operators(
    repository: Path, options: SubmissionOptions, changed: ChangeSet | None
) -> tuple[str, ...]:
    known = operator_names(repository)
    for name in options.operators:
        if name not in known:
            import difflib

            near = difflib.get_close_matches(name, known, n=1)
            raise ConfigurationError(
                f"there is no operator `{name}` in `{repository}`",
                hint=f"did you mean `{near[0]}`" if near else "name a folder of `operators/`",
            )
    wanted = set(options.operators or known)
    if changed is not None:
        wanted &= set(changed.operators)
    return tuple(name for name in known if name in wanted)


def _items(repository: Path, names: Sequence[str], changed: ChangeSet | None) -> Iterator[_Item]:
    for name in names:
        for folder in version_folders(repository, name):
            is_judged = changed is None or (name, folder) in changed.bundles
            yield _Item(name, folder, is_judged)


def _run_in_batches(
    work: Callable[[T], R], items: Sequence[T], noun: str, report: Report
) -> list[R]:
    done: list[R] = []
    size = _BATCH * workers.processors()
    for start in range(0, len(items), size):
        done += workers.map_all(work, items[start : start + size])
        if len(items) > size:
            report(noun, len(done), len(items))
    return done


def _unreadable_finding(error: OlmkitError, shown: str) -> tuple[Diagnostic, ...]:
    """Return the findings about unreadable files."""
    if isinstance(error, InputError) and error.diagnostics:
        return tuple(error.diagnostics)
    return (
        findings.create(
            "MET000",
            error.message,
            at=Location(path=shown),
            hint=error.hint,
        ),
    )


def folders(folder: Path) -> list[str]:
    """Return the sorted names of subfolders, without hidden ones."""
    names = (name for name in paths.entries(folder) if not name.startswith("."))
    return sorted(name for name in names if paths.is_folder(folder / name))


def _shown_path(repository: Path, *, slash: bool = False) -> str:
    """Return the repository's path in findings; empty for the current folder."""
    text = str(repository)
    return "" if text == "." else f"{text}/" if slash else text
