"""Release artifacts: reproducible, described, and checked against tag and changelog."""

from __future__ import annotations

import hashlib
import json
import os
import re
import runpy
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name
from packaging.version import Version
from trove_classifiers import classifiers

SOURCES = (
    *(
        "olmkit",
        "man",
        "operator",
        "runtime",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "SECURITY.md",
    ),
    *("requirements.lock", "pyproject.toml", ".gitignore"),
)


@pytest.fixture(scope="module")
def release(root: Path) -> dict[str, Any]:
    return runpy.run_path(str(root / "scripts/release.py"))


def _copy(root: Path, folder: Path, time: int) -> Path:
    """The sources in another directory, with other times."""
    folder.mkdir(parents=True)
    for name in SOURCES:
        if (root / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "dist")
            shutil.copytree(root / name, folder / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(root / name, folder / name)
    for path in folder.rglob("*"):
        os.utime(path, (time, time))
    return folder


@pytest.fixture(scope="module")
def two_builds(
    release: dict[str, Any], root: Path, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Path]:
    """Two builds: in different directories, from files with different times."""
    made = []
    for name, time in (("a", 1_000_000_000), ("other/folder", 1_700_000_000)):
        folder = tmp_path_factory.mktemp("release")
        release["dist"](folder / "dist", _copy(root, folder / name, time))
        made.append(folder / "dist")
    return made[0], made[1]


def test_two_builds_have_the_same_bytes(two_builds: tuple[Path, Path]) -> None:
    first, second = (
        {path.name: path.read_bytes() for path in folder.iterdir()} for folder in two_builds
    )
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    assert len(first) == 10


def test_checksums_are_those_of_the_files(two_builds: tuple[Path, Path]) -> None:
    folder = two_builds[0]
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    found = dict(reversed(line.split("  ")) for line in lines)
    assert set(found) == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    for name, digest in found.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


def test_the_wheel_describes_itself(two_builds: tuple[Path, Path]) -> None:
    (wheel,) = two_builds[0].glob("olmkit-*.whl")
    archive = zipfile.ZipFile(wheel)
    names = archive.namelist()
    (path,) = [name for name in names if name.endswith("/METADATA")]
    metadata = archive.read(path).decode()
    for field in ("Project-URL: Source", "Keywords: ", "Classifier: ", "Author: ", "License-File"):
        assert f"\n{field}" in metadata
    pages = [name for name in names if "/share/man/man1/" in name]
    assert any(name.endswith("/olmkit-bundle-validate.1") for name in pages)


def test_the_source_archive_can_be_built_and_read(two_builds: tuple[Path, Path]) -> None:
    (sources,) = two_builds[0].glob("olmkit-*.tar.gz")
    with tarfile.open(sources) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"CHANGELOG.md", "SECURITY.md", "requirements.lock", "man/olmkit.1"} <= names
    assert not any(name.startswith(("tests/", "operator/", "dist/")) for name in names)


def test_the_bill_of_materials_has_the_packages_of_the_lock(
    two_builds: tuple[Path, Path], root: Path
) -> None:
    (path,) = two_builds[0].glob("olmkit-*.cdx.json")
    document = json.loads(path.read_text())
    component = document["metadata"]["component"]
    assert (component["name"], component["version"]) == ("olmkit", _version(root))
    found = {canonicalize_name(p["name"]): Version(p["version"]) for p in document["components"]}
    assert found.pop(canonicalize_name("olmkit-runtime")) == Version(_version(root))
    assert {"click", "grpcio", "pydantic", "yarl"} <= set(
        found
    )  # with extras and their dependencies
    assert not {"pytest", "mypy", "olmkit"} & set(found)
    lines = re.findall(
        r"^([\w.-]+)==([\w.]+)", (root / "requirements.lock").read_text(), re.MULTILINE
    )
    # One package can have a version for each Python.
    locked = {(canonicalize_name(name), Version(version)) for name, version in lines}
    assert set(found.items()) <= locked


def test_the_bill_of_materials_of_the_runtime_has_no_tools(two_builds: tuple[Path, Path]) -> None:
    (path,) = two_builds[0].glob("olmkit_runtime-*.cdx.json")
    document = json.loads(path.read_text())
    assert document["metadata"]["component"]["name"] == "olmkit-runtime"
    found = {canonicalize_name(one["name"]) for one in document["components"]}
    assert {"aiohttp", "msgspec", "prometheus-client", "pydantic"} <= found
    assert {"cryptography", "opentelemetry-sdk", "pyyaml"} <= found  # with extras
    tools = {"click", "deflate", "grpcio", "jsonschema", "jsonschema-rs", "olmkit", "rich"}
    assert not {*tools, "semver", "yamlrocks", "olmkit-runtime"} & found


def test_olmkit_depends_on_the_runtime_of_its_version(
    release: dict[str, Any],
    two_builds: tuple[Path, Path],
    root: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (wheel,) = two_builds[0].glob("olmkit-*.whl")
    archive = zipfile.ZipFile(wheel)
    (path,) = [name for name in archive.namelist() if name.endswith("/METADATA")]
    assert f"\nRequires-Dist: olmkit-runtime=={_version(root)}\n" in archive.read(path).decode()
    monkeypatch.setitem(release["check"].__globals__, "_version", lambda: "9.9.9")
    with pytest.raises(release["ReleaseError"], match="must depend on `olmkit-runtime==9"):
        release["check"]("v9.9.9")


def test_distributions_share_license_and_urls(root: Path) -> None:
    assert (root / "runtime/LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
    first, second = (
        tomllib.loads((root / name).read_text())["project"]
        for name in ("pyproject.toml", "runtime/pyproject.toml")
    )
    for field in ("authors", "license", "requires-python"):
        assert first[field] == second[field]
    assert first["urls"] == second["urls"]


def _version(root: Path) -> str:
    module = runpy.run_path(str(root / "olmkit/__init__.py"))
    return str(module["__version__"])


@pytest.mark.parametrize("project", [".", "runtime", "operator"])
def test_classifiers_are_known(project: str, root: Path) -> None:
    metadata = tomllib.loads((root / project / "pyproject.toml").read_text())["project"]
    assert set(metadata.get("classifiers", [])) <= classifiers
    pythons = {"3.11", "3.12", "3.13"} if project != "operator" else set()
    assert {f"Programming Language :: Python :: {one}" for one in pythons} <= set(
        metadata.get("classifiers", [])
    )


def test_the_changelog_is_machine_readable(release: dict[str, Any], root: Path) -> None:
    found = release["changelog"]((root / "CHANGELOG.md").read_text())
    assert found[0].version == "Unreleased"
    assert found[0].changes["Added"]
    entries = [entry for one in found for kind in one.changes.values() for entry in kind]
    assert all(entry.strip() for entry in entries)


GOOD = "# Changelog\n\n## [Unreleased]\n\n## [0.2.0] - 2025-02-03\n\n### Fixed\n\n- One\n  thing.\n"


def test_a_released_version_has_its_notes(release: dict[str, Any]) -> None:
    found = release["changelog"](GOOD)
    assert [(one.version, one.date) for one in found] == [
        ("Unreleased", ""),
        ("0.2.0", "2025-02-03"),
    ]
    assert found[1].changes == {"Fixed": ["One\nthing."]}
    assert found[1].text == "### Fixed\n\n- One\n  thing.\n"


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("## [Unreleased]", "## Unreleased", "line 3: a heading is"),
        ("2025-02-03", "3 February", "line 5: a heading is"),
        ("### Fixed", "### Repaired", "line 7: `Repaired` is repeated or not one of"),
        ("- One", "One", "line 9: text outside an entry"),
        ("## [Unreleased]\n", "## [0.1.0] - 2024-01-01\n", "sorted, newest first"),
        ("## [Unreleased]\n", "## [0.2.0] - 2024-01-01\n", "must be unique"),
        ("## [0.2.0] - 2025-02-03", "## [Unreleased]", "must be the first heading"),
    ],
)
def test_an_invalid_changelog_is_refused(
    release: dict[str, Any], before: str, after: str, said: str
) -> None:
    with pytest.raises(release["ReleaseError"], match=said.replace("[", r"\[")):
        release["changelog"](GOOD.replace(before, after))


@pytest.mark.parametrize(
    ("tag", "url", "said"),
    [
        ("v9.9.9", "", "the tag is `v9.9.9`, and the version in the sources is"),
        ("", "", "CHANGELOG.md has no heading"),
    ],
)
def test_sources_that_are_not_ready_are_refused(
    release: dict[str, Any], root: Path, tag: str, url: str, said: str
) -> None:
    if not tag and f"## [{_version(root)}] - " in (root / "CHANGELOG.md").read_text():
        said = ""  # the version is the released one
    if said:
        with pytest.raises(release["ReleaseError"], match=said):
            release["check"](tag or f"v{_version(root)}", url)


def test_urls_must_be_those_of_the_repository(release: dict[str, Any], root: Path) -> None:
    check = release["check"]
    check.__globals__["notes"] = lambda version: version
    urls = tomllib.loads((root / "pyproject.toml").read_text())["project"]["urls"]
    check(f"v{_version(root)}", urls["Source"])
    with pytest.raises(release["ReleaseError"], match=r"`project\.urls\.\w+` is"):
        check(f"v{_version(root)}", f"{urls['Source']}-of-another")


def test_man_pages_can_be_formatted(root: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    pages = sorted(str(path) for path in (root / "man").glob("*.1"))
    done = subprocess.run(
        [groff, "-man", "-ww", "-Tascii", *pages], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert "olmkit catalog render [OPTIONS] REF..." in re.sub(".\b", "", done.stdout)
