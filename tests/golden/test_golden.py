"""Every folder `tests/golden/<job>/<case>` is one run of the program.

`command` has the arguments of `olmkit` (quoted as for a shell), `input/` is the
folder it runs in, `stdin` its standard input; `expected/` has `stdout`, `stderr`,
`exit`, and below `files/` every file that the run wrote or changed. `base` names folders of
`tests/golden/bases`, one a line: inputs that cases share, copied before `input/`.
`make golden` rewrites `expected/`.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from olmkit.cli import main

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/*/command"))


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _base_names(case: Path) -> list[str]:
    base = case / "base"
    return base.read_text().split() if base.exists() else []


def _inputs(case: Path) -> list[Path]:
    shared = [HERE / "bases" / name for name in _base_names(case)]
    return [*shared, *[case / "input"] * (case / "input").is_dir()]


def _run(case: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    for source in _inputs(case):
        shutil.copytree(source, folder, dirs_exist_ok=True)
    before = _files(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("GOMODCACHE", str(folder / "no-cache"))
    for name in [name for name in os.environ if name.startswith("OLMKIT_")]:
        monkeypatch.delenv(name)
    streams = {
        name: io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for name in ("stdout", "stderr")
    }
    for name, stream in streams.items():
        monkeypatch.setattr(sys, name, stream)
    stdin = case / "stdin"
    text = io.TextIOWrapper(
        io.BytesIO(stdin.read_bytes() if stdin.exists() else b""), encoding="utf-8"
    )
    monkeypatch.setattr(sys, "stdin", text)
    code = main.run(shlex.split((case / "command").read_text(), comments=True))
    seen: dict[str, bytes] = {"exit": f"{int(code)}\n".encode()}
    for name, stream in streams.items():
        stream.flush()
        content = stream.buffer.getvalue()  # type: ignore[attr-defined]
        if content:
            seen[name] = content
    after = _files(folder)
    seen |= {f"files/{path}": data for path, data in after.items() if before.get(path) != data}
    seen |= {f"removed/{path}": b"" for path in before if path not in after}
    return seen


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_the_program_says_and_writes_what_is_expected(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite = os.environ.get("OLMKIT_GOLDEN") == "rewrite"

    seen = _run(case, tmp_path, monkeypatch)

    expected = case / "expected"
    if rewrite:
        shutil.rmtree(expected, ignore_errors=True)
        for path, data in seen.items():
            (expected / path).parent.mkdir(parents=True, exist_ok=True)
            (expected / path).write_bytes(data)
    assert seen == _files(expected)


def test_there_are_golden_cases() -> None:
    assert CASES


def test_every_base_is_used_by_several_cases() -> None:
    users = [name for case in CASES for name in _base_names(case)]

    assert {path.name for path in (HERE / "bases").iterdir()} == {
        name for name in users if users.count(name) > 1
    }
