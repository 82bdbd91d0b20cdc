"""What the operator answers when the API server asks about a Memcached."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from memcached_operator import wiring
from memcached_operator.api.v1alpha1.memcached import Memcached

from olmkit.base import documents
from olmkit.runtime import (
    CertificateFiles,
    Manifest,
    Registry,
    WebhookServer,
    self_signed,
    webhook_path,
)

MUTATE = webhook_path("mutate", Memcached.gvk)
VALIDATE = webhook_path("validate", Memcached.gvk)


def files(folder: Path) -> CertificateFiles:
    certificate, key = self_signed.make()
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    return CertificateFiles(folder=folder)


def memcached(**spec: Any) -> Manifest:
    return {
        "apiVersion": "cache.example.com/v1alpha1",
        "kind": "Memcached",
        "metadata": {"name": "m", "namespace": "n"},
        "spec": spec,
    }


def ask(folder: Path, path: str, operation: str, new: Any, old: Any = None) -> Any:
    """Send a review to the operator's webhooks over TLS; its response."""
    review = {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {"uid": "u", "operation": operation, "object": new, "oldObject": old},
    }

    async def work() -> Any:
        server = WebhookServer(("127.0.0.1", 0), files(folder), registry=Registry())
        wiring.add_webhooks(server)
        running = asyncio.create_task(server.run())
        await server.wait_until_ready()
        tls = ssl.create_default_context(cafile=str(folder / "tls.crt"))
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"https://localhost:{server.port}{path}", json=review, ssl=tls) as answer,
        ):
            found = await answer.json()
        running.cancel()
        await asyncio.wait([running])
        return found["response"]

    return asyncio.run(work())


@pytest.mark.parametrize(
    ("spec", "patch"),
    [
        ({}, [{"op": "add", "path": "/spec/size", "value": 1}]),
        ({"size": 4}, None),
        ({"size": 0}, None),
        ({"size": "3"}, None),
    ],
    ids=["missing", "given", "refused by the schema", "of another type"],
)
def test_size_that_is_missing_is_filled_in(tmp_path: Path, spec: Any, patch: Any) -> None:
    response = ask(tmp_path, MUTATE, "CREATE", memcached(**spec))
    assert response["allowed"] is True
    found = response.get("patch")
    assert (json.loads(base64.b64decode(found)) if found else None) == patch


@pytest.mark.parametrize(
    ("operation", "old", "new", "warns"),
    [
        ("CREATE", None, memcached(size=1), True),
        ("CREATE", None, memcached(size=2), False),
        ("UPDATE", memcached(size=2), memcached(size=1), True),
        ("UPDATE", memcached(size=1), memcached(size=1), False),
        ("UPDATE", memcached(size=9), memcached(size=1), True),
        ("DELETE", memcached(size=1), None, False),
    ],
)
def test_one_pod_is_warned_of_and_nothing_is_refused(
    tmp_path: Path, operation: str, old: Any, new: Any, warns: bool
) -> None:
    response = ask(tmp_path, VALIDATE, operation, new, old)
    assert response["allowed"] is True
    assert bool(response.get("warnings")) is warns


def test_object_from_before_the_schema_lets_its_finalizer_go(tmp_path: Path) -> None:
    held = memcached(size=9)
    held["metadata"] |= {"deletionTimestamp": "2024-05-01T00:00:00Z", "finalizers": ["a/b"]}
    free = memcached(size=9)
    free["metadata"] |= {"deletionTimestamp": "2024-05-01T00:00:00Z"}
    assert ask(tmp_path, VALIDATE, "UPDATE", free, held)["allowed"] is True


def test_paths_are_those_of_the_configurations(root: Path) -> None:
    text = (root / "operator/config/webhook/manifests.yaml").read_bytes()
    found = [
        hook["clientConfig"]["service"]["path"]
        for one in documents.load_all(text, "manifests.yaml")
        for hook in one.value["webhooks"]
    ]
    assert found == [MUTATE, VALIDATE]
