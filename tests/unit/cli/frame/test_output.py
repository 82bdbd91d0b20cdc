from __future__ import annotations

import json

import pytest

from olmkit.base.diagnostics import (
    ConfigurationError,
    Diagnostic,
    Fix,
    InputError,
    Location,
    OlmkitError,
    Related,
    RemoteError,
    Severity,
)
from olmkit.base.tree import Change, ChangeKind, File
from olmkit.cli.frame import output
from olmkit.kube.api import ClusterError

TEXT = b"modes:\n- {type: OwnNamespace}\n- {type: OwnNamespace}\n"
FOUND = Diagnostic(
    rule="CSV012",
    name="repeated-install-mode",
    severity=Severity.ERROR,
    message="install mode `OwnNamespace` is listed more than once",
    at=Location(path="csv.yaml", line=3, column=3, end_line=3, end_column=23, field="modes[1]"),
    hint="keep one entry for each install mode",
    related=(
        Related(Location(path="csv.yaml", line=2, column=3, end_line=2, end_column=23), "first"),
    ),
)


def test_a_finding_shows_its_lines_and_its_fix() -> None:
    assert output.text([FOUND], lambda _: TEXT) == (
        "error[CSV012]: install mode `OwnNamespace` is listed more than once\n"
        "  --> csv.yaml:3:3\n"
        "  |\n"
        "2 | - {type: OwnNamespace}\n"
        "  |   -------------------- first\n"
        "3 | - {type: OwnNamespace}\n"
        "  |   ^^^^^^^^^^^^^^^^^^^^\n"
        "  |\n"
        "hint: keep one entry for each install mode\n"
    )


def test_a_place_without_its_file_is_named() -> None:
    assert "  --> csv.yaml:3:3\nhint:" in output.text([FOUND])


def test_a_place_after_the_end_of_its_file_is_named() -> None:
    assert "  --> csv.yaml:3:3\nhint:" in output.text([FOUND], lambda _: b"one line")


def test_long_lines_are_cut_around_the_place() -> None:
    found = Diagnostic(
        rule="X001",
        name="x",
        severity=Severity.WARNING,
        message="m",
        at=Location(path="f", line=1, column=5001, end_line=1, end_column=5004),
    )
    words = output.text([found], lambda _: b"a" * 5000 + b"bad" + b"c" * 5000)
    lines = words.splitlines()
    assert max(map(len, lines)) < 130
    code, under = lines[3], lines[4]
    assert code[under.index("^") : under.rindex("^") + 1] == "bad"


def test_control_characters_do_not_reach_the_terminal() -> None:
    found = Diagnostic(rule="X001", name="x", severity=Severity.INFO, message="a\x1b[2Jb\u202ec")
    assert "\x1b" not in output.text([found])
    assert "\u202e" not in output.text([found])


def test_the_text_with_color_and_without_is_the_same() -> None:
    import re

    plain = output.text([FOUND], lambda _: TEXT)
    colored = output.text([FOUND], lambda _: TEXT, color=True)
    assert colored != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_the_summary_has_correct_plurals() -> None:
    warning = Diagnostic(rule="X001", name="x", severity=Severity.WARNING, message="m")
    fixable = Diagnostic(
        rule="X001",
        name="x",
        severity=Severity.WARNING,
        message="m",
        fix=Fix(Location(path="f"), ""),
    )
    assert output.summary([]) == ""
    assert output.summary([FOUND]) == "Found 1 error"
    assert (
        output.summary([FOUND, warning, fixable])
        == "Found 1 error and 2 warnings; 1 can be fixed with `--fix`"
    )


def test_json_has_the_place_in_the_form_of_editors() -> None:
    value = output.diagnostic_json(FOUND)
    assert value["at"] == {
        "path": "csv.yaml",
        "line": 3,
        "column": 3,
        "endLine": 3,
        "endColumn": 23,
        "field": "modes[1]",
    }
    assert value["severity"] == "error"
    assert value["related"][0]["message"] == "first"
    assert "fix" not in value


def test_the_envelope_is_also_printed_after_a_failure() -> None:
    error = InputError("no CSV in `x`", hint="add one", diagnostics=(FOUND,))
    value = json.loads(output.envelope("bundle build", None, error.diagnostics, error))
    assert value["version"] == 1
    assert value["command"] == "bundle build"
    assert value["result"] is None
    assert value["error"] == {"message": "no CSV in `x`", "hint": "add one"}
    assert value["diagnostics"][0]["rule"] == "CSV012"


@pytest.mark.parametrize("kind", [InputError, ConfigurationError, RemoteError, ClusterError])
@pytest.mark.parametrize(
    "said",
    [
        "the registry answers: " + "no " * 1700,
        'Pod "a" is invalid: spec: Forbidden: core.PodSpec{'
        + 'Name:"a b", ' * 500
        + "}: immutable",
        f"`{'x' * 5000}` is not there",
        "\n".join(["the build fails:", *("a line of a log" for _ in range(400))]),
    ],
)
def test_an_error_shortens_a_servers_message(kind: type[OlmkitError], said: str) -> None:
    shown = output.error_text(kind(said, f"see `{said}`"))
    assert len(shown) < 1200
    value = json.loads(output.envelope("x", None, error=kind(said, f"see `{said}`")))
    assert len(value["error"]["message"]) < 1000
    assert len(value["error"]["hint"]) < 200


def test_an_error_that_is_also_a_finding_is_reported_once() -> None:
    error = InputError(FOUND.message, diagnostics=(FOUND,))
    assert output.error_text(error).count(FOUND.message) == 1
    other = InputError("cannot read the bundle", hint="look", diagnostics=(FOUND,))
    assert "error: cannot read the bundle\nhint: look" in output.error_text(other)


def test_a_difference_of_an_absolute_path_has_one_slash() -> None:
    change = Change(ChangeKind.UPDATE, "a.yaml", File(b"b\n"), File(b"a\n"))
    assert list(output.difference("/opt/bundle", change))[:2] == [
        "--- a/opt/bundle/a.yaml\n",
        "+++ b/opt/bundle/a.yaml\n",
    ]


def test_a_finding_without_a_file_has_no_arrow() -> None:
    text = output.text([FOUND._replace(at=Location(path=""), related=())])
    assert "-->" not in text
    text = output.text([FOUND._replace(at=Location(path="", field="spec.a"), related=())])
    assert "  --> (spec.a)\n" in text
