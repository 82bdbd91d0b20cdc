"""The commands on a page of the hub for OLM v1 up to 1.10 install the shipped operator."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
FIXTURES = Path(__file__).parents[3] / "fixtures"
SHOWN = runpy.run_path(str(FIXTURES / "shown_instructions.py"))["shown"]


def printed(page: Path) -> str:
    """Return the manifests of the variant with a service account."""
    command = str(SHOWN(page.read_text(), {"olm": "v1-account"})["manifests"])
    _, _, rest = command.partition("\n")
    return rest.rpartition("\n")[0] + "\n"


@pytest.mark.usefixtures("olm_v1")
@pytest.mark.parametrize("catalog", ["with manifests", "with metadata only"])
def test_the_manifests_with_a_service_account_install_the_operator(
    cluster: Any,
    run_olmkit: Any,
    catalog_of: Callable[..., Path],
    eventually: Callable[..., Any],
    tmp_path: Path,
    catalog: str,
) -> None:
    folder = catalog_of("0.0.1")
    if catalog == "with metadata only":
        shown = run_olmkit(
            "catalog", "render", folder, "--migrate", "bundle-object-to-csv-metadata"
        )
        (folder / "catalog.yaml").write_text(shown)
    image = f"{cluster.registry}/page-v1-{catalog.replace(' ', '-')}:1"
    run_olmkit("catalog", "build", folder, "-t", image, "--push", "--server", "none")
    run_olmkit("hub", "build", image, "-d", tmp_path / "hub", "--catalog-name", "page-v1")
    manifests = printed(tmp_path / "hub" / "p" / PACKAGE / "index.html")
    is_broad = "name: cluster-admin" in manifests
    assert is_broad == (catalog == "with metadata only")
    try:
        cluster.apply(manifests)

        def is_installed() -> bool:
            found = cluster.get("clusterextension", PACKAGE) or {}
            listed = found.get("status", {}).get("conditions", [])
            return any(one["type"] == "Installed" and one["status"] == "True" for one in listed)

        eventually(is_installed, what="the ClusterExtension is installed")

        def runs() -> bool:
            found = cluster.list("deployment", "-n", PACKAGE)
            return any(one.get("status", {}).get("availableReplicas") for one in found)

        eventually(runs, what="the operator runs")
    finally:
        cluster.kubectl("delete", "clusterextension", PACKAGE, "--ignore-not-found")
        cluster.kubectl("delete", "-f", "-", "--ignore-not-found", "--wait=false", text=manifests)
        gone = "the namespace is gone"
        eventually(lambda: cluster.get("namespace", PACKAGE) is None, what=gone)
