"""Rules about bundles that cannot run on OpenShift 4.9 and later, and must declare it.

OpenShift 4.9 has Kubernetes 1.22, which removed many APIs. A bundle that uses one of them names
the last OpenShift that it runs on, in two places: a property, which blocks the cluster's
upgrade, and a label of the image, by which catalogs choose bundles.
Source: the validator `community` of operator-framework/api.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from olmkit.base.diagnostics import Location, Severity
from olmkit.base.versions import Version
from olmkit.bundle.model import Bundle
from olmkit.kube import lifecycle
from olmkit.kube import objects as kube
from olmkit.rules import dependencies, objects
from olmkit.rules.engine import Facts, Finding, rule
from olmkit.rules.properties import MAX_OPENSHIFT
from olmkit.rules.targets import OPENSHIFT_VERSIONS

SUITE = "community"
_REMOVAL = 22  # the release of Kubernetes in OpenShift 4.9
_FIRST_WITHOUT = Version(4, 9, 0)
_HINT = "write a version below 4.9, such as `4.8`, or use APIs that are served"


@rule("OCP020", "max-openshift-missing", suite=SUITE)
def max_openshift_missing(bundle: Bundle) -> Iterator[Finding]:
    """A bundle with APIs that Kubernetes 1.22 removed does not limit the version of OpenShift.

    Why: when users upgrade to OpenShift 4.9, the operator stops working.

    Fix: write the property `olm.maxOpenShiftVersion`, or use APIs that are served.
    """
    if _is_limited(bundle) and not _problem_of_properties(bundle) and not list(_limits(bundle)):
        yield Finding(
            f"`{MAX_OPENSHIFT}` is missing, and the bundle uses APIs that OpenShift 4.9 lacks",
            at=_at(bundle),
            hint=f"write the property `{MAX_OPENSHIFT}` with a version below 4.9",
        )


@rule("OCP021", "max-openshift-form", suite=SUITE)
def max_openshift_form(bundle: Bundle) -> Iterator[Finding]:
    """The properties of a bundle with removed APIs cannot be read.

    Why: OpenShift cannot determine which of its upgrades to block.

    Fix: write a JSON list of `type` and `value`, with a string such as `4.8` as the value.
    """
    if not _is_limited(bundle):
        return
    problem = _problem_of_properties(bundle)
    if problem:
        yield Finding(f"`olm.properties` {problem}", at=_at(bundle), hint="write a JSON list")
    for value, at in _limits(bundle):
        found = Version.read(value)
        if found is None:
            yield Finding(f"`{value}` is not a version of OpenShift", at=at, hint=_HINT)
        elif found.patch or found.prerelease:
            yield Finding(
                f"`{MAX_OPENSHIFT}` is `{value}`, and only the major and minor numbers are used",
                at=at,
                hint=f"write `{found.major}.{found.minor}`",
                severity=Severity.WARNING,
            )


@rule("OCP022", "max-openshift-late", suite=SUITE)
def max_openshift_late(bundle: Bundle) -> Iterator[Finding]:
    """The version limit of a bundle with removed APIs is too high.

    Why: OpenShift 4.9 removed the APIs, and the limit allows 4.9 or later.

    Fix: write a version below 4.9.
    """
    for value, at in _limits(bundle) if _is_limited(bundle) else ():
        found = Version.read(value)
        plain = found is not None and not found.patch and not found.prerelease
        if found is not None and plain and found >= _FIRST_WITHOUT:
            yield Finding(
                f"`{MAX_OPENSHIFT}` is `{value}`, and OpenShift 4.9 lacks APIs of the bundle",
                at=at,
                hint=_HINT,
            )


@rule("OCP023", "openshift-label-unknown", severity=Severity.WARNING, suite=SUITE)
def openshift_label_unknown(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """The label of a bundle with removed APIs was not checked.

    Why: catalogs read `com.redhat.openshift.versions` from the image, and its Containerfile is
    not known.

    Fix: pass `--containerfile bundle.Dockerfile`, or use APIs that are served.
    """
    if facts.containerfile is None and _is_limited(bundle):
        yield Finding(
            f"the label `{OPENSHIFT_VERSIONS}` is not checked without the Containerfile",
            at=bundle.place(),
            hint="pass `--containerfile bundle.Dockerfile`",
        )


@rule("OCP024", "openshift-label", suite=SUITE)
def openshift_label(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """The label of a bundle with removed APIs does not end before OpenShift 4.9.

    Why: catalogs of OpenShift 4.9 and later offer the bundle, but it cannot run there. As
    in the image, comments do not count and the last label takes effect. operator-sdk reads
    the first line that contains the name.

    Fix: write a range that ends before 4.9, such as `v4.6-v4.8`, or one version: `=v4.8`.
    """
    if facts.containerfile is None or not _is_limited(bundle):
        return
    problem = _label_problem(facts.containerfile.decode("utf-8", "replace"))
    if problem:
        yield Finding(
            problem,
            at=bundle.place(),
            hint=f"write `LABEL {OPENSHIFT_VERSIONS}=v4.6-v4.8` into the Containerfile",
        )


def _label_problem(text: str) -> str:
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    labelled = [line for line in lines if OPENSHIFT_VERSIONS in line]
    if not labelled:
        return f"the label `{OPENSHIFT_VERSIONS}` is missing in the Containerfile"
    line = labelled[-1].strip()
    _, equals, value = re.sub(r"[\"'v]", "", line.split(OPENSHIFT_VERSIONS[:4])[-1]).partition("=")
    if not equals:
        return f"`{line}` is not a label: there is no `=`"
    value = value.strip()
    if value.startswith("="):
        return _version_problem(value[1:], line)
    if len(value) < 2:
        return f"`{line}` does not contain a version range"
    first, dash, last = value.rpartition("-")
    if not dash:
        return f"`{line}` has no upper end, and OpenShift 4.9 lacks APIs of the bundle"
    start = Version.read(first.rpartition(",")[2].rpartition("-")[2])
    end = Version.read(last)
    if start is not None and end is not None and start > end:
        return f"`{line}` is a range that ends before it begins"
    return _version_problem(last, line)


def _version_problem(text: str, line: str) -> str:
    found = Version.read(text)
    if found is None:
        return f"`{text}` in `{line}` is not a version of OpenShift"
    if found >= _FIRST_WITHOUT:
        return (
            f"`{line}` allows OpenShift {found.major}.{found.minor}, which lacks APIs of the bundle"
        )
    return ""


def _is_limited(bundle: Bundle) -> bool:
    """Return whether Kubernetes 1.22 removed the API of an object of the bundle."""
    used = [crd.gvk for crd in bundle.crds]
    used += [resource.gvk for resource in objects.resources(bundle)]
    ends = [lifecycle.find(gvk) for gvk in used]
    return bundle.csv is not None and any(
        end is not None and end.removed == _REMOVAL for end in ends
    )


def _properties_text(bundle: Bundle) -> str:
    csv = bundle.csv
    return csv.annotations.get("olm.properties", "") if csv else ""


def _problem_of_properties(bundle: Bundle) -> str:
    text = _properties_text(bundle)
    if not text:
        return ""
    value = dependencies.json_value(text)
    if not isinstance(value, list):
        return "is not a JSON list"
    for item in value:
        entry: Any = item
        if not isinstance(entry, dict) or not isinstance(entry.get("value", ""), str):
            return "has an entry whose value is not a string"
    return ""


def _limits(bundle: Bundle) -> Iterator[tuple[str, Location]]:
    """Yield every value of the property, of the annotation and of the properties file."""
    text = _properties_text(bundle)
    for item in kube.sequence(dependencies.json_value(text)) if text else ():
        entry = kube.mapping(item)
        if entry.get("type") == MAX_OPENSHIFT and isinstance(entry.get("value"), str):
            yield entry["value"], _at(bundle)
    for found in bundle.properties:
        if found.type == MAX_OPENSHIFT:
            yield kube.scalar_text(found.value), found.at("value")


def _at(bundle: Bundle) -> Location:
    csv = bundle.csv
    return csv.at("metadata", "annotations", "olm.properties") if csv else bundle.place()
