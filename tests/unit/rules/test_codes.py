"""The register of codes: complete, and equal to the codes that commands report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.rules import codes
from olmkit.rules.engine import Facts

# Every literal of this form is a code: a list of families would hide a new one.
CODE = re.compile(r'"([A-Z]{3}\d{3})"')


def test_every_code_in_the_sources_is_registered(root: Path) -> None:
    used = {
        code
        for path in (root / "olmkit").rglob("*.py")
        if path.relative_to(root).as_posix() != "olmkit/base/findings.py"
        for code in CODE.findall(path.read_text("utf-8"))
    }
    assert used - set(codes.register()) == set()
    assert set(codes.register()) - used == set()


def test_only_the_table_and_the_engine_create_findings(root: Path) -> None:
    creators = {
        path.relative_to(root / "olmkit").as_posix()
        for path in (root / "olmkit").rglob("*.py")
        if re.search(r"(?<!class )\bDiagnostic\(", path.read_text("utf-8"))
    }
    assert creators == {"base/findings.py", "rules/engine.py"}


@pytest.mark.parametrize("code", sorted(codes.register()))
def test_every_code_has_a_page(code: str) -> None:
    one = codes.find(code)
    assert codes.find(one.name) is one or codes.find(one.name).name == one.name
    assert one.doc.strip()[-1] in ".`"
    assert codes.page(one).startswith(f"{code} {one.name} (")


def test_an_unknown_code_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ConfigurationError, match="unknown code `CSV999`"):
        codes.find("CSV999")
    with pytest.raises(ConfigurationError) as raised:
        codes.find("missing-owned-cdr")
    assert raised.value.hint == "did you mean `missing-owned-crd`"


@pytest.mark.parametrize("fact", Facts._fields)
def test_every_fact_is_read_by_a_rule(fact: str, root: Path) -> None:
    rules = [path.read_text() for path in (root / "olmkit/rules").rglob("*.py")]
    assert any(re.search(rf"\bfacts\.{fact}\b", text) for text in rules)
