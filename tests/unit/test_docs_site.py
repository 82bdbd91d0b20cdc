"""The documentation as a site: links, navigation, versions, and a build that fails on an error."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

SOURCE = "https://example.com/olmkit/blob/main"


@pytest.fixture(scope="module")
def site(root: Path) -> dict[str, Any]:
    return runpy.run_path(str(root / "scripts/docs_site.py"))


def linked(site: dict[str, Any], folder: Path, page: str, text: str) -> str:
    for name in ("docs/README.md", "docs/how-to/one.md", "samples/a.py", "ARCHITECTURE.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("# A\n\n## Twice\n\n## `Twice`\n")
    found: str = site["linked"](text, page, site["placed"](folder), folder, SOURCE)
    return found


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("docs/how-to/one.md", "../README.md", "../README.md"),
        ("docs/how-to/one.md", "../../ARCHITECTURE.md", "../project/architecture.md"),
        ("docs/how-to/one.md", "../../samples/a.py", f"{SOURCE}/samples/a.py"),
        ("docs/how-to/one.md", "../../samples", f"{SOURCE}/samples"),
        ("docs/how-to/one.md", "https://olm.example.com/a", "https://olm.example.com/a"),
        ("docs/how-to/one.md", "../README.md#twice", "../README.md#twice"),
        ("docs/how-to/one.md", "../README.md#twice-1", "../README.md#twice_1"),
        ("docs/how-to/one.md", "../README.md#version-1", "../README.md#version-1"),
        ("ARCHITECTURE.md", "docs/how-to/one.md", "../how-to/one.md"),
        ("ARCHITECTURE.md", "samples/a.py", f"{SOURCE}/samples/a.py"),
    ],
)
def test_links_are_rewritten(
    site: dict[str, Any], tmp_path: Path, page: str, link: str, expected: str
) -> None:
    assert linked(site, tmp_path, page, f"See [`a` it]({link}).") == f"See [`a` it]({expected})."


def test_code_is_unchanged(site: dict[str, Any], tmp_path: Path) -> None:
    text = "```go\nx := a[0](missing)\n```\n"
    assert linked(site, tmp_path, "docs/README.md", text) == text


@pytest.mark.parametrize("link", ["how-to/two.md", "../missing.py", "../../outside.md"])
def test_a_link_without_a_target_is_an_error(
    site: dict[str, Any], tmp_path: Path, link: str
) -> None:
    with pytest.raises(site["SiteError"], match=r"docs/README.md: the link `.*` leads to a file"):
        linked(site, tmp_path, "docs/README.md", f"[a]({link})")


def test_every_page_is_in_the_navigation(site: dict[str, Any], root: Path) -> None:
    pages = site["placed"](root)
    text = json.dumps(site["navigation"](pages, (root / "docs/README.md").read_text()))
    assert [page for page in pages.values() if json.dumps(page) not in text] == []


def test_every_page_is_in_the_index(site: dict[str, Any], root: Path) -> None:
    index = (root / "docs/README.md").read_text()
    pages = {page for page in site["placed"](root).values() if not page.startswith("project/")}
    pages = {page for page in pages if "rules/" not in page} - {"README.md"}
    assert [page for page in sorted(pages) if f"]({page})" not in index] == []


@pytest.mark.parametrize("fault", ["[a](tutorial.md#no-such-part)", "[a]\n\n[a]: missing.md"])
def test_a_broken_link_or_anchor_fails_the_build(
    site: dict[str, Any], root: Path, tmp_path: Path, fault: str
) -> None:
    for name in ("docs", *site["OTHERS"], "pyproject.toml"):
        copy = shutil.copytree if (root / name).is_dir() else shutil.copy
        copy(root / name, tmp_path / name)
    for name in ("docs/reference", "docs/how-to", "docs/decisions", "docs/explanation"):
        shutil.rmtree(tmp_path / name)
    (tmp_path / "docs/tutorial.md").write_text("# A\n")
    (tmp_path / "docs/README.md").write_text(f"# B\n\n{fault}\n")
    for name in ("your-own-operator.md", "on-a-real-cluster.md", *site["OTHERS"]):
        place = tmp_path / ("docs" if name[0].islower() else ".") / name
        place.write_text(f"# {name}\n")
    with pytest.raises(site["SiteError"], match=r"does not exist"):
        site["build"](tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_site_is_built_without_a_broken_link(
    site: dict[str, Any], root: Path, tmp_path: Path
) -> None:
    site["build"](root, tmp_path / "out")
    for page in ("index.html", "tutorial/index.html", "reference/rules/index.html"):
        assert "</html>" in (tmp_path / "out" / page).read_text()
    assert "olmkit catalog render" in (tmp_path / "out/search.json").read_text()


def test_a_directory_with_other_files_is_not_replaced(
    site: dict[str, Any], root: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(site["SiteError"], match="has other files: name an empty folder"):
        site["build"](root, tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_published_versions_are_listed(site: dict[str, Any], tmp_path: Path) -> None:
    built, pages = tmp_path / "built", tmp_path / "pages"
    built.mkdir()
    for version in ("0.9.0", "0.10.0", "0.2.1", "0.11.0rc1", "0.9.0"):
        (built / "index.html").write_text(version)
        site["publish"](built, pages, version)
    listed = json.loads((pages / "versions.json").read_text())
    assert [one["version"] for one in listed] == ["0.11.0rc1", "0.10.0", "0.9.0", "0.2.1"]
    assert [one["version"] for one in listed if one["aliases"] == ["latest"]] == ["0.10.0"]
    assert "url=0.10.0/" in (pages / "index.html").read_text()
    for one in listed:
        assert (pages / one["version"] / "index.html").read_text() == one["version"]
