"""Every real catalog becomes an image with the same files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from olmkit.edges import disk
from olmkit.edges.images import transports
from olmkit.edges.images.transports import Access
from olmkit.jobs.image import publish
from olmkit.jobs.image.publish import PublishOptions

ACCESS = Access()


def test_every_catalog_is_read_back_from_its_image(cases: Path, tmp_path: Path) -> None:
    folders = sorted(path for path in (cases / "catalogs").glob("*/*") if path.is_dir())
    assert len(folders) >= 7

    async def check() -> None:
        for number, folder in enumerate(folders):
            options = PublishOptions(target=f"oci:{tmp_path}/oci:n{number}")
            built = await publish.build_catalog(str(folder), options, ACCESS)
            image = await transports.read_catalog_tree(built.reference, ACCESS)
            assert {path: file.data for path, file in image.tree.items()} == {
                path: file.data for path, file in disk.read_tree(folder).items()
            }, folder

    asyncio.run(check())
