"""The whole chain on the shipped operator, through a real registry, with the commands of a user.

Images of both bundles and of the catalog are pushed to a docker-registry, read
back by skopeo and by olmkit, and the catalog is served from the registry and
queried over gRPC.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.edges.catalog.client import CatalogClient
from olmkit.testing.registry import RegistryServer

pytestmark = pytest.mark.e2e

VERSIONS = ("0.0.1", "0.0.2")


def olmkit(*words: str | Path, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "olmkit", *map(str, words)],
        capture_output=True,
        text=True,
        cwd=folder,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_types_of_an_operator_become_a_catalog_that_answers_over_grpc(
    registry: RegistryServer, skopeo: Callable[..., bytes], root: Path, tmp_path: Path
) -> None:
    """Generate, bundle, validate, push, render, add, build, serve, query."""
    host = registry.host
    olmkit("generate", "--project", root / "operator", "--check", folder=tmp_path)

    pinned = []
    for version in VERSIONS:
        bundle = tmp_path / "bundle" / version
        olmkit(
            *("bundle", "generate", "--project", root / "operator", "--version", version),
            *("--input", f"config/releases/{version}", "--output-dir", bundle),
            folder=tmp_path,
        )
        olmkit("bundle", "validate", bundle, folder=tmp_path)
        tag = f"{host}/chain/memcached-operator-bundle:v{version}"
        pinned.append(
            olmkit("bundle", "build", bundle, "-t", tag, "--push", folder=tmp_path).strip()
        )
        labels = json.loads(skopeo("inspect", "--tls-verify=false", f"docker://{pinned[-1]}"))[
            "Labels"
        ]
        assert labels["operators.operatorframework.io.bundle.package.v1"] == "memcached-operator"
        again = olmkit("bundle", "build", bundle, "-t", tag, "--push", folder=tmp_path).strip()
        assert again == pinned[-1], "the digest is the same on every run"
        olmkit("bundle", "validate", pinned[-1], folder=tmp_path)

    configs = tmp_path / "configs"
    configs.mkdir()
    catalog = configs / "catalog.yaml"
    catalog.write_text(
        olmkit("catalog", "init", "memcached-operator", "-c", "alpha", folder=tmp_path)
    )
    for reference in pinned:
        olmkit("catalog", "add", configs, reference, folder=tmp_path)
    olmkit("catalog", "validate", configs, folder=tmp_path)
    assert f"image: {pinned[1]}" in catalog.read_text()
    rendered = olmkit("catalog", "render", pinned[0], folder=tmp_path)
    assert f"image: {pinned[0]}" in rendered

    image = olmkit(
        *("catalog", "build", configs, "-t", f"{host}/chain/catalog:v1", "--push"), folder=tmp_path
    ).strip()
    copied = tmp_path / "copied"
    skopeo("copy", "-q", "--src-tls-verify=false", f"docker://{image}", f"oci:{copied}:v1")
    assert olmkit("catalog", "render", f"oci:{copied}:v1", folder=tmp_path) == olmkit(
        "catalog", "render", configs, folder=tmp_path
    )

    server = subprocess.Popen(
        [
            *(sys.executable, "-m", "olmkit", "catalog", "serve", image),
            *("--host", "127.0.0.1", "--port", "0", "-o", "json"),
        ],
        stdout=subprocess.PIPE,
        env=os.environ | {"HOME": str(tmp_path)},
    )
    try:
        text = b""
        assert server.stdout is not None
        for line in server.stdout:
            text += line
            if line == b"}\n":
                break
        address = json.loads(text)["result"]["address"]
        with CatalogClient(address) as client:
            assert client.health() == "SERVING"
            head = client.ask(
                "GetBundleForChannel", {"pkgName": "memcached-operator", "channelName": "alpha"}
            )
            assert head["csvName"] == "memcached-operator.v0.0.2"
            assert head["bundlePath"] == pinned[1]
            after = client.ask(
                "GetBundleThatReplaces",
                {
                    "csvName": "memcached-operator.v0.0.1",
                    "pkgName": "memcached-operator",
                    "channelName": "alpha",
                },
            )
            assert after["csvName"] == "memcached-operator.v0.0.2"
    finally:
        assert server.stdout is not None
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=120) == 0
        server.stdout.close()
