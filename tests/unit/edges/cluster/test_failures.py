"""Errors for servers that cannot be used: one message and one hint for each cause.

The answers are those of a kube-apiserver 1.36 and of a container registry.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.credentials import ClusterCredentials, NoCredentials, TokenCredentials
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import ClusterError, Forbidden, NoSuchKind, NotKubernetes, Unauthorized

SUBSCRIPTIONS = (
    'subscriptions.operators.coreos.com is forbidden: User "system:serviceaccount:default:weak" '
    'cannot list resource "subscriptions" in API group "operators.coreos.com"'
)
BIND = "bind the user to a role that allows `list` of `subscriptions.operators.coreos.com`"


def status(code: int, reason: str, message: str) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
            "reason": reason, "message": message}  # fmt: skip


def token(seconds: float) -> str:
    """Create a JSON Web Token that expires after so many seconds."""
    claims = json.dumps({"exp": int(time.time() + seconds), "sub": "secret"}).encode()
    return f"e30.{base64.urlsafe_b64encode(claims).decode().rstrip('=')}.c2ln"


def ask(
    answers: dict[str, Callable[[], web.Response]],
    *,
    credentials: ClusterCredentials | None = None,
    scheme: str = "http",
) -> None:
    """Request a kind from a server with these answers; other paths do not exist."""

    async def answer(request: web.Request) -> web.Response:
        found = answers.get(request.path)
        return found() if found else web.Response(status=404, text="404 page not found")

    async def look() -> None:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        config = ClusterConfig(
            server=f"{scheme}://127.0.0.1:{runner.addresses[0][1]}",
            credentials=credentials or NoCredentials(),
        )
        try:
            async with HttpCluster(config) as cluster:
                await cluster.resource("operators.coreos.com/v1alpha1", "Subscription")
        finally:
            await runner.cleanup()

    asyncio.run(look())


def refusal(code: int, reason: str, message: str) -> dict[str, Callable[[], web.Response]]:
    body = status(code, reason, message)
    return {"/apis": lambda: web.json_response(body, status=code)}


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"/version": lambda: web.json_response({"version": "2.8"})},
        {"/apis": lambda: web.Response(text="<html>It works</html>", content_type="text/html")},
        {"/apis": lambda: web.json_response([])},
    ],
)
def test_another_server_is_not_mistaken_for_a_cluster_without_olm(answers: dict[str, Any]) -> None:
    with pytest.raises(NotKubernetes) as raised:
        ask(answers)
    assert "is not a Kubernetes API: it" in raised.value.message
    assert raised.value.hint == "correct `server` in the kubeconfig"
    assert not raised.value.temporary


def test_a_cluster_without_discovery_of_groups_is_accepted() -> None:
    with pytest.raises(NoSuchKind):
        ask({"/version": lambda: web.json_response({"gitVersion": "v1.36.3"})})


@pytest.mark.parametrize(
    ("credentials", "message", "hint"),
    [
        (None, "the API server requires credentials: Unauthorized", "set a token"),
        (TokenCredentials("nope"), "does not accept the credentials", "log in again"),
        (TokenCredentials(token(-3600)), "the token, which expired on 20", "kubectl create token"),
        (TokenCredentials(token(3600)), "does not accept the credentials", "log in again"),
        (TokenCredentials("a.b.c"), "does not accept the credentials", "log in again"),
    ],
)
def test_a_401_names_the_error_in_the_credentials(
    credentials: ClusterCredentials | None, message: str, hint: str
) -> None:
    with pytest.raises(Unauthorized) as raised:
        ask(refusal(401, "Unauthorized", "Unauthorized"), credentials=credentials)
    assert message in raised.value.message
    assert hint in raised.value.hint
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        (
            'forbidden: User "system:anonymous" cannot get path "/apis"',
            "the request had no credentials: set a user for the context in the kubeconfig",
        ),
        (
            f'{SUBSCRIPTIONS} in the namespace "t"',
            f"{BIND} in namespace `t`",
        ),
        (
            f"{SUBSCRIPTIONS} at the cluster scope",
            f"{BIND} in the whole cluster",
        ),
        ("a policy does not allow it", ""),
    ],
)
def test_a_403_names_the_missing_permission(message: str, hint: str) -> None:
    with pytest.raises(Forbidden) as raised:
        ask(refusal(403, "Forbidden", message))
    assert (raised.value.message, raised.value.hint) == (message, hint)


def test_plain_http_to_a_tls_port_is_named() -> None:
    said = "Client sent an HTTP request to an HTTPS server.\n"
    with pytest.raises(ClusterError, match="expects TLS, and the request came in plain HTTP") as at:
        ask({"/apis": lambda: web.Response(status=400, text=said)})
    assert at.value.hint == "write `https://` in `server` of the kubeconfig"


def test_tls_to_a_port_without_it_is_named() -> None:
    with pytest.raises(ClusterError, match=r"`127\.0\.0\.1:\d+`: it does not use TLS") as raised:
        ask({}, scheme="https")
    assert "`http://` for a server without TLS" in raised.value.hint


def test_a_port_of_another_service_is_named() -> None:
    async def look() -> None:
        async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"\x00\x00\x1e\x04\x00\x00")
            writer.close()

        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        config = ClusterConfig(server=f"http://127.0.0.1:{port}", credentials=NoCredentials())
        async with server, HttpCluster(config) as cluster:
            await cluster.version()

    with pytest.raises(ClusterError, match="its answer is not HTTP") as raised:
        asyncio.run(look())
    assert "another service has that port" in raised.value.hint


def test_a_port_without_a_server_is_named() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]

    async def look() -> None:
        config = ClusterConfig(server=f"http://127.0.0.1:{port}", credentials=NoCredentials())
        async with HttpCluster(config) as cluster:
            await cluster.version()

    with pytest.raises(ClusterError, match="Connection refused") as raised:
        asyncio.run(look())
    assert raised.value.hint == "start the cluster, or correct `server` in the kubeconfig"


def test_a_warning_of_the_server_is_printed_with_its_text(
    caplog: pytest.LogCaptureFixture,
) -> None:
    warning = '299 - "v1 ComponentStatus is deprecated in v1.19+"'

    def answer() -> web.Response:
        return web.json_response({"gitVersion": "v1.36.3"}, headers={"Warning": warning})

    with caplog.at_level(logging.WARNING), pytest.raises(NoSuchKind):
        ask({"/version": answer})
    assert "the API server warns: v1 ComponentStatus is deprecated in v1.19+" in caplog.messages
