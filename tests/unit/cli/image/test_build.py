"""`olmkit image build` when it is interrupted: it stops, and no files remain."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from olmkit.cli import main
from olmkit.edges.images import transfer
from olmkit.edges.images.layout import Layout
from olmkit.oci import image
from olmkit.oci.content import Platform
from olmkit.oci.store import MemoryStore
from tests.processes import wait_for_end

BASE = image.configure(
    image.scratch(Platform(os="linux", architecture="amd64")), {"Env": ["PYTHON_VERSION=3.12"]}
)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_the_installer_ends_with_olmkit_and_its_files_are_removed(
    tmp_path: Path, sent: signal.Signals
) -> None:
    asyncio.run(
        transfer.copy(
            MemoryStore.of(BASE), Layout(tmp_path / "base"), BASE.descriptor, tag="python"
        )
    )
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "__init__.py").write_text("")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\nname = "some"\nversion = "1"\ndependencies = ["one"]\n'
    )
    for folder in ("bin", "tmp"):
        (tmp_path / folder).mkdir()
    uv = tmp_path / "bin" / "uv"
    os.mkfifo(tmp_path / "pipe")
    uv.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/pipe\nexec sleep 600\n")
    uv.chmod(0o755)
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "olmkit", "image", "build", "--platform", "linux/amd64"),
            *("--base", f"oci:{tmp_path}/base:python"),
        ],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        env=os.environ
        | {
            "PATH": f"{tmp_path}/bin:{os.environ['PATH']}",
            "TMPDIR": str(tmp_path / "tmp"),
            "OLMKIT_CACHE": str(tmp_path / "cache"),
        },
    )
    with process:
        child = int((tmp_path / "pipe").read_text())  # waits until the file is written
        process.send_signal(sent)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.decode().endswith("interrupted\n")
    wait_for_end(child)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_plan_is_that_of_a_build_without_an_engine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["image", "build", "--engine", "docker", "--dry-run"]) == 2
    assert "leave `--dry-run` out, or `--engine`" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--tag", "--base"])
def test_a_plan_has_no_invalid_names_of_images(
    option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    operator = str(Path(__file__).parents[4] / "operator")
    words = ["image", "build", "-C", operator, "--dry-run"]
    assert main.run([*words, option, "quay.io/example/Operator:v1"]) == 2
    assert "`quay.io/example/Operator:v1` is not an image reference" in capsys.readouterr().err
    assert main.run([*words, option, "quay.io/example/operator:v1"]) == 0
