"""Where the packages of a Go project are."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.programs import go_modules
from olmkit.edges.programs.go_modules import ModuleFolders

MOD = """\
module example.com/toys

require (
	example.org/Big v1.0.0
	example.org/local v0.0.0
)

replace example.org/local => ./local
"""


def put(path: Path, text: str = "package x\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def project(tmp_path: Path) -> Path:
    put(tmp_path / "toys/go.mod", MOD)
    return tmp_path / "toys"


def folders(project: Path) -> ModuleFolders:
    return ModuleFolders(project, {"GOMODCACHE": str(project.parent / "cache")})


def test_packages_are_found_in_module_vendor_replacement_and_cache(project: Path) -> None:
    own = put(project / "api/v1/types.go")
    put(project / "api/v1/types_test.go")
    vendored = put(project / "vendor/example.net/v/v.go")
    local = put(project / "local/deep/l.go")
    cached = put(project.parent / "cache/example.org/!big@v1.0.0/b/b.go")
    found = folders(project)

    for package, path in (
        ("example.com/toys/api/v1", own),
        ("example.net/v", vendored),
        ("example.org/local/deep", local),
        ("example.org/Big/b", cached),
    ):
        assert found.files(package) == {str(path): b"package x\n"}
    assert found.files("example.org/Big/none") is None
    assert found.files("example.org/unknown") is None
    assert found.files("time") is None


def test_modules_of_a_workspace_are_found_next_to_each_other(project: Path) -> None:
    put(project.parent / "go.work", "go 1.26\n\nuse (\n\t./toys\n\t./parts\n\t./lost\n)\n")
    put(project.parent / "parts/go.mod", "module example.com/parts\n")
    part = put(project.parent / "parts/deep/p.go")

    assert folders(project).files("example.com/parts/deep") == {str(part): b"package x\n"}
    assert ModuleFolders(project, {"GOWORK": "off"}).files("example.com/parts/deep") is None
    put(project.parent / "go.work", "use ./parts\n")
    assert folders(project).files("example.com/parts/deep") is None


def test_an_old_module_file_is_completed_from_the_sums(project: Path) -> None:
    put(project / "go.sum", "\n".join([
        "example.org/deep v1.9.0 h1:x=",
        "example.org/deep v1.10.0-rc.1 h1:x=",
        "example.org/deep v1.10.0 h1:x=",
        "example.org/deep v1.11.0/go.mod h1:x=",
    ]))  # fmt: skip
    cached = put(project.parent / "cache/example.org/deep@v1.10.0/d/d.go")

    assert folders(project).version("example.org/deep") == "v1.10.0"
    assert folders(project).files("example.org/deep/d") == {str(cached): b"package x\n"}


@pytest.mark.parametrize(
    "environment",
    [{"GOMODCACHE": "{}/go/pkg/mod"}, {"GOPATH": "{}/go:/other"}, {"HOME": "{}"}],
)
def test_the_cache_is_where_go_looks(project: Path, environment: dict[str, str]) -> None:
    put(project.parent / "go/pkg/mod/example.org/!big@v1.0.0/b.go")
    where = {name: text.format(project.parent) for name, text in environment.items()}

    assert ModuleFolders(project, where).files("example.org/Big")
    assert ModuleFolders(project, {}).files("example.org/Big") is None


def test_own_files_are_those_of_the_module(project: Path) -> None:
    wanted = {put(project / "main.go"), put(project / "api/v1/types.go")}
    for path in (
        *("api/v1/types_test.go", "vendor/x/x.go", "testdata/x.go", "_hidden/x.go", ".git/x.go"),
        *("other/x.txt", "nested/x.go"),
    ):
        put(project / path)
    put(project / "nested/go.mod", "module example.com/nested\n")

    assert set(go_modules.list_files(project)) == wanted


def test_a_project_without_a_module_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"go.mod` does not exist"):
        ModuleFolders(tmp_path, {})
    put(tmp_path / "go.mod", "go 1.26\n")
    with pytest.raises(ConfigurationError, match="names no module"):
        ModuleFolders(tmp_path, {})


def test_an_unreadable_directory_is_reported(project: Path) -> None:
    with pytest.raises(RemoteError):
        list(go_modules.list_files(project / "go.mod"))
