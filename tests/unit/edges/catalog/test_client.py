"""The client: its results for messages, streams and refusals."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from typing import Any

import grpc
import pytest

from olmkit.base.protobuf import message, string
from olmkit.edges.catalog import client as catalog_client
from olmkit.edges.catalog.client import CatalogClient


@pytest.fixture
def server() -> Iterator[str]:
    """A server that answers some requests with prepared bytes."""
    package = string(1, "cog") + message(2, string(1, "stable") + string(2, "cog.v1"))
    package += string(3, "stable")
    wanted = string(1, "cog") + string(2, "stable") + string(3, "cog.v1")

    def get_package(request: bytes, context: Any) -> bytes:
        if request != string(1, "cog"):
            context.abort(grpc.StatusCode.UNKNOWN, "not found")
        return package

    def get_bundle(request: bytes, context: Any) -> bytes:
        if request != wanted:
            context.abort(grpc.StatusCode.UNKNOWN, "not found")
        return string(1, "cog.v1") + string(3, "stable") + string(6, "image:1")

    def list_packages(_request: bytes, context: Any) -> Iterator[bytes]:
        assert ("x-mark", "seen") in context.invocation_metadata()
        yield string(1, "axle")
        yield string(1, "cog")

    methods = {
        "GetPackage": grpc.unary_unary_rpc_method_handler(get_package),
        "GetBundle": grpc.unary_unary_rpc_method_handler(get_bundle),
        "ListPackages": grpc.unary_stream_rpc_method_handler(list_packages),
    }
    health = {"Check": grpc.unary_unary_rpc_method_handler(lambda *_: b"")}
    with futures.ThreadPoolExecutor(1) as pool:
        running = grpc.server(pool)
        running.add_generic_rpc_handlers(
            (
                grpc.method_handlers_generic_handler("api.Registry", methods),
                grpc.method_handlers_generic_handler("grpc.health.v1.Health", health),
            )
        )
        port = running.add_insecure_port("127.0.0.1:0")
        running.start()
        yield f"127.0.0.1:{port}"
        stopped: threading.Event = running.stop(None)
        stopped.wait()


def test_a_message_is_a_mapping_and_a_stream_a_list(server: str) -> None:
    with CatalogClient(server) as client:
        assert client.ask("GetPackage", {"name": "cog"}) == {
            "name": "cog",
            "channels": [{"name": "stable", "csvName": "cog.v1"}],
            "defaultChannelName": "stable",
        }
        assert client.ask("ListPackages", metadata=(("x-mark", "seen"),)) == [
            {"name": "axle"},
            {"name": "cog"},
        ]


def test_a_refusal_is_raised_with_its_code(server: str) -> None:
    with CatalogClient(server) as client, pytest.raises(grpc.RpcError) as error:
        client.ask("GetPackage", {"name": "axle"})
    assert error.value.code() == grpc.StatusCode.UNKNOWN


def test_health_without_a_status_is_unknown(server: str) -> None:
    with CatalogClient(server) as client:
        assert client.health() == "UNKNOWN"


def test_an_unreachable_server_ends_at_the_time_limit() -> None:
    with CatalogClient("127.0.0.1:1", timeout=0.2) as client, pytest.raises(grpc.RpcError) as error:
        client.ask("ListPackages")
    assert error.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED


@pytest.mark.parametrize("name", ["", "cog.v1"])
def test_the_first_entry_of_a_package_is_found(server: str, name: str) -> None:
    assert catalog_client.offer(server, "cog", name=name) == {
        "csvName": "cog.v1",
        "channelName": "stable",
        "bundlePath": "image:1",
    }


@pytest.mark.parametrize(
    ("package", "channel", "name"),
    [("axle", "", ""), ("cog", "fast", ""), ("cog", "", "cog.v9")],
)
def test_a_package_that_the_catalog_does_not_have_is_not_found(
    server: str, package: str, channel: str, name: str
) -> None:
    assert catalog_client.offer(server, package, channel=channel, name=name) is None


def test_an_unreachable_server_lists_nothing() -> None:
    assert catalog_client.list_content("127.0.0.1:1", timeout=0.2) is None


def test_an_empty_catalog_lists_nothing() -> None:
    assert catalog_client.offer("127.0.0.1:1", "cog", timeout=0.2) is None
