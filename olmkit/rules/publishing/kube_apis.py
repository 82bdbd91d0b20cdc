"""Rules about Kubernetes' own APIs: versions that are removed or deprecated.

An API version that the cluster no longer serves makes the installation fail. This depends on the
Kubernetes version: the one that the caller names, or the oldest one of the CSV.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from olmkit.base.diagnostics import Location, Severity
from olmkit.bundle import model
from olmkit.bundle.model import Bundle
from olmkit.kube import lifecycle
from olmkit.kube import objects as kube
from olmkit.kube.lifecycle import Lifecycle
from olmkit.kube.objects import GVK
from olmkit.rules import objects, permissions, targets
from olmkit.rules.engine import Facts, Finding, rule

SUITE = "removed-apis"


class _Use(NamedTuple):
    """A place of the bundle that uses an API of Kubernetes."""

    gvk: GVK
    name: str
    at: Location


@rule("KUB001", "removed-api", severity=Severity.WARNING, suite=SUITE)
def removed_api(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """The bundle uses an API version that Kubernetes has removed.

    Why: a cluster of that release or a later one does not serve it, so OLM cannot create
    the object. The finding is an error if `--k8s-version`, `--ocp-versions` or
    `minKubeVersion` selects such a cluster, and otherwise a warning. operator-sdk checks
    only the removals of 1.22, 1.25 and 1.26, and treats a release candidate as the previous
    release.

    Fix: use the API version that replaces it.
    """
    target = targets.kube_minor(bundle, facts)
    for use in _uses(bundle):
        end = lifecycle.find(use.gvk)
        if end is not None and end.removed <= lifecycle.LATEST:
            is_removed = target is not None and target >= end.removed
            yield _finding(
                use, f"removed in v1.{end.removed}", end, Severity.ERROR if is_removed else None
            )


@rule("KUB002", "deprecated-api", severity=Severity.WARNING, suite=SUITE)
def deprecated_api(bundle: Bundle) -> Iterator[Finding]:
    """The bundle uses an API version that Kubernetes is going to remove.

    Why: the version is deprecated, and Kubernetes has announced the release that removes
    it.

    Fix: use the API version that replaces it.
    """
    for use in _uses(bundle):
        end = lifecycle.find(use.gvk)
        if end is not None and end.removed > lifecycle.LATEST:
            words = f"deprecated since v1.{end.deprecated} and will be removed in v1.{end.removed}"
            yield _finding(use, words, end, None)


@rule("KUB003", "removed-resource-permission", severity=Severity.WARNING, suite=SUITE)
def removed_resource_permission(bundle: Bundle) -> Iterator[Finding]:
    """The bundle requests permissions for a resource that Kubernetes has removed.

    Why: no supported release serves the resource in any version. If a resource still has a
    served version, its permissions are valid, because they contain a group but no version.
    operator-sdk 1.42 also warns about those.

    Fix: remove the resource from the rule.
    """
    removed = {(group, plural): release for group, plural, release in lifecycle.removed_resources()}
    for permission in permissions.every(bundle):
        for group, plural in sorted(
            (group, plural) for group in permission.groups for plural in permission.resources
        ):
            release = removed.get((group, plural))
            if release is not None:
                yield Finding(
                    f"permissions for `{plural}` of group `{group}`, which were removed in "
                    f"v1.{release}",
                    at=permission.at,
                    hint=f"remove `{plural}` from `resources`",
                )


@rule("KUB004", "removed-api-described", severity=Severity.WARNING, suite=SUITE)
def removed_api_described(bundle: Bundle) -> Iterator[Finding]:
    """The resources of an API description have a version that Kubernetes has removed.

    Why: the console lists the objects that the operator creates for an API. The version can
    be abbreviated, so this is only a warning.

    Fix: write the version that is served.
    """
    csv = bundle.csv
    ends = {(gvk.version, gvk.kind): end for gvk, end in lifecycle.LIFECYCLES.items()}
    for gvk, at in _described_apis(bundle):
        end = ends.get((gvk.version, gvk.kind))
        if (
            csv is not None
            and not gvk.group
            and end is not None
            and end.removed <= lifecycle.LATEST
        ):
            yield Finding(
                f"`{gvk.kind}` of version `{gvk.version}` was removed in v1.{end.removed}",
                at=at,
                hint=f"write `{end.replacement.rpartition('/')[2]}`" if end.replacement else "",
            )


def _finding(use: _Use, state: str, end: Lifecycle, severity: Severity | None) -> Finding:
    name = f" `{use.name}`" if use.name else ""
    return Finding(
        f"{use.gvk.kind}{name} uses `{use.gvk.api_version}`, which is {state}"
        if "deprecated" in state
        else f"{use.gvk.kind}{name} uses `{use.gvk.api_version}`, which was {state}",
        at=use.at,
        hint=f"use `{end.replacement}`" if end.replacement else "remove the object",
        severity=severity,
    )


def _uses(bundle: Bundle) -> Iterator[_Use]:
    for crd in bundle.crds:
        yield _Use(crd.gvk, crd.name, crd.at("apiVersion"))
    for resource in objects.resources(bundle):
        if resource.kind in (model.CSV_KIND, model.CRD_KIND):
            continue
        yield _Use(resource.gvk, resource.name, resource.at("apiVersion"))
    for gvk, at in _described_apis(bundle):
        if gvk.group:
            yield _Use(gvk, "", at)


def _described_apis(bundle: Bundle) -> Iterator[tuple[GVK, Location]]:
    csv = bundle.csv
    for api in (*csv.owned_crds, *csv.required_crds) if csv else ():
        for index, item in enumerate(kube.sequence(api.value.get("resources"))):
            value = kube.mapping(item)
            gvk = GVK.parse(
                kube.scalar_text(value.get("version")),
                kube.scalar_text(value.get("kind")),
            )
            if csv is not None:
                yield gvk, csv.at(*api.keys, "resources", index, "version")
