"""The commands on a page of the hub install the shipped operator unchanged."""

from __future__ import annotations

import runpy
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
CATALOG = "from-a-page"
FIXTURES = Path(__file__).parents[2] / "fixtures"
SHOWN = runpy.run_path(str(FIXTURES / "shown_instructions.py"))["shown"]


def printed_on(page: Path, choice: Mapping[str, str]) -> Mapping[str, str]:
    """The instructions of a page for one choice: the texts to copy, by name."""
    return dict(SHOWN(page.read_text(), choice))


def run(cluster: Any, script: str) -> str:
    """Return the output of a shell command, in which `kubectl` is that of the cluster."""
    words = " ".join(f"'{word}'" for word in cluster.words)
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", f'kubectl() {{ {words} "$@"; }}\n{script}'],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def hub(
    cluster: Any, run_olmkit: Any, catalog_of: Callable[..., Path], tmp_path_factory: Any
) -> Path:
    """The pages of a catalog with both versions, whose instructions also create the catalog."""
    image = f"{cluster.registry}/{CATALOG}:1"
    run_olmkit("catalog", "build", catalog_of("0.0.1", "0.0.2"), "-t", image, "--push")
    folder = Path(tmp_path_factory.mktemp("hub"))
    run_olmkit("hub", "build", image, "-d", folder, "--catalog-name", CATALOG)
    return folder / "p" / PACKAGE


def test_the_head_for_all_namespaces_and_an_older_version_for_its_own(
    cluster: Any, run_olmkit: Any, hub: Path, eventually: Callable[..., Any]
) -> None:
    def has_succeeded(namespace: str, version: str) -> bool:
        found = cluster.get("csv", f"{PACKAGE}.v{version}", "-n", namespace) or {}
        return bool(found.get("status", {}).get("phase") == "Succeeded")

    choice = {"olm": "v0", "platform": "kubernetes", "mode": "AllNamespaces"}
    printed = printed_on(hub / "index.html", choice)
    run_olmkit.tell("The head for all namespaces: one command, as the page prints it")
    run(cluster, printed["manifests"])
    eventually(lambda: has_succeeded("operators", "0.0.2"), what="0.0.2 has succeeded")
    assert f"{PACKAGE}.v0.0.2" in run(cluster, printed["commands that follow"])
    run_olmkit.tell("Removed, as the page prints it")
    run(cluster, printed["commands that remove it"])
    cluster.kubectl("delete", "catalogsource", CATALOG, "-n", "olm")
    cluster.kubectl("delete", "crd", "memcacheds.cache.example.com")

    run_olmkit.tell("The older version for its own namespace, approved by hand")
    choice["mode"] = "OwnNamespace"
    printed = printed_on(hub / f"{PACKAGE}.v0.0.1" / "index.html", choice)
    try:
        run(cluster, printed["manifests"])

        def plan() -> str:
            plans = cluster.list("installplan", "-n", PACKAGE)
            return next((one["metadata"]["name"] for one in plans), "")

        name = eventually(plan, what="OLM proposes an InstallPlan")
        assert not has_succeeded(PACKAGE, "0.0.1")
        run(cluster, printed["commands that follow"].replace("NAME", name))
        eventually(lambda: has_succeeded(PACKAGE, "0.0.1"), what="0.0.1 has succeeded")
        group = cluster.list("operatorgroup", "-n", PACKAGE)[0]
        assert group["spec"]["targetNamespaces"] == [PACKAGE]
        assert cluster.get("csv", f"{PACKAGE}.v0.0.2", "-n", PACKAGE) is None
        run(cluster, printed["commands that remove it"])
    finally:
        cluster.kubectl("delete", "catalogsource", CATALOG, "-n", "olm", "--ignore-not-found")
        cluster.kubectl("delete", "subscription,csv,operatorgroup", "--all", "-n", PACKAGE)
        cluster.kubectl("delete", "namespace", PACKAGE, "--wait=false", check=False)
        # Objects that `olmkit uninstall` would remove, and the commands of the page leave.
        for kind in ("crd", "clusterrole", "clusterrolebinding", "operators.operators.coreos.com"):
            for name in cluster.kubectl("get", kind, "-o", "name").split():
                if "memcached" in name:
                    cluster.kubectl("delete", name, "--ignore-not-found", "--wait=false")
        gone = "the namespace is gone"
        eventually(lambda: cluster.get("namespace", PACKAGE) is None, what=gone)
