"""Every rule: the input that violates it, its finding, its documentation."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from olmkit.base.diagnostics import Diagnostic, Severity
from olmkit.rules import engine

BREAKS: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "breaks.yaml").read_text()
)
PUBLISHING: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "publishing_breaks.yaml").read_text()
)
RULES = {rule.code: rule for rule in engine.rules()}
DEFAULT = {rule.code for rule in engine.choose(engine.profile("default"))}

Judge = Callable[[Mapping[str, Any]], tuple[Diagnostic, ...]]


def test_the_minimal_bundle_has_no_findings(findings_of: Judge) -> None:
    assert findings_of({}) == ()


def test_every_rule_has_a_fixture_that_violates_it() -> None:
    assert sorted(BREAKS) == sorted(DEFAULT)
    assert sorted(PUBLISHING) == sorted(RULES.keys() - DEFAULT)


def test_the_publishable_bundle_only_has_a_note(publication_findings: Judge) -> None:
    assert [finding.rule for finding in publication_findings({})] == ["EXT011"]


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_reports_its_fixture(
    findings_of: Judge, publication_findings: Judge, code: str
) -> None:
    changes = BREAKS.get(code) or PUBLISHING[code]
    everything = findings_of(changes) if code in BREAKS else publication_findings(changes)

    found = [finding for finding in everything if finding.rule == code]

    assert [finding for finding in found if changes["says"] in finding.message], found
    for finding in found:
        assert finding.name == RULES[code].name
        assert finding.at is not None
        assert finding.at.path.startswith("kettle")
        assert "\n" not in finding.message
        assert not finding.message.endswith(".")
    if "line" in changes:
        assert changes["line"] in [finding.at.line for finding in found if finding.at]


@pytest.mark.parametrize("version", ["operators.coreos.com/v1", "example.com/v9", "v1"])
def test_a_csv_of_another_group_or_version_is_only_a_warning(
    findings_of: Judge, version: str
) -> None:
    # OLM 0.46 on a cluster installs each of these; the CSV that it creates has its own version.
    (found,) = findings_of({"csv": {"apiVersion": version}})

    assert (found.rule, found.severity) == ("CSV031", Severity.WARNING)
    assert f"`{version}`" in found.message


@pytest.mark.parametrize("code", sorted(RULES))
def test_a_rule_is_documented(code: str) -> None:
    doc = RULES[code].doc

    sentence, why, fix = (part.strip() for part in re.split(r"\n\n(?=Why:|Fix:)", doc))

    assert sentence.endswith(".")
    assert why.startswith("Why: ")
    assert fix.startswith("Fix: ")


def test_codes_and_names_are_unique_and_families_are_known() -> None:
    names = [rule.name for rule in RULES.values()]

    assert len(set(names)) == len(names)
    assert {rule.family for rule in RULES.values()} <= set(engine.FAMILIES)


def test_no_rule_crashes_on_any_fixture(findings_of: Judge, publication_findings: Judge) -> None:
    for code, changes in BREAKS.items():
        assert not engine.has_crashed(findings_of(changes)), code
        assert not engine.has_crashed(publication_findings(changes)), code
    for code, changes in PUBLISHING.items():
        assert not engine.has_crashed(publication_findings(changes)), code


ROLE = "apiVersion: rbac.authorization.k8s.io/v1\nkind: {}\nmetadata: {{name: a}}\n"
SOUND = {
    "a cluster role without rules": ROLE.format("ClusterRole"),
    "a role with null for rules": ROLE.format("Role") + "rules: null\n",
    "a role binding without a group in its role": ROLE.format("RoleBinding")
    + "roleRef: {kind: Role, name: a}\n",
    "a priority class without a value": "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
    "metadata: {name: a}\n",
    "a network policy without a selector": "apiVersion: networking.k8s.io/v1\n"
    "kind: NetworkPolicy\nmetadata: {name: a}\nspec: {policyTypes: [Ingress]}\n",
    "a disruption budget with any name": "apiVersion: policy/v1\nkind: PodDisruptionBudget\n"
    "metadata: {name: 'A_b'}\nspec: {minAvailable: 1}\n",
}


@pytest.mark.parametrize("name", sorted(SOUND))
def test_values_that_the_api_server_defaults_or_accepts_are_not_an_error(
    findings_of: Judge, name: str
) -> None:
    found = findings_of({"files": {"manifests/a.yaml": SOUND[name]}})

    assert [one for one in found if one.rule.startswith("OBJ")] == []


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("{type: a}", Severity.WARNING),
        ("{value: a}", Severity.ERROR),
        ("{type: olm.constraint}", Severity.ERROR),
        ("{type: olm.maxOpenShiftVersion, value: null}", Severity.ERROR),
    ],
)
def test_a_property_without_a_value_is_only_an_error_if_olm_reads_it(
    findings_of: Judge, text: str, severity: Severity
) -> None:
    found = findings_of({"files": {"metadata/properties.yaml": f"properties:\n- {text}\n"}})

    assert [one.severity for one in found if one.rule == "MET060"] == [severity]


@pytest.mark.parametrize(
    ("rule", "messages"),
    [
        (
            {"apiGroups": ["operators.coreos.com"], "resources": ["subscriptions"]},
            [("the webhook has a rule for the API group of OLM (`operators.coreos.com`), which OLM "
             "refuses")],
        ),
        (
            {
                "apiGroups": ["apps", "admissionregistration.k8s.io"],
                "resources": ["*", "ValidatingWebhookConfiguration"],
            },
            [
                ("the webhook has a rule for `*` of the API group `admissionregistration.k8s.io`, "
                "which OLM refuses"),
                ("the webhook has a rule for `ValidatingWebhookConfiguration` of the API group "
                "`admissionregistration.k8s.io`, which OLM refuses"),
            ],
        ),
        (
            {
                "apiGroups": ["admissionregistration.k8s.io"],
                "resources": ["mutatingwebhookconfigurations/status"],
            },
            [("the API server never calls a webhook for `mutatingwebhookconfigurations/status` of "
             "the API group `admissionregistration.k8s.io`, and OLM v1 refuses the rule")],
        ),
        ({"apiGroups": ["apps"], "resources": ["*"]}, []),
    ],
)  # fmt: skip
def test_what_olm_does_not_let_webhooks_intercept(
    rule: dict[str, Any], messages: list[str], findings_of: Judge
) -> None:
    webhook = {
        "type": "ValidatingAdmissionWebhook",
        "generateName": "a.kitchen.example.org",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [rule | {"apiVersions": ["v1"], "operations": ["CREATE"]}],
    }
    found = findings_of({"csv": {"spec.webhookdefinitions": [webhook]}})

    assert [one.message for one in found if one.rule == "CSV072"] == messages


def test_a_service_name_that_begins_with_a_digit_is_a_warning(findings_of: Judge) -> None:
    text = "apiVersion: v1\nkind: Service\nmetadata: {name: 1a}\nspec: {ports: [{port: 1}]}\n"
    found = findings_of({"files": {"manifests/a.yaml": text}})

    assert [one.severity for one in found if one.rule == "OBJ021"] == [Severity.WARNING]


def test_repeated_keys_in_a_long_file_take_linear_time(findings_of: Judge) -> None:
    """The lines of the file are not searched again for each of them."""
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n"
    text += "".join(f"  k{number}: x\n" for number in range(1000)) * 2
    text += "  long: |\n" + "    x\n" * 400_000
    begin = time.process_time()

    found = findings_of({"files": {"manifests/a.yaml": text}})

    assert len([one for one in found if one.rule == "DOC002"]) == 1000
    assert time.process_time() - begin < 5
