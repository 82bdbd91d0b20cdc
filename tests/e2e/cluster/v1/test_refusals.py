"""Real OLM v1: what is refused in advance, and what an installer needs."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

V1 = ("--olm", "v1")
ACCOUNT = "--service-account=installer"


def test_an_install_that_olm_would_refuse_is_refused_before(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str
) -> None:
    cluster = shop.cluster
    shop.serve(
        shop.build(
            toy(version="1.0.0"),
            toy(version="1.1.0"),
            toy(version="1.2.0"),
            toy(version="2.0.0", modes=("OwnNamespace",)),
            toy(version="3.0.0", webhooks=True),
            toy(version="4.0.0", needs=("db",)),
        )
    )
    where = (*V1, "-n", namespace)

    def refused(*words: str, code: int = 1) -> str:
        before = cluster.list("clusterextension"), cluster.get("namespace", namespace)
        done = run_olmkit.try_(*words, code=code)
        assert (cluster.list("clusterextension"), cluster.get("namespace", namespace)) == before
        return str(done.err)

    run_olmkit.tell("Without an account, with one that does not exist, with one that may nothing")
    pinned = ("install", shop.name, *where, "--version", "1.0.0")
    assert "--create-service-account" in refused(*pinned)
    assert f"`installer` does not exist in namespace `{namespace}`" in refused(*pinned, ACCOUNT)
    shop.account(namespace, role="")
    assert "lacks 14 permissions" in refused(*pinned, ACCOUNT)
    shop.account(namespace)

    run_olmkit.tell(
        "Bundles that OLM v1 does not install, versions and ranges that it does not take"
    )
    for version, why in (
        ("2.0.0", "supports `OwnNamespace`"),
        ("3.0.0", "release 1.2.0 of OLM v1 does not install them"),
        ("4.0.0", "olm.gvk.required"),
        ("9.x", "no version that fits `9.x`"),
    ):
        assert why in refused("install", shop.name, *where, ACCOUNT, "--version", version)
    for version in ("1.2 - 2.0", "01.0.0"):
        words = ("install", shop.name, *where, ACCOUNT, "--version", version)
        assert f"invalid value for `--version`: `{version}`" in refused(*words, code=2)

    run_olmkit.tell("The same holds for upgrades, and nothing is written by them either")
    run_olmkit("install", shop.name, *where, ACCOUNT, "--version", "1.0.0")
    for version, why in (
        ("0.9.0", "no version that fits `0.9.0` and upgrades from"),
        ("1.2.0", f"{shop.name}.v1.1.0 → {shop.name}.v1.2.0"),
    ):
        assert why in refused("upgrade", shop.name, *V1, "--to", version)
    said = refused("upgrade", shop.name, *V1, "--to", "1.2 - 2.0", code=2)
    assert "invalid value for `--to`: `1.2 - 2.0`" in said
    assert "`1.0.0` stays" in run_olmkit.try_("upgrade", shop.name, *V1).err
    run_olmkit("upgrade", shop.name, *V1, "--to", "1.1.0")
    run_olmkit("upgrade", shop.name, *V1, "--to", "1.2.0")
    assert "supports `OwnNamespace`" in refused("upgrade", shop.name, *V1, "--to", "2.0.0")
    again = refused("install", shop.name, *where, ACCOUNT, "--version", "1.0.0")
    assert f"the ClusterExtension `{shop.name}` exists already" in again
    run_olmkit("uninstall", shop.name, *V1, "--yes")


def test_a_created_account_is_sufficient_and_less_is_not(
    shop: Any, toy: Any, run_olmkit: Any, namespace: str, eventually: Any
) -> None:
    run_olmkit.tell("The service account that olmkit derives from the bundle is used to the full")
    cluster = shop.cluster
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "metrics"},
        "spec": {"ports": [{"port": 80}]},
    }
    lease = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]}
    shop.serve(
        shop.build(
            toy(version="1.0.0", others=[service], rules=[lease]),
            toy(version="1.1.0", others=[service], rules=[lease], fields=("size", "colour")),
        )
    )
    words = ("install", shop.name, *V1, "-n", namespace, "--create-service-account")
    run_olmkit(*words, "--version", "1.0.0")
    account = f"{namespace}:{shop.name}-installer"
    cluster.kubectl("annotate", "clusterextension", shop.name, "look=again")
    granted = _granted(cluster, namespace, shop.name)
    patched = ("patch", "apps", "deployments", shop.name)
    eventually(lambda: patched in _used(cluster, account), what="a second look")

    run_olmkit.tell("An upgrade needs more, and prints it")
    done = run_olmkit.try_("upgrade", shop.name, *V1, "--to", "1.1.0", code=1)
    assert "lacks 2 permissions" in done.err
    run_olmkit("upgrade", shop.name, *V1, "--to", "1.1.0", "--create-service-account")
    labels = ("-l", f"app.kubernetes.io/part-of={shop.name}")
    assert len(cluster.list("clusterrole", *labels)) == 2
    # Permissions of a bundle are held, not used; owners are protected by an admission plug-in, not
    # here. The Service does not change, and of objects with changing names only roles are deleted.
    unused = granted - _used(cluster, account)
    assert {one for one in unused if one[0] not in ("delete", "update")} == {
        ("get", "coordination.k8s.io", "leases", ""),
        ("patch", "", "services", "metrics"),
    }
    assert not any("role" in one[2] for one in unused)

    run_olmkit.tell("Each rule that is taken away is missed, and named")
    role = cluster.get("clusterrole", f"{namespace}-{shop.name}-installer")
    role["metadata"].pop("managedFields", None)
    role["rules"] = [rule for rule in role["rules"] if rule["resources"] != ["leases"]]
    cluster.apply(json.dumps(role))
    run_olmkit("uninstall", shop.name, *V1, "--yes")
    assert cluster.list("clusterrole", "-l", f"app.kubernetes.io/part-of={shop.name}") == []
    assert cluster.get("serviceaccount", f"{shop.name}-installer", "-n", namespace) is None
    shop.account(namespace, role="")
    printed = run_olmkit(*words, "--version", "1.0.0", ACCOUNT, "--dry-run")
    without = "\n---\n".join(
        part for part in printed.split("\n---\n") if "kind: ClusterExtension\n" not in part
    ).replace("- leases", "- nothing")
    cluster.apply(without)
    missing = run_olmkit.try_("install", shop.name, *V1, "-n", namespace, "--version", "1.0.0",
                          ACCOUNT, code=1)  # fmt: skip
    assert "lacks 1 permission that OLM needs" in missing.err
    assert "get: leases.coordination.k8s.io" in missing.err
    cluster.kubectl("delete", "clusterrole,clusterrolebinding", "-l",
                    f"app.kubernetes.io/part-of={shop.name}")  # fmt: skip


def _granted(cluster: Any, namespace: str, name: str) -> set[tuple[str, str, str, str]]:
    """Return verb, group, resource and name of each permission of the installer."""
    rules = [
        *cluster.get("clusterrole", f"{namespace}-{name}-installer")["rules"],
        *cluster.get("role", f"{name}-installer", "-n", namespace)["rules"],
    ]
    return {
        (verb, group, resource, named)
        for rule in rules
        for verb in rule["verbs"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for named in rule.get("resourceNames", [""])
    }


def _used(cluster: Any, account: str) -> set[tuple[str, str, str, str]]:
    """Return the accesses of the account that the API server recorded."""
    found = set()
    for line in (cluster.folder / "audit.log").read_text().splitlines():
        event = json.loads(line)
        asked = event.get("objectRef") or {}
        if event["user"]["username"] != f"system:serviceaccount:{account}" or not asked:
            continue
        if event["responseStatus"].get("code", 0) >= 400 and event["verb"] != "get":
            continue
        verb = event["verb"]
        named = asked.get("name", "") if verb in ("get", "patch", "delete") else ""
        found.add((verb, asked.get("apiGroup", ""), asked["resource"], named))
        if verb == "list":  # a watch is recorded when it ends
            found.add(("watch", asked.get("apiGroup", ""), asked["resource"], named))
    return found
