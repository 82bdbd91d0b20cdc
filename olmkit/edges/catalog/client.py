"""A client of `api.Registry`: queries a catalog that olmkit or another program serves.

Messages are built from the descriptors in `services.binpb`, in a separate pool, so that there are
no conflicts with other loaded descriptors, and any supported protobuf release works.
"""

from __future__ import annotations

import functools
from importlib import resources
from types import TracebackType
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory

# A bundle with large inlined objects exceeds the default of 4 MiB.
_MAX_MESSAGE = 256 * 1024 * 1024


@functools.cache
def _pool() -> descriptor_pool.DescriptorPool:
    data = resources.files("olmkit.edges").joinpath("services.binpb").read_bytes()
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.Add(file)
    return pool


class CatalogClient:
    """One connection to a served catalog."""

    def __init__(self, address: str, *, timeout: float = 60) -> None:
        self._channel = grpc.insecure_channel(
            address, options=[("grpc.max_receive_message_length", _MAX_MESSAGE)]
        )
        self._timeout = timeout

    def __enter__(self) -> CatalogClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._channel.close()

    def ask(
        self,
        rpc: str,
        request: dict[str, Any] | None = None,
        *,
        service: str = "api.Registry",
        metadata: tuple[tuple[str, str], ...] = (),
    ) -> Any:
        """Return the response as protobuf JSON with the original field names; a list for a stream.

        Raises `grpc.RpcError` if the server refuses.
        """
        method = _pool().FindServiceByName(service).methods_by_name[rpc]
        encoder = message_factory.GetMessageClass(method.input_type)
        decoder = message_factory.GetMessageClass(method.output_type)
        call = (
            self._channel.unary_stream if method.server_streaming else self._channel.unary_unary
        )(
            f"/{service}/{rpc}",
            request_serializer=encoder.SerializeToString,
            response_deserializer=decoder.FromString,
        )
        message = json_format.ParseDict(request or {}, encoder())
        answer = call(message, timeout=self._timeout, metadata=metadata, wait_for_ready=True)
        if method.server_streaming:
            return [_plain(item) for item in answer]
        return _plain(answer)

    def health(self, service: str = "") -> str:
        """Return `SERVING`, `NOT_SERVING` or `UNKNOWN`."""
        answer = self.ask("Check", {"service": service}, service="grpc.health.v1.Health")
        status: str = answer.get("status", "UNKNOWN")
        return status


def _plain(message: Any) -> dict[str, Any]:
    value: dict[str, Any] = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return value


def offer(
    address: str, package: str, *, channel: str = "", name: str = "", timeout: float = 60
) -> dict[str, Any] | None:
    """Return the channel's head, or the named bundle, from a served catalog.

    None if no server responds, or there is no such bundle.
    """
    with CatalogClient(address, timeout=timeout) as client:
        try:
            found = client.ask("GetPackage", {"name": package})
            channel = channel or str(found.get("defaultChannelName", ""))
            heads = {one.get("name"): one.get("csvName") for one in found.get("channels") or ()}
            asked = {"pkgName": package, "channelName": channel,
                     "csvName": name or heads.get(channel)}  # fmt: skip
            bundle: dict[str, Any] = client.ask("GetBundle", asked)
        except grpc.RpcError:
            return None
    return bundle if bundle.get("csvName") else None


def list_content(address: str, *, timeout: float = 60) -> tuple[list[Any], list[Any]] | None:
    """Return all packages and bundles of a served catalog; None if no server responds."""
    with CatalogClient(address, timeout=timeout) as client:
        try:
            names = [str(one.get("name", "")) for one in client.ask("ListPackages")]
            packages = [client.ask("GetPackage", {"name": name}) for name in names]
            return packages, client.ask("ListBundles")
        except grpc.RpcError:
            return None
