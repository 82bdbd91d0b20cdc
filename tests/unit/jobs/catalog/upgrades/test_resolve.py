"""What OLM would install, from catalogs alone."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.model import Catalog
from olmkit.catalog.selection import Selection
from olmkit.jobs.catalog.upgrades import resolve as job
from olmkit.jobs.catalog.upgrades.resolve import ExtensionSettings, Resolution
from olmkit.olm.resolver.solve import SolvedInstall, Unsatisfiable

API = {"group": "example.com", "version": "v1", "kind": "K"}


def catalog(**packages: list[tuple[str, dict[str, Any], list[tuple[str, Any]]]]) -> Catalog:
    """Packages with one channel; each entry has its version, its edges and more properties.

    `PACKAGE:CHANNEL` adds a channel to a package.
    """
    blobs = []
    for key, entries in packages.items():
        name, _, channel = key.partition(":")
        if not channel:
            blobs.append(Blob.of({"schema": "olm.package", "name": name, "defaultChannel": "s"}))
        listed = [{"name": f"{name}.v{version}", **edges} for version, edges, _ in entries]
        blobs.append(
            Blob.of({
                "schema": "olm.channel", "package": name, "name": channel or "s",
                "entries": listed,
            })
        )  # fmt: skip
        for version, _, more in entries if not channel else ():
            properties = [("olm.package", {"packageName": name, "version": version}), *more]
            blobs.append(Blob.of({
                "schema": "olm.bundle", "package": name, "name": f"{name}.v{version}",
                "image": "a/b:1",
                "properties": [{"type": type_, "value": value} for type_, value in properties],
            }))  # fmt: skip
    return model.from_blobs(blobs)


def needs(package: str, versions: str = ">=1.0.0") -> tuple[str, Any]:
    return ("olm.package.required", {"packageName": package, "versionRange": versions})


def resolve(found: Catalog, *requests: str, installed: tuple[str, ...] = ()) -> Resolution:
    return job.resolve({"cat": found}, [Selection.parse(one) for one in requests], installed)


def steps(resolution: Resolution) -> list[list[str]]:
    return [[step.csv for step in result.steps] for result in resolution.rounds]


def reasons(resolution: Resolution) -> dict[str, str]:
    return {one.csv: one.reason for one in resolution.rejected}


def test_a_request_has_a_package_a_channel_and_a_version() -> None:
    assert Selection.parse("a") == Selection(package="a")
    assert Selection.parse("a:s@>=1.0.0 <2.0.0") == Selection(
        package="a", channel="s", version=">=1.0.0 <2.0.0"
    )
    for text in ("", "@1", ":s"):
        with pytest.raises(ConfigurationError):
            Selection.parse(text)


def test_upgrades_are_applied_in_order_and_include_dependencies() -> None:
    found = catalog(
        a=[("1.0.0", {}, []), ("1.1.0", {"replaces": "a.v1.0.0"}, []),
           ("2.0.0", {"replaces": "a.v1.1.0"}, [needs("b")])],
        b=[("1.0.0", {}, [])],
    )  # fmt: skip

    assert steps(resolve(found, "a@1.0.0")) == [
        ["a.v1.0.0"],
        ["a.v1.1.0"],
        ["a.v2.0.0", "b.v1.0.0"],
    ]
    assert steps(resolve(found, "a", installed=("a.v1.1.0",))) == [["a.v2.0.0", "b.v1.0.0"]]


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ([needs("b", ">=2.0.0")], "it needs package `b` in `>=2.0.0`, which no catalog offers"),
        (
            [needs("c")],
            (
                "it needs package `c` in `>=1.0.0`, which only `c.v1.0.0` offers, and "
                "`c.v1.0.0` needs package `d` in `>=1.0.0`, which no catalog offers"
            ),
        ),
        ([("olm.deprecated", {})], "it is deprecated"),
        ([("olm.gvk", API), ("olm.gvk", API)], "twice, so it excludes itself"),
        (
            [needs("e")],
            (
                "it needs package `e` in `>=1.0.0`, which only `e.v1.0.0` offers, `b.v1.0.0` and "
                "`e.v1.0.0` both provide the API `K` (`example.com/v1`), and Subscription `b` is "
                "pinned to channel `s`, which offers no upgrade from `b.v1.0.0`"
            ),
        ),
        (
            [("olm.gvk.required", {**API, "kind": "Q"})],
            (
                "it needs the API `Q` (`example.com/v1`), which only `f.v2.0.0` offers, and "
                "Subscription `f` is pinned to channel `old`, which offers no upgrade from "
                "`f.v1.0.0`"
            ),
        ),
    ],
)
def test_a_bundle_that_is_not_selected_has_a_reason(
    properties: list[tuple[str, Any]], reason: str
) -> None:
    found = catalog(
        a=[("1.0.0", {}, []), ("2.0.0", {"replaces": "a.v1.0.0"}, properties)],
        b=[("1.0.0", {}, [("olm.gvk", API)])],
        c=[("1.0.0", {}, [needs("d")])],
        e=[("1.0.0", {}, [("olm.gvk", API)])],
        f=[("1.0.0", {}, []), ("2.0.0", {"replaces": "f.v1.0.0"},
           [("olm.gvk", {**API, "kind": "Q"})])],
        **{"f:old": [("1.0.0", {}, [])]},
    )  # fmt: skip
    installed = ("a.v1.0.0", "b.v1.0.0", "f.v1.0.0")
    resolution = resolve(found, "a", "f:old", installed=installed)

    assert resolution.answers == (SolvedInstall(),)
    assert reason in reasons(resolution)["a.v2.0.0"]


def test_if_nothing_can_be_installed_the_facts_are_returned() -> None:
    found = catalog(
        a=[("1.0.0", {}, [needs("b", "<2.0.0")])],
        b=[("1.0.0", {}, []), ("2.0.0", {"replaces": "b.v1.0.0"}, [])],
    )
    resolution = resolve(found, "a", "b@2.0.0")

    assert resolution.answers == (Unsatisfiable(),)
    assert resolution.conflict == (
        "`a.v1.0.0` needs package `b` in `<2.0.0`, which only `b.v1.0.0` offers",
        "Subscription `a` is pinned to channel `s`, which offers `a.v1.0.0`",
        "Subscription `b` is pinned to channel `s`, which offers `b.v2.0.0`",
    )
    assert reasons(resolution)["a.v1.0.0"].startswith("it needs package `b` in `<2.0.0`")


def test_a_version_that_is_not_in_the_catalog_is_known_by_its_name() -> None:
    edges = {"skipRange": ">=1.0.0 <2.0.0"}
    found = catalog(a=[("2.0.0", edges, [])])

    assert steps(resolve(found, installed=("a.v1.5.0",))) == [["a.v2.0.0"]]
    assert "no upgrade leads there" in reasons(resolve(found, installed=("a.v0.1.0",)))["a.v2.0.0"]


def test_a_cycle_in_a_graph_is_reported() -> None:
    found = catalog(
        a=[("1.0.0", {"skipRange": "<=9.0.0"}, []), ("2.0.0", {"replaces": "a.v1.0.0"}, [])]
    )
    resolution = resolve(found, installed=("a.v2.0.0",))

    assert resolution.goes_round
    assert steps(resolution)[:2] == [["a.v1.0.0"], ["a.v2.0.0"]]


def test_if_olms_answer_is_not_deterministic_all_its_answers_are_returned() -> None:
    found = catalog(**{
        name: [("1.0.0", {}, []), ("2.0.0", {"replaces": f"{name}.v1.0.0"}, [("olm.gvk", API)])]
        for name in "ab"
    })  # fmt: skip
    resolution = resolve(found, installed=("a.v1.0.0", "b.v1.0.0"))

    chosen = {one.steps[0].csv for one in resolution.answers if isinstance(one, SolvedInstall)}
    assert chosen == {"a.v2.0.0", "b.v2.0.0"}
    assert resolution.rounds == ()


def test_the_first_catalog_with_a_package_is_used() -> None:
    first, second = catalog(b=[("1.0.0", {}, [])]), catalog(a=[("1.0.0", {}, [])])
    found = job.resolve({"one": first, "two": second}, [Selection.parse("a")])

    assert found.rounds[0].steps[0].catalog.name == "two"
    with pytest.raises(InputError, match="package `zz` not found"):
        job.resolve({"one": first, "two": second}, [Selection.parse("zz")])
    with pytest.raises(InputError, match="has no version `7`"):
        job.resolve({"two": second}, [Selection.parse("a@7")])
    assert job.resolve({"two": second}, [Selection.parse("a:nope")]).answers == (
        Unsatisfiable(
            unmet=(
                (
                    "no operators found in channel nope of package a in the catalog "
                    "referenced by subscription a"
                ),
            )
        ),
    )


def test_olm_v1_selects_the_best_version_of_a_range_and_continues_from_the_installed_one() -> None:
    found = catalog(
        a=[("1.0.0", {}, []), ("1.1.0", {"replaces": "a.v1.0.0"}, []),
           ("2.0.0", {"replaces": "a.v1.1.0"}, [])],
    )  # fmt: skip

    def choice(text: str, *installed: str) -> str:
        return job.resolve_v1({"cat": found}, Selection.parse(text), installed).bundle.name

    assert choice("a") == "a.v2.0.0"
    assert choice("a@~1") == "a.v1.1.0"
    assert choice("a", "a.v1.0.0") == "a.v1.1.0"
    with pytest.raises(InputError, match=r'installed version "1\.0\.0": no bundles found'):
        choice("a@2.x", "a.v1.0.0")
    with pytest.raises(InputError, match="cannot be requested of OLM v1"):
        choice("a@1.0 - 2.0")


def test_olm_v1_supports_priorities_several_channels_and_the_free_policy() -> None:
    one = catalog(a=[("1.0.0", {}, []), ("2.0.0", {"replaces": "a.v1.0.0"}, [])])
    two = catalog(a=[("1.0.0", {}, []), ("1.5.0", {"replaces": "a.v1.0.0"}, [])])
    shelves = {"one": one, "two": two}

    def choice(text: str, *installed: str, **settings: Any) -> Any:
        found = job.resolve_v1(
            shelves, Selection.parse(text), installed, ExtensionSettings(**settings)
        )
        return found.catalog, found.bundle.name

    with pytest.raises(InputError, match="same priority"):
        choice("a")
    assert choice("a", priorities={"two": 1}) == ("two", "a.v1.5.0")
    assert choice("a", priorities={"two": -1}) == ("one", "a.v2.0.0")
    assert choice("a:s,slow", priorities={"one": 1}) == ("one", "a.v2.0.0")
    with pytest.raises(InputError, match=r"in channels \[slow fast\]"):
        choice("a:slow,fast", priorities={"one": 1})
    with pytest.raises(InputError, match="no bundles found"):
        choice("a@<1.5.0", "a.v2.0.0", priorities={"one": 1})
    assert choice("a@<1.5.0", "a.v2.0.0", priorities={"one": 1}, is_free=True) == (
        "one", "a.v1.0.0",
    )  # fmt: skip
    with pytest.raises(ConfigurationError, match="names catalog `three`, which does not exist"):
        choice("a", priorities={"three": 1})


@pytest.mark.parametrize(
    ("request_", "installed", "hint"),
    [
        ("b", "", "`olmkit catalog list packages`"),
        ("aa", "", "did you mean `a`?"),
        ("a:fast", "", "`a` has the channels `s`"),
        ("a@9.x", "", "`olmkit catalog list bundles`"),
        ("a@0.1.0", "a.v1.0.0", "`--self-certified`"),
    ],
)
def test_a_package_that_olm_v1_does_not_find_has_a_hint(
    request_: str, installed: str, hint: str
) -> None:
    shelf = catalog(a=[("0.1.0", {}, []), ("1.0.0", {"replaces": "a.v0.1.0"}, [])])
    with pytest.raises(InputError, match="no bundles found") as raised:
        job.resolve_v1({"x": shelf}, Selection.parse(request_), [installed] if installed else [])
    assert hint in raised.value.hint


def test_channels_are_repeated_or_separated_by_commas() -> None:
    shelf = catalog(a=[("1.0.0", {}, [])])
    assert job.unknown_channels({"x": shelf}, Selection.parse("a:s,slow,fast")) == ("slow", "fast")
    for text in ("a:,", "a:s,", "a:,s"):
        with pytest.raises(ConfigurationError, match="empty channel"):
            job.resolve_v1({"x": shelf}, Selection.parse(text))
    with pytest.raises(ConfigurationError, match="one channel") as raised:
        job.resolve({"x": shelf}, [Selection.parse("a:s,fast")])
    assert "--olm v1" in raised.value.hint
