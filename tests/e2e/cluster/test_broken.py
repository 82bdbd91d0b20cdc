"""Installs that cannot finish, one for each frequent error, and the report of `why`.

All of them are set up at once, each in its own namespace, since OLM needs time.
With `OLMKIT_RECORD` set, the observed objects become the input of the golden tests of `why`.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PORT = 15200
ALL = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
GOLDEN = Path(__file__).parents[2] / "golden" / "why"


@dataclass(frozen=True, kw_only=True)
class BrokenInstall:
    """One case: the requested package, and the objects around it."""

    name: str
    cause: str
    says: str
    package: str = "fine"
    groups: int = 1
    targets: tuple[str, ...] | None = ()
    annotations: dict[str, str] = field(default_factory=dict)
    account: str = ""
    image: str = ""
    address: str = ""


SITUATIONS = (
    BrokenInstall(
        name="no-group", cause="no-operator-group", says="has no OperatorGroup", groups=0
    ),
    BrokenInstall(name="two-groups", cause="several-operator-groups", says="has 2 OperatorGroups",
           groups=2),
    BrokenInstall(name="mode", package="own-only", targets=None, cause="install-mode-not-supported",
           says="does not support the install mode `AllNamespaces`"),
    BrokenInstall(name="image", package="bad-image", cause="image-cannot-be-pulled",
           says="/nowhere:1` cannot be pulled: not found"),
    BrokenInstall(name="bundle-image", package="no-bundle", cause="bundle-cannot-be-unpacked",
           says="the bundle cannot be unpacked: the image"),
    BrokenInstall(name="time-out", package="late-bundle", cause="unpack-time-out",
           says="took longer than allowed",
           annotations={"operatorframework.io/bundle-unpack-timeout": "15s"}),
    BrokenInstall(name="dependency", package="needy", cause="missing-dependency",
           says="(`missing.example.com/v1`), which no catalog offers"),
    BrokenInstall(name="crd", package="strict", cause="crd-rejects-objects",
           says="would refuse existing objects"),
    BrokenInstall(name="crash", package="crashing", cause="container-crashes",
           says="ends with exit code 3: there is no database"),
    BrokenInstall(name="refused", package="refused", cause="csv-failed",
           says="cannot be installed: the API server refuses Deployment `refused`"),
    BrokenInstall(name="account", account="weak", cause="service-account-forbidden",
           says="service account `t-account/weak` may not create"),
    BrokenInstall(name="heads", package="split", cause="several-heads", says="has several heads"),
    BrokenInstall(name="catalog", image="nowhere-catalog:1", cause="catalog-not-ready",
           says="is not ready: the image"),
    BrokenInstall(name="address", address="10.98.0.9:1", cause="catalog-not-ready",
           says="nothing answers at `10.98.0.9:1`"),
    BrokenInstall(name="no-package", package="unknown", cause="no-such-package",
           says="has no package `unknown`"),
)  # fmt: skip


def manifest(kind: str, version: str, name: str, namespace: str, spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"operators.coreos.com/{version}",
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def crd(group: str, *, minimum: int = 0) -> dict[str, Any]:
    size = {"type": "integer", "minimum": minimum}
    schema = {"type": "object", "properties": {
        "spec": {"type": "object", "properties": {"size": size}}}}  # fmt: skip
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "Thing", "listKind": "ThingList", "plural": "things",
                      "singular": "thing"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True,
                          "schema": {"openAPIV3Schema": schema}}],
        },
    }  # fmt: skip


def operator(
    package: str, version: str, image: str, *, command: str = "sleep 10000",
    modes: tuple[str, ...] = ALL, group: str = "",
) -> dict[str, Any]:  # fmt: skip
    container = {"name": "manager", "image": image, "command": ["sh", "-c", command],
                 "readinessProbe": {"exec": {"command": ["true"]}, "initialDelaySeconds": 2},
                 "securityContext": {"runAsUser": 1001}}  # fmt: skip
    labels = {"app": package}
    spec: dict[str, Any] = {
        "displayName": package,
        "version": version,
        "installModes": [{"type": mode, "supported": mode in modes} for mode in ALL],
        "install": {"strategy": "deployment", "spec": {"deployments": [{
            "name": package,
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                "metadata": {"labels": labels}, "spec": {"containers": [container]}}},
        }]}},
    }  # fmt: skip
    if group:
        spec["customresourcedefinitions"] = {"owned": [
            {"name": f"things.{group}", "kind": "Thing", "version": "v1"}]}  # fmt: skip
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{package}.v{version}"},
        "spec": spec,
    }


def blobs(
    csv: dict[str, Any], *objects: dict[str, Any], image: str = "",
    properties: tuple[dict[str, Any], ...] = (),
) -> Iterator[dict[str, Any]]:  # fmt: skip
    """A package with one bundle: inline, or in the image that `image` names."""
    name = csv["metadata"]["name"]
    package, version = name.split(".v", 1)
    yield {"schema": "olm.package", "name": package, "defaultChannel": "stable"}
    yield {"schema": "olm.channel", "package": package, "name": "stable",
           "entries": [{"name": name}]}  # fmt: skip
    own = {"type": "olm.package", "value": {"packageName": package, "version": version}}
    inline = [
        {"type": "olm.bundle.object",
         "value": {"data": base64.b64encode(json.dumps(one).encode()).decode()}}
        for one in (csv, *objects)
    ]  # fmt: skip
    yield {"schema": "olm.bundle", "name": name, "package": package, "image": image,
           "properties": [own, *properties, *([] if image else inline)]}  # fmt: skip


@pytest.fixture(scope="module")
def catalog(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a catalog with all the bundles."""
    busybox = f"{cluster.registry}/busybox:1"
    needed = {
        "type": "olm.gvk.required",
        "value": {"group": "missing.example.com", "version": "v1", "kind": "Nothing"},
    }
    refused = operator("refused", "1.0.0", busybox)
    deployment = refused["spec"]["install"]["spec"]["deployments"][0]
    deployment["spec"]["selector"]["matchLabels"] = {"app": "other"}
    all_ = [
        *blobs(operator("fine", "1.0.0", busybox)),
        *blobs(operator("own-only", "1.0.0", busybox, modes=("OwnNamespace",))),
        *blobs(operator("bad-image", "1.0.0", f"{cluster.registry}/nowhere:1")),
        *blobs(operator("no-bundle", "1.0.0", busybox),
               image=f"{cluster.registry}/nowhere-bundle:1"),
        *blobs(operator("late-bundle", "1.0.0", busybox),
               image=f"{cluster.registry}/nowhere-bundle:2"),
        *blobs(operator("needy", "1.0.0", busybox), properties=(needed,)),
        *blobs(operator("strict", "1.0.0", busybox, group="strict.example.com"),
               crd("strict.example.com", minimum=5)),
        *blobs(operator("crashing", "1.0.0", busybox,
                        command="echo starting; sleep 0.2; echo there is no database >&2; exit 3")),
        *blobs(refused),
    ]  # fmt: skip
    folder = tmp_path_factory.mktemp("broken")
    (folder / "catalog.json").write_text("\n".join(map(json.dumps, all_)))
    words = ["-m", "olmkit", "catalog", "serve", str(folder), "--host", cluster.outside]
    process = subprocess.Popen([sys.executable, *words, "--port", str(PORT)])
    yield f"{cluster.outside}:{PORT}"
    process.terminate()
    process.wait()


@pytest.fixture(scope="module")
def split(cluster: Any) -> Iterator[str]:
    """A catalog server with a two-headed channel, which olmkit and opm refuse to serve."""
    from concurrent import futures

    import grpc
    from google.protobuf import message_factory

    from olmkit.edges.catalog import client as catalog_client

    pool = catalog_client._pool()  # noqa: SLF001 - the messages of the port
    service = pool.FindServiceByName("api.Registry")
    types = {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"api.{name}"))
        for name in ("Bundle", "Package")
    }

    def list_bundles(_: Any, __: Any) -> Iterator[Any]:
        for version in ("1.0.0", "2.0.0"):
            csv = operator("split", version, "busybox")
            yield types["Bundle"](
                csvName=csv["metadata"]["name"], packageName="split", channelName="stable",
                version=version, csvJson=json.dumps(csv), object=[json.dumps(csv)],
            )  # fmt: skip

    def get_package(_: Any, __: Any) -> Any:
        return types["Package"](name="split", defaultChannelName="stable")

    def request(name: str) -> Any:
        method = service.FindMethodByName(name)
        return message_factory.GetMessageClass(method.input_type).FromString

    handlers = {
        "ListBundles": grpc.unary_stream_rpc_method_handler(
            list_bundles, request("ListBundles"), lambda one: one.SerializeToString()
        ),
        "GetPackage": grpc.unary_unary_rpc_method_handler(
            get_package, request("GetPackage"), lambda one: one.SerializeToString()
        ),
    }
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("api.Registry", handlers),)
    )
    port = server.add_insecure_port(f"{cluster.outside}:0")
    server.start()
    yield f"{cluster.outside}:{port}"
    server.stop(None)


@pytest.fixture(scope="module")
def broken(cluster: Any, catalog: str, split: str) -> Iterator[float]:
    """All cases set up, and the time."""
    strict = crd("strict.example.com")
    cluster.kubectl("apply", "-f", "-", text=json.dumps(strict))
    cluster.kubectl("wait", "--for=condition=Established", "crd/things.strict.example.com")
    thing = {"apiVersion": "strict.example.com/v1", "kind": "Thing",
             "metadata": {"name": "small", "namespace": "default"},
             "spec": {"size": 1}}  # fmt: skip
    cluster.kubectl("apply", "-f", "-", text=json.dumps(thing))
    for one in SITUATIONS:
        namespace = f"t-{one.name}"
        address = split if one.package == "split" else one.address or catalog
        made: list[dict[str, Any]] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        ]
        for number in range(one.groups):
            spec: dict[str, Any] = {} if one.targets is None else {"targetNamespaces": [namespace]}
            if one.account:
                spec["serviceAccountName"] = one.account
                metadata = {"name": one.account, "namespace": namespace}
                made.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
            group = manifest("OperatorGroup", "v1", f"group{number}", namespace, spec)
            group["metadata"]["annotations"] = one.annotations
            made.append(group)
        source = {"image": f"{cluster.registry}/{one.image}"} if one.image else {"address": address}
        made.append(manifest("CatalogSource", "v1alpha1", "tries", namespace,
                             {"sourceType": "grpc", **source}))  # fmt: skip
        made.append(manifest("Subscription", "v1alpha1", one.package, namespace, {
            "name": one.package, "channel": "stable", "source": "tries",
            "sourceNamespace": namespace}))  # fmt: skip
        objects = {"apiVersion": "v1", "kind": "List", "items": made}
        cluster.kubectl("apply", "-f", "-", text=json.dumps(objects))
    yield time.monotonic()
    names = [f"t-{one.name}" for one in SITUATIONS]
    for name in names:
        cluster.kubectl("delete", "subscription,csv,catalogsource", "--all", "-n", name)
    cluster.kubectl("delete", "namespace", *names, "--wait=false")
    cluster.kubectl("delete", "crd", "things.strict.example.com")


@pytest.mark.parametrize("one", SITUATIONS, ids=lambda one: one.name)
def test_the_first_line_names_the_cause(
    cluster: Any, run_olmkit: Any, broken: float, tmp_path: Path, one: BrokenInstall
) -> None:
    file = tmp_path / "objects.yaml"
    words = ["why", one.package, "-n", f"t-{one.name}", "--save", file]
    pause = 2.0
    while True:
        done = run_olmkit.try_(*words, "-o", "json", code=None)
        found = done.json["result"]
        if found["cause"] == one.cause and one.says in found["message"]:
            break
        assert time.monotonic() < broken + 180, found
        time.sleep(pause)
        pause = min(pause * 1.3, 8)
    assert done.code in (1, 3)
    text = run_olmkit.try_(*words, code=done.code).out
    assert one.says in text.splitlines()[0]
    if os.environ.get("OLMKIT_RECORD"):
        case = GOLDEN / one.name
        (case / "input").mkdir(parents=True, exist_ok=True)
        recorded = file.read_text().replace(cluster.registry, "registry.example.com:5000")
        (case / "input" / "objects.yaml").write_text(recorded.replace(cluster.outside, "10.0.0.1"))
        (case / "command").write_text(f"why {one.package} -n t-{one.name} --from objects.yaml\n")
