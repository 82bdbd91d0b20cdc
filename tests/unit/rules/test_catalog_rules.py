"""Every rule for catalogs: the input that violates it, its finding, its documentation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.base.diagnostics import Diagnostic
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc
from olmkit.rules import engine

HERE = Path(__file__).parent
MINIMAL = (HERE / "minimal_catalog.yaml").read_text("utf-8")
BREAKS: dict[str, dict[str, Any]] = yaml.safe_load(
    (HERE / "catalog_breaks.yaml").read_text("utf-8")
)
RULES = {rule.code: rule for rule in engine.rules(engine.CATALOG)}


def findings_for(changes: Mapping[str, Any]) -> tuple[Diagnostic, ...]:
    """Return the findings of all rules about the changed catalog."""
    text = MINIMAL
    for old, new in changes.get("replace", {}).items():
        assert old in text
        text = text.replace(old, new)
    text += changes.get("append", "")
    blobs = list(fbc.load_stream(text.encode(), "catalog.yaml"))
    return engine.run(model.from_blobs(blobs), RULES.values())


def test_the_minimal_catalog_has_no_findings() -> None:
    assert findings_for({}) == ()


def test_every_rule_has_a_fixture_that_violates_it() -> None:
    assert sorted(BREAKS) == sorted(RULES)


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_reports_its_fixture(code: str) -> None:
    changes = BREAKS[code]

    found = [finding for finding in findings_for(changes) if finding.rule == code]

    assert [finding for finding in found if changes["says"] in finding.message], found
    for finding in found:
        assert finding.name == RULES[code].name
        assert finding.at is not None
        assert finding.hint
        assert "\n" not in finding.message
        assert not finding.message.endswith(".")
    assert changes["line"] in [finding.at.line for finding in found if finding.at]


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_is_documented(code: str) -> None:
    sentence, why, fix = (part.strip() for part in re.split(r"\n\n(?=Why:|Fix:)", RULES[code].doc))

    assert sentence.endswith(".")
    assert why.startswith("Why: ")
    assert fix.startswith("Fix: ")


def test_codes_and_names_are_unique_and_families_are_known() -> None:
    everywhere = [*RULES.values(), *engine.rules(engine.BUNDLE)]
    names = [rule.name for rule in everywhere]

    assert len(set(names)) == len(names)
    assert {rule.family for rule in RULES.values()} <= set(engine.FAMILIES)


def test_no_rule_crashes_on_any_fixture() -> None:
    for code, changes in BREAKS.items():
        assert not engine.has_crashed(findings_for(changes)), code


def test_an_error_is_not_repeated_by_rules_that_depend_on_it() -> None:
    """One error, one finding: a rule is silent if another one reports what it needs."""
    alone = {
        code: sorted({finding.rule for finding in findings_for(BREAKS[code])})
        for code in ("FBC014", "FBC016", "FBC033", "FBC034", "FBC036", "FBC038", "GRF003", "GRF007")
    }

    assert alone == {code: [code] for code in alone}


def test_several_missing_bundles_are_not_duplicate_versions() -> None:
    append = (
        "---\nschema: olm.channel\npackage: kettle\nname: fast\n"
        "entries: [{name: a, replaces: b}, {name: b}]\n"
    )

    found = [finding.rule for finding in findings_for({"append": append})]

    assert found == ["FBC024"]


def test_the_implicit_default_channel_can_be_deprecated() -> None:
    found = findings_for(
        {
            "replace": {"defaultChannel: stable": "defaultChannel: fast"},
            "append": "---\nschema: olm.deprecations\npackage: kettle\n"
            "entries: [{reference: {schema: olm.channel, name: fast}, message: old}]\n",
        }
    )

    assert [finding.rule for finding in found] == ["FBC014"]


@pytest.mark.parametrize(
    ("icon", "says"),
    [
        ("base64data: '', mediatype: image/png", "icon data must be set"),
        ("base64data: iVBORw0KGgo=", "icon mediatype must be set"),
        ("base64data: iVBORw0KGgo=, mediatype: image/gif", "does not match detected"),
        ("base64data: Qk0AAA==, mediatype: image/bmp", "are not shown"),
        ("base64data: iVBORw0KGgo=, mediatype: image/png", None),
    ],
)
def test_the_type_of_an_icon_is_that_of_its_first_bytes(icon: str, says: str | None) -> None:
    line = "defaultChannel: stable\n"

    found = findings_for({"replace": {line: f"{line}icon: {{{icon}}}\n"}})

    assert [says in finding.message for finding in found if says] == ([True] if says else [])
    assert bool(found) == bool(says)
