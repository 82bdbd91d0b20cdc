"""How an operator is started outside a pod."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.objects import GVK
from olmkit.project import config, run_plan

WATCHES = run_plan.WATCHES_LANGUAGES


def deployment(*containers: dict[str, Any]) -> dict[str, Any]:
    spec = {"template": {"spec": {"containers": list(containers)}}}
    return {"kind": "Deployment", "spec": spec}


def variable(name: str, value: str) -> dict[str, str]:
    return {"name": name, "value": value}


MANAGER = {
    "name": "manager",
    "env": [
        variable("IMAGE", "a:1"),
        variable("WATCH_NAMESPACE", "x"),
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        "odd",
    ],
}


def test_interpreter_and_arguments_are_replaced() -> None:
    plan = run_plan.plan(
        ("python", "-m", "toy"), python="/venv/bin/python", manifests=[], arguments=("--a", "b")
    )
    assert plan.command == ("/venv/bin/python", "-m", "toy", "--a", "b")


def test_other_programs_are_unchanged() -> None:
    plan = run_plan.plan(("/bin/toy",), python="/venv/bin/python", manifests=[])
    assert plan.command == ("/bin/toy",)


def test_variables_with_values_come_from_the_manager() -> None:
    sidecar = {"name": "proxy", "env": [variable("OTHER", "1")]}
    manifests = [{"kind": "Service"}, deployment(sidecar, MANAGER)]
    plan = run_plan.plan(("python",), python="p", manifests=manifests)
    assert plan.environment == {"IMAGE": "a:1"}


def test_the_first_container_counts_if_none_is_named_manager() -> None:
    plan = run_plan.plan(
        ("python",), python="p", manifests=[deployment({"env": [variable("A", "1")]}, {})]
    )
    assert plan.environment == {"A": "1"}


@pytest.mark.parametrize("spec", [None, [], {"template": 1}, {"template": {"spec": None}}])
def test_invalid_manifests_have_no_plan(spec: Any) -> None:
    plan = run_plan.plan(("p",), python="p", manifests=[{"kind": "Deployment", "spec": spec}])
    assert plan.environment == {}


def test_the_namespace_is_the_given_one() -> None:
    plan = run_plan.plan(("p",), python="p", manifests=[deployment(MANAGER)], namespace="here")
    assert plan.environment["WATCH_NAMESPACE"] == "here"


def test_an_invalid_namespace_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="`Not_One` cannot be the name of a namespace"):
        run_plan.plan(("p",), python="p", manifests=[], namespace="Not_One")


def project(text: str) -> config.Project:
    return config.parse(f'version: "3"\n{text}'.encode())


def test_kinds_are_those_with_a_controller() -> None:
    found = run_plan.kinds(
        project(
            "resources:\n"
            "- {group: a, domain: b.c, version: v1, kind: One, api: {crdVersion: v1}, "
            "controller: true}\n"
            "- {group: a, domain: b.c, version: v2, kind: One, api: {crdVersion: v1}}\n"
            "- {group: apps, version: v1, kind: Deployment, controller: true}\n"
        )
    )
    assert found == (GVK(group="a.b.c", version="v1", kind="One"),)


def test_an_operator_in_another_language_is_left_to_its_own_build() -> None:
    for layout in ("python.olmkit/v1", *(f"{one}.sdk.operatorframework.io/v1" for one in WATCHES)):
        run_plan.check_language(project(f"layout: [{layout}]"))
    with pytest.raises(ConfigurationError, match="written for `go`"):
        run_plan.check_language(project("layout: [go.kubebuilder.io/v4]"))


@pytest.mark.parametrize("language", WATCHES)
def test_an_operator_with_watches_is_run_by_olmkit(language: str) -> None:
    found = run_plan.kinds(
        project(
            f"layout: [{language}.sdk.operatorframework.io/v1]\n"
            "resources: [{group: a, domain: b.c, version: v1, kind: One, api: {crdVersion: v1}}]\n"
        )
    )
    assert found == (GVK(group="a.b.c", version="v1", kind="One"),)
    assert run_plan.watches_entrypoint(language)[-2:] == ("olmkit.hybrid", language)
