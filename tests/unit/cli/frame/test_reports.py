from __future__ import annotations

import json
from xml.etree import ElementTree

from olmkit.base.diagnostics import Diagnostic, Location, Related, Severity
from olmkit.cli.frame import output, reports
from olmkit.rules import codes

PLACE = Location(path="a b/c.yaml", line=3, column=5, end_line=3, end_column=9)
FOUND = Diagnostic(
    rule="CSV012",
    name="repeated-install-mode",
    severity=Severity.ERROR,
    message="100% wrong,\nor: so",
    at=PLACE,
    hint="keep one",
    related=(Related(PLACE, "first"),),
)
BARE = Diagnostic(rule="BUG001", name="rule-crashed", severity=Severity.INFO, message="x\x1b[31m")


def test_concise_output_is_one_safe_line_per_finding() -> None:
    assert reports.concise([FOUND, BARE]).splitlines() == [
        "a b/c.yaml:3:5: error CSV012 100% wrong, or: so",
        "-: info BUG001 x\\u001b[31m",
    ]


def test_github_commands_are_escaped() -> None:
    first, second = reports.github([FOUND, BARE]).splitlines()

    assert first == (
        "::error title=CSV012 repeated-install-mode,file=a b/c.yaml,line=3,endLine=3,col=5,"
        "endColumn=9::100%25 wrong,%0Aor: so%0Akeep one%0Aolmkit explain CSV012"
    )
    assert second.startswith("::notice title=BUG001 rule-crashed::")


def test_sarif_has_rules_results_and_places() -> None:
    document = json.loads(reports.sarif([FOUND, BARE]))

    assert document["version"] == "2.1.0"
    (run,) = document["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["BUG001", "CSV012"]
    for rule in run["tool"]["driver"]["rules"]:
        assert rule["help"]["markdown"] == codes.find(rule["id"]).doc
    result, bare = run["results"]
    assert result["ruleIndex"] == 1
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b/c.yaml"},
        "region": {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 9},
    }
    assert result["relatedLocations"][0]["message"] == {"text": "first"}
    assert (bare["level"], "locations" in bare) == ("note", False)


def test_no_findings_are_an_empty_report() -> None:
    assert reports.concise([]) == ""
    assert reports.github([]) == ""
    assert json.loads(reports.sarif([]))["runs"][0]["results"] == []


def test_names_that_are_not_utf_8_and_newlines_in_names_are_valid_in_each_format() -> None:
    found = Diagnostic(
        rule="X001", name="x", severity=Severity.ERROR, message="m", at=Location(path="a\udcff\nb")
    )

    assert reports.concise([found]) == "a\\udcff b: error X001 m"
    (run,) = json.loads(reports.sarif([found]).encode())["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "a%FF%0Ab"
    value = json.loads(output.envelope("x", None, [found]).encode())
    assert value["diagnostics"][0]["at"]["path"] == "a\udcff\nb"


def test_junit_has_a_case_for_each_finding_and_one_for_a_success() -> None:
    text = reports.junit([("a & b", [FOUND, BARE]), ("sound", [])])

    root = ElementTree.fromstring(text)  # noqa: S314 - our own text
    assert (root.get("tests"), root.get("failures")) == ("3", "1")
    suite, sound = root
    assert suite.get("name") == "a & b"
    failure = suite[0].find("failure")
    assert failure is not None
    assert failure.get("message") == "100% wrong, or: so"
    assert failure.text == "a b/c.yaml:3:5\n100% wrong, or: so\nkeep one\nolmkit explain CSV012"
    assert suite[1].findtext("system-out") == "info: x\\u001b[31m\nolmkit explain BUG001"
    assert [case.get("name") for case in sound] == ["rules"]


def test_json_alpha1_has_the_format_of_operator_sdk() -> None:
    value = json.loads(reports.json_alpha1([("a", [FOUND])], passed=False))

    assert value == {
        "passed": False,
        "outputs": [
            {
                "type": "error",
                "message": "Error: a b/c.yaml:3:5: CSV012: 100% wrong, or: so",
            }
        ],
    }
    assert json.loads(reports.json_alpha1([("a", [])], passed=True)) == {
        "passed": True,
        "outputs": None,
    }


def test_ci_services_get_paths_without_a_leading_dot() -> None:
    found = [FOUND._replace(at=Location(path="./bundle/a.yaml", line=2))]
    assert "file=bundle/a.yaml,line=2" in reports.github(found)
    [entry] = json.loads(reports.gitlab(found))
    assert entry["location"] == {"path": "bundle/a.yaml", "lines": {"begin": 2}}
    [result] = json.loads(reports.sarif(found))["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "bundle/a.yaml"


def test_gitlab_entries_have_a_fingerprint_that_does_not_depend_on_the_line() -> None:
    moved = FOUND._replace(at=PLACE._replace(line=30))
    first, same, bare = json.loads(reports.gitlab([FOUND, FOUND, BARE]))
    assert json.loads(reports.gitlab([moved]))[0]["fingerprint"] == first["fingerprint"]
    assert same["fingerprint"] != first["fingerprint"]
    assert (first["check_name"], first["severity"]) == ("CSV012", "critical")
    assert first["description"] == "100% wrong, or: so"
    assert bare["location"] == {"path": ".", "lines": {"begin": 1}}
    assert bare["severity"] == "info"
