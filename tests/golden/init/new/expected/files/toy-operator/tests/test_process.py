"""The process takes the flags that its Deployment gives it, and builds its controllers."""

from __future__ import annotations

from typing import cast

from olmkit.runtime import ClusterConfig, HttpCluster, Manager, WebhookServer, parse_flags

from toy_operator import wiring
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


def test_controllers_go_into_a_manager() -> None:
    cluster = HttpCluster(ClusterConfig(server="http://127.0.0.1:1"))
    wiring.add_controllers(Manager(cluster, name=operator().name), {})


class Server:
    """Takes what a webhook server takes, and keeps the paths."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def add(self, path: str, *handlers: object) -> None:
        assert handlers
        self.paths.append(path)

    def add_conversions(self, conversions: object) -> None:
        self.add("/convert", conversions)


def test_each_webhook_has_a_path_of_its_own() -> None:
    server = Server()
    wiring.add_webhooks(cast(WebhookServer, server))
    assert len(set(server.paths)) == len(server.paths)
