"""Read the manifests in the steps of an InstallPlan.

A step contains its manifest. For an unpacked bundle, it names a ConfigMap instead, which has the
bundle's compressed files and is in the namespace of the catalog.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds

# The compressed files of a bundle fit into one ConfigMap; a CSV of that size is much smaller than
# this.
_MAX_FILE = 32 * 1024 * 1024
_GZIP = zlib.MAX_WBITS | 16


def find_for_csv(plans: tuple[Manifest, ...], csv: str) -> Manifest | None:
    """Return the newest InstallPlan that installs the CSV of that name."""
    found = [plan for plan in plans if csv in kinds.plan_csvs(plan)]
    return max(
        found, key=lambda plan: kinds.number(kinds.spec(plan).get("generation")), default=None
    )


def step(plan: Manifest, csv: str) -> Manifest:
    """Return the manifest of the CSV's step, or the ConfigMap that it names; empty if unknown."""
    for one in sequence(kinds.status(plan).get("plan")):
        resource = mapping(mapping(one).get("resource"))
        if resource.get("kind") == kinds.CSV[1] and resource.get("name") == csv:
            return _load_csv(text(resource.get("manifest")).encode(), csv)
    return {}


def find_unpacked_csv(config: Manifest, csv: str) -> Manifest:
    """Return the CSV of that name among the files of a ConfigMap; empty if it is not there."""
    for found in files(config):
        if objects.kind(found) == kinds.CSV[1] and objects.name(found) == csv:
            return found
    return {}


def files(config: Manifest) -> Iterator[Manifest]:
    """Yield the bundle manifests in a ConfigMap; unreadable ones are left out."""
    for name, data in mapping(config.get("binaryData")).items():
        try:
            packed = base64.b64decode(base64.b64decode(text(data)))
            content = zlib.decompressobj(_GZIP).decompress(packed, _MAX_FILE)
        except (ValueError, zlib.error):
            continue
        found = _load_csv(content, name)
        if found:
            yield found


def contents(plan: Manifest) -> tuple[list[Manifest], set[tuple[str, str]]]:
    """Return the manifests in a plan's steps, and the ConfigMaps with the others.

    For an unpacked bundle, each step names the ConfigMap with the bundle.
    """
    inline: list[Manifest] = []
    configs: set[tuple[str, str]] = set()
    for one in sequence(kinds.status(plan).get("plan")):
        resource = mapping(mapping(one).get("resource"))
        found = _load_csv(text(resource.get("manifest")).encode(), text(resource.get("name")))
        if found.get("kind") == "ConfigMap" and "catalogSourceName" in found:
            configs.add((text(found.get("namespace")), text(found.get("name"))))
        elif found:
            inline.append(found)
    return inline, configs


def _load_csv(data: bytes, name: str) -> Manifest:
    try:
        value: Any = documents.load(data, name).value
    except InputError:
        return {}
    return dict(mapping(value))
