"""Real OLM v1: upgrades that OLM would not finish change nothing in the cluster."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

V1 = ("--olm", "v1")
ACCOUNT = "--service-account=installer"
SELF_CERTIFIED = {"spec": {"source": {"catalog": {"upgradeConstraintPolicy": "SelfCertified"}}}}


def test_an_upgrade_that_olm_would_refuse_is_refused_before(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    cluster, name = shop.cluster, shop.name
    package = {"packageName": "queue", "versionRange": ">=1.0.0"}
    constraint = {"failureMessage": "needs a queue", "package": package}
    both = ("size", "colour")
    shop.serve(
        shop.build(
            toy(version="1.0.0", fields=both),
            toy(version="2.0.0", fields=both, modes=("OwnNamespace",)),
            toy(version="3.0.0", fields=both, webhooks=True),
            toy(version="4.0.0", fields=both, needs=("db",)),
            toy(version="5.0.0", fields=both, properties={"olm.package.required": package}),
            toy(version="6.0.0", fields=both, properties={"olm.constraint": constraint}),
            toy(version="7.0.0", fields=("weight",), required=("weight",)),
            toy(version="8.0.0", fields=both),
        )
    )
    shop.account(namespace)
    run_olmkit("install", name, *V1, "-n", namespace, ACCOUNT, "--version", "1.0.0",
           "--catalog", name)  # fmt: skip
    cluster.kubectl("patch", "clusterextension", name, "--type=merge", "-p",
                    json.dumps(SELF_CERTIFIED))  # fmt: skip

    def refused(version: str, *words: str) -> str:
        before = cluster.get("clusterextension", name)["metadata"]["generation"]
        done = run_olmkit.try_("upgrade", name, *V1, "--to", version, *words, code=1)
        assert cluster.get("clusterextension", name)["metadata"]["generation"] == before
        return str(done.err)

    for version, why in (
        ("2.0.0", "supports `OwnNamespace`"),
        ("3.0.0", "release 1.2.0 of OLM v1 does not install them"),
        ("4.0.0", 'property "olm.gvk.required"'),
        ("5.0.0", 'property "olm.package.required"'),
        ("6.0.0", 'property "olm.constraint"'),
    ):
        assert why in refused(version)

    run_olmkit.tell("All that is unsafe in a CRD is listed, with the name of the CRD")
    said = refused("7.0.0")
    assert f"`{shop.crd}`" in said
    for field in ("colour", "size", "weight"):
        assert field in said

    run_olmkit.tell("A service account that is gone, and one that has lost its rights")
    cluster.kubectl("delete", "serviceaccount", "installer", "-n", namespace)
    assert f"`installer` does not exist in namespace `{namespace}`" in refused("8.0.0")
    shop.account(namespace)
    cluster.kubectl("delete", "clusterrolebinding", f"{namespace}-installer")
    assert "permissions that OLM needs" in refused("8.0.0")
    shop.account(namespace)

    run_olmkit.tell("No catalog can be read: deleted, not served")
    catalog = cluster.get("clustercatalog", name)
    image = catalog["spec"]["source"]["image"]["ref"]
    cluster.kubectl("delete", "clustercatalog", name)
    assert f"the ClusterCatalog `{name}` does not exist" in refused("8.0.0")
    shop.serve(image)
    assert "stays" in run_olmkit.try_("upgrade", name, *V1).err
    done = run_olmkit("upgrade", name, *V1, "--to", "8.0.0")
    assert f"`{name}.v8.0.0` is installed and healthy" in done
    run_olmkit("uninstall", name, *V1, "--yes")


def test_a_catalog_that_other_extensions_would_use_is_announced(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    cluster, name = shop.cluster, shop.name
    image = shop.build(toy(version="1.0.0", replicas=0))
    shop.serve(image)
    small = shop.bundle(toy(version="0.1.0", replicas=0, has_crd=False))
    shop.account(namespace)
    place = {"namespace": namespace, "serviceAccount": {"name": "installer"}}
    source = {"sourceType": "Catalog", "catalog": {"packageName": name}}
    other = {"apiVersion": "olm.operatorframework.io/v1", "kind": "ClusterExtension",
             "metadata": {"name": f"{name}-wide"}, "spec": {**place, "source": source}}  # fmt: skip
    cluster.apply(json.dumps(other))
    cluster.kubectl("wait", "clusterextension", f"{name}-wide", "--for=condition=Installed",
                    "--timeout=300s")  # fmt: skip
    blobs: list[dict[str, Any]] = []
    for one in (name, "more"):
        version = {"type": "olm.package", "value": {"packageName": one, "version": "0.1.0"}}
        blobs += [
            {"schema": "olm.package", "name": one, "defaultChannel": "stable"},
            {"schema": "olm.channel", "name": "stable", "package": one,
             "entries": [{"name": f"{one}.v0.1.0"}]},
            {"schema": "olm.bundle", "name": f"{one}.v0.1.0", "package": one, "image": small,
             "properties": [version]},
        ]  # fmt: skip
    two = shop.publish(blobs, "two")
    done = run_olmkit.try_("install", "more", *V1, "-n", f"{namespace}-more", "--catalog", two,
                       "--create-service-account", "--dry-run")  # fmt: skip
    wide = f"the ClusterExtension `{name}-wide` has no selector that excludes the new catalog"
    assert wide in done.err
    cluster.kubectl("delete", "clusterextension", f"{name}-wide")


def test_an_upgrade_to_another_channel(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    cluster, name = shop.cluster, shop.name
    paths = {"stable": ("1.0.0", "1.1.0"), "fast": ("1.0.0", "2.0.0"), "old": ("0.5.0",)}
    blobs: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": name, "defaultChannel": "stable"}
    ]
    for channel, versions in paths.items():
        names = [f"{name}.v{version}" for version in versions]
        entries = [{"name": names[0]}]
        entries += [{"name": names[1], "replaces": names[0]}] if names[1:] else []
        blobs.append(
            {"schema": "olm.channel", "name": channel, "package": name, "entries": entries}
        )
    for version in sorted({one for versions in paths.values() for one in versions}):
        value = {"packageName": name, "version": version}
        blobs.append(
            {"schema": "olm.bundle", "name": f"{name}.v{version}", "package": name,
             "image": shop.bundle(toy(version=version, replicas=0)),
             "properties": [{"type": "olm.package", "value": value}]}
        )  # fmt: skip
    shop.serve(shop.publish(blobs, "channels"))
    shop.account(namespace)
    run_olmkit("install", name, *V1, "-n", namespace, ACCOUNT, "--channel", "stable",
               "--version", "1.0.0")  # fmt: skip

    def channels() -> Any:
        found = cluster.get("clusterextension", name)
        return found["spec"]["source"]["catalog"]["channels"]

    run_olmkit.tell("A channel that does not exist, and one without an upgrade, change nothing")
    done = run_olmkit.try_("upgrade", name, *V1, "--channel", "nope", code=1)
    assert f"package `{name}` has no channel `nope`" in done.err
    done = run_olmkit.try_("upgrade", name, *V1, "--channel", "old", "--to", "0.5.0", code=1)
    assert "in channel `old`" in done.err
    done = run_olmkit.try_("upgrade", name, *V1, "--channel", "fast", "--dry-run")
    assert "the channel changes from `stable` to `fast`" in done.err
    assert channels() == ["stable"]

    run_olmkit.tell("The range of the ClusterExtension stays, until `--to` changes it")
    done = run_olmkit.try_("upgrade", name, *V1, "--channel", "fast")
    assert f"`{name}.v2.0.0` is offered, and the requested range excludes it" in done.err
    assert channels() == ["fast"]
    said = run_olmkit("upgrade", name, *V1, "--channel", "stable,fast", "--to", "2.0.0")
    assert channels() == ["stable", "fast"]
    assert f"`{name}.v2.0.0` is installed and healthy" in said
    assert f"{name}.v2.0.0" in run_olmkit("status", name)
    run_olmkit("uninstall", name, *V1, "--yes")
