"""The plan of an operator's image: read from the project, without side effects."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import File, Tree
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci.content import Platform
from olmkit.project import image_plan
from olmkit.project.config import Settings
from olmkit.project.image_plan import ImagePlan

AMD64 = Platform(os="linux", architecture="amd64")
PYPROJECT = b"""
[project]
name = "Some.Operator"
version = "1.2.3+local"
description = "Does something"
license = "Apache-2.0"
dependencies = ["olmkit[operator]"]
[project.urls]
Source = "https://example.com/source"
"""


def read(pyproject: bytes = PYPROJECT, *folders: str, settings: Settings | None = None) -> str:
    return ",".join(
        image_plan.application(pyproject, settings or Settings(), frozenset(folders)).packages
    )


def base(environment: list[str] | None = None) -> images.Image:
    image = images.append(
        images.scratch(AMD64), layers.write(Tree({"usr/bin/python": b""})), created_by="base"
    )
    return images.configure(
        image, {"Env": environment or ["PATH=/usr/bin", "PYTHON_VERSION=3.12.4"], "Cmd": ["sh"]}
    )


def plan() -> ImagePlan:
    application = image_plan.application(PYPROJECT, Settings(), frozenset({"some_operator"}))
    return ImagePlan(
        application=application,
        base="example.com/python:3",
        platforms=(AMD64,),
        entrypoint=image_plan.entrypoint(application, Settings()),
    )


def test_values_of_the_project_become_labels() -> None:
    assert image_plan.labels(plan().application) == {
        "org.opencontainers.image.title": "Some.Operator",
        "org.opencontainers.image.version": "1.2.3+local",
        "org.opencontainers.image.description": "Does something",
        "org.opencontainers.image.licenses": "Apache-2.0",
        "org.opencontainers.image.source": "https://example.com/source",
    }
    assert image_plan.default_tag(plan().application) == "some-operator:v1.2.3-local"


def test_the_package_is_found_in_the_usual_directories() -> None:
    hatch = PYPROJECT + b'[tool.hatch.build.targets.wheel]\npackages = ["src/other"]\n'
    setuptools = PYPROJECT + b'[tool.setuptools]\npackages = ["third"]\n'
    assert read(PYPROJECT, "some_operator", "tests") == "some_operator"
    assert read(PYPROJECT, "src/some_operator", "tests") == "src/some_operator"
    assert read(PYPROJECT, "another") == "another"
    assert read(hatch, "src/other", "some_operator") == "src/other"
    assert read(setuptools, "third", "some_operator") == "third"
    assert read(PYPROJECT, "a", "b", settings=Settings(sources=("b",))) == "b"
    assert read(PYPROJECT, "a", "b", settings=Settings(image_packages=("b", "a"))) == "b,a"


@pytest.mark.parametrize(
    ("pyproject", "folders", "words"),
    [
        (None, (), "there is no `pyproject.toml`"),
        (b"[", (), "is not TOML"),
        (b"[project]\n", (), "has no `project.name`"),
        (PYPROJECT, ("a", "b"), "operator's package is ambiguous"),
        (PYPROJECT, (), "operator's package is ambiguous"),
        (
            PYPROJECT + b'[tool.hatch.build.targets.wheel]\npackages = ["no"]\n',
            ("a",),
            "the package `no`",
        ),
    ],
)
def test_an_incomplete_project_is_reported(
    pyproject: bytes | None, folders: tuple[str, ...], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        image_plan.application(pyproject, Settings(), frozenset(folders))


def test_the_base_image_determines_the_version_of_python() -> None:
    assert image_plan.python_version(base()) == "3.12"
    assert image_plan.python_version(base(), "3.11.9") == "3.11"
    with pytest.raises(ConfigurationError, match="not a version of Python"):
        image_plan.python_version(base(), "three")
    with pytest.raises(ConfigurationError, match="does not declare a Python version"):
        image_plan.python_version(base(["PATH=/bin"]))


def test_wheels_for_older_c_libraries_are_also_accepted() -> None:
    tags = image_plan.wheel_tags(AMD64, "manylinux_2_17")
    assert tags[:3] == (
        "manylinux_2_17_x86_64",
        "manylinux2014_x86_64",
        "manylinux_2_16_x86_64",
    )
    assert tags[-3:] == ("manylinux_2_5_x86_64", "manylinux1_x86_64", "linux_x86_64")
    arm = Platform(os="linux", architecture="arm64")
    assert image_plan.wheel_tags(arm, "musllinux_1_1") == (
        "musllinux_1_1_aarch64",
        "musllinux_1_0_aarch64",
        "linux_aarch64",
    )
    assert image_plan.uses_musl("musllinux_1_2")
    with pytest.raises(ConfigurationError, match="names no C library"):
        image_plan.wheel_tags(AMD64, "glibc")
    with pytest.raises(InputError, match="no Python packages are built for `windows/amd64`"):
        image_plan.wheel_tags(Platform(os="windows", architecture="amd64"), "manylinux_2_28")


def test_the_image_has_the_base_then_packages_then_code() -> None:
    packages = layers.write(Tree({"opt/operator/lib/a.py": b"1"}))
    code = layers.write(Tree({"opt/operator/app/b.py": b"2"}))
    image = image_plan.compose(base(), packages, code, plan(), created=5)
    assert [layer.digest for layer in image.manifest.layers[1:]] == [
        packages.descriptor.digest,
        code.descriptor.digest,
    ]
    assert image.config.run_options["Entrypoint"] == ["python", "-m", "some_operator"]
    assert "Cmd" not in image.config.run_options, "the base's Cmd would be passed as arguments"
    assert image.config.run_options["User"] == "65532:65532"
    assert image.config.run_options["Env"] == [
        "PATH=/usr/bin",
        "PYTHON_VERSION=3.12.4",
        "PYTHONDONTWRITEBYTECODE=1",
        "PYTHONPATH=/opt/operator/app:/opt/operator/lib",
        "PYTHONUNBUFFERED=1",
    ]
    assert image.config.value["created"] == "1970-01-01T00:00:05Z"
    assert image.digest == image_plan.compose(base(), packages, code, plan(), created=5).digest


def test_without_packages_there_is_only_the_code() -> None:
    code = layers.write(Tree({"opt/operator/app/b.py": b"2"}))
    assert len(image_plan.compose(base(), None, code, plan()).manifest.layers) == 2


def test_files_that_python_generates_are_not_code() -> None:
    tree = Tree(
        {
            "__init__.py": b"",
            "__pycache__/x.pyc": b"",
            "a/b.pyc": b"",
            "data/x.yaml": File(b"", 0o600),
        }
    )
    assert list(image_plan.code_tree({"src/pkg": tree})) == [
        "opt/operator/app/pkg/__init__.py",
        "opt/operator/app/pkg/data/x.yaml",
    ]


def test_the_project_can_set_its_command() -> None:
    application = plan().application
    said = Settings(image_entrypoint=("/usr/bin/python3", "-m", "x"))
    assert image_plan.entrypoint(application, said) == ("/usr/bin/python3", "-m", "x")


def test_the_command_for_a_lock_depends_on_the_project() -> None:
    named = ("olmkit-runtime[helm]>=0.1,<0.2",)
    command = image_plan.lock_command(b"lock:\n\ttrue\n", named, has_pyproject=True)
    assert command == "make lock"
    command = image_plan.lock_command(None, named, has_pyproject=True)
    assert command == "uv pip compile --generate-hashes pyproject.toml -o requirements.lock"
    command = image_plan.lock_command(b"all:\n", named, has_pyproject=False)
    words = "printf '%s\\n' 'olmkit-runtime[helm]>=0.1,<0.2'"
    assert command == f"{words} | uv pip compile --generate-hashes - -o requirements.lock"
