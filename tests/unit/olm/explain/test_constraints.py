"""OLM's message about constraints, converted to facts."""

from __future__ import annotations

import pytest

from olmkit.olm.explain import constraints, forms

API = (
    "bundle a.v2 requires an operator providing an API with group: g.example.com, version: v1, "
    "kind: Db, subscription a exists, subscription a requires shelf/olm/stable/a.v2"
)
RANGE = (
    "bundle a.v1 requires an operator with package: db and with version in range: >=1.0.0 <2.0.0, "
    "shelf/olm/stable/db.v1 and shelf/olm/beta/db.v2 originate from package db, subscription db "
    "requires at least one of shelf/olm/beta/db.v2 or shelf/olm/beta/db.v3"
)
THREE = "a/olm/x/p.v1, a/olm/x/q.v1, a/olm/x/r.v1 provide K (g/v1), subscription p exists"
INSTALLED = (
    "clusterserviceversion p.v1 exists and is not referenced by a subscription, bundle p.v2 is "
    "deprecated"
)


@pytest.mark.parametrize(
    ("message", "facts"),
    [
        (
            API,
            (
                "`a.v2` needs the API `Db` (`g.example.com/v1`)",
                "Subscription `a` may have `a.v2`",
            ),
        ),
        (
            RANGE,
            (
                "`a.v1` needs package `db` in `>=1.0.0 <2.0.0`",
                "`db.v1` and `db.v2` are of the package `db`",
                "Subscription `db` may have `db.v2` and `db.v3`",
            ),
        ),
        (THREE, ("`p.v1`, `q.v1` and `r.v1` all provide the API `K` (`g/v1`)",)),
        ("p.v1 and p.v1 provide K (g/v1)", ("`p.v1` provides the API `K` (`g/v1`) twice",)),
        (
            INSTALLED,
            ("`p.v2` is deprecated", "`p.v1` is installed and no Subscription may replace it"),
        ),
        ("something that is new", ("something that is new",)),
        ("", ()),
    ],
)
def test_each_constraint_is_a_sentence(message: str, facts: tuple[str, ...]) -> None:
    assert constraints.parse_facts(forms.UNSATISFIABLE + message) == facts
