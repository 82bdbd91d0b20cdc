"""Checks of the pipelines behind a profile that rules over files cannot do, and how to run them.

Source: the documentation of the pipelines of OperatorHub.io, of OpenShift's community catalog and
of its certified catalog, and the checks of openshift-preflight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from olmkit.rules.engine import Facts, Profile, Rule


class Elsewhere(NamedTuple):
    """A check that did not run here: what it is, why not, and how to run it."""

    check: str
    reason: str
    how: str


_IMAGES: Final = Elsewhere(
    "platforms of the images",
    "images are read only on request",
    "add `--inspect-images`",
)
_INSTALLATION: Final = Elsewhere(
    "installation by OLM",
    "needs a cluster",
    "run `olmkit install --bundle IMAGE -n NAMESPACE`",
)
_GRAPH: Final = Elsewhere(
    "upgrade graph of the operator",
    "needs all versions of the operator",
    "run `olmkit submit check REPO`, or `olmkit catalog validate` on the rendered catalog",
)
_REPOSITORY: Final = Elsewhere(
    "`ci.yaml`, names across versions and changed files",
    "needs the repository of the catalog",
    "run `olmkit submit check REPO`",
)
_SCORECARD: Final = Elsewhere(
    "scorecard (`ScorecardBasicSpecCheck`, `ScorecardOlmSuiteCheck`)",
    "is a separate command",
    "run `olmkit bundle scorecard FOLDER`",
)
_PREFLIGHT: Final = Elsewhere(
    "preflight (`DeployableByOLM`)",
    "needs a cluster and the bundle's image in a registry",
    "run `preflight check operator IMAGE`",
)
_CERTIFIED_IMAGES: Final = Elsewhere(
    "preflight (`BundleImageRefsAreCertified`)",
    "needs Red Hat's register of images",
    "run `preflight check operator IMAGE`",
)
_V1: Final = Elsewhere(
    "installation by OLM v1",
    "needs a cluster",
    "run `olmkit install PACKAGE --olm v1 --catalog IMAGE -n NAMESPACE`",
)

ELSEWHERE: Final[Mapping[str, tuple[Elsewhere, ...]]] = {
    "operatorhub": (_GRAPH, _REPOSITORY, _INSTALLATION),
    "community": (_GRAPH, _REPOSITORY, _PREFLIGHT),
    "openshift": (_GRAPH, _INSTALLATION),
    "certified": (_GRAPH, _REPOSITORY, _CERTIFIED_IMAGES, _SCORECARD, _PREFLIGHT),
    "olmv1": (_V1,),
}

_AUTHOR: Final = Elsewhere(
    "permissions of the author, approval by reviewers",
    "needs the service that hosts the repository",
    "open the pull request; its pipeline runs them",
)
_SIGN_OFF: Final = Elsewhere(
    "sign-off of the commits (DCO)",
    "needs the commits as they are pushed",
    "commit with `git commit --signoff`",
)
_PINNING: Final = Elsewhere(
    "digests of images",
    "needs the registries of the images",
    "run `olmkit bundle generate --image-digests`",
)
_TEMPLATE_IMAGES: Final = Elsewhere(
    "bundles of the images that templates name",
    "needs the registries of the images",
    "run `olmkit catalog render-template FILE`",
)
_CERT_PROJECT: Final = Elsewhere(
    "the certification project of `cert_project_id`",
    "needs the certification service",
    "open the pull request; its pipeline runs it",
)

SUBMISSIONS: Final[Mapping[str, tuple[Elsewhere, ...]]] = {
    "operatorhub": (_AUTHOR, _SIGN_OFF, _TEMPLATE_IMAGES, _INSTALLATION),
    "community": (_AUTHOR, _PINNING, _TEMPLATE_IMAGES, _PREFLIGHT),
    "certified": (
        _AUTHOR,
        _CERT_PROJECT,
        _PINNING,
        _TEMPLATE_IMAGES,
        _CERTIFIED_IMAGES,
        _SCORECARD,
        _PREFLIGHT,
    ),
}
"""What `olmkit submit check` cannot run, by profile."""


def not_run(
    profile: Profile, chosen: tuple[Rule, ...], facts: Facts, *, named: bool = False
) -> tuple[Elsewhere, ...]:
    """Return the checks that did not run: rules without a fact, and other pipeline checks.

    `named`: the caller named the rules, so only those matter.
    """
    suites = {rule.suite for rule in chosen}
    missing = []
    if "multiarch" in suites and facts.platforms is None:
        missing.append(_IMAGES)
    return (*missing, *(() if named else ELSEWHERE.get(profile.name, ())))
