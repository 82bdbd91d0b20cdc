"""The process takes the flags that its Deployment gives it, and starts."""

from __future__ import annotations

import pytest
from olmkit.runtime import parse_flags
from olmkit.testing import RunOperator

from toy_operator.__main__ import operator


def test_flags_of_the_deployment_are_known() -> None:
    flags = parse_flags(
        operator(),
        [
            "--metrics-bind-address=:8443",
            "--leader-elect",
            "--health-probe-bind-address=:8081",
        ],
    )
    assert flags.leader_elect
    assert flags.metrics_secure


@pytest.mark.usefixtures("api_server")
async def test_the_operator_starts_with_its_webhooks(run_operator: RunOperator) -> None:
    manager = await run_operator(operator())
    assert manager.ready
