"""Findings in formats of other programs: SARIF, JUnit, GitHub annotations, and more.

One function for each format, each from values to a string.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Any

from olmkit import __version__
from olmkit.base.diagnostics import Diagnostic, Location, Severity, explain_command
from olmkit.cli.frame.output import json_text
from olmkit.cli.frame.terminal import printable

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_GITLAB = {Severity.ERROR: "critical", Severity.WARNING: "minor", Severity.INFO: "info"}
_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def concise(diagnostics: Sequence[Diagnostic]) -> str:
    """Return a line for each finding: `path:line:column: severity CODE message`."""
    return "\n".join(
        f"{_one_line(str(found.at)) if found.at else '-'}: {found.severity} {found.rule} "
        f"{_one_line(found.message)}"
        for found in diagnostics
    )


def github(diagnostics: Sequence[Diagnostic]) -> str:
    """Return workflow commands, which GitHub shows next to the lines of a change."""
    return "\n".join(_command(found) for found in diagnostics)


def sarif(diagnostics: Sequence[Diagnostic]) -> str:
    """Return SARIF 2.1.0, which code scanning reads."""
    from olmkit.rules import codes as register

    rules = {found.rule: found for found in reversed(diagnostics)}
    codes = sorted(rules)
    known = register.register()
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "olmkit",
                "version": __version__,
                "rules": [
                    _sarif_rule(rules[code], known[code].doc if code in known else "")
                    for code in codes
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(found, codes.index(found.rule)) for found in diagnostics],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [run],
    }
    return json_text(document)


def junit(groups: Sequence[tuple[str, Sequence[Diagnostic]]]) -> str:
    """Return JUnit XML: a suite for each input, a case for each finding, or one that passed.

    An error is a failure; a warning is the output of a case that passed.
    """
    from xml.sax.saxutils import escape, quoteattr

    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    total = sum(max(len(found), 1) for _, found in groups)
    failures = sum(one.severity is Severity.ERROR for _, found in groups for one in found)
    lines.append(f'<testsuites name="olmkit" tests="{total}" failures="{failures}" errors="0">')
    for reference, found in groups:
        failed = sum(one.severity is Severity.ERROR for one in found)
        name = quoteattr(printable(reference))
        count = max(len(found), 1)
        lines.append(f'  <testsuite name={name} tests="{count}" failures="{failed}" errors="0">')
        if not found:
            lines.append(f'    <testcase name="rules" classname={name}/>')
        for one in found:
            place = _one_line(str(one.at)) if one.at else ""
            words = _one_line(one.message)
            parts = (place, words, _one_line(one.hint), explain_command(one.rule))
            body = escape("\n".join(filter(None, parts)))
            case = quoteattr(f"{one.rule} {one.name}")
            lines.append(f"    <testcase name={case} classname={name}>")
            if one.severity is Severity.ERROR:
                lines.append(
                    f"      <failure type={quoteattr(one.rule)} message={quoteattr(words)}>"
                    f"{body}</failure>"
                )
            else:
                lines.append(f"      <system-out>{one.severity}: {body}</system-out>")
            lines.append("    </testcase>")
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines)


def gitlab(diagnostics: Sequence[Diagnostic]) -> str:
    """Return GitLab's code quality report, which it shows in merge requests.

    A fingerprint does not depend on the line, so that it does not change with lines above. Source:
    GitLab's documentation of the report format (a subset of the Code Climate specification).
    """
    import hashlib
    import json

    seen: dict[str, int] = {}
    entries = []
    for found in diagnostics:
        path = _path(found.at.path) if found.at is not None else "."
        field = found.at.field if found.at is not None else ""
        key = "\0".join((found.rule, path, field, found.message))
        seen[key] = seen.get(key, 0) + 1
        identity = f"{key}\0{seen[key]}".encode("utf-8", "surrogateescape")
        entries.append(
            {
                "description": _one_line(found.message),
                "check_name": found.rule,
                "fingerprint": hashlib.sha256(identity).hexdigest(),
                "severity": _GITLAB[found.severity],
                "location": {
                    "path": printable(path),
                    "lines": {"begin": (found.at and found.at.line) or 1},
                },
            }
        )
    return json.dumps(entries, indent=2)


def json_alpha1(groups: Sequence[tuple[str, Sequence[Diagnostic]]], *, passed: bool) -> str:
    """Return the output of `operator-sdk bundle validate -o json-alpha1` for all results."""
    import json

    outputs = [
        {"type": str(one.severity), "message": _alpha1_message(one)}
        for _, found in groups
        for one in found
    ]
    return json.dumps({"passed": passed, "outputs": outputs or None}, indent=4)


def _alpha1_message(found: Diagnostic) -> str:
    place = f"{_one_line(str(found.at))}: " if found.at else ""
    return f"{str(found.severity).capitalize()}: {place}{found.rule}: {_one_line(found.message)}"


def _command(found: Diagnostic) -> str:
    fields = {"title": f"{found.rule} {found.name}"}
    if found.at is not None:
        fields["file"] = _path(found.at.path)
        for key, value in (
            ("line", found.at.line),
            ("endLine", found.at.end_line),
            ("col", found.at.column),
            ("endColumn", found.at.end_column),
        ):
            if value is not None:
                fields[key] = str(value)
    listed = ",".join(f"{key}={_property(value)}" for key, value in fields.items())
    words = "\n".join(filter(None, (found.message, found.hint, explain_command(found.rule))))
    return f"::{_COMMANDS[found.severity]} {listed}::{_data(words)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _sarif_rule(found: Diagnostic, page: str) -> dict[str, Any]:
    rule: dict[str, Any] = {
        "id": found.rule,
        "name": "".join(word.capitalize() for word in found.name.split("-")),
        "shortDescription": {"text": found.name.replace("-", " ")},
    }
    if page:
        # The page itself, which needs no network: `helpUri` must be an absolute address.
        rule["help"] = {"text": page, "markdown": page}
    return rule


def _sarif_result(found: Diagnostic, index: int) -> dict[str, Any]:
    words = found.message + (f"\nhint: {found.hint}" if found.hint else "")
    result: dict[str, Any] = {
        "ruleId": found.rule,
        "ruleIndex": index,
        "level": _LEVELS[found.severity],
        "message": {"text": words},
    }
    if found.at is not None:
        result["locations"] = [{"physicalLocation": _place(found.at)}]
    if found.related:
        result["relatedLocations"] = [
            {"physicalLocation": _place(other.at), "message": {"text": other.message}}
            for other in found.related
        ]
    return result


def _place(at: Location) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(at.path)}}
    if at.line is not None:
        region = {
            "startLine": at.line,
            "startColumn": at.column,
            "endLine": at.end_line,
            "endColumn": at.end_column,
        }
        place["region"] = {key: value for key, value in region.items() if value is not None}
    return place


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(_path(path).encode("utf-8", "surrogateescape"))


def _path(path: str) -> str:
    """Return the path as the services name files of a repository: without `./` at its beginning."""
    return posixpath.normpath(path)


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))
