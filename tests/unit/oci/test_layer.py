"""Layers: the same bytes for the same files, and protection from external ones."""

from __future__ import annotations

import gzip
import io
import random
import struct
import tarfile
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import File, Tree
from olmkit.oci import layer
from olmkit.oci.content import Digest, MediaType
from olmkit.oci.files import LayeredFiles
from olmkit.oci.limits import Limits


def archive(entries: Iterable[tarfile.TarInfo | tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for item in entries:
            if isinstance(item, tarfile.TarInfo):
                tar.addfile(item, io.BytesIO(bytes(item.size)) if item.isreg() else None)
            else:
                info = tarfile.TarInfo(item[0])
                info.size = len(item[1])
                tar.addfile(info, io.BytesIO(item[1]))
    return out.getvalue()


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def unpacked(
    *archives: bytes, wanted: tuple[str, ...] = ("",), limits: Limits | None = None
) -> LayeredFiles:
    files = LayeredFiles(wanted, limits)
    for index, data in enumerate(archives):
        files.add(io.BytesIO(data), f"layer {index}")
    return files


TREE = Tree(
    {
        "manifests/a.yaml": b"a: 1\n" * 100,
        "manifests/tool": File(b"#!/bin/sh\n", 0o700),
        "metadata/annotations.yaml": b"annotations: {}\n",
        "empty": b"",
    }
)


def test_a_layer_is_the_same_everywhere() -> None:
    """The digests below are those of the bytes that every machine and every Python must write."""
    made = layer.write(TREE)
    assert made == layer.write(Tree(dict(reversed(list(TREE.items())))))
    assert made.descriptor.media_type == MediaType.OCI_LAYER_GZIP
    assert gzip.decompress(made.data) == layer.write_archive(TREE)
    assert made.diff_id == Digest.of(layer.write_archive(TREE))
    assert str(made.diff_id) == DIFF_ID
    assert str(made.descriptor.digest) == LAYER_DIGEST


DIFF_ID = "sha256:f35bc92a70eca1d8332562caf6a29d9b3dd97e4ae45cfafca663e8c768bbd4d8"
LAYER_DIGEST = "sha256:b3b91f1f75ca59c9e2adc72d7412ad07f8cda3e1c7f3443f281012f3219fd91c"


def test_a_layer_is_read_by_other_tools_with_fixed_owner_modes_and_times() -> None:
    with tarfile.open(fileobj=io.BytesIO(layer.write_archive(TREE, mtime=7))) as tar:
        found = [(e.name, e.mode, e.uid, e.gid, e.mtime, e.isdir()) for e in tar]
    assert found == [
        ("empty", 0o644, 0, 0, 7, False),
        ("manifests", 0o755, 0, 0, 7, True),
        ("manifests/a.yaml", 0o644, 0, 0, 7, False),
        ("manifests/tool", 0o755, 0, 0, 7, False),
        ("metadata", 0o755, 0, 0, 7, True),
        ("metadata/annotations.yaml", 0o644, 0, 0, 7, False),
    ]


@pytest.mark.parametrize(
    "path", ["a" * 100, "a" * 101, "d" * 90 + "/" + "f" * 90, "é" * 60, "x" * 5000, "日本/語.yaml"]
)
def test_long_and_unusual_names_are_read_by_other_tools(path: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(layer.write_archive(Tree({path: b"data"})))) as tar:
        file = tar.extractfile(path)
        assert file is not None
        assert file.read() == b"data"


@pytest.mark.property
@given(
    st.dictionaries(
        st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,2}x", fullmatch=True), st.binary(max_size=600)
    )
)
def test_a_written_layer_is_unpacked_into_its_files(files: dict[str, bytes]) -> None:
    try:
        tree = Tree({path: data for path, data in files.items() if not _is_folder(path, files)})
    except InputError:
        return
    made = layer.write(tree)
    assert unpacked(made.data).folder("") == tree


def _is_folder(path: str, files: dict[str, bytes]) -> bool:
    return any(other.startswith(f"{path}/") for other in files)


def test_upper_layers_replace_and_remove() -> None:
    lower = archive([("d/a", b"1"), ("d/b", b"1"), ("o/x", b"1"), ("o/y", b"1"), ("f", b"1")])
    upper = archive(
        [("d/.wh.a", b""), ("d/b", b"2"), ("o/z", b"2"), ("o/.wh..wh..opq", b""), ("f/g", b"2")]
    )
    assert unpacked(lower, upper).folder("") == Tree({"d/b": b"2", "o/z": b"2", "f/g": b"2"})


def test_a_whiteout_of_a_directory_removes_its_contents() -> None:
    files = unpacked(archive([("d/e/a", b"1"), ("k", b"1")]), archive([(".wh.d", b"")]))
    assert files.folder("") == Tree({"k": b"1"})


def test_links_inside_the_image_are_followed() -> None:
    data = archive(
        [
            ("opt/configs/a.yaml", b"a"),
            link("configs", "/opt/configs"),
            link("opt/configs/b.yaml", "a.yaml"),
            link("opt/configs/c.yaml", "opt/configs/a.yaml", tarfile.LNKTYPE),
            link("unrelated", "../../etc/passwd"),
        ]
    )
    expected = Tree({"a.yaml": b"a", "b.yaml": b"a", "c.yaml": b"a"})
    assert unpacked(data, wanted=("opt/configs",)).folder("configs") == expected
    assert unpacked(data, wanted=("configs",)).elsewhere() == ("opt/configs",)


def test_a_hard_link_to_a_symbolic_link_is_that_link() -> None:
    data = archive([("d/a", b"1"), link("d/l", "a"), link("d/h", "d/l", tarfile.LNKTYPE)])
    assert unpacked(data).folder("d") == Tree({"a": b"1", "l": b"1", "h": b"1"})


def test_directories_without_an_entry_count_as_entries() -> None:
    data = archive([("a/b/c/d/e/f", b"")])
    assert unpacked(data, limits=Limits(entries=6)).folder("a/b/c/d/e") == Tree({"f": b""})
    with pytest.raises(InputError, match="5 entries"):
        unpacked(data, limits=Limits(entries=5))


def test_an_entry_below_a_linked_directory_is_written_to_the_target_of_the_link() -> None:
    files = unpacked(archive([link("lib", "usr/lib")]), archive([("lib/x", b"1")]))
    assert files.folder("usr/lib") == Tree({"x": b"1"})


def _named(value: object) -> str:
    """Messages name the cases: the archives would create names of kilobytes that change."""
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (archive([("../evil", b"")]), "leaves the image"),
        (archive([("a/../../evil", b"")]), "leaves the image"),
        (archive([link("a", "../../etc/passwd")]), "leaves the image"),
        (archive([link("a", "b"), link("b", "a")]), "or in a circle"),
        (archive([link("a", "/nothing")]), "which is not there"),
        (archive([link("a", "nothing", tarfile.LNKTYPE)]), "which is not there"),
        (b"this is not an archive at all" * 100, "not an intact archive"),
        (gzip.compress(archive([("a", b"x" * 5000)]))[:60], "not an intact archive"),
        (b"\x1f\x8bgarbage", "not an intact archive"),
        (b"\x28\xb5\x2f\xfdzstd", "zstd"),
    ],
    ids=_named,
)
def test_a_harmful_archive_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        unpacked(data).folder("")


def test_a_layer_that_is_truncated_anywhere_is_refused_or_complete() -> None:
    data = archive([("a", random.Random(0).randbytes(1500)), ("b", b"2" * 700)])
    packed = gzip.compress(data)
    cut = [data[:length] for length in range(0, len(data), 128)]
    cut += [gzip.compress(one) for one in cut]
    cut += [packed[:length] for length in range(10, len(packed), 16)]
    for one in cut:
        try:
            found = unpacked(one).folder("")
        except InputError:
            continue
        whole = unpacked(data).folder("")
        assert all(found[path] == whole[path] for path in found)


def test_absolute_names_are_below_the_root() -> None:
    assert unpacked(archive([("/a/b", b"1")])).folder("") == Tree({"a/b": b"1"})


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(file_size=999), "is 0 MB; the limit"),
        (Limits(total_size=1500), "its files are larger"),
        (Limits(archive_size=1500), "unpacks to more"),
        (Limits(headers_size=1), "headers of its entries are larger than 1 bytes"),
        (Limits(header_size=1), "header of an entry is larger than 1 bytes"),
        (Limits(steps=1), "more than 1 steps"),
        (Limits(paths_size=1), "are longer than 0 MB together"),
        (Limits(entries=1), "more than 1 entries"),
    ],
)
def test_archives_are_limited(limits: Limits, message: str) -> None:
    data = gzip.compress(archive([("é" * 60, bytes(1000)), ("b/c", bytes(1000))]))
    with pytest.raises(InputError, match=message):
        unpacked(data, limits=limits).folder("")


def test_a_file_counts_once_for_each_link_to_it() -> None:
    data = archive([("a", bytes(1000)), link("b", "a"), link("c", "a")])
    assert len(unpacked(data, limits=Limits(total_size=3000)).folder("")) == 3
    with pytest.raises(InputError, match="its files are larger"):
        unpacked(data, limits=Limits(total_size=2999)).folder("")


def test_a_decompression_bomb_is_refused_without_being_stored() -> None:
    info = tarfile.TarInfo("zeros")
    info.size = 64 * 1024 * 1024
    data = gzip.compress(archive([info]))
    with pytest.raises(InputError, match="the limit is"):
        unpacked(data, limits=Limits(file_size=1024))
    with pytest.raises(InputError, match="unpacks to more"):
        unpacked(data, wanted=("other",), limits=Limits(archive_size=1024 * 1024))


def test_a_very_large_extended_header_is_refused() -> None:
    info = tarfile.TarInfo("PaxHeaders")
    info.type, info.size = tarfile.XHDTYPE, 40 * 1024 * 1024
    data = gzip.compress(info.tobuf(tarfile.USTAR_FORMAT) + bytes(info.size) + bytes(1024))
    with pytest.raises(InputError, match=r"header of an entry is larger than \d+ bytes"):
        unpacked(data)


def test_devices_are_skipped() -> None:
    device = tarfile.TarInfo("dev/null")
    device.type = tarfile.CHRTYPE
    assert unpacked(archive([device, ("a", b"1")])).folder("") == Tree({"a": b"1"})


@pytest.mark.property
@given(st.binary(max_size=2000), st.integers(0, 1500))
def test_a_damaged_archive_has_files_or_an_error(noise: bytes, at: int) -> None:
    data = bytearray(archive([("a", b"x" * 700), link("b", "a"), ("c/d", b"y")]))
    data[at : at + len(noise)] = noise
    if len(data) > 512:
        data[148:156] = struct.pack("8s", b"%06o\0 " % (sum(data[:148]) + 256 + sum(data[156:512])))
    try:
        unpacked(bytes(data)).folder("")
    except InputError:
        return
