"""The directory `operator/` next to the standard library's module of that name, and its files."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

from olmkit.jobs.project import generate


def test_the_directory_is_not_a_package(root: Path) -> None:
    assert not (root / "operator/__init__.py").exists()


def test_operator_is_the_standard_librarys_module_even_in_the_root(root: Path) -> None:
    code = "import operator; print(operator.__spec__.origin)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    library = Path(sysconfig.get_path("stdlib")).resolve()
    assert Path(done.stdout.strip()).resolve().is_relative_to(library)


def test_the_operator_is_its_own_distribution(root: Path) -> None:
    project = tomllib.loads((root / "operator/pyproject.toml").read_text())
    assert project["project"]["name"] == "memcached-operator"
    assert project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"] == [
        "memcached_operator"
    ]


def test_no_test_is_in_the_directory(root: Path) -> None:
    # pytest would register a module `operator` for it.
    assert list((root / "operator").rglob("test*.py")) == []
    assert not (root / "operator/tests").exists()


def test_the_operator_is_imported_by_the_name_of_its_package() -> None:
    found = importlib.util.find_spec("memcached_operator")
    assert found is not None
    assert found.origin is not None
    assert found.origin.endswith("operator/memcached_operator/__init__.py")


def test_the_configuration_is_generated_from_the_sources(root: Path) -> None:
    result = generate.generate(root / "operator", dry_run=True)
    assert [change.path for change in result.changes] == []
    assert result.diagnostics == ()
    assert set(result.files) == {
        "config/crd/bases/cache.example.com_memcacheds.yaml",
        "config/rbac/role.yaml",
        "config/webhook/manifests.yaml",
        "config/manifests/bases/memcached-operator.clusterserviceversion.yaml",
    }
