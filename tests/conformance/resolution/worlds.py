"""The worlds of the vectors `resolve`, each with the answer of OLM v0."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.model import Catalog


def worlds(folder: Path) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each world with the answer of OLM v0."""
    for line in (folder / "scenarios.jsonl").read_text().splitlines():
        world = json.loads(line)
        yield world, world["answer"]
    with (
        gzip.open(folder / "worlds.jsonl.gz", "rt") as questions,
        gzip.open(folder / "answers.jsonl.gz", "rt") as answers,
    ):
        yield from zip(map(json.loads, questions), map(json.loads, answers), strict=True)


def catalog_of(world: dict[str, Any]) -> Catalog:
    """Return a catalog of a world as file-based catalog."""
    blobs = []
    for package in world["packages"]:
        head = {"schema": "olm.package", "name": package["name"]}
        blobs.append(Blob.of({**head, "defaultChannel": package.get("defaultChannel", "")}))
        for channel in package["channels"]:
            head = {"schema": "olm.channel", "package": package["name"], "name": channel["name"]}
            blobs.append(Blob.of({**head, "entries": channel["entries"]}))
    for bundle in world["bundles"]:
        kept = {key: bundle.get(key) for key in ("name", "package", "properties")}
        blobs.append(Blob.of({"schema": "olm.bundle", "image": "a/b:1", **kept}))
    old = world.get("deprecations", ())
    return model.from_blobs(
        [*blobs, *(Blob.of({"schema": "olm.deprecations", **one}) for one in old)]
    )
