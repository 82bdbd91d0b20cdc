"""Rules about bundles that the pipelines of OpenShift's catalogs refuse.

Source: the static checks of https://github.com/redhat-openshift-ecosystem/operator-pipelines
that check one bundle. Checks of a whole repository are left to the pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmkit.base.diagnostics import Severity
from olmkit.bundle.model import Bundle
from olmkit.kube import openshift
from olmkit.rules import objects, targets
from olmkit.rules.engine import Facts, Finding, rule
from olmkit.rules.targets import OPENSHIFT_VERSIONS

SUITE = "openshift"
_NAME = re.compile(r"(?P<name>.*?)\.v?(?P<version>[0-9].*)")


@rule("OCP001", "openshift-versions-missing", suite=SUITE)
def openshift_versions_missing(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """The CSV sets the minimum Kubernetes version, but no OpenShift versions.

    Why: the pipeline then adds the bundle to the catalogs of every OpenShift version, even
    those with an older Kubernetes, and rejects it.

    Fix: write the annotation `com.redhat.openshift.versions`, such as `v4.14`, into
    `metadata/annotations.yaml`. `olmkit bundle generate` keeps it.
    """
    csv = bundle.csv
    named = facts.openshift_versions or bundle.annotations.get(OPENSHIFT_VERSIONS, "")
    if csv is not None and csv.min_kube_version.strip() and not named.strip():
        minor = targets.minor_of(csv.min_kube_version)
        first = next(
            (
                m
                for m in range(openshift.OLDEST, openshift.LATEST)
                if openshift.kubernetes(m) == minor
            ),
            None,
        )
        yield Finding(
            f"`minKubeVersion` is set, and `{OPENSHIFT_VERSIONS}` is not",
            at=csv.at("spec", "minKubeVersion"),
            hint=f"write `{OPENSHIFT_VERSIONS}: v4.{first}` into `metadata/annotations.yaml`, "
            "where `olmkit bundle generate` keeps it"
            if first
            else f"write `{OPENSHIFT_VERSIONS}` into `metadata/annotations.yaml`, "
            "where `olmkit bundle generate` keeps it",
        )


@rule("OCP002", "openshift-too-old", suite=SUITE)
def openshift_too_old(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """The bundle targets an OpenShift version with an older Kubernetes than the CSV requires.

    Why: the catalog of that OpenShift version offers the bundle, and OLM refuses to install it.

    Fix: raise the versions of OpenShift, or lower `minKubeVersion`.
    """
    csv = bundle.csv
    needed = targets.minor_of(csv.min_kube_version) if csv else None
    minors = targets.openshift_minors(bundle, facts)
    if csv is None or needed is None or minors is None:
        return
    low = [minor for minor in minors if openshift.kubernetes(minor) < needed]
    if low:
        listed = ", ".join(f"4.{minor}" for minor in low)
        yield Finding(
            f"OpenShift {listed} has an older Kubernetes than `minKubeVersion` "
            f"{csv.min_kube_version}",
            at=csv.at("spec", "minKubeVersion"),
            hint=f"begin `{OPENSHIFT_VERSIONS}` with `v4.{needed - 13}`",
        )


@rule("OCP003", "network-policy", suite=SUITE)
def network_policy(bundle: Bundle) -> Iterator[Finding]:
    """The bundle has a NetworkPolicy.

    Why: the pipelines of OpenShift's catalogs reject it, although the bundle format allows
    it.

    Fix: create the NetworkPolicy from the operator, or document it for the administrator.
    """
    for resource in objects.resources(bundle):
        if resource.kind == "NetworkPolicy" and resource.gvk.group == "networking.k8s.io":
            yield Finding(
                "OpenShift's catalogs refuse a bundle with a NetworkPolicy",
                at=resource.at("kind"),
                hint="remove it from the bundle",
            )


@rule("OCP004", "operator-name", severity=Severity.WARNING, suite=SUITE)
def operator_name(bundle: Bundle) -> Iterator[Finding]:
    """The package, the CSV and the operator's directory have different names.

    Why: the pipeline rejects a new operator whose names differ.

    Fix: use one name for the package, for the part of the CSV's name before `.v`, and for
    the directory.
    """
    csv = bundle.csv
    found = _NAME.fullmatch(csv.name) if csv else None
    if csv is None or not bundle.package:
        return
    if found is not None and found["name"] != bundle.package:
        yield Finding(
            f"the package is `{bundle.package}`, and the CSV is named `{csv.name}`",
            at=csv.at("metadata", "name"),
            hint=f"name it `{bundle.package}.v{found['version']}`",
        )
    folder = _folder(bundle)
    if folder is not None and folder[0] != bundle.package:
        yield Finding(
            f"the package is `{bundle.package}`, and the operator's folder is `{folder[0]}`",
            at=bundle.place(),
            hint="give both the same name",
        )


@rule("OCP005", "version-folder", suite=SUITE)
def version_folder(bundle: Bundle) -> Iterator[Finding]:
    """The name of the bundle's directory is not its version.

    Why: the pipelines of OpenShift's catalogs reject the bundle. The rule checks only
    directories such as `operators/NAME/VERSION`.

    Fix: rename the directory to the `spec.version` of the CSV.
    """
    csv = bundle.csv
    folder = _folder(bundle)
    if csv is not None and folder is not None and csv.version and folder[1] != csv.version:
        yield Finding(
            f"the folder is `{folder[1]}`, and the version is `{csv.version}`",
            at=csv.at("spec", "version"),
            hint=f"rename the folder to `{csv.version}`",
        )


@rule("OCP006", "openshift-version-list", severity=Severity.WARNING, suite=SUITE)
def openshift_version_list(bundle: Bundle) -> Iterator[Finding]:
    """The OpenShift versions are a list.

    Why: catalogs read `v4.12,v4.14` as 4.12 and later. The format is deprecated, and only
    supported for `v4.5,v4.6`.

    Fix: write a range, such as `v4.12-v4.14`.
    """
    value = bundle.annotations.get(OPENSHIFT_VERSIONS, "")
    document = bundle.annotations_document
    parts = {part.strip().removeprefix("v") for part in value.split(",")}
    if document is not None and "," in value and parts != {"4.5", "4.6"}:
        yield Finding(
            f"`{value}` is a list, which catalogs read as its oldest version and later",
            at=document.at("annotations", OPENSHIFT_VERSIONS),
            hint="write a range, such as `v4.12-v4.14`",
        )


def _folder(bundle: Bundle) -> tuple[str, str] | None:
    """Return operator and version of a bundle at `operators/NAME/VERSION`."""
    parts = bundle.root.rstrip("/").split("/")
    return (parts[-2], parts[-1]) if len(parts) >= 3 and parts[-3] == "operators" else None
