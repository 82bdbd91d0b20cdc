"""Objects are written as Kubernetes' types write them, and no unknown field is lost."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube.builtin import shapes
from olmkit.kube.builtin.shapes import BuiltinTypeError


def container(**fields: Any) -> Any:
    return shapes.conform({"name": "c", **fields}, "Container")


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({}, {"name": "c", "resources": {}}),
        ({"ports": [], "args": None, "image": ""}, {"name": "c", "resources": {}}),
        ({"tty": False, "stdin": True}, {"name": "c", "resources": {}, "stdin": True}),
        ({"securityContext": {}}, {"name": "c", "resources": {}, "securityContext": {}}),
        (
            {"securityContext": {"privileged": False}},
            {"name": "c", "resources": {}, "securityContext": {"privileged": False}},
        ),
        (
            {"resources": {"limits": {"cpu": 0.5, "memory": "1024Mi"}}},
            {"name": "c", "resources": {"limits": {"cpu": "500m", "memory": "1Gi"}}},
        ),
        (
            {"invented": [], "own": None},
            {"name": "c", "resources": {}, "invented": [], "own": None},
        ),
        (
            {"ports": [{"containerPort": 80.0}]},
            {"name": "c", "resources": {}, "ports": [{"containerPort": 80}]},
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "x"}}}]},
            {
                "name": "c",
                "resources": {},
                "env": [
                    {
                        "name": "A",
                        "valueFrom": {"resourceFieldRef": {"divisor": "0", "resource": "x"}},
                    }
                ],
            },
        ),
    ],
)
def test_empty_fields_are_removed_and_others_are_kept(
    given: dict[str, Any], written: dict[str, Any]
) -> None:
    assert container(**given) == written


def test_required_fields_are_written_even_if_they_are_missing() -> None:
    assert shapes.conform({}, "PolicyRule") == {"verbs": None}
    assert shapes.conform({"verbs": []}, "PolicyRule") == {"verbs": []}
    assert shapes.conform(None, "DeploymentSpec") == {
        "selector": None,
        "strategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    }


@pytest.mark.parametrize(
    ("given", "message", "keys"),
    [
        ({"image": [1]}, "`image` must be a string, not a list", ("image",)),
        ({"tty": "yes"}, "`tty` must be `true` or `false`, not a string", ("tty",)),
        (
            {"ports": [{"containerPort": "80"}]},
            "`ports[0].containerPort` must be a whole number, not a string",
            ("ports", 0, "containerPort"),
        ),
        ({"ports": {}}, "`ports` must be a list", ("ports",)),
        ({"resources": 1}, "`resources` must be a mapping", ("resources",)),
        ({"resources": {"limits": []}}, "`resources.limits` must be a mapping", None),
        (
            {"resources": {"limits": {"cpu": "much"}}},
            "`resources.limits.cpu` must be a quantity such as `500m` or `1Gi`",
            ("resources", "limits", "cpu"),
        ),
        (
            {"livenessProbe": {"httpGet": {"port": True}}},
            (
                "`livenessProbe.httpGet.port` must be a whole number or a string, not `true` or "
                "`false`"
            ),
            None,
        ),
        ({"args": [{}]}, "`args[0]` must be a string, not a mapping", ("args", 0)),
    ],
)
def test_a_wrong_type_is_refused_with_its_place(
    given: dict[str, Any], message: str, keys: tuple[str | int, ...] | None
) -> None:
    with pytest.raises(BuiltinTypeError) as refused:
        container(**given)

    assert refused.value.message == message
    if keys is not None:
        assert refused.value.keys == keys


def test_a_written_object_is_written_unchanged() -> None:
    value = {"template": {"spec": {"containers": [{"name": "c", "ports": []}]}}}
    once = shapes.conform(value, "DeploymentSpec")
    assert shapes.conform(once, "DeploymentSpec") == once
