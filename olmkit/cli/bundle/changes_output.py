"""Differences of bundles as text, as Markdown and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from olmkit.base import texts
from olmkit.bundle.changes.change import ChangeLevel
from olmkit.cli.frame.output import plural
from olmkit.cli.frame.terminal import paint, printable

if TYPE_CHECKING:
    from olmkit.bundle.changes.change import BundleChange, BundleDifference

_COLORS = {ChangeLevel.BLOCKS: "red", ChangeLevel.WARNS: "yellow", ChangeLevel.INFO: "blue"}
_TITLES = {
    ChangeLevel.BLOCKS: "Blocks the upgrade",
    ChangeLevel.WARNS: "Warnings",
    ChangeLevel.INFO: "Information",
}


def as_json(found: BundleDifference) -> dict[str, Any]:
    """Return the result for `-o json`; its shape only grows."""
    return {
        "old": asdict(found.old),
        "new": asdict(found.new),
        "olm": list(found.olm),
        "blocks": [name for name in found.olm if any(name in one.olm for one in found.blocks)],
        "counts": {str(level): found.count(level) for level in ChangeLevel},
        "changes": [change_json(one) for one in found.changes],
    }


def change_json(one: BundleChange) -> dict[str, Any]:
    """Return a difference as JSON, without empty fields."""
    value = {
        "level": str(one.level),
        "olm": list(one.olm),
        "area": str(one.area),
        "rule": one.rule,
        "subject": one.subject,
        "version": one.version,
        "place": one.place,
        "message": one.message,
        "old": one.old,
        "new": one.new,
        "example": one.example,
        "hint": one.hint,
    }
    return {key: item for key, item in value.items() if item not in (None, "")}


def text(
    found: BundleDifference, *, minimum: ChangeLevel = ChangeLevel.INFO, color: bool = False
) -> str:
    """Return the differences for people, by level and area."""
    names = (texts.shorten(_name(side)) for side in (found.old, found.new))
    lines = [" -> ".join(names), ""]
    shown = list(_visible_changes(found, minimum))
    for level, listed in groupby(shown, key=lambda one: one.level):
        for area, group in groupby(listed, key=lambda one: one.area):
            head = paint(f"{level}: {area}", _COLORS[level], "bold", on=color)
            lines.append(head)
            lines += [f"  {line}".rstrip() for one in group for line in _block(one)]
            lines.append("")
    lines.append(verdict(found))
    return printable("\n".join(lines)) if not color else "\n".join(lines)


def verdict(found: BundleDifference) -> str:
    """Return the last line: whether OLM can upgrade."""
    blocking = found.count(ChangeLevel.BLOCKS)
    counts = ", ".join(
        (
            f"{plural(blocking, 'blocking change')}",
            plural(found.count(ChangeLevel.WARNS), "warning"),
            f"{found.count(ChangeLevel.INFO)} for information",
        )
    )
    refused = sorted({name for one in found.blocks for name in one.olm})
    if not refused:
        named = " and ".join(f"OLM {name}" for name in found.olm)
        return f"Nothing blocks the upgrade with {named} ({counts})"
    return f"The upgrade can fail with {' and '.join(f'OLM {one}' for one in refused)} ({counts})"


def markdown(found: BundleDifference, *, minimum: ChangeLevel = ChangeLevel.INFO) -> str:
    """Return the differences as GitHub shows them in a comment of a pull request."""
    from olmkit.base import documents

    lines = [f"## {_cell(_name(found.old))} → {_cell(_name(found.new))}", "", verdict(found), ""]
    for level, listed in groupby(_visible_changes(found, minimum), key=lambda one: one.level):
        lines += [f"### {_TITLES[level]}", "", "| about | change | OLM |", "| --- | --- | --- |"]
        group = list(listed)
        for one in group:
            about = f"{one.area}: `{one.subject}`" if one.subject else str(one.area)
            message = one.message + (f"<br>at `{one.place}`" if one.place else "")
            message += f"<br>*{one.hint}*" if one.hint else ""
            lines.append(f"| {_cell(about)} | {_cell(message)} | {', '.join(one.olm)} |")
        lines.append("")
        for one in group:
            if one.example is not None:
                lines += [
                    "<details>",
                    f"<summary>An object that becomes invalid: {_summary(one)}</summary>",
                    "",
                    "```yaml",
                    documents.dump(one.example).decode().rstrip(),
                    "```",
                    "",
                    "</details>",
                    "",
                ]
    return printable("\n".join(lines).rstrip())


def _visible_changes(found: BundleDifference, minimum: ChangeLevel) -> Iterator[BundleChange]:
    levels = list(ChangeLevel)
    wanted = levels[: levels.index(minimum) + 1]
    return (one for one in found.changes if one.level in wanted)


def _block(one: BundleChange) -> Iterator[str]:
    """Yield the lines of one difference."""
    from olmkit.base import documents

    subject = f"{printable(texts.shorten(one.subject))}: " if one.subject else ""
    message = printable(texts.limit_values(one.message))
    is_named = f"`{one.version}`" in one.message
    version = f"{one.version}: " if one.version and not is_named else ""
    who = f" ({', '.join(one.olm)})" if one.level is ChangeLevel.BLOCKS else ""
    yield f"{subject}{version}{message} [{one.rule}]{who}"
    if one.place:
        yield f"    at {printable(one.place)}"
    if one.example is not None and one.level is not ChangeLevel.INFO:
        yield "    example of an object that becomes invalid:"
        dumped = documents.dump(one.example).decode()
        yield from (f"      {printable(line)}" for line in dumped.splitlines())
    if one.hint and one.level is not ChangeLevel.INFO:
        yield f"    hint: {printable(texts.limit_hint(one.hint))}"


def _name(side: Any) -> str:
    return str(side.name or side.reference)


def _cell(text: str) -> str:
    """Return text for a cell of a Markdown table."""
    return text.replace("|", "\\|").replace("\n", " ")


def _summary(one: BundleChange) -> str:
    words = one.message.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return words.replace("`", "").replace("\n", " ")
