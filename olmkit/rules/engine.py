"""Rules: their registry, their profiles, and running them.

A rule is a generator of findings. It does not know its code, does not sort, and does not stop at
the first finding. The engine adds codes, sorts the findings by place, applies profile, selection
and ignored rules, and turns a crash of a rule into a finding about olmkit. The docstring of a rule
is its documentation.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from olmkit.base import findings
from olmkit.base.diagnostics import (
    ConfigurationError,
    Diagnostic,
    Fix,
    Location,
    Related,
    Severity,
)

BUNDLE = "bundle"
CATALOG = "catalog"
PACKAGE = "package manifest"
RELEASE = "release"
SUBMISSION = "submission"
PULL_REQUEST = "pull request"

DEFAULT_SUITE = "default"  # the checks of operator-sdk without a selection
SOUND_SUITE = "sound"  # further problems that OLM, the API server or a catalog refuses or loses
CRASH = "BUG001"
MAX_FINDINGS: Final = 1000  # findings of one rule about one subject; more do not help a reader

# The modules with the rules for each kind of subject; imported when the first rule is needed.
MODULES: Mapping[str, tuple[str, ...]] = {
    BUNDLE: (
        "apis",
        "bundle_folders",
        "channels",
        "crds",
        "csv_versions",
        "csvs",
        "dependencies",
        "documents",
        "properties",
        "examples",
        "install_modes",
        "installs",
        "webhooks",
        "metadata",
        "objects",
        "related_images",
        "schemas",
        "sizes",
    ),
    CATALOG: ("catalog_bundles", "catalogs", "deprecations", "graphs"),
    PACKAGE: ("package_manifests",),
    RELEASE: ("releases",),
    SUBMISSION: (
        "submissions.layout",
        "submissions.ci",
        "submissions.releases",
        "submissions.graph",
        "submissions.catalogs",
    ),
    PULL_REQUEST: ("submissions.changes",),
}
# More rules for bundles, imported only for profiles that have one of their suites.
OPTIONAL_MODULES: Mapping[str, frozenset[str]] = {
    "publishing.certification": frozenset({"certified"}),
    "publishing.good_practices": frozenset({"good-practices"}),
    "publishing.hub_annotations": frozenset({"capabilities", "categories"}),
    "publishing.hub_fields": frozenset({"operatorhub"}),
    "publishing.kube_apis": frozenset({"removed-apis"}),
    "publishing.multiarch": frozenset({"multiarch"}),
    "publishing.olmv1": frozenset({"olmv1"}),
    "publishing.openshift": frozenset({"openshift"}),
    "publishing.openshift_limits": frozenset({"community"}),
    "publishing.placeholders": frozenset({"placeholders"}),
    "publishing.protective_objects": frozenset({"object"}),
    "publishing.required_fields": frozenset({"required-fields", "yaml-lint"}),
}

FAMILIES: Mapping[str, str] = {
    "DOC": "text of YAML and JSON files",
    "MET": "annotations, dependencies, properties and files of a bundle",
    "OBJ": "manifests of a bundle",
    "CSV": "ClusterServiceVersions",
    "CRD": "CustomResourceDefinitions",
    "KUB": "removed and deprecated APIs of Kubernetes",
    "HUB": "publishing requirements",
    "OCP": "publishing for OpenShift",
    "CRT": "certification for OpenShift",
    "MUL": "platforms of images",
    "EXT": "installing with OLM v1",
    "FBC": "blobs of a catalog",
    "GRF": "upgrade graphs",
    "PKG": "package manifests",
    "UPG": "upgrades from an earlier state of a catalog",
    "SCD": "scorecard",
    "SUB": "submissions to the repositories of catalogs",
    "BUG": "bugs in olmkit",
}


class Finding(NamedTuple):
    """The finding of a rule, before the engine adds its code.

    `severity` is set by the few rules whose severity depends on the facts (an API that is removed
    in the cluster's version, or only later); all others omit it.
    """

    message: str
    at: Location | None = None
    hint: str = ""
    subject: str = ""
    fix: Fix | None = None
    related: tuple[Related, ...] = ()
    severity: Severity | None = None


class Facts(NamedTuple):
    """Facts for a check beyond the subject: the target environment.

    Empty values mean "unknown"; rules then use only the bundle. `kube_version` is a version
    of Kubernetes, `openshift_versions` has the form of `com.redhat.openshift.versions`.
    `categories` replaces the standard ones. `containerfile` is the text of the bundle's
    Containerfile. `platforms` has `os/architecture` of each image that was inspected; an image
    that could not be inspected has none.
    """

    kube_version: str = ""
    openshift_versions: str = ""
    categories: frozenset[str] | None = None
    containerfile: bytes | None = None
    platforms: Mapping[str, tuple[str, ...]] | None = None


Check = Callable[..., Iterator[Finding]]
C = TypeVar("C", bound=Check)


class Rule(NamedTuple):
    """One registered rule."""

    code: str
    name: str
    severity: Severity
    suite: str
    subject: str
    check: Check
    wants_facts: bool
    also: frozenset[str] = frozenset()

    @property
    def suites(self) -> frozenset[str]:
        """Return the suite of the rule, and further suites that have it."""
        return self.also | {self.suite}

    @property
    def family(self) -> str:
        return self.code.rstrip("0123456789")

    @property
    def doc(self) -> str:
        """Return the documentation: a sentence, `Why:`, `Fix:`."""
        return inspect.cleandoc(self.check.__doc__ or "")


class Profile(NamedTuple):
    """A named set of rules: suites, excluded rules, and different severities."""

    name: str
    summary: str
    suites: frozenset[str]
    off: frozenset[str] = frozenset()
    severities: Mapping[str, Severity] = MappingProxyType({})


_HUB_SUITES = frozenset(
    {
        DEFAULT_SUITE,
        SOUND_SUITE,
        "operatorhub",
        "capabilities",
        "categories",
        "removed-apis",
        "good-practices",
        "placeholders",
        "submission",
    }
)
_OPENSHIFT_SUITES = _HUB_SUITES | {"openshift", "submission-openshift"}

# Published bundles have these problems; a new publication should not start with them.
_STRICT: Mapping[str, Severity] = dict.fromkeys(
    ("CSV030", "CSV031", "CSV036", "CSV047", "CSV048", "CSV060", "CSV067"), Severity.ERROR
)

# Only the pipeline of the community catalog refuses these.
_OPENSHIFT: Mapping[str, Severity] = {
    **_STRICT,
    **dict.fromkeys(("OCP001", "OCP002"), Severity.WARNING),
}

PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile(
            name="default",
            summary="what OLM and every catalog require",
            suites=frozenset({DEFAULT_SUITE, SOUND_SUITE}),
        ),
        Profile(
            name="operator-sdk",
            summary="only what operator-sdk checks by default",
            suites=frozenset({DEFAULT_SUITE}),
        ),
        Profile(
            name="operatorhub",
            summary="also what OperatorHub.io requires",
            suites=_HUB_SUITES,
            severities=_STRICT,
        ),
        Profile(
            name="community",
            summary="also what the community catalog of OpenShift requires",
            suites=_OPENSHIFT_SUITES
            | {"community", "required-fields", "yaml-lint", "submission-community"},
            severities=_STRICT,
        ),
        Profile(
            name="openshift",
            summary="also what OpenShift's console and catalogs read",
            suites=_OPENSHIFT_SUITES | {"multiarch", "object"},
            severities=_OPENSHIFT,
        ),
        Profile(
            name="certified",
            summary="also what certification for OpenShift requires",
            suites=_OPENSHIFT_SUITES | {"multiarch", "certified", "submission-certified"},
            severities=_OPENSHIFT,
        ),
        Profile(
            name="olmv1",
            summary="also what OLM v1 cannot install",
            suites=frozenset({DEFAULT_SUITE, SOUND_SUITE, "olmv1"}),
        ),
    )
}

_rules: dict[str, Rule] = {}
_loaded: set[str] = set()
_CODE = re.compile(r"[A-Z]{3}[0-9]{3}")


def rule(
    code: str,
    name: str,
    *,
    severity: Severity = Severity.ERROR,
    suite: str = DEFAULT_SUITE,
    subject: str = BUNDLE,
    also: tuple[str, ...] = (),
) -> Callable[[C], C]:
    """Register a rule: a generator of findings over a subject, and `Facts` if it has the parameter.

    `also` names further suites that have the rule. Raises `ValueError` for an invalid code and for
    a code that another rule has.
    """
    if not _CODE.fullmatch(code):
        raise ValueError(f"`{code}` is not a rule code")

    def register(check: C) -> C:
        known = _rules.get(code)
        if known is not None and known.check.__qualname__ != check.__qualname__:
            raise ValueError(f"two rules have the code `{code}`")
        _rules[code] = Rule(
            code=code,
            name=name,
            severity=severity,
            suite=suite,
            subject=subject,
            check=check,
            wants_facts=check.__code__.co_argcount > 1,
            also=frozenset(also),
        )
        return check

    return register


def rules(subject: str = BUNDLE) -> tuple[Rule, ...]:
    """Return every rule for a kind of subject, by code."""
    _load(subject)
    return _loaded_rules(subject)


def _loaded_rules(subject: str) -> tuple[Rule, ...]:
    return tuple(entry for _, entry in sorted(_rules.items()) if entry.subject == subject)


def find(word: str) -> Rule:
    """Return the rule with that code or name; raise `ConfigurationError` if there is none."""
    for kind in MODULES:
        _load(kind)
    for entry in _rules.values():
        if word.upper() == entry.code or word.lower() == entry.name:
            return entry
    raise _unknown(word)


def explain(word: str) -> str:
    """Return the documentation of a rule, as text for people."""
    entry = find(word)
    head = f"{entry.code} {entry.name} ({entry.severity}, {entry.suite} rules)"
    return f"{head}\n\n{entry.doc}\n"


def profile(name: str) -> Profile:
    """Return the profile of that name; raise `ConfigurationError` if there is none."""
    if name not in PROFILES:
        raise ConfigurationError(
            f"there is no profile `{name}`", hint=f"profiles are {', '.join(PROFILES)}"
        )
    return PROFILES[name]


def choose(
    profile: Profile,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    subject: str = BUNDLE,
) -> tuple[Rule, ...]:
    """Return the rules to run.

    `select` replaces the profile's choice; `ignore` removes rules from either. Both name rules by
    code (`CSV012`), by name, by family (`CSV`) or by suite, and a name of both a suite and a family
    means the suite.
    """
    # A named rule may be in any module; a profile needs only the modules of its suites.
    _load(subject, None if select or ignore else profile.suites)
    everything = _loaded_rules(subject)
    if select:
        picked = _match(select, everything)
    else:
        picked = {
            entry.code
            for entry in everything
            if entry.suites & profile.suites and entry.code not in profile.off
        }
    picked -= _match(ignore, everything)
    return tuple(entry for entry in everything if entry.code in picked)


def choose_for(
    subjects: Sequence[str],
    profile: Profile,
    *,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> dict[str, tuple[Rule, ...]]:
    """Return the rules for several kinds of subjects; a name may match only one kind."""
    for subject in subjects:
        _load(subject)
    everything = tuple(rule for subject in subjects for rule in _loaded_rules(subject))
    picked = _match(select, everything)
    dropped = _match(ignore, everything)
    return {
        subject: tuple(
            rule
            for rule in everything
            if rule.subject == subject
            and rule.code not in dropped
            and (
                rule.code in picked
                if select
                else rule.suites & profile.suites and rule.code not in profile.off
            )
        )
        for subject in subjects
    }


def run(
    subject: Any,
    chosen: Iterable[Rule],
    *,
    facts: Facts | None = None,
    severities: Mapping[str, Severity] | None = None,
) -> tuple[Diagnostic, ...]:
    """Return the findings of the selected rules, sorted by place."""
    facts = facts or Facts()
    found: list[Diagnostic] = []
    for entry in chosen:
        found.extend(_run_one(entry, subject, facts, severities or {}))
    return tuple(sorted(dict.fromkeys(found), key=Diagnostic.sort_key))


def _run_one(
    entry: Rule, subject: Any, facts: Facts, severities: Mapping[str, Severity]
) -> Iterator[Diagnostic]:
    try:
        found = entry.check(subject, facts) if entry.wants_facts else entry.check(subject)
        for number, finding in enumerate(found):
            if number == MAX_FINDINGS:
                yield Diagnostic(
                    rule=entry.code,
                    name=entry.name,
                    severity=severities.get(entry.code, finding.severity or entry.severity),
                    message=f"there are more findings of this rule than the {MAX_FINDINGS:,} shown",
                    hint="fix these first, then run the command again",
                )
                return
            yield Diagnostic(
                rule=entry.code,
                name=entry.name,
                severity=severities.get(entry.code, finding.severity or entry.severity),
                message=_format_message(finding.message),
                at=finding.at,
                subject=finding.subject,
                hint=finding.hint,
                fix=finding.fix,
                related=finding.related,
            )
    except Exception as error:  # one broken rule must not hide other findings
        yield findings.create(
            CRASH,
            f"rule `{entry.code}` stopped with {type(error).__name__}: {_one_line(error)}",
            hint="this is a bug in olmkit: report it with the bundle, "
            f"and continue with `--ignore {entry.code}`",
        )


def has_crashed(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether a rule stopped because of a bug in olmkit."""
    return any(found.rule == CRASH for found in diagnostics)


def _match(words: Sequence[str], everything: Sequence[Rule]) -> set[str]:
    matched: set[str] = set()
    for word in words:
        hits = {
            entry.code
            for entry in everything
            if word.upper() in (entry.code, entry.family)
            or word.lower() in (entry.name, *entry.suites)
        }
        if not hits and not _is_known_elsewhere(word):
            raise _unknown(word)
        matched |= hits
    return matched


def _is_known_elsewhere(word: str) -> bool:
    """Return whether a family or a suite has rules for another kind of subject."""
    return word.upper() in FAMILIES


def _unknown(word: str) -> ConfigurationError:
    import difflib

    names = [name for entry in _rules.values() for name in (entry.code, entry.name)]
    near = difflib.get_close_matches(word, names, n=1) or difflib.get_close_matches(
        word.upper(), names, n=1
    )
    return ConfigurationError(
        f"there is no rule `{word}`",
        hint=f"did you mean `{near[0]}`" if near else "`--list-rules` shows all rules",
    )


def _load(subject: str, suites: frozenset[str] | None = None) -> None:
    """Import the rules for a kind of subject: all, or at least those of the suites."""
    modules = MODULES[subject]
    if subject == BUNDLE:
        modules += tuple(
            module for module, known in OPTIONAL_MODULES.items() if suites is None or known & suites
        )
    for module in modules:
        if module not in _loaded:
            importlib.import_module(f"olmkit.rules.{module}")
            _loaded.add(module)


def _format_message(message: str) -> str:
    """Return the message on one line; `Diagnostic` limits its length."""
    return message.replace("\n", "\\n") if "\n" in message else message


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
