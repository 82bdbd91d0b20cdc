"""The cache of opm. The digests are those that opm 1.73 computed for the same files."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import File, Tree
from olmkit.cli import main
from olmkit.edges import disk
from olmkit.jobs.catalog.serving import opm_cache

ODD = Path(__file__).parents[4] / "conformance/grpc/odd"
BUNDLE = "cog.v1.0.0-" + "x" * 120


def blobs(bundle: str = BUNDLE, channels: tuple[str, ...] = ("stable",)) -> list[dict[str, Any]]:
    return [
        {
            "schema": "olm.package",
            "name": "cog",
            "defaultChannel": channels[0],
            "description": "<&>\u2028",
            "icon": {"base64data": "PHN2Zy8+", "mediatype": "image/svg+xml"},
        },
        *(
            {
                "schema": "olm.channel",
                "package": "cog",
                "name": channel,
                "entries": [{"name": bundle, "skips": ["cog.v0.9.0"], "skipRange": "<1.0.0"}],
            }
            for channel in channels
        ),
        {
            "schema": "olm.bundle",
            "package": "cog",
            "name": bundle,
            "image": "registry.example/cog:1",
            "properties": [
                {"type": "olm.package", "value": {"packageName": "cog", "version": "1.0.0"}}
            ],
        },
    ]


def tree(values: list[dict[str, Any]]) -> Tree:
    """A catalog whose names need each form of a tar header, and whose files have unusual modes."""
    return Tree(
        {
            "a" * 90 + "/" + "b" * 60 + "/catalog.json": "\n".join(
                map(json.dumps, values)
            ).encode(),
            "ü/note.json": File(b'{"schema":"note","text":"a"}', 0o600),
            "a.b/note.json": File(b'{"schema":"note","package":"cog","text":"b"}', 0o755),
            "a/b/note.json": b'{"schema":"note","package":"cog","text":"c"}',
            "c" * 120 + ".json": b'{"schema":"note","text":"d"}',
        }
    )


def test_the_digest_is_that_of_opm_for_names_of_all_kinds() -> None:
    cache = opm_cache.build("here", tree(blobs()))
    assert cache.data("digest") == b"8a5c40e70971f05e"
    assert [path for path in cache if "/metas/" not in path] == [
        f"cache/cog_stable_{BUNDLE}.json",
        "cache/packages.json",
        "digest",
    ]
    assert json.loads(cache.data(f"cache/cog_stable_{BUNDLE}.json"))["skips"] == ["cog.v0.9.0"]
    assert b'"description":"\\u003c\\u0026\\u003e\\u2028"' in cache.data("cache/packages.json")


def test_a_digest_has_sixteen_digits() -> None:
    assert opm_cache.build("odd", disk.read_tree(ODD)).data("digest") == b"01db5e17073eb25b"


@pytest.mark.parametrize(
    ("bundle", "channels", "words"),
    [
        ("cog.v1.0.0", ("a/b",), "`cog_a/b_cog.v1.0.0.json` cannot be the name of a file"),
        ("x" * 240, ("stable",), "cannot be the name of a file"),
    ],
)
def test_names_that_opm_cannot_store_are_refused(
    bundle: str, channels: tuple[str, ...], words: str
) -> None:
    with pytest.raises(InputError, match=words):
        opm_cache.build("here", tree(blobs(bundle, channels)))


def test_two_bundles_with_one_file_name_are_refused() -> None:
    first, second = blobs("b_c", ("a",)), blobs("c", ("a_b",))
    second[2]["properties"][0]["value"]["version"] = "1.0.1"
    with pytest.raises(InputError, match=r"has the file `cog_a_b_c\.json` too"):
        opm_cache.build("here", tree([*first, *second[1:]]))


def test_the_image_has_the_cache_and_the_modes_that_were_hashed(tmp_path: Path) -> None:
    (tmp_path / "catalog").mkdir()
    file = tmp_path / "catalog/catalog.json"
    file.write_text("\n".join(map(json.dumps, blobs())))
    words = ["catalog", "build", "-C", str(tmp_path), "-t", f"oci:{tmp_path / 'layout'}:v1", "-q"]
    assert main.run([*words, "--opm-cache"]) == 0
    (layer,) = [
        data
        for file in (tmp_path / "layout/blobs/sha256").iterdir()
        if (data := file.read_bytes()).startswith(b"\x1f\x8b")
    ]
    with tarfile.open(fileobj=io.BytesIO(layer)) as archive:
        modes = {entry.name: entry.mode for entry in archive}
    assert modes.pop("cache/digest") == 0o644
    assert {mode for name, mode in modes.items() if name.endswith(".json")} == {0o644}
    assert [modes[name] for name in ("configs", "cache", "cache/cache")] == [0o755] * 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--server", "olmkitt"], "`olmkitt` is not"),
        (["--server", "quay.io/x/opm:1", "--base", "quay.io/x/opm:2"], "leave out `--base`"),
        (["--server", "olmkit", "--opm-cache"], "`--opm-cache` is for opm"),
    ],
)
def test_invalid_servers_are_invalid_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog/catalog.json").write_text("\n".join(map(json.dumps, blobs())))
    assert main.run(["catalog", "build", "-C", str(tmp_path), *words]) == 2
    assert said in capsys.readouterr().err
