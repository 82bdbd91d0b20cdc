"""Releases in the Secrets of Helm 3 and 4, and the contents of their manifests.

The format is that of Helm's package `storage/driver`: the key `release` of a Secret of type
`helm.sh/release.v1` is base64 of gzip of JSON, and the labels say name, revision and status.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.json import syntax_errors
from olmkit.hybrid import masks
from olmkit.kube import objects
from olmkit.kube.objects import Manifest

DEPLOYED = "deployed"
INPUT_LABEL = "olmkit.dev/input"
"""The label of a release with the digest of its input."""
_LIMIT = 64 << 20  # bytes of a release; a Secret holds 1 MiB, so this is a bomb
_GZIP = 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One revision. `input` is the `digest` of its input; empty if created by other tools.

    `owners` are the UIDs of its Secret's owners. `is_server_side`: Helm 4 has applied it with
    server-side apply; Helm 3 never does.
    """

    name: str
    revision: int
    status: str
    secret: str
    chart: str = ""
    manifest: str = ""
    notes: str = ""
    input: str = ""
    secret_uid: str = ""
    owners: frozenset[str] = frozenset()
    is_server_side: bool = False

    @property
    def is_pending(self) -> bool:
        """Return whether helm was interrupted; it refuses to change such a release."""
        return self.status.startswith("pending-") or self.status == "uninstalling"


def decode(secret: Manifest) -> Release:
    """Return the release of a Secret; raise `InputError` if there is none in it."""
    labels = objects.labels_of(secret)
    name = objects.name(secret)
    try:
        data = base64.b64decode(objects.text(objects.mapping(secret.get("data")).get("release")))
        packed = base64.b64decode(data, validate=True)
        unpacked = _decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
        value = json.loads(unpacked)
        revision = int(value["version"])
    except (binascii.Error, ValueError, KeyError, TypeError, zlib.error, RecursionError) as error:
        problem = syntax_errors.describe(error)
        raise InputError(f"the Secret `{name}` holds no release of Helm: {problem}") from None
    info = objects.mapping(value.get("info"))
    chart = objects.mapping(objects.mapping(value.get("chart")).get("metadata"))
    return Release(
        name=objects.text(value.get("name")),
        revision=revision,
        status=objects.text(info.get("status")) or labels.get("status", ""),
        secret=name,
        chart=objects.text(chart.get("name")),
        manifest=objects.text(value.get("manifest")),
        notes=objects.text(info.get("notes")),
        input=labels.get(INPUT_LABEL, ""),
        secret_uid=objects.text(objects.metadata(secret).get("uid")),
        owners=frozenset(
            objects.text(objects.mapping(one).get("uid"))
            for one in objects.sequence(objects.metadata(secret).get("ownerReferences"))
        ),
        is_server_side=value.get("apply_method") == "ssa",
    )


def current(stored: Iterable[Release]) -> Release | None:
    """Return the newest revision that is deployed, else the newest that is not pending."""
    settled = sorted((one for one in stored if not one.is_pending), key=lambda one: one.revision)
    deployed = [one for one in settled if one.status == DEPLOYED]
    return next(reversed(deployed or settled), None)


def digest(*, chart: str, helm: str, values: Any, overrides: Mapping[str, str]) -> str:
    """Return the digest of a release's input for a label: 40 hexadecimal digits.

    `chart` is the digest of its files, `helm` the version of the program.
    """
    whole = json.dumps([chart, helm, values, dict(overrides)], sort_keys=True)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:40]


def manifests(text: str) -> list[Manifest]:
    """Return the objects of a manifest, with lists expanded, or raise `InputError`."""
    found: list[Manifest] = []
    for document in documents.load_all(text.encode(), "manifest"):
        if isinstance(document.value, dict):
            found += objects.items_of(document.value)
    return found


def same(left: str, right: str) -> bool:
    """Return whether two manifests have the same objects in any order."""
    return _sorted(left) == _sorted(right)


def mask(text: str) -> str:
    """Return the manifest without the data of its Secrets; unchanged if it has none."""
    found = manifests(text)
    if not any(masks.is_secret(one) for one in found):
        return text
    return documents.dump_all(_mask(one) for one in found).decode()


def _mask(manifest: Manifest) -> Manifest:
    if not masks.is_secret(manifest):
        return manifest
    hidden_fields = {
        name: dict.fromkeys(objects.mapping(manifest.get(name)), masks.MASK)
        for name in ("data", "stringData")
        if name in manifest
    }
    return manifest | hidden_fields


def _sorted(text: str) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True, default=str) for one in manifests(text))


def _decompress(packed: bytes) -> bytes:
    stream = zlib.decompressobj(_GZIP)
    found = stream.decompress(packed, _LIMIT)
    if stream.unconsumed_tail:
        raise ValueError(f"it unpacks to more than {_LIMIT >> 20} MiB")
    return found
