"""Test that a real API server accepts the CRDs and samples; skipped if it is not installed."""

from __future__ import annotations

from pathlib import Path

import pytest
from olmkit.runtime import Client, Manifest
from olmkit.testing import load_manifest

SAMPLES = Path(__file__).parent.parent / "config/samples"


@pytest.mark.usefixtures("control_plane")
async def test_the_api_server_accepts_the_samples(
    kube_client: Client, kube_namespace: str, crds: list[Manifest]
) -> None:
    scopes = {crd["spec"]["names"]["kind"]: crd["spec"]["scope"] for crd in crds}
    for path in sorted(SAMPLES.glob("*.yaml")):
        sample = load_manifest(path)
        scope = scopes.get(sample.get("kind", ""))
        if scope == "Namespaced":
            sample["metadata"] |= {"namespace": kube_namespace}
        if scope is not None:
            await kube_client.rehearsal.create(sample)
