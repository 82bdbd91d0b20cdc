from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, Severity
from olmkit.base.tree import Tree
from olmkit.edges.images.transports import Access
from olmkit.jobs import validation
from olmkit.jobs.bundle import validate as check
from olmkit.jobs.bundle.validate import CheckOptions

MINIMAL = Path(__file__).parents[2] / "rules" / "minimal"


def test_a_bundle_has_a_name_and_its_findings() -> None:
    (result,) = check.validate_bundles([str(MINIMAL)], CheckOptions())

    assert (result.name, result.passed, result.diagnostics) == ("kettle.v1.2.3", True, ())


def test_results_have_the_order_of_the_references(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    names = [str(MINIMAL), str(tmp_path / "empty")] * 4

    results = check.validate_bundles(names, CheckOptions())

    assert [result.reference for result in results] == names
    assert [result.passed for result in results] == [True, False] * 4
    assert isinstance(results[1].error, InputError)


def test_pulled_files_are_checked_instead_of_the_disk() -> None:
    tree = Tree({"manifests/a.yaml": b"kind: A\n"})

    (result,) = check.validate_bundles(
        ["example.org/a:1"], CheckOptions(), pulled={"example.org/a:1": tree}
    )

    assert result.count(Severity.ERROR) > 0
    assert result.diagnostics[0].at is not None
    assert result.diagnostics[0].at.path.startswith("example.org/a:1")


def test_an_unknown_rule_is_refused_before_any_work() -> None:
    with pytest.raises(ConfigurationError, match="there is no rule"):
        check.validate_bundles(["nothing"], CheckOptions(select=["no-such"]))


def test_only_references_that_are_not_on_disk_are_pulled() -> None:
    assert validation.are_folders([str(MINIMAL)])
    assert not validation.are_folders([str(MINIMAL), "example.org/a:1"])

    pulled = asyncio.run(check.pull([str(MINIMAL), "bundel"], Access()))

    assert list(pulled) == ["bundel"]
    assert isinstance(pulled["bundel"], ConfigurationError)


def test_the_path_of_a_project_names_its_bundle(tmp_path: Path) -> None:
    (tmp_path / "bundle/manifests").mkdir(parents=True)
    (tmp_path / ".venv").symlink_to("/usr")
    (result,) = check.validate_bundles([str(tmp_path)], CheckOptions())
    assert result.error is not None
    assert result.error.message == f"`{tmp_path}` is not a bundle: it has no `manifests/` folder"
    assert result.error.hint == f"its bundle is in `{tmp_path / 'bundle'}`"
