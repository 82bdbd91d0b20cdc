"""Reporting the operator's condition to OLM, if OLM is installed."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import ClusterError, Resource
from olmkit.runtime.client import Client
from olmkit.runtime.operator_condition import (
    OPERATOR_CONDITION,
    UPGRADEABLE,
    VARIABLE,
    OperatorCondition,
)
from olmkit.testing.apiserver.server import ApiServer

NOW = "2024-05-01T00:00:00Z"
ENVIRONMENT = {VARIABLE: "memcached-operator.v0.0.2"}


def run_scenario(*there: Any, knows: bool = True) -> tuple[bool, ApiServer]:
    """Report that the operator can be replaced, to a server with these objects."""
    resource = Resource(gvk=OPERATOR_CONDITION, plural="operatorconditions")
    server = ApiServer.of([resource] if knows else [])

    async def work() -> bool:
        async with asyncio.timeout(60), server.serving():
            for one in there:
                server.put("operatorconditions", one)
            async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                client = Client(cluster, None, field_manager="m")
                told = OperatorCondition.of(
                    client, ENVIRONMENT, namespace="default", now=lambda: NOW
                )
                assert told is not None
                await told.upgradeable()
                return await told.set(UPGRADEABLE, "True", "Ready", "the operator is running")

    return asyncio.run(work()), server


def test_the_condition_is_set_once_and_others_are_kept() -> None:
    other = {"type": "Other", "status": "False", "reason": "R", "message": ""}
    done, server = run_scenario(
        {"metadata": {"name": "memcached-operator.v0.0.2"}, "spec": {"conditions": [other]}}
    )
    found = server.get("operatorconditions", "memcached-operator.v0.0.2")
    assert found is not None
    assert done
    assert found["spec"]["conditions"] == [
        other,
        {
            "type": "Upgradeable",
            "status": "True",
            "observedGeneration": 0,
            "reason": "Ready",
            "message": "the operator is running",
            "lastTransitionTime": NOW,
        },
    ]
    assert len(server.writes()) == 1


@pytest.mark.parametrize("knows", [True, False], ids=["no object", "no kind"])
def test_without_an_object_nothing_is_reported(
    knows: bool, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    done, server = run_scenario(knows=knows)
    assert not done
    assert server.writes() == []
    assert caplog.text == ""


@pytest.mark.parametrize(
    ("environment", "namespace"), [({}, "n"), ({VARIABLE: ""}, "n"), (ENVIRONMENT, "")]
)
def test_without_a_name_there_is_none(environment: dict[str, str], namespace: str) -> None:
    client: Any = None
    assert OperatorCondition.of(client, environment, namespace=namespace, now=str) is None


@pytest.mark.parametrize(
    "error",
    [ClusterError("broken", code=500), RemoteError("no credentials")],
    ids=["server", "own"],
)
def test_an_error_is_logged_and_ends_nothing(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    class Cluster:
        async def resource(self, *_: str) -> Resource:
            raise error

    client = Client(cast("Any", Cluster()), None, field_manager="m")
    told = OperatorCondition.of(client, ENVIRONMENT, namespace="default", now=str)
    assert told is not None
    asyncio.run(told.upgradeable())
    assert caplog.messages == ["operator condition not set"]
