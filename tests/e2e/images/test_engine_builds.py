"""One Containerfile, built by an engine and by olmkit: both images behave alike."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

PYPROJECT = """
[project]
name = "tiny-operator"
version = "1.0"
description = "Says what it is"
dependencies = ["one"]
"""
MAIN = """
import os, sys, one
print(one.tag, os.getuid(), os.getcwd(), sys.argv[1:])
"""
FILES = "import os; print(*sorted(os.path.join(f, n) for f, _, ns in os.walk('/opt') for n in ns))"
# Records of pip about an installation that olmkit omits.
NOTES = ("INSTALLER", "REQUESTED", "direct_url.json")


@pytest.fixture
def project(tmp_path: Path, root: Path, make_wheel: Callable[..., Path]) -> Path:
    """A small operator with the shipped operator's Containerfile."""
    folder = tmp_path / "project"
    (folder / "tiny_operator").mkdir(parents=True)
    (folder / "tiny_operator" / "__init__.py").write_text("")
    (folder / "tiny_operator" / "__main__.py").write_text(MAIN)
    (folder / "pyproject.toml").write_text(PYPROJECT)
    text = (root / "operator" / "Containerfile").read_text()
    (folder / "Containerfile").write_text(text.replace("memcached_operator", "tiny_operator"))
    make_wheel(folder / "wheels", "one")
    return folder


@pytest.mark.parametrize("program", ["docker", "podman"])
def test_both_images_behave_alike(
    program: str,
    request: pytest.FixtureRequest,
    project: Path,
    base_layout: str,
    docker: Callable[..., str],
    olmkit: Callable[..., str],
    tmp_path: Path,
) -> None:
    wheels = ("--wheels", project / "wheels")
    olmkit("image", "copy", base_layout, "docker-daemon:olmkit-test-base:v1")
    environment, base = {}, "olmkit-test-base:v1"
    if program == "podman":
        environment, base = request.getfixturevalue("podman"), f"localhost/{base}"
    engine = olmkit(
        *("image", "build", "-C", project, "--engine", program, *wheels),
        *("--base", base, "-t", f"oci:{tmp_path}/engine:v1"),
        OLMKIT_BUILD_NETWORK="none",
        **environment,
    )
    ours = olmkit(
        "image", "build", "-C", project, "--base", "docker-daemon:olmkit-test-base:v1", *wheels
    )
    try:
        seen = []
        for name, reference in (("engine", engine), ("ours", ours)):
            tag = f"olmkit-test-{name}:v1"
            olmkit("image", "copy", reference, f"docker-daemon:{tag}")
            run = ("run", "--rm", "--network", "none", "--read-only")
            said = docker(*run, tag, "a", "b")
            files = docker(*run, "--entrypoint", "python", tag, "-c", FILES).split()
            options = json.loads(docker("inspect", "-f", "{{json .Config}}", tag))
            seen.append(
                (
                    said,
                    [file for file in files if not file.endswith(NOTES)],
                    {key: options[key] for key in ("User", "Env", "Entrypoint", "WorkingDir")},
                )
            )
        # The image of olmkit has bytecode if this machine has the base's Python; an engine runs it.
        compiled = [[file for file in files if file.endswith(".pyc")] for _, files, _ in seen]
        assert len(compiled[0]) == 3
        assert compiled[1] in ([], compiled[0])
        for _, files, _ in seen:
            files[:] = [file for file in files if not file.endswith(".pyc")]
        assert seen[0] == seen[1]
        assert seen[0][0] == "py3-none-any 65532 /opt/operator ['a', 'b']\n"
    finally:
        for name in ("base", "engine", "ours"):
            docker("rmi", "--force", f"olmkit-test-{name}:v1")


def test_a_platform_that_the_base_does_not_have_is_refused(
    project: Path, base_layout: str, olmkit: Callable[..., str]
) -> None:
    with pytest.raises(AssertionError, match="is not for `linux/s390x`"):
        olmkit(
            *("image", "build", "-C", project, "--base", base_layout),
            *("--platform", "linux/s390x", "--wheels", project / "wheels"),
        )
    assert not (project / "dist").exists()


def test_a_bundle_built_by_an_engine_is_read_like_olmkits(
    root: Path, docker: Callable[..., str], olmkit: Callable[..., str], tmp_path: Path
) -> None:
    shutil.copytree(root / "bundle" / "0.0.2", tmp_path / "bundle")
    engine = olmkit(
        *("bundle", "build", "-C", tmp_path, "--engine", "docker", "-t", f"oci:{tmp_path}/e:v1")
    )
    ours = olmkit("bundle", "build", "-C", tmp_path, "-t", f"oci:{tmp_path}/o:v1")
    try:
        labels = [
            json.loads(olmkit("image", "inspect", "-o", "json", reference))["result"]["labels"]
            for reference in (engine, ours)
        ]
        assert labels[0] == labels[1]
        rendered = [
            json.loads(olmkit("catalog", "render", "-o", "json", reference)) | {"image": ""}
            for reference in (engine, ours)
        ]
        for value in rendered:
            value["relatedImages"] = [one for one in value["relatedImages"] if one.get("name")]
        assert rendered[0] == rendered[1]
    finally:
        docker("rmi", "--force", "memcached-operator-bundle:v0.0.2")
