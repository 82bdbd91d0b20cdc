"""The shipped operator through OLM v1: installed, upgraded by its catalog, removed; twice.

Its second release has webhooks, which release 1.2.0 of OLM v1 does not install. So the next
version here is the first one's configuration under another version.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
V1 = ("--olm", "v1")


@pytest.mark.usefixtures("olm_v1")
def test_an_operator_is_installed_upgraded_and_removed_twice(
    cluster: Any, run_olmkit: Any, release: Any, namespace: str, eventually: Any, tmp_path: Path
) -> None:
    run_olmkit.tell("The next version of the operator, as a bundle")
    folder = tmp_path / "bundle"
    run_olmkit("bundle", "generate", "-C", release.project, "--version", "0.0.3", "--input",
           "config/releases/0.0.1", "--output-dir", folder)  # fmt: skip
    next_bundle = run_olmkit(
        "bundle", "build", folder, "-t", f"{release.image}-bundle:v0.0.3", "--push"
    ).strip()
    catalog = tmp_path / "catalog"
    catalog.mkdir()
    (catalog / "catalog.yaml").write_text(run_olmkit("catalog", "init", PACKAGE, "-c", "alpha"))
    image = f"{cluster.registry}/catalog-v1"
    run_olmkit("catalog", "add", catalog, release.bundles["0.0.1"], "--channel", "alpha")
    run_olmkit("catalog", "build", catalog, "-t", f"{image}:first", "--push")
    run_olmkit("catalog", "add", catalog, next_bundle, "--channel", "alpha")
    run_olmkit("catalog", "build", catalog, "-t", f"{image}:second", "--push")
    for turn in ("once", "again"):
        run_olmkit.tell(f"Installed, used, upgraded and removed: {turn}")
        _live(cluster, run_olmkit, namespace, image, eventually)


def _live(cluster: Any, run_olmkit: Any, namespace: str, image: str, eventually: Any) -> None:
    done = run_olmkit.try_("install", PACKAGE, *V1, "-n", namespace, "--catalog", f"{image}:first",
                       "--create-service-account")  # fmt: skip
    assert f"`{PACKAGE}.v0.0.1` is installed and healthy" in done.out
    cache = {
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": {"name": "sample", "namespace": namespace},
        "spec": {"size": 1},
    }
    cluster.apply(json.dumps(cache))

    def has_pod() -> bool:
        found = cluster.get("deployment", "sample", "-n", namespace) or {}
        return bool(found.get("status", {}).get("availableReplicas"))

    eventually(has_pod, what="the Deployment of the cache is available")

    # The roles of both versions have the same names, so the account is sufficient for the next.
    source = {"image": {"ref": f"{image}:second"}}
    cluster.kubectl("patch", "clustercatalog", f"{PACKAGE}-catalog", "--type=merge", "-p",
                    json.dumps({"spec": {"source": source}}))  # fmt: skip

    done = run_olmkit.try_("upgrade", PACKAGE, *V1)
    assert f"`{PACKAGE}.v0.0.3` is installed and healthy" in done.out
    assert cluster.get("memcached", "sample", "-n", namespace)

    run_olmkit("uninstall", PACKAGE, *V1, "--delete-operands", "--yes")
    kinds = "deployment,service,serviceaccount,role,rolebinding,lease"
    left = cluster.kubectl("get", kinds, "-n", namespace, "-o", "name").split()
    assert [one for one in left if one != "serviceaccount/default"] == []
    wide = "clusterextension,clustercatalog,crd,clusterrole,clusterrolebinding"
    assert "memcached" not in cluster.kubectl("get", wide, "-o", "name")
