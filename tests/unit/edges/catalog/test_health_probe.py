"""The program that OLM executes: with a real gRPC server, and with other servers."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from olmkit.edges.catalog import health_probe
from olmkit.jobs.catalog import image as catalog_image

SERVING, NOT_SERVING = b"\x08\x01", b"\x08\x02"


@contextmanager
def server(answer: Callable[[bytes, Any], bytes], address: str = "127.0.0.1:0") -> Iterator[str]:
    """A gRPC server whose health is `answer`."""
    method = grpc.unary_unary_rpc_method_handler(answer)
    handlers = grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": method})
    with futures.ThreadPoolExecutor(1) as pool:
        running = grpc.server(pool)
        running.add_generic_rpc_handlers((handlers,))
        port = running.add_insecure_port(address)
        running.start()
        yield f"127.0.0.1:{port}" if port > 1 else address
        stopped: threading.Event = running.stop(None)
        stopped.wait()


@contextmanager
def raw(reply: bytes) -> Iterator[str]:
    """A server that answers `reply` to any request and closes the connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def work() -> None:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):  # the client can be gone
            connection.recv(65536)
            connection.sendall(reply)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass

    thread = threading.Thread(target=work)
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    thread.join()
    listener.close()


def test_a_healthy_server_is_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    with server(lambda *_: SERVING) as address:
        assert health_probe.main([f"-addr={address}", "-rpc-timeout=5s"]) == 0
    assert capsys.readouterr().out == "status: SERVING\n"


def test_an_address_without_a_host_is_this_machine() -> None:
    with server(lambda *_: SERVING) as address:
        assert health_probe.main([f"-addr=:{address.rpartition(':')[2]}"]) == 0


def test_a_server_that_is_not_ready_is_unhealthy(capsys: pytest.CaptureFixture[str]) -> None:
    with server(lambda *_: NOT_SERVING) as address:
        assert health_probe.main(["--addr", address]) == 4
    with server(lambda *_: b"") as address:
        assert health_probe.main(["--addr", address]) == 4
    assert capsys.readouterr().err == (
        "service unhealthy (responded with 'NOT_SERVING')\n"
        "service unhealthy (responded with 'UNKNOWN')\n"
    )


def test_the_requested_service_is_named(tmp_path: Path) -> None:
    asked = []
    name = "api.Registry" + "x" * 300

    def answer(request: bytes, _: Any) -> bytes:
        asked.append(request)
        return SERVING

    with server(answer, f"unix:{tmp_path}/s") as address:
        assert health_probe.main(["-addr", address, "-service", name, "-v"]) == 0
    assert asked == [b"\x0a" + bytes([len(name) & 127 | 128, len(name) >> 7]) + name.encode()]


def test_a_server_without_health_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(_: bytes, context: Any) -> bytes:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, "no")
        return b""

    with server(refuse) as address:
        assert health_probe.main(["-addr", address]) == 3
    assert "no answer" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "does not speak HTTP/2"),
        (b"\0\0\x08\x07\0\0\0\0\0" + bytes(8), "ended the call"),
        (b"\0\0\x04\x03\0\0\0\0\x01" + bytes(4), "ended the call"),
        (b"\0\0\0\x01\x05\0\0\0\x01", "gave no answer"),
    ],
    ids=["nothing", "http1", "goaway", "reset", "trailers"],
)
def test_a_server_without_grpc_is_an_error(
    reply: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with raw(reply) as address:
        assert health_probe.main(["-addr", address]) == 3
    assert words in capsys.readouterr().err


def test_a_server_that_never_answers_ends_at_the_time_limit() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert health_probe.main(["-addr", address, "-rpc-timeout=20ms"]) == 3


def test_without_a_server_there_is_no_connection(tmp_path: Path) -> None:
    assert health_probe.main(["-addr=127.0.0.1:1"]) == 2
    assert health_probe.main([f"-addr=unix:{tmp_path}/none"]) == 2
    assert health_probe.main(["-addr=nonsense"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["-addr"],
        ["-nope"],
        ["addr"],
        ["-addr=:1", "-rpc-timeout=5"],
        ["-addr=:1", "-rpc-timeout=x"],
    ],
    ids=" ".join,
)
def test_invalid_usage_is_reported(words: list[str]) -> None:
    assert health_probe.main(words) == 1


def test_durations_have_the_format_of_go() -> None:
    assert health_probe.seconds("1m30s") == 90
    assert health_probe.seconds("1.5s") == 1.5
    assert health_probe.seconds("500ms") == 0.5


def test_the_program_in_the_image_runs_alone(tmp_path: Path) -> None:
    program = tmp_path / "grpc_health_probe"
    program.write_bytes(catalog_image.probe())
    program.chmod(0o755)
    (tmp_path / "python3").symlink_to(sys.executable)
    with server(lambda *_: SERVING) as address:
        done = subprocess.run(
            [program, f"-addr={address}", "-rpc-timeout=5s"],
            env={"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": "/nowhere"},
            capture_output=True,
            check=False,
        )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"status: SERVING\n", b"")
