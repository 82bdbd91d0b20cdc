"""Rules about the requirements of OpenShift certification for a bundle.

Source: the operator checks of https://github.com/redhat-openshift-ecosystem/openshift-preflight
that read only files, and the static checks of the certified catalog's pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base import texts
from olmkit.base.diagnostics import Severity
from olmkit.bundle.model import Bundle
from olmkit.kube import objects as kube
from olmkit.rules import dependencies, permissions
from olmkit.rules.engine import Finding, rule

SUITE = "certified"
FEATURES = "features.operators.openshift.io/"
REQUIRED_FEATURES = (
    "disconnected",
    "fips-compliant",
    "proxy-aware",
    "tls-profiles",
    "token-auth-aws",
    "token-auth-azure",
    "token-auth-gcp",
)
_OPTIONAL_FEATURES = ("cnf", "cni", "csi")
_INFRASTRUCTURE = "operators.openshift.io/infrastructure-features"
_MARKETPLACE_SUFFIX = "-rhmp"
_WORKFLOWS: Mapping[str, str] = {"remote-workflow": "pricing", "support-workflow": "support"}
_USE = frozenset({"use"})


@rule("CRT001", "feature-annotation-missing", suite=SUITE)
def feature_annotation_missing(bundle: Bundle) -> Iterator[Finding]:
    """The CSV does not declare whether it supports a feature of OpenShift.

    Why: preflight's check `RequiredAnnotations` requires an answer for each of seven
    features.

    Fix: write each annotation `features.operators.openshift.io/…` with `"true"` or
    `"false"`.
    """
    csv = bundle.csv
    missing = [key for key in REQUIRED_FEATURES if csv and FEATURES + key not in csv.annotations]
    for key in missing:
        if csv is not None:
            yield Finding(
                f"annotation `{FEATURES}{key}` is missing",
                at=csv.at("metadata", "annotations"),
                hint='write "true" or "false"',
            )


@rule("CRT002", "feature-annotation-value", suite=SUITE)
def feature_annotation_value(bundle: Bundle) -> Iterator[Finding]:
    """The annotation of a feature is neither true nor false.

    Why: preflight's check `RequiredAnnotations` accepts the strings `true` and `false`.

    Fix: write `"true"` or `"false"`.
    """
    csv = bundle.csv
    for key in (*REQUIRED_FEATURES, *_OPTIONAL_FEATURES):
        value = csv.annotations.get(FEATURES + key) if csv else None
        if csv is not None and value is not None and value not in ("true", "false"):
            yield Finding(
                f"`{value}` is neither `true` nor `false`",
                at=csv.at("metadata", "annotations", FEATURES + key),
                hint='write "true" or "false"',
            )


@rule("CRT003", "image-not-related", severity=Severity.WARNING, suite=SUITE)
def image_not_related(bundle: Bundle) -> Iterator[Finding]:
    """An image of the CSV is not among its related images.

    Why: a mirror of the catalog lacks the image. Preflight's check
    `AllImageRefsInRelatedImages` reports it.

    Fix: list it at `spec.relatedImages`; `olmkit bundle generate` does it.
    """
    csv = bundle.csv
    if csv is None:
        return
    listed = {kube.scalar_text(entry.get("image")) for entry in csv.related_images}
    for index, name, image in container_images(csv.deployments):
        if image and image not in listed:
            yield Finding(
                f"image `{image}` of container `{name}` is not in `spec.relatedImages`",
                at=csv.at("spec", "install", "spec", "deployments", index),
                hint="list it at `spec.relatedImages`",
            )


@rule("CRT004", "disconnected-guidelines", severity=Severity.WARNING, suite=SUITE)
def disconnected_guidelines(bundle: Bundle) -> Iterator[Finding]:
    """The operator claims to work in a disconnected cluster, but does not meet the requirements.

    Why: a disconnected cluster has only mirrored images, and finds them by digest.
    Preflight's check `FollowsRestrictedNetworkEnablementGuidelines` reports it.

    Fix: pin every related image by digest, and pass images to the operator in variables
    that begin with `RELATED_IMAGE_`.
    """
    csv = bundle.csv
    if csv is None or not _claims_disconnected(csv.annotations):
        return
    if not csv.related_images:
        yield Finding("`spec.relatedImages` is missing", at=csv.at("spec", "relatedImages"))
    for index, entry in enumerate(csv.related_images):
        image = kube.scalar_text(entry.get("image"))
        if image and "@" not in image:
            yield Finding(
                f"related image `{image}` is not pinned by digest",
                at=csv.at("spec", "relatedImages", index, "image"),
                hint="pin it: `olmkit bundle generate --image-digests`",
            )
    variables = (
        kube.scalar_text(kube.mapping(variable).get("name"))
        for _, container in containers(csv.deployments)
        for variable in kube.sequence(container.get("env"))
    )
    if not any(name.startswith("RELATED_IMAGE_") for name in variables):
        yield Finding(
            "no variable of the operator begins with `RELATED_IMAGE_`",
            at=csv.at("spec", "install", "spec", "deployments"),
            hint="pass the images of operands in such variables",
        )


@rule("CRT005", "scc-several", severity=Severity.WARNING, suite=SUITE)
def scc_several(bundle: Bundle) -> Iterator[Finding]:
    """The CSV requests several SecurityContextConstraints.

    Why: preflight's optional check `SecurityContextConstraintsInCSV` allows one.

    Fix: request the one that the operator needs.
    """
    csv = bundle.csv
    names = {
        name: permission
        for permission in permissions.csv_rules(bundle)
        if permission.allows("security.openshift.io", "securitycontextconstraints", _USE)
        for name in permission.names
    }
    if csv is not None and len(names) > 1:
        yield Finding(
            f"the CSV requests {len(names)} SecurityContextConstraints: "
            + ", ".join(map(texts.shorten, sorted(names))),
            at=next(iter(names.values())).at,
            hint="request one",
        )


@rule("CRT006", "skip-range-alone", severity=Severity.WARNING, suite=SUITE)
def skip_range_alone(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has a skip range and does not replace a bundle.

    Why: in a channel with other bundles, this removes them from the upgrade graph, and OLM
    can no longer install them. The pipeline reports it.

    Fix: write `spec.replaces`, or list skipped bundles at `spec.skips`.
    """
    csv = bundle.csv
    if csv is not None and csv.skip_range and not csv.replaces:
        yield Finding(
            "`olm.skipRange` without `spec.replaces` prunes the upgrade graph",
            at=csv.at("metadata", "annotations", "olm.skipRange"),
            hint="write `spec.replaces`",
        )


@rule("CRT007", "marketplace-workflow", suite=SUITE)
def marketplace_workflow(bundle: Bundle) -> Iterator[Finding]:
    """An operator for Red Hat Marketplace does not link to its pages there.

    Why: the pipeline of `redhat-marketplace-operators` fails
    (`check_marketplace_annotation`), because the console links to these pages for purchase
    and support. The rule applies to packages whose names end with `-rhmp`, as in that
    repository.

    Fix: write both annotations with the addresses in the hints.
    """
    csv = bundle.csv
    if csv is None or not bundle.package.endswith(_MARKETPLACE_SUFFIX):
        return
    for name, page in _WORKFLOWS.items():
        key = f"marketplace.openshift.io/{name}"
        wanted = (
            f"https://marketplace.redhat.com/en-us/operators/{bundle.package}/{page}"
            "?utm_source=openshift_console"
        )
        found = csv.annotations.get(key)
        if found == wanted:
            continue
        keys = ("metadata", "annotations", key)
        yield Finding(
            f"annotation `{key}` is missing"
            if found is None
            else f"annotation `{key}` is not the page of `{bundle.package}`",
            at=csv.at("metadata", "annotations") if found is None else csv.at(*keys),
            hint=f"write `{wanted}`",
        )


def containers(
    deployments: tuple[Mapping[str, Any], ...],
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield every container with the index of its deployment, including init containers."""
    for index, deployment in enumerate(deployments):
        template = kube.mapping(kube.mapping(deployment.get("spec")).get("template"))
        pod = kube.mapping(template.get("spec"))
        for section in ("containers", "initContainers"):
            for item in kube.sequence(pod.get(section)):
                yield index, kube.mapping(item)


def container_images(
    deployments: tuple[Mapping[str, Any], ...],
) -> Iterator[tuple[int, str, str]]:
    """Yield index of the deployment, name and image of every container."""
    for index, container in containers(deployments):
        yield (
            index,
            kube.scalar_text(container.get("name")),
            kube.scalar_text(container.get("image")),
        )


def _claims_disconnected(annotations: Mapping[str, str]) -> bool:
    if annotations.get(FEATURES + "disconnected") == "true":
        return True
    listed = dependencies.json_value(annotations.get(_INFRASTRUCTURE, ""))
    return any(kube.scalar_text(item).lower() == "disconnected" for item in kube.sequence(listed))
