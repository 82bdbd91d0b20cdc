"""Create and delete objects in the cluster, and report each in a line.

Created objects are recorded, so that they can be removed again. Existing objects are used only if
olmkit created them. Deletion runs in steps; each step waits until its objects are deleted.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import wait
from olmkit.jobs.cluster.wait import Report, Timeouts
from olmkit.kube import finalizers, objects
from olmkit.kube.api import AlreadyExists, ClusterError, Conflict, NotFound, Propagation
from olmkit.kube.objects import Manifest
from olmkit.olm import install_objects
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Explanation

Objects = tuple[Manifest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The deleted objects, and those that could not be deleted in time."""

    gone: Objects
    left: Objects = ()
    hint: str = ""


async def create(
    reader: ClusterObjects, manifest: Manifest, *, created: list[Manifest], report: Report
) -> None:
    """Create the object and add it to `created`; update it if olmkit created it before.

    Raises `ClusterError` if it exists and olmkit did not create it, except for a namespace.
    """
    subject = explanation.subject(manifest)
    try:
        made = await reader.create(manifest)
    except AlreadyExists:
        if not await _is_alike(reader, manifest):
            elsewhere = ", or use another namespace" if objects.namespace(manifest) else ""
            raise ClusterError(
                f"{subject} exists already, and olmkit did not create it",
                hint=f"delete it{elsewhere}",
            ) from None
        await reader.apply(manifest)
        report(f"found {subject}")
        return
    created.append({**manifest, "metadata": dict(objects.metadata(made))})
    report(f"created {subject}")


async def attempt(
    work: Awaitable[Explanation],
    take_back: Callable[[Report], Awaitable[None]],
    *,
    undone: Report | None,
) -> Explanation:
    """Return the result of the work.

    If it fails, is interrupted, or the operator does not become ready, `take_back` removes the
    created objects and reports to `undone`; without `undone`, they stay.
    """
    found: Explanation | None = None
    try:
        found = await work
        return found
    finally:
        if undone is not None and not (found and found.is_ready):
            await asyncio.shield(asyncio.ensure_future(take_back(undone)))


async def take_back(
    created: list[Manifest],
    delete: Callable[[Manifest], Awaitable[object]],
    *,
    report: Report,
) -> None:
    """Delete the objects that a run has created, the newest first, and empty the list."""
    for manifest in reversed(created):
        await delete(manifest)
        report(f"reverted {explanation.subject(manifest)}")
    created.clear()


async def delete(
    reader: ClusterObjects,
    steps: Iterable[Objects],
    *,
    operands: Objects = (),
    report: Report,
    timeouts: Timeouts,
    remove_finalizers: bool = False,
) -> Removed:
    """Delete the objects in steps, each finished before the next; `timeouts` limits all steps.

    `operands` are deleted first, with foreground deletion: their dependents could stay forever if
    the CRD were deleted before the garbage collector has processed them. `remove_finalizers`:
    remove operators' finalizers from objects that are not deleted after some time. Raises
    `ClusterError` if a webhook of the operator does not respond for operands.
    """
    deleted: list[Manifest] = []
    clock = asyncio.get_running_loop().time
    end = clock() + timeouts.seconds
    for step in (operands, *steps):
        propagation = Propagation.FOREGROUND if step is operands else Propagation.BACKGROUND
        existing = []
        webhooks = clock() + timeouts.believed
        for manifest in step:
            deletion = functools.partial(reader.delete, manifest, propagation=propagation)
            if await wait.retry(deletion, report, end, webhooks=webhooks):
                existing.append(manifest)
                report(f"deleting {explanation.subject(manifest)}")
        rest = timeouts.rest(end)
        first = replace(rest, seconds=min(rest.seconds, timeouts.believed))
        left = await wait.wait_until_deleted(
            reader, tuple(existing), report=report, timeouts=first if remove_finalizers else rest
        )
        if left and remove_finalizers:
            await _remove_finalizers(reader, left, report)
            rest = timeouts.rest(end)
            left = await wait.wait_until_deleted(reader, left, report=report, timeouts=rest)
        deleted += [one for one in existing if one not in left]
        if left:
            return Removed(gone=tuple(deleted), left=left)
    return Removed(gone=tuple(deleted))


async def _remove_finalizers(reader: ClusterObjects, remaining: Objects, report: Report) -> None:
    for manifest in remaining:
        found = await reader.current(manifest)
        dropped = finalizers.of_operators(found) if found is not None else []
        if found is None or not dropped:
            continue
        kept = [one for one in objects.metadata(found)["finalizers"] if one not in dropped]
        version = objects.metadata(found).get("resourceVersion")
        report(f"removing {', '.join(dropped)} of {explanation.subject(found)}")
        with contextlib.suppress(Conflict, NotFound):
            await reader.merge(
                found, {"metadata": {"finalizers": kept or None, "resourceVersion": version}}
            )


async def find_held(reader: ClusterObjects, remaining: Iterable[Manifest]) -> Objects:
    """Return the objects that finalizers of operators or of OLM keep."""
    existing = [await reader.current(one) for one in remaining]
    return tuple(one for one in existing if one is not None and finalizers.of_operators(one))


async def _is_alike(reader: ClusterObjects, manifest: Manifest) -> bool:
    found = await reader.current(manifest)
    return found is not None and (
        install_objects.is_ours(found) or objects.kind(manifest) == "Namespace"
    )
