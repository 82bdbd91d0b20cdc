"""Every rule for a new and an old catalog: the input that violates it, and its finding."""

from __future__ import annotations

import re
from typing import Any

import pytest

from olmkit.base.diagnostics import Diagnostic
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc
from olmkit.catalog.model import Catalog
from olmkit.rules import engine
from olmkit.rules.releases import BlockedUpgrade, CatalogRelease, InstallConflict

RULES = {rule.code: rule for rule in engine.rules(engine.RELEASE)}

# Channels by name, entries by version: the version that each replaces, and its skip range.
Channels = dict[str, dict[str, tuple[str, str]]]

CHAIN: dict[str, tuple[str, str]] = {"1.0.0": ("", ""), "1.1.0": ("1.0.0", "")}
SOUND: Channels = {"stable": CHAIN}


def catalog(channels: Channels, *, package: str = "cog", tag: str = "") -> Catalog:
    lines = [f"---\nschema: olm.package\nname: {package}\ndefaultChannel: stable\n"]
    versions = {version: None for entries in channels.values() for version in entries}
    for name, entries in channels.items():
        lines.append(f"---\nschema: olm.channel\npackage: {package}\nname: {name}\nentries:\n")
        for version, (replaces, skip_range) in entries.items():
            lines.append(f"- name: {package}.v{version}\n")
            if replaces:
                lines.append(f"  replaces: {package}.v{replaces}\n")
            if skip_range:
                lines.append(f"  skipRange: '{skip_range}'\n")
    lines += [
        f"---\nschema: olm.bundle\npackage: {package}\nname: {package}.v{version}\n"
        f"image: registry.example.org/{package}:{version}{tag}\nproperties:\n"
        f"- type: olm.package\n  value: {{packageName: {package}, version: {version}}}\n"
        for version in versions
    ]
    blobs = fbc.load_stream("".join(lines).encode(), "catalog.yaml")
    return model.from_blobs(list(blobs))


def findings_for(new: Catalog, old: Catalog | None = None) -> tuple[Diagnostic, ...]:
    return engine.run(CatalogRelease(new, old), RULES.values())


BREAKS: dict[str, tuple[Catalog, Catalog | None, str]] = {
    "UPG001": (
        catalog({"stable": {"2.0.0": ("1.1.0", ">=1.1.0 <2.0.0")}}),
        catalog(SOUND),
        "no upgrade leads to `cog.v2.0.0` from `cog.v1.0.0`",
    ),
    "UPG002": (
        catalog({"stable": {"1.0.0": ("", "<=9.0.0"), "1.1.0": ("1.0.0", "")}}),
        None,
        "form a cycle and never end at `cog.v1.1.0`",
    ),
    "UPG003": (
        catalog({"stable": {"1.0.0": ("", ""), "1.1.0": ("", "")}}),
        None,
        "has 2 heads: cog.v1.0.0, cog.v1.1.0",
    ),
    "UPG004": (catalog(SOUND, package="pot"), catalog(SOUND), "package `cog` was removed"),
    "UPG005": (
        catalog(SOUND),
        catalog({"stable": CHAIN, "fast": {"1.1.0": ("", "")}}),
        "channel `fast` of package `cog` was removed",
    ),
    "UPG006": (
        catalog(SOUND),
        catalog(SOUND, tag="-rc"),
        "bundle `cog.v1.1.0` had the image `registry.example.org/cog:1.1.0-rc` before",
    ),
    "UPG007": (
        catalog(SOUND),
        None,
        "`cog.v1.1.0` cannot be installed from this catalog: `cog.v1.1.0` needs the API `Db`",
    ),
    # OLM v0 downgrades to the head, which is older; OLM v1 stays.
    "UPG008": (
        catalog({"stable": {"2.0.0": ("", ""), "1.9.0": ("2.0.0", "")}}),
        None,
        "no upgrade of OLM v1 leads to `cog.v2.0.0` from",
    ),
    "UPG009": (
        catalog({"stable": CHAIN}),
        None,
        (
            "OLM v0 and OLM v1 can refuse the upgrade from `cog.v1.0.0` to `cog.v1.1.0` because of "
            "the CustomResourceDefinition `cogs.example.com`: a; b; c; and 1 more"
        ),
    ),
    "UPG010": (
        catalog({"stable": {**CHAIN, "2.0.0": ("1.1.0", "<2.0.0")}}),
        None,
        (
            "no upgrade of OLM v0 stops at `cog.v1.1.0`: `cog.v2.0.0` follows every version that "
            "leads to it, by `skipRange`"
        ),
    ),
    "UPG011": (
        catalog(SOUND),
        None,
        "OLM v1 does not install `cog.v1.1.0`. It requires other operators.",
    ),
}
BLOCKED = BlockedUpgrade(
    package="cog",
    channel="stable",
    before="cog.v1.0.0",
    after="cog.v1.1.0",
    crd="cogs.example.com",
    olm=("v0", "v1"),
    changes=("a", "b", "c", "d"),
)
REFUSED = {("cog", "cog.v1.1.0"): ("It requires other operators.",)}
CONFLICT = InstallConflict(
    "cog.v1.1.0", ("`cog.v1.1.0` needs the API `Db` (`g/v1`), which none offers",)
)


def test_a_release_without_lost_upgrades_has_no_findings() -> None:
    newer = {"stable": {**CHAIN, "2.0.0": ("1.1.0", "")}}
    pruned = {"stable": {"2.0.0": ("1.1.0", ">=1.0.0 <2.0.0")}}

    for channels in (SOUND, newer, pruned):
        assert findings_for(catalog(channels), catalog(SOUND)) == ()
        assert findings_for(catalog(channels)) == ()


def test_every_rule_has_a_release_that_violates_it() -> None:
    assert sorted(BREAKS) == sorted(RULES)


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_reports_its_release(code: str) -> None:
    new, old, words = BREAKS[code]
    conflicts = {("cog", "stable"): CONFLICT} if code == "UPG007" else {}
    blocked = (BLOCKED,) if code == "UPG009" else ()
    refused = REFUSED if code == "UPG011" else {}
    all_found = engine.run(CatalogRelease(new, old, conflicts, blocked, refused), RULES.values())
    found = [finding for finding in all_found if finding.rule == code]

    assert [finding for finding in found if words in finding.message], found
    for finding in found:
        assert finding.name == RULES[code].name
        assert finding.hint
        assert (finding.at is None) == (code == "UPG004")


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_is_documented(code: str) -> None:
    sentence, why, fix = (part.strip() for part in re.split(r"\n\n(?=Why:|Fix:)", RULES[code].doc))

    assert sentence.endswith(".")
    assert why.startswith("Why: ")
    assert fix.startswith("Fix: ")


def test_of_many_stranded_versions_some_are_named() -> None:
    old: Any = {"stable": {f"1.{minor}.0": ("", "") for minor in range(8)}}
    (found,) = findings_for(catalog({"stable": {"2.0.0": ("", "")}}), catalog(old))

    assert found.message.endswith("`cog.v1.4.0` and 3 more")
