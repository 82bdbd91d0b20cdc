"""Bundles that this machine cannot read: what was read, why it failed, and what to do."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle
from olmkit.oci.store import RegistryError

IMAGE = "r.example/cache:v1"
INSTEAD = "if only the cluster can reach that registry, pass the directory of the bundle"


@pytest.mark.parametrize(
    ("error", "hint"),
    [
        (
            RegistryError("denied", hint="log in first"),
            f"log in first; {INSTEAD}",
        ),
        (RegistryError("no such tag", hint="check the tag", status=404), "check the tag"),
    ],
)
def test_an_unreadable_bundle_is_named_with_the_reason(
    error: RegistryError, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(*_: Any) -> None:
        raise RegistryError(error.message, hint=error.hint, status=error.status)

    monkeypatch.setattr(bundle.transports, "read_bundle_tree", refuse)
    with pytest.raises(OlmkitError) as raised:
        asyncio.run(bundle.require_bundle(IMAGE, Access()))
    assert raised.value.message == (
        f"the bundle `{IMAGE}` cannot be read from this machine: {error.message}"
    )
    assert raised.value.hint == hint

    chosen = asyncio.run(bundle.read_chosen("cache.v1.0.0", "stable", IMAGE, Access()))
    assert chosen.note == f"the bundle `{IMAGE}` cannot be read from here: {error.message}"
    assert (chosen.hint, chosen.is_missing) == (error.hint, error.status == 404)
