"""The message, place and hint of each rule for the input that violates it, as golden files.

`OLMKIT_GOLDEN=rewrite` writes `tests/golden/messages`; review the difference like code. The
findings of commands are in the golden cases of the commands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import Diagnostic
from olmkit.rules import codes, engine
from olmkit.rules.releases import CatalogRelease
from tests.unit.rules import test_catalog_rules as catalogs
from tests.unit.rules import test_release_rules as releases
from tests.unit.rules import test_rules as bundles
from tests.unit.rules import test_submissions as submissions

Judge = Callable[[Mapping[str, Any]], tuple[Diagnostic, ...]]

# Codes whose message is only in unit tests; remove a code when a golden case has it.
WITHOUT = frozenset(
    (
        "BUG001",
        "CFG004",
        "FBC003",
        "FBC907",
        "FBC913",
        "FBC920",
        "FBC922",
    )
)


@pytest.fixture(scope="module")
def messages(findings_of: Judge, publication_findings: Judge) -> dict[str, list[Diagnostic]]:
    """Return the findings of each rule for the input that violates it."""
    judges = (
        (findings_of, bundles.BREAKS),
        (publication_findings, bundles.PUBLISHING),
        (catalogs.findings_for, catalogs.BREAKS),
        (_judge_release, {code: {"code": code} for code in releases.BREAKS}),
        (_judge_submission, {code: {"code": code} for code in submissions.BAD}),
        (_judge_changes, {code: {"code": code} for code in submissions.CHANGES}),
    )
    return {
        code: [one for one in judge(changes) if one.rule == code]
        for judge, breaks in judges
        for code, changes in breaks.items()
    }


def test_the_messages_of_rules_are_as_expected(
    messages: Mapping[str, list[Diagnostic]], root: Path
) -> None:
    families: dict[str, str] = {}
    for code in sorted(messages):
        family = code.rstrip("0123456789")
        families[family] = families.get(family, "") + "".join(_lines(messages[code]))
    folder = root / "tests/golden/messages"
    if os.environ.get("OLMKIT_GOLDEN") == "rewrite":
        folder.mkdir(exist_ok=True)
        for old in folder.glob("*.txt"):
            old.unlink()
        for family, text in families.items():
            (folder / f"{family}.txt").write_text(text, "utf-8")
    assert families == {path.stem: path.read_text("utf-8") for path in folder.glob("*.txt")}


def test_every_code_has_a_golden_message(root: Path) -> None:
    golden = root / "tests/golden"
    files = (*golden.glob("messages/*.txt"), *golden.glob("*/*/expected/std*"))
    seen = {
        code
        for path in files
        for code in re.findall(r"\b[A-Z]{3}\d{3}\b", path.read_text("utf-8", "replace"))
    }
    assert codes.register().keys() - seen == WITHOUT


def _judge_release(changes: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    code = changes["code"]
    new, old, _ = releases.BREAKS[code]
    conflicts = {("cog", "stable"): releases.CONFLICT} if code == "UPG007" else {}
    blocked = (releases.BLOCKED,) if code == "UPG009" else ()
    refused = releases.REFUSED if code == "UPG011" else {}
    return engine.run(
        CatalogRelease(new, old, conflicts, blocked, refused), releases.RULES.values()
    )


def _judge_submission(changes: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    subject, *_ = submissions.BAD[changes["code"]]
    return engine.run(subject, engine.rules(submissions.SUBMISSION))


def _judge_changes(changes: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    subject = submissions.CHANGES[changes["code"]]
    return engine.run(subject, engine.rules(submissions.PULL_REQUEST))


def _lines(found: Iterable[Diagnostic]) -> Iterable[str]:
    for one in found:
        subject = f" ({one.subject})" if one.subject else ""
        yield f"{one.rule} {one.severity} {one.at or '-'}{subject}\n    {one.message}\n"
        if one.hint:
            yield f"    hint: {one.hint}\n"
        for other in one.related:
            yield f"    {other.at}: {other.message}\n"
