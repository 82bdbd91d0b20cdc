"""ARCHITECTURE.md and the packages themselves say what is in which room."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

PACKAGES = sorted(
    path.parent.relative_to(Path(__file__).parents[2] / "olmkit").as_posix()
    for path in (Path(__file__).parents[2] / "olmkit").rglob("__init__.py")
    if path.parent.name != "olmkit"
)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_is_there_and_what_is_not(package: str, root: Path) -> None:
    doc = ast.get_docstring(ast.parse((root / f"olmkit/{package}/__init__.py").read_text())) or ""
    first, _, second = doc.partition("\n\n")
    assert first.strip()
    assert second.strip(), "add a second paragraph: where its neighbours are"


def _rows(root: Path) -> dict[str, str]:
    text = (root / "ARCHITECTURE.md").read_text()
    table = text.split("## Packages")[1].split("## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))


def test_the_table_of_rooms_has_every_package_and_folder(root: Path) -> None:
    rows = _rows(root)
    top = {package for package in PACKAGES if "/" not in package}
    assert set(rows) == top
    for package in PACKAGES:
        parts = package.split("/")
        if len(parts) == 2:
            assert f"`{parts[1]}`" in rows[parts[0]], package


def test_every_path_that_the_map_names_is_there(root: Path) -> None:
    text = (root / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9.]+)+/?)`", text))
    modules = set(re.findall(r"`((?:olmkit\.)?[a-z_0-9]+(?:\.[a-z_0-9]+)+)`", text))
    for name in named:
        assert (root / name).exists() or (root / "olmkit" / name).exists(), name
    for name in modules:
        parts = name.removeprefix("olmkit.").split(".")
        place = root.joinpath("olmkit", *parts)
        # The last part may be a name in a module.
        assert (
            place.is_dir()
            or place.with_suffix(".py").is_file()
            or place.parent.with_suffix(".py").is_file()
            or (root / name).exists()
        ), name
