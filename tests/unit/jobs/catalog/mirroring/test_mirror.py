"""Mirrors of catalogs: to a registry, to a directory, and from it without the source."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog.changes.filtering import PackageSelection
from olmkit.edges.images import targets
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.mirroring import mirror as job
from olmkit.jobs.catalog.mirroring.mirror import CatalogMirrorOptions, MirroredCatalogs
from olmkit.jobs.catalog.render import RenderOptions
from olmkit.jobs.image import copy as copy_job
from olmkit.jobs.image import publish
from olmkit.jobs.image.mirror import Arrival, MirrorOptions
from olmkit.jobs.image.publish import PublishOptions
from olmkit.oci import image, layer, mirroring, referrers
from olmkit.oci.content import Platform
from olmkit.oci.image import Image, MultiPlatformImage
from olmkit.oci.reference import Reference
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer

ACCESS = Access(environment={})
PLATFORMS = (Platform(os="linux", architecture="amd64"),)


def made(content: str) -> Image | MultiPlatformImage:
    return image.data_image(
        layer.write(Tree({"file": content.encode()})), {}, created_by="test", platforms=PLATFORMS
    )


def push(reference: str, content: str) -> Image | MultiPlatformImage:
    one = made(content)
    asyncio.run(
        targets.send(MemoryStore.of(one), one.descriptor, Reference.parse(reference), ACCESS)
    )
    return one


@pytest.fixture
def origin(tmp_path: Path) -> Iterator[RegistryServer]:
    with RegistryServer(folder=tmp_path / "origin") as server:
        yield server


def push_images(origin: RegistryServer, folder: Path) -> str:
    """A catalog image with two packages, whose images are pinned, tagged, and signed."""
    parts = []
    for package in ("cog", "pot"):
        bundle = push(f"{origin.host}/x/{package}-bundle:v1", f"{package} bundle")
        operand = push(f"{origin.host}/x/{package}:v1", package)
        push(
            f"{origin.host}/x/{package}:{referrers.cosign_tag(operand.digest, '.sig')}",
            f"signature of {package}",
        )
        parts += [
            f"schema: olm.package\nname: {package}\ndefaultChannel: stable",
            (
                f"schema: olm.channel\npackage: {package}\nname: stable\n"
                f"entries: [{{name: {package}.v1.0.0}}]"
            ),
            (
                f"schema: olm.bundle\npackage: {package}\nname: {package}.v1.0.0\n"
                f"image: {origin.host}/x/{package}-bundle@{bundle.digest}\nproperties:\n"
                f"- {{type: olm.package, value: {{packageName: {package}, version: 1.0.0}}}}\n"
                f"relatedImages: [{{name: operand, image: '{origin.host}/x/{package}:v1'}}]"
            ),
        ]
    (folder / "catalog").mkdir(parents=True)
    (folder / "catalog" / "catalog.yaml").write_text("\n---\n".join(parts) + "\n")
    reference = f"{origin.host}/x/catalog:v1"
    options = PublishOptions(
        target=reference, push=True, platforms=PLATFORMS, project=folder / "project"
    )
    asyncio.run(publish.build_catalog(str(folder / "catalog"), options, ACCESS))
    return reference


def run(source: str, target: str, **options: object) -> MirroredCatalogs:
    return asyncio.run(
        job.mirror_catalog(
            source,
            mirroring.parse_target(target),
            ACCESS,
            ACCESS,
            CatalogMirrorOptions(**options),  # type: ignore[arg-type]
        )
    )


def test_a_catalog_is_mirrored_through_a_directory_without_the_first_registry(
    origin: RegistryServer, registry: RegistryServer, tmp_path: Path
) -> None:
    catalog = push_images(origin, tmp_path)
    first = run(catalog, f"oci:{tmp_path}/usb")
    origin.__exit__(None, None, None)

    second = run(f"oci:{tmp_path}/usb", f"{registry.host}/gap", manifests=tmp_path / "cluster")

    assert {one.source: one.digest for one in first.images} == {
        one.source: one.digest for one in second.images
    }
    assert len(second.images) == 5
    assert sum(one.referrers for one in second.images) == 2
    for one in second.images:
        facts = asyncio.run(copy_job.inspect(f"{registry.host}/gap/{_rest(one.source)}", ACCESS))
        assert facts.digest == one.digest
    signature = referrers.cosign_tag(made("cog").digest, ".sig")
    facts = asyncio.run(copy_job.inspect(f"{registry.host}/gap/x/cog:{signature}", ACCESS))
    assert facts.digest == str(made("signature of cog").digest)
    assert len(second.catalogs) == 1
    assert second.catalogs[0].startswith(f"{registry.host}/gap/x/catalog@sha256:")
    written = (tmp_path / "cluster" / "image-digest-mirror-set.yaml").read_text()
    assert f"{registry.host}/gap/x/cog-bundle" in written
    assert (
        f"image: {second.catalogs[0]}" in (tmp_path / "cluster" / "catalog-source.yaml").read_text()
    )


def _rest(source: str) -> str:
    return source.partition("/")[2]


def test_a_second_run_only_copies_missing_images(
    origin: RegistryServer, registry: RegistryServer, tmp_path: Path
) -> None:
    catalog = push_images(origin, tmp_path)
    bundle = origin.storage / "docker/registry/v2/repositories/x/pot-bundle"
    hidden = bundle.rename(tmp_path / "hidden")

    with pytest.raises(RemoteError, match=r"1 image is not in the mirror: .*pot-bundle@sha256"):
        run(catalog, f"{registry.host}/again")
    hidden.rename(bundle)
    again = run(catalog, f"{registry.host}/again")

    assert {
        one.source.rpartition("/")[2].partition("@")[0]: one.arrival for one in again.images
    } == {
        "catalog:v1": Arrival.PRESENT,
        "cog-bundle": Arrival.PRESENT,
        "cog:v1": Arrival.PRESENT,
        "pot-bundle": Arrival.COPIED,
        "pot:v1": Arrival.PRESENT,
    }


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_directory_without_an_image_of_its_catalog_is_not_a_complete_mirror(
    origin: RegistryServer, registry: RegistryServer, tmp_path: Path, dry_run: bool
) -> None:
    catalog = push_images(origin, tmp_path)
    bundle = origin.storage / "docker/registry/v2/repositories/x/pot-bundle"
    bundle.rename(tmp_path / "hidden")
    with pytest.raises(RemoteError, match="1 image is not in the mirror"):
        run(catalog, f"oci:{tmp_path}/usb")

    with pytest.raises(RemoteError) as caught:
        run(
            f"oci:{tmp_path}/usb",
            f"{registry.host}/gap",
            manifests=tmp_path / "cluster",
            dry_run=dry_run,
        )

    missing = f"{origin.host}/x/pot-bundle@{made('pot bundle').digest}"
    assert caught.value.message == (
        f"1 image is not in the mirror: `{missing}`: the catalog `{catalog}` needs it, and "
        f"`oci:{tmp_path}/usb` does not have it"
    )
    assert f"run `olmkit image mirror {catalog} oci:{tmp_path}/usb` again" in caught.value.hint
    assert not (tmp_path / "cluster").exists()
    if not dry_run:  # the images of the directory are in the mirror
        asyncio.run(copy_job.inspect(f"{registry.host}/gap/x/cog:v1", ACCESS))


def test_a_part_of_a_catalog_is_mirrored_as_a_catalog(
    origin: RegistryServer, registry: RegistryServer, tmp_path: Path
) -> None:
    catalog = push_images(origin, tmp_path)

    part = run(catalog, f"{registry.host}/part", requested=(PackageSelection(package="cog"),))

    assert sorted(_rest(one.source).partition("@")[0] for one in part.images) == [
        "x/catalog:v1",
        "x/cog-bundle",
        "x/cog:v1",
    ]
    (image_name,) = part.catalogs
    rendered = asyncio.run(render.render_all([image_name], RenderOptions(access=ACCESS)))
    assert {blob.package or blob.name for blob in rendered.blobs} == {"cog"}


def test_an_unreachable_mirror_is_detected_after_some_images(
    origin: RegistryServer, tmp_path: Path
) -> None:
    catalog = push_images(origin, tmp_path)

    with pytest.raises(RemoteError, match=r"5 images are not in the mirror: .*connection refused"):
        run(catalog, "127.0.0.1:1/x", copying=MirrorOptions(jobs=1))


def test_a_dry_run_copies_nothing(origin: RegistryServer, tmp_path: Path) -> None:
    catalog = push_images(origin, tmp_path)

    planned = run(catalog, f"oci:{tmp_path}/usb", dry_run=True)

    assert {one.arrival for one in planned.images} == {Arrival.PLANNED}
    assert not (tmp_path / "usb").exists()


def test_a_directory_is_mirrored_as_a_whole_and_has_no_manifests(
    origin: RegistryServer, tmp_path: Path
) -> None:
    usb = f"oci:{tmp_path}/usb"
    with pytest.raises(ConfigurationError, match="manifests are for clusters"):
        run(push_images(origin, tmp_path), usb, manifests=tmp_path / "cluster")
    run(f"{origin.host}/x/catalog:v1", usb, copying=MirrorOptions(with_referrers=False))
    with pytest.raises(ConfigurationError, match="copied as a whole"):
        run(usb, "m.example", requested=(PackageSelection(package="cog"),))
    names = asyncio.run(Layout(tmp_path / "usb").tags())
    assert f"{origin.host}/x/cog:v1" in names
    assert len(names) == 5


def test_a_catalog_directory_is_mirrored_under_the_given_name(
    origin: RegistryServer, registry: RegistryServer, tmp_path: Path
) -> None:
    push_images(origin, tmp_path)
    folder = str(tmp_path / "catalog")

    without = run(folder, f"{registry.host}/folder")
    named = run(folder, f"{registry.host}/folder", catalog_image="quay.io/team/catalog:v2")

    assert (without.catalogs, len(without.images)) == ((), 4)
    assert named.catalogs[0].startswith(f"{registry.host}/folder/team/catalog@")
    with pytest.raises(ConfigurationError, match="is not a name for the image of the catalog"):
        run(folder, f"{registry.host}/x", catalog_image=f"quay.io/a@sha256:{'a' * 64}")
