"""The released wheels work in an empty environment, without the checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import grimp
import pytest

# What an operator's image can have; PyYAML, cryptography and OpenTelemetry come with extras,
# yamlrocks only makes reading YAML faster if it is installed.
RUNTIME_PACKAGES = {"aiohttp", "msgspec", "prometheus_client", "pydantic", "yarl"}
OPTIONAL = {"ansible", "cryptography", "opentelemetry", "pytest", "yaml", "yamlrocks"}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory, root: Path) -> tuple[Path, Path]:
    """The wheel of the tools and the wheel of the runtime."""
    folder = tmp_path_factory.mktemp("wheel")
    for project in (root, root / "runtime"):
        subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", folder, project],
            check=True,
            capture_output=True,
        )
    (tools,) = folder.glob("olmkit-*.whl")
    (runtime,) = folder.glob("olmkit_runtime-*.whl")
    return tools, runtime


def _package(wheel: Path) -> set[str]:
    return {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("olmkit/")}


def test_the_wheel_only_has_the_package(wheels: tuple[Path, Path], root: Path) -> None:
    names = zipfile.ZipFile(wheels[0]).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == {"olmkit"}
    data = [name for name in names if ".data/" in name]
    assert data
    assert all(name.split("/", 1)[1].startswith("data/share/man/man1/olmkit") for name in data)
    assert any(name.startswith("olmkit/edges/") and name.endswith(".binpb") for name in names)
    templates = Path("olmkit/project/templates")
    assert {str(path.relative_to(root)) for path in (root / templates).rglob("*.tmpl")} == {
        name for name in names if name.startswith(f"{templates}/")
    }


def test_each_file_of_the_package_is_in_one_wheel(wheels: tuple[Path, Path], root: Path) -> None:
    tools, runtime = map(_package, wheels)
    assert tools & runtime == set()
    assert tools | runtime == {
        str(path.relative_to(root))
        for path in (root / "olmkit").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {"olmkit/__init__.py", "olmkit/py.typed"} <= runtime


def test_all_imports_of_the_runtime_are_in_its_wheel(wheels: tuple[Path, Path]) -> None:
    held = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for name in _package(wheels[1])
        if name.endswith(".py")
    }
    graph = grimp.build_graph(
        "olmkit", include_external_packages=True, exclude_type_checking_imports=True
    )
    imported = {
        (module, found)
        for module in held & graph.modules  # an Ansible collection is data
        for found in graph.find_modules_directly_imported_by(module)
    }
    own = {(module, found) for module, found in imported if found.split(".")[0] == "olmkit"}
    assert {pair for pair in own if pair[1] not in held} == set()
    others = {found.split(".")[0] for _, found in imported - own} - sys.stdlib_module_names
    assert others == RUNTIME_PACKAGES | OPTIONAL


def _environment(folder: Path, packages: tuple[str, ...], wheels: tuple[Path, ...]) -> Path:
    """Return the Python of a new environment with `wheels`.

    The `packages` are those of this environment, found through links, so that the test needs no
    network; olmkit itself is only in the wheels.
    """
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin/python"
    found = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        check=True,
        capture_output=True,
        text=True,
    )
    target = Path(found.stdout.strip())
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"),
            *("--disable-pip-version-check", "--target", str(target), *map(str, wheels)),
        ],
        check=True,
        capture_output=True,
    )
    here = next(path for path in map(Path, sys.path) if (path / "click").is_dir())
    for pattern in packages:
        for part in here.glob(pattern):
            if not (target / part.name).exists():
                (target / part.name).symlink_to(part)
    return python


def test_the_wheels_work_in_an_empty_environment(
    wheels: tuple[Path, Path], root: Path, tmp_path: Path
) -> None:
    needed = ("click", "msgspec", "semver", "yaml", "_yaml", "yamlrocks", "rich", "deflate*")
    python = _environment(tmp_path / "environment", needed, wheels)

    def olmkit(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(python), "-I", "-m", "olmkit", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            check=False,
        )

    version = olmkit("--version")
    assert (version.returncode, version.stdout[:7]) == (0, "olmkit ")
    valid = olmkit("bundle", "validate", str(root / "bundle/0.0.1"))
    assert valid.returncode == 0, valid.stdout + valid.stderr
    missing = olmkit("bundle", "validate", str(tmp_path / "nothing"))
    assert missing.returncode == 2


# What `pip install olmkit-runtime` installs.
LEAST = (
    *("aiohappyeyeballs", "aiohttp", "aiosignal", "annotated_types", "attr", "frozenlist"),
    *("idna", "msgspec", "multidict", "prometheus_client", "propcache", "pydantic*"),
    *("typing_extensions.py", "typing_inspection", "yarl"),
)
# Every public name, and the modules that an operator in a pod does not have.
NAMES = """
import sys
from olmkit import runtime, testing

for package in map(sys.modules.get, sys.argv[1:]):
    for name in package.__all__:
        getattr(package, name)
for name in ("click", "deflate", "jsonschema", "jsonschema_rs", "rich", "semver", "yamlrocks"):
    assert name not in sys.modules, name
"""


def _run(python: Path, folder: Path, *words: str, **environment: str) -> str:
    done = subprocess.run(
        [str(python), *words],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_runtime_needs_no_tools(wheels: tuple[Path, Path], tmp_path: Path) -> None:
    python = _environment(tmp_path / "environment", LEAST, wheels[1:])
    _run(python, tmp_path, "-I", "-c", NAMES, "olmkit.runtime")
    (tmp_path / "kubeconfig").write_text("kind: Config\n")
    reads = (
        "from olmkit.base.diagnostics import OlmkitError\n"
        "from olmkit.edges.cluster import kubeconfig\n"
        "try: kubeconfig.load()\n"
        "except OlmkitError as error: print(error.message, error.hint)\n"
    )
    said = _run(python, tmp_path, "-I", "-c", reads, KUBECONFIG=str(tmp_path / "kubeconfig"))
    assert said == (
        'reading YAML needs the package PyYAML install it: `pip install "olmkit-runtime[yaml]"`\n'
    )


def test_an_operator_and_its_test_only_need_the_runtime(
    wheels: tuple[Path, Path], root: Path, tmp_path: Path
) -> None:
    testing = (
        "yaml",
        "_yaml",
        "pytest",
        "_pytest",
        "iniconfig",
        "pluggy",
        "packaging",
        "py.py",
        "pygments",
    )
    python = _environment(tmp_path / "environment", (*LEAST, *testing), wheels[1:])
    _run(python, tmp_path, "-I", "-c", NAMES, "olmkit.runtime", "olmkit.testing")
    page = (root / "docs/how-to/operator-in-60-lines.md").read_text()
    operator, test = re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "site_operator.py").write_text(operator)
    (tmp_path / "test_site_operator.py").write_text(test)
    assert "1 passed" in _run(python, tmp_path, "-m", "pytest", "-q", "test_site_operator.py")
