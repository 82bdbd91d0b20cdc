"""Catalogs: initialized, checked and read."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.jobs.catalog import catalogs as job
from olmkit.jobs.catalog.catalogs import InitOptions, ValidateOptions

ROOT = Path(__file__).resolve().parents[4]
KETTLE = (ROOT / "tests/unit/rules/minimal_catalog.yaml").read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kettle.yaml").write_bytes(KETTLE)
    return tmp_path


def test_a_new_package_has_the_requested_fields(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes(b"caf\xe9\n")

    text = job.init(
        InitOptions(package="cog", default_channel="s", description=tmp_path / "README.md"), "json"
    )

    assert b'"name": "cog"' in text
    assert '"description": "caf\ufffd\\n"' in text.decode()


def test_a_very_large_icon_is_refused(tmp_path: Path) -> None:
    icon = tmp_path / "icon.png"
    icon.write_bytes(b"\x89PNG" + bytes(job.MAX_ICON))

    with pytest.raises(InputError, match="the limit is"):
        job.init(InitOptions(package="cog", icon=icon), "yaml")


def test_a_valid_catalog_passes_and_is_read(folder: Path) -> None:
    (result,) = job.validate([str(folder)], ValidateOptions())

    assert result.passed
    assert list(job.read(str(folder)).packages) == ["kettle"]


def test_a_catalog_with_errors_is_only_read_on_request(folder: Path) -> None:
    (folder / "other.yaml").write_bytes(b"schema: olm.package\nname: pot\n")

    with pytest.raises(InputError) as refused:
        job.read(str(folder))

    assert {found.rule for found in refused.value.diagnostics} == {"FBC013", "FBC015"}
    assert {found.at.path for found in refused.value.diagnostics if found.at} == {
        f"{folder}/other.yaml"
    }
    assert list(job.read(str(folder), valid=False).packages) == ["kettle", "pot"]


def test_unreadable_files_hide_the_rules_and_not_each_other(folder: Path) -> None:
    (folder / "a.yaml").write_bytes(b"a: [")
    (folder / "b.yaml").symlink_to("gone")
    (folder / "c.yaml").write_bytes(b"schema: olm.package\nname: pot\n")

    (result,) = job.validate([str(folder)], ValidateOptions())

    assert [found.rule for found in result.diagnostics] == ["DOC001", "FBC003"]
    with pytest.raises(InputError):
        job.read(str(folder), valid=False)


def test_a_very_large_file_is_refused_with_an_error(folder: Path) -> None:
    with (folder / "huge.json").open("wb") as stream:
        stream.truncate(job.MAX_CATALOG_FILE + 1)

    (result,) = job.validate([str(folder)], ValidateOptions())

    (found,) = result.diagnostics
    assert found.rule == "FBC003"
    assert "MB; the limit is 537 MB" in found.message


def test_each_catalog_has_its_own_result(folder: Path) -> None:
    gone = str(folder / "gone")
    pulled = {"registry.example/c:1": Tree({"c.yaml": KETTLE})}

    references = [gone, str(folder), "registry.example/c:1", gone, str(folder)]

    results = job.validate(references, ValidateOptions(), pulled=pulled)

    assert [result.reference for result in results] == references
    assert [result.passed for result in results] == [False, True, True, False, True]
    assert isinstance(results[0].error, ConfigurationError)


def test_an_unknown_rule_is_refused_before_any_work(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="no rule"):
        job.validate([str(folder)], ValidateOptions(select=["GRF999"]))


def test_an_empty_directory_is_an_empty_catalog(tmp_path: Path) -> None:
    assert job.read(str(tmp_path)).packages == {}


def test_a_bundle_is_not_mistaken_for_a_catalog(tmp_path: Path) -> None:
    for name in ("manifests", "metadata"):
        (tmp_path / "bundle" / name).mkdir(parents=True)
    (tmp_path / "bundle" / "metadata" / "annotations.yaml").write_text("annotations: {}")
    reference = str(tmp_path / "bundle")
    (result,) = job.validate([reference], ValidateOptions())
    assert result.error is not None
    assert result.error.message == f"`{reference}` is a bundle, not a catalog"
    assert f"`olmkit bundle validate {reference}`" in result.error.hint
    with pytest.raises(InputError, match="is a bundle, not a catalog"):
        job.read(reference)
