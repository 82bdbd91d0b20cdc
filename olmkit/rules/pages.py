"""The reference pages of the rules, made from their documentation.

One page a family and an index with the profiles, as Markdown. The pages are
part of the repository; a test compares them with what is made here.
"""

from __future__ import annotations

from collections.abc import Iterable

from olmkit.base.tree import Tree
from olmkit.rules import engine
from olmkit.rules.engine import Rule

FOLDER = "docs/reference/rules"


def pages() -> Tree:
    """Every page, below `docs/reference/rules`."""
    rules = sorted(
        (rule for subject in engine.MODULES for rule in engine.rules(subject)),
        key=lambda rule: rule.code,
    )
    families = {family: [r for r in rules if r.family == family] for family in engine.FAMILIES}
    files = {
        f"{FOLDER}/{family.lower()}.md": _page(family, members).encode()
        for family, members in families.items()
        if members
    }
    files[f"{FOLDER}/README.md"] = _index(families).encode()
    return Tree(files)


def _index(families: dict[str, list[Rule]]) -> str:
    lines = [
        "# Rules",
        "",
        "`olmkit bundle validate` and `olmkit catalog validate` judge by these rules.",
        "`--explain RULE` prints what stands here, `--list-rules` shows the rules of a profile,",
        "`--select` and `--ignore` take codes, names and families.",
        "",
        "## Profiles",
        "",
        "| profile | what it asks | suites |",
        "| --- | --- | --- |",
    ]
    lines += [
        f"| `{profile.name}` | {profile.summary} | {', '.join(sorted(profile.suites))} |"
        for profile in engine.PROFILES.values()
    ]
    for family, members in families.items():
        if members:
            lines += ["", f"## [{family}]({family.lower()}.md): {engine.FAMILIES[family]}", ""]
            lines += ["| rule | severity | suite | finds |", "| --- | --- | --- | --- |"]
            lines += [_row(rule) for rule in members]
    return "\n".join(lines) + "\n"


def _row(rule: Rule) -> str:
    page = f"{rule.family.lower()}.md#{rule.code.lower()}"
    sentence = _sentence(rule.doc).replace("|", "\\|")
    return f"| [{rule.code}]({page}) `{rule.name}` | {rule.severity} | {rule.suite} | {sentence} |"


def _page(family: str, members: Iterable[Rule]) -> str:
    lines = [f"# {family}: {engine.FAMILIES[family]}"]
    for rule in members:
        lines += [
            "",
            f"## {rule.code}",
            "",
            f"`{rule.name}`: {rule.severity}, suite {rule.suite}",
            "",
            rule.doc,
        ]
    return "\n".join(lines) + "\n"


def _sentence(doc: str) -> str:
    return " ".join(doc.split("\n\n")[0].split())
