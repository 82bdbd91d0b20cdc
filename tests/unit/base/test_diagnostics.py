from __future__ import annotations

import pytest

from olmkit.base.diagnostics import (
    Diagnostic,
    InputError,
    Location,
    OlmkitError,
    RemoteError,
    Severity,
    has_errors,
)


def _found(
    severity: Severity = Severity.ERROR, line: int | None = None, path: str = "a"
) -> Diagnostic:
    return Diagnostic(
        rule="X001", name="x", severity=severity, message="m", at=Location(path=path, line=line)
    )


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (Location(path="a"), "a"),
        (Location(path="a", line=3), "a:3"),
        (Location(path="a", line=3, column=7), "a:3:7"),
    ],
)
def test_a_location_has_the_form_that_editors_expect(at: Location, words: str) -> None:
    assert str(at) == words


def test_findings_are_sorted_by_place_then_severity() -> None:
    found = [
        _found(path="b", line=1),
        _found(path="a", line=9),
        _found(Severity.WARNING, path="a", line=2),
        _found(path="a", line=2),
        _found()._replace(at=None),
    ]
    order = [(str(f.at), f.severity) for f in sorted(found, key=Diagnostic.sort_key)]
    assert order == [
        ("None", "error"),
        ("a:2", "error"),
        ("a:2", "warning"),
        ("a:9", "error"),
        ("b:1", "error"),
    ]


def test_only_errors_are_errors() -> None:
    assert has_errors([_found(Severity.INFO), _found(Severity.ERROR)])
    assert not has_errors([_found(Severity.INFO), _found(Severity.WARNING)])


def test_errors_have_their_fix() -> None:
    error = InputError("no bundle here", hint="name its folder")
    assert str(error) == "no bundle here"
    assert isinstance(error, OlmkitError)
    assert RemoteError("gone", temporary=True).temporary
