"""Files whose entries have a chart, a role or a playbook: in the operator, and in the project."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.hybrid import watches
from olmkit.hybrid.ansible.watches import AnsibleWatch
from olmkit.hybrid.helm.watches import HelmWatch

WATCHES = b"""\
- group: demo.example.com
  version: v1
  kind: Site
  chart: helm-charts/cache
- group: demo.example.com
  version: v1
  kind: Cache
  playbook: play.yml
  vars: {origin: $ORIGIN}
"""


def test_each_entry_is_read_by_its_runner() -> None:
    found = watches.read(WATCHES, {"ORIGIN": "here"})
    assert found.findings == ()
    chart, run_scenario = found.entries
    assert isinstance(chart, HelmWatch)
    assert isinstance(run_scenario, AnsibleWatch)
    assert (chart.gvk.kind, run_scenario.gvk.kind, run_scenario.variables) == (
        "Site",
        "Cache",
        {"origin": "here"},
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"- {version: v1, kind: A}\n", "has no `chart`, no `role` and no `playbook`"),
        (b"- {version: v1, kind: A, chart: c}\n- {version: v1, kind: A, role: r}\n", "more than"),
        (b"- {version: v1, kind: A, chart: c, role: r}\n", "`role` is not read"),
        (b"- {version: v1, kind: A, role: r, overrideValues: {}}\n", "is not read"),
        (b"a: b\n", "not a list"),
    ],
)
def test_an_error_is_reported_once(text: bytes, said: str) -> None:
    (found,) = watches.read(text, {}).findings
    assert said in found.message


def test_errors_of_a_file_in_a_project_have_its_path() -> None:
    (found,) = watches.check(b"- {version: v1, kind: A, chart: c, cup: blue}\n", "x/watches.yaml")

    assert (found.rule, str(found.at)) == ("WCH002", "x/watches.yaml:1:36")


def test_a_file_that_is_not_yaml_is_an_error() -> None:
    with pytest.raises(InputError) as caught:
        watches.check(b"- {version: [\n", "watches.yaml")

    assert [one.rule for one in caught.value.diagnostics] == ["DOC001"]


@pytest.mark.parametrize(
    "values",
    [
        b"role: r, maxRunnerArtifacts: $COUNT",
        b"role: r, reconcilePeriod: '${PERIOD}'",
        b"chart: c, reconcilePeriod: $PERIOD",
        b"chart: c, overrideValues: {image: $IMAGE}",
    ],
)
def test_environment_variables_are_unknown_in_a_project(values: bytes) -> None:
    entry = b"- {version: v1, kind: A, %s}\n"

    assert watches.check(entry % values, "watches.yaml") == ()
    without = watches.check(entry % values.partition(b", ")[0], "watches.yaml")
    assert without == ()
