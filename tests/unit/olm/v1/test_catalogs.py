"""Hints for a ClusterCatalog that catalogd does not serve."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm.v1 import catalogs


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        (
            'error applying image: catalog image is missing the required label "configs.v1"',
            "`r.example/c:v1` is not the image of a catalog: build one with `olmkit catalog build`",
        ),
        (
            "error storing fbc: error walking FBC root: json: offset 37: invalid character",
            "run `olmkit catalog validate r.example/c:v1` to see what is wrong",
        ),
        ("reading manifest v1 in r.example/c: manifest unknown", "push the image `r.example/c:v1`"),
        ("dial tcp: lookup r.example: no such host", "check that catalogd can reach the registry"),
    ],
)
def test_the_hint_names_what_is_wrong_with_the_image(reason: str, hint: str) -> None:
    catalog = {
        "kind": "ClusterCatalog",
        "metadata": {"name": "shelf"},
        "spec": {"source": {"image": {"ref": "r.example/c:v1"}}},
        "status": {
            "conditions": [
                {"type": "Progressing", "status": "True", "reason": "Retrying", "message": reason}
            ]
        },
    }
    found = catalogs.explain_catalog(catalog)
    assert found is not None
    assert found.hint.startswith(hint)


@pytest.mark.parametrize(
    ("progressing", "readiness", "message"),
    [
        ({}, None, ""),
        ({"reason": "Succeeded", "observedGeneration": 2}, None, ""),
        (
            {"reason": "Succeeded", "observedGeneration": 1},
            "waiting",
            "has not yet read the change",
        ),
        (
            {"reason": "Retrying", "observedGeneration": 2, "message": "storing fbc: bad"},
            "stuck",
            "still serves its previous content, because catalogd cannot read `r.example/c:v2`",
        ),
        ({"reason": "Blocked", "observedGeneration": 2, "message": "x"}, "blocked", ": x"),
    ],
)
def test_a_changed_catalog_is_served_only_with_its_new_image(
    progressing: dict[str, Any], readiness: str | None, message: str
) -> None:
    conditions = [{"type": "Serving", "status": "True", "observedGeneration": 1}]
    if progressing:
        conditions.append({"type": "Progressing", "status": "True", **progressing})
    catalog = {
        "kind": "ClusterCatalog",
        "metadata": {"name": "shelf", "generation": 2},
        "spec": {"source": {"image": {"ref": "r.example/c:v2"}}},
        "status": {"conditions": conditions},
    }
    assert catalogs.explain_catalog(catalog) is None
    found = catalogs.explain_change(catalog)
    assert (None if found is None else str(found.readiness)) == readiness
    assert message in (found.message if found else "")
