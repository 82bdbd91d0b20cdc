from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.edges import disk
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.bundle import build, compare, read, unpack
from olmkit.jobs.bundle.unpack import Unpacked
from olmkit.jobs.image.publish import PublishOptions

SHIPPED = Path(__file__).parents[4] / "bundle" / "0.0.1"
ACCESS = Access(environment={})


@pytest.fixture
def image(tmp_path: Path) -> str:
    """The shipped bundle as an image in a layout."""
    options = PublishOptions(target=f"oci:{tmp_path / 'layout'}")
    asyncio.run(build.build([str(SHIPPED)], options, ACCESS))
    return f"oci:{tmp_path / 'layout'}"


def run(reference: str, folder: Path, *, force: bool = False, dry_run: bool = False) -> Unpacked:
    return asyncio.run(unpack.unpack(reference, folder, ACCESS, force=force, dry_run=dry_run))


def files(folder: Path) -> dict[str, bytes]:
    return {path: file.data for path, file in disk.read_tree(folder).items()}


def test_the_files_of_an_image_are_those_of_its_directory(image: str, tmp_path: Path) -> None:
    found = run(image, tmp_path / "out")

    shipped = files(SHIPPED)
    for name in ("bundle.Dockerfile", ".olmkit-generated"):  # these are not in images
        shipped.pop(name)
    written = files(tmp_path / "out")
    containerfile = written.pop("bundle.Dockerfile")
    assert written == shipped
    assert b"COPY manifests /manifests/" in containerfile
    assert found.pinned.startswith("oci:")


def test_an_unpacked_image_can_be_built_into_the_same_image(image: str, tmp_path: Path) -> None:
    run(image, tmp_path / "out")
    options = PublishOptions(target=f"oci:{tmp_path / 'again'}")

    (made,) = asyncio.run(build.build([str(tmp_path / "out")], options, ACCESS))

    pinned = run(image, tmp_path / "other").pinned
    assert made.reference.rpartition("@")[2] == pinned.rpartition("@")[2]


def test_a_directory_with_files_is_not_changed(image: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "mine").write_text("x")

    with pytest.raises(ConfigurationError, match="is not empty"):
        run(image, folder)

    assert files(folder) == {"mine": b"x"}


def test_force_replaces_the_bundle_and_keeps_other_files(image: str, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    run(image, folder)
    (folder / "mine").write_text("x")
    (folder / "manifests" / "stale.yaml").write_text("x")
    (folder / "metadata" / "annotations.yaml").write_text("x")

    found = run(image, folder, force=True)

    assert {change.path for change in found.changes} == {
        "manifests/stale.yaml",
        "metadata/annotations.yaml",
    }
    assert (folder / "mine").exists()
    assert not run(image, folder, force=True).changes


def test_a_dry_run_writes_nothing(image: str, tmp_path: Path) -> None:
    assert run(image, tmp_path / "out", dry_run=True).changes
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["manifests", "bundle.Dockerfile"])
def test_nothing_is_written_through_links(image: str, tmp_path: Path, name: str) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "out"
    outside.mkdir()
    folder.mkdir()
    (folder / name).symlink_to(outside)

    with pytest.raises((ConfigurationError, InputError), match="link"):
        run(image, folder, force=True)

    assert list(outside.iterdir()) == []


def test_a_file_is_not_a_directory(image: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("x")

    with pytest.raises(ConfigurationError, match="is not a folder"):
        run(image, tmp_path / "out", force=True)


def test_an_image_without_a_bundle_is_refused() -> None:
    with pytest.raises(InputError):
        unpack.files(Tree({"a": b"x"}), "a", {})


def test_an_image_is_shown_and_compared_like_its_directory(image: str) -> None:
    summary = asyncio.run(read.summarize(image, ACCESS))
    difference = asyncio.run(compare.compare(image, str(SHIPPED), ACCESS))

    assert summary.name == "memcached-operator.v0.0.1"
    assert {one.rule for one in difference.changes} == {"same-name", "version-not-higher"}
