"""Twenty installs through OLM v1 that stop, and the report of `olmkit why` for each.

The catalogs and accounts are invalid on purpose. With `OLMKIT_RECORD=FOLDER` the observed
objects are written there, for the golden cases of `why`.
"""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.e2e

V1 = ("--olm", "v1")
NAME_LABEL = "olm.operatorframework.io/metadata.name"


@pytest.fixture
def why(
    shop: Any, run_olmkit: Any, eventually: Callable[..., Any]
) -> Callable[..., dict[str, Any]]:
    """Repeat until the cause is the expected one; return the whole answer."""

    def ask(cause: str, name: str = "", says: str = "", code: int | None = 1) -> dict[str, Any]:
        seen: dict[str, Any] = {}

        def is_there() -> bool:
            words = ["why", name or shop.name, *V1, "-o", "json"]
            record = os.environ.get("OLMKIT_RECORD")
            if record:
                Path(record).mkdir(parents=True, exist_ok=True)
                words += ["--save", f"{record}/{cause}.yaml"]
            done = run_olmkit.try_(*words, code=None)
            seen.update(done.json["result"], code=done.code)
            told = " ".join([seen["message"], *seen["details"]])
            return bool(seen["cause"] == cause and says in told)

        eventually(is_there, what=lambda: f"{cause}; it is {seen}")
        assert code in (None, seen["code"])
        return seen

    return ask


def extension(shop: Any, namespace: str, name: str = "", **catalog: Any) -> dict[str, Any]:
    """Return a ClusterExtension as a user writes it, including what `install` would refuse."""
    return {
        "apiVersion": "olm.operatorframework.io/v1",
        "kind": "ClusterExtension",
        "metadata": {"name": name or shop.name},
        "spec": {
            "namespace": namespace,
            "serviceAccount": {"name": "installer"},
            "source": {
                "sourceType": "Catalog",
                "catalog": {
                    "packageName": shop.name,
                    "selector": {"matchLabels": {NAME_LABEL: shop.name}},
                    **catalog,
                },
            },
        },
    }


def test_errors_of_accounts_and_namespaces_have_their_causes(
    shop: Any, toy: Any, run_olmkit: Any, why: Any, namespace: str
) -> None:
    cluster = shop.cluster
    shop.serve(shop.build(toy(version="1.0.0")))

    def apply(**catalog: Any) -> None:
        cluster.apply(json.dumps(extension(shop, namespace, **catalog)))

    apply()
    found = why("namespace-missing", says=f"`{namespace}`")
    assert "service account `installer`" in found["hint"]
    cluster.kubectl("create", "namespace", namespace)
    found = why("service-account", says=f"`installer` does not exist in namespace `{namespace}`")
    assert f"kubectl create serviceaccount installer -n {namespace}" in found["hint"]
    shop.account(namespace, role="")
    why("service-account-forbidden", says=f"`{namespace}/installer` cannot")

    # Everything except the permissions of the bundle: the API server lists each missing rule.
    rules = [
        {"apiGroups": ["", "apps", "apiextensions.k8s.io"], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["*"],
         "verbs": ["get", "list", "watch", "create", "patch", "delete"]},
    ]  # fmt: skip
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": f"{namespace}-part"}, "rules": rules}  # fmt: skip
    cluster.apply(json.dumps(role))
    cluster.kubectl("create", "clusterrolebinding", f"{namespace}-part",
                    f"--clusterrole={namespace}-part",
                    f"--serviceaccount={namespace}:installer")  # fmt: skip
    cluster.kubectl("annotate", "clusterextension", shop.name, "look=again",
                    "--overwrite")  # fmt: skip
    found = why("service-account-forbidden", says=f"get, list, watch: toys.{shop.group}")
    assert "lacks 1 permission" in found["message"]
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", f"{namespace}-part")
    # The hint of both leads to manifests that are sufficient.
    assert f"`olmkit upgrade {shop.name} --olm v1 --dry-run` prints" in found["hint"]
    printed = run_olmkit.try_("upgrade", shop.name, *V1, "--dry-run", code=1)
    assert "lacks 14 permissions" in printed.err
    cluster.apply(printed.out)
    cluster.kubectl("annotate", "clusterextension", shop.name, "look=once-more",
                    "--overwrite")  # fmt: skip
    why("healthy", code=0)
    run_olmkit("uninstall", shop.name, *V1, "--yes")
    assert cluster.list("clusterrole", "-l", f"app.kubernetes.io/part-of={shop.name}") == []


def test_each_rule_that_the_account_lacks_is_named(
    shop: Any, toy: Any, run_olmkit: Any, why: Any, namespace: str
) -> None:
    cluster = shop.cluster
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "metrics"},
               "spec": {"ports": [{"port": 80}]}}  # fmt: skip
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
    shop.serve(shop.build(toy(version="1.0.0", others=[service], rules=[lease], replicas=0)))
    cluster.kubectl("create", "namespace", namespace)
    printed = run_olmkit("install", shop.name, *V1, "-n", namespace, "--create-service-account",
                     "--service-account=installer", "--dry-run")  # fmt: skip
    whole = list(yaml.safe_load_all(printed))
    grants = [one for one in whole if one["kind"] != "ClusterExtension"]
    labels = {NAME_LABEL: shop.name}
    made = extension(shop, namespace, selector={"matchLabels": labels})

    def without(kind: str, resource: str, verb: str) -> list[Any]:
        """Return all manifests, without the first such rule of the role of that kind."""
        found = copy.deepcopy(grants)
        (role,) = (one for one in found if one["kind"] == kind)
        (lost, *_) = (rule for rule in role["rules"]
                      if resource in rule["resources"] and verb in rule["verbs"])  # fmt: skip
        role["rules"].remove(lost)
        return found

    def apply(items: list[Any]) -> None:
        cluster.apply(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))

    crds = "customresourcedefinitions"
    for kind, resource, verb, says in (
        ("ClusterRole", "services", "list", 'cannot list resource "services"'),
        ("ClusterRole", crds, "get", f'cannot get resource "{crds}"'),
        ("Role", "deployments", "create", 'cannot create resource "deployments"'),
        ("Role", "services", "get", 'cannot get resource "services"'),
        ("ClusterRole", "leases", "get", "get: leases.coordination.k8s.io"),
    ):
        apply([*without(kind, resource, verb), made])
        found = why("service-account-forbidden", says=says)
        assert "--dry-run` prints" in found["hint"]
        apply(grants)
        cluster.kubectl("delete", "clusterextension", shop.name, "--timeout=300s")
        cluster.kubectl("wait", "--for=delete", f"crd/{shop.crd}", "--timeout=300s")
    apply([made])
    why("healthy", code=0)
    run_olmkit("uninstall", shop.name, *V1, "--yes")


def test_errors_of_catalogs_have_their_causes(
    shop: Any, toy: Any, why: Any, namespace: str, catalog_of_image: Any
) -> None:
    cluster = shop.cluster
    image = shop.build(toy(version="1.0.0"), toy(version="1.1.0"))
    shop.account(namespace)
    wide: dict[str, Any] = {"selector": {"matchLabels": {"shop": shop.name}}}

    def apply(**catalog: Any) -> None:
        cluster.apply(json.dumps(extension(shop, namespace, **catalog)))

    def shelf(suffix: str, ref: str, **spec: Any) -> str:
        made = catalog_of_image(f"{shop.name}{suffix}", ref)
        made["metadata"]["labels"] = {"shop": shop.name}
        made["spec"] |= spec
        cluster.apply(json.dumps(made))
        return str(made["metadata"]["name"])

    apply(**wide)
    why("no-such-catalog", says=shop.name, code=1)
    name = shelf("", f"{image}-typo")
    found = why("catalog-not-ready", says="manifest unknown", code=3)
    assert f"ClusterCatalog `{name}`" in found["hint"]
    apply(version="1.0.0")
    why("catalog-not-ready", says="manifest unknown", code=3)

    shelf("", image)
    cluster.kubectl("wait", "--for=condition=Serving", f"clustercatalog/{name}", "--timeout=300s")
    why("healthy", code=0)
    apply(version="9.x")
    found = why("no-way", says="from version 1.0.0")
    assert f"clustercatalog:{name}" in found["hint"]
    apply(version="1.0.0", channels=["fast"])
    why("no-way", says="in channels [fast]")
    cluster.kubectl("delete", "clusterextension", shop.name)
    apply(version="9.x")
    why("no-such-version", says="9.x")

    shelf("-theirs", image)
    cluster.kubectl("wait", "--for=condition=Serving", f"clustercatalog/{name}-theirs",
                    "--timeout=300s")  # fmt: skip
    apply(**wide)
    found = why("several-catalogs", says=f"`{name}`, `{name}-theirs`")
    assert "selector" in found["hint"]
    cluster.kubectl("delete", "clustercatalog", f"{name}-theirs")
    shelf("", image, availabilityMode="Unavailable")
    apply(version="1.0.0")
    why("catalog-switched-off", says=name)
    apply(selector={"matchLabels": {NAME_LABEL: "elsewhere"}})
    why("no-such-catalog", says="elsewhere")


def test_errors_of_bundles_have_their_causes(
    shop: Any, toy: Any, run_olmkit: Any, why: Any, namespace: str
) -> None:
    cluster = shop.cluster
    policy = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "some"}}
    image = shop.build(
        toy(version="1.0.0", fields=("size", "colour")),
        toy(version="2.0.0", required=("size",), fields=("size", "colour")),
        toy(version="2.1.0", fields=("weight",)),
        toy(version="3.0.0", webhooks=True),
        toy(version="4.0.0", modes=("OwnNamespace", "SingleNamespace")),
        toy(version="5.0.0", needs=("db",)),
        toy(version="6.0.0", others=[policy]),
        toy(version="7.0.0", image=f"{cluster.registry}/nowhere:1", fields=("size", "colour")),
        toy(version="8.0.0", bundle_image=f"{cluster.registry}/nowhere-bundle:1"),
    )
    shop.serve(image)
    shop.account(namespace)

    def apply(version: str, name: str = "") -> None:
        free = {"upgradeConstraintPolicy": "SelfCertified"}
        cluster.apply(json.dumps(extension(shop, namespace, name, version=version, **free)))

    apply("1.0.0")
    why("healthy", code=0)
    apply("2.0.0")
    found = why("crd-upgrade-unsafe", says='field "^.spec": new required fields [size] added')
    assert f"`{shop.crd}` would break" in found["message"]
    apply("2.1.0")
    found = why("crd-upgrade-unsafe", says="field/^.spec.colour may not be removed")
    assert "--to 1.0.0" in found["hint"]
    for version, cause, says in (
        ("3.0.0", "webhooks-not-supported", "webhooks"),
        ("4.0.0", "install-mode-not-supported", "`OwnNamespace`, `SingleNamespace`"),
        ("5.0.0", "dependencies-not-supported", "olm.gvk.required"),
        ("6.0.0", "kind-not-supported", "`LimitRange`"),
    ):
        apply(version)
        why(cause, says=says)
    apply("8.0.0")
    why("bundle-cannot-be-unpacked", says="manifest unknown", code=3)
    apply("7.0.0")
    why("image-cannot-be-pulled", says="nowhere:1", code=3)

    run_olmkit.tell("A second ClusterExtension for the same package, here and in another namespace")
    second, elsewhere = f"{shop.name}-b", f"{namespace}-b"
    apply("1.0.0", second)
    why("object-owned-elsewhere", name=second, says=f"ClusterExtension `{shop.name}`")
    cluster.kubectl("delete", "clusterextension", second)
    shop.account(elsewhere)
    made = extension(shop, elsewhere, second, version="1.0.0")
    cluster.apply(json.dumps(made))
    why("crd-owned-elsewhere", name=second, says=f"ClusterExtension `{shop.name}`")
    done = run_olmkit.try_("status", shop.name, "-o", "json")
    assert len(done.json["result"]["operators"]) == 2
    cluster.kubectl("delete", "clusterextension", second, shop.name)
    cluster.kubectl("delete", "namespace", elsewhere, "--wait=false")
    cluster.kubectl("delete", "clusterrolebinding", f"{elsewhere}-installer")


def test_stopped_controllers_have_their_cause(
    shop: Any, toy: Any, why: Any, namespace: str
) -> None:
    cluster = shop.cluster
    shop.serve(shop.build(toy(version="1.0.0")))
    cluster.kubectl("create", "namespace", namespace)
    cluster.apply(json.dumps(extension(shop, namespace)))
    why("service-account")
    controller = ("operator-controller-controller-manager", "-n", "olmv1-system")
    cluster.kubectl("scale", "deployment", *controller, "--replicas=0")
    try:
        cluster.kubectl("wait", "pod", "--for=delete", "-l", f"control-plane={controller[0]}",
                        *controller[1:], "--timeout=300s")  # fmt: skip
        # The condition of the controller stays, and is outdated.
        shop.account(namespace)
        why("controller-not-running", says="scaled to 0")
    finally:
        cluster.kubectl("scale", "deployment", *controller, "--replicas=1")
    why("healthy", code=0)
    cluster.kubectl("delete", "clusterextension", shop.name)
    why("not-installed")
