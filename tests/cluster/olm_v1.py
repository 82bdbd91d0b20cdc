"""OLM v1 on a running cluster: catalogd and operator-controller, as two Deployments.

catalogd has a newer release than operator-controller, whose newer releases cannot be built
from published modules. The controller reads the newer catalogd's catalogs. Its CRD is
that of its release: a ClusterExtension names a service account there.

Omitted manifests: cert-manager's objects, since both programs get certificates of a local
authority; isolation; metrics; leader election, whose lease survives a restart.
"""

from __future__ import annotations

import base64
import json
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from olmkit.base import documents
from olmkit.kube import rollout

SYSTEM = "olmv1-system"
CATALOGD = "catalogd-controller-manager"
CONTROLLER = "operator-controller-controller-manager"

_PREFIX = "operator-controller-"
_SECRET = "catalogd-service-cert-git-version"
_NEEDS_CERT_MANAGER = ("Certificate", "Issuer", "ClusterIssuer")
_ISOLATES = ("NetworkPolicy", "PodDisruptionBudget")
_LATER_RELEASES = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
_RBAC = ("service_account", "role", "role_binding", "leader_election_role",
         "leader_election_role_binding")  # fmt: skip

Manifest = dict[str, Any]
Programs = Mapping[str, Path]


def manifests(programs: Programs, registry: str) -> list[Manifest]:
    """Return all objects of OLM v1, in the order in which to apply them."""
    with tempfile.TemporaryDirectory() as folder:
        authority, certificate, key = _certificates(Path(folder))
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": _SECRET, "namespace": SYSTEM},
        "stringData": {
            "tls.crt": certificate.decode(),
            "tls.key": key.decode(),
            "ca.crt": authority.decode(),
        },
    }
    found = [*_catalogd(programs, registry, authority), *_controller(programs, registry), secret]
    return [dict(one) for one in rollout.sort_for_apply(found)]


def _catalogd(programs: Programs, registry: str, authority: bytes) -> Iterator[Manifest]:
    for one in _read(programs["catalogd"] / "standard.yaml"):
        left_out = (*_NEEDS_CERT_MANAGER, *_ISOLATES, *_LATER_RELEASES)
        name = one["metadata"]["name"]
        if one["kind"] in left_out or name.startswith((_PREFIX, "clusterextension")):
            continue
        if one["kind"] == "MutatingWebhookConfiguration":
            one["metadata"].pop("annotations", None)
            for hook in one["webhooks"]:
                hook["clientConfig"]["caBundle"] = base64.b64encode(authority).decode()
        if one["kind"] == "Deployment":
            for container in one["spec"]["template"]["spec"]["containers"]:
                container["image"] = f"{registry}/catalogd:v1.11.0"
                container["args"].append("--feature-gates=APIV1MetasHandler=true")
        yield one


def _controller(programs: Programs, registry: str) -> Iterator[Manifest]:
    config = programs["operator-controller"] / "config"
    yield from _read(config / "crd/bases/olm.operatorframework.io_clusterextensions.yaml")
    for file in _RBAC:
        for one in _read(config / f"rbac/{file}.yaml"):
            yield _named(one)
    for one in _read(config / "manager/manager.yaml"):
        named = _named(one)
        if named["kind"] == "Deployment":
            _set_up(named["spec"]["template"]["spec"], registry)
        yield named


def _named(one: Manifest) -> Manifest:
    """Return the object with the prefix of an overlay, in the system namespace."""
    places = [one["metadata"], *one.get("subjects", ())]
    for place in [*places, *([one["roleRef"]] if "roleRef" in one else ())]:
        place["name"] = _PREFIX + place["name"]
    for place in places:
        is_namespaced = one["kind"] not in ("Namespace", "ClusterRole", "ClusterRoleBinding")
        if "namespace" in place or (is_namespaced and place is one["metadata"]):
            place["namespace"] = SYSTEM
    return one


def _set_up(pod: Manifest, registry: str) -> None:
    (container,) = pod["containers"]
    container["image"] = f"{registry}/operator-controller:v1.2.0"
    container["args"] = [
        "--health-probe-bind-address=:8081",
        "--catalogd-cas-dir=/var/certs",
        "--pull-cas-dir=/var/certs",
        "--cache-path=/var/cache",
        f"--system-namespace={SYSTEM}",
    ]
    container["readinessProbe"] |= {"initialDelaySeconds": 1, "periodSeconds": 1}
    container["volumeMounts"] += [
        {"name": "authority", "mountPath": "/var/certs", "readOnly": True},
        {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - in the pod: bundles are pulled there
    ]
    items = [{"key": "ca.crt", "path": "olm-ca.crt"}]
    pod["volumes"] += [
        {"name": "authority", "secret": {"secretName": _SECRET, "items": items}},
        {"name": "tmp", "emptyDir": {}},
    ]
    pod["securityContext"]["fsGroup"] = 65532


def _read(file: Path) -> list[Manifest]:
    found = [document.value for document in documents.load_all(file.read_bytes(), str(file))]
    return [one for one in found if isinstance(one, dict)]


def _certificates(folder: Path) -> tuple[bytes, bytes, bytes]:
    """Create an authority, and a certificate of it with its key for catalogd's Service."""
    (folder / "ext").write_text(f"subjectAltName=DNS:catalogd-service.{SYSTEM}.svc")
    steps = (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 2 -subj /CN=authority",
        "req -newkey rsa:2048 -nodes -keyout tls.key -out tls.csr -subj /CN=catalogd",
        (
            "x509 -req -in tls.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile ext "
            "-out tls.crt"
        ),
    )
    for words in steps:
        subprocess.run(["openssl", *words.split()], cwd=folder, check=True, capture_output=True)
    read = [(folder / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key")]
    return read[0], read[1], read[2]


def as_list(found: list[Manifest]) -> str:
    """Return the objects as one List in JSON for kubectl."""
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": found})
