"""What an upgrade reports of a catalog that does not fit the installed version."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster_v0 import upgrade_plan
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.kinds import SubscriptionKey

KEY = SubscriptionKey("cache", "stable", "shelf", "apps")


def catalog(*versions: str, package: str = "cache", channel: str = "stable") -> model.Catalog:
    names = [f"{package}.v{version}" for version in versions]
    entries: list[dict[str, Any]] = [
        {"name": name, "replaces": below} for name, below in zip(names, ["", *names], strict=False)
    ]
    blobs = [
        {"schema": "olm.package", "name": package, "defaultChannel": channel},
        {"schema": "olm.channel", "package": package, "name": channel, "entries": entries},
        *(
            {
                "schema": "olm.bundle",
                "package": package,
                "name": name,
                "image": "r/cache:v1",
                "properties": [
                    {
                        "type": "olm.package",
                        "value": {"packageName": package, "version": version},
                    }
                ],
            }
            for name, version in zip(names, versions, strict=True)
        ),
    ]
    return model.from_blobs([Blob.of(one) for one in blobs])


def test_a_catalog_that_is_older_than_the_installed_version_is_noted() -> None:
    channel = upgrade_plan._channel(catalog("1.0.0", "2.0.0"), KEY)  # noqa: SLF001 - the decision

    assert upgrade_plan._absence_note(channel, KEY, "cache.v2.0.0") == ()  # noqa: SLF001
    (note,) = upgrade_plan._absence_note(channel, KEY, "cache.v3.0.0")  # noqa: SLF001
    assert note == (
        "channel `stable` of the catalog `apps/shelf`, whose newest version is `cache.v2.0.0`, "
        "has neither `cache.v3.0.0` nor an upgrade from it"
    )


@pytest.mark.parametrize(
    ("found", "message", "hint"),
    [
        (
            catalog("1.0.0", package="caches"),
            "the catalog `apps/shelf` does not have the package `cache`, so it offers no upgrade",
            "publish a catalog that has the package, or let the Subscription name another one",
        ),
        (
            catalog("1.0.0", channel="alpha"),
            "package `cache` of the catalog `apps/shelf` has no channel `stable`",
            "it has `alpha`: choose one with `--channel`",
        ),
    ],
)
def test_a_catalog_without_the_package_or_the_channel_is_named(
    found: model.Catalog, message: str, hint: str
) -> None:
    with pytest.raises(InputError) as raised:
        upgrade_plan._channel(found, KEY)  # noqa: SLF001 - the decision

    assert (raised.value.message, raised.value.hint) == (message, hint)


def test_a_version_of_another_channel_is_resolved_with_that_channel() -> None:
    """The cluster still has the Subscription with the old channel."""
    api = {"group": "example.org", "version": "v1", "kind": "Db"}
    needed = {"type": "olm.gvk.required", "value": api}
    shelf = model.from_blobs([
        Blob.of({"schema": "olm.package", "name": "cache", "defaultChannel": "slow"}),
        Blob.of({"schema": "olm.channel", "package": "cache", "name": "slow",
                 "entries": [{"name": "cache.v1.0.0"}]}),
        Blob.of({"schema": "olm.channel", "package": "cache", "name": "fast",
                 "entries": [{"name": "cache.v2.0.0", "replaces": "cache.v1.0.0"}]}),
        *(
            Blob.of({"schema": "olm.bundle", "package": "cache", "name": f"cache.v{version}",
                     "image": "r/cache:v1", "properties": [
                         {"type": "olm.package",
                          "value": {"packageName": "cache", "version": version}}, *needs]})
            for version, needs in (("1.0.0", ()), ("2.0.0", (needed,)))
        ),
    ])  # fmt: skip
    spec = {"name": "cache", "channel": "slow", "source": "shelf", "sourceNamespace": "apps"}
    present = {
        "kind": "Subscription",
        "metadata": {"name": "cache", "namespace": "apps"},
        "spec": spec,
        "status": {"currentCSV": "cache.v1.0.0", "installedCSV": "cache.v1.0.0"},
    }
    csv = {
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "cache.v1.0.0", "namespace": "apps"},
        "spec": {"version": "1.0.0"},
        "status": {"phase": "Succeeded"},
    }
    source = {"kind": "CatalogSource", "metadata": {"name": "shelf", "namespace": "apps"}}
    seen = ClusterState(namespace="apps", subscriptions=(present,), csvs=(csv,), catalogs=(source,))
    changed = {**present, "spec": {**spec, "channel": "fast"}}

    work = upgrade_plan.unresolved(seen, changed, "cache.v2.0.0", shelf, Access())
    with pytest.raises(InputError, match="needs the API `Db`"):
        asyncio.run(work)
