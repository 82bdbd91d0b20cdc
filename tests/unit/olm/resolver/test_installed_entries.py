"""Installed bundles as entries: recorded or derived properties, and chains that fail forward."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmkit.base.versions import Version
from olmkit.kube.objects import GVK
from olmkit.olm.resolver import installed_entries
from olmkit.olm.resolver.resolution import (
    CatalogKey,
    Installed,
    ResolutionError,
    ResolverInput,
    ResolverProperty,
    Subscription,
)

API = GVK("example.com", "v1", "K")


def inputs(
    *installed: Installed, subscriptions: tuple[Subscription, ...] = (), forward: bool = False
) -> ResolverInput:
    return ResolverInput(
        namespace="apps",
        global_namespace="olm",
        sources=(),
        installed=installed,
        subscriptions=subscriptions,
        fails_forward=forward,
    )


def subscription(package: str, installed: str) -> Subscription:
    key = CatalogKey("cat", "olm")
    return Subscription(name=package, package=package, catalog=key, installed_csv=installed)


def test_properties_are_those_that_olm_recorded() -> None:
    noted = json.dumps({"properties": [{"type": "olm.package", "value": {"packageName": "a"}}]})
    properties, trouble = installed_entries.parse_annotation(noted)

    assert (properties, trouble) == ((ResolverProperty("olm.package", {"packageName": "a"}),), "")
    (found,) = installed_entries.entries(inputs(Installed(name="a.v1", properties=properties)))
    assert (found.package, found.channel, str(found)) == ("a", "", "@existing/apps//a.v1")


@pytest.mark.parametrize("text", ["{}", "null", '{"properties": null}'])
def test_missing_properties_are_accepted(text: str) -> None:
    assert installed_entries.parse_annotation(text) == ((), "")


@pytest.mark.parametrize(
    "text",
    ["", "{nope", "[]", "[" * 100_000, '{"properties": {}}', '{"properties": [{"type": 1}]}'],
)
def test_unreadable_properties_prevent_the_resolution(text: str) -> None:
    properties, trouble = installed_entries.parse_annotation(text)
    assert trouble.startswith("failed to unmarshal properties annotation")

    with pytest.raises(ResolutionError, match=r'of csv "a\.v1"') as raised:
        installed_entries.entries(
            inputs(Installed(name="a.v1", properties=properties, trouble=trouble))
        )
    assert raised.value.kind == "csv-properties"


def test_without_a_record_properties_are_derived() -> None:
    csv = Installed(name="a.v1", version=Version(1, 0, 0), provided=(API, API), required=(API,))

    (found,) = installed_entries.entries(inputs(csv, subscriptions=(subscription("a", "a.v1"),)))
    assert found.properties == (
        ResolverProperty("olm.gvk", API._asdict()),
        ResolverProperty("olm.gvk.required", API._asdict()),
        ResolverProperty("olm.package", {"packageName": "a", "version": "1.0.0"}),
    )
    (found,) = installed_entries.entries(
        inputs(csv, subscriptions=(subscription("a", "a.v1"), subscription("b", "a.v1")))
    )
    assert found.package == ""
    (found,) = installed_entries.entries(
        inputs(Installed(name="a.v1"), subscriptions=(subscription("a", "a.v1"),))
    )
    assert found.packages == ["a"]
    assert found.version == Version(0, 0, 0)


def chain(*phases: str) -> tuple[Installed, ...]:
    """CSVs that replace each other, the oldest first."""
    return tuple(
        Installed(name=f"a.v{number}", phase=phase, replaces=f"a.v{number - 1}" if number else "")
        for number, phase in enumerate(phases)
    )


@pytest.mark.parametrize(
    ("phases", "left"),
    [
        (("Replacing", "Failed"), ["a.v1"]),
        (("Replacing", "Replacing", "Failed"), ["a.v2"]),
        (("Replacing", "Succeeded"), ["a.v0", "a.v1"]),
        (("Failed",), ["a.v0"]),
    ],
)
def test_bundles_that_a_failed_one_replaces_are_omitted_when_failing_forward(
    phases: tuple[str, ...], left: list[str]
) -> None:
    found = installed_entries.entries(inputs(*chain(*phases), forward=True))
    assert [one.name for one in found] == left
    assert len(installed_entries.entries(inputs(*chain(*phases)))) == len(phases)


@pytest.mark.parametrize(
    ("csvs", "kind"),
    [
        (chain("Failed", "Failed"), "csv-phase"),
        (
            (
                Installed(name="a", phase="Replacing", replaces="b"),
                Installed(name="b", phase="Replacing", replaces="a"),
            ),
            "csv-seen",
        ),
    ],
)
def test_a_chain_that_cannot_fail_forward_is_an_error(
    csvs: tuple[Installed, ...], kind: str
) -> None:
    with pytest.raises(ResolutionError) as raised:
        installed_entries.entries(inputs(*csvs, forward=True))
    assert raised.value.kind == kind


def test_the_linked_entry_is_the_installed_one_of_a_subscription() -> None:
    subscriptions: Any = (subscription("a", "a.v1"), subscription("b", ""))
    assert installed_entries.subscribed_csvs(inputs(subscriptions=subscriptions)) == {"a.v1"}
