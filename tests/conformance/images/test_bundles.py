"""Every real bundle becomes an image with the same files and labels, reproducibly."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

from olmkit.bundle import layout
from olmkit.edges import disk
from olmkit.edges.images import transports
from olmkit.edges.images.transports import Access
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import PublishOptions
from olmkit.testing.registry import RegistryServer

ACCESS = Access()


def bundles(cases: Path) -> list[Path]:
    found = sorted(path.parent for path in (cases / "bundles").glob("*/*/manifests"))
    assert len(found) >= 76
    return found


def test_every_bundle_is_read_back_from_its_image(cases: Path, tmp_path: Path) -> None:
    async def check() -> None:
        for number, folder in enumerate(bundles(cases)):
            options = PublishOptions(target=f"oci:{tmp_path}/oci:n{number}")
            built = await publish.build_bundle(str(folder), options, ACCESS)
            again = await publish.build_bundle(str(folder), options, ACCESS)
            assert built.reference == again.reference
            image = await transports.read_bundle_tree(built.reference, ACCESS)
            tree = disk.read_tree(folder)
            bundle = layout.read(tree)
            assert {path: file.data for path, file in image.tree.items()} == {
                path: file.data
                for path, file in tree.items()
                if path.startswith(("manifests/", "metadata/"))
                or ("test.config.v1" in str(bundle.annotations) and path.startswith("tests/"))
            }, folder
            assert image.labels == bundle.annotations

    asyncio.run(check())


def test_skopeo_reads_every_bundle_from_the_registry(
    cases: Path, registry: RegistryServer, tmp_path: Path, skopeo: Callable[..., bytes]
) -> None:
    """A tenth of them, since skopeo needs time for each; any of them would do."""
    for number, folder in enumerate(bundles(cases)[::10]):
        target = f"{registry.host}/real/n{number}:v1"
        options = PublishOptions(target=target, push=True, project=tmp_path)
        built = asyncio.run(publish.build_bundle(str(folder), options, ACCESS))
        told = json.loads(skopeo("inspect", "--tls-verify=false", f"docker://{target}"))
        assert told["Digest"] == built.digest
        assert told["Labels"] == layout.read(disk.read_tree(folder)).annotations
