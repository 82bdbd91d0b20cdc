"""Why a namespace cannot be resolved, from the catalogs that it can use."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.diagnostics import RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog.model import Catalog
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.cluster import conflicts, offered
from olmkit.kube import objects
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.installs import explain
from olmkit.olm.resolver.resolution import CatalogKey, Subscription

V1 = "operators.coreos.com/v1alpha1"
SHELF = CatalogKey("shelf", "olm")


def package(name: str, *versions: str, **needs: str) -> list[dict[str, Any]]:
    """A package with a channel for each version; `needs` is a package and its range."""
    required = [
        {"type": "olm.package.required", "value": {"packageName": one, "versionRange": range_}}
        for one, range_ in needs.items()
    ]
    blobs: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": name, "defaultChannel": f"v{versions[-1][0]}"}
    ]
    for version in versions:
        bundle = f"{name}.v{version}"
        own = {"type": "olm.package", "value": {"packageName": name, "version": version}}
        blobs += [
            {"schema": "olm.channel", "package": name, "name": f"v{version[0]}",
             "entries": [{"name": bundle}]},
            {"schema": "olm.bundle", "package": name, "name": bundle, "image": f"r/{bundle}",
             "properties": [own, *required]},
        ]  # fmt: skip
    return blobs


def catalog(*packages: list[dict[str, Any]]) -> Catalog:
    lines = "\n".join(json.dumps(one) for blobs in packages for one in blobs).encode()
    return catalog_job.read("shelf", tree=Tree({"c.json": lines}), valid=False)


def source(name: str, namespace: str = "olm") -> dict[str, Any]:
    return {"apiVersion": V1, "kind": "CatalogSource", "spec": {"image": f"r/{name}"},
            "metadata": {"name": name, "namespace": namespace}}  # fmt: skip


def subscription(name: str, channel: str, message: str = "", installed: str = "") -> Any:
    failed = {"type": "ResolutionFailed", "status": "True", "message": message,
              "reason": "ConstraintsNotSatisfiable"}  # fmt: skip
    return {
        "apiVersion": V1,
        "kind": "Subscription",
        "metadata": {"name": name, "namespace": "apps"},
        "spec": {"name": name, "channel": channel, "source": "shelf", "sourceNamespace": "olm"},
        "status": {"conditions": [failed] if message else [], "installedCSV": installed},
    }


CATALOG = catalog(package("a", "1.0.0", db=">=2.0.0"), package("db", "1.0.0", "2.0.0"))
FACTS = (
    "`a.v1.0.0` needs package `db` in `>=2.0.0`, which only `db.v2.0.0` offers",
    "Subscription `a` is pinned to channel `v1`, which offers `a.v1.0.0`",
    "Subscription `db` is pinned to channel `v1`, which offers `db.v1.0.0`",
)
MESSAGE = (
    "constraints not satisfiable: bundle a.v1.0.0 requires an operator with package: db and with "
    "version in range: >=2.0.0, shelf/olm/v1/db.v1.0.0 and shelf/olm/v2/db.v2.0.0 originate from "
    "package db, subscription a exists, subscription db exists"
)
SEEN = ClusterState(
    namespace="apps",
    subscriptions=(subscription("a", "v1", MESSAGE), subscription("db", "v1", MESSAGE)),
    groups=({"kind": "OperatorGroup", "metadata": {"name": "g", "namespace": "apps"}},),
    catalogs=(source("shelf"), source("far", "elsewhere")),
)


@pytest.fixture
def _read(monkeypatch: pytest.MonkeyPatch) -> None:
    async def read(one: Any, _: Access) -> Catalog:
        if objects.name(one) == "secret":
            raise RemoteError("denied")
        assert objects.name(one) != "far", "the namespace does not see it"
        return CATALOG

    monkeypatch.setattr(offered, "read", read)


@pytest.mark.usefixtures("_read")
def test_why_names_which_bundle_excludes_which() -> None:
    seen = asyncio.run(conflicts.added(Access())(SEEN))
    assert set(seen.conflict) == set(FACTS)
    found = explain(seen, "a")
    assert (found.cause, found.details) == ("dependency-conflict", seen.conflict)
    assert found.message == ("OLM cannot resolve the installation: requirements exclude each other")


@pytest.mark.usefixtures("_read")
def test_an_unreadable_catalog_leaves_the_message_of_olm() -> None:
    there = (*SEEN.catalogs, source("secret", "apps"))
    seen = replace(SEEN, catalogs=there)
    found = asyncio.run(conflicts.added(Access())(seen))
    assert found.conflict == ()
    said = explain(found, "a")
    assert said.cause == "dependency-conflict"
    assert "`db.v1.0.0` and `db.v2.0.0` are of the package `db`" in said.details
    assert "cannot be read here" in said.message


def test_for_a_resolved_namespace_no_catalog_is_read() -> None:
    quiet = ClusterState(namespace="apps", subscriptions=(subscription("a", "v1"),))
    assert asyncio.run(conflicts.added(Access())(quiet)) is quiet


@pytest.mark.usefixtures("_read")
@pytest.mark.parametrize(
    ("there", "facts", "unread"),
    [
        ((source("shelf"),), 3, ()),
        ((source("shelf"), source("secret", "apps")), 3, (CatalogKey("secret", "apps"),)),
    ],
)
def test_a_request_that_excludes_an_existing_bundle_has_the_facts(
    there: tuple[Any, ...], facts: int, unread: tuple[CatalogKey, ...]
) -> None:
    seen = ClusterState(namespace="apps", subscriptions=(subscription("db", "v1"),), catalogs=there)
    request = Subscription(name="a", package="a", channel="v1", catalog=SHELF)
    found = asyncio.run(conflicts.check_request(seen, request, CATALOG, Access()))
    assert (len(found.facts), found.unread) == (facts, unread)
    alone = ClusterState(namespace="apps", catalogs=there)
    found = asyncio.run(conflicts.check_request(alone, request, CATALOG, Access()))
    assert (found.facts, found.unread) == ((), ())
    assert [step.csv for step, _ in found.also] == ["db.v2.0.0"]


@pytest.mark.usefixtures("_read")
def test_a_package_that_one_catalog_lacks_can_come_from_another() -> None:
    only_a = catalog(package("a", "1.0.0", db=">=2.0.0"))
    request = Subscription(name="a", package="a", channel="v1", catalog=CatalogKey("own", "apps"))
    seen = ClusterState(namespace="apps", catalogs=(source("shelf"),))
    found = asyncio.run(conflicts.check_request(seen, request, only_a, Access()))
    assert (found.facts, found.unread) == ((), ())
    assert [(step.csv, step.catalog) for step, _ in found.also] == [("db.v2.0.0", SHELF)]
    bare = ClusterState(namespace="apps")
    found = asyncio.run(conflicts.check_request(bare, request, only_a, Access()))
    assert found.facts[0] == "`a.v1.0.0` needs package `db` in `>=2.0.0`, which no catalog offers"


CARET = catalog(package("a", "1.0.0", "2.0.0", db="^2.0.0"), package("db", "2.0.0"))
UNREAD = (
    "the bundle `a.v1.0.0` has a property `olm.package.required` that OLM cannot read: the range "
    '`^2.0.0` of package `db` is invalid: Could not parse comparator "^" in "^2.0.0"'
)


def test_a_request_with_a_range_that_olm_cannot_read_has_the_bundle_and_the_range() -> None:
    seen = ClusterState(namespace="apps", catalogs=(source("shelf"),))
    request = Subscription(name="a", package="a", channel="v1", catalog=SHELF)
    found = asyncio.run(conflicts.check_request(seen, request, CARET, Access()))
    assert (found.facts, found.is_unreadable) == ((UNREAD,), True)
    assert conflicts.hint(found).startswith("correct the bundle")
    good = Subscription(name="db", package="db", channel="v2", catalog=SHELF)
    assert not asyncio.run(conflicts.check_request(seen, good, CARET, Access())).facts


@pytest.mark.parametrize(
    ("name", "needs", "is_refused"),
    [("a", "^1.0.0", True), ("a", ">=1.0.0", False), ("db", "^1.0.0", False)],
)
def test_a_provider_of_another_catalog_that_olm_cannot_read_is_foreseen(
    monkeypatch: pytest.MonkeyPatch, name: str, needs: str, is_refused: bool
) -> None:
    """OLM looks for what meets a requirement in all catalogs; without one, it does not look."""
    mine = catalog(package("a", "2.0.0", db=">=2.0.0"), package("db", "2.0.0"))
    theirs = catalog(package("db", "3.0.0", queue=needs), package("queue", "1.0.0"))

    async def read(one: Any, _: Access) -> Catalog:
        return theirs if objects.name(one) == "theirs" else mine

    monkeypatch.setattr(offered, "read", read)
    seen = ClusterState(namespace="apps", catalogs=(source("shelf"), source("theirs", "apps")))
    request = Subscription(name=name, package=name, channel="v2", catalog=SHELF)

    found = asyncio.run(conflicts.check_request(seen, request, mine, Access()))

    assert found.is_unreadable is is_refused
    facts = " ".join(found.facts)
    assert ("`db.v3.0.0` has a property" in facts, bool(facts)) == (is_refused, is_refused)


@pytest.mark.usefixtures("_read")
def test_why_names_the_bundle_with_a_range_that_olm_cannot_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def read(one: Any, _: Access) -> Catalog:
        if objects.name(one) == "secret":
            raise RemoteError("denied")
        return CARET

    monkeypatch.setattr(offered, "read", read)
    words = 'Could not parse Range "^2.0.0": Could not parse comparator "^" in "^2.0.0"'
    asking = subscription("a", "v1", words)
    asking["status"]["conditions"][0]["reason"] = "ErrorPreventedResolution"
    # Another unreadable catalog does not change the error of this one.
    there = (source("shelf"), source("secret", "apps"))
    seen = replace(SEEN, subscriptions=(asking,), catalogs=there)
    found = explain(asyncio.run(conflicts.added(Access())(seen)), "a")
    assert (found.cause, found.message) == ("bad-constraint", UNREAD)
    alone = explain(seen, "a")
    assert alone.message.endswith(f"declares a dependency that OLM cannot read: {words}")


def upgrading(name: str, needs: str) -> Catalog:
    """A package with two versions, one of which replaces the other, and requires a package."""
    blobs = package(name, "1.0.0", "1.1.0")
    own = [one for one in blobs if one["schema"] != "olm.channel"]
    entries = [{"name": f"{name}.v1.0.0"}, {"name": f"{name}.v1.1.0", "replaces": f"{name}.v1.0.0"}]
    value = {"packageName": "db", "versionRange": needs}
    own[-1]["properties"].append({"type": "olm.package.required", "value": value})
    line = {"schema": "olm.channel", "package": name, "name": "v1", "entries": entries}
    return catalog([*own, line], package("db", "1.0.0"))


@pytest.mark.parametrize(
    ("needs", "others", "fact", "is_unreadable"),
    [
        (">=1.0.0", "", "", False),
        (">=1.0.0", ">=1.0.0", "", False),
        (">=1.0.0", "^1.0.0", "the range `^1.0.0` of package `queue` is invalid", True),
        (">=2.0.0", "", "it needs package `db` in `>=2.0.0`, which no catalog offers", False),
        ("1.0", "", "the range `1.0` of package `db` is invalid", True),
    ],
)
@pytest.mark.parametrize("is_recorded", [True, False])
def test_an_upgrade_that_olm_would_not_select_has_the_reason(
    monkeypatch: pytest.MonkeyPatch,
    needs: str,
    others: str,
    fact: str,
    is_unreadable: bool,
    is_recorded: bool,
) -> None:
    """`others`: the range in a bundle of another catalog, which also provides what is needed."""
    offered_catalog = upgrading("a", needs)
    theirs = catalog(package("db", "3.0.0", queue=others), package("queue", "1.0.0"))

    async def read(one: Any, _: Access) -> Catalog:
        return theirs if objects.name(one) == "theirs" else offered_catalog

    monkeypatch.setattr(offered, "read", read)
    one = subscription("a", "v1", installed="a.v1.0.0" if is_recorded else "")
    if not is_recorded:  # OLM has installed it, and reports it some seconds later.
        one["status"] = {**one.get("status", {}), "currentCSV": "a.v1.0.0"}
    own = {"type": "olm.package", "value": {"packageName": "a", "version": "1.0.0"}}
    annotations = {"operatorframework.io/properties": json.dumps({"properties": [own]})}
    csv = {"apiVersion": V1, "kind": "ClusterServiceVersion", "spec": {"version": "1.0.0"},
           "metadata": {"name": "a.v1.0.0", "namespace": "apps",
                        "annotations": annotations}}  # fmt: skip
    seen = ClusterState(
        namespace="apps",
        subscriptions=(one,),
        csvs=(csv,),
        catalogs=(source("shelf"), *([source("theirs", "apps")] if others else [])),
    )
    asked = conflicts.of_upgrade(seen, one, "a.v1.1.0", offered_catalog, Access())
    found = asyncio.run(asked)
    assert fact in " ".join(found.facts)
    assert (bool(found.facts), found.is_unreadable) == (bool(fact), is_unreadable)
