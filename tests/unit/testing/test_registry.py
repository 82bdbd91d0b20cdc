"""The real registry for tests: it starts, stores images, and ends."""

from __future__ import annotations

import urllib.error
import urllib.request
from pathlib import Path

import pytest

from olmkit.testing.registry import RegistryServer


def get(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - loopback
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_the_server_answers_for_the_duration_of_the_block(
    tmp_path: Path, registry: RegistryServer
) -> None:
    assert get(f"http://{registry.host}/v2/") == 200
    with RegistryServer(folder=tmp_path) as server:
        assert get(f"http://{server.host}/v2/") == 200
        assert server.port != registry.port
    with pytest.raises(urllib.error.URLError):
        get(f"http://{server.host}/v2/")


def test_a_server_with_users_refuses_other_users(tmp_path: Path, registry: RegistryServer) -> None:
    del registry  # The fixture skips the test if there is no program.
    with RegistryServer(folder=tmp_path, users={"u": "$2y$05$x"}) as server:
        assert get(f"http://{server.host}/v2/") == 401


def test_a_server_that_cannot_start_reports_why(tmp_path: Path, registry: RegistryServer) -> None:
    with pytest.raises(RuntimeError, match="does not start"):
        with RegistryServer(folder=tmp_path, port=registry.port):
            pass
