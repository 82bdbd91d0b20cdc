"""Rules about good practices, which are recommended but not required.

Source: the validator `good-practices` of operator-framework/api. These rules also report cases that
it misses because of bugs: requests of both cpu and memory are checked, a blank description counts
as none, channel names are read, and group `*` covers CRDs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmkit.base.diagnostics import Severity
from olmkit.bundle import model
from olmkit.bundle.model import Bundle
from olmkit.kube import objects as kube
from olmkit.rules import csv_versions, permissions
from olmkit.rules.engine import Finding, rule

SUITE = "good-practices"
_TAIL = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?\Z")
_MAX_TAIL = 200  # the suffix of a name that may contain a version
_CHANNEL = re.compile(r"(candidate|stable|fast)")
_CREATE = frozenset({"create", "patch"})


@rule("HUB060", "deployments-missing", suite=SUITE)
def deployments_missing(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no list of deployments.

    Why: OLM would start no pods.

    Fix: write it at `spec.install.spec.deployments`.
    """
    csv = bundle.csv
    if csv is not None and csv.install_spec.get("deployments") is None:
        yield Finding(
            "unable to find a deployment to install in the CSV",
            at=csv.at("spec", "install", "spec", "deployments"),
            hint="write it at `spec.install.spec.deployments`",
        )


@rule("HUB061", "resource-requests", severity=Severity.WARNING, suite=SUITE)
def resource_requests(bundle: Bundle) -> Iterator[Finding]:
    """A container of the operator requests no CPU or no memory.

    Why: the scheduler reserves nothing for it, and the kubelet evicts such pods first. Do
    not set limits, because they depend on the cluster.

    Fix: write `resources.requests` with `cpu` and `memory`.
    """
    csv = bundle.csv
    for index, deployment in enumerate(csv.deployments if csv else ()):
        template = kube.mapping(kube.mapping(deployment.get("spec")).get("template"))
        containers = kube.sequence(kube.mapping(template.get("spec")).get("containers"))
        for position, item in enumerate(containers):
            container = kube.mapping(item)
            resources = kube.mapping(container.get("resources"))
            requests = kube.mapping(resources.get("requests"))
            missing = [key for key in ("cpu", "memory") if requests.get(key) is None]
            if csv is not None and missing:
                name = kube.scalar_text(container.get("name"))
                keys = ("spec", "install", "spec", "deployments", index, "spec", "template")
                yield Finding(
                    f"container `{name}` does not request {' and '.join(missing)}",
                    at=csv.at(*keys, "spec", "containers", position, "resources", "requests"),
                    hint="write `resources.requests` with `cpu` and `memory`",
                )


@rule("HUB062", "api-description", severity=Severity.WARNING, suite=SUITE)
def api_description(bundle: Bundle) -> Iterator[Finding]:
    """An owned or required CRD has no description in the CSV.

    Why: catalogs and consoles show it next to the name of the API.

    Fix: write `description`.
    """
    csv = bundle.csv
    if csv is None:
        return
    for sort, apis in (("owned", csv.owned_crds), ("required", csv.required_crds)):
        for api in apis:
            if not kube.scalar_text(api.value.get("description")).strip():
                yield Finding(
                    f"{sort} CRD `{api.name}` has no description",
                    at=csv.at(*api.keys, "description"),
                    hint="write one sentence on what a user gets from it, in the base CSV",
                )


@rule("HUB063", "channel-convention", severity=Severity.WARNING, suite=SUITE)
def channel_convention(bundle: Bundle) -> Iterator[Finding]:
    """The name of a channel does not follow the naming convention.

    Why: the name tells users how mature the versions of a channel are. operator-sdk has
    this rule, but does not read the channels.

    Fix: start the name with `candidate`, `fast` or `stable`, such as `stable-v1`.
    """
    document = bundle.annotations_document
    listed = dict.fromkeys((*bundle.channels, bundle.default_channel))
    for name in listed:
        if document is not None and name and not _CHANNEL.match(name):
            key = model.CHANNELS if name in bundle.channels else model.DEFAULT_CHANNEL
            yield Finding(
                f"channel `{name}` does not begin with `candidate`, `fast` or `stable`",
                at=document.at("annotations", key),
                hint="name it such as `stable` or `stable-v1`",
            )


@rule("HUB064", "crd-permission", severity=Severity.WARNING, suite=SUITE)
def crd_permission(bundle: Bundle) -> Iterator[Finding]:
    """The operator has permission to create or change CRDs.

    Why: OLM manages the CRDs of operators. An operator that installs CRDs can overwrite
    APIs that another operator owns, and bypasses OLM's upgrade checks.

    Fix: put the CRDs into the bundle, and remove the permission.
    """
    for permission in permissions.csv_rules(bundle):
        if permission.allows("apiextensions.k8s.io", "customresourcedefinitions", _CREATE):
            yield Finding(
                "the CSV contains permissions to create CRDs",
                at=permission.at,
                hint="put the CRDs into the bundle, and remove `create` and `patch`",
            )


@rule("HUB065", "csv-name-convention", severity=Severity.WARNING, suite=SUITE)
def csv_name_convention(bundle: Bundle) -> Iterator[Finding]:
    """The name of the CSV does not follow the naming convention.

    Why: users and tools read the package and the version from it.

    Fix: name it `<package>.v<version>`, such as `kettle.v1.2.3`.
    """
    csv = bundle.csv
    if csv is None:
        return
    tail = _TAIL.search(csv.name[-_MAX_TAIL:])
    if tail is None or not csv_versions.is_strict_version(tail[0]):
        yield Finding(
            f"name `{csv.name}` does not end in a semantic version",
            at=csv.at("metadata", "name"),
            hint="name it `<package>.v<version>`",
        )
    if csv.name.count(".v") != 1:
        yield Finding(
            f"name `{csv.name}` does not follow the naming convention `<package>.v<version>`",
            at=csv.at("metadata", "name"),
            hint="write `.v` once, before the version",
        )
