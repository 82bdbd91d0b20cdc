"""Make OLM retry a failed upgrade.

OLM does not execute a failed InstallPlan again, and does not create another one for the same
bundle, because the Subscription reports the new version as installed as soon as its CSV exists.
Deleting the plan and the CSV is not enough, since no Subscription would refer to the old CSV. So
the status of the Subscription is reset to the version that is actually installed, and OLM resolves
again.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from olmkit.base.diagnostics import InputError, RemoteError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import write
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v0 import fit, upgrade_plan
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation

_LOOKS = 4
_RECORDED = 60.0  # seconds; OLM records a CSV some seconds after it created it


class Retried(NamedTuple):
    """The CSV of a failed InstallPlan, and the installed CSV."""

    target: str
    before: str


async def reset(
    reader: ClusterObjects,
    seen: ClusterState,
    subscription: Manifest,
    *,
    report: Report,
    timeouts: Timeouts,
) -> Retried:
    """Delete a failed InstallPlan and its CSV, and reset the Subscription.

    Raises `InputError` if no InstallPlan has failed, or if it would fail again.
    """
    target = text(kinds.status(subscription).get("currentCSV"))
    plan = seen.plan(kinds.plan_name(subscription))
    is_lost = plan is None and bool(target) and seen.csv(target) is None
    if kinds.phase(plan) != "Failed" and not is_lost:
        package = kinds.subscription_key(subscription).package
        if plan is not None and kinds.phase(plan) == "Installing":
            raise InputError(
                f"{explanation.subject(plan)} has not failed: OLM still tries it",
                hint="correct the cause, and OLM continues by itself; if the InstallPlan fails, "
                f"repeat the command; `olmkit why {package} -n {seen.namespace}` has the cause",
            )
        raise InputError(
            f"no InstallPlan of `{package}` has failed, so there is nothing to retry",
            hint=f"run `olmkit why {package} -n {seen.namespace}` to see its state",
        )
    names = {target, *kinds.plan_csvs(plan)}
    broken = tuple(
        csv
        for csv in seen.own_csvs()
        # A CSV can run although another object is missing, which only a new plan applies.
        if objects.name(csv) == target
        or (objects.name(csv) in names and kinds.phase(csv) != "Succeeded")
    )
    if plan is not None:
        manifests = await upgrade_plan.contents(reader, plan)
        before = next(iter(_find_replaced(seen, broken, manifests).values()), "")
        await fit.require(reader, seen, manifests, replaces=before, is_whole=True)
    else:
        manifests = []
    replaced = _find_replaced(seen, broken, manifests)
    steps = ((plan,) if plan is not None else (), broken)
    done = await write.delete(reader, steps, report=report, timeouts=timeouts)
    if done.left:
        raise RemoteError(f"still exists: {', '.join(map(explanation.subject, done.left))}")
    before = text(kinds.status(subscription).get("installedCSV"))
    for one in seen.subscriptions:
        current = text(kinds.status(one).get("currentCSV"))
        if current in names and current in {*map(objects.name, broken), target}:
            await _restore_status(reader, one, replaced.get(current, ""), report)
            await _keep(reader, one, current, replaced.get(current, ""), report, timeouts)
    if before in names:
        before = replaced.get(before, "")
    return Retried(target=target, before=before)


def _find_replaced(
    seen: ClusterState, broken: tuple[Manifest, ...], manifests: list[Manifest]
) -> dict[str, str]:
    """Return the existing CSV that each new CSV replaces."""
    csvs = [*(one for one in manifests if objects.kind(one) == kinds.CSV[1]), *broken]
    pairs = {objects.name(one): text(kinds.spec(one).get("replaces")) for one in csvs}
    return {new: old for new, old in pairs.items() if old and seen.csv(old) is not None}


async def _keep(
    reader: ClusterObjects,
    subscription: Manifest,
    lost: str,
    installed: str,
    report: Report,
    timeouts: Timeouts,
) -> None:
    """Reset the status again if OLM restores it from a concurrent reconcile.

    If OLM has made a new InstallPlan, wait until the Subscription names the CSV that exists:
    without its name, the CSV would be one that no Subscription upgrades.
    """
    clock = asyncio.get_running_loop().time
    end, looks = clock() + min(timeouts.seconds, _RECORDED), 0
    while looks < _LOOKS and clock() < end:
        await asyncio.sleep(timeouts.interval)
        looks += 1
        found = await reader.current(subscription)
        if found is None:
            continue
        status, namespace = kinds.status(found), objects.namespace(found)
        if await reader.find(kinds.CSV, lost, namespace) is not None:
            looks = _LOOKS if text(status.get("currentCSV")) == lost else 0
        elif text(status.get("installedCSV")) == lost:
            plan = kinds.plan_name(found)
            if not plan or await reader.find(kinds.INSTALL_PLAN, plan, namespace) is None:
                await _restore_status(reader, found, installed, report)


async def _restore_status(
    reader: ClusterObjects, subscription: Manifest, installed: str, report: Report
) -> None:
    name = objects.name(subscription)
    report(f"Subscription `{name}`: installed is {f'`{installed}`' if installed else 'nothing'}")
    status = {
        "currentCSV": installed or None,
        "installedCSV": installed or None,
        "state": "AtLatestKnown" if installed else "",
        "installPlanRef": None,
        "installplan": None,
    }
    await reader.merge(subscription, {"status": status}, subresource="status")
