"""References of users as files: of bundles and catalogs, in directories and images."""

from __future__ import annotations

import asyncio
import io
import json
import tarfile
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer, transports
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.transports import CONFIGS_LABEL, DATABASE_LABEL, PACKAGE_LABEL, Access
from olmkit.oci import image, layer
from olmkit.oci.content import Digest, ImageConfig, Platform
from olmkit.oci.image import OLM_PLATFORMS, Image, MultiPlatformImage
from olmkit.oci.reference import FolderReference, LayoutReference, Reference
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer
from tests import index_databases

T = TypeVar("T")
FILES = Tree({"manifests/a.yaml": b"a: 1\n", "metadata/annotations.yaml": b"annotations: {}\n"})
BUNDLE = image.data_image(layer.write(FILES), {PACKAGE_LABEL: "x"}, created_by="test")
CATALOG = image.data_image(
    layer.write(Tree({"x/catalog.yaml": b"schema: olm.package\n"}).at("configs")),
    {CONFIGS_LABEL: "/configs"},
    created_by="test",
)
ACCESS = Access()


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def keep(folder: Path, made: Image | MultiPlatformImage) -> str:
    layout = Layout(folder)
    run(transfer.copy(MemoryStore.of(made), layout, made.descriptor, tag="v1"))
    return f"oci:{folder}:v1"


def test_a_directory_is_distinguished_from_a_reference_by_its_existence(tmp_path: Path) -> None:
    assert transports.parse(str(tmp_path)) == FolderReference(str(tmp_path))
    assert transports.parse("oci:x") == LayoutReference("x")
    assert isinstance(transports.parse("quay.io/a/b:1"), Reference)
    with pytest.raises(ConfigurationError, match="neither a folder nor an image"):
        transports.parse("no-such-folder")


def test_a_bundle_is_read_alike_from_directory_and_image(tmp_path: Path) -> None:
    for path, file in FILES.items():
        (tmp_path / "bundle" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "bundle" / path).write_bytes(file.data)
    folder = run(transports.read_bundle_tree(str(tmp_path / "bundle"), ACCESS))
    found = run(transports.read_bundle_tree(keep(tmp_path / "oci", BUNDLE), ACCESS))
    assert folder.tree == found.tree == FILES
    assert folder.is_bundle
    assert found.is_bundle
    assert folder.pinned == ""
    assert found.pinned == f"oci:{tmp_path}/oci@{BUNDLE.digest}"
    assert found.labels == {PACKAGE_LABEL: "x"}
    again = run(transports.read_bundle_tree(found.pinned, ACCESS))
    assert again.tree == FILES


def test_a_catalog_is_read_relative_to_its_directory(tmp_path: Path) -> None:
    text = keep(tmp_path, CATALOG)
    for read in (transports.read_catalog_tree, transports.read_tree):
        found = run(read(text, ACCESS))
        assert list(found.tree) == ["x/catalog.yaml"]
        assert not found.is_bundle


def test_an_image_in_a_registry_is_read(registry: RegistryServer) -> None:
    async def push() -> None:
        target = Reference.parse(f"{registry.host}/sources/bundle:v1")
        async with transports.open_store(target, ACCESS) as store:
            await transfer.copy(MemoryStore.of(BUNDLE), store, BUNDLE.descriptor, tag="v1")

    run(push())
    found = run(transports.read_tree(f"{registry.host}/sources/bundle:v1", ACCESS))
    assert found.tree == FILES
    assert found.pinned == f"{registry.host}/sources/bundle@{BUNDLE.digest}"


def test_an_image_of_another_kind_is_refused_with_its_labels(tmp_path: Path) -> None:
    bundle, catalog = keep(tmp_path / "b", BUNDLE), keep(tmp_path / "c", CATALOG)
    with pytest.raises(InputError, match="is not a bundle image") as caught:
        run(transports.read_bundle_tree(catalog, ACCESS))
    assert CONFIGS_LABEL in caught.value.hint
    with pytest.raises(InputError, match="is not a catalog image"):
        run(transports.read_catalog_tree(bundle, ACCESS))
    bare = image.data_image(layer.write(FILES), {}, created_by="test")
    with pytest.raises(InputError, match="is not a catalog image") as caught:
        run(transports.read_tree(keep(tmp_path / "n", bare), ACCESS))
    assert caught.value.hint == "it has no labels"


def index_image(folder: Path, files: Tree, label: str = "/database/index.db") -> str:
    made = image.data_image(layer.write(files), {DATABASE_LABEL: label}, created_by="test")
    return keep(folder, made)


def test_the_index_database_of_an_image_is_read_as_a_file_or_as_its_catalog(tmp_path: Path) -> None:
    data = index_databases.write(tmp_path / "index.db", index_databases.cog()).read_bytes()
    files = Tree({"database/index.db": data, "database/other": b"x", "bin/opm": b"x"})
    text = index_image(tmp_path / "oci", files)

    found = run(transports.read_tree(text, ACCESS))
    catalog = run(transports.read_catalog_tree(text, ACCESS))

    assert found.database == "database/index.db"
    assert found.tree == Tree({"database/index.db": data})
    assert list(catalog.tree) == ["catalog.json"]
    assert b'"cog.v2.0.0"' in catalog.tree.data("catalog.json")


def test_an_image_with_files_and_an_index_database_is_read_as_files(tmp_path: Path) -> None:
    labels = {CONFIGS_LABEL: "/configs", DATABASE_LABEL: "/index.db"}
    both = layer.write(Tree({"configs/catalog.yaml": b"schema: x\n", "index.db": b"x"}))

    found = run(
        transports.read_tree(
            keep(tmp_path, image.data_image(both, labels, created_by="test")), ACCESS
        )
    )

    assert found.database == ""
    assert list(found.tree) == ["catalog.yaml"]


@pytest.mark.parametrize("read", [transports.read_catalog_tree, transports.read_tree])
def test_an_index_image_without_its_database_is_refused(tmp_path: Path, read: Any) -> None:
    with pytest.raises(InputError, match=r"has no file `index\.db`, the index database"):
        run(read(index_image(tmp_path, FILES, "/index.db"), ACCESS))


def test_an_index_image_whose_database_is_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has no file `manifests`"):
        run(transports.read_tree(index_image(tmp_path, FILES, "manifests"), ACCESS))


def test_a_label_cannot_lead_out_of_the_image(tmp_path: Path) -> None:
    evil = image.data_image(layer.write(FILES), {CONFIGS_LABEL: "/../../etc"}, created_by="test")
    with pytest.raises(InputError, match="leaves the image"):
        run(transports.read_catalog_tree(keep(tmp_path, evil), ACCESS))


def test_a_label_with_too_many_directories_is_refused_before_anything_is_unpacked(
    tmp_path: Path,
) -> None:
    labels = {CONFIGS_LABEL: "a/" * 400_000}
    long = image.data_image(layer.write(FILES), labels, created_by="test")
    with pytest.raises(InputError, match="has 800000 characters"):
        run(transports.read_catalog_tree(keep(tmp_path, long), ACCESS))


@pytest.mark.parametrize("read", [transports.read_catalog_tree, transports.read_tree])
def test_a_catalog_image_without_its_directory_is_refused(tmp_path: Path, read: Any) -> None:
    labels = {CONFIGS_LABEL: "/elsewhere"}
    empty = image.data_image(layer.write(FILES), labels, created_by="test")
    with pytest.raises(InputError, match="has no files in `/elsewhere`"):
        run(read(keep(tmp_path, empty), ACCESS))


def test_layers_of_many_gigabytes_are_not_fetched() -> None:
    part = layer.write(FILES)
    made = image.data_image(part, {}, created_by="test", platforms=OLM_PLATFORMS[:1])
    assert isinstance(made, Image)
    large = replace(part.descriptor, size=5_000_000_000)
    manifest = replace(made.manifest, layers=(large,))
    with pytest.raises(InputError, match=r"are 5\.0 GB; the limit"):
        run(transports.unpack(MemoryStore(), replace(made, manifest=manifest)))


def test_the_platform_only_matters_if_it_is_requested(tmp_path: Path) -> None:
    odd = image.data_image(
        layer.write(FILES),
        {PACKAGE_LABEL: "x"},
        created_by="test",
        platforms=[Platform(os="linux", architecture=name) for name in ("riscv64", "loong64")],
    )
    text = keep(tmp_path, odd)
    assert run(transports.read_bundle_tree(text, ACCESS)).tree == FILES
    wanted = replace(ACCESS, platform=Platform(os="linux", architecture="amd64"))
    with pytest.raises(InputError, match="is not for `linux/amd64`"):
        run(transports.read_bundle_tree(text, wanted))


def with_diff_ids(made: Image, *diff_ids: str) -> Image:
    """The image with a config that names other layers."""
    value = {**made.config.value, "rootfs": {"type": "layers", "diff_ids": list(diff_ids)}}
    data = json.dumps(value).encode()
    descriptor = replace(made.manifest.config, digest=Digest.of(data), size=len(data))
    manifest = replace(made.manifest, config=descriptor)
    return replace(
        made,
        manifest=manifest,
        manifest_data=manifest.format(),
        config=ImageConfig.parse(data),
        config_data=data,
    )


def test_a_layer_that_differs_from_the_config_is_refused(tmp_path: Path) -> None:
    """Layers are compared where they are read anyway; a copy does not decompress them."""
    other = layer.write(Tree({"manifests/b.yaml": b"b: 1\n"}))
    two = image.append(BUNDLE.images[0], other, created_by="test")
    right = list(map(str, two.config.diff_ids))
    wrong = f"sha256:{'0' * 64}"
    text = keep(tmp_path / "wrong", with_diff_ids(two, right[0], wrong))
    with pytest.raises(InputError) as refused:
        run(transports.read_bundle_tree(text, ACCESS))
    assert str(other.descriptor.digest) in refused.value.message
    assert f"uncompressed, it has the digest `{other.diff_id}`" in refused.value.message
    assert f"`rootfs.diff_ids[1]` of the image config is `{wrong}`" in refused.value.message

    text = keep(tmp_path / "one", with_diff_ids(two, right[0]))
    with pytest.raises(InputError, match="has 2 layers, and its config names 1"):
        run(transports.read_tree(text, ACCESS))
    for diff_ids in (right, []):  # artifacts have none
        text = keep(tmp_path / str(len(diff_ids)), with_diff_ids(two, *diff_ids))
        assert "manifests/b.yaml" in run(transports.read_bundle_tree(text, ACCESS)).tree


def linked(*links: tuple[str, str], target: bytes = tarfile.REGTYPE) -> MultiPlatformImage:
    """A bundle with hard links to a file in a directory that is not part of the bundle."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name in ("usr/share/a.yaml", "metadata/annotations.yaml"):
            entry = tarfile.TarInfo(name)
            entry.type, data = (target, b"a: 1\n") if name.startswith("usr") else (b"0", b"b: 1\n")
            entry.size = len(data) if entry.type == tarfile.REGTYPE else 0
            archive.addfile(entry, io.BytesIO(data))
        for name, to in links:
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = tarfile.LNKTYPE, to
            archive.addfile(entry)
    return image.data_image(
        layer.compress(stream.getvalue()), {PACKAGE_LABEL: "x"}, created_by="test"
    )


def test_a_hard_link_into_a_directory_that_is_not_read_has_its_content(tmp_path: Path) -> None:
    chain = [
        ("usr/share/b.yaml", "usr/share/a.yaml"),
        ("usr/c.yaml", "usr/share/b.yaml"),
        ("manifests/c.yaml", "usr/c.yaml"),
        ("manifests/a.yaml", "usr/share/a.yaml"),
    ]
    found = run(transports.read_bundle_tree(keep(tmp_path / "a", linked(*chain)), ACCESS)).tree
    assert {path: found.data(path) for path in found if path.startswith("manifests/")} == {
        "manifests/a.yaml": b"a: 1\n",
        "manifests/c.yaml": b"a: 1\n",
    }


@pytest.mark.parametrize(
    ("to", "kind", "reason"),
    [
        ("usr/share/nothing", tarfile.REGTYPE, "is not there"),
        ("usr/share", tarfile.REGTYPE, "is not a file"),
        ("usr/share/a.yaml", tarfile.FIFOTYPE, "is not a file"),
        ("usr/share/a.yaml", tarfile.CHRTYPE, "is not a file"),
    ],
)
def test_a_hard_link_to_a_path_that_is_not_a_file_is_refused(
    tmp_path: Path, to: str, kind: bytes, reason: str
) -> None:
    text = keep(tmp_path / "a", linked(("manifests/a.yaml", to), target=kind))
    with pytest.raises(InputError, match=f"is a hard link to `{to}`, which {reason}"):
        run(transports.read_bundle_tree(text, ACCESS))


def test_the_default_platform_has_the_names_of_go() -> None:
    assert transports.own_platform().os == "linux"
    assert transports.own_platform().architecture not in ("x86_64", "aarch64")
