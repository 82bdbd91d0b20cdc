"""Wait for OLM: read the state periodically, and report changes.

Each read is a complete state with a new explanation, so that missed steps do not matter. Short
outages of the API server are tolerated. A state that needs action counts only after some time,
since OLM passes through such states temporarily.
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
"""Receives a line about each change."""


def silent(_: str) -> None:
    """Report nothing."""


Act = Callable[[ClusterState, Explanation], Awaitable[bool]]
"""Reacts to the current state, for example by approving an InstallPlan; true if it changed it."""

# Resolution fails for some seconds while catalogs connect and old versions are removed.
_BELIEVED = 12.0
# OLM may check an operator with webhooks again after the phase Succeeded.
_SETTLED = 3.0
_TRIED_AGAIN = 1.0
_SLOW = "nothing has failed so far: pass a longer `--timeout` to wait for the end"
_APPROVAL = ("needs-approval", "upgrade-needs-approval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """The time limit of a wait, and the interval between reads, in seconds.

    `given` is the time limit of the whole command, if `seconds` is the rest. `believed` is how
    long a state must last before it counts as one that needs action; `settled` is how long an
    operator with webhooks must stay healthy before it counts as ready.
    """

    seconds: float = 600.0
    interval: float = 0.7
    believed: float = _BELIEVED
    settled: float = _SETTLED
    given: float | None = None

    @property
    def total(self) -> float:
        """The whole time limit, of which `seconds` may be the rest."""
        return self.seconds if self.given is None else self.given

    def rest(self, end: float) -> Timeouts:
        """Return what is left until `end`, a time of the running loop."""
        left = max(0.0, end - asyncio.get_running_loop().time())
        return replace(self, seconds=left, given=self.total)


async def wait_until_ready(
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
    """Wait until the operator is ready or cannot become ready; return the explanation.

    `added` adds data from outside the cluster to snapshots if something is missing. Raises
    `ClusterError` if the API server does not respond until the time limit.
    """

    def explained(seen: ClusterState) -> Explanation:
        return explain(seen, package, target=target)

    async def look() -> ClusterState:
        seen = await read.snapshot(reader, namespace, logs=False)
        if not explained(seen).is_ready:
            seen = await read.add_details(reader, seen)
            seen = await added(seen) if added is not None else seen
        return seen

    timeouts = timeouts or Timeouts()

    def lasting(seen: ClusterState) -> float:
        hooked = any(kinds.webhook_services(csv) for csv in seen.own_csvs())
        return timeouts.settled if hooked else 0.0

    return await wait_for_state(
        look, explained, report=report, act=act, lasting=lasting, timeouts=timeouts
    )


async def wait_for_state(
    observe: Callable[[], Awaitable[T]],
    explained: Callable[[T], Explanation],
    *,
    report: Report,
    timeouts: Timeouts,
    act: Callable[[T, Explanation], Awaitable[bool]] | None = None,
    lasting: Callable[[T], float] = lambda _: 0.0,
) -> Explanation:
    """Read the state periodically until it is ready or needs action, or the time limit is reached.

    `lasting`: how many seconds it must stay ready. If `act` changes something at the time limit,
    the state is read once more. Raises `ClusterError` if the API server does not
    respond until the time limit.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    last: Explanation | None = None
    since = clock()
    is_last = False
    while True:
        seen = await retry(observe, report, end)
        now = clock()
        explanation = explained(seen)
        if last is None or (explanation.cause, explanation.message) != (last.cause, last.message):
            since = now
            report(explanation.message)
        last = explanation
        has_acted = act is not None and await act(seen, explanation)
        lasted = now - since
        if explanation.is_ready and (lasted >= lasting(seen) or now >= end):
            return explanation
        if explanation.readiness is Readiness.BLOCKED and lasted >= timeouts.believed:
            return explanation
        if now >= end and (is_last or not has_acted):
            return time_limit_reached(explanation, timeouts.total)
        is_last = now >= end
        await asyncio.sleep(timeouts.interval)


async def wait_until_healthy(
    observe: Callable[[], Awaitable[Diagnosis | None]],
    done: str,
    *,
    report: Report,
    timeouts: Timeouts,
) -> Explanation:
    """Wait until one object is healthy; `done` is the message for that."""

    def explained(finding: Diagnosis | None) -> Explanation:
        if finding is not None:
            return finding.below()
        return Explanation(readiness=Readiness.READY, cause="healthy", message=done)

    return await wait_for_state(observe, explained, report=report, timeouts=timeouts)


async def wait_until_deleted(
    reader: ClusterObjects, manifests: tuple[Manifest, ...], *, report: Report, timeouts: Timeouts
) -> tuple[Manifest, ...]:
    """Wait until the objects are deleted; return those that remain at the time limit.

    A new object with the same name does not count.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    left = manifests

    async def look() -> list[Manifest]:
        return [one for one in left if await _exists(reader, one)]

    while left:
        found = await retry(look, report, end)
        if found and len(found) != len(left):
            report(f"{len(found)} of {len(manifests)} objects still exist")
        left = tuple(found)
        if clock() >= end:
            break
        if left:
            await asyncio.sleep(timeouts.interval)
    return left


async def _exists(reader: ClusterObjects, desired: Manifest) -> bool:
    found = await reader.current(desired)
    uid = objects.metadata(desired).get("uid")
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


async def retry(
    work: Callable[[], Awaitable[T]], report: Report, end: float, *, webhooks: float | None = None
) -> T:
    """Return the result of `work`; retry until `end` while the API server does not respond.

    `end` and `webhooks` are times of the loop; until `webhooks`, it also retries if a webhook does
    not respond. Raises the last `ClusterError`.
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


def time_limit_reached(explanation: Explanation, seconds: float) -> Explanation:
    """Return the explanation at the time limit: what is still progressing is slow, not stuck."""
    moves = explanation.readiness is Readiness.WAITING
    return replace(
        explanation,
        readiness=Readiness.WAITING if moves else Readiness.STUCK,
        message=f"{explanation.message} (after {seconds:.0f} s)",
        hint=explanation.hint or (_SLOW if moves else ""),
        origin=FaultOrigin.WORLD if moves else explanation.origin,
    )
