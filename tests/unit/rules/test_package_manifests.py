"""Package manifests, one error at a time; expected results are those of operator-framework/api."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.tree import Tree
from olmkit.bundle import package_manifest
from olmkit.jobs.bundle import validate
from olmkit.jobs.bundle.validate import CheckOptions
from olmkit.rules import engine

SOUND = """packageName: kettle
defaultChannel: stable
channels:
- {name: alpha, currentCSV: kettle.v2.0.0}
- {name: stable, currentCSV: kettle.v1.0.0}
"""


def codes(text: str) -> list[str]:
    manifest = package_manifest.find(Tree({"kettle.package.yaml": text.encode()}), "kettle")
    assert manifest is not None
    found = engine.run(manifest, engine.rules(engine.PACKAGE))
    assert all(one.at is not None and one.at.path == "kettle/kettle.package.yaml" for one in found)
    return [one.rule for one in found]


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("packageName: kettle", "packageName: ''", "PKG001"),
        ("packageName: kettle", "packageName:", "PKG001"),
        (SOUND.partition("channels")[2], ": []\n", "PKG002"),
        (SOUND.partition("channels")[2], ": none\n", "PKG002"),
        ("defaultChannel: stable\n", "", "PKG003"),
        ("name: alpha", "name: ''", "PKG004"),
        ("currentCSV: kettle.v1.0.0", "currentCSV: ''", "PKG005"),
        ("- {name: stable", "- {name: stable, currentCSV: a}\n- {name: stable", "PKG006"),
        ("defaultChannel: stable", "defaultChannel: fast", "PKG007"),
    ],
)
def test_each_error_is_found(old: str, new: str, code: str) -> None:
    assert old in SOUND
    assert codes(SOUND.replace(old, new)) == [code]


def test_a_valid_manifest_has_no_findings() -> None:
    assert codes(SOUND) == []
    assert codes("packageName: a\nchannels: [{name: b, currentCSV: c}]") == []


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"a.yaml": b"name: packageName"},
        {"a.yaml": b"packageName: ["},
        {"1.0.0/a.package.yaml": SOUND.encode()},
        {"a.txt": SOUND.encode()},
    ],
)
def test_other_directories_have_no_package_manifest(files: dict[str, bytes]) -> None:
    assert package_manifest.find(Tree(files), "x") is None


def test_published_package_manifests_pass(cases: Path) -> None:
    folders = sorted(map(str, (cases / "packagemanifests").iterdir()))
    results = validate.validate_bundles(folders, CheckOptions())
    assert len(results) == 5
    assert [(one.name, one.passed) for one in results if not one.passed] == []
