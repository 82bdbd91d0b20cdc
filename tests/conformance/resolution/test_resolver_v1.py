"""Choices compared with the answers of OLM v1's own resolver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.base.versions import BuildRelease, Version, VersionRelease
from olmkit.catalog.graph.upgrades import Start, UpgradeQuery
from olmkit.kube.labels import LabelSelector
from olmkit.olm.resolver import v1 as resolver_v1
from olmkit.olm.resolver.v1 import ClusterCatalog
from tests.conformance.resolution.worlds import catalog_of


def query_of(world: dict[str, Any]) -> UpgradeQuery:
    extension, installed = world["extension"], world.get("installed")
    start = None
    if installed:
        release = BuildRelease.parse(installed["release"]) if installed.get("release") else None
        version = VersionRelease(Version.parse(installed["version"]), release)
        start = Start(installed["name"], version)
    return UpgradeQuery(
        channels=extension.get("channels", ()),
        range=VersionConstraint.parse(extension["version"]) if extension.get("version") else None,
        installed=start,
        is_free=extension.get("policy") == "SelfCertified",
    )


def catalogs_of(world: dict[str, Any]) -> list[ClusterCatalog]:
    """Return the catalogs that the extension can use."""
    selector = LabelSelector.parse(world["extension"].get("selector", {}))
    return [
        ClusterCatalog(
            name=one["name"],
            priority=one.get("priority", 0),
            catalog=catalog_of(one),
            trouble=one.get("error", ""),
        )
        for one in world["catalogs"]
        if not one.get("unavailable") and selector.matches(one.get("labels", {}))
    ]


def answer_of(world: dict[str, Any]) -> dict[str, str]:
    extension = world["extension"]
    try:
        found = resolver_v1.resolve(
            catalogs_of(world),
            extension["package"],
            query_of(world),
            version=extension.get("version", ""),
        )
    except InputError as error:
        return {"error": error.message}
    return {"bundle": found.bundle.name}


def test_selected_bundles_are_those_of_olm_v1(vectors: Path) -> None:
    lines = (vectors / "resolve" / "scenarios-v1.jsonl").read_text().splitlines()
    worlds = [json.loads(line) for line in lines]
    assert worlds
    for world in worlds:
        expected = {
            key: world["answer"][key] for key in ("bundle", "error") if key in world["answer"]
        }
        if "is invalid" in expected.get("error", ""):
            try:
                query_of(world)
            except OlmkitError:
                continue
        assert answer_of(world) == expected, world["id"]
