"""Every directory `tests/golden/<job>/<case>` is one run of the program.

`command` has the arguments of `olmkit` (quoted as for a shell), `input/` is the directory
in which it runs, `stdin` its standard input; `expected/` has `stdout`, `stderr`,
`exit`, and below `files/` every file that the run wrote or changed. `base` names inputs that cases
share (see `tests/golden_inputs.py`). `listed` has patterns of written files of which only the
names are compared, in `expected/listing`.
`make golden` rewrites `expected/`.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest

from olmkit.cli import main, table
from tests import golden_inputs

HERE = Path(__file__).parent
CASES = sorted(path.parent for path in HERE.glob("*/*/command"))
# Copies of files that are not longer are easier to read next to the case.
FEW_LINES, FEW_BYTES = 6, 500


def _files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _is_listed(case: Path, path: str) -> bool:
    patterns = case / "listed"
    return patterns.exists() and any(
        fnmatch(path, pattern) for pattern in patterns.read_text().split()
    )


def _words(case: Path, *options: str) -> list[str]:
    """Return the arguments of a case, with `options` after the name of the command."""
    words = shlex.split((case / "command").read_text(), comments=True)
    length = max((n for n in (1, 2, 3) if " ".join(words[:n]) in table.COMMANDS), default=None)
    return words if length is None else [*words[:length], *options, *words[length:]]


def _run(
    case: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str
) -> dict[str, bytes]:
    golden_inputs.copy(case, folder)
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
    code = main.run(_words(case, *options))
    seen: dict[str, bytes] = {"exit": f"{int(code)}\n".encode()}
    for name, stream in streams.items():
        stream.flush()
        content = stream.buffer.getvalue()  # type: ignore[attr-defined]
        if content:
            seen[name] = content
    after = _files(folder)
    changed = {path: data for path, data in after.items() if before.get(path) != data}
    listed = [path for path in changed if _is_listed(case, path)]
    if listed:
        seen["listing"] = "".join(f"{path}\n" for path in listed).encode()
    seen |= {f"files/{path}": data for path, data in changed.items() if path not in listed}
    seen |= {f"removed/{path}": b"" for path in before if path not in after}
    return seen


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_the_program_prints_and_writes_what_is_expected(
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


# What quiet users still see on stderr: findings and errors.
FINDING = re.compile(rb"(error|warning|info)(\[[A-Z0-9]+\])?: ")


def _talks(case: Path) -> bool:
    """Return whether a run prints more than findings, or lists what it has written."""
    told = _text(case / "expected/stderr").encode()
    written = (case / "expected/files").exists() or (case / "expected/listing").exists()
    return bool(told and not FINDING.match(told)) or bool(
        written and _text(case / "expected/stdout")
    )


TALKING = [case for case in CASES if _talks(case)]


@pytest.mark.parametrize("case", TALKING, ids=lambda case: f"{case.parent.name}/{case.name}")
def test_quiet_omits_all_output_except_results_and_findings(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = _run(case, tmp_path, monkeypatch, "-q")
    expected = _files(case / "expected")

    told = seen.pop("stderr", b"")
    if told:
        assert FINDING.match(told), told.decode()
    said = seen.pop("stdout", b"")
    assert said in (expected.pop("stdout", b""), b""), said.decode()
    expected.pop("stderr", None)
    assert seen == expected


def test_there_are_golden_cases() -> None:
    assert CASES


def test_every_file_of_a_base_is_used_by_several_cases() -> None:
    users = Counter(file for case in CASES for file in set(golden_inputs.files(case).values()))
    files = {path for path in golden_inputs.BASES.rglob("*") if path.is_file()}

    assert files == {path for path in users if golden_inputs.BASES in path.parents}
    assert [str(path) for path in files if users[path] < 2] == []


def test_input_files_that_are_copies_are_in_a_base() -> None:
    seen: dict[bytes, Path] = {}
    copies = []
    for path in sorted({file for case in CASES for file in golden_inputs.files(case).values()}):
        content = path.read_bytes()
        if content.count(b"\n") > FEW_LINES or len(content) > FEW_BYTES:
            if content in seen:
                copies.append(f"{path.relative_to(HERE)} = {seen[content].relative_to(HERE)}")
            seen[content] = path

    assert copies == []
