"""Archives of `docker save`: those of olmkit, those of skopeo, and invalid ones."""

from __future__ import annotations

import asyncio
import io
import json
import tarfile
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.edges.images import docker_archive, transports
from olmkit.edges.images.layout import Archive, Layout
from olmkit.oci import image, layer, store
from olmkit.oci.content import MediaType, Platform
from olmkit.oci.image import Image
from olmkit.oci.reference import Reference
from olmkit.oci.store import MemoryStore

T = TypeVar("T")
AMD64 = Platform(os="linux", architecture="amd64")
FILES = Tree({"configs/a.yaml": b"a: 1\n"})
NAME = Reference.parse("registry.example.com/a/b:v1")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def made() -> Image:
    single = image.data_image(layer.write(FILES), {"k": "v"}, created_by="test", platforms=[AMD64])
    assert isinstance(single, Image)
    return single


def written(path: Path) -> Path:
    single = made()
    run(docker_archive.write(MemoryStore.of(single), single, [NAME], path))
    return path


def test_a_written_archive_is_read_back(tmp_path: Path) -> None:
    archive = docker_archive.open_archive(written(tmp_path / "x.tar"))

    async def check() -> None:
        assert await archive.tags() == (str(NAME),)
        for name in ("", str(NAME)):
            found = await store.pull(archive, name, AMD64)
            assert found.config.labels == {"k": "v"}
            assert found.manifest.layers[0].media_type == MediaType.OCI_LAYER_GZIP
            assert await transports.unpack(archive, found) == FILES
            assert found.digest == made().digest
        with pytest.raises(ConfigurationError, match="has no image `other:v1`") as caught:
            await archive.resolve("other:v1")
        assert str(NAME) in caught.value.hint

    run(check())


def test_the_archive_is_the_same_on_every_run(tmp_path: Path) -> None:
    one, two = written(tmp_path / "1.tar"), written(tmp_path / "2.tar")
    assert one.read_bytes() == two.read_bytes()


def test_skopeo_reads_archives_of_olmkit_and_olmkit_those_of_skopeo(
    tmp_path: Path, skopeo: Callable[..., bytes]
) -> None:
    path = written(tmp_path / "x.tar")
    assert json.loads(skopeo("inspect", f"docker-archive:{path}"))["Labels"] == {"k": "v"}
    theirs = tmp_path / "theirs.tar"
    skopeo("copy", f"docker-archive:{path}", f"docker-archive:{theirs}:{NAME}")

    async def check() -> None:
        archive = docker_archive.open_archive(theirs)
        found = await store.pull(archive, str(NAME), AMD64)
        assert found.manifest.layers[0].media_type == MediaType.OCI_LAYER
        assert await transports.unpack(archive, found) == FILES

    run(check())


def test_the_layout_inside_the_archive_is_preferred(tmp_path: Path) -> None:
    single = made()
    layout = Layout(tmp_path / "oci")

    async def keep() -> None:
        for descriptor, data in image.contents(single):
            await layout.push(descriptor, store.chunks(data))
        await layout.tag(single.descriptor, "v1")

    run(keep())
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as tar:
        for file in sorted((tmp_path / "oci").rglob("*")):
            tar.add(file, str(file.relative_to(tmp_path / "oci")), recursive=False)
    archive = docker_archive.open_archive(path)
    assert run(archive.resolve("v1")).digest == single.digest


def broken(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "it lacks `manifest.json`"),
        ({"manifest.json": b"{"}, "not a list of images"),
        ({"manifest.json": b"[7]"}, "not a list of images"),
        ({"manifest.json": b"[{}]"}, "no config or no layers"),
        ({"manifest.json": b'[{"Config":"c","Layers":[7]}]'}, "no config or no layers"),
        ({"manifest.json": b'[{"Config":"c","Layers":[]}]'}, "it lacks `c`"),
        ({"manifest.json": b'[{"Config":"c","Layers":[]}]', "c": b"x"}, "not JSON"),
        ({"manifest.json": b'[{"Config":"c","Layers":["l"]}]', "c": b"{}"}, "it lacks `l`"),
        ({"manifest.json": b" " * 5_000_000}, "is larger than the limit of 4 MB"),
        (
            {"manifest.json": b'[{"Config":"c","Layers":[' + b'"l",' * 1000 + b'"l"]}]'},
            "has 1001 layers, more than 1000",
        ),
        ({"manifest.json": b"[" + b"{}," * 2000 + b"{}]"}, "has 2001 images, more than 1000"),
    ],
)
def test_an_invalid_archive_is_refused(
    tmp_path: Path, files: dict[str, bytes], message: str
) -> None:
    path = broken(tmp_path / "x.tar", files)
    with pytest.raises(InputError, match=message):
        run(docker_archive.open_archive(path).resolve(""))


def test_a_layer_that_is_named_repeatedly_is_read_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = json.dumps({"Config": "c", "RepoTags": ["a/b:v1"], "Layers": ["l", "m"] * 500})
    listed = f"[{','.join([entry] * 300)}]".encode()
    path = broken(tmp_path / "x.tar", {"manifest.json": listed, "c": b"{}", "l": b"layer"})
    with tarfile.open(path, "a") as tar:
        link = tarfile.TarInfo("m")
        link.type, link.linkname = tarfile.SYMTYPE, "l"
        tar.addfile(link)
    read: list[str] = []
    opened = Archive.open

    def counted(self: Archive, name: str) -> Any:
        read.append(name)
        return opened(self, name)

    monkeypatch.setattr(Archive, "open", counted)
    archive = docker_archive.open_archive(path)
    assert run(archive.tags()) == ("a/b:v1",)
    assert read == ["manifest.json"]
    with pytest.raises(ConfigurationError, match="has no image"):
        run(archive.resolve(f"sha256:{'0' * 64}"))
    assert [name for name in read if name in ("l", "m")] == ["l"]


def test_an_archive_with_several_images_needs_a_name(tmp_path: Path) -> None:
    entry = b'{"Config":"c","RepoTags":null,"Layers":null}'
    files = {"manifest.json": b"[" + entry + b"," + entry + b"]", "c": b"{}"}
    archive = docker_archive.open_archive(broken(tmp_path / "x.tar", files))
    with pytest.raises(ConfigurationError, match="has 2 images"):
        run(archive.resolve(""))
