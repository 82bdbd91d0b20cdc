"""Sources of a project, by its language."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.apis.findings import Findings
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges.workspace import Workspace
from olmkit.jobs.project import generate
from olmkit.jobs.project import sources as project_sources
from olmkit.jobs.project.generate import GenerateOptions, Target
from olmkit.project import config

TYPES = """\
// +groupName=toys.example.com
package v1

// +kubebuilder:rbac:groups="",resources=pods,verbs=get
"""


def read(folder: Path, settings: str = "") -> list[str]:
    pyproject = f"[tool.olmkit]\n{settings}\n".encode()
    project = config.without_file(pyproject)
    found = project_sources.read(Workspace(folder), project, Findings(), prefix="", environment={})
    return [package.module for package in found.packages]


@pytest.fixture
def module(tmp_path: Path) -> Path:
    (tmp_path / "go.mod").write_text("module example.com/toys\n")
    for folder in ("api/v1", "internal/controller"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "x.go").write_text(TYPES)
    return tmp_path


def test_a_directory_with_a_module_file_is_go(module: Path) -> None:
    assert read(module) == ["example.com/toys/api/v1", "example.com/toys/internal/controller"]


def test_sources_can_be_named(module: Path) -> None:
    assert read(module, 'sources = ["./api/"]') == ["example.com/toys/api/v1"]


def test_named_sources_must_exist(module: Path) -> None:
    with pytest.raises(ConfigurationError, match="apis` does not exist"):
        read(module, 'sources = ["apis"]')


def test_a_module_without_sources_is_reported(tmp_path: Path) -> None:
    (tmp_path / "go.mod").write_text("module example.com/toys\n")
    with pytest.raises(ConfigurationError, match="no Go sources"):
        read(tmp_path)
    (tmp_path / "go.mod").unlink()
    with pytest.raises(ConfigurationError, match="no Python sources"):
        read(tmp_path)


def test_the_form_of_types_only_matters_to_crds(module: Path) -> None:
    kind = """
import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

type Toy struct {
    metav1.TypeMeta `json:",inline"`
    metav1.ObjectMeta `json:"metadata"`
    Any any `json:"any"`
}
"""
    (module / "api/v1/x.go").write_text(TYPES.replace("package v1\n", "package v1\n" + kind))

    with pytest.raises(InputError):
        generate.generate(module, GenerateOptions(targets=frozenset({Target.CRD})))
    result = generate.generate(module, GenerateOptions(targets=frozenset({Target.RBAC})))

    assert result.files == ("config/rbac/role.yaml",)
