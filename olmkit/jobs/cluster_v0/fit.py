"""Check against the cluster whether the manifests of a bundle can be applied.

`install` and `upgrade` do this before they create or approve anything. Checks that the user may not
read data for are skipped: then OLM reports the problem.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Iterable

from olmkit.base.diagnostics import InputError
from olmkit.base.versions import Version
from olmkit.edges.cluster.objects import ClusterObjects, Kind
from olmkit.jobs.cluster import operands
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v0 import permissions
from olmkit.kube import objects
from olmkit.kube.api import ClusterError
from olmkit.kube.crds.changes import crd_versions
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import bundle_fit, kinds
from olmkit.olm.bundle_fit import ClusterFacts
from olmkit.olm.cluster_state import ClusterState

_NOTES = 10


async def require(
    reader: ClusterObjects,
    seen: ClusterState,
    manifests: Iterable[Manifest],
    *,
    group: Manifest | None = None,
    replaces: str = "",
    is_whole: bool = False,
) -> None:
    """Raise `InputError` with all manifests that the cluster would reject.

    `group` is the OperatorGroup to be created; without it, that of the namespace. `is_whole`: the
    manifests are those of a whole InstallPlan, so that no other bundle has what is missing.
    """
    listed = list(manifests)
    if not listed:
        return
    facts = await _facts(reader, seen, listed, group, is_whole=is_whole)
    found = list(bundle_fit.refusals(listed, facts, replaces=replaces))
    if found:
        first = found[0]
        raise InputError(
            "; ".join(one.message for one in found), hint=first.hint, cause=first.cause
        )


async def notes(
    reader: ClusterObjects, seen: ClusterState, manifests: Iterable[Manifest], replaces: str
) -> tuple[str, ...]:
    """Return notes about the changes of CRDs, compared with the installed ones."""
    listed = list(manifests)
    if not listed:
        return ()
    crds = await _crds(reader, listed)
    found = list(bundle_fit.crd_notes(listed, crds, seen.csv(replaces)))
    more = (f"{len(found) - _NOTES} more changes of CRDs",) if len(found) > _NOTES else ()
    return (*found[:_NOTES], *more)


async def _facts(
    reader: ClusterObjects,
    seen: ClusterState,
    manifests: list[Manifest],
    group: Manifest | None,
    *,
    is_whole: bool,
) -> ClusterFacts:
    own = group or (seen.groups[0] if len(seen.groups) == 1 else {})
    version, crds, groups, csvs = await asyncio.gather(
        _version(reader),
        _crds(reader, manifests),
        or_default(reader.list(kinds.OPERATOR_GROUP), seen.groups),
        or_default(reader.list(kinds.CSV), seen.csvs),
    )
    instances, unconverted = await _instances(reader, manifests, crds)
    return ClusterFacts(
        namespace=seen.namespace,
        group=own,
        version=version,
        crds=crds,
        instances=instances,
        unconverted=unconverted,
        unserved=await _find_unserved(reader, manifests),
        groups=groups,
        csvs=csvs,
        denied=await permissions.find_denied(reader, seen.namespace, own, manifests),
        is_whole=is_whole,
    )


async def _version(reader: ClusterObjects) -> Version | None:
    """Return the version of the API server without vendors' suffixes."""
    try:
        found = json.loads(await reader.cluster.request("GET", "/version"))
    except (ClusterError, ValueError, RecursionError):
        return None
    words = text(mapping(found).get("gitVersion")).removeprefix("v")
    return Version.read(words.partition("-")[0].partition("+")[0])


async def _crds(reader: ClusterObjects, manifests: list[Manifest]) -> dict[str, Manifest]:
    names = [objects.name(one) for one in manifests if objects.kind(one) == kinds.CRD[1]]
    names += [name for one in manifests for name in kinds.required_crds(one)]
    found = {}
    for name in dict.fromkeys(names):
        # If the user may not read CRDs, nothing is known about any of them.
        unknown: Manifest | None = {}
        crd = await or_default(reader.find(kinds.CRD, name), unknown)
        if crd is not None:
            found[name] = crd
    return found


async def _instances(
    reader: ClusterObjects, manifests: list[Manifest], crds: dict[str, Manifest]
) -> tuple[dict[tuple[str, str], tuple[Manifest, ...]], dict[str, str]]:
    """Return objects by CRD and version, and errors of unreadable CRDs: name → message.

    Retries for a short time if a webhook does not respond.
    """
    found = {}
    unconverted: dict[str, str] = {}
    end = asyncio.get_running_loop().time() + Timeouts().believed
    for new in manifests:
        old = crds.get(objects.name(new))
        if objects.kind(new) != kinds.CRD[1] or not old or crd_versions.converts(new):
            continue
        spec = kinds.spec(old)
        kind = text(mapping(spec.get("names")).get("kind"))
        for version in bundle_fit.shared_versions(new, old):
            look = functools.partial(reader.list, (f"{text(spec.get('group'))}/{version}", kind))
            until = end if await operands.has_service(reader, old) else 0.0
            question = cluster_wait.retry(look, cluster_wait.silent, until)
            try:
                found[objects.name(new), version] = await or_default(question, ())
            except ClusterError as error:
                if error.is_of_webhook:
                    unconverted[objects.name(new)] = error.message
    return found, unconverted


async def _find_unserved(reader: ClusterObjects, manifests: list[Manifest]) -> frozenset[Kind]:
    asked = {
        (text(one.get("apiVersion")), objects.kind(one))
        for one in manifests
        if objects.kind(one) != kinds.CSV[1]  # OLM is installed, so the kind is served
    }
    for one in manifests:
        for native in objects.sequence(kinds.spec(one).get("nativeAPIs")):
            group, version = (text(mapping(native).get(key)) for key in ("group", "version"))
            asked.add(
                (f"{group}/{version}" if group else version, text(mapping(native).get("kind")))
            )
    return frozenset([kind for kind in sorted(asked) if kind[1] and not await reader.knows(kind)])
