"""Container engines through their command line: a test program replaces docker."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.build import engine
from olmkit.oci.content import Platform


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A `docker` that records its arguments, and fails for the image `bad`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "docker"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" >{tmp_path}/words\necho "Step 1/1"\necho\n'
        'case " $* " in *" bad "*) echo "no space left"; exit 1 ;; esac\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return tmp_path / "words"


def build(folder: Path, name: str, said: list[str], **environment: str) -> None:
    asyncio.run(
        engine.build(
            "docker",
            folder,
            "Containerfile",
            name,
            arguments={"BASE": "x"},
            platform=Platform(os="linux", architecture="arm64"),
            environment={**os.environ, **environment},
            say=said.append,
        )
    )


def test_the_engine_gets_file_name_platform_and_arguments(docker: Path, tmp_path: Path) -> None:
    said: list[str] = []
    build(tmp_path, "good", said, OLMKIT_BUILD_NETWORK="host")
    assert docker.read_text().split() == [
        *("build", "--file", f"{tmp_path}/Containerfile", "--tag", "good"),
        *("--platform", "linux/arm64", "--network", "host", "--build-arg", "BASE=x"),
        str(tmp_path),
    ]
    assert said == ["Step 1/1"]


@pytest.mark.usefixtures("docker")
def test_the_last_output_of_the_engine_is_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(RemoteError, match="`docker build` did not succeed:\nStep 1/1\nno space"):
        build(tmp_path, "bad", [])


def test_an_image_is_saved_to_a_file(docker: Path, tmp_path: Path) -> None:
    asyncio.run(engine.save("docker", "good", tmp_path / "x.tar", os.environ))
    assert docker.read_text().split() == ["save", "--output", f"{tmp_path}/x.tar", "good"]


def test_a_missing_engine_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigurationError, match="`docker` is not installed"):
        build(tmp_path, "good", [])
