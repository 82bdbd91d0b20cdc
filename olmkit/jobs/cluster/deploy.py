"""Deploy and undeploy an overlay of a project without OLM.

All objects are applied with server-side apply, in the order of their dependencies. Then the job
waits until the operator's Deployments are available; if they are not, the state of their pods
explains why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import operands as operand_objects
from olmkit.jobs.cluster import operator_removal, read, wait
from olmkit.jobs.cluster.operator_removal import OperatorRemoval
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster.write import Removed
from olmkit.jobs.project import overlay
from olmkit.kube import objects, rollout
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.oci.reference import Reference
from olmkit.olm import kinds
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, Explanation
from olmkit.olm.explain.workloads import pods


@dataclass(frozen=True, slots=True, kw_only=True)
class DeployOptions:
    """The options of a deployment; `image` replaces the operator image of the overlay."""

    project: Path
    overlay: str = overlay.DEFAULT
    image: str = ""
    crds_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UndeployPlan:
    """The objects to delete, in order; `operands` first.

    The objects of `unread` CRDs are deleted too, but cannot be listed because their conversion
    fails.
    """

    objects: tuple[Manifest, ...]
    operands: tuple[Manifest, ...] = ()
    kept: tuple[Manifest, ...] = ()
    unread: tuple[Manifest, ...] = ()

    @property
    def unlisted(self) -> tuple[str, ...]:
        """Describe the objects that are deleted but cannot be listed before."""
        return operand_objects.describe_unlisted(self.unread)

    @property
    def all(self) -> tuple[Manifest, ...]:
        """Return all objects to delete, in order."""
        return (*self.operands, *self.objects)


def desired_objects(options: DeployOptions) -> tuple[Manifest, ...]:
    """Return the objects of the overlay in the order in which they are applied.

    Raises `ConfigurationError` if the name of the image is invalid.
    """
    if options.image:
        Reference.parse(options.image)
    found: Iterable[Manifest] = [
        dict(document.value) for document in overlay.render(options.project, options.overlay)
    ]
    if options.crds_only:
        found = [one for one in found if objects.kind(one) == kinds.CRD[1]]
        if not found:
            raise InputError(f"`{options.overlay}` has no CustomResourceDefinition")
    elif options.image:
        found = rollout.with_image(found, options.image)
    return rollout.sort_for_apply(found)


async def changes(reader: ClusterObjects, found: Iterable[Manifest]) -> tuple[str, ...]:
    """Return a line for each object with the change that `apply` would make."""
    lines = []
    for manifest in found:
        existing = await reader.current(manifest)
        if existing is None:
            lines.append(f"would create {explanation.subject(manifest)}")
            continue
        after = await reader.apply(manifest, dry_run=True)
        same = all(
            after.get(key) == existing.get(key) for key in {*after, *existing} - {"metadata"}
        )
        lines.append(f"would {'leave' if same else 'change'} {explanation.subject(manifest)}")
    return tuple(lines)


async def apply(
    reader: ClusterObjects, found: tuple[Manifest, ...], *, report: Report, timeouts: Timeouts
) -> Explanation:
    """Apply the objects in order and wait for the Deployments; return the final state.

    Raises `ClusterError` if the server rejects an object.
    """
    first = [one for one in found if objects.kind(one) in rollout.FIRST]
    for manifest in first:
        await reader.apply(manifest)
        report(f"applied {explanation.subject(manifest)}")
    await _wait_until_served(reader, first, timeouts)
    for manifest in found:
        if manifest not in first:
            await reader.apply(manifest)
            report(f"applied {explanation.subject(manifest)}")
    deployments = rollout.workloads(found)
    names = ", ".join(f"`{objects.name(one)}`" for one in deployments)
    return await wait.wait_until_healthy(
        lambda: _finding(reader, deployments),
        f"{names} is available" if names else "all objects are applied",
        report=report,
        timeouts=timeouts,
    )


async def removal(
    reader: ClusterObjects,
    found: tuple[Manifest, ...],
    *,
    keep_crds: bool,
    delete_operands: bool,
    report: Report = wait.silent,
) -> UndeployPlan:
    """Return the objects to delete.

    Raises `InputError` if operands would be deleted that the options do not include, or if they
    cannot be listed and their CRDs stay.
    """
    found = await read.find_existing(reader, found)
    crds = [one for one in found if objects.kind(one) == kinds.CRD[1]]
    # The current conversion is that of the CRD in the cluster, not in the overlay.
    live = [existing for one in crds if (existing := await reader.current(one)) is not None]
    listing = await operand_objects.list_operands(reader, live, report=report)
    if listing.unread and keep_crds == delete_operands:
        unread = listing.unread[0]
        raise InputError(
            f"the objects of {objects.name(unread.crd)} cannot be listed: {unread.error.message}",
            hint="pass `--delete-operands` without `--keep-crds`, and CRD and objects go without a "
            "conversion; or pass only `--keep-crds`, and both stay",
        )
    if listing.found and not keep_crds and not delete_operands:
        raise InputError(
            f"{len(listing.found)} objects of its kinds exist and would be deleted with the CRDs",
            hint="pass `--delete-operands`, or keep the CRDs with `--keep-crds`",
        )
    kept = crds if keep_crds else []
    return UndeployPlan(
        objects=tuple(one for one in reversed(found) if one not in kept),
        operands=listing.found if delete_operands else (),
        kept=tuple(kept),
        unread=tuple(one.crd for one in listing.unread) if delete_operands else (),
    )


async def delete(
    reader: ClusterObjects, plan: UndeployPlan, *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete the operands while the operator still manages them, then the operator.

    Raises `ClusterError` if another operator's webhook does not respond.
    """
    last = [one for one in plan.objects if objects.kind(one) in (kinds.CRD[1], kinds.NAMESPACE[1])]
    operator = tuple(one for one in plan.objects if one not in last)
    whole = OperatorRemoval(
        operands=plan.operands,
        operator=(operator,),
        definitions=(tuple(last),),
        unread=plan.unread,
        may_go_first=bool(rollout.workloads(operator)),
    )
    return await operator_removal.carry_out(reader, whole, report=report, timeouts=timeouts)


async def _wait_until_served(
    reader: ClusterObjects, first: Iterable[Manifest], timeouts: Timeouts
) -> None:
    """Wait until the server serves the kinds that the CRDs define."""
    clock = asyncio.get_running_loop().time
    end = clock() + min(timeouts.seconds, 60.0)
    for crd in first:
        if objects.kind(crd) != kinds.CRD[1]:
            continue
        while True:
            found = await reader.current(crd)
            if found is not None and kinds.condition(found, "Established") is not None:
                break
            refused = (
                None if found is None else kinds.condition(found, "NamesAccepted", value="False")
            )
            if refused is not None or clock() >= end:
                words = text(mapping(refused).get("message")) or "it takes too long"
                raise InputError(
                    f"the CustomResourceDefinition `{objects.name(crd)}` is not established: "
                    f"{words}"
                )
            await asyncio.sleep(0.2)


async def _finding(reader: ClusterObjects, deployments: tuple[Manifest, ...]) -> Diagnosis | None:
    for deployment in deployments:
        seen = await read.snapshot(reader, objects.namespace(deployment))
        finding = pods.explain_deployment(seen, objects.name(deployment))
        if finding is not None:
            return finding
    return None
