"""Real OLM v1: installs, upgrades, and complete removals."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

ACCOUNT = "--service-account=installer"
V1 = ("--olm", "v1")


def test_ready_means_that_the_pods_run(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    run_olmkit.tell(
        "An operator whose image does not exist is not ready, though OLM says `Installed`"
    )
    nowhere = f"{shop.cluster.registry}/nowhere:1"
    image = shop.build(toy(version="1.0.0"), toy(version="1.1.0", image=nowhere))
    shop.serve(image)
    shop.account(namespace)
    where = (*V1, "-n", namespace)
    done = run_olmkit.try_("install", shop.name, *where, ACCOUNT, "--version", "1.0.0")
    assert f"`{shop.name}.v1.0.0` is installed and healthy" in done.out
    assert shop.cluster.get("deployment", shop.name, "-n", namespace)["status"][
        "availableReplicas"
    ] == 1  # fmt: skip

    done = run_olmkit.try_("upgrade", shop.name, *V1, "--to", "1.1.0", "--timeout", "30s",
                       "-o", "json", code=3)  # fmt: skip
    assert done.json["result"]["cause"] == "image-cannot-be-pulled"
    done = run_olmkit.try_("why", shop.name, *V1, "-o", "json", code=3)
    assert done.json["result"]["cause"] == "image-cannot-be-pulled"
    assert [link["subject"].split()[0] for link in done.json["result"]["chain"]] == [
        "ClusterExtension", "Deployment", "Pod",
    ]  # fmt: skip
    rows = run_olmkit.try_("status", shop.name, "-o", "json").json["result"]["operators"]
    assert [row["cause"] for row in rows] == ["image-cannot-be-pulled"]
    run_olmkit("uninstall", shop.name, *V1, "--yes")


def test_custom_resources_are_removed_before_the_operator(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str, eventually: Any
) -> None:
    run_olmkit.tell("Objects with a finalizer are not stranded by `uninstall`")
    cluster = shop.cluster
    shop.serve(shop.build(toy(version="1.0.0")))
    shop.account(namespace)
    run_olmkit("install", shop.name, *V1, "-n", namespace, ACCOUNT)
    cluster.apply(json.dumps(shop.operand(namespace, "example.com/hold")))

    refused = run_olmkit.try_("uninstall", shop.name, *V1, "--yes", code=1)
    assert "1 object of them exists" in refused.err
    planned = run_olmkit.try_("uninstall", shop.name, *V1, "--dry-run", "--delete-operands")
    assert planned.out.splitlines() == [
        f"Toy {namespace}/one",
        f"ClusterExtension {shop.name}",
        f"Deployment {namespace}/{shop.name}",
        f"CustomResourceDefinition {shop.crd}",
    ]
    held = run_olmkit.try_("uninstall", shop.name, *V1, "--yes", "--delete-operands",
                           "--delete-crds",
                       "--timeout", "3s", code=3)  # fmt: skip
    assert "example.com/hold" in held.err
    assert cluster.get("clusterextension", shop.name)

    run_olmkit.tell("The way back, when the operator is gone and its objects wait for it")
    cluster.kubectl("delete", "clusterextension", shop.name)
    eventually(lambda: "deletionTimestamp" in cluster.get("crd", shop.crd)["metadata"])
    done = run_olmkit.try_("uninstall", shop.name, *V1, "--yes", "--delete-operands",
                       "--remove-finalizers")  # fmt: skip
    assert f"removed CustomResourceDefinition {shop.crd}" in done.out
    assert cluster.get("crd", shop.crd) is None
    assert run_olmkit.try_("uninstall", shop.name, *V1, "--yes", code=1)


def test_objects_that_cannot_be_converted_are_removed_after_the_operator(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    run_olmkit.tell("A conversion webhook that is gone does not hold up `uninstall`")
    cluster = shop.cluster
    shop.serve(shop.build(toy(version="1.0.0"), toy(version="1.1.0", converts=True)))
    shop.account(namespace)
    run_olmkit("install", shop.name, *V1, "-n", namespace, ACCOUNT, "--version", "1.0.0")
    cluster.apply(json.dumps(shop.operand(namespace)))
    cluster.apply(json.dumps(shop.operand(namespace, "example.com/hold", name="held")))
    run_olmkit("upgrade", shop.name, *V1, "--to", "1.1.0")

    refused = run_olmkit.try_("uninstall", shop.name, *V1, "--yes", code=1)
    assert "nothing converts" in refused.err
    run_olmkit("uninstall", shop.name, *V1, "--yes", "--delete-operands", "--remove-finalizers")
    assert cluster.get("crd", shop.crd) is None
    assert cluster.get("clusterextension", shop.name) is None


def test_of_several_catalogs_olm_selects_the_announced_one(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    run_olmkit.tell("Two catalogs of one priority, then one with a higher one, and no selector")
    cluster = shop.cluster
    newest = shop.build(toy(version="1.0.0", replicas=0), toy(version="1.1.0", replicas=0))
    bundle = f"{cluster.registry}/{shop.name}-bundle:v1.0.0"
    oldest = shop.build(toy(version="1.0.0", bundle_image=bundle), tag="old")
    shop.serve(newest)
    theirs = shop.serve(oldest, name=f"{shop.name}-theirs")
    shop.account(namespace)
    words = ("install", shop.name, *V1, "-n", namespace, ACCOUNT)
    refused = run_olmkit.try_(*words, code=1)
    assert f"`{shop.name}`, `{theirs}`" in refused.err
    assert cluster.get("clusterextension", shop.name) is None

    shop.serve(oldest, name=theirs, priority=5)
    done = run_olmkit.try_(*words)
    assert f"OLM takes it from the catalog `{theirs}`" in done.err
    there = cluster.get("clusterextension", shop.name)
    assert there["status"]["install"]["bundle"]["name"] == f"{shop.name}.v1.0.0"
    assert "no newer version is offered" in run_olmkit.try_("upgrade", shop.name, *V1).err
    cluster.kubectl("delete", "clustercatalog", theirs)
    done = run_olmkit.try_("upgrade", shop.name, *V1)
    assert f"`{shop.name}.v1.1.0` is installed and healthy" in done.out
    run_olmkit("uninstall", shop.name, *V1, "--yes")


def test_an_upgrade_waits_until_the_new_catalog_is_read(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    run_olmkit.tell("A tag that has moved is known before catalogd has read it")
    cluster = shop.cluster
    first = toy(version="1.0.0")
    image = shop.build(first)
    shop.serve(image)
    shop.account(namespace)
    run_olmkit("install", shop.name, *V1, "-n", namespace, ACCOUNT)
    assert "no newer version is offered" in run_olmkit.try_("upgrade", shop.name, *V1).err
    bundle = f"{cluster.registry}/{shop.name}-bundle:v1.0.0"
    shop.build(toy(version="1.0.0", bundle_image=bundle), toy(version="1.1.0"))

    done = run_olmkit.try_("upgrade", shop.name, *V1, "-o", "json", code=3)
    assert done.json["result"]["cause"] == "catalog-outdated"
    assert "does not look for newer ones" in done.json["result"]["message"]
    patch = done.json["result"]["hint"].partition("-p '")[2].rpartition("'`")[0]
    upgrade = run_olmkit.start("upgrade", shop.name, *V1, "--to", "1.1.0")
    cluster.kubectl("patch", "clustercatalog", shop.name, "--type=merge", "-p", patch)
    out, _ = upgrade.communicate(timeout=120)
    if upgrade.returncode:  # it was faster than the change
        assert "does not look for newer ones" in out
        out = run_olmkit("upgrade", shop.name, *V1, "--to", "1.1.0")
    assert f"`{shop.name}.v1.1.0` is installed and healthy" in out
    run_olmkit("uninstall", shop.name, *V1, "--yes")


def test_a_catalog_of_olmkit_does_not_affect_other_extensions(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    run_olmkit.tell("A catalog image that does not exist is refused before anything is created")
    cluster = shop.cluster
    image = shop.build(toy(version="1.0.0"))
    shop.account(namespace)
    where = (*V1, "-n", namespace, ACCOUNT)
    refused = run_olmkit.try_("install", shop.name, *where, "--catalog", f"{image}-typo", code=3)
    assert "has no image" in refused.err
    assert cluster.list("clustercatalog") == []

    run_olmkit.tell("The catalog that is created has the lowest priority")
    shop.serve(image, name=f"{shop.name}-theirs", priority=-400)
    run_olmkit("install", shop.name, *where, "--catalog", image)
    catalog = cluster.get("clustercatalog", f"{shop.name}-catalog")
    assert catalog["spec"]["priority"] == -401
    extension = cluster.get("clusterextension", shop.name)
    assert extension["spec"]["source"]["catalog"]["selector"]["matchLabels"] == {
        "olm.operatorframework.io/metadata.name": f"{shop.name}-catalog"
    }
    cluster.kubectl("delete", "clustercatalog", f"{shop.name}-theirs")
    run_olmkit("uninstall", shop.name, *V1, "--yes")
    assert cluster.get("clustercatalog", f"{shop.name}-catalog") is None


def test_a_served_catalog_is_read_back_through_the_api_server(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    catalog = shop.serve(shop.build(toy(version="1.0.0"), toy(version="1.1.0")))
    listed = run_olmkit.try_(
        "catalog", "list", "bundles", f"clustercatalog:{catalog}", "-o", "json"
    )
    assert {row["bundle"] for row in listed.json["result"]} == {
        f"{shop.name}.v1.0.0", f"{shop.name}.v1.1.0",
    }  # fmt: skip
    run_olmkit("catalog", "validate", f"clustercatalog:{catalog}")
    shop.account(namespace)
    refused = run_olmkit.try_("install", "other", *V1, "--catalog", catalog, "-n", namespace,
                          ACCOUNT, code=1)  # fmt: skip
    assert "does not have the package `other`" in refused.err
