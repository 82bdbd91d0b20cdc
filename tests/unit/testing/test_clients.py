"""A client of the API server double, and manifests from files."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.runtime import GVK, Request
from olmkit.testing import BUILT_IN, ApiServer, client_for, load_manifest


def test_a_client_reads_the_objects_of_the_server() -> None:
    async def check() -> None:
        server = ApiServer.of(BUILT_IN)
        server.put("configmaps", {"metadata": {"name": "one", "namespace": "default"}})
        async with server.serving(), client_for(server) as client:
            found = await client.get(GVK("", "v1", "ConfigMap"), Request("one", "default"))
        assert found is not None
        assert found["metadata"]["name"] == "one"

    asyncio.run(check())


def test_a_manifest_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text("kind: ConfigMap\n")
    assert load_manifest(file) == {"kind": "ConfigMap"}

    file.write_text("- 1\n")
    with pytest.raises(InputError, match="does not contain an object"):
        load_manifest(file)
