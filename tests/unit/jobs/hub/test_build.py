"""A hub in a directory: reproducible, with relative links, without code from a catalog."""

from __future__ import annotations

import gzip
import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from olmkit.cli import main
from olmkit.testing.registry import RegistryServer

ROOT = Path(__file__).resolve().parents[4]
SHIPPED = str(ROOT / "catalog")
ATTACKS = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "</title><script>alert(1)</script>",
    "javascript:alert(1)",
    "]]></summary><script>alert(1)</script>",
    "{{ 7 * 7 }}{% raw %}",
    "\u202egnp.exe\x1b[31m\x00",
)


def read(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Links(HTMLParser):
    """The URLs in a page, and everything that could run."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.active: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        for key in ("href", "src"):
            if found.get(key):
                self.addresses.append(str(found[key]))
        self.active += [f"{tag} {key}" for key in found if key.startswith("on") or key == "style"]
        if tag in ("iframe", "object", "embed", "form") and not found.get("id"):
            self.active.append(tag)
        is_data = found.get("type") == "application/ld+json"
        if (
            tag == "script"
            and not is_data
            and not (found.get("src") or "").lstrip("./").endswith(".js")
        ):
            self.active.append("inline script")


def links(data: bytes) -> Links:
    found = Links()
    found.feed(data.decode())
    return found


def write(path: Path, listed: list[dict[str, Any]]) -> str:
    path.mkdir()
    (path / "catalog.json").write_text("\n".join(json.dumps(one) for one in listed))
    return str(path)


def hostile(text: str) -> list[dict[str, Any]]:
    owned = {
        "name": "things.example.com",
        "version": "v1",
        "kind": "Thing",
        "displayName": text,
        "description": text,
        "specDescriptors": [{"path": text, "displayName": text, "description": text}],
    }
    stated = ("description", "categories", "capabilities", "repository", "support")
    more = ("alm-examples", "createdAt", "artifacthub.io/install")
    metadata = {
        "annotations": dict.fromkeys((*stated, *more), text),
        "crdDescriptions": {"owned": [owned]},
        "displayName": text,
        "description": text,
        "provider": {"name": text, "url": text},
        "keywords": [text],
        "links": [{"name": text, "url": text}],
        "maintainers": [{"name": text, "email": text}],
        "maturity": text,
        "minKubeVersion": text,
        "installModes": [{"type": "AllNamespaces", "supported": True}],
    }
    return [
        {"schema": "olm.package", "name": "evil", "defaultChannel": text, "description": text},
        {
            "schema": "olm.channel",
            "package": "evil",
            "name": text,
            "entries": [{"name": "evil.v1.0.0", "replaces": text, "skips": [text]}],
        },
        {
            "schema": "olm.bundle",
            "package": "evil",
            "name": "evil.v1.0.0",
            "image": text,
            "relatedImages": [{"name": text, "image": text}],
            "properties": [
                {"type": "olm.package", "value": {"packageName": "evil", "version": "1.0.0"}},
                {"type": "olm.csv.metadata", "value": metadata},
            ],
        },
        {
            "schema": "olm.deprecations",
            "package": "evil",
            "entries": [{"reference": {"schema": "olm.package"}, "message": text}],
        },
    ]


def test_two_builds_have_the_same_bytes_and_the_second_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["hub", "build", SHIPPED, "-d", str(tmp_path / "a")]) == 0
    assert main.run(["hub", "build", SHIPPED, "-d", str(tmp_path / "b"), "-q"]) == 0
    assert read(tmp_path / "a") == read(tmp_path / "b")
    capsys.readouterr()
    assert main.run(["hub", "build", SHIPPED, "-d", str(tmp_path / "a"), "-o", "json"]) == 0
    result = json.loads(capsys.readouterr().out)["result"]
    assert result["changed"] == []
    assert result["rendered"] == 4  # list, about, not found, and the kind
    assert result["failed"] == []


def test_links_are_relative_and_lead_to_files(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", SHIPPED, "-d", str(folder)]) == 0
    made = read(folder)
    for path, data in made.items():
        if not path.endswith(".html"):
            continue
        found = links(data)
        assert found.active == []
        for address in found.addresses:
            target = re.split("[?#]", address)[0]
            if not target or re.match("https?:|mailto:", target):
                continue
            assert not target.startswith("/"), (path, address)
            assert (folder / path).parent.joinpath(target).resolve().is_file(), (path, address)


@pytest.mark.parametrize("text", ATTACKS)
def test_no_text_of_a_catalog_becomes_code(tmp_path: Path, text: str) -> None:
    reference = write(tmp_path / "catalog", hostile(text))
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", reference, "-d", str(folder)]) == 0
    made = read(folder)
    assert "p/evil/index.html" in made
    for path, data in made.items():
        if path.endswith(".html"):
            found = links(data)
            assert found.active == [], path
            assert not [one for one in found.addresses if one.lower().startswith("javascript")]
            assert b"49{" not in data
            assert b"\x1b" not in data
            assert b"\x00" not in data
        elif path.endswith(".xml"):
            ElementTree.fromstring(data)  # noqa: S314 - made here
        elif path.endswith("index.js"):
            assert b"<" not in data


def test_pages_of_a_removed_package_are_removed(tmp_path: Path) -> None:
    listed = hostile("plain")
    other = json.loads(json.dumps(listed).replace("evil", "other"))
    folder = tmp_path / "hub"
    both = write(tmp_path / "both", [*listed, *other])
    one = write(tmp_path / "one", listed)
    assert main.run(["hub", "build", both, "-d", str(folder), "--title", "x"]) == 0
    assert (folder / "p" / "other").is_dir()
    assert main.run(["hub", "build", one, "-d", str(folder), "--title", "x"]) == 0
    assert not (folder / "p" / "other").exists()
    assert (folder / "p" / "evil" / "index.html").is_file()


def test_a_page_that_was_edited_or_removed_is_written_again(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", SHIPPED, "-d", str(folder)]) == 0
    before = read(folder)
    (folder / "index.html").write_text("edited")
    (folder / "p" / "memcached-operator" / "index.html").unlink()
    (folder / "mine.txt").write_text("mine")
    assert main.run(["hub", "build", SHIPPED, "-d", str(folder)]) == 0
    assert read(folder) == {**before, "mine.txt": b"mine"}


def test_a_directory_with_other_files_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert main.run(["hub", "build", SHIPPED, "-d", str(tmp_path)]) != 0
    assert "files that are not of a hub" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", SHIPPED, "-d", str(folder), "--dry-run", "-o", "json"]) == 0
    assert not folder.exists()
    result = json.loads(capsys.readouterr().out)["result"]
    assert {"path": "index.html", "change": "create"} in result["changed"]


def test_an_unreadable_file_is_reported_and_the_others_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference = write(tmp_path / "catalog", hostile("plain"))
    (tmp_path / "catalog" / "broken.json").write_text('{"schema": "olm.package", "name": 5}')
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", reference, "-d", str(folder)]) == 1
    assert "warning: " in capsys.readouterr().err
    assert (folder / "p" / "evil" / "index.html").is_file()
    assert b"string" in (folder / "about" / "index.html").read_bytes()


def test_a_catalog_without_packages_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", str(tmp_path / "empty"), "-d", str(folder)]) != 0
    assert "has no packages" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize("server", ["none", "opm"])
def test_the_instructions_name_an_image_in_a_registry_unchanged(
    registry: RegistryServer, tmp_path: Path, server: str
) -> None:
    image = f"{registry.host}/hubs/{server}:v1"
    words = ["catalog", "build", SHIPPED, "-t", image, "--push"]
    if server != "none":
        base = f"{registry.host}/hubs/base:v1"
        assert main.run(["catalog", "build", SHIPPED, "-t", base, "--push"]) == 0
        words += ["--server", server, "--base", base]
    assert main.run(words) == 0
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", image, "-d", str(folder)]) == 0
    page = read(folder)["p/memcached-operator/index.html"].decode()
    text = html.unescape(re.sub(r"<[^>]*>", "", page))
    assert f"image: {image}\n" in text
    assert ("catalogDir: /configs" in text) == (server == "none")


def test_a_layout_is_not_an_image_for_clusters(tmp_path: Path) -> None:
    layout = f"oci:{tmp_path / 'layout'}:v1"
    assert main.run(["catalog", "build", SHIPPED, "-t", layout]) == 0
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", layout, "-d", str(folder)]) == 0
    page = read(folder)["p/memcached-operator/index.html"].decode()
    assert "CatalogSource" not in page
    assert str(tmp_path) not in page


def test_pages_have_their_url_if_it_is_known(tmp_path: Path) -> None:
    folder = tmp_path / "hub"
    words = ["hub", "build", SHIPPED, "-d", str(folder), "--base-url", "https://example.com/hub"]
    assert main.run(words) == 0
    made = read(folder)
    page = made["p/memcached-operator/index.html"].decode()
    address = "https://example.com/hub/p/memcached-operator/"
    assert f'<link rel="canonical" href="{address}">' in page
    assert f'<meta property="og:url" content="{address}">' in page
    assert f'<link href="{address}"/>' in made["feed.xml"].decode()
    assert b"canonical" not in made["404.html"]
    assert b"default-src 'none'" in made["_headers"]
    assert links(made["p/memcached-operator/index.html"]).active == []


@pytest.mark.parametrize("text", ["example.com", "javascript:alert(1)", "https://x.test/?a=b"])
def test_a_url_that_is_not_a_website_is_refused(
    tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", SHIPPED, "-d", str(folder), "--base-url", text]) != 0
    assert "is not the address of a website" in capsys.readouterr().err
    assert not folder.exists()


def test_images_have_links_to_their_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["hub", "build", SHIPPED, "-d", str(tmp_path / "hub"), "--image-link"]
    assert main.run([*words, "https://scans.example.com/?image={image}"]) == 0
    page = read(tmp_path / "hub")["p/memcached-operator/index.html"].decode()
    assert 'href="https://scans.example.com/?image=quay.io%2Fexample%2F' in page
    for wrong in ("https://scans.example.com/", "javascript:alert({image})"):
        assert main.run([*words, wrong]) == 2
        assert "is not an address with `{image}`" in capsys.readouterr().err


def test_compressed_files_match_the_pages_and_are_removed_without_the_option(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "hub"
    assert main.run(["hub", "build", SHIPPED, "-d", str(folder), "--gzip"]) == 0
    made = read(folder)
    packed = [path for path in made if path.endswith(".gz")]
    assert "p/memcached-operator/index.html.gz" in packed
    for path in packed:
        assert gzip.decompress(made[path]) == made[path.removesuffix(".gz")]
    assert main.run(["hub", "build", SHIPPED, "-d", str(folder), "--gzip"]) == 0
    assert read(folder) == made
    assert main.run(["hub", "build", SHIPPED, "-d", str(folder)]) == 0
    assert not [path for path in read(folder) if path.endswith(".gz")]


def test_only_packages_that_changed_are_rendered(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A package that requires the changed one has other links, so it also changes."""
    listed = hostile("plain")
    other = json.loads(json.dumps(listed).replace("evil", "other"))
    needs = {"type": "olm.package.required", "value": {"packageName": "new", "versionRange": ">1"}}
    other[2]["properties"].append(needs)
    reference = write(tmp_path / "catalog", [*listed, *other])
    folder = tmp_path / "hub"
    words = ["hub", "build", reference, "-d", str(folder), "-o", "json"]
    assert main.run(words) == 0
    new = json.loads(json.dumps(listed).replace("evil", "new"))
    text = "\n".join(json.dumps(one) for one in [*listed, *other, *new])
    (tmp_path / "catalog" / "catalog.json").write_text(text)
    capsys.readouterr()
    assert main.run(words) == 0
    changed = {one["path"] for one in json.loads(capsys.readouterr().out)["result"]["changed"]}
    assert "p/new/index.html" in changed
    assert "p/other/index.html" in changed
    assert not [path for path in changed if path.startswith("p/evil/")]
    whole = tmp_path / "whole"
    assert main.run(["hub", "build", reference, "-d", str(whole)]) == 0
    assert read(whole) == read(folder)
