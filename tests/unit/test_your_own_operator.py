"""The author's tutorial is true: its blocks are run in order, but for those on a cluster."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)( cluster)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def _venv(place: Path) -> None:
    """The tools of this run as the project's own environment."""
    place.mkdir()
    prefix = Path(sys.prefix)
    for name in ("bin", "lib"):
        (place / name).symlink_to(prefix / name)
    if (prefix / "pyvenv.cfg").exists():
        shutil.copy(prefix / "pyvenv.cfg", place)
    (place / ".ready").touch()


def _run(script: str, folder: Path, path: str) -> str:
    # Where the shell ends up is where the next block begins.
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", script + '\npwd >"$OLDPWD_FILE"\n'],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={
            **{key: value for key, value in os.environ.items() if not key.startswith("OLMKIT_")},
            "PATH": path,
            "OLDPWD_FILE": str(folder.parent / "where"),
            "VENV": ".venv",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
        },
    )
    assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def test_the_tutorial_can_be_followed(root: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    olmkit = tools / "olmkit"
    olmkit.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m olmkit "$@"\n')
    olmkit.chmod(0o755)
    path = f"{tools}:{os.environ['PATH']}"
    folder = tmp_path / "work"
    folder.mkdir()
    said = ""
    blocks = BLOCK.findall((root / "docs/your-own-operator.md").read_text())
    assert len(blocks) > 10
    for language, on_cluster, text in blocks:
        if on_cluster:
            continue
        match language:
            case "sh":
                said = _run(text, folder, path)
                assert "warning" not in said
                folder = Path((folder.parent / "where").read_text().strip())
                if (folder / "Makefile").exists() and not (folder / ".venv").exists():
                    _venv(folder / ".venv")
            case "diff":
                subprocess.run(["git", "apply", "-"], input=text, text=True, cwd=folder, check=True)
            case "text":
                assert text in said
            case _:
                raise AssertionError(f"a block of {language}")
    assert (folder / "catalog/catalog.yaml").read_text().count("schema: olm.bundle") == 1
