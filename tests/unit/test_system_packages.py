"""`scripts/system-packages` while another installation holds the lock of apt."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/system-packages"
LOCKED = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)"


def _run(folder: Path, message: str, failures: int) -> subprocess.CompletedProcess[str]:
    """Run it as root with an apt-get whose first calls fail with `message`."""
    tools = {
        "apt-get": f'echo "$*" >>{folder}/calls\n'
        f"[ $(wc -l <{folder}/calls) -gt {failures} ] || {{ echo '{message}' >&2; exit 100; }}",
        "id": "echo 0",
        "ldd": "exit 0",
    }
    for name, script in tools.items():
        tool = folder / name
        tool.write_text(f"#!/bin/sh\n{script}\n")
        tool.chmod(0o755)
    for name in ("sh", "wc", "sleep", "echo"):
        (folder / name).symlink_to(next(p for p in (Path("/bin") / name, Path("/usr/bin") / name)
                                        if p.exists()))  # fmt: skip
    # The system's own directories have apt-get, and perhaps the packages: the script adds two.
    text = SCRIPT.read_text().replace('PATH="$PATH:/usr/sbin:/sbin"\n', "")
    return subprocess.run(
        ["/bin/sh", "-c", text, "system-packages"],
        env={"PATH": str(folder), "OLMKIT_APT_PAUSE": "0"},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_it_waits_for_the_lock_and_then_installs(tmp_path: Path) -> None:
    done = _run(tmp_path, LOCKED, failures=3)
    calls = (tmp_path / "calls").read_text().splitlines()

    assert done.returncode == 0, done.stderr
    assert done.stderr.count("waiting for another installation") == 1
    assert [" update " in f"{call} " for call in calls] == [True, True, True, True, False]
    assert "docker-registry" in calls[-1]


@pytest.mark.parametrize("message", ["E: Unable to locate package skopeo"])
def test_another_failure_ends_it_at_once(tmp_path: Path, message: str) -> None:
    done = _run(tmp_path, message, failures=99)

    assert done.returncode == 1
    assert message in done.stderr
    assert len((tmp_path / "calls").read_text().splitlines()) == 1
