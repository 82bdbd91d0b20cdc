"""The objects of a bundle next to its CSV, and findings about objects that it cannot contain."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic
from olmkit.bundle.generation import collect, serialise
from olmkit.bundle.generation.collect import CollectedObjects
from olmkit.bundle.generation.rbac import AccountAccess
from olmkit.bundle.generation.supported_kinds import REPLACED_BY_OLM, SUPPORTED
from olmkit.bundle.model import CERT_MANAGER_INJECTION, CustomResourceDefinition
from olmkit.kube import objects
from olmkit.kube.objects import Manifest

_OLM_MOUNTS = frozenset(
    ("/tmp/k8s-webhook-server/serving-certs", "/apiserver.local.config/certificates")  # noqa: S108
)


def in_order(crds: Iterable[CustomResourceDefinition]) -> Iterator[CustomResourceDefinition]:
    """Return the CRDs, version v1 first, in the order that users know."""
    yield from sorted(crds, key=lambda crd: crd.gvk.version != "v1")


def written(collection: CollectedObjects, access: AccountAccess | None) -> Iterator[Manifest]:
    """Yield the objects that become separate files, in the order of their names."""
    yield from map(serialise.manifest, in_order(collection.crds))
    yield from map(serialise.manifest, collection.services)
    for other in collection.others:
        if other.kind in SUPPORTED:
            yield serialise.manifest(other)
    if access is not None:
        yield from map(serialise.manifest, access.leftover)


def report_dropped(collection: CollectedObjects, note: Callable[[Diagnostic], None]) -> None:
    groups = {(crd.group, crd.defined_kind) for crd in collection.crds}
    for other in collection.others:
        if other.kind in SUPPORTED:
            continue
        gvk = other.gvk
        reason = REPLACED_BY_OLM.get((gvk.group, gvk.kind))
        where: dict[str, Any] = {"at": other.at("kind"), "subject": collect.subject(other)}
        if reason is not None:
            note(
                findings.create("PRJ103", f"a bundle needs no `{other.kind}`", hint=reason, **where)
            )
        elif (gvk.group, gvk.kind) in groups:
            note(
                findings.create(
                    "PRJ114",
                    f"the sample `{other.name}` is of version `{gvk.version}`, "
                    "which its CRD does not serve, so it does not become an example",
                    hint="write the sample in a served version",
                    **where,
                )
            )
        else:
            note(
                findings.create(
                    "PRJ102",
                    f"a bundle cannot hold the kind `{other.kind}`, so `{other.name}` is left out",
                    hint="let the operator create it, or install it separately from the bundle",
                    **where,
                )
            )


def note_certificates(collection: CollectedObjects, note: Callable[[Diagnostic], None]) -> None:
    """Report what cert-manager does in a cluster and cannot do in a bundle.

    OLM would overwrite the CA in a CRD, and no Secret exists without its Certificate.
    """
    _note_secrets(collection, note)
    for crd in collection.crds:
        for key in crd.annotations if crd.converts_by_webhook else ():
            if key.startswith(CERT_MANAGER_INJECTION):
                note(
                    findings.create(
                        "PRJ119",
                        f"OLM sets the CA of the conversion webhook, and `{key}` makes "
                        "cert-manager overwrite it",
                        at=crd.at_key("metadata", "annotations", key),
                        subject=collect.subject(crd),
                        hint="remove the annotation from `config/manifests`",
                    )
                )


def _note_secrets(collection: CollectedObjects, note: Callable[[Diagnostic], None]) -> None:
    """Report volumes of Secrets that only a Certificate, which a bundle cannot have, creates."""
    left_out = {
        objects.text(objects.mapping(one.value.get("spec")).get("secretName")): one.name
        for one in collection.others
        if (one.gvk.group, one.kind) == ("cert-manager.io", "Certificate")
    }
    present = {one.name for one in collection.others if one.kind == "Secret"}
    served = bool(collection.webhooks) or any(one.converts_by_webhook for one in collection.crds)
    for deployment in collection.deployments:
        pod = objects.pod_spec(deployment.value)
        paths = _mounts(pod)
        for index, volume in enumerate(objects.sequence(pod.get("volumes"))):
            secret = objects.mapping(objects.mapping(volume).get("secret"))
            name = objects.text(secret.get("secretName"))
            if name not in left_out or name in present or secret.get("optional") is True:
                continue
            mounted = paths.get(objects.text(objects.mapping(volume).get("name")), set())
            # OLM replaces these mounts, and the kubelet waits only for volumes with a mount.
            if not mounted - (_OLM_MOUNTS if served else set()):
                continue
            note(
                findings.create(
                    "PRJ122",
                    f"the Deployment mounts the Secret `{name}`, which the Certificate "
                    f"`{left_out[name]}` would create, and a bundle has no Certificates: "
                    "its pods do not start",
                    at=deployment.at("spec", "template", "spec", "volumes", index),
                    subject=collect.subject(deployment),
                    hint="remove the patch that mounts it from the overlays below "
                    "`config/manifests`, such as `cert_metrics_manager_patch.yaml` of kubebuilder",
                )
            )


def _mounts(pod: Mapping[str, Any]) -> dict[str, set[str]]:
    """Return the mount paths of each volume of a pod."""
    found: dict[str, set[str]] = {}
    for key in ("containers", "initContainers"):
        for container in objects.sequence(pod.get(key)):
            for mount in objects.sequence(objects.mapping(container).get("volumeMounts")):
                name, path = (
                    objects.text(objects.mapping(mount).get(one)) for one in ("name", "mountPath")
                )
                found.setdefault(name, set()).add(path.rstrip("/"))
    return found
