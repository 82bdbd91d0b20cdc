"""Waiting for OLM: looking again and again, and telling what changes.

Each look is a whole picture, explained again, so that nothing depends on having seen
every step. A server that is away for a while is waited for; a state that needs action
is believed only after it has lasted, since OLM passes through some of them on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import read
from olmkit.kube import objects
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Diagnosis, Explanation, FaultOrigin, Readiness
from olmkit.olm.explain.installs import explain

T = TypeVar("T")

Report = Callable[[str], None]
"""Receives one line about each change."""


def silent(_: str) -> None:
    """Report nothing."""


Act = Callable[[ClusterState, Explanation], Awaitable[None]]
"""May react to the current state, for example approve a plan."""

# Resolution fails for some seconds while catalogs connect and old versions go.
_BELIEVED = 12.0
# OLM may look once more at an operator with webhooks, when it has said that it succeeded.
_SETTLED = 3.0
_TRIED_AGAIN = 1.0
_SLOW = "nothing has failed so far: pass a longer `--timeout` to wait for the end"
_APPROVAL = ("needs-approval", "upgrade-needs-approval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """How long to wait in all, and how often to look, in seconds.

    `believed` is how long a state lasts before it is taken for one that needs action;
    `settled`, how long an operator with webhooks stays well before it is taken for ready.
    """

    seconds: float = 600.0
    interval: float = 0.7
    believed: float = _BELIEVED
    settled: float = _SETTLED


async def until_ready(
    reader: ClusterObjects,
    package: str,
    namespace: str,
    *,
    report: Report,
    target: str = "",
    act: Act | None = None,
    timeouts: Timeouts | None = None,
    added: read.Added | None = None,
) -> Explanation:
    """Wait until the operator is ready or cannot get so; the explanation says which.

    `added` adds to each snapshot what is outside of the cluster, where something is missing.
    Raises `ClusterError` when the server stays away for the whole time.
    """

    def explained(seen: ClusterState) -> Explanation:
        return explain(seen, package, target=target)

    async def look() -> ClusterState:
        seen = await read.snapshot(reader, namespace, logs=False)
        if not explained(seen).is_ready:
            seen = await read.detailed(reader, seen)
            seen = await added(seen) if added is not None else seen
        return seen

    timeouts = timeouts or Timeouts()

    def lasting(seen: ClusterState) -> float:
        hooked = any(kinds.webhook_services(csv) for csv in seen.own_csvs())
        return timeouts.settled if hooked else 0.0

    return await settled(
        look, explained, report=report, act=act, lasting=lasting, timeouts=timeouts
    )


async def settled(
    look: Callable[[], Awaitable[T]],
    explained: Callable[[T], Explanation],
    *,
    report: Report,
    timeouts: Timeouts,
    act: Callable[[T, Explanation], Awaitable[None]] | None = None,
    lasting: Callable[[T], float] = lambda _: 0.0,
) -> Explanation:
    """Look again and again until the state is ready or needs action, or the time is over.

    `lasting`: for how many seconds it must have been ready until that is believed.
    Raises `ClusterError` when the server stays away for the whole time.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    last: Explanation | None = None
    since = clock()
    while True:
        seen = await patiently(look, report, end)
        now = clock()
        explanation = explained(seen)
        if last is None or (explanation.cause, explanation.message) != (last.cause, last.message):
            since = now
            report(explanation.message)
        last = explanation
        if act is not None:
            await act(seen, explanation)
        lasted = now - since
        if explanation.is_ready and (lasted >= lasting(seen) or now >= end):
            return explanation
        if explanation.readiness is Readiness.BLOCKED and lasted >= timeouts.believed:
            return explanation
        if now >= end:
            return late(explanation, timeouts.seconds)
        await asyncio.sleep(timeouts.interval)


async def until_well(
    look: Callable[[], Awaitable[Diagnosis | None]],
    done: str,
    *,
    report: Report,
    timeouts: Timeouts,
) -> Explanation:
    """The same of one thing that is looked at; `done` says in words that nothing is amiss."""

    def explained(finding: Diagnosis | None) -> Explanation:
        if finding is not None:
            return finding.below()
        return Explanation(readiness=Readiness.READY, cause="healthy", message=done)

    return await settled(look, explained, report=report, timeouts=timeouts)


async def until_gone(
    reader: ClusterObjects, wanted: tuple[Manifest, ...], *, report: Report, timeouts: Timeouts
) -> tuple[Manifest, ...]:
    """Wait until none of the objects is there; what is left when the time is over.

    Another object that has got the name of one of them meanwhile is not that one.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    left = wanted

    async def look() -> list[Manifest]:
        return [one for one in left if await _is_there(reader, one)]

    while left:
        found = await patiently(look, report, end)
        if found and len(found) != len(left):
            report(f"{len(found)} of {len(wanted)} objects still exist")
        left = tuple(found)
        if clock() >= end:
            break
        if left:
            await asyncio.sleep(timeouts.interval)
    return left


async def _is_there(reader: ClusterObjects, wanted: Manifest) -> bool:
    found = await reader.current(wanted)
    uid = objects.metadata(wanted).get("uid")
    return found is not None and uid in (None, objects.metadata(found).get("uid"))


def is_approval(explanation: Explanation) -> bool:
    """Return whether only an approval is missing."""
    return explanation.cause in _APPROVAL


async def approve(reader: ClusterObjects, plan: Manifest) -> None:
    """Approve an InstallPlan."""
    await reader.merge(plan, {"spec": {"approved": True}})


def waiting_plans(seen: ClusterState) -> list[Manifest]:
    """Return the InstallPlans that are not approved yet, the newest last."""
    found = [
        plan
        for plan in seen.plans
        if kinds.phase(plan) == "RequiresApproval" and not kinds.spec(plan).get("approved")
    ]
    return sorted(found, key=lambda plan: kinds.number(kinds.spec(plan).get("generation")))


async def patiently(
    work: Callable[[], Awaitable[T]], report: Report, end: float, *, webhooks: float | None = None
) -> T:
    """Return what `work` gives; while the API server is away, until `end`, it is tried again.

    `end` is a time of the loop, and so is `webhooks`: until then, a webhook that does not answer
    is waited for. Raises the `ClusterError` that does not pass.
    """
    reported = False
    while True:
        try:
            found = await work()
        except ClusterError as error:
            last = end if webhooks is None or not error.is_of_webhook else min(end, webhooks)
            if not error.temporary or asyncio.get_running_loop().time() >= last:
                raise
            if not reported:
                report(f"{error.message}; trying again")
                reported = True
            await asyncio.sleep(_TRIED_AGAIN)
            continue
        if reported:
            report("the API server answers again")
        return found


def late(explanation: Explanation, seconds: float) -> Explanation:
    """The state when the time is over. What still moves then is slow, and not stuck."""
    moves = explanation.readiness is Readiness.WAITING
    return replace(
        explanation,
        readiness=Readiness.WAITING if moves else Readiness.STUCK,
        message=f"{explanation.message} (after {seconds:.0f} s)",
        hint=explanation.hint or (_SLOW if moves else ""),
        origin=FaultOrigin.WORLD if moves else explanation.origin,
    )
