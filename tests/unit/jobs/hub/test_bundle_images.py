"""`--bundles`: values that the catalog lacks come from bundle images; errors affect one page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.cli import main
from olmkit.testing.registry import RegistryServer

ROOT = Path(__file__).resolve().parents[4]
BUNDLES = [ROOT / "bundle" / "0.0.1", ROOT / "bundle" / "0.0.2"]
NAME = "memcached-operator"
HEAD, OLDER = f"p/{NAME}/index.html", f"p/{NAME}/{NAME}.v0.0.1/index.html"
ABSENT = "does not carry the permissions"
UNREAD = "The bundle image could not be read"


@pytest.fixture
def catalog(
    registry: RegistryServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> list[dict[str, Any]]:
    """A catalog without manifests, like published ones; its bundle images can be pulled."""
    monkeypatch.setenv("OLMKIT_CACHE", str(tmp_path / "cache"))
    repository = f"{registry.host}/{tmp_path.name}/bundle"
    words = ["bundle", "build", *map(str, BUNDLES), "-t", repository, "--push"]
    assert main.run([*words, "-C", str(ROOT), "-q"]) == 0
    images = [f"{repository}:v0.0.1", f"{repository}:v0.0.2"]
    written = tmp_path / "rendered.json"
    migrate = ["--migrate", "bundle-object-to-csv-metadata"]
    with written.open("w") as out, monkeypatch.context() as patch:
        patch.setattr("sys.stdout", out)
        assert main.run(["catalog", "render", *images, *migrate, "-o", "json"]) == 0
    found = _decoded(written.read_text())
    assert not any(
        one["type"] == "olm.bundle.object" for blob in found for one in blob["properties"]
    )
    names = [one["name"] for one in found]
    return [
        {"schema": "olm.package", "name": NAME, "defaultChannel": "stable"},
        {
            "schema": "olm.channel",
            "package": NAME,
            "name": "stable",
            "entries": [{"name": names[0]}, {"name": names[1], "replaces": names[0]}],
        },
        *found,
    ]


def _decoded(text: str) -> list[dict[str, Any]]:
    decoder, place, found = json.JSONDecoder(), 0, []
    while text[place:].strip():
        place += len(text[place:]) - len(text[place:].lstrip())
        value, place = decoder.raw_decode(text, place)
        found.append(value)
    return found


def written(folder: Path, blobs: list[dict[str, Any]]) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "catalog.json").write_text("\n".join(json.dumps(one) for one in blobs))
    return str(folder)


def built(reference: str, folder: Path, *words: str) -> int:
    return main.run(["hub", "build", reference, "-d", str(folder), "-q", *words])


def test_heads_or_all_versions_are_read_from_their_images(
    catalog: list[dict[str, Any]], tmp_path: Path
) -> None:
    reference = written(tmp_path / "catalog", catalog)
    pages = tmp_path / "pages"
    assert built(reference, pages) == 0
    assert ABSENT in (pages / HEAD).read_text()
    assert not (pages / "crd").exists()
    assert built(reference, pages, "--bundles", "heads") == 0
    assert ABSENT not in (pages / HEAD).read_text()
    assert ABSENT in (pages / OLDER).read_text()
    assert (pages / "crd").is_dir()
    assert built(reference, pages, "--bundles", "all") == 0
    assert ABSENT not in (pages / OLDER).read_text()
    assert "Changes from 0.0.1" in (pages / HEAD).read_text()
    assert built(reference, pages) == 0
    assert ABSENT in (pages / HEAD).read_text()


def test_a_pinned_image_is_pulled_once(
    catalog: list[dict[str, Any]],
    registry: RegistryServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head = catalog[-1]
    digest = _digest(registry, head["image"])
    head["image"] = f"{head['image'].rpartition(':')[0]}@{digest}"
    reference = written(tmp_path / "catalog", catalog)
    pages = tmp_path / "pages"
    assert built(reference, pages, "--bundles", "heads") == 0
    (kept,) = (tmp_path / "cache" / "bundles").rglob("*.json")
    assert digest.replace(":", "-") in kept.name
    first = (pages / HEAD).read_bytes()
    monkeypatch.delattr("olmkit.jobs.catalog.render.read_bundle")  # the function that pulls
    assert built(reference, pages, "--bundles", "heads") == 0
    assert (pages / HEAD).read_bytes() == first


def _digest(registry: RegistryServer, image: str) -> str:
    import urllib.request

    repository, _, tag = image.removeprefix(f"{registry.host}/").rpartition(":")
    accept = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json"
    request = urllib.request.Request(
        f"http://{registry.host}/v2/{repository}/manifests/{tag}",
        method="HEAD",
        headers={"Accept": accept},
    )
    with urllib.request.urlopen(request) as answer:  # noqa: S310
        return str(answer.headers["Docker-Content-Digest"])


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("oci:/etc:v1", "not an image in a registry"),
        ("{host}/gone/bundle:v1", "gone/bundle"),
        ("{older}", "has bundle"),
    ],
)
def test_an_unreadable_image_only_affects_its_page(
    catalog: list[dict[str, Any]],
    registry: RegistryServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    image: str,
    said: str,
) -> None:
    good = catalog[-1]["image"]
    catalog[-1]["image"] = image.format(host=registry.host, older=catalog[-2]["image"])
    reference = written(tmp_path / "catalog", catalog)
    pages = tmp_path / "pages"
    assert built(reference, pages, "--bundles", "all") == 1
    assert said in capsys.readouterr().err
    page = (pages / HEAD).read_text()
    assert UNREAD in page
    assert said in page.replace("&#39;", "'")
    assert said in (pages / "about/index.html").read_text()
    assert UNREAD not in (pages / OLDER).read_text()
    assert ABSENT not in (pages / OLDER).read_text()
    catalog[-1]["image"] = good
    assert built(written(tmp_path / "catalog", catalog), pages, "--bundles", "all") == 0
    assert UNREAD not in (pages / HEAD).read_text()
