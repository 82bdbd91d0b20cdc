"""The status of a Subscription whose failed upgrade OLM tries again."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v0 import retry

Manifest = dict[str, Any]
NEW, OLD = "cache.v2", "cache.v1"


class Reader:
    """Answers with one state for each look; the last one stays."""

    def __init__(self, *states: tuple[Manifest, set[str]]) -> None:
        self.states = list(states)
        self.looks = 0
        self.written: list[Manifest] = []

    async def current(self, _: Manifest) -> Manifest:
        self.looks += 1
        status = self.states[min(self.looks, len(self.states)) - 1][0]
        return {"metadata": {"name": "cache", "namespace": "apps"}, "status": status}

    async def find(self, kind: tuple[str, str], name: str, _: str) -> Manifest | None:
        there = self.states[min(self.looks, len(self.states)) - 1][1]
        return {"kind": kind[1]} if name in there else None

    async def merge(self, _: Manifest, patch: Manifest, *, subresource: str) -> None:
        assert subresource == "status"
        self.written.append(patch["status"])


def keep(*states: tuple[Manifest, set[str]], seconds: float = 5.0) -> Reader:
    reader = Reader(*states)
    subscription = {"metadata": {"name": "cache", "namespace": "apps"}}
    timeouts = Timeouts(seconds=seconds, interval=0.001)
    asyncio.run(
        retry._keep(  # noqa: SLF001 - the decision itself
            cast("Any", reader), subscription, NEW, OLD, lambda _: None, timeouts
        )
    )
    return reader


def status(current: str, installed: str, plan: str = "") -> Manifest:
    return {"currentCSV": current, "installedCSV": installed, "installPlanRef": {"name": plan}}


def test_a_status_that_olm_restored_is_reset_again() -> None:
    reader = keep((status(NEW, NEW, "deleted"), set()), (status(OLD, OLD), set()))

    assert [one["installedCSV"] for one in reader.written] == [OLD]


def test_the_status_of_a_new_plan_is_kept() -> None:
    """OLM names the CSV as installed before the new InstallPlan has created it."""
    reader = keep((status(NEW, NEW, "new"), {"new"}), (status(NEW, NEW, "new"), {"new", NEW}))

    assert reader.written == []


def test_a_csv_that_exists_is_named_before_the_upgrade_continues() -> None:
    late = [(status("", "", "new"), {"new", NEW})] * 7
    reader = keep(*late, (status(NEW, "", "new"), {"new", NEW}))

    assert reader.looks == len(late) + 1


def test_the_wait_for_its_name_ends_with_the_time_limit() -> None:
    reader = keep((status("", ""), {NEW}), seconds=0.05)

    assert reader.written == []
