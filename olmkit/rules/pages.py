"""The reference pages of all codes, generated from their documentation.

One page for each family and an index with the profiles, as Markdown. The pages are part of the
repository; a test compares them with the generated ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from olmkit.base import findings
from olmkit.base.findings import Code
from olmkit.base.tree import Tree
from olmkit.rules import codes, engine
from olmkit.rules.engine import Rule

FOLDER: Final = "docs/reference/rules"
# Families without rules, which only commands report.
FAMILIES: Final[Mapping[str, str]] = {
    "API": "types and markers",
    "CFG": "configuration files",
    "WCH": "`watches.yaml` of Helm and Ansible operators",
    "PRJ": "projects, scaffolds and generated bundles",
    "SRV": "served catalogs",
}
# Sources that are files, not commands.
_FILES: Final = (findings.CONFIGURATION, findings.PROJECT, findings.WATCHES, findings.DATABASE)


def pages() -> Tree:
    """Return every page, below `docs/reference/rules`."""
    rules = {rule.code: rule for subject in engine.MODULES for rule in engine.rules(subject)}
    families: dict[str, list[Code]] = {family: [] for family in (*engine.FAMILIES, *FAMILIES)}
    for one in codes.register().values():
        families[one.family].append(one)
    files = {
        f"{FOLDER}/{family.lower()}.md": _page(family, members, rules).encode()
        for family, members in families.items()
    }
    files[f"{FOLDER}/README.md"] = _index(families, rules).encode()
    return Tree(files)


def _index(families: Mapping[str, list[Code]], rules: Mapping[str, Rule]) -> str:
    lines = [
        "# Rules",
        "",
        "`olmkit bundle validate` and `olmkit catalog validate` apply these rules.",
        "`--list-rules` shows the rules of a profile. `--select` and `--ignore` take codes, names",
        "and families. Other commands report the codes without a suite. `olmkit explain CODE`",
        "prints the page of a code.",
        "",
        "## Profiles",
        "",
        "| profile | what it checks | suites |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| `{profile.name}` | {profile.summary} | {', '.join(sorted(profile.suites))} |"
        for profile in engine.PROFILES.values()
    ]
    for family, members in families.items():
        lines += ["", f"## [{family}]({family.lower()}.md): {_title(family)}", ""]
        lines += ["| code | severity | suite | finds |", "| --- | --- | --- | --- |"]
        lines += [_row(one, rules) for one in members]
    return "\n".join(lines) + "\n"


def _title(family: str) -> str:
    return engine.FAMILIES.get(family) or FAMILIES[family]


def _row(one: Code, rules: Mapping[str, Rule]) -> str:
    page = f"{one.family.lower()}.md#{one.code.lower()}"
    sentence = _sentence(one.doc).replace("|", "\\|")
    suite = rules[one.code].suite if one.code in rules else ""
    return f"| [{one.code}]({page}) `{one.name}` | {one.severity} | {suite} | {sentence} |"


def _page(family: str, members: Iterable[Code], rules: Mapping[str, Rule]) -> str:
    lines = [f"# {family}: {_title(family)}"]
    for one in members:
        rule = rules.get(one.code)
        verb = "found in" if one.source in _FILES else "reported by"
        where = f"suite {rule.suite}" if rule else f"{verb} {one.source}"
        lines += ["", f"## {one.code}", "", f"`{one.name}`: {one.severity}, {where}", "", one.doc]
    return "\n".join(lines) + "\n"


def _sentence(doc: str) -> str:
    return " ".join(doc.split("\n\n")[0].split())
