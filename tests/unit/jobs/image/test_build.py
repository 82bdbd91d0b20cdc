"""The image of an operator, built from a project on disk, a base in a layout, and wheels."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer, transports
from olmkit.edges.images.access_settings import Access
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.transfer import TransferOutcome
from olmkit.jobs.image import build as job
from olmkit.jobs.image import copy as image_job
from olmkit.jobs.image import publish
from olmkit.jobs.image.build import ImageBuildOptions
from olmkit.jobs.image.publish import Published, PublishOptions
from olmkit.oci import image, layer
from olmkit.oci import reference as references
from olmkit.oci.content import MediaType, Platform
from olmkit.oci.store import MemoryStore
from olmkit.project import config, image_plan
from olmkit.testing.registry import RegistryServer

T = TypeVar("T")
AMD64 = Platform(os="linux", architecture="amd64")
ARM64 = Platform(os="linux", architecture="arm64")
PYPROJECT = """
[project]
name = "some-operator"
version = "1.0"
dependencies = ["one"]
"""
BASE = image.index(
    [
        image.configure(
            image.append(
                image.scratch(platform),
                layer.write(Tree({f"usr/lib/{platform.architecture}": b"1"})),
                created_by="test",
            ),
            {"Env": ["PYTHON_VERSION=3.12.1"]},
        )
        for platform in (AMD64, ARM64)
    ]
)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture
def project(tmp_path: Path, make_wheel: Callable[..., Path]) -> Path:
    """An operator with one package, which needs another, and a base with its version of Python."""
    folder = tmp_path / "project"
    (folder / "some_operator" / "__pycache__").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    (folder / "some_operator" / "__init__.py").write_text("x = 1\n")
    (folder / "some_operator" / "__pycache__" / "x.pyc").write_text("")
    make_wheel(folder / "wheels", "one")
    run(
        transfer.copy(
            MemoryStore.of(BASE), Layout(tmp_path / "base"), BASE.descriptor, tag="python"
        )
    )
    return folder


def options(project: Path, *platforms: Platform, **given: Any) -> ImageBuildOptions:
    target = given.pop("target", "")
    return ImageBuildOptions(
        publish=PublishOptions(
            project=project,
            platforms=platforms or (AMD64,),
            target=target,
            push=given.pop("push", False),
        ),
        **{
            "base": f"oci:{project.parent}/base:python",
            "wheels": str(project / "wheels"),
            "bytecode": False,
            **given,
        },
    )


def build(
    project: Path, *platforms: Platform, said: list[str] | None = None, **given: Any
) -> Published:
    heard = [] if said is None else said
    return run(job.build(options(project, *platforms, **given), access(project), say=heard.append))


def access(project: Path) -> Access:
    return Access(environment={**os.environ, "OLMKIT_CACHE": str(project.parent / "cache")})


async def files(reference: str, platform: Platform) -> Tree:
    parsed = references.parse_image(reference)
    async with transports.open_store(parsed, Access()) as store:
        root = await store.resolve(transports.selector(parsed))
        found = await transports.select_image(store, root, Access(platform=platform))
        return await transports.unpack(store, found)


def test_the_image_has_base_packages_and_code(project: Path) -> None:
    made = build(project)
    assert list(run(files(made.reference, AMD64))) == [
        "opt/operator/app/some_operator/__init__.py",
        "opt/operator/lib/one-1.0.dist-info/METADATA",
        "opt/operator/lib/one-1.0.dist-info/RECORD",
        "opt/operator/lib/one-1.0.dist-info/WHEEL",
        "opt/operator/lib/one-1.0.dist-info/entry_points.txt",
        "opt/operator/lib/one/__init__.py",
        "usr/lib/amd64",
    ]
    facts = run(image_job.inspect(made.reference, access(project)))
    assert facts.run["Entrypoint"] == ["python", "-m", "some_operator"]
    assert facts.annotations["org.opencontainers.image.base.digest"] == str(BASE.images[0].digest)
    assert made.layout.endswith("dist/oci:some-operator:v1.0")


def test_the_same_input_has_the_same_digest_and_collects_nothing(project: Path) -> None:
    first, said = build(project), []
    again = build(project, said=said)
    assert again.reference == first.reference
    assert said == ["packages for linux/amd64: unchanged"]
    (project.parent / "cache").rename(project.parent / "gone")
    assert build(project).reference == first.reference


def test_changed_code_only_changes_the_last_layer(project: Path, registry: RegistryServer) -> None:
    target = f"{registry.host}/image-build/code:v1"
    first = build(project, target=target, push=True)
    assert all(step.outcome is not TransferOutcome.PRESENT for step in first.steps)
    (project / "some_operator" / "__init__.py").write_text("x = 2\n")
    second = build(project, target=target, push=True)
    sent = [
        step.descriptor.media_type for step in second.steps if step.outcome is TransferOutcome.SENT
    ]
    assert sorted(sent) == [
        MediaType.OCI_CONFIG,
        MediaType.OCI_LAYER_GZIP,
        MediaType.OCI_MANIFEST,
    ]
    third = build(project, target=target, push=True)
    assert [step.outcome for step in third.steps] == [TransferOutcome.PRESENT]


def test_several_platforms_come_from_one_machine(
    project: Path, make_wheel: Callable[..., Path]
) -> None:
    for machine in ("x86_64", "aarch64"):
        make_wheel(project / "wheels", "one", f"cp312-cp312-manylinux_2_17_{machine}")
    made = build(project, AMD64, ARM64)
    assert made.platforms == ("linux/amd64", "linux/arm64")
    for platform, machine in ((AMD64, b"x86_64"), (ARM64, b"aarch64")):
        tree = run(files(made.reference, platform))
        assert machine in tree.data("opt/operator/lib/one/__init__.py")
        assert f"usr/lib/{platform.architecture}" in tree


def test_a_base_from_a_registry_is_cached_until_an_update_is_requested(
    project: Path, registry: RegistryServer
) -> None:
    name = f"{registry.host}/image-build/base:v1"
    run(image_job.copy(f"oci:{project.parent}/base:python", name, access(project)))
    first = build(project, base=name)
    other = image.label(BASE.images[0], {"new": "yes"})
    store = MemoryStore.of(other)
    run(transfer.copy(store, Layout(project.parent / "other"), other.descriptor, tag="x"))
    run(image_job.copy(f"oci:{project.parent}/other:x", name, access(project)))
    assert build(project, base=name).digest == first.digest
    newer = build(project, base=name, pull=True)
    assert newer.digest != first.digest
    assert build(project, base=name).digest == newer.digest


def test_a_base_for_another_platform_is_refused(project: Path) -> None:
    only = BASE.images[0]
    run(
        transfer.copy(
            MemoryStore.of(only), Layout(project.parent / "one"), only.descriptor, tag="x"
        )
    )
    with pytest.raises(InputError, match="is not for `linux/arm64` but for `linux/amd64`"):
        build(project, ARM64, base=f"oci:{project.parent}/one:x")
    with pytest.raises(InputError, match="is not for `linux/s390x`"):
        build(project, replace(AMD64, architecture="s390x"))


def test_the_bill_of_materials_is_next_to_the_packages(project: Path) -> None:
    plain = build(project)
    tree = run(files(build(project, sbom=True).reference, AMD64))
    value = json.loads(tree.data("opt/operator/sbom.cdx.json"))
    assert [part["name"] for part in value["components"]] == ["one"]
    assert build(project).digest == plain.digest


def test_a_plan_describes_the_build_and_builds_nothing(project: Path) -> None:
    planned = job.plan(options(project, base=""))
    assert planned.base == "docker.io/library/python:3.13-slim"
    assert planned.entrypoint == ("python", "-m", "some_operator")
    assert not (project / "dist").exists()


def test_a_base_that_the_containerfile_pins_is_the_default(project: Path) -> None:
    pinned = f"docker.io/library/python@sha256:{'a' * 64}"
    assert job.plan(options(project, base="")).base == image_plan.DEFAULT_BASE
    (project / "Containerfile").write_text("ARG BASE=python:3.13-slim\nFROM ${BASE}\n")
    assert job.plan(options(project, base="")).base == image_plan.DEFAULT_BASE
    (project / "Containerfile").write_text(f"ARG BASE={pinned}\nFROM ${{BASE}}\n")
    assert job.plan(options(project, base="")).base == pinned
    assert job.plan(options(project, base="other")).base == "other"
    settings = (project / "pyproject.toml").read_text() + '\n[tool.olmkit]\nimage-base = "set"\n'
    (project / "pyproject.toml").write_text(settings)
    assert job.plan(options(project, base="")).base == "set"


@pytest.mark.parametrize("language", ["helm", "ansible"])
@pytest.mark.parametrize("engine", ["", "docker"])
def test_a_lock_without_the_runtime_is_refused(language: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "PROJECT").write_text(
        f'version: "3"\nprojectName: a\nlayout: [{config.WATCHED_LAYOUTS[language]}]\n'
    )
    (tmp_path / "Containerfile").write_text("FROM scratch\nCOPY requirements.lock .\n")
    (tmp_path / "requirements.lock").write_text("kubernetes==1.0 --hash=sha256:0\n")
    wanted = options(tmp_path, base="", wheels="", engine=engine)
    with pytest.raises(ConfigurationError) as error:
        run(job.build(wanted, Access()))
    assert error.value.message == (
        "`requirements.lock` lacks `olmkit-runtime`, which the image requires"
    )


def test_only_a_file_with_hashes_is_a_lock(project: Path) -> None:
    (project / "requirements.txt").write_text("one\n")
    assert job.plan(options(project)).lock == ""
    (project / "requirements.txt").write_text("one==1.0 --hash=sha256:0\n")
    assert job.plan(options(project)).lock == "requirements.txt"


@pytest.mark.parametrize("engine", ["", "docker"])
def test_a_lock_without_a_required_package_is_refused(project: Path, engine: str) -> None:
    text = (project / "pyproject.toml").read_text()
    (project / "pyproject.toml").write_text(
        text.replace('dependencies = ["one', 'dependencies = ["two>=1", "one')
    )
    (project / "requirements.lock").write_text("one==1.0 --hash=sha256:0\n")
    (project / "Containerfile").write_text("FROM scratch\nCOPY requirements.lock .\n")
    (project / "Makefile").write_text("lock: x\n\ttrue\n")
    with pytest.raises(ConfigurationError, match=r"`requirements\.lock` lacks `two`") as error:
        build(project, engine=engine, wheels="")
    assert error.value.hint == "write it again: `make lock`"
    (project / "requirements.lock").write_text("one==1.0 --hash=sha256:0\nTwo==1 --hash=sha256:1")
    assert job.plan(options(project)).lock == "requirements.lock"


@pytest.mark.parametrize(
    ("makefile", "command"),
    [
        ("", "uv pip compile --generate-hashes pyproject.toml -o requirements.lock"),
        ("lock: x\n\ttrue\n", "make lock"),
    ],
)
def test_the_hint_names_the_command_that_writes_a_lock(
    project: Path, makefile: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for installer in ("UV", "PIP"):
        monkeypatch.setenv(f"{installer}_NO_INDEX", "1")
        monkeypatch.setenv(f"{installer}_FIND_LINKS", str(project / "wheels"))
    (project / "Makefile").write_text(makefile)
    said: list[str] = []
    build(project, wheels="", said=said)
    assert f"no file with versions and hashes: `{command}` writes one" in said


def test_an_engine_needs_a_containerfile_and_wheels_in_its_context(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no Containerfile"):
        build(project, engine="docker")
    (project / "Containerfile").write_text("FROM scratch\n")
    with pytest.raises(ConfigurationError, match="can read only the project's folder"):
        build(project, engine="docker", wheels=str(project.parent))
    with pytest.raises(ConfigurationError, match="one platform at a time"):
        build(project, AMD64, ARM64, engine="docker")


def test_the_error_of_an_unreachable_base_names_the_option_for_another(project: Path) -> None:
    with pytest.raises(RemoteError) as caught:
        build(project, base="127.0.0.1:1/base/python:3")
    assert caught.value.hint.endswith("; `--base` names another base")


def test_a_missing_directory_of_wheels_is_named(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not a folder of wheels"):
        build(project, wheels=str(project / "none"))


def test_push_uses_the_image_that_was_built(project: Path, registry: RegistryServer) -> None:
    made = build(project)
    target = f"{registry.host}/image-build/pushed:v1"
    pushed = run(publish.push_image("", target, access(project), project=project))
    assert pushed.digest == made.digest
    assert run(image_job.inspect(pushed.reference, access(project))).digest == made.digest
    with pytest.raises(ConfigurationError, match="is a folder, not an image"):
        run(publish.push_image(str(project), target, access(project)))
    with pytest.raises(ConfigurationError, match="there is no image") as caught:
        run(publish.push_image("", target, access(project), project=project.parent))
    assert caught.value.hint == "build one first: `olmkit image build`"


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("", "no registry to push to"),
        (f"a.b/c@sha256:{'0' * 64}", "which only the content determines"),
    ],
)
def test_an_invalid_target_is_refused_before_any_work(
    project: Path, target: str, words: str
) -> None:
    said: list[str] = []
    with pytest.raises(ConfigurationError, match=words):
        build(project, said=said, target=target, push=True)
    assert said == []


OWN = f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_the_image_contains_bytecode_of_packages_and_code(project: Path) -> None:
    made = build(project, python=OWN, bytecode=True)
    tree = run(files(made.reference, AMD64))
    tag = sys.implementation.cache_tag
    assert [path for path in tree if path.endswith(".pyc")] == [
        f"opt/operator/app/some_operator/__pycache__/__init__.{tag}.pyc",
        f"opt/operator/lib/one/__pycache__/__init__.{tag}.pyc",
    ]
    (project.parent / "cache").rename(project.parent / "gone")
    assert build(project, python=OWN, bytecode=None).reference == made.reference
    without = build(project, python=OWN, bytecode=False)
    assert without.reference != made.reference


def test_bytecode_that_cannot_be_compiled_is_reported_once_or_refused(project: Path) -> None:
    (project / "pyproject.toml").write_text(PYPROJECT.replace('["one"]', "[]"))
    said: list[str] = []
    build(project, AMD64, ARM64, python="3.99", bytecode=None, said=said)
    assert said == [
        "bytecode: none, since no Python 3.99 is installed; containers start slower",
    ]
    with pytest.raises(ConfigurationError, match=r"no Python 3\.99 on this machine") as caught:
        build(project, python="3.99", bytecode=True)
    assert "`--no-bytecode`" in caught.value.hint


def test_the_lock_and_the_version_come_from_the_files_of_the_project(project: Path) -> None:
    text = PYPROJECT.replace('version = "1.0"', 'dynamic = ["version"]')
    text += '[tool.hatch.version]\npath = "some_operator/__init__.py"\n'
    text += '[tool.olmkit]\nimage-lock = "locks/image.lock"\n'
    (project / "pyproject.toml").write_text(text)
    (project / "some_operator" / "__init__.py").write_text('"""Code."""\n__version__ = "2.1"\n')
    planned = job.plan(options(project))
    assert (planned.lock, planned.application.version) == ("locks/image.lock", "2.1")
    (project / "some_operator" / "__init__.py").write_text("x = 1\n")
    assert job.plan(options(project)).application.version == ""
    with pytest.raises(ConfigurationError, match=r"locks/image\.lock` does not exist"):
        build(project)


def test_olmkits_own_image_has_the_packages_of_its_lock(root: Path) -> None:
    planned = job.plan(ImageBuildOptions(publish=PublishOptions(project=root)))
    assert planned.lock == "image.lock"
    assert planned.entrypoint == ("python", "-m", "olmkit")
    assert planned.application.version
    lock = (root / "image.lock").read_text()
    assert "\ngrpcio==" in lock
    assert "\npytest==" not in lock
    assert set(re.findall(r"^[\w.-]+==\S+", lock, re.MULTILINE)) <= set(
        re.findall(r"^[\w.-]+==\S+", (root / "requirements.lock").read_text(), re.MULTILINE)
    )
