"""Choices beside the answers of OLM v1's own resolver."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.version_constraints import VersionConstraint
from olmkit.base.versions import Release, Version, VersionRelease
from olmkit.catalog.graph.upgrades import Ask, Start
from olmkit.kube.labels import LabelSelector
from olmkit.olm.resolver import v1 as resolver_v1
from olmkit.olm.resolver.v1 import Shelf
from tests.conformance.resolution.worlds import catalog_of


def ask_of(world: dict[str, Any]) -> Ask:
    wish, installed = world["extension"], world.get("installed")
    start = None
    if installed:
        release = Release.parse(installed["release"]) if installed.get("release") else None
        version = VersionRelease(Version.parse(installed["version"]), release)
        start = Start(installed["name"], version)
    return Ask(
        channels=wish.get("channels", ()),
        range=VersionConstraint.parse(wish["version"]) if wish.get("version") else None,
        installed=start,
        is_free=wish.get("policy") == "SelfCertified",
    )


def shelves_of(world: dict[str, Any]) -> list[Shelf]:
    """The catalogs that the extension may take from."""
    selector = LabelSelector.parse(world["extension"].get("selector", {}))
    return [
        Shelf(
            name=one["name"],
            priority=one.get("priority", 0),
            catalog=catalog_of(one),
            trouble=one.get("error", ""),
        )
        for one in world["catalogs"]
        if not one.get("unavailable") and selector.matches(one.get("labels", {}))
    ]


def answer_of(world: dict[str, Any]) -> dict[str, str]:
    wish = world["extension"]
    try:
        found = resolver_v1.resolve(
            shelves_of(world), wish["package"], ask_of(world), version=wish.get("version", "")
        )
    except InputError as error:
        return {"error": error.message}
    return {"bundle": found.bundle.name}


def test_choices_are_those_of_olm_v1(vectors: Path) -> None:
    lines = (vectors / "resolve" / "scenarios-v1.jsonl").read_text().splitlines()
    worlds = [json.loads(line) for line in lines]
    assert worlds
    for world in worlds:
        expected = {
            key: world["answer"][key] for key in ("bundle", "error") if key in world["answer"]
        }
        if "is invalid" in expected.get("error", ""):
            try:
                ask_of(world)
            except OlmkitError:
                continue
        assert answer_of(world) == expected, world["id"]
