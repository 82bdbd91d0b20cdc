"""Install the CRDs and webhooks of a project's config folder into a test server.

As in envtest, the server calls webhooks at a URL on loopback instead of a Service, with the
certificate of the test.
"""

from __future__ import annotations

import asyncio
import base64
import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from olmkit.base import documents
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.work.reconcile import Request
from olmkit.testing.waiting import until

CRD = GVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_GROUP = "admissionregistration.k8s.io"
_CONFIGURATIONS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_SETTLE = 1.0  # seconds; a server uses new webhooks a moment after it has stored them


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The address of webhooks, `https://127.0.0.1:PORT`, and the certificate as PEM."""

    url: str
    certificate: bytes

    def client_config(self, path: str) -> dict[str, str]:
        """Return the `clientConfig` of a webhook with this path."""
        bundle = base64.b64encode(self.certificate).decode()
        return {"url": self.url + path, "caBundle": bundle}


def crds(config: Path) -> list[Manifest]:
    """Return the CRDs of a config folder: of `crd/bases`, as `olmkit generate` writes it.

    Without that folder, CRDs are read from `crd`, or from the config folder itself. Raises
    `InputError` for a file that is not YAML.
    """
    folders = (config / "crd" / "bases", config / "crd", config)
    folder = next((one for one in folders if one.is_dir()), config)
    return [one for one in _manifests(folder) if one.get("kind") == CRD.kind]


def webhooks(config: Path) -> list[Manifest]:
    """Return the webhook configurations in `webhook/manifests.yaml`; empty without that file."""
    file = config / "webhook" / "manifests.yaml"
    return [one for one in _read(file) if one.get("kind") in _CONFIGURATIONS]


def calling(configuration: Manifest, endpoint: Endpoint) -> Manifest:
    """Return a webhook configuration whose webhooks are called at `endpoint`."""
    new = copy.deepcopy(configuration)
    for webhook in new.get("webhooks") or ():
        service = (webhook.get("clientConfig") or {}).get("service") or {}
        webhook["clientConfig"] = endpoint.client_config(service.get("path") or "/")
    return new


def converting(crd: Manifest, endpoint: Endpoint, path: str = "/convert") -> Manifest:
    """Return a CRD whose conversion webhook is at `endpoint`."""
    new = copy.deepcopy(crd)
    webhook = {
        "clientConfig": endpoint.client_config(path),
        "conversionReviewVersions": ["v1"],
    }
    new["spec"]["conversion"] = {"strategy": "Webhook", "webhook": webhook}
    return new


async def install(client: Client, manifests: Iterable[Manifest]) -> None:
    """Apply CRDs and webhook configurations, and wait until the server uses them."""
    wanted = list(manifests)
    for manifest in wanted:
        await client.apply(manifest, force=True)
    for manifest in wanted:
        if manifest["kind"] == CRD.kind:
            await _wait_for_kind(client, manifest)
    if any(one["kind"] != CRD.kind or "conversion" in one["spec"] for one in wanted):
        await asyncio.sleep(_SETTLE)


async def uninstall(client: Client, configurations: Iterable[Manifest]) -> None:
    """Delete webhook configurations."""
    for one in configurations:
        gvk = GVK(_GROUP, "v1", one["kind"])
        await client.delete(gvk, Request(one["metadata"]["name"]))


async def _wait_for_kind(client: Client, crd: Manifest) -> None:
    name, spec = crd["metadata"]["name"], crd["spec"]

    async def is_established() -> bool:
        found: Any = await client.get(CRD, Request(name))
        conditions = ((found or {}).get("status") or {}).get("conditions") or []
        return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)

    async def is_served() -> bool:
        # The server serves the kind a moment after it sets the condition.
        for version in spec["versions"]:
            if version.get("served"):
                try:
                    await client.list(GVK(spec["group"], version["name"], spec["names"]["kind"]))
                except ClusterError:
                    return False
        return True

    await until(is_established, seconds=60, what=f"`{name}` is established")
    await until(is_served, seconds=60, what=f"`{name}` is served")


def _manifests(folder: Path) -> list[Manifest]:
    files = sorted([*folder.glob("*.yaml"), *folder.glob("*.yml")])
    return [one for file in files for one in _read(file)]


def _read(file: Path) -> Sequence[Manifest]:
    if not file.is_file():
        return []
    loaded = documents.load_all(file.read_bytes(), str(file))
    return [one.value for one in loaded if isinstance(one.value, dict)]
