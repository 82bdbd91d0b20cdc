"""List and delete operands, also if their conversion webhook does not respond.

A list calls the conversion webhook for every object that is stored in a different version than the
requested one. After the operator was removed, such objects can neither be read nor deleted until
the conversion strategy of the CRD is None.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Iterable
from dataclasses import dataclass

from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.jobs.cluster import wait
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster.wait import Report
from olmkit.kube import objects
from olmkit.kube.api import ClusterError, NotFound
from olmkit.kube.crds.changes import crd_versions
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.explain import explanation

# The webhook of an operator that OLM has just upgraded may not respond yet.
_CONVERTED = 60.0
_SERVICE = ("v1", "Service")


@dataclass(frozen=True, slots=True)
class UnreadableOperands:
    """A CRD whose objects cannot be listed, and why."""

    crd: Manifest
    error: ClusterError


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """Operands, and the CRDs whose conversion webhook does not respond."""

    found: tuple[Manifest, ...] = ()
    unread: tuple[UnreadableOperands, ...] = ()


async def list_operands(
    reader: ClusterObjects,
    crds: Iterable[Manifest],
    *,
    report: Report = wait.silent,
    seconds: float = _CONVERTED,
) -> Operands:
    """List the objects of the kinds that the CRDs define.

    Retries for `seconds`, at most a minute, if the server or a webhook does not respond. It does
    not retry if the Service of the webhook does not exist.
    """
    found: list[Manifest] = []
    unread: list[UnreadableOperands] = []
    end = asyncio.get_running_loop().time() + min(seconds, _CONVERTED)
    for crd in crds:
        kind = kind_of(crd)
        if kind is None:
            continue
        answers = await has_service(reader, crd)
        look = functools.partial(reader.list, kind)
        try:
            found += await wait.retry(look, report, end, webhooks=end if answers else 0.0)
        except ClusterError as error:
            if not error.is_of_webhook:
                raise
            unread.append(UnreadableOperands(crd, error))
    return Operands(found=tuple(found), unread=tuple(unread))


async def turn_off_conversion(
    reader: ClusterObjects, crds: Iterable[Manifest], *, report: Report
) -> tuple[Manifest, ...]:
    """Turn off the conversion of CRDs whose webhook was removed, and list their objects.

    Use it only for CRDs that are about to be deleted with all their objects.
    """
    found: list[Manifest] = []
    for crd in crds:
        report(f"switching off the conversion of {explanation.subject(crd)}")
        try:
            found += await _turn_off_conversion(reader, crd, report)
        except NotFound:  # deleted together with its owner
            continue
    return tuple(found)


async def _turn_off_conversion(
    reader: ClusterObjects, crd: Manifest, report: Report
) -> tuple[Manifest, ...]:
    await reader.merge(crd, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    kind = kind_of(crd)
    if kind is None:
        return ()
    # The server takes a moment to serve the changed CRD.
    end = asyncio.get_running_loop().time() + wait.Timeouts().believed
    return await wait.retry(functools.partial(reader.list, kind), report, end)


def describe_unlisted(crds: Iterable[Manifest]) -> tuple[str, ...]:
    """Describe the objects of CRDs whose conversion does not work."""
    return tuple(f"all objects of {objects.name(crd)}, which nothing converts now" for crd in crds)


def kind_of(crd: Manifest) -> tuple[str, str] | None:
    """Return API version and kind for requests; None if no version is served.

    The storage version is preferred if it is served, since it needs the least conversion.
    """
    spec = kinds.spec(crd)
    served = [mapping(one) for one in sequence(spec.get("versions")) if mapping(one).get("served")]
    if not served:
        return None
    stored = [one for one in served if one.get("storage")]
    version = text((stored or served[-1:])[0].get("name"))
    return f"{text(spec.get('group'))}/{version}", text(mapping(spec.get("names")).get("kind"))


async def has_converter(reader: ClusterObjects, crd: Manifest) -> bool:
    """Return whether the conversion of a CRD, if it has one, can work eventually."""
    return not crd_versions.converts(crd) or await has_service(reader, crd)


async def has_service(reader: ClusterObjects, crd: Manifest) -> bool:
    """Return whether the Service of a CRD's conversion webhook exists."""
    client = mapping(mapping(mapping(kinds.spec(crd).get("conversion")).get("webhook")).get(
        "clientConfig"))  # fmt: skip
    service = mapping(client.get("service"))
    if not service:
        return True
    existing: Manifest = {}
    question = reader.find(_SERVICE, text(service.get("name")), text(service.get("namespace")))
    return await or_default(question, existing) is not None
