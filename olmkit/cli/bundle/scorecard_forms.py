"""The scorecard's results as text, JSON and XUnit, in the form of operator-sdk.

Differences: labels in text are sorted, so that the same run gives the same text; in XUnit, the
time of a case is 0 instead of the year 1, errors are escaped, and a result with an unknown state
is an error instead of being left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from olmkit.cli.frame.terminal import printable

if TYPE_CHECKING:
    from olmkit.bundle.scorecard.configuration import ScorecardTest
    from olmkit.bundle.scorecard.results import ScorecardOutcome, ScorecardResult

API_VERSION = "scorecard.operatorframework.io/v1alpha3"
_LINE = "-" * 80
# As Go's encoding/xml escapes; other control characters cannot be in XML at all.
_XML = {
    '"': "&#34;", "'": "&#39;", "&": "&amp;", "<": "&lt;", ">": "&gt;",
    "\t": "&#x9;", "\n": "&#xA;", "\r": "&#xD;",
}  # fmt: skip


def text(outcomes: Sequence[ScorecardOutcome]) -> str:
    """Return text for people."""
    if not outcomes:
        return "0 tests selected"
    return printable("".join(f"{line}\n" for one in outcomes for line in _lines(one)))


def as_json(outcomes: Sequence[ScorecardOutcome]) -> str:
    """Return a `TestList`."""
    from olmkit.base.json import text as go_json

    items = [
        {
            "kind": "Test",
            "apiVersion": API_VERSION,
            "spec": _spec(one.test),
            "status": {"results": [_result(result) for result in one.results]}
            if one.results
            else {},
        }
        for one in outcomes
    ]
    value = {"kind": "TestList", "apiVersion": API_VERSION, "items": items or None}
    return go_json.indent(go_json.compact(value, sort=False), 2).decode()


def xunit(outcomes: Sequence[ScorecardOutcome]) -> str:
    """Return XUnit XML: a suite for each test, a case for each of its results."""
    if not outcomes:
        return '<testsuites name="scorecard"></testsuites>'
    lines = ['<testsuites name="scorecard">']
    for index, one in enumerate(outcomes, 1):
        lines += [f"  {line}" for line in _suite(one, index)]
    lines.append("</testsuites>")
    return "\n".join(lines)


def _lines(one: ScorecardOutcome) -> Iterator[str]:
    yield from (_LINE, f"Image:      {one.test.image}")
    if one.test.entrypoint:
        yield f"Entrypoint: [{' '.join(one.test.entrypoint)}]"
    if one.test.labels:
        yield "Labels:"
        for key, value in sorted(one.test.labels.items()):
            yield f"\t{_quote(key)}:{_quote(value)}"
    if one.results:
        yield "Results:"
        for result in one.results:
            yield from _result_lines(result)
    yield ""


def _result_lines(result: ScorecardResult) -> Iterator[str]:
    from olmkit.bundle.scorecard.results import STATES

    if result.name:
        yield f"\tName: {result.name}"
    yield f"\tState: {result.state if result.state in STATES else 'unknown'}"
    yield ""
    for title, entries in (("Suggestions", result.suggestions), ("Errors", result.errors)):
        if entries:
            yield f"\t{title}:"
            yield from (f"\t\t{entry}" for entry in entries)
    if result.log:
        yield "\tLog:"
        yield from (
            f"\t\t{line.rstrip(chr(13))}" for line in result.log.removesuffix("\n").split("\n")
        )
    yield ""


def _spec(test: ScorecardTest) -> dict[str, Any]:
    mount = {"path": test.storage} if test.storage else {}
    found: dict[str, Any] = {
        "image": test.image,
        "uniqueID": test.unique_id,
        "entrypoint": list(test.entrypoint),
        "labels": dict(sorted(test.labels.items())),
    }
    head = {key: value for key, value in found.items() if value or key == "image"}
    return head | {"storage": {"spec": {"mountPath": mount}}}


def _result(result: ScorecardResult) -> dict[str, Any]:
    found: Mapping[str, Any] = {
        "name": result.name,
        "log": result.log,
        "state": result.state,
        "errors": list(result.errors),
        "suggestions": list(result.suggestions),
    }
    head = {key: value for key, value in found.items() if value or key == "state"}
    return head | {"creationTimestamp": result.created or None}


def _suite(one: ScorecardOutcome, index: int) -> Iterator[str]:
    from olmkit.bundle.scorecard.results import FAIL, PASS

    name = one.test.labels.get("test", f"testsuite-{index:03d}")
    failures = sum(result.state == FAIL for result in one.results)
    errors = sum(result.state not in (PASS, FAIL) for result in one.results)
    counts = f'skipped="0" failures="{failures}" errors="{errors}"'
    yield f'<testsuite name="{_xml(name)}" tests="{len(one.results)}" {counts}>'
    properties = {
        "spec.image": one.test.image,
        "spec.entrypoint": " ".join(one.test.entrypoint),
        "labels.test": name,
    }
    if "cluster-phase" in one.test.labels:
        properties["labels.cluster-phase"] = one.test.labels["cluster-phase"]
    yield "  <properties>"
    for key, value in properties.items():
        yield f'    <property name="{key}" value="{_xml(value)}"></property>'
    yield "  </properties>"
    for result in one.results:
        yield from (f"  {line}" for line in _case(result))
    yield "</testsuite>"


def _case(result: ScorecardResult) -> Iterator[str]:
    from olmkit.bundle.scorecard.results import FAIL, PASS, STATES

    yield f'<testcase name="{_xml(result.name)}" time="0">'
    yield f"  <system-out>{_xml(result.log)}</system-out>"
    if result.state != PASS:
        kind = "failure" if result.state == FAIL else "error"
        found = list(result.errors)
        if result.state not in STATES:
            found.append(f"the test reported the unknown state `{result.state}`")
        yield f'  <{kind} type="{kind}">{_xml(chr(10).join(found))}</{kind}>'
    yield "</testcase>"


def _quote(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)


def _xml(text: str) -> str:
    return "".join(_XML.get(char, char if _is_xml_character(char) else "\ufffd") for char in text)


def _is_xml_character(char: str) -> bool:
    code = ord(char)
    return code >= 0x20 and not 0xD800 <= code <= 0xDFFF and code not in (0xFFFE, 0xFFFF)
