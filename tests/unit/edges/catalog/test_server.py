"""The gRPC server around a registry, with a real client over a socket."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.base.protobuf import string
from olmkit.catalog.serve.registry_api import RegistryApi
from olmkit.catalog.serve.registry_index import (
    BundleRecord,
    ChannelRecord,
    CustomRecord,
    EntryRecord,
    Index,
    PackageRecord,
)
from olmkit.edges.catalog import server as server_module
from olmkit.edges.catalog.server import MAX_CALLS_OF_ONE, CatalogServer, address

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"
PIECES = string(1, "cog.v1") + b"note"
BUNDLE = BundleRecord("cog.v1", True, (), 0, 8, 0, 8, 0, 0)
INDEX = Index(
    packages=(
        PackageRecord(
            "cog",
            "stable",
            None,
            (BUNDLE,),
            (ChannelRecord("stable", "cog.v1", None, (EntryRecord(0, "", (), ""),)),),
        ),
    ),
    customs=(CustomRecord("note", "cog", 8, 4),),
)

Work = Callable[[CatalogServer, grpc.aio.Channel], Awaitable[None]]


def registry() -> RegistryApi:
    return RegistryApi(INDEX, lambda offset, length: PIECES[offset : offset + length])


def run(work: Work, *, ready: bool = True) -> None:
    """Run `work` with a server on a free port and a channel to it."""

    async def scenario() -> None:
        server = CatalogServer()
        port = await server.start("127.0.0.1", 0)
        if ready:
            server.answer_from(registry())
        try:
            async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
                async with asyncio.timeout(30):
                    await work(server, channel)
        finally:
            await server.stop()

    asyncio.run(scenario())


async def one(channel: grpc.aio.Channel, method: str, request: bytes = b"") -> bytes:
    answer: bytes = await channel.unary_unary(f"/{method}")(request)
    return answer


async def several(
    channel: grpc.aio.Channel, method: str, request: bytes = b"", **settings: Any
) -> list[bytes]:
    return [item async for item in channel.unary_stream(f"/{method}")(request, **settings)]


async def refused(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call
    return error.value.code(), error.value.details() or ""


def test_answers_are_those_of_the_registry() -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        request = string(1, "cog") + string(2, "stable") + string(3, "cog.v1")
        assert await one(channel, "api.Registry/GetBundle", request) == registry().get_bundle(
            "cog", "stable", "cog.v1"
        )
        assert await several(channel, "api.Registry/ListPackages") == [string(1, "cog")]

    run(work)


def test_calls_are_held_until_the_catalog_is_read_and_health_is_not_serving() -> None:
    async def work(server: CatalogServer, channel: grpc.aio.Channel) -> None:
        assert await one(channel, "grpc.health.v1.Health/Check") == NOT_SERVING
        held = asyncio.create_task(several(channel, "api.Registry/ListPackages"))
        done, _ = await asyncio.wait([held], timeout=0.2)
        assert not done
        server.answer_from(registry())
        assert await held == [string(1, "cog")]
        assert await one(channel, "grpc.health.v1.Health/Check") == SERVING

    run(work, ready=False)


def test_a_call_is_held_for_a_limited_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "_HOLD", 0.05)

    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        code, words = await refused(one(channel, "api.Registry/GetPackage", string(1, "cog")))
        assert code == grpc.StatusCode.UNAVAILABLE
        assert "still being read" in words

    run(work, ready=False)


def test_calls_that_are_held_end_with_the_server() -> None:
    async def work(server: CatalogServer, channel: grpc.aio.Channel) -> None:
        held = asyncio.create_task(refused(several(channel, "api.Registry/ListPackages")))
        await asyncio.sleep(0.1)
        await server.stop()
        assert (await held)[0] == grpc.StatusCode.UNAVAILABLE

    run(work, ready=False)


def test_one_client_cannot_use_the_calls_of_all_and_health_is_exempt() -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        calls = [watch(b"") for _ in range(MAX_CALLS_OF_ONE)]
        assert {await call.read() for call in calls} == {SERVING}
        code, words = await refused(several(channel, "api.Registry/ListPackages"))
        assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert f"{MAX_CALLS_OF_ONE} of this client" in words
        assert await one(channel, "grpc.health.v1.Health/Check") == SERVING
        for call in calls:
            call.cancel()
        await asyncio.sleep(0.2)
        assert await several(channel, "api.Registry/ListPackages") == [string(1, "cog")]

    run(work)


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:10.0.0.1:4711", "ipv4:10.0.0.1"),
        ("ipv6:%5B::1%5D:4711", "ipv6:%5B::1%5D"),
        ("unix", "unix"),
    ],
)
def test_a_client_is_counted_by_its_address(peer: str, host: str) -> None:
    assert server_module._address_of(peer) == host  # noqa: SLF001 - has no other door


@pytest.mark.parametrize("service", ["", "Registry", "api.Registry", "anything"])
def test_every_service_is_healthy_if_the_catalog_is_served(service: str) -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        answer = await one(channel, "grpc.health.v1.Health/Check", string(1, service))
        assert answer == SERVING

    run(work)


def test_a_watcher_gets_each_change_and_the_end() -> None:
    async def work(server: CatalogServer, channel: grpc.aio.Channel) -> None:
        call = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
        assert await call.read() == NOT_SERVING
        server.answer_from(registry())
        assert await call.read() == SERVING
        stopping = asyncio.create_task(server.stop())
        assert await call.read() == NOT_SERVING
        assert await call.read() == grpc.aio.EOF
        await stopping

    run(work, ready=False)


def test_many_watchers_do_not_block_other_requests() -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        watch = channel.unary_stream("/grpc.health.v1.Health/Watch")
        calls = [watch(b"") for _ in range(100)]
        assert {await call.read() for call in calls} == {SERVING}
        assert await several(channel, "api.Registry/ListPackages") == [string(1, "cog")]
        for call in calls:
            call.cancel()

    run(work)


def test_a_missing_object_has_the_code_that_clients_know() -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        found = await refused(one(channel, "api.Registry/GetPackage", string(1, "x")))
        assert found == (grpc.StatusCode.UNKNOWN, 'package "x" not found')
        found = await refused(
            several(channel, "api.Registry/GetChannelEntriesThatReplace", string(1, "x"))
        )
        assert found == (grpc.StatusCode.UNKNOWN, "no channel entries found that replace x")

    run(work)


CUSTOM = "api.ExperimentalRegistry/ExperimentalListPackageCustomSchemas"


@pytest.mark.parametrize(
    ("metadata", "answer"),
    [
        ((("x-acknowledge-experimental", "true"),), [b"note"]),
        ((("x-acknowledge-experimental", "false"), ("x-acknowledge-experimental", "true")), []),
        ((("x-acknowledge-experimental", "True"),), []),
        ((), []),
    ],
)
def test_custom_blobs_need_an_opt_in(
    metadata: tuple[tuple[str, str], ...], answer: list[bytes]
) -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        request = string(1, "note") + string(2, "cog")
        assert await several(channel, CUSTOM, request, metadata=metadata) == answer

    run(work)


def test_a_request_with_invalid_names_is_an_invalid_argument() -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        metadata = (("x-acknowledge-experimental", "true"),)
        found = await refused(several(channel, CUSTOM, metadata=metadata))
        assert found == (grpc.StatusCode.INVALID_ARGUMENT, "schema is required")

    run(work)


def test_bytes_that_are_not_a_request_are_refused_and_the_next_call_is_answered() -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        for method in ("api.Registry/GetBundle", "grpc.health.v1.Health/Check"):
            code, words = await refused(one(channel, method, b"\x0a\xff"))
            assert code == grpc.StatusCode.INTERNAL
            assert "cannot read the request" in words
        assert await one(channel, "grpc.health.v1.Health/Check") == SERVING

    run(work)


def test_a_failing_disk_is_reported_and_calls_are_held_until_there_is_another_file() -> None:
    def broken(_offset: int, _length: int) -> bytes:
        raise OSError("cut off")

    async def work(server: CatalogServer, channel: grpc.aio.Channel) -> None:
        server.answer_from(RegistryApi(INDEX, broken))
        code, words = await refused(several(channel, "api.Registry/ListBundles"))
        assert (code, words) == (grpc.StatusCode.INTERNAL, "cannot read the catalog: cut off")
        assert server.lost.is_set()
        assert await one(channel, "grpc.health.v1.Health/Check") == NOT_SERVING
        server.answer_from(registry())
        assert not server.lost.is_set()
        assert await several(channel, "api.Registry/ListPackages") == [string(1, "cog")]

    run(work, ready=False)


def test_an_unknown_method_is_unimplemented() -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        for method in ("api.Registry/Nothing", "grpc.health.v1.Health/List", "a.B/C"):
            assert (await refused(one(channel, method)))[0] == grpc.StatusCode.UNIMPLEMENTED

    run(work)


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection_lists_the_services(version: str) -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        call = channel.stream_stream(
            f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
        )()
        await call.write(b"\x3a\x00")
        answer = await call.read()
        assert b"api.Registry" in answer
        await call.write(b"\x22\x09x")
        code, _ = await refused(call.read())
        assert code == grpc.StatusCode.INTERNAL

    run(work)


def test_a_running_list_ends_before_the_server_does() -> None:
    async def work(server: CatalogServer, channel: grpc.aio.Channel) -> None:
        call = channel.unary_stream("/api.Registry/ListBundles")(b"")
        assert await call.read()
        await server.stop()
        assert await call.read() == grpc.aio.EOF

    run(work)


def test_a_port_in_use_is_reported_with_a_hint() -> None:
    async def scenario() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with pytest.raises(RemoteError, match=f"127.0.0.1:{port}`: the port is taken") as error:
                await CatalogServer().start("127.0.0.1", port)
        assert "--port" in error.value.hint

    asyncio.run(scenario())


def test_two_servers_do_not_share_a_port() -> None:
    async def work(_: CatalogServer, channel: grpc.aio.Channel) -> None:
        await one(channel, "grpc.health.v1.Health/Check")
        first = CatalogServer()
        port = await first.start("127.0.0.1", 0)
        with pytest.raises(RemoteError, match="taken"):
            await CatalogServer().start("127.0.0.1", port)
        await first.stop()

    run(work)


@pytest.mark.parametrize("host", ["no.such.host.invalid", "203.0.113.7", "not an address"])
def test_an_address_of_another_machine_is_reported(host: str) -> None:
    async def scenario() -> None:
        with pytest.raises(RemoteError, match="cannot listen on"):
            await CatalogServer().start(host, 0)

    asyncio.run(scenario())


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_number_that_is_not_a_port_is_refused(port: int) -> None:
    async def scenario() -> None:
        with pytest.raises(ConfigurationError, match="not a port"):
            await CatalogServer().start("127.0.0.1", port)

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("host", "words"),
    [("", "0.0.0.0:1"), ("127.0.0.1", "127.0.0.1:1"), ("::1", "[::1]:1"), ("a.b", "a.b:1")],
)
def test_addresses_are_written_as_users_write_them(host: str, words: str) -> None:
    assert address(host, 1) == words


def test_without_a_host_it_listens_on_all_addresses() -> None:
    async def scenario() -> None:
        server = CatalogServer()
        port = await server.start("", 0)
        server.answer_from(registry())
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            assert await one(channel, "grpc.health.v1.Health/Check") == SERVING
        await server.stop()

    asyncio.run(scenario())


def test_clients_reconnect_after_a_while_and_no_call_fails() -> None:
    async def scenario() -> None:
        server = CatalogServer(connection_age=0.3)
        port = await server.start("127.0.0.1", 0)
        server.answer_from(registry())
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            watcher = channel.unary_stream("/grpc.health.v1.Health/Watch")(b"")
            assert await watcher.read() == SERVING
            assert channel.get_state() is grpc.ChannelConnectivity.READY
            ready = grpc.ChannelConnectivity.READY
            changed = asyncio.ensure_future(channel.wait_for_state_change(ready))
            while not changed.done():
                assert await several(channel, "api.Registry/ListPackages")
            assert await several(channel, "api.Registry/ListPackages")
            server.hold()  # The call that ran before still gets changes.
            assert await watcher.read() == NOT_SERVING
        await server.stop()

    asyncio.run(scenario())
