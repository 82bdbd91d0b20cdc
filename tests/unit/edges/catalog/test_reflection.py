"""Server reflection, with the requests of `grpcurl`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool

from olmkit.base.protobuf import fields, message, string
from olmkit.edges.catalog import reflection

SERVICES = ("api.Registry", "grpc.health.v1.Health")


def asked(number: int, text: str) -> dict[int, bytes]:
    request = string(1, "host") + message(number, text.encode())
    reply = {
        n: v
        for n, v in fields(reflection.answer(request, SERVICES, reflection.shipped_descriptors()))
        if isinstance(v, bytes)
    }
    assert reply.pop(2) == request
    return reply


def files(reply: dict[int, bytes]) -> list[descriptor_pb2.FileDescriptorProto]:
    found = [v for n, v in fields(reply[4]) if n == 1 and isinstance(v, bytes)]
    return [descriptor_pb2.FileDescriptorProto.FromString(data) for data in found]


def test_services_are_listed() -> None:
    reply = asked(7, "")
    assert [dict(fields(v))[1] for _, v in fields(reply[6]) if isinstance(v, bytes)] == [
        name.encode() for name in SERVICES
    ]


@pytest.mark.parametrize(
    "symbol",
    [
        "api.Registry",
        "api.Registry.GetBundle",
        "api.Bundle",
        "api.ExperimentalRegistry.ExperimentalListPackageCustomSchemas",
        "grpc.health.v1.Health.Watch",
        "grpc.health.v1.HealthCheckResponse.ServingStatus",
        "google.protobuf.Struct.FieldsEntry",
    ],
)
def test_a_symbol_has_all_files_that_it_needs(symbol: str) -> None:
    pool = descriptor_pool.DescriptorPool()
    for file in reversed(files(asked(4, symbol))):
        pool.Add(file)
    service, _, method = symbol.rpartition(".")
    if service in ("api.Registry", "api.ExperimentalRegistry", "grpc.health.v1.Health"):
        assert pool.FindServiceByName(service).methods_by_name[method]
    else:
        assert pool.FindFileContainingSymbol(symbol)


def test_a_file_is_found_by_name() -> None:
    assert [file.name for file in files(asked(3, "grpc/health/v1/health.proto"))] == [
        "grpc/health/v1/health.proto"
    ]


@pytest.mark.parametrize(
    ("number", "text", "code"),
    [(4, "api.Nothing", 5), (3, "nothing.proto", 5), (6, "api.Bundle", 5), (1, "", 12)],
)
def test_a_missing_symbol_has_an_error(number: int, text: str, code: int) -> None:
    error = dict(fields(asked(number, text)[7]))
    assert error[1] == code
    assert error[2]


def test_an_extension_is_requested_with_a_message() -> None:
    request = message(5, string(1, "api.Bundle"))
    reply = dict(fields(reflection.answer(request, SERVICES, reflection.shipped_descriptors())))
    assert dict(fields(reply[7]))[1] == 5


def test_an_invalid_request_is_refused() -> None:
    with pytest.raises(ValueError, match="cut off"):
        reflection.answer(b"\x22\x09x", SERVICES, reflection.shipped_descriptors())


def test_the_descriptors_are_those_of_the_proto_files(root: Path, tmp_path: Path) -> None:
    made = tmp_path / "services.binpb"
    subprocess.run(
        ["sh", "scripts/protos", str(made)],
        cwd=root,
        env={"PYTHON": sys.executable, "PATH": "/usr/bin:/bin"},
        check=True,
    )
    shipped = (root / "olmkit" / "edges" / "services.binpb").read_bytes()
    read = descriptor_pb2.FileDescriptorSet.FromString
    # The library's own `struct.proto` can get new options with each release.
    ours = [file for file in read(shipped).file if not file.name.startswith("google/")]
    assert ours == [file for file in read(made.read_bytes()).file if file in ours]
    assert [file.name for file in ours] == ["registry.proto", "grpc/health/v1/health.proto"]
