"""OLM v1: catalogd serves our catalog, and ClusterExtensions are made as their CRD wants them.

operator-controller, which acts on ClusterExtensions, cannot be built from the Go modules
that can be had here; a double of it writes the conditions that it would write. What it
would do with a bundle is therefore not tried.
"""

from __future__ import annotations

import base64
import json
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.kube import rollout

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
SYSTEM = "olmv1-system"
SECRET = "catalogd-service-cert-git-version"
# No cert-manager here, no operator-controller, and nothing that isolates.
LEFT_OUT = ("Certificate", "Issuer", "ClusterIssuer", "NetworkPolicy", "PodDisruptionBudget")


@pytest.fixture(scope="module")
def catalogd(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Catalogd and the CRDs of OLM v1, from the manifests of its own module."""
    folder = tmp_path_factory.mktemp("catalogd")
    authority, certificate, key = certificates(folder)
    file = cluster.programs["catalogd"] / "standard.yaml"
    found = [document.value for document in documents.load_all(file.read_bytes(), str(file))]
    wanted = [one for one in found if isinstance(one, dict) and is_wanted(one)]
    for one in wanted:
        if one["kind"] == "MutatingWebhookConfiguration":
            one["metadata"].pop("annotations", None)
            for hook in one["webhooks"]:
                hook["clientConfig"]["caBundle"] = base64.b64encode(authority).decode()
        if one["kind"] == "Deployment":
            for container in one["spec"]["template"]["spec"]["containers"]:
                container["image"] = f"{cluster.registry}/catalogd:1"
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": SECRET, "namespace": SYSTEM},
        "stringData": {
            "tls.crt": certificate.decode(),
            "tls.key": key.decode(),
            "ca.crt": authority.decode(),
        },
    }
    cluster.kubectl("label", "node", "node1", "node-role.kubernetes.io/control-plane=",
                    "--overwrite")  # fmt: skip
    objects = {"apiVersion": "v1", "kind": "List", "items": rollout.ordered([*wanted, secret])}
    cluster.kubectl("apply", "--server-side", "-f", "-", text=json.dumps(objects))
    cluster.kubectl("rollout", "status", "-n", SYSTEM, "deployment/catalogd-controller-manager",
                    "--timeout=180s")  # fmt: skip
    yield
    cluster.kubectl("delete", "clusterextension,clustercatalog", "--all", "--timeout=30s")
    cluster.kubectl("delete", "-f", "-", "--wait=false", text=json.dumps(objects))


def is_wanted(manifest: dict[str, Any]) -> bool:
    return manifest["kind"] not in LEFT_OUT and not (
        manifest["kind"] == "Deployment" and "catalogd" not in manifest["metadata"]["name"]
    )


def certificates(folder: Path) -> tuple[bytes, bytes, bytes]:
    """An authority, and a certificate of it with its key for catalogd's Service."""
    name = f"catalogd-service.{SYSTEM}.svc"
    (folder / "ext").write_text(f"subjectAltName=DNS:{name}")
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
    return tuple((folder / name).read_bytes() for name in ("ca.crt", "tls.crt", "tls.key"))  # type: ignore[return-value]


class Controller:
    """Writes the status of ClusterExtensions, as operator-controller does, from outside."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.answers: list[tuple[str, str]] = []
        self.turns = 0  # after so many looks at an extension, all is well
        self.bundle = ""

    def __enter__(self) -> Controller:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.5):
            for one in self._cluster.list("clusterextension"):
                self.turns -= 1
                if self.turns == 0:
                    self.answers.clear()
                reason, message = self.answers[0] if self.answers else ("Succeeded", "done")
                self._write(one, reason, message)

    def _write(self, one: dict[str, Any], reason: str, message: str) -> None:
        generation, time = one["metadata"]["generation"], "2026-01-01T00:00:00Z"
        common = {"observedGeneration": generation, "lastTransitionTime": time}
        done = reason == "Succeeded"
        status: dict[str, Any] = {
            "conditions": [
                {"type": "Progressing", "status": "False" if reason == "Blocked" else "True",
                 "reason": reason, "message": message, **common},
                {"type": "Installed", "status": "True" if done else "False",
                 "reason": "Succeeded" if done else "Absent", "message": message, **common},
            ]
        }  # fmt: skip
        if done:
            version = self.bundle.partition(".v")[2]
            status["install"] = {"bundle": {"name": self.bundle, "version": version}}
        self._cluster.kubectl(
            "patch", "clusterextension", one["metadata"]["name"], "--subresource=status",
            "--type=merge", "-p", json.dumps({"status": status}), check=False,
        )  # fmt: skip


@pytest.mark.usefixtures("catalogd")
def test_catalogd_serves_our_catalog_and_we_read_it_back(
    cluster: Any,
    typist: Any,
    catalog_of: Callable[..., Path],
    namespace: str,
) -> None:
    typist.tell("A ClusterCatalog of our image, and a ClusterExtension that takes from it")
    tag = f"{cluster.registry}/catalog:v1"
    typist("catalog", "build", catalog_of("0.0.1", "0.0.2"), "-t", tag, "--push")
    words = ["install", PACKAGE, "--olm", "v1", "-n", namespace]
    with Controller(cluster) as controller:
        controller.bundle = f"{PACKAGE}.v0.0.2"
        controller.answers = [("Retrying", "error unpacking: try again")]
        controller.turns = 10
        done = typist.try_(*words, "--catalog", tag, "--timeout", "60s")
        assert "error unpacking: try again" in done.err
        assert f"{PACKAGE}.v0.0.2 (version 0.0.2), watching all namespaces" in done.err

        typist.tell("Its catalog is read back from catalogd, through the API server")
        catalog = f"{PACKAGE}-catalog"
        cluster.kubectl("wait", "--for=condition=Serving", f"clustercatalog/{catalog}",
                        "--timeout=180s")  # fmt: skip
        listed = typist.try_("catalog", "list", "bundles", f"clustercatalog:{catalog}",
                             "-o", "json").json["result"]  # fmt: skip
        assert {row["bundle"] for row in listed} == {f"{PACKAGE}.v0.0.1", f"{PACKAGE}.v0.0.2"}
        typist("catalog", "validate", f"clustercatalog:{catalog}")
        refused = typist.try_("install", "other", "--olm", "v1", "--catalog", catalog,
                              "-n", namespace, code=1)  # fmt: skip
        assert 'package "other" not found' in refused.err

        extension = cluster.get("clusterextension", PACKAGE)
        assert extension["spec"]["source"]["catalog"]["selector"]["matchLabels"] == {
            "olm.operatorframework.io/metadata.name": catalog
        }
        controller.bundle = f"{PACKAGE}.v0.0.1"
        typist("upgrade", PACKAGE, "--to", "0.0.1", "--olm", "v1", "-n", namespace)
        assert cluster.get("clusterextension", PACKAGE)["spec"]["source"]["catalog"]["version"] == (
            "0.0.1"
        )

        typist.tell("What OLM v1 refuses is said in words")
        controller.answers = [(
            "Retrying",
            ('error upgrading from currently installed version "0.0.1": no bundles found for '
            'package "memcached-operator" matching version "9.x"'),
        )]  # fmt: skip
        done = typist.try_("upgrade", PACKAGE, "--to", "9.x", "--olm", "v1", "--timeout", "3s",
                           "-o", "json", code=1)  # fmt: skip
        assert done.json["result"]["cause"] == "no-way"
        typist("uninstall", PACKAGE, "--olm", "v1", "--yes")
    assert cluster.list("clusterextension") == []
    assert cluster.list("clustercatalog") == []


@pytest.mark.usefixtures("catalogd")
def test_a_catalog_that_cannot_be_pulled_is_the_reason(
    cluster: Any, typist: Any, namespace: str
) -> None:
    catalog = {
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterCatalog",
        "metadata": {"name": "nowhere"},
        "spec": {"source": {"type": "Image", "image": {"ref": f"{cluster.registry}/nowhere:1"}}},
    }
    cluster.kubectl("apply", "-f", "-", text=json.dumps(catalog))
    try:
        cluster.kubectl("wait", "--for=jsonpath={.status.conditions[?(@.type=='Progressing')]"
                        ".reason}=Retrying", "clustercatalog/nowhere", "--timeout=90s")  # fmt: skip
        done = typist.try_("install", "other", "--olm", "v1", "--catalog", "nowhere",
                           "-n", namespace, code=1)  # fmt: skip
        assert "the catalog `nowhere` is not served: " in done.err
    finally:
        cluster.kubectl("delete", "clustercatalog", "nowhere")
