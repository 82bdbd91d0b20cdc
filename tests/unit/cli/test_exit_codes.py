"""Each exit code in the README's table is provoked; commands that wait are interrupted."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from olmkit.cli import main
from olmkit.cli.frame.exits import Exit

ROOT = Path(__file__).parents[3]
TERMINATED = 128 + signal.SIGTERM
WAITING = """\
image inspect localhost:{port}/a/b:c
catalog render localhost:{port}/a/b:c
hub build localhost:{port}/a/b:c -d pages
status
why memcached-operator
install memcached-operator --catalog quay.io/example/catalog:v1
"""


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A server on loopback that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


def test_readme_lists_all_exit_codes() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    listed = re.findall(r"^\| (\d+) \| ", text, re.MULTILINE)
    assert [int(code) for code in listed] == sorted({*map(int, Exit), TERMINATED})


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("explain CSV001", 0),
        ("explain CSV999", 2),
        ("catalog path catalog not-a-package --from 1.0.0", 1),
        ("bundle validate missing", 2),
        ("bundle validate --no-such-option", 2),
        ("render -C missing config/default", 2),
        ("status --kubeconfig {kubeconfig}", 3),
    ],
)
@pytest.mark.parametrize("form", [(), ("-o", "json")])
def test_the_exit_code_does_not_depend_on_the_output_format(
    words: str,
    code: int,
    form: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(ROOT)
    line = words.format(kubeconfig=_kubeconfig(tmp_path, 1)).split()
    assert main.run([*line, *form]) == code
    said = capsys.readouterr()
    if form:
        assert json.loads(said.out)["version"] == 1
        assert "error:" not in said.err


@pytest.mark.parametrize("line", WAITING.splitlines())
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_waits_for_a_server_is_interrupted(
    line: str, sent: signal.Signals, silent: socket.socket, tmp_path: Path
) -> None:
    port = silent.getsockname()[1]
    words = line.format(port=port).split()
    with subprocess.Popen(
        [sys.executable, "-m", "olmkit", *words],
        cwd=tmp_path if "hub" in line else ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "KUBECONFIG": str(_kubeconfig(tmp_path, port))},
    ) as process:
        try:
            connection, _ = silent.accept()
            with connection:
                process.send_signal(sent)
                out, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == Exit.INTERRUPTED
    assert out == ""
    assert err.splitlines()[-1] == "interrupted"
    assert not (tmp_path / "pages").exists()


@pytest.mark.parametrize("command", ["hub", "catalog"])
def test_a_server_that_is_terminated_ends_with_0(command: str, tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "olmkit", command, "serve", str(ROOT / "catalog"), "--port", "0"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    ) as process:
        try:
            assert process.stdout is not None
            assert "serving" in process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            rest, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in rest


def _kubeconfig(folder: Path, port: int) -> Path:
    file = folder / "kubeconfig"
    value = {
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {}}],
        "current-context": "c",
    }
    file.write_text(json.dumps(value))
    return file
