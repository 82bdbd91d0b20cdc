"""An operator crosses an air gap: first registry → directory → second registry → cluster.

The first registry is stopped before the install. The cluster's containerd finds
the images by the `hosts.toml` that `image mirror` writes, and OLM the catalog by its CatalogSource.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.testing.registry import RegistryServer

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
VERSION = "0.0.1"


@pytest.fixture
def rules(cluster: Any) -> Iterator[Callable[[Path], None]]:
    """Configure containerd for a registry; it reads the file at each pull."""
    added: list[Path] = []

    def add(folder: Path) -> None:
        for source in folder.iterdir():
            target = cluster.folder / "certs.d" / source.name
            shutil.copytree(source, target)
            added.append(target)

    yield add
    for path in added:
        shutil.rmtree(path)


def push_images(host: str, run_olmkit: Any, release: Any, cluster: Any, folder: Path) -> str:
    """Operator, bundle and catalog in a registry, each referenced by its digest; the catalog."""
    operator = run_olmkit(
        *("image", "copy", f"{release.image}:v{VERSION}", f"{host}/shop/{PACKAGE}:v{VERSION}")
    ).strip()
    operand = run_olmkit(
        *("image", "copy", f"{cluster.registry}/memcached:1", f"{host}/shop/memcached:1")
    ).strip()
    shutil.copytree(release.folders[VERSION], folder / "bundle")
    (csv,) = (folder / "bundle").glob("manifests/*clusterserviceversion.yaml")
    text = csv.read_text()
    for old, new in (
        (f"{release.image}:v{VERSION}", operator),
        (f"{cluster.registry}/memcached:1", operand),
    ):
        assert old in text
        text = text.replace(old, new)
    csv.write_text(text)
    bundle = run_olmkit(
        *("bundle", "build", folder / "bundle", "--push"),
        *("-t", f"{host}/shop/{PACKAGE}-bundle:v{VERSION}"),
    ).strip()
    (folder / "catalog").mkdir()
    (folder / "catalog/catalog.yaml").write_text(
        run_olmkit("catalog", "init", PACKAGE, "-c", "alpha")
    )
    run_olmkit("catalog", "add", folder / "catalog", bundle, "--channel", "alpha")
    run_olmkit("catalog", "build", folder / "catalog", "-t", f"{host}/shop/catalog:v1", "--push")
    return f"{host}/shop/catalog:v1"


def test_an_operator_is_installed_from_a_mirror_without_the_first_registry(
    cluster: Any,
    run_olmkit: Any,
    release: Any,
    namespace: str,
    rules: Callable[[Path], None],
    tmp_path: Path,
) -> None:
    usb = f"oci:{tmp_path / 'usb'}"
    with RegistryServer(folder=tmp_path / "first") as first:
        catalog = push_images(first.host, run_olmkit, release, cluster, tmp_path)
        needed = run_olmkit("catalog", "images", catalog).split()
        assert {image.partition("/")[0] for image in needed} == {first.host}
        run_olmkit("image", "mirror", catalog, usb)
        origin = first.host
    run_olmkit.try_("image", "inspect", catalog, code=3)  # it is stopped

    cluster.kubectl("create", "namespace", namespace)
    run_olmkit(
        *("image", "mirror", usb, f"{cluster.registry}/gap-{namespace}", "--target-plain-http"),
        *("--manifests-dir", tmp_path / "cluster", "--catalog-namespace", namespace),
    )
    rules(tmp_path / "cluster/certs.d")
    text = (tmp_path / "cluster/catalog-source.yaml").read_text()
    cluster.apply(text)
    (source,) = cluster.list("catalogsources", "-n", namespace)
    run_olmkit(
        *("install", PACKAGE, "-n", namespace, "--catalog", source["metadata"]["name"]),
        *("--catalog-namespace", namespace),
    )
    try:
        csv = cluster.get("csv", f"{PACKAGE}.v{VERSION}", "-n", namespace)
        assert csv["status"]["phase"] == "Succeeded"
        pods = cluster.list("pods", "-n", namespace)
        # Images have the names of the first registry, and were pulled from the second one.
        images = [
            container["image"]
            for pod in pods
            for container in pod["spec"]["containers"]
            if PACKAGE in container["image"]
        ]
        assert images
        assert {image.partition("/")[0] for image in images} == {origin}
        assert set(images) <= set(needed)
    finally:
        run_olmkit.try_("uninstall", PACKAGE, "-n", namespace, "--delete-crds", "--yes", code=None)
