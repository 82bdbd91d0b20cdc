"""`catalog serve --http-port` has the answers of the real catalogd for the same catalog."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

SERVICE = "/api/v1/namespaces/olmv1-system/services/https:catalogd-service:443/proxy"
REASONS = {400: "BadRequest", 404: "NotFound"}
PATHS = (
    "all",
    "metas",
    "metas?schema=olm.package",
    "metas?schema=olm.package&name=cog",
    "metas?package=cog",
    "metas?package=&schema=olm.bundle",
    "metas?name=cog.v1.0.0",
    "metas?name=cog.v1.0.0&package=gear",
    "metas?schema=note",
    "metas?schema=olm.package&schema=note",
    "metas?name=zork",
    "metas?color=red",
    "metas?Schema=olm.package",
    "graphql",
)


def blobs() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for package in ("cog", "gear"):
        name = f"{package}.v1.0.0"
        found += [
            {"schema": "olm.package", "name": package, "defaultChannel": "stable"},
            {
                "schema": "olm.channel",
                "name": "stable",
                "package": package,
                "entries": [{"name": name}],
            },
            {
                "schema": "olm.bundle",
                "name": name,
                "package": package,
                "image": f"registry.example/{package}:1",
                "properties": [
                    {"type": "olm.package", "value": {"packageName": package, "version": "1.0.0"}},
                    {
                        "type": "note",
                        "value": {"b": "<é>&\u2028", "a": 1.0, "c": 12345678901234567890},
                    },
                ],
            },
        ]
    return [*found, {"schema": "note", "text": "x" * 2000}, {"Schema": "note", "package": "cog"}]


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The address of olmkit's server for the catalog."""
    (tmp_path / "catalog").mkdir()
    lines = "".join(json.dumps(blob) + "\n" for blob in blobs())
    (tmp_path / "catalog/catalog.json").write_text(lines)
    words = ["catalog", "serve", "catalog", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(
        [sys.executable, "-m", "olmkit", *words, "--http-port", "0", "-o", "json"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as process:
        assert process.stdout is not None
        text = ""
        while not text.endswith("\n}\n"):
            line = process.stdout.readline()
            assert line, f"the server ended: {text}"
            text += line
        try:
            yield f"http://{json.loads(text)['result']['httpAddress']}/catalogs/catalog/api/v1/"
        finally:
            process.terminate()


def _ours(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:  # noqa: S310 - our own server
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def _theirs(cluster: Any, path: str) -> tuple[int, str]:
    words = [*cluster.words, "get", "--raw", path]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return 200, done.stdout
    return next(code for code, reason in REASONS.items() if f"({reason})" in done.stderr), ""


def test_answers_are_those_of_catalogd(olm_v1: Any, shop: Any, served: str) -> None:
    name = shop.serve(shop.publish(blobs(), "v1"))
    found = {path: _ours(served + path) for path in PATHS}
    assert found == {
        path: _theirs(olm_v1, f"{SERVICE}/catalogs/{name}/api/v1/{path}") for path in PATHS
    }
    assert found["all"][1].count("\n") == len(blobs())
    assert found["metas?color=red"][0] == 400
