"""ARCHITECTURE.md and the packages describe the contents of each package."""

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

_LINES_OF_A_MODULE = 500
_LINES_OF_A_FUNCTION = 60  # without its docstring


def test_modules_and_functions_stay_small(root: Path) -> None:
    too_long = []
    for path in sorted((root / "olmkit").rglob("*.py")):
        text = path.read_text()
        place = path.relative_to(root)
        if (length := text.count("\n")) > _LINES_OF_A_MODULE:
            too_long.append(f"{place}: {length} lines")
        too_long += [
            f"{place}:{node.lineno}: {node.name} has {length} lines"
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            and (length := _lines_of_code(node)) > _LINES_OF_A_FUNCTION
        ]
    assert too_long == [], "divide it by what it does; CONTRIBUTING.md has the limits"


def test_temporary_files_come_from_tempfile_or_one_function(root: Path) -> None:
    """Names that others can guess are opened with O_EXCL and O_NOFOLLOW, in one place."""
    found = []
    for path in sorted((root / "olmkit").rglob("*.py")):
        text = path.read_text()
        place = path.relative_to(root).as_posix()
        if "O_CREAT" in text and place != "olmkit/edges/disk.py":
            found.append(f"{place}: use `disk.create_new`")
        if "tempfile.mktemp(" in text:
            found.append(f"{place}: `mktemp` does not create the file")
        if "gettempdir()" in text and re.search(r"gettempdir\(\)[)\s]*/|join\(.*gettempdir", text):
            found.append(f"{place}: a fixed name in the folder of all users")
    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_describes_its_contents_and_its_limits(package: str, root: Path) -> None:
    doc = ast.get_docstring(ast.parse((root / f"olmkit/{package}/__init__.py").read_text())) or ""
    first, _, second = doc.partition("\n\n")
    assert first.strip()
    assert second.strip(), "add a second paragraph: where related code is"


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_that_a_docstring_names_exist(package: str, root: Path) -> None:
    doc = ast.get_docstring(ast.parse((root / f"olmkit/{package}/__init__.py").read_text())) or ""
    for name in re.findall(r"`((?:olmkit\.)?[a-z_0-9]+(?:\.[a-z_0-9]+)+)`", doc):
        parts = name.removeprefix("olmkit.").split(".")
        if (root / "olmkit" / parts[0]).is_dir():
            assert _exists(root, parts), name


@pytest.mark.parametrize("package", PACKAGES)
def test_the_picture_has_every_package(package: str, root: Path) -> None:
    picture = (root / "ARCHITECTURE.md").read_text().split("```")[1]
    top = package.split("/")[0]
    assert top == "testing" or re.search(rf"\b{top}\b", picture), top


def _exists(root: Path, parts: list[str]) -> bool:
    """Return whether there is such a module or package; the last part can be a name in a module."""
    place = root.joinpath("olmkit", *parts)
    return (
        place.is_dir()
        or place.with_suffix(".py").is_file()
        or (len(parts) > 1 and place.parent.with_suffix(".py").is_file())
    )


def _rows(root: Path) -> dict[str, str]:
    text = (root / "ARCHITECTURE.md").read_text()
    table = text.split("## Packages")[1].split("## ")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))


def test_the_table_of_packages_has_every_package_and_directory(root: Path) -> None:
    rows = _rows(root)
    top = {package for package in PACKAGES if "/" not in package}
    assert set(rows) == top
    for package in PACKAGES:
        parts = package.split("/")
        if len(parts) == 2:
            assert f"`{parts[1]}`" in rows[parts[0]], package


def test_every_path_in_the_map_exists(root: Path) -> None:
    text = (root / "ARCHITECTURE.md").read_text()
    named = set(re.findall(r"`([a-z_0-9]+(?:/[a-z_0-9.]+)+/?)`", text))
    modules = set(re.findall(r"`((?:olmkit\.)?[a-z_0-9]+(?:\.[a-z_0-9]+)+)`", text))
    for name in named:
        assert (root / name).exists() or (root / "olmkit" / name).exists(), name
    for name in modules:
        parts = name.removeprefix("olmkit.").split(".")
        assert _exists(root, parts) or (root / name).exists(), name


def _lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines from the signature to the end, without the docstring."""
    first = function.body[0]
    doc = 0
    if ast.get_docstring(function) is not None:
        doc = (first.end_lineno or first.lineno) - first.lineno + 1
    return (function.end_lineno or function.lineno) - function.lineno + 1 - doc
