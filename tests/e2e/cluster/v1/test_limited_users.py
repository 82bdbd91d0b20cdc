"""Output for users without permission to list everything, and clusters with only OLM v1."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

V1 = ("--olm", "v1")
V0_GROUP, V1_GROUP = "operators.coreos.com", "olm.operatorframework.io"


@pytest.fixture
def user(tmp_path: Path, namespace: str) -> Callable[..., Path]:
    """Return the kubeconfig of a service account that can get and list these resources."""

    def made(cluster: Any, name: str, *resources: str) -> Path:
        if cluster.get("namespace", namespace) is None:
            cluster.kubectl("create", "namespace", namespace)
        cluster.kubectl("create", "serviceaccount", name, "-n", namespace)
        role = f"{namespace}-{name}"
        words = [f"--resource={one}" for one in resources]
        cluster.kubectl("create", "clusterrole", role, "--verb=get,list", *words)
        cluster.kubectl("create", "clusterrolebinding", role, f"--clusterrole={role}",
                        f"--serviceaccount={namespace}:{name}")  # fmt: skip
        config = json.loads(cluster.kubectl("config", "view", "--raw", "-o", "json"))
        token = cluster.kubectl("create", "token", name, "-n", namespace).strip()
        config["users"] = [{"name": name, "user": {"token": token}}]
        for context in config["contexts"]:
            context["context"]["user"] = name
        file = tmp_path / f"{name}.json"
        file.write_text(json.dumps(config))
        return file

    return made


def _recorded(cause: str) -> list[str]:
    """Options that write the objects for a golden case, if they are recorded."""
    record = os.environ.get("OLMKIT_RECORD")
    if not record:
        return []
    Path(record).mkdir(parents=True, exist_ok=True)
    return ["--save", f"{record}/{cause}.yaml"]


def _extension(shop: Any, namespace: str, **catalog: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{V1_GROUP}/v1",
        "kind": "ClusterExtension",
        "metadata": {"name": shop.name},
        "spec": {
            "namespace": namespace,
            "serviceAccount": {"name": "installer"},
            "source": {"sourceType": "Catalog",
                       "catalog": {"packageName": shop.name, **catalog}},
        },
    }  # fmt: skip


def test_objects_that_cannot_be_listed_are_not_reported_as_absent(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str, user: Any, eventually: Any
) -> None:
    cluster, name = shop.cluster, shop.name
    shop.account(namespace)
    shop.serve(shop.build(toy(version="1.0.0", replicas=0)))
    labels = {"matchLabels": {f"{V1_GROUP}/metadata.name": name}}
    cluster.apply(json.dumps(_extension(shop, namespace, version="9.x", selector=labels)))
    few = user(cluster, "few", f"clusterextensions.{V1_GROUP}")
    some = user(cluster, "some", f"clusterextensions.{V1_GROUP}", f"subscriptions.{V0_GROUP}")
    subscription = {
        "apiVersion": f"{V0_GROUP}/v1alpha1", "kind": "Subscription",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"name": name, "channel": "stable", "source": "shelf", "sourceNamespace": "olm"},
    }  # fmt: skip
    cluster.apply(json.dumps(subscription))

    def why(file: Path, cause: str, *words: str) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def is_there() -> bool:
            asked = ("why", name, "--kubeconfig", file, "-o", "json", *words, *_recorded(cause))
            seen.update(run_olmkit.try_(*asked, code=None).json["result"] or {})
            return seen.get("cause") == cause

        eventually(is_there, what=lambda: f"{cause}; it is {seen}")
        return seen

    found = why(few, "catalogs-not-listable", *V1)
    assert 'matching version "9.x"; the reason is not known' in found["message"]
    assert f"`list` of `clustercatalogs.{V1_GROUP}`" in found["hint"]

    run_olmkit.tell(
        "Subscriptions exist, and the user may not list them: what may be seen is shown"
    )
    done = run_olmkit.try_("status", "--kubeconfig", few)
    assert name in done.out
    assert done.out.count(" v0 ") == 0
    for plural in ("subscriptions", "catalogsources", "clustercatalogs"):
        assert f"not shown: {plural}" in done.err
    rows = run_olmkit.try_("status", name, "-o", "json").json["result"]["operators"]
    assert {row["olm"] for row in rows} == {"v0", "v1"}

    run_olmkit.tell("A Subscription whose catalog the user may not see")
    group = {"apiVersion": f"{V0_GROUP}/v1", "kind": "OperatorGroup",
             "metadata": {"name": name, "namespace": namespace}}  # fmt: skip
    cluster.apply(json.dumps(group))
    cluster.kubectl(
        "create",
        "role",
        "reader",
        "-n",
        namespace,
        "--verb=get,list",
        "--resource=operatorgroups,installplans,clusterserviceversions,catalogsources",
    )
    cluster.kubectl("create", "rolebinding", "reader", "-n", namespace, "--role=reader",
                    f"--serviceaccount={namespace}:some")  # fmt: skip
    done = run_olmkit.try_("why", name, "-n", namespace, "--kubeconfig", some, code=None)
    assert "there is no CatalogSource" not in done.out
    refused = run_olmkit.try_("install", "other", "-n", namespace, "--kubeconfig", some, code=1)
    assert f"in the namespaces where you may list them: `{namespace}`" in refused.err
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"{namespace}-few",
                    f"{namespace}-some")  # fmt: skip


def test_a_pin_is_not_written_if_the_catalog_cannot_be_read(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str, catalog_of_image: Any
) -> None:
    cluster, name = shop.cluster, shop.name
    image = shop.build(toy(version="1.0.0", replicas=0), toy(version="1.1.0", replicas=0))
    shop.serve(image)
    shop.account(namespace)
    run_olmkit("install", name, *V1, "-n", namespace, "--service-account=installer", "--version",
           "1.0.0", "--catalog", name)  # fmt: skip
    pinned = cluster.get("clusterextension", name)["spec"]

    def refused(why: str) -> None:
        done = run_olmkit.try_("upgrade", name, *V1, "--to", "1.1.0", code=1)
        assert why in done.err
        assert cluster.get("clusterextension", name)["spec"] == pinned

    run_olmkit.tell("Switched off")
    off = catalog_of_image(name, image)
    off["spec"]["availabilityMode"] = "Unavailable"
    cluster.apply(json.dumps(off))
    refused(f"the catalog `{name}` is disabled")

    run_olmkit.tell("Not served: its image does not exist")
    cluster.kubectl("delete", "clustercatalog", name)
    cluster.apply(json.dumps(catalog_of_image(name, f"{image}-typo")))
    cluster.kubectl(
        "wait",
        f"clustercatalog/{name}",
        "--timeout=300s",
        "--for=jsonpath={.status.conditions[?(@.type=='Progressing')].reason}=Retrying",
    )
    refused(f"the catalog `{name}` is not served")

    run_olmkit.tell("Deleted")
    cluster.kubectl("delete", "clustercatalog", name)
    refused(f"the ClusterCatalog `{name}` does not exist")
    shop.serve(image)
    run_olmkit("upgrade", name, *V1, "--to", "1.1.0")
    run_olmkit("uninstall", name, *V1, "--yes")


def test_commands_work_in_a_cluster_with_only_olm_v1(
    cluster_without_olm: Any,
    shop_of: Any,
    toy: Any,
    run_olmkit_of: Any,
    root: Path,
    tmp_path: Path,
    namespace: str,
    eventually: Any,
) -> None:
    cluster = cluster_without_olm
    words = [sys.executable, str(root / "tests/cluster"), "olm-v1"]
    environment = os.environ | {"OLMKIT_CLUSTER": str(cluster.folder)}
    subprocess.run(words, env=environment, check=True, capture_output=True)
    run_olmkit, shop = run_olmkit_of(cluster), shop_of(cluster, tmp_path)
    name = shop.name

    run_olmkit.tell("The commands of OLM v0 lead to OLM v1, and nowhere to an install of OLM v0")
    for command in (
        ("why", name),
        ("install", name, "-n", namespace),
        ("install", "--bundle", "r.example/b:1"),
        ("upgrade", name),
        ("uninstall", name, "--yes"),
    ):
        done = run_olmkit.try_(*command, code=1)
        assert "this cluster has OLM v1 only" in done.err, command
        assert "--olm v1" in done.err
        assert "olm install" not in done.err
    assert run_olmkit.try_("olm", "status", "-o", "json").json["result"]["generations"] == ["v1"]
    assert "not shown" not in run_olmkit.try_("status").err

    run_olmkit.tell("A cluster without any ClusterCatalog")
    shop.account(namespace)
    cluster.apply(json.dumps(_extension(shop, namespace)))
    seen: dict[str, Any] = {}

    def is_explained() -> bool:
        asked = ("why", name, *V1, "-o", "json", *_recorded("no-cluster-catalog"))
        seen.update(run_olmkit.try_(*asked, code=None).json["result"])
        return bool(seen["cause"] == "no-such-catalog")

    eventually(is_explained, what=lambda: f"no catalog; it is {seen}")
    assert f"no ClusterCatalog that could have the package `{name}`" in seen["message"]
    assert "`olmkit catalog deploy IMAGE --name NAME --olm v1`" in seen["hint"]
    assert "no ClusterCatalog that could have" in run_olmkit("status")
    done = run_olmkit.try_("upgrade", name, *V1, "--to", "1.0.0", code=1)
    assert "the cluster has no ClusterCatalog" in done.err
    assert "olmkit catalog deploy" in done.err
    done = run_olmkit.try_("install", "other", *V1, "-n", namespace, "--service-account=installer",
                       code=1)  # fmt: skip
    assert "the cluster has no ClusterCatalog" in done.err
    assert "--catalog IMAGE" in done.err

    run_olmkit.tell("The hint is enough")
    image = shop.build(toy(version="1.0.0", replicas=0))
    run_olmkit("catalog", "deploy", image, "--name", name, *V1)
    eventually(
        lambda: "is installed and healthy" in run_olmkit.try_("why", name, *V1, code=None).out,
        what="the toy is installed",
    )

    run_olmkit.tell("catalogd serves the previous content while it cannot read the new image")
    broken = shop.publish([{"schema": 5}], "broken")
    done = run_olmkit.try_("catalog", "deploy", broken, "--name", name, *V1, "--timeout", "8s",
                       code=3)  # fmt: skip
    assert f"the catalog `{name}` still serves its previous content" in done.out
    assert "outdated" in run_olmkit("status")

    run_olmkit.tell("catalogd does not run, and then not the controller either")
    for controller in ("catalogd-controller-manager", "operator-controller-controller-manager"):
        cluster.kubectl("scale", "deployment", controller, "-n", "olmv1-system", "--replicas=0")
    cluster.kubectl("wait", "pods", "--all", "-n", "olmv1-system", "--for=delete",
                    "--timeout=90s")  # fmt: skip
    cluster.kubectl("delete", "clusterextension", name, "--wait=false")
    done = run_olmkit.try_("why", name, *V1, "-o", "json", code=None).json["result"]
    assert done["cause"] == "controller-not-running"
    for controller in ("catalogd-controller-manager", "operator-controller-controller-manager"):
        cluster.kubectl("scale", "deployment", controller, "-n", "olmv1-system", "--replicas=1")
    cluster.kubectl("wait", "clusterextension", name, "--for=delete", "--timeout=300s")
    assert run_olmkit.try_("status", "-o", "json").json["result"]["operators"] == []
