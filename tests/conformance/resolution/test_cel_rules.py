"""CEL rules of `olm.constraint` compared with OLM's own evaluation.

Each rule is read as a requirement and evaluated for a candidate with the given properties.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from olmkit.base.versions import Version
from olmkit.olm.resolver import requirements
from olmkit.olm.resolver.resolution import (
    CatalogKey,
    ResolutionError,
    ResolverEntry,
    ResolverProperty,
)


def _entry(properties: list[dict[str, Any]]) -> ResolverEntry:
    return ResolverEntry(
        catalog=CatalogKey("cat", "olm"),
        package="a",
        channel="stable",
        name="a.v1",
        version=Version(1, 0, 0),
        properties=tuple(ResolverProperty(one["type"], one["value"]) for one in properties),
    )


def _answer(rule: str, properties: list[dict[str, Any]]) -> str:
    try:
        (found,) = requirements.entry_requirements(
            _entry([{"type": "olm.constraint", "value": {"cel": {"rule": rule}}}])
        )
    except ResolutionError:
        return "invalid"
    return "holds" if found.holds(_entry(properties)) else "does not hold"


def _expected(answer: dict[str, Any]) -> str:
    if "invalid" in answer:
        return "invalid"
    return "holds" if answer.get("holds") else "does not hold"


def test_rules_have_the_results_of_the_reference(vectors: Path) -> None:
    lines = (vectors / "resolve" / "rules.jsonl").read_text("utf-8").splitlines()
    vectors = [json.loads(line) for line in lines]
    assert vectors

    different = {
        vector["rule"]: (answer, expected)
        for vector in vectors
        if (answer := _answer(vector["rule"], vector["properties"]))
        != (expected := _expected(vector["answer"]))
    }
    assert different == {}
