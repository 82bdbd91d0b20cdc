"""The library of the toolkit: the short calls, and the documentation page that uses it."""

from __future__ import annotations

import ast
import json
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from olmkit import jobs
from olmkit.base.diagnostics import ConfigurationError, InputError

PAGE = "docs/how-to/use-as-a-library.md"
NAMES = """
Access Change Changes ConfigurationError Diagnostic Fix InputError Location OlmkitError Platform
Published Related RemoteError Severity Tree generate generate_bundle has_errors of_process
push_bundle push_catalog push_image render_catalog validate_bundle validate_catalog
"""


@pytest.fixture
def project(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that the page describes."""
    shutil.copytree(root / "operator", tmp_path / "operator")
    shutil.copytree(root / "bundle/0.0.1", tmp_path / "bundle")
    shutil.copytree(root / "catalog/memcached-operator", tmp_path / "catalog")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _blocks(root: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (root / PAGE).read_text(), re.DOTALL | re.MULTILINE)


def _run(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, PAGE, "exec", dont_inherit=True), names)  # noqa: S102 - the code under test
    return names


def test_programs_of_the_page_have_the_described_results(
    root: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found: dict[str, Any] = {}
    for code in _blocks(root):
        found |= _run(code)
    said = capsys.readouterr().out
    assert "oci:images@sha256:" in said
    assert "would " not in said, "the files of the shipped operator are up to date"
    assert "no-such-folder/bundle:v1" in said
    assert (project / "rendered.yaml").read_text().count("schema: olm.bundle") == 3
    assert [one.split("@")[0] for one in found["references"]] == [
        "oci:one",
        "oci:two",
    ]
    assert found["chosen"] == ["memcached-operator.v0.0.2"]
    assert "MET006" in found["codes"]


def test_names_of_the_page_are_in_the_reference(root: Path) -> None:
    reference = (root / "docs/reference/library.md").read_text()
    for code in _blocks(root):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("olmkit."):
                for alias in node.names:
                    one = f"{node.module}.{alias.name}"
                    assert f"`{one}`" in reference or f"### `{node.module}`" in reference, one


def test_public_names_are_these_and_all_of_them_exist() -> None:
    assert jobs.__all__ == sorted(NAMES.split())
    assert all(getattr(jobs, name) is not None for name in jobs.__all__)


def test_the_import_is_fast() -> None:
    code = (
        "import sys; before = set(sys.modules); import olmkit.jobs; "
        "print(sorted(m for m in set(sys.modules) - before if m.startswith('olmkit')))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert ast.literal_eval(found.stdout.decode()) == [
        *("olmkit", "olmkit.base", "olmkit.base.exports", "olmkit.jobs")
    ]


def test_every_job_on_the_page_exists_and_is_documented(root: Path) -> None:
    pages = runpy.run_path(str(root / "scripts/library_pages.py"))
    modules = [*pages["job_modules"](), *(m for ms in pages["MIDDLE"].values() for m in ms)]
    bare = [
        f"{module}.{name.name}"
        for module in modules
        for name in pages["public"](module)
        if not name.doc and re.match(r"(@.*\n)*(async )?(def|class) ", name.source)
    ]
    assert len(modules) > 40
    assert bare == []


def test_a_missing_bundle_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        jobs.validate_bundle(tmp_path / "empty")
    with pytest.raises(ConfigurationError, match="no-such-profile"):
        jobs.validate_bundle(tmp_path, profile="no-such-profile")


def test_a_catalog_has_findings(project: Path) -> None:
    assert jobs.validate_catalog("catalog") == ()
    (project / "catalog/more.yaml").write_text("schema: olm.channel\npackage: other\nname: a\n")
    assert jobs.has_errors(jobs.validate_catalog("catalog"))


def test_a_catalog_is_rendered_as_json(project: Path) -> None:
    blobs = jobs.render_catalog(project / "bundle", image="quay.io/e/b:v{version}", form="json")
    assert json.loads(blobs)["image"] == "quay.io/e/b:v0.0.1"


def test_dry_run_writes_nothing(project: Path) -> None:
    (project / "operator/config/rbac/role.yaml").unlink()
    assert [one.path for one in jobs.generate("operator", dry_run=True).changes] == [
        "config/rbac/role.yaml"
    ]
    assert not (project / "operator/config/rbac/role.yaml").exists()
    jobs.generate("operator")
    made = jobs.generate_bundle("operator", version="0.2.0", dry_run=True)
    assert made.version == "0.2.0"
    assert not (project / "operator/bundle").exists()


def test_a_pushed_image_can_be_validated_and_copied(project: Path) -> None:
    pushed = jobs.push_bundle(project / "bundle", "oci:images:b")
    assert jobs.push_image("oci:images:b", "oci:images:c").digest == pushed.digest
    assert not jobs.has_errors(jobs.validate_bundle("oci:images:c"))
    assert jobs.push_catalog("catalog", "oci:images:d").reference.startswith("oci:images@sha256:")
