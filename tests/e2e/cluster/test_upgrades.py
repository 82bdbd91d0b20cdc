"""Upgrades that would fail, several namespaces with one catalog, and what uninstalling leaves.

The operators are small: a CRD and a Deployment that sleeps. Their catalogs are served from
this machine, so that each test only needs some seconds.
"""

from __future__ import annotations

import base64
import copy
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

Manifest = dict[str, Any]
MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
PORT = 15300


def crd(package: str, *, minimum: int = 0) -> Manifest:
    size = {"type": "integer", "minimum": minimum}
    properties = {"spec": {"type": "object", "properties": {"size": size}}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    group = f"{package}.example.com"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"things.{group}"},
        "spec": {
            "group": group,
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {"name": name, "served": True, "storage": name == "v1", "schema": schema}
                for name in ("v1", "v2")
            ],
        },
    }


def csv(package: str, version: str, image: str, modes: tuple[str, ...] = MODES) -> Manifest:
    labels = {"app": package}
    container = {"name": "manager", "image": image, "command": ["sleep", "10000"]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    deployment = {"name": package, "spec": {"selector": {"matchLabels": labels},
                                            "template": template}}  # fmt: skip
    owned = {"name": f"things.{package}.example.com", "kind": "Thing", "version": "v1"}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{package}.v{version}"},
        "spec": {
            "displayName": package,
            "version": version,
            "installModes": [{"type": mode, "supported": mode in modes} for mode in MODES],
            "install": {"strategy": "deployment", "spec": {"deployments": [deployment]}},
            "customresourcedefinitions": {"owned": [owned]},
        },
    }


def catalog(package: str, *bundles: tuple[Manifest, Manifest]) -> str:
    """Return a catalog with one channel, in which each bundle replaces the previous one."""
    blobs: list[Manifest] = [{"schema": "olm.package", "name": package, "defaultChannel": "stable"}]
    entries: list[Manifest] = []
    for objects in bundles:
        name, version = objects[0]["metadata"]["name"], objects[0]["spec"]["version"]
        entries.append({"name": name, **({"replaces": entries[-1]["name"]} if entries else {})})
        own = {"type": "olm.package", "value": {"packageName": package, "version": version}}
        inline = [
            {"type": "olm.bundle.object",
             "value": {"data": base64.b64encode(json.dumps(one).encode()).decode()}}
            for one in objects
        ]  # fmt: skip
        blobs.append({"schema": "olm.bundle", "name": name, "package": package, "image": "",
                      "properties": [own, *inline]})  # fmt: skip
    blobs.append({"schema": "olm.channel", "package": package, "name": "stable",
                  "entries": entries})  # fmt: skip
    return "\n".join(map(json.dumps, blobs))


@pytest.fixture
def served(cluster: Any, tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Serve a catalog on this machine; return its address."""
    running: list[subprocess.Popen[bytes]] = []

    def serve(lines: str) -> str:
        number = len(running)
        folder = tmp_path / f"served-{number}"
        folder.mkdir()
        (folder / "catalog.json").write_text(lines)
        words = ["-m", "olmkit", "catalog", "serve", str(folder), "--host", cluster.outside]
        port = str(PORT + number)
        running.append(subprocess.Popen([sys.executable, *words, "--port", port]))
        return f"{cluster.outside}:{port}"

    yield serve
    for process in running:
        process.terminate()
        process.wait()


@pytest.fixture
def image(cluster: Any) -> str:
    return f"{cluster.registry}/busybox:1"


def thing(package: str, namespace: str, **metadata: Any) -> str:
    return json.dumps({
        "apiVersion": f"{package}.example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "small", "namespace": namespace, **metadata},
        "spec": {"size": 1},
    })  # fmt: skip


def test_an_upgrade_that_would_fail_is_refused_and_keeps_the_old_version(
    cluster: Any, run_olmkit: Any, served: Any, image: str, namespace: str
) -> None:
    first = (csv("wheel", "1.0.0", image), crd("wheel"))
    wide = (csv("wheel", "2.0.0", image, ("AllNamespaces",)), crd("wheel"))
    strict = (csv("wheel", "2.0.0", image), crd("wheel", minimum=5))
    good = (csv("wheel", "2.0.0", image), crd("wheel"))
    at = [served(catalog("wheel", first, *more)) for more in ((), (wide,), (strict,), (good,))]
    place = ("wheel", "-n", namespace)
    run_olmkit("install", *place, "--mode", "OwnNamespace", "--catalog-address", at[0])
    cluster.apply(thing("wheel", namespace))

    refused = run_olmkit.try_("upgrade", *place, "--catalog", at[1], code=1)
    assert "does not support the install mode `OwnNamespace`" in refused.err
    refused = run_olmkit.try_("upgrade", *place, "--catalog", at[2], code=1)
    assert f"Thing {namespace}/small: `spec.size` must be at least 5" in refused.err
    assert cluster.get("csv", "wheel.v1.0.0", "-n", namespace)["status"]["phase"] == "Succeeded"

    done = run_olmkit.try_("upgrade", *place, "--catalog", at[3], "-o", "json").json["result"]
    assert done["hops"] == ["wheel.v2.0.0"]
    status = cluster.get("subscription", "wheel", "-n", namespace)["status"]
    assert (status["installedCSV"], status["state"]) == ("wheel.v2.0.0", "AtLatestKnown")
    assert cluster.get("csv", "wheel.v1.0.0", "-n", namespace) is None
    assert "no newer version is offered" in run_olmkit.try_("upgrade", *place).err

    # OLM creates no InstallPlan for a CSV that was deleted.
    cluster.kubectl("delete", "installplan,csv", "--all", "-n", namespace)
    run_olmkit("upgrade", *place, "--retry")
    assert cluster.get("csv", "wheel.v2.0.0", "-n", namespace)["status"]["phase"] == "Succeeded"
    run_olmkit("uninstall", *place, "--delete-operands", "--delete-crds", "--yes")
    assert cluster.get("crd", "things.wheel.example.com") is None


def requested(package: str, namespace: str, source: str) -> Iterator[dict[str, Any]]:
    """Return the objects that request a package of a catalog in the namespace `olm`."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    wanted = {"name": package, "source": source, "sourceNamespace": "olm", "channel": "stable"}
    for kind, version, spec in (
        ("OperatorGroup", "v1", {"targetNamespaces": [namespace]}),
        ("Subscription", "v1alpha1", wanted),
    ):
        yield {
            "apiVersion": f"operators.coreos.com/{version}",
            "kind": kind,
            "metadata": {"name": package, "namespace": namespace},
            "spec": spec,
        }


def test_objects_that_a_plain_uninstall_leaves_are_removed_later_without_a_webhook(
    cluster: Any, run_olmkit: Any, served: Any, image: str, namespace: str
) -> None:
    at = served(catalog("hub", (csv("hub", "1.0.0", image), crd("hub"))))
    run_olmkit("install", "hub", "-n", namespace, "--catalog-address", at)
    cluster.apply(thing("hub", namespace, finalizers=["hub.example.com/cleanup"]))
    versions = copy.deepcopy(crd("hub")["spec"]["versions"])
    for one in versions:
        one["storage"] = one["name"] == "v2"
    service = {"name": "gone", "namespace": namespace, "path": "/convert"}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
    conversion = {"strategy": "Webhook", "webhook": webhook}
    patch = json.dumps({"spec": {"versions": versions, "conversion": conversion}})
    cluster.kubectl("patch", "crd", "things.hub.example.com", "--type=merge", "-p", patch)
    words = ("uninstall", "hub", "-n", namespace, "--yes")
    both = ("--delete-operands", "--delete-crds")

    plain = run_olmkit.try_(*words, "-o", "json").json["result"]
    assert any(f"the Operator hub.{namespace}" in line for line in plain["stays"])
    # On a busy machine the garbage collector leaves more to the next runs.
    again = next(done for _ in range(20) if (done := run_olmkit.try_(*words, code=None)).code)
    assert again.code == 1
    assert "`--delete-crds --delete-operands` removes that too" in again.err
    held = run_olmkit.try_(*words, *both, "--timeout", "20s", code=3)
    assert "finalizer `hub.example.com/cleanup` is removed, which `kubectl" in held.err
    run_olmkit(*words, *both, "--remove-finalizers")
    assert cluster.get("crd", "things.hub.example.com") is None
    assert cluster.get("operators.operators.coreos.com", f"hub.{namespace}") is None


_WIDE = ("clusterrole", "clusterrolebinding", "crd", "apiservice", "priorityclass",
         "validatingwebhookconfiguration", "mutatingwebhookconfiguration",
         "operators.operators.coreos.com")  # fmt: skip
_NEAR = ("lease", "role", "rolebinding", "serviceaccount", "secret", "configmap", "service",
         "deployment", "pod", "job", "subscription", "csv", "installplan", "operatorgroup",
         "catalogsource", "operatorcondition")  # fmt: skip


def listing(cluster: Any, namespace: str) -> set[str]:
    """Return all objects that an operator and OLM could leave, by kind and name."""
    wide = cluster.kubectl("get", ",".join(_WIDE), "-o", "name").split()
    return {*wide, *cluster.kubectl("get", ",".join(_NEAR), "-n", namespace, "-o", "name").split()}


def hooked(version: str, image: str) -> Manifest:
    """A CSV whose conversion webhook leads to a Deployment that serves nothing."""
    made = csv("gear", version, image, ("AllNamespaces",))
    made["spec"]["webhookdefinitions"] = [{
        "type": "ConversionWebhook", "generateName": "convert.gear.example.com",
        "admissionReviewVersions": ["v1"], "sideEffects": "None", "deploymentName": "gear",
        "containerPort": 443, "targetPort": 9443, "webhookPath": "/convert",
        "conversionCRDs": ["things.gear.example.com"],
    }]  # fmt: skip
    return made


@pytest.mark.parametrize("webhook", ["without a Service", "without a server"])
def test_objects_that_cannot_be_converted_are_the_cause_and_can_be_removed(
    cluster: Any,
    run_olmkit: Any,
    served: Any,
    image: str,
    namespace: str,
    eventually: Any,
    webhook: str,
) -> None:
    """Objects in another stored version, and a webhook without its Service or its pods."""
    has_service = webhook == "without a server"
    bundles = [
        (hooked(version, image) if has_service else csv("gear", version, image), crd("gear"))
        for version in ("1.0.0", "1.1.0")
    ]
    at = [served(catalog("gear", *bundles[:count])) for count in (1, 2)]
    place = ("gear", "-n", namespace)
    cluster.kubectl("create", "namespace", namespace)
    eventually(lambda: "configmap/kube-root-ca.crt" in listing(cluster, namespace))
    before = listing(cluster, namespace)
    run_olmkit("install", *place, "--catalog-address", at[0])
    cluster.apply(thing("gear", namespace))
    pod = cluster.list("pod", "-n", namespace, "-l", "app=gear")[0]["metadata"]["name"]
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
             "metadata": {"name": "gear-lock", "namespace": namespace},
             "spec": {"holderIdentity": f"{pod}_1"}}  # fmt: skip
    cluster.apply(json.dumps(lease))
    versions = copy.deepcopy(crd("gear")["spec"]["versions"])
    for one in versions:
        one["storage"] = one["name"] == "v2"
    spec: Manifest = {"versions": versions}
    if not has_service:
        service = {"name": "gone", "namespace": namespace, "path": "/convert"}
        hook = {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}}
        spec["conversion"] = {"strategy": "Webhook", "webhook": hook}
    words = ("patch", "crd", "things.gear.example.com", "--type=merge", "-p")
    cluster.kubectl(*words, json.dumps({"spec": spec}))
    eventually(lambda: "conversion webhook" in cluster.error("get", "things", "-n", namespace))

    cause = "connection refused" if has_service else 'service "gone" not found'
    eventually(lambda: run_olmkit.try_("why", *place, code=None).code == 1)
    for command in (("why", *place), ("status", *place)):
        done = run_olmkit.try_(*command, code=None)
        assert "the objects of `things.gear.example.com` cannot be read" in done.out
        assert cause in done.out
    if not has_service:  # the next version of the other one would have a webhook that can answer
        refused = run_olmkit.try_("upgrade", *place, "--catalog", at[1], "--timeout", "60s", code=1)
        assert "OLM cannot check the objects of `things.gear.example.com`" in refused.err
        assert cause in refused.err
    kept = cluster.get("csv", "gear.v1.0.0", "-n", namespace)
    assert kept["status"]["phase"] == "Succeeded"

    begin = time.monotonic()
    away = ("uninstall", *place, "--yes", "--timeout", "60s")
    for option, other in (("crds", "operands"), ("operands", "crds")):
        refused = run_olmkit.try_(*away, f"--delete-{option}", code=1)
        assert "the objects of things.gear.example.com cannot be listed" in refused.err
        assert f"`--delete-{other}` too" in refused.err
        assert time.monotonic() - begin < 2 * 75
    begin = time.monotonic()
    stays = " ".join(run_olmkit.try_(*away, "-o", "json").json["result"]["stays"])
    assert time.monotonic() - begin < 75

    def unnamed() -> set[str]:
        # The APIService and the roles of OLM belong to the CRD, which is named.
        new = (one.partition("/") for one in listing(cluster, namespace) - before)
        owned = ("apiservice.apiregistration.k8s.io", "clusterrole.rbac.authorization.k8s.io")
        return {
            name
            for kind, _, name in new
            if name not in stays and not (kind in owned and "gear.example.com" in name)
        }

    eventually(lambda: not unnamed(), what=lambda: f"only {stays}: {unnamed()}")
    assert "the objects of things.gear.example.com" in stays
    assert f"the Operator gear.{namespace}" in stays
    again = run_olmkit.try_(*away, code=1)
    assert "`--delete-crds --delete-operands` removes that too" in again.err
    run_olmkit(*away, "--delete-crds", "--delete-operands")

    def new() -> set[str]:
        return listing(cluster, namespace) - before

    eventually(lambda: not new(), what=lambda: f"nothing is left: {new()}")


FOUL = "foul"  # its bundle image does not exist
SIX = (FOUL, "ash", "elm", "fir", "oak", "yew")


def shared_catalog(cluster: Any, run_olmkit: Any, folder: Path, tag: str) -> Manifest:
    """Push a catalog of six packages with bundle images, and return a CatalogSource for it."""
    lines = []
    for package in SIX:
        made = csv(package, "1.0.0", "")
        made["spec"]["install"]["spec"]["deployments"] = []  # ready at once
        bundle = folder / package
        (bundle / "manifests").mkdir(parents=True)
        (bundle / "metadata").mkdir()
        (bundle / "manifests" / "csv.yaml").write_text(json.dumps(made))
        (bundle / "manifests" / "crd.yaml").write_text(json.dumps(crd(package)))
        key = "operators.operatorframework.io.bundle"
        notes = {f"{key}.mediatype.v1": "registry+v1", f"{key}.manifests.v1": "manifests/",
                 f"{key}.metadata.v1": "metadata/", f"{key}.package.v1": package,
                 f"{key}.channels.v1": "stable"}  # fmt: skip
        (bundle / "metadata" / "annotations.yaml").write_text(json.dumps({"annotations": notes}))
        image = f"{cluster.registry}/{package}-bundle:1"
        if package != FOUL:
            run_olmkit("bundle", "build", bundle, "-t", image, "--push")
        blobs = [json.loads(line) for line in catalog(package, (made, crd(package))).splitlines()]
        blobs[1] |= {"image": image, "properties": blobs[1]["properties"][:1]}
        lines += map(json.dumps, blobs)
    (folder / "shelf").mkdir()
    (folder / "shelf" / "catalog.json").write_text("\n".join(lines))
    run_olmkit("catalog", "build", folder / "shelf", "-t", tag, "--push")
    pod = {"securityContextConfig": "restricted", "extractContent": {"catalogDir": "/configs"}}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "CatalogSource",
        "metadata": {"name": tag.rpartition(":")[2], "namespace": "olm"},
        "spec": {"sourceType": "grpc", "image": tag, "grpcPodConfig": pod},
    }


def test_six_concurrent_installs_do_not_blame_the_bundles_of_others(
    cluster: Any, run_olmkit: Any, namespace: str, tmp_path: Path, eventually: Any
) -> None:
    """All use one catalog in the namespace `olm`, where OLM unpacks all bundles; one never ends."""
    tag = f"{cluster.registry}/shelf:{namespace}"
    cluster.apply(json.dumps(shared_catalog(cluster, run_olmkit, tmp_path, tag)))
    places = {package: f"{namespace}-{package}" for package in SIX}
    take = ("--catalog", namespace, "--catalog-namespace", "olm", "--mode", "OwnNamespace")
    installs: dict[str, subprocess.Popen[str]] = {}

    def blamed(package: str, said: str) -> list[str]:
        return [one for one in SIX if one != package and re.search(rf"\b{one}\b", said)]

    def why(package: str) -> str:
        done = run_olmkit.try_("why", package, "-n", places[package], code=None)
        assert blamed(package, done.out + done.err) == []
        return str(done.out)

    try:
        eventually(
            lambda: cluster.get("catalogsource", namespace, "-n", "olm")
            .get("status", {}).get("connectionState", {}).get("lastObservedState") == "READY"
        )  # fmt: skip
        done = run_olmkit.try_("install", FOUL, "-n", places[FOUL], *take, code=1)
        assert "foul-bundle:1` cannot be read from here" in done.err
        for made in requested(FOUL, places[FOUL], namespace):
            cluster.apply(json.dumps(made))
        for package in SIX[1:]:
            installs[package] = run_olmkit.start("install", package, "-n", places[package], *take)
        while any(one.poll() is None for one in installs.values()):
            for package in SIX:
                why(package)
        for package, install in installs.items():
            said, _ = install.communicate()
            assert install.returncode == 0, said
            assert f"`{package}.v1.0.0` is installed and healthy" in said
            assert blamed(package, said) == []
        eventually(lambda: "foul-bundle:1` cannot be pulled" in why(FOUL))
    finally:
        for install in installs.values():
            install.kill()
            install.wait()
        names = places.values()
        for place in names:
            cluster.kubectl("delete", "subscription,csv", "--all", "-n", place, check=False)
        cluster.kubectl("delete", "namespace", *names, "--wait=false", check=False)
        cluster.kubectl("delete", "catalogsource", namespace, "-n", "olm", check=False)
        crds = [f"things.{package}.example.com" for package in SIX]
        cluster.kubectl("delete", "crd", *crds, "--ignore-not-found", "--wait=false", check=False)
