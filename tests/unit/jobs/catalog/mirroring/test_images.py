"""Listing the images of catalogs, including catalogs whose bundles must be pulled."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.catalog.changes.filtering import PackageSelection
from olmkit.catalog.images import Role
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.bundle import build
from olmkit.jobs.catalog.mirroring import images as job
from olmkit.jobs.image.publish import PublishOptions

BASES = Path(__file__).parents[4] / "golden" / "bases"
ACCESS = Access(environment={})


def catalog_of(folder: Path, **bundles: str) -> str:
    """A catalog whose bundles only have images."""
    entries = ", ".join(f"{{name: {name}}}" for name in bundles)
    parts = [
        "schema: olm.package\nname: cog\ndefaultChannel: stable",
        f"schema: olm.channel\npackage: cog\nname: stable\nentries: [{entries}]",
    ]
    for name, image in bundles.items():
        parts.append(
            f"schema: olm.bundle\npackage: cog\nname: {name}\nimage: {image}\nproperties:\n"
            "- type: olm.package\n  value: {packageName: cog, version: 1.0.0}"
        )
    folder.mkdir()
    (folder / "catalog.yaml").write_text("\n---\n".join(parts) + "\n")
    return str(folder)


def test_a_selection_lists_fewer_images() -> None:
    catalog = str(BASES / "two-catalogs" / "old")

    wanted = PackageSelection(package="pot", channels={"stable": None})
    whole = asyncio.run(job.list_images(catalog, ACCESS))
    part = asyncio.run(job.list_images(catalog, ACCESS, requested=[wanted]))

    assert {image.image for image in part.images} < {image.image for image in whole.images}
    assert part.blobs != whole.blobs


def test_the_images_of_a_csv_in_a_bundle_image_are_found_on_request(tmp_path: Path) -> None:
    target = f"oci:{tmp_path / 'layout'}"
    bundle = str(BASES / "bundles-to-compare" / "new")
    asyncio.run(build.build([bundle], PublishOptions(target=target), ACCESS))
    catalog = catalog_of(tmp_path / "catalog", a=target)

    (alone,) = asyncio.run(job.list_images(catalog, ACCESS)).images
    pulled = asyncio.run(job.list_images(catalog, ACCESS, pull_bundles=True)).images

    assert alone.image == target
    assert [image.image for image in pulled if Role.OPERATOR in image.roles]


def test_a_bundle_that_cannot_be_pulled_makes_the_list_incomplete(tmp_path: Path) -> None:
    catalog = catalog_of(tmp_path / "catalog", a="oci:nowhere", b="oci:nowhere")

    with pytest.raises(RemoteError, match=r"cannot read 2 bundles: `a`: .*; `b`: "):
        asyncio.run(job.list_images(catalog, ACCESS, pull_bundles=True))
