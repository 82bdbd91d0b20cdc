"""Findings about catalogs, compared with the messages of `opm validate`.

The vectors are small catalogs with one error each, and the recorded messages
of opm v1.73.0. The result must be the same. For a refused catalog, olmkit must report each
message of the reference; where the reference also collects its messages, olmkit must not
have others. `differences.toml` has the exceptions and their reasons.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import Severity
from olmkit.base.yaml import problems
from olmkit.jobs.catalog import catalogs as job
from olmkit.jobs.catalog.catalogs import ValidateOptions
from olmkit.jobs.validation import ValidationResult

HERE = Path(__file__).parent
DIFFERENCES: dict[str, str] = tomllib.loads((HERE / "differences.toml").read_text("utf-8"))["cases"]
OPTIONS = ValidateOptions(profile="operator-sdk")

# Cases with a link; a copy without links has a file with the name of the target.
LINKS = {
    "files-symlink-file": "catalog.yaml",
    "files-symlink-directory": "linked",
    "files-symlink-broken": "gone.yaml",
}

# What the reference adds to messages of its JSON and YAML readers: a position without a file.
_AROUND = re.compile(
    r"^error (?:converting YAML to JSON|unmarshaling JSON): (?:yaml: |while decoding JSON: )?"
    r"|(?<=yaml: )line \d+: |^line \d+: |^json: offset \d+: | at offset \d+ \(indicated by <==\).*",
    re.DOTALL,
)
_NOT_YAML = re.compile(
    "|".join(
        [
            r"not valid YAML: [^\n]*",
            *map(re.escape, [*problems.TABLE, "found character that cannot start any token"]),
        ]
    )
)
_INNER_NODE = re.compile(r'invalid (?:index|(?:package|channel|bundle) ".*"):')


def test_the_result_is_that_of_the_reference_with_its_messages(
    vectors: Path, tmp_path: Path
) -> None:
    differing: dict[str, str] = {
        vector["case"]: difference
        for vector in _vectors(vectors)
        if (difference := _difference(vector, _folder(vectors, vector["case"], tmp_path)))
    }

    assert {case: differing[case] for case in differing if case not in DIFFERENCES} == {}
    assert [case for case in DIFFERENCES if case not in differing] == []


def test_no_difference_is_in_the_result(vectors: Path, tmp_path: Path) -> None:
    verdicts = {
        vector["case"]: (_check(_folder(vectors, vector["case"], tmp_path)).passed, vector)
        for vector in _vectors(vectors)
        if vector["case"] in DIFFERENCES
    }

    assert [case for case, (ours, its) in verdicts.items() if ours != _passed(its)] == []


def test_real_catalogs_are_valid(cases: Path) -> None:
    for folder in sorted((cases / "catalogs").glob("*/*")):
        assert _check(folder).passed, folder


def _vectors(vectors: Path) -> Iterator[dict[str, Any]]:
    lines = (vectors / "rules" / "catalogs.jsonl").read_text("utf-8").split("\n")
    return (json.loads(line) for line in lines if line)


def _folder(vectors: Path, case: str, spare: Path) -> Path:
    """Return the catalog of a case, with its links and an empty directory, which copies lack."""
    folder = vectors / "rules" / "catalogs" / case
    if not folder.is_dir():
        return spare
    if case not in LINKS:
        return folder
    made = spare / case
    if not made.exists():
        shutil.copytree(folder, made)
        link = made / LINKS[case]
        target = link.read_text("utf-8").strip()
        link.chmod(0o644)
        made.chmod(0o755)
        link.unlink()
        link.symlink_to(target)
    return made


def _check(folder: Path) -> ValidationResult:
    (result,) = job.validate([str(folder)], OPTIONS)
    return result


def _passed(vector: dict[str, Any]) -> bool:
    return bool(vector["validate"]["exit"] == 0)


def _difference(vector: dict[str, Any], folder: Path) -> str:
    """Return the difference; empty if there is none."""
    result = _check(folder)
    ours = [found.message for found in result.diagnostics if found.severity is Severity.ERROR]
    if result.error is not None:
        ours.append(result.error.message)
    if result.passed or _passed(vector):
        return "" if result.passed == _passed(vector) else f"verdict: ours {ours}"
    told = _told(vector["validate"]["stderr"])
    its = [_plain(message) for message in _leaves(told)]
    missing = [message for message in its if message not in map(_plain, ours)]
    if missing:
        return f"the reference says {missing}, ours {ours}"
    if told.startswith("invalid index:"):
        more = [message for message in ours if _plain(message) not in its]
        return f"only ours: {more}" if more else ""
    return ""


def _told(stderr: str) -> str:
    """Return the message of the reference's only log line."""
    text = stderr.removeprefix("level=fatal msg=")
    if text.startswith('"'):
        quoted: str = ast.literal_eval(text)
        return quoted
    return text


def _leaves(message: str) -> list[str]:
    """Return the messages at the leaves of the reference's tree of errors."""
    if not message.startswith("invalid index:"):
        return [message]
    texts = (re.sub(r"^(?:│   |    )*(?:├── |└── )?", "", line) for line in message.split("\n"))
    return [text for text in texts if not _INNER_NODE.fullmatch(text)]


def _plain(message: str) -> str:
    plain = _AROUND.sub("", _AROUND.sub("", message)).removeprefix("yaml: ").strip()
    # libyaml's messages must never be shown to users.
    return _NOT_YAML.sub("not valid YAML", plain)
