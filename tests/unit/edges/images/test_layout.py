"""OCI layouts: directories that survive interruptions, and archives that are only read."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.edges.images import layout as layouts
from olmkit.edges.images import transfer
from olmkit.edges.images.layout import REF_NAME, Layout, open_archive
from olmkit.oci import image, layer, store
from olmkit.oci.content import (
    Descriptor,
    Digest,
    ImageIndex,
    ImageManifest,
    MediaType,
    Platform,
)
from olmkit.oci.store import ContentError, MemoryStore

T = TypeVar("T")
LAYER = layer.write(Tree({"a": b"1"}))
IMAGE = image.data_image(LAYER, {"k": "v"}, created_by="test")
OTHER = image.data_image(LAYER, {"k": "other"}, created_by="test")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def keep(
    folder: Path, made: image.Image | image.MultiPlatformImage = IMAGE, tag: str = "v1"
) -> Layout:
    layout = Layout(folder)
    run(transfer.copy(MemoryStore.of(made), layout, made.descriptor, tag=tag))
    return layout


def test_a_written_image_is_read_back(tmp_path: Path) -> None:
    async def check(layout: Layout) -> None:
        assert await layout.tags() == ("v1",)
        root = await layout.resolve("v1")
        assert root.digest == IMAGE.digest
        assert (await layout.resolve("")).digest == IMAGE.digest
        found = await store.pull(layout, "v1", Platform(os="linux", architecture="arm64"))
        assert await store.read(layout, found.manifest.layers[0]) == LAYER.data
        by_digest = await layout.resolve(str(found.digest))
        assert by_digest.media_type == MediaType.OCI_MANIFEST

    run(check(keep(tmp_path / "oci")))


def test_skopeo_reads_the_layout(tmp_path: Path, skopeo: Callable[..., bytes]) -> None:
    keep(tmp_path / "oci", tag="registry.example.com/a/b:v1")
    name = f"oci:{tmp_path}/oci:registry.example.com/a/b:v1"
    told = json.loads(skopeo("inspect", name))
    assert told["Labels"] == {"k": "v"}
    assert told["Digest"] == str(IMAGE.digest)


def test_a_tag_moves_and_other_tags_stay(tmp_path: Path) -> None:
    keep(tmp_path, tag="v1")
    keep(tmp_path, tag="keep")
    layout = keep(tmp_path, OTHER, tag="v1")
    assert run(layout.tags()) == ("keep", "v1")
    assert run(layout.resolve("v1")).digest == OTHER.digest
    assert run(layout.resolve("keep")).digest == IMAGE.digest


def test_the_same_build_results_in_the_same_layout(tmp_path: Path) -> None:
    for name in ("one", "two"):
        keep(tmp_path / name, OTHER, tag="b")
        keep(tmp_path / name, tag="a")

    def files(folder: Path) -> dict[str, bytes]:
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file()
        }

    assert files(tmp_path / "one") == files(tmp_path / "two")
    assert not [name for name in files(tmp_path / "one") if ".part-" in name]


def test_an_image_of_several_needs_a_name(tmp_path: Path) -> None:
    keep(tmp_path, tag="v1")
    layout = keep(tmp_path, OTHER, tag="v2")
    with pytest.raises(ConfigurationError, match="has several images") as caught:
        run(layout.resolve(""))
    assert "`v1`, `v2`" in caught.value.hint
    with pytest.raises(ConfigurationError, match="has no image `v3`"):
        run(layout.resolve("v3"))
    with pytest.raises(ConfigurationError, match="has no image `sha256:"):
        run(layout.resolve(str(Digest.of(b"nothing"))))


def test_a_directory_with_other_files_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(ConfigurationError, match="other content"):
        keep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]
    with pytest.raises(ConfigurationError, match=r"has no `index\.json`"):
        run(Layout(tmp_path / "absent").resolve("v1"))


def test_damage_is_detected(tmp_path: Path) -> None:
    layout = keep(tmp_path)
    blob = tmp_path / "blobs" / "sha256" / LAYER.descriptor.digest.encoded
    blob.write_bytes(LAYER.data[:-1] + b"!")
    with pytest.raises(ContentError, match="has another digest"):
        run(store.read(layout, LAYER.descriptor))
    blob.write_bytes(LAYER.data[:-1])
    assert not run(layout.exists(LAYER.descriptor))
    blob.unlink()
    with pytest.raises(ContentError, match="lacks the content"):
        run(store.read(layout, LAYER.descriptor))
    (tmp_path / "index.json").write_text("{")
    with pytest.raises(InputError, match=r"index\.json`: image index: it is not JSON"):
        run(layout.resolve("v1"))


def test_the_index_cannot_name_files_outside(tmp_path: Path) -> None:
    layout = keep(tmp_path)
    text = (tmp_path / "index.json").read_text()
    (tmp_path / "index.json").write_text(
        text.replace(IMAGE.digest.encoded, "../../../../../../etc/passwd")
    )
    with pytest.raises(InputError, match="checksum digest"):
        run(layout.resolve("v1"))


def test_old_temporary_files_of_killed_commands_are_removed(tmp_path: Path) -> None:
    keep(tmp_path)
    for name in (".part-old", ".part-new"):
        (tmp_path / "blobs" / "sha256" / name).write_bytes(b"x")
    (tmp_path / ".index.json.old").write_bytes(b"x")
    for name in ("blobs/sha256/.part-old", ".index.json.old"):
        os.utime(tmp_path / name, (1, 1))
    keep(tmp_path, OTHER)
    assert not list(tmp_path.rglob("*old"))
    assert list(tmp_path.rglob(".part-new"))


def test_a_directory_with_only_temporary_files_is_used(tmp_path: Path) -> None:
    (tmp_path / ".oci-layout.x7").write_bytes(b"")
    keep(tmp_path)


def test_wrong_content_is_not_kept(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    wrong = Descriptor(media_type="a/b", digest=Digest.of(b"right"), size=5)
    with pytest.raises(ContentError, match="has another digest"):
        run(layout.push(wrong, store.chunks(b"wrong")))
    assert list((tmp_path / "blobs" / "sha256").iterdir()) == []


def test_parallel_writers_lose_no_name(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from olmkit.edges.images.layout import Layout\n"
        "from olmkit.oci.content import Descriptor\n"
        "layout = Layout(Path(sys.argv[1]))\n"
        "async def main():\n"
        "    for n in range(10):\n"
        "        await layout.tag(Descriptor.of(b'x', 'a/b'), f'{sys.argv[2]}-{n}')\n"
        "asyncio.run(main())\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), f"p{number}"])
        for number in range(3)
    ]
    assert [process.wait(timeout=60) for process in started] == [0, 0, 0]
    assert len(run(Layout(tmp_path).tags())) == 30


def test_a_killed_build_leaves_a_valid_layout(tmp_path: Path) -> None:
    """A kill at any moment leaves complete named images, and the next run completes."""
    code = (
        "import asyncio, sys; from pathlib import Path\n"
        "from olmkit.base.tree import Tree\n"
        "from olmkit.edges.images import transfer\n"
        "from olmkit.edges.images.layout import Layout\n"
        "from olmkit.oci import image, layer\n"
        "from olmkit.oci.store import MemoryStore\n"
        "print('ready', flush=True)\n"
        "async def main():\n"
        "    for n in range(1000):\n"
        "        made = image.data_image(layer.write(Tree({'a': b'%d' % n * 9000})), {},\n"
        "                                created_by='test')\n"
        "        layout = Layout(Path(sys.argv[1]))\n"
        "        await transfer.copy(MemoryStore.of(made), layout, made.descriptor, tag='v1')\n"
        "asyncio.run(main())\n"
    )

    async def whole() -> int:
        layout, count = Layout(tmp_path), 0
        if not (tmp_path / "index.json").exists():
            return 0
        for level in await store.levels(layout, await layout.resolve("v1")):
            for descriptor in level:
                await store.read(layout, descriptor)
                count += 1
        return count

    for number in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.003 * number)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        run(whole())
    keep(tmp_path)
    assert run(whole()) == 10


# --- archives


def archive(folder: Path, path: Path) -> Path:
    with tarfile.open(path, "w") as tar:
        for name in sorted(folder.rglob("*")):
            tar.add(name, f"./{name.relative_to(folder)}", recursive=False)
    return path


def test_an_archive_is_read_in_place(tmp_path: Path) -> None:
    keep(tmp_path / "oci")
    layout = open_archive(archive(tmp_path / "oci", tmp_path / "x.tar"))
    assert run(layout.resolve("v1")).digest == IMAGE.digest
    assert run(layout.exists(LAYER.descriptor))
    assert run(store.read(layout, LAYER.descriptor)) == LAYER.data
    with pytest.raises(ConfigurationError, match="is read-only"):
        run(layout.tag(IMAGE.descriptor, "v2"))
    with pytest.raises(ConfigurationError, match="is read-only"):
        run(layout.push(LAYER.descriptor, store.chunks(LAYER.data)))


def test_an_archive_of_skopeo_is_read(tmp_path: Path, skopeo: Callable[..., bytes]) -> None:
    keep(tmp_path / "oci")
    path = tmp_path / "x.tar"
    skopeo("copy", "--all", f"oci:{tmp_path}/oci:v1", f"oci-archive:{path}:v1")
    assert run(open_archive(path).resolve("v1")).digest == IMAGE.digest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an intact archive"),
        (b"no archive" * 200, "not an intact archive"),
        (b"\x1f\x8b\x08", "is compressed"),
    ],
)
def test_a_file_that_is_not_an_archive_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        open_archive(path)


def test_a_missing_archive_or_a_directory_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "absent.tar", tmp_path):
        with pytest.raises(OlmkitError, match=r"does not exist|is a folder"):
            open_archive(path)


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "folder"])
@pytest.mark.parametrize("place", ["index.json", "blob"])
def test_a_special_file_in_a_layout_is_refused_at_once(
    tmp_path: Path, kind: str, place: str
) -> None:
    layout = keep(tmp_path / "l")
    name = "index.json" if place == "index.json" else f"blobs/sha256/{IMAGE.digest.encoded}"
    path = tmp_path / "l" / name
    path.unlink()
    match kind:
        case "pipe":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as server, contextlib.chdir(path.parent):
                server.bind(path.name)
        case "device":
            path.symlink_to("/dev/zero")
        case _:
            path.mkdir()

    async def read() -> None:
        await store.read(layout, await layout.resolve(str(IMAGE.digest)))

    with pytest.raises(OlmkitError, match=r"is not a regular file|is a directory"):
        run(read())


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_an_archive_that_is_not_a_regular_file_is_refused_at_once(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "x.tar"
    if kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    with pytest.raises(InputError, match="is not a regular file"):
        open_archive(path)


def test_directories_in_an_archive_count_as_entries(tmp_path: Path) -> None:
    """Each needs as much memory as a file."""
    path = tmp_path / "x.tar"
    folder = tarfile.TarInfo("d")
    folder.type = tarfile.DIRTYPE
    path.write_bytes(folder.tobuf(tarfile.USTAR_FORMAT) * 100_001 + bytes(1024))
    with pytest.raises(InputError, match="more than 100000 entries"):
        open_archive(path)


def test_a_very_large_header_in_an_archive_is_refused(tmp_path: Path) -> None:
    info = tarfile.TarInfo("PaxHeaders")
    info.type, info.size = tarfile.XHDTYPE, 40 * 1024 * 1024
    out = io.BytesIO(info.tobuf(tarfile.USTAR_FORMAT))
    path = tmp_path / "x.tar"
    path.write_bytes(out.getvalue() + bytes(info.size))
    with pytest.raises(InputError, match=r"header of an entry is larger than \d+ bytes"):
        open_archive(path)


def test_names_are_those_of_the_specification() -> None:
    assert REF_NAME == "org.opencontainers.image.ref.name"


def test_the_index_is_read_once_for_any_number_of_lookups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding the referrers of 1,000 images of a mirror must not read its index 1,000 times."""
    layout = keep(tmp_path)
    readings = 0
    parse = layouts.parse_layout_index

    def counted(data: bytes) -> ImageIndex:
        nonlocal readings
        readings += 1
        return parse(data)

    monkeypatch.setattr(layouts, "parse_layout_index", counted)
    layout = Layout(tmp_path)
    for number in range(50):
        subject = Digest.of(b"%d" % number)
        assert run(layout.referrers(subject)) == ()
        assert run(layout.tagged(f"{subject.algorithm}-{subject.encoded}.sig")) is None
    assert readings == 1


def test_referrers_are_found_after_the_index_has_changed(tmp_path: Path) -> None:
    layout = keep(tmp_path)
    assert run(layout.referrers(IMAGE.digest)) == ()
    assert run(layout.tagged("signed")) is None
    manifest = ImageManifest(
        media_type=MediaType.OCI_MANIFEST,
        config=Descriptor.of(b"{}", MediaType.OCI_CONFIG),
        layers=(),
        subject=IMAGE.descriptor,
    )
    descriptor = Descriptor.of(manifest.format(), MediaType.OCI_MANIFEST)
    run(layout.push(descriptor, store.chunks(manifest.format())))
    run(layout.tag(descriptor, "signed"))
    assert [one.digest for one in run(layout.referrers(IMAGE.digest))] == [descriptor.digest]
    assert run(layout.tagged("signed")) is not None
