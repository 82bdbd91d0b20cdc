"""Layers that are small and expensive: each is read fast, or refused with its limit."""

from __future__ import annotations

import gzip
import io
import tarfile
import time
import tracemalloc
from collections.abc import Callable, Iterable

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.oci import archives
from olmkit.oci.files import LayeredFiles
from olmkit.oci.limits import Limits, ReadBudget

SECONDS = 20.0  # Several times the intended five seconds, because the machine can be busy.
MEGABYTES = 700


def header(
    name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, target: str = "", **pax: str
) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname, info.pax_headers = size, kind, target, pax
    return info.tobuf(tarfile.PAX_FORMAT)


def extension(kind: bytes, data: bytes) -> bytes:
    info = tarfile.TarInfo("extension")
    info.type, info.size = kind, len(data)
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)


def layer(*parts: bytes) -> bytes:
    return gzip.compress(b"".join(parts) + bytes(1024), compresslevel=1, mtime=0)


def deep_path() -> Iterable[bytes]:
    yield layer(header("a/" * 60_000 + "f"))


def many_deep_paths() -> Iterable[bytes]:
    """Each name is as long as Linux allows, and no directory is in two of them."""
    yield layer(*(header(f"{i}/" + "a/" * 2000 + "f") for i in range(1000)))


def link_chains() -> Iterable[bytes]:
    links = [
        header(f"l{i}", kind=tarfile.SYMTYPE, target="a/../" * 800 + f"l{i + 1}") for i in range(39)
    ]
    yield layer(*links, header("l39/x"), *(header(f"l0/f{i}") for i in range(20_000)))


def long_link() -> Iterable[bytes]:
    yield layer(header("l", kind=tarfile.SYMTYPE, target="a/../" * 60_000))


def links_deeper_and_deeper() -> Iterable[bytes]:
    """Each link leads below the previous one."""
    parts = [header("a/" * 1000, kind=tarfile.DIRTYPE)]
    before = "a/" * 1000
    for i in range(30):
        parts.append(header(f"l{i}", kind=tarfile.SYMTYPE, target=before))
        parts.append(header(f"l{i}/" + "a/" * 1000, kind=tarfile.DIRTYPE))
        before = f"l{i}/" + "a/" * 1000
    yield layer(*parts)


def extensions_in_a_row() -> Iterable[bytes]:
    yield layer(extension(tarfile.XHDTYPE, b"12 path=abc\n") * 340, header("f"))


def long_names_in_a_row() -> Iterable[bytes]:
    yield layer(extension(tarfile.GNUTYPE_LONGNAME, b"abc\0") * 2000, header("f"))


def many_records() -> Iterable[bytes]:
    block = extension(tarfile.XHDTYPE, b"5 a=\n" * 170_000) + header("f")
    yield layer(*[block] * 30)


def whiteouts() -> Iterable[bytes]:
    yield layer(*(header(f"d/{i}") for i in range(30_000)))
    yield layer(*(header("d/.wh..wh..opq") for _ in range(30_000)))


def folder_and_file_in_turn() -> Iterable[bytes]:
    files = [header(f"e/{i}") for i in range(20_000)]
    yield layer(*files, *[header("d/f"), header("d")] * 20_000)


def opaque_on_every_level() -> Iterable[bytes]:
    path = "a/" * 1000
    files = [header(f"l/{i}") for i in range(20_000)]
    marks = [header("a/" * i + ".wh..wh..opq") for i in range(1000, 0, -1)]
    yield layer(header(path, kind=tarfile.DIRTYPE), header("l", kind=tarfile.SYMTYPE, target=path))
    yield layer(*files, *marks)


def empty_members() -> Iterable[bytes]:
    yield gzip.compress(b"", mtime=0) * 250_000


def thousand_bombs() -> Iterable[bytes]:
    bomb = layer(header("zeros", 100 * 1024 * 1024), bytes(100 * 1024 * 1024))
    yield from [bomb] * 1000


def entries_in_many_layers() -> Iterable[bytes]:
    part = layer(*(header(f"{i}") for i in range(5000)))
    for _ in range(25):
        yield part


def sparse_map() -> Iterable[bytes]:
    data = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n"
    yield layer(extension(tarfile.XHDTYPE, data), header("f", 1024), b"9" * 1024)


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        (deep_path, "more than the 4096 that Linux allows"),
        (many_deep_paths, "more than 100000 entries"),
        (link_chains, "more than 8000000 steps"),
        (long_link, "more than the 4096 that Linux allows"),
        (links_deeper_and_deeper, "more than 2048 folders deep"),
        (extensions_in_a_row, "more than 16 headers"),
        (long_names_in_a_row, "more than 16 headers"),
        (many_records, "the headers of its entries are larger than 16777216 bytes"),
        (whiteouts, ""),
        (folder_and_file_in_turn, ""),
        (opaque_on_every_level, "more than 8000000 steps"),
        (empty_members, "compressed in more than 200000 pieces"),
        (thousand_bombs, "unpacks to more than the limit of 4.3 GB"),
        (entries_in_many_layers, "more than 100000 entries"),
        (sparse_map, "is a sparse file"),
    ],
)
def test_a_small_layer_is_not_expensive(
    layers: Callable[[], Iterable[bytes]], message: str
) -> None:
    files = LayeredFiles(("wanted",), budget=ReadBudget())
    parts = list(layers())
    begin = time.process_time()
    said = ""
    try:
        for data in parts:
            files.add(io.BytesIO(data), "layer")
        files.folder("")
    except InputError as error:
        said = error.message
    assert message in said
    assert bool(said) is bool(message)
    assert time.process_time() - begin < SECONDS


def test_deep_directories_need_little_memory() -> None:
    (data,) = many_deep_paths()
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="entries"):
            LayeredFiles().add(io.BytesIO(data), "layer")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEGABYTES * 1_000_000


@pytest.mark.parametrize("size", ["9" * 5000, "x", "", "-1", "1_0", "\N{ARABIC-INDIC DIGIT THREE}"])
def test_a_size_that_is_not_a_number_is_not_an_empty_file(size: str) -> None:
    """`tarfile` reads it as zero, and the contents of the file as the next entries."""
    record = f" size={size}\n".encode()
    length = len(record) + len(str(len(record) + 4))
    while len(str(length)) + len(record) != length:
        length = len(str(length)) + len(record)
    data = str(length).encode() + record
    hidden = header("hidden")
    with pytest.raises(InputError, match=r"is not a number|not an intact archive"):
        LayeredFiles().add(
            io.BytesIO(layer(extension(tarfile.XHDTYPE, data), header("f", 512), hidden)), "layer"
        )


def test_a_size_for_all_entries_is_refused() -> None:
    data = extension(tarfile.XGLTYPE, b"11 size=99\n")
    with pytest.raises(InputError, match="for all entries"):
        LayeredFiles().add(io.BytesIO(layer(data, header("f"))), "layer")


def records(count: int) -> bytes:
    return b"".join(b"9 %05x=\n" % i for i in range(count))


@pytest.mark.parametrize(
    "extensions",
    [
        [extension(tarfile.XGLTYPE, records(20_000))],
        [extension(tarfile.XGLTYPE, records(i)) for i in range(1, 9)],
        [extension(tarfile.XGLTYPE, b"1018 mtime=" + b"1" * 1006 + b"\n")],
    ],
    ids=["one", "several", "number"],
)
def test_records_of_global_headers_are_not_applied_to_each_entry(extensions: list[bytes]) -> None:
    """`tarfile` reads all of them again for each of up to 100,000 entries; Go ignores them."""
    tar = b"".join([*extensions, *(header(f"{i}") for i in range(20)), bytes(1024)])
    layers = [
        [entry for entry, _ in archives.entries(io.BytesIO(tar), "layer", ReadBudget())],
        [*archives.members(io.BytesIO(tar), "archive", ReadBudget())],
    ]
    for found in layers:
        assert [entry.name for entry in found] == [f"{i}" for i in range(20)]
        assert sum(len(entry.pax_headers) for entry in found) == 0


def test_global_headers_count_for_the_limit_of_headers() -> None:
    data = layer(*[extension(tarfile.XGLTYPE, records(100)) + header("f")] * 20)
    budget = ReadBudget(Limits(headers_size=10_000))
    with pytest.raises(InputError, match="its entries are larger than 10000 bytes"):
        LayeredFiles(budget=budget).add(io.BytesIO(data), "layer")


def test_an_archive_with_a_damaged_header_in_the_middle_is_not_truncated_there() -> None:
    parts = header("a") + b"x" * 512 + header("b")
    with pytest.raises(InputError, match="not an intact archive"):
        LayeredFiles().add(io.BytesIO(layer(parts)), "layer")


def test_pieces_of_one_layer_and_zeros_after_it_are_read() -> None:
    data = header("a", 5) + b"hello" + bytes(507)
    stream = gzip.compress(data[:100]) + gzip.compress(data[100:] + bytes(1024)) + bytes(700)
    files = LayeredFiles()
    files.add(io.BytesIO(stream), "layer")
    assert files.folder("")["a"].data == b"hello"


def test_the_budget_is_for_all_passes_over_an_image() -> None:
    data = layer(*(header(f"{i}") for i in range(100)))
    budget = ReadBudget(Limits(entries=150))
    LayeredFiles(budget=budget).add(io.BytesIO(data), "layer")
    with pytest.raises(InputError, match="150 entries"):
        LayeredFiles(budget=budget).add(io.BytesIO(data), "layer")


WHOLE = layer(header("manifests/a.yaml", 2) + b"a\n" + bytes(510))


@pytest.mark.parametrize(
    "data", [b"", gzip.compress(b"", mtime=0), bytes(512), gzip.compress(bytes(1024), mtime=0)]
)
def test_a_layer_without_entries_is_a_layer(data: bytes) -> None:
    files = LayeredFiles()
    files.add(io.BytesIO(WHOLE), "first")
    files.add(io.BytesIO(data), "second")
    assert sorted(files.folder("")) == ["manifests/a.yaml"]


@pytest.mark.parametrize(
    ("end", "words"),
    [
        pytest.param(lambda data: data[:-4], "it ends too early", id="cut"),
        pytest.param(lambda data: data + b"more", "incorrect header check", id="more behind it"),
        pytest.param(
            lambda data: data[:-8] + bytes(4) + data[-4:], "incorrect data check", id="checksum"
        ),
    ],
)
def test_damage_after_the_last_entry_is_detected(end: Callable[[bytes], bytes], words: str) -> None:
    data = layer(header("f"))
    LayeredFiles().add(io.BytesIO(data), "layer")
    with pytest.raises(InputError, match=words):
        LayeredFiles().add(io.BytesIO(end(data)), "layer")
