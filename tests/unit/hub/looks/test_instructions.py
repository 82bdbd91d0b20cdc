"""The instructions of a page: each choice shows its variant and nothing else."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from olmkit.hub.builds import all_pages
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.looks import files
from olmkit.hub.looks import pages as looks
from olmkit.hub.package import installs
from olmkit.hub.package.installs import Where
from olmkit.hub.pages.instructions import STAND_INS
from olmkit.hub.pages.operator_page import OperatorPage
from olmkit.jobs.catalog import catalogs

ROOT = Path(__file__).resolve().parents[4]
_FIXTURE = runpy.run_path(str(ROOT / "tests/fixtures/shown_instructions.py"))
SHOWN, CODES = _FIXTURE["shown"], _FIXTURE["CODES"]
MOST = 13_000  # bytes for the instructions of a version


def operator_pages(folder: Path, where: Where) -> list[OperatorPage]:
    catalog = catalogs.read(str(folder), valid=False)
    site = all_pages.build_site([Source(name="x", catalog=catalog, where=where)], title="x")
    return [one for one in site.pages.values() if isinstance(one, OperatorPage)]


@pytest.fixture(scope="module")
def shipped() -> list[OperatorPage]:
    where = Where(name="demo", namespace="shared", image="quay.io/example/catalog:1")
    return operator_pages(ROOT / "catalog", where)


def instructions(page: OperatorPage) -> str:
    text = looks.html(page, site="x", root="../../")
    start = text.index('<div class="install"')
    return text[start : text.index("</section>", start)]


def assert_shown(page: OperatorPage) -> None:
    text = instructions(page)
    for one in page.install.variants:
        choice = {"olm": one.olm, "platform": one.platform, "mode": one.mode}
        found = SHOWN(text, {name: value for name, value in choice.items() if value})
        if one.refusal:
            assert all(reason.replace("`", "") in found[""] for reason in one.refusal)
            continue
        assert found["manifests"] == one.command
        assert found["commands that follow"] == one.after
        assert found["commands that remove it"] == one.removal
        assert sorted(found["olmkit command"].split()) == sorted(one.olmkit.split())
        assert one.title in found[""]
        assert one.text in found[""]
        for note in (note for other in page.install.variants for note in other.notes):
            shown = note.replace("`", "")  # code is marked
            assert (shown in found[""]) == (note in one.notes)


def test_each_choice_shows_its_variant(shipped: list[OperatorPage]) -> None:
    assert {one.install.is_head for one in shipped} == {True, False}
    for page in shipped:
        assert_shown(page)
        assert not any(one in instructions(page) for one in STAND_INS)


def test_each_choice_shows_its_variant_for_shared_catalogs(cases: Path) -> None:
    seen = 0
    for folder in sorted((cases / "catalogs").iterdir()):
        for page in operator_pages(folder, Where(name="shared"))[:40]:
            if page.install.templates:
                assert_shown(page)
                seen += 1
    assert seen > 20


MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")


def write_catalog(folder: Path) -> Path:
    """Two versions with all install modes; the older one is pinned."""
    names = ("cache.v1.0.0", "cache.v1.1.0")
    metadata = {"installModes": [{"type": mode, "supported": True} for mode in MODES]}
    entries = [{"name": names[0]}, {"name": names[1], "replaces": names[0]}]
    blobs: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": "cache", "defaultChannel": "stable"},
        {"schema": "olm.channel", "package": "cache", "name": "stable", "entries": entries},
    ]
    for name in names:
        identity = {"packageName": "cache", "version": name.removeprefix("cache.v")}
        properties = [
            {"type": "olm.package", "value": identity},
            {"type": "olm.csv.metadata", "value": metadata},
        ]
        image = f"quay.io/example/cache@sha256:{'0' * 64}"
        blobs.append({"schema": "olm.bundle", "package": "cache", "name": name, "image": image,
                      "properties": properties})  # fmt: skip
    folder.mkdir()
    (folder / "catalog.json").write_text("".join(map(json.dumps, blobs)))
    return folder


def test_the_instructions_of_all_modes_are_small(tmp_path: Path) -> None:
    pages = operator_pages(write_catalog(tmp_path / "catalog"), Where(name="catalog"))
    assert {one.install.is_head for one in pages} == {True, False}
    for page in pages:
        assert len(page.install.variants) == 10
        assert_shown(page)
        # The variants one after the other are more than three times as large.
        assert len(instructions(page).encode()) < MOST


def test_the_style_sheet_hides_what_each_choice_does_not_have(tmp_path: Path) -> None:
    """A choice without its rule would show the parts of all choices."""
    css = files.shared()["hub.css"].decode()
    page = operator_pages(write_catalog(tmp_path / "catalog"), Where(name="catalog"))[0]
    seen = 0
    for picker in page.install.pickers:
        for choice in picker.choices:
            chosen = rf'\[name="{picker.name}"\]\[value="{choice.value}"\]:checked\)'
            (hidden,) = re.findall(rf"{chosen} (\S+?)(?:,| \{{)", css)
            code = CODES[choice.value]
            if picker.name == "platform":
                assert hidden == f'[data-p="{"k" if code == "o" else "o"}"]'
            else:
                name = picker.name[0]
                assert hidden == f'[data-{name}]:not([data-{name}~="{code}"])'
            seen += 1
    assert seen == 9


def test_versions_and_packages_share_their_templates(tmp_path: Path) -> None:
    """Special names are written where they are needed, with the required quotes."""
    page = operator_pages(write_catalog(tmp_path / "catalog"), Where(name="catalog"))[0]
    assert page.install.written == STAND_INS
    for name in ("cache.v1.1.0", "cache"):
        assert name in page.install.variants[0].removal
    plain = ("a.v1.0.0", "1.0.0", "cache", "stable-1.0")
    assert installs.placeholders(*plain) == STAND_INS
    for bundle, version in (("1.0.0", "1.0.0"), ("a b.v1.0.0", "1.0.0"), ("a.v1.0.0", "1.0.0+b")):
        assert installs.placeholders(bundle, version, *plain[2:])[:2] == (bundle, version)
    for package, channel in (("on", "1.0"), ("operators", "a b"), ("a.b", "null"), ("n", "y")):
        assert installs.placeholders(*plain[:2], package, channel)[2:] == (package, channel)


def test_roles_have_the_name_of_the_package(shipped: list[OperatorPage]) -> None:
    page = shipped[0]
    assert page.install.written == (*STAND_INS[:2], page.package, STAND_INS[3])
