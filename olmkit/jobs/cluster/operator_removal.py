"""Delete an operator with its operands, also if its webhooks no longer respond.

Operands are deleted first, while the operator can clean up. If a webhook of the operator blocks the
deletion, operands are deleted after the operator; if their conversion fails, after the conversion
was turned off. Only then can the API server read and delete them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from olmkit.base.diagnostics import InputError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import operands as operand_objects
from olmkit.jobs.cluster import write
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.jobs.cluster.write import Objects, Removed
from olmkit.kube import objects
from olmkit.kube.api import ClusterError
from olmkit.kube.objects import Manifest
from olmkit.olm import kinds


class NothingToRemoveError(InputError):
    """Nothing requests the operator, and nothing of it remains."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRemoval:
    """The objects to delete, in order; the steps of `operator` and `definitions` run one by one.

    `unread` are the CRDs whose objects cannot be listed because their conversion fails.
    `may_go_first`: the operator may be deleted before operands whose deletion its webhooks block.
    """

    operands: Objects
    operator: Sequence[Objects]
    definitions: Sequence[Objects]
    unread: Objects = ()
    may_go_first: bool = True
    remove_finalizers: bool = False


async def carry_out(
    reader: ClusterObjects, removal: OperatorRemoval, *, report: Report, timeouts: Timeouts
) -> Removed:
    """Delete the operator step by step; stop after a step that times out.

    Raises `ClusterError` for a webhook that does not respond, unless `may_go_first`.
    """
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    gone: Objects = ()
    postponed: Objects = ()

    async def delete(*steps: Objects, operands: Objects = ()) -> Removed:
        nonlocal gone
        done = await write.delete(
            reader,
            steps,
            operands=operands,
            report=report,
            timeouts=timeouts.rest(end),
            remove_finalizers=removal.remove_finalizers,
        )
        gone += done.gone
        return replace(done, gone=gone)

    if removal.operands:
        silent = [
            crd for crd in _crds(removal) if not await operand_objects.has_converter(reader, crd)
        ]
        await operand_objects.turn_off_conversion(reader, silent, report=report)
    try:
        done = await delete(operands=removal.operands)
    except ClusterError as error:
        if not error.is_of_webhook or not removal.may_go_first:
            raise
        report(
            "a webhook of the operator does not answer, so the operator is deleted before "
            "its objects"
        )
        postponed = removal.operands
        done = Removed(gone=gone)
    if not done.left:
        done = await delete(*removal.operator)
    if not done.left and (postponed or removal.unread):
        freed = await operand_objects.turn_off_conversion(reader, removal.unread, report=report)
        done = await delete(operands=(*postponed, *freed))
    return done if done.left else await delete(*removal.definitions)


def _crds(removal: OperatorRemoval) -> list[Manifest]:
    """Return the CRDs to delete whose objects can be listed.

    A successful list is not enough: the garbage collector, which finishes the deletion, requests a
    different version than the stored one.
    """
    unread = {objects.name(crd) for crd in removal.unread}
    return [
        one
        for step in removal.definitions
        for one in step
        if objects.kind(one) == kinds.CRD[1] and objects.name(one) not in unread
    ]
