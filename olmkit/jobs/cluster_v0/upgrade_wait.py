"""Wait for the steps of an upgrade, based on the state of the cluster.

The state includes the bundles that the catalog offers, whether its pod runs the image of its tag,
whether bundles are being unpacked, and the status of the Subscription and its InstallPlan.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster_v0 import upgrade_plan
from olmkit.jobs.cluster_v0.upgrade_plan import UpgradeOptions, UpgradePlan
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import install_objects, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import catalogs, explanation, unpacking
from olmkit.olm.explain.explanation import Explanation, FaultOrigin, Readiness
from olmkit.olm.explain.installs import explain

# The time for which OLM v0 caches a catalog; a new connection ends it.
_KEPT = (
    "wait, as OLM reads a catalog at an address again after at most 30 minutes; restart the "
    "catalog server to let OLM read it now"
)
_WORKING = ("", "Planning", "Installing")


class UpgradeWatch:
    """Waits for the versions that OLM chooses; `deadline` is a time of the loop."""

    def __init__(
        self,
        reader: ClusterObjects,
        options: UpgradeOptions,
        plan: UpgradePlan,
        *,
        report: Report,
        timeouts: Timeouts,
        deadline: float,
    ) -> None:
        self._reader = reader
        self._options = options
        self._plan = plan
        self._report = report
        self._timeouts = timeouts
        self._deadline = deadline

    async def next(self, current: str, *, expected: str) -> str | Explanation:
        """Return the CSV that OLM chooses after `current`; empty if there is none.

        Returns an `Explanation` if OLM does not choose `expected`, which the catalog offers.
        """
        clock = asyncio.get_running_loop().time
        quiet = since = clock()
        said = cause = ""
        wanted = expected or ("" if self._plan.is_known else self._options.to)
        while True:
            seen = await cluster_read.snapshot(self._reader, self._options.namespace, logs=False)
            subscription = upgrade_plan.require_subscription(seen, self._options.package)
            chosen = text(kinds.status(subscription).get("currentCSV"))
            if chosen and chosen not in (current, self._plan.left):
                return chosen
            if upgrade_plan.is_goal(current, self._options.to):
                return ""
            found = self._explain_no_choice(seen, subscription, wanted)
            now = clock()
            if found.cause != cause:
                cause, since = found.cause, now
            is_working = _is_working(seen, subscription, is_known=self._plan.is_known)
            quiet = now if is_working else quiet
            if not wanted and not is_working:
                settles = 0.0 if self._plan.is_known else self._timeouts.believed
                if now - quiet >= settles:
                    return ""
            believed = now - since >= self._timeouts.believed
            if wanted and found.readiness is Readiness.BLOCKED and believed:
                return found
            words = f"waiting for OLM to choose a version after `{current}`"
            words = found.message if expected else words
            if words != said:
                self._report(words)
                said = words
            if now >= self._deadline:
                is_known = expected or is_working or found.readiness is not Readiness.WAITING
                if not is_known:
                    return ""
                late = cluster_wait.time_limit_reached(found, self._timeouts.total)
                return replace(late, origin=FaultOrigin.WORLD)
            await asyncio.sleep(self._timeouts.interval)

    def _explain_no_choice(
        self, seen: ClusterState, subscription: Manifest, expected: str
    ) -> Explanation:
        """Explain why OLM has not chosen the requested or offered version yet."""
        source = upgrade_plan.source_of(seen, subscription)
        if expected and upgrade_plan.is_outdated(seen, source, self._plan.pinned):
            return _explain_outdated_catalog(source or {}, self._options.package, expected)
        found = explain(seen, self._options.package, target=expected)
        if not expected and found.is_ready:
            ailing = None if source is None else catalogs.explain_catalog(seen, source)
            if ailing is not None:
                return replace(ailing.below(*found.chain[:1]), readiness=Readiness.WAITING)
            words = "OLM is still processing the Subscription, and may choose a newer version"
            return replace(found, readiness=Readiness.WAITING, cause="waiting", message=words)
        if found.is_ready or (expected and found.cause == "waiting"):
            address = text(kinds.spec(source).get("address"))
            message = f"OLM has not yet chosen `{expected}`, which the catalog offers"
            hint = _KEPT if expected and address else ""
            if address and source is not None and not is_read(source, (), "address", address):
                message = f"OLM has not yet read the catalog at `{address}`"
                hint = explanation.UNSEEN
            return replace(
                found,
                readiness=Readiness.WAITING,
                cause="waiting",
                message=message,
                hint=hint,
            )
        return found


async def wait_until_complete(
    reader: ClusterObjects,
    package: str,
    namespace: str,
    target: str,
    *,
    found: Explanation,
    timeouts: Timeouts,
    end: float,
) -> Explanation:
    """Wait until only the ready version exists and OLM's status shows it.

    `found` is the explanation that it is ready. Returns `found`, or what is missing at the time
    limit. `end` is a time of the loop.
    """
    while True:
        seen = await cluster_read.snapshot(reader, namespace, logs=False)
        missing = _describe_unfinished(seen, package, target)
        if not missing:
            return explain(seen, package, target=target) if found.is_ready else found
        if asyncio.get_running_loop().time() >= end:
            unfinished = Explanation(
                readiness=Readiness.WAITING,
                cause="upgrade-not-finished",
                message=f"`{target}` is healthy, but {missing}",
                hint="pass a longer `--timeout` to wait for OLM; if it lasts, check the logs of "
                "OLM's operators",
                chain=found.chain,
                origin=FaultOrigin.WORLD,
            )
            return cluster_wait.time_limit_reached(unfinished, timeouts.total)
        await asyncio.sleep(timeouts.interval)


def _describe_unfinished(seen: ClusterState, package: str, target: str) -> str:
    """Return what an upgrade has not finished yet; empty if it is complete."""
    going = [csv for csv in seen.own_csvs() if kinds.is_going(csv)]
    if going:
        return f"`{objects.name(going[0])}` still exists"
    subscription = seen.subscription(package)
    status = kinds.status(subscription)
    current, installed = (text(status.get(key)) for key in ("currentCSV", "installedCSV"))
    if current == target and installed != target:
        return f"the Subscription still names `{installed}` as installed"
    plan = seen.plan(kinds.plan_name(subscription or {}))
    # A plan for several operators continues with the others, even if one of them fails.
    if plan is not None and kinds.plan_csvs(plan) == (target,) and kinds.phase(plan) != "Complete":
        return f"{explanation.subject(plan)} is {kinds.phase(plan) or 'new'}"
    return ""


def is_read(
    found: Manifest | None,
    pods: Iterable[Manifest],
    field: str,
    reference: str,
) -> bool:
    """Return whether OLM reads a changed catalog from its new location.

    An address appears in the connection state, an image in the pod that serves it.
    """
    if found is None or kinds.connection_state(found) != "READY":
        return False
    state = mapping(kinds.status(found).get("connectionState"))
    if field == "address":
        return text(state.get("address")) == reference
    running = [pod for pod in pods if not objects.metadata(pod).get("deletionTimestamp")]
    return any(
        reference in map(_image, _containers(pod)) and kinds.condition(pod, "Ready") is not None
        for pod in running
    )


def _containers(pod: Manifest) -> list[Manifest]:
    spec = kinds.spec(pod)
    return [
        dict(mapping(one))
        for part in ("initContainers", "containers")
        for one in sequence(spec.get(part))
    ]


def _image(container: Manifest) -> str:
    return text(container.get("image"))


def _is_working(seen: ClusterState, subscription: Manifest, *, is_known: bool) -> bool:
    """Return whether OLM is still processing a Subscription.

    `is_known`: the contents of the catalog are known, so that it does not matter whether it is
    connected.
    """
    plan = seen.plan(kinds.plan_name(subscription))
    source = upgrade_plan.source_of(seen, subscription)
    unpacks = kinds.condition(subscription, "BundleUnpacking") is not None
    return (
        (plan is not None and kinds.phase(plan) in _WORKING)
        or (unpacks and any(unpacking.find_unfinished_jobs(seen)))
        or (not is_known and source is not None and kinds.connection_state(source) != "READY")
        or any(kinds.is_going(csv) for csv in seen.own_csvs())
    )


def _explain_outdated_catalog(source: Manifest, package: str, expected: str) -> Explanation:
    name, place = objects.name(source), objects.namespace(source)
    every = upgrade_plan.poll_interval(source)
    image = text(kinds.spec(source).get("image"))
    message = (
        f"`{expected}` is in the catalog image `{image}`, but the catalog's pod runs an older one"
    )
    last = text(kinds.status(source).get("latestImageRegistryPoll"))
    if every:
        return Explanation(
            readiness=Readiness.WAITING,
            cause="catalog-outdated",
            message=f"{message}; OLM checks every {every}{f', last at {last}' if last else ''}",
        )
    return Explanation(
        readiness=Readiness.BLOCKED,
        cause="catalog-outdated",
        message=f"{message}, and OLM does not check for newer images",
        hint=f"run `olmkit upgrade {package} -n {place} --catalog {image}`, which replaces the pod"
        if install_objects.is_ours(source)
        else f"delete the pod: `kubectl delete pod -n {place} -l {kinds.CATALOG_LABEL}={name}`",
        origin=FaultOrigin.WORLD,
    )
