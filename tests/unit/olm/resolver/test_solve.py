"""OLM v0's resolution, one behavior per test; the conformance tests compare it with OLM."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.versions import Version, VersionRange
from olmkit.olm.resolver import solve as resolver
from olmkit.olm.resolver.resolution import (
    CatalogEntries,
    CatalogKey,
    Installed,
    ResolverEntry,
    ResolverInput,
    ResolverProperty,
    Subscription,
)
from olmkit.olm.resolver.solve import (
    Answer,
    Failed,
    GeneratedSubscription,
    SolvedInstall,
    Unsatisfiable,
)

API = {"group": "example.com", "version": "v1", "kind": "K"}
GVK = ResolverProperty("olm.gvk", API)
NEEDS_API = ResolverProperty("olm.gvk.required", API)
CAT = CatalogKey("cat", "olm")


def entry(
    name: str,
    *more: ResolverProperty,
    replaces: str = "",
    channel: str = "stable",
    catalog: CatalogKey = CAT,
    **fields: Any,
) -> ResolverEntry:
    """`a.v2` is version 2.0.0 of package `a`, in the default channel if that is `stable`."""
    package, _, number = name.partition(".v")
    version = Version(int(number), 0, 0)
    own = ResolverProperty("olm.package", {"packageName": package, "version": str(version)})
    return ResolverEntry(
        catalog=catalog,
        package=package,
        channel=channel,
        name=name,
        is_default=channel == "stable",
        version=version,
        replaces=replaces,
        properties=(own, *more),
        **fields,
    )


def csv(name: str, *more: ResolverProperty, **fields: Any) -> Installed:
    found = entry(name, *more)
    return Installed(name=name, version=found.version, properties=found.properties, **fields)


def subscription(package: str, installed: str = "", **fields: Any) -> Subscription:
    fields = {"channel": "stable", "catalog": CAT, "current_csv": installed} | fields
    return Subscription(name=package, package=package, installed_csv=installed, **fields)


def inputs(
    entries: Sequence[ResolverEntry],
    *subscriptions: Subscription,
    installed: Sequence[Installed] = (),
    **fields: Any,
) -> ResolverInput:
    sources = [CatalogEntries(key=CAT, entries=tuple(entries))]
    fields = {"sources": sources, "installed": installed} | fields
    return ResolverInput(
        namespace="apps", global_namespace="olm", subscriptions=subscriptions, **fields
    )


def only(answers: tuple[Answer, ...]) -> SolvedInstall:
    (found,) = answers
    assert isinstance(found, SolvedInstall)
    return found


def csvs(result: SolvedInstall) -> list[str]:
    return [step.csv for step in result.steps]


CHAIN = (entry("a.v1"), entry("a.v2", replaces="a.v1"), entry("a.v3", replaces="a.v2"))


def test_a_first_install_selects_the_head_and_an_upgrade_the_next_entry() -> None:
    result = only(resolver.resolve(inputs(CHAIN, subscription("a"))))
    assert csvs(result) == ["a.v3"]
    assert (result.moves, result.plan) == ((("a", "a.v3"),), "Automatic")

    upgrade = inputs(CHAIN, subscription("a", "a.v1"), installed=[csv("a.v1")])
    (step,) = only(resolver.resolve(upgrade)).steps
    assert (step.csv, step.replaces) == ("a.v2", "a.v1")


def test_a_skip_range_is_matched_with_the_installed_version() -> None:
    head = entry("a.v3", replaces="a.v2", skip_range=VersionRange.parse(">=1.0.0 <3.0.0"))
    found = inputs([*CHAIN[:2], head], subscription("a", "a.v1"), installed=[csv("a.v1")])

    assert csvs(only(resolver.resolve(found))) == ["a.v3"]


def test_a_starting_csv_only_matters_if_nothing_is_installed() -> None:
    found = inputs(CHAIN, subscription("a", starting_csv="a.v1", is_manual=True))
    result = only(resolver.resolve(found))

    assert (csvs(result), result.plan) == (["a.v1"], "Manual")


def test_dependencies_are_installed_with_their_own_subscriptions() -> None:
    found = inputs([entry("a.v1", NEEDS_API), entry("b.v1", GVK)], subscription("a"))
    result = only(resolver.resolve(found))

    assert csvs(result) == ["a.v1", "b.v1"]
    assert result.generated == (
        GeneratedSubscription(
            name="b-stable-cat-olm",
            package="b",
            channel="stable",
            catalog=CAT,
            starting_csv="b.v1",
        ),
    )
    after = resolver.apply_result(found, result)
    assert [one.name for one in after.installed] == ["a.v1", "b.v1"]
    assert resolver.resolve(after) == (SolvedInstall(),)


def test_an_installed_provider_takes_precedence_over_any_catalog() -> None:
    found = inputs(
        [entry("a.v1", NEEDS_API), entry("b.v1", GVK)],
        subscription("a"),
        installed=[csv("x.v1", GVK)],
    )
    assert csvs(only(resolver.resolve(found))) == ["a.v1"]


def test_other_catalogs_are_ordered_by_priority_and_then_by_name() -> None:
    def provider(name: str, priority: int) -> CatalogEntries:
        key = CatalogKey(name, "olm")
        return CatalogEntries(
            key=key, priority=priority, entries=(entry("b.v1", GVK, catalog=key),)
        )

    def chosen(*sources: CatalogEntries) -> str:
        own = CatalogEntries(key=CAT, entries=(entry("a.v1", NEEDS_API),))
        found = inputs((), subscription("a"), sources=[own, *sources])
        return only(resolver.resolve(found)).generated[0].catalog.name

    assert chosen(provider("one", 0), provider("two", 5)) == "two"
    assert chosen(provider("two", 0), provider("one", 0)) == "one"


@pytest.mark.parametrize(
    ("entries", "installed"),
    [
        ([entry("a.v1", NEEDS_API)], []),
        ([entry("a.v1", GVK)], [csv("x.v1", GVK)]),
        ([entry("a.v1")], [csv("a.v0")]),
        ([entry("a.v1", ResolverProperty("olm.deprecated", {}))], []),
        ([entry("a.v1", GVK, GVK)], []),
    ],
    ids=["nothing provides", "API twice", "package twice", "deprecated", "its own rival"],
)
def test_an_impossible_request_is_not_installed(
    entries: list[ResolverEntry], installed: list[Installed]
) -> None:
    found = inputs(entries, subscription("a"), installed=installed)
    assert resolver.resolve(found) == (Unsatisfiable(),)


def test_an_impossible_upgrade_is_silently_skipped() -> None:
    entries = [entry("a.v1"), entry("a.v2", NEEDS_API, replaces="a.v1")]
    found = inputs(entries, subscription("a", "a.v1"), installed=[csv("a.v1")])

    assert resolver.resolve(found) == (SolvedInstall(),)


def test_a_deleted_csv_is_installed_again_without_a_plan() -> None:
    result = only(resolver.resolve(inputs(CHAIN[:1], subscription("a", "a.v1"))))

    assert (csvs(result), result.moves, result.plan) == (["a.v1"], (), "")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"catalog": CatalogKey("no", "olm")}, "no operators found from catalog no in namespace"),
        ({"package": "zz"}, "no operators found in package zz in the catalog referenced by"),
        ({"channel": "zz"}, "no operators found in channel zz of package a in the catalog"),
        ({"starting_csv": "zz"}, "no operators found with name zz in channel stable of package a"),
    ],
)
def test_missing_packages_are_reported_with_olms_messages(
    fields: dict[str, Any], words: str
) -> None:
    (found,) = resolver.resolve(inputs(CHAIN, replace(subscription("a"), **fields)))

    assert isinstance(found, Unsatisfiable)
    assert found.unmet[0].startswith(words)


@pytest.mark.parametrize(
    ("found", "kind"),
    [
        (inputs(CHAIN, subscription("a"), groups=0), "operator-group"),
        (inputs([entry("a.v1"), entry("a.v2")], subscription("a")), "several-heads"),
        (inputs([entry("a.v1", replaces="a.v1")], subscription("a")), "no-head"),
        (
            inputs(
                CHAIN, subscription("a"), sources=[CatalogEntries(key=CAT, trouble="it is away")]
            ),
            "catalog-unavailable",
        ),
        (inputs([entry("a.v1", channel="x/y")], subscription("a", channel="x/y")), "origin"),
        (
            inputs([entry("a.v1", ResolverProperty("olm.constraint", {}))], subscription("a")),
            "constraint-convert",
        ),
        (inputs(CHAIN, installed=[csv("x.v1", trouble="it is broken")]), "csv-properties"),
    ],
)
def test_some_errors_stop_the_whole_namespace(found: ResolverInput, kind: str) -> None:
    (answer,) = resolver.resolve(found)

    assert isinstance(answer, Failed)
    assert answer.kinds == (kind,)


def test_catalogs_out_of_scope_are_not_seen() -> None:
    key = CatalogKey("far", "elsewhere")
    far = CatalogEntries(key=key, entries=(entry("b.v1", GVK, catalog=key),), trouble="it is away")
    own = CatalogEntries(key=CAT, entries=(entry("a.v1"),))

    assert csvs(only(resolver.resolve(inputs((), subscription("a"), sources=[own, far])))) == [
        "a.v1"
    ]
    hidden = inputs((), subscription("a"), sources=[own], excludes_global=True)
    assert isinstance(resolver.resolve(hidden)[0], Unsatisfiable)


def test_without_a_channel_the_default_channel_comes_first() -> None:
    entries = [entry("a.v9", channel="alpha"), entry("a.v2")]
    assert csvs(only(resolver.resolve(inputs(entries, subscription("a", channel=""))))) == ["a.v2"]

    both = [entry("a.v1", channel="beta"), entry("a.v1", channel="alpha")]
    found = resolver.resolve(inputs(both, subscription("a", channel="")))
    channels = {one.steps[0].channel for one in found if isinstance(one, SolvedInstall)}
    assert channels == {"alpha", "beta"}


def test_alternative_providers_have_an_answer_for_each_order() -> None:
    entries = [
        one
        for name in "ab"
        for one in (entry(f"{name}.v1"), entry(f"{name}.v2", GVK, replaces=f"{name}.v1"))
    ]
    found = inputs(
        entries,
        subscription("a", "a.v1"),
        subscription("b", "b.v1"),
        installed=[csv("a.v1"), csv("b.v1")],
    )
    answers = resolver.resolve(found)

    assert [csvs(only((one,))) for one in answers] == [["a.v2"], ["b.v2"]]
