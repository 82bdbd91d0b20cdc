"""An upgrade waits until catalogd has read the current image of a catalog's reference."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v1 import catalog_age, upgrade
from olmkit.jobs.cluster_v1.extension_choice import ExtensionChoice, NotOfferedError
from olmkit.jobs.cluster_v1.upgrade import ExtensionUpgrade
from olmkit.jobs.image import digest
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.oci.store import RegistryError
from olmkit.olm.explain.explanation import Explanation, Readiness
from olmkit.testing.apiserver.server import ApiServer

GROUP = "olm.operatorframework.io"
KINDS = tuple(
    Resource(
        gvk=GVK(group=GROUP, version="v1", kind=kind),
        plural=f"{kind.lower()}s",
        namespaced=False,
        subresources=frozenset({"status"}),
    )
    for kind in ("ClusterExtension", "ClusterCatalog")
)
OLD, NEW = f"sha256:{'0' * 64}", f"sha256:{'1' * 64}"
QUICK = Timeouts(seconds=2, interval=0.02, believed=0.1)
EXTENSION = {
    "apiVersion": f"{GROUP}/v1",
    "kind": "ClusterExtension",
    "metadata": {"name": "cache"},
    "spec": {"namespace": "apps", "source": {"catalog": {"packageName": "cache"}}},
}


def catalog(served: str = OLD, minutes: int = 0, seen: int = 2, **progressing: str) -> Any:
    image = {"ref": "r.example/c:v1"} | ({"pollIntervalMinutes": minutes} if minutes else {})
    condition = {"type": "Progressing", "status": "True", "reason": "Succeeded",
                 "observedGeneration": seen} | progressing  # fmt: skip
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ClusterCatalog",
        "metadata": {"name": "shelf", "generation": 2},
        "spec": {"source": {"type": "Image", "image": image}},
        "status": {
            "conditions": [{"type": "Serving", "status": "True"}, condition],
            "resolvedSource": {"type": "Image", "image": {"ref": f"r.example/c@{served}"}},
        },
    }


def run(
    there: Any,
    scenario: Callable[[ClusterObjects, ApiServer], Awaitable[None]],
) -> None:
    async def whole() -> None:
        server = ApiServer.of(KINDS)
        server.put("clustercatalogs", there)
        server.put("clusterextensions", EXTENSION)
        async with asyncio.timeout(30), server.serving():
            async with HttpCluster(ClusterConfig(server=server.url)) as http:
                await scenario(ClusterObjects(http), server)

    asyncio.run(whole())


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    async def of_reference(_: str, __: Access) -> str:
        return NEW

    monkeypatch.setattr(digest, "read_digest", of_reference)


@pytest.fixture
def offers(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the result of `plan`; empty if the catalogs do not offer it."""
    state = {"csv": "cache.v1"}

    async def plan(*_: Any, extends_account: bool, channel: str = "") -> ExtensionUpgrade:
        assert not extends_account
        assert not channel
        if not state["csv"]:
            raise NotOfferedError("package `cache` has no version that fits `2.x`")
        return ExtensionUpgrade(name="cache", package="cache", version="", before="cache.v1",
                                desired={}, offer=ExtensionChoice(csv=state["csv"]))  # fmt: skip

    monkeypatch.setattr(upgrade, "plan", plan)
    return lambda csv: state.update(csv=csv)


async def planned(
    reader: ClusterObjects, reported: Callable[[], None] = lambda: None
) -> tuple[ExtensionUpgrade | Explanation, list[str]]:
    """Return the plan and the messages; `reported` is called for each."""
    told: list[str] = []

    def report(line: str) -> None:
        told.append(line)
        reported()

    found = await upgrade.plan_when_read(
        reader, "cache", "", Access(), report=report, timeouts=QUICK
    )
    return found, told


@pytest.mark.parametrize(("first", "minutes", "seen"), [("cache.v1", 5, 2), ("", 0, 0)])
def test_a_catalog_that_will_be_read_is_waited_for(
    offers: Callable[[str], None], first: str, minutes: int, seen: int
) -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer) -> None:
        offers(first)

        def catalogd() -> None:
            offers("cache.v2")
            server.put("clustercatalogs", catalog(served=NEW))

        found, told = await planned(reader, catalogd)
        assert isinstance(found, ExtensionUpgrade)
        assert found.offer == ExtensionChoice(csv="cache.v2")
        assert told[0].startswith(
            "the catalog `shelf` serves an older image than `r.example/c:v1` names now"
        )
        assert ("looks every 5 minutes" in told[0]) == bool(minutes)

    run(catalog(minutes=minutes, seen=seen), scenario)


@pytest.mark.parametrize(
    ("there", "readiness", "says"),
    [
        (catalog(), Readiness.BLOCKED, "catalogd does not look for newer ones"),
        (catalog(minutes=1), Readiness.WAITING, "looks every 1 minute (after 2 s)"),
        (catalog(reason="Retrying", message="no such host"), Readiness.STUCK, "no such host"),
        (catalog(reason="Blocked", message="no label"), Readiness.BLOCKED, "no label"),
    ],
)
def test_a_catalog_that_stays_old_is_the_cause(
    offers: Callable[[str], None], there: Any, readiness: Readiness, says: str
) -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer) -> None:
        offers("cache.v1")
        found, _told = await planned(reader)
        assert isinstance(found, Explanation)
        assert (found.cause, found.readiness) == ("catalog-outdated", readiness)
        assert says in found.message

    run(there, scenario)


def test_a_dry_run_names_an_outdated_catalog_and_does_not_wait(
    offers: Callable[[str], None],
) -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer) -> None:
        def plan() -> Awaitable[ExtensionUpgrade | Explanation]:
            return upgrade.plan_when_read(
                reader, "cache", "", Access(), report=[].append, timeouts=QUICK, waits=False
            )

        found = await plan()
        assert isinstance(found, ExtensionUpgrade)
        assert "serves an older image" in found.offer.notes[0]
        offers("")
        with pytest.raises(
            NotOfferedError, match=r"fits `2\.x`; the catalog `shelf` serves"
        ) as told:
            await plan()
        assert told.value.hint == "without `--dry-run`, the command waits for the newer image"

    run(catalog(minutes=5), scenario)


def test_a_version_that_is_already_offered_is_not_waited_for(offers: Callable[[str], None]) -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer) -> None:
        offers("cache.v2")
        found, told = await planned(reader)
        assert isinstance(found, ExtensionUpgrade)
        assert (found.offer.csv, told) == ("cache.v2", [])
        assert "serves an older image" in found.offer.notes[0]

    run(catalog(minutes=5), scenario)


def test_a_catalog_that_is_up_to_date_decides_at_once(offers: Callable[[str], None]) -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer) -> None:
        offers("cache.v1")
        found, _told = await planned(reader)
        assert isinstance(found, ExtensionUpgrade)
        assert found.offer == ExtensionChoice(csv="cache.v1")
        offers("")
        with pytest.raises(InputError, match="no version that fits"):
            await planned(reader)

    run(catalog(served=NEW, minutes=5), scenario)


def test_a_registry_that_does_not_answer_is_a_note(
    monkeypatch: pytest.MonkeyPatch, offers: Callable[[str], None]
) -> None:
    async def of_reference(_: str, __: Access) -> str:
        raise RegistryError("registry `r.example` does not answer")

    monkeypatch.setattr(digest, "read_digest", of_reference)

    async def scenario(reader: ClusterObjects, _: ApiServer) -> None:
        offers("cache.v1")
        found, _told = await planned(reader)
        assert isinstance(found, ExtensionUpgrade)
        (note,) = found.offer.notes
        assert note.startswith("whether the catalog `shelf` is up to date is not known: registry")

    run(catalog(), scenario)


def test_a_pinned_reference_is_never_old(monkeypatch: pytest.MonkeyPatch) -> None:
    async def of_reference(*_: Any) -> str:
        raise AssertionError("a digest needs no registry")

    monkeypatch.setattr(digest, "read_digest", of_reference)
    there = catalog()
    there["spec"]["source"]["image"]["ref"] = f"r.example/c@{OLD}"

    async def scenario(reader: ClusterObjects, _: ApiServer) -> None:
        age = await catalog_age.read(reader, EXTENSION, Access())
        assert (age.expected, age.notes) == ({}, ())

    run(there, scenario)
