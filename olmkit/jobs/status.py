"""What OLM has installed, and how it stands: one line an operator."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from olmkit.edges.objects import ClusterObjects
from olmkit.jobs import cluster_read
from olmkit.kube import objects
from olmkit.kube.objects import text
from olmkit.olm import kinds
from olmkit.olm.explain import explain
from olmkit.olm.explanation import Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One Subscription. `catalog` is namespace/name."""

    namespace: str
    package: str
    channel: str
    catalog: str
    approval: str
    installed: str
    explanation: Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRow:
    """One CatalogSource; `source` is its image or address."""

    namespace: str
    name: str
    source: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    operators: tuple[Row, ...]
    catalogs: tuple[CatalogRow, ...]


async def status(reader: ClusterObjects, *, namespace: str = "", package: str = "") -> Status:
    """Every Subscription of the namespace, or of all, or those of one package."""
    await cluster_read.require_olm(reader)
    found = await reader.list(kinds.SUBSCRIPTION, namespace)
    wanted = [one for one in found if package in ("", kinds.wish(one).package)]
    places = sorted({objects.namespace(one) for one in wanted})
    pictures = dict(
        zip(
            places,
            await asyncio.gather(*(cluster_read.snapshot(reader, place) for place in places)),
            strict=True,
        )
    )
    rows = []
    for one in wanted:
        wish = kinds.wish(one)
        rows.append(
            Row(
                namespace=objects.namespace(one),
                package=wish.package,
                channel=wish.channel,
                catalog=f"{wish.catalog_namespace}/{wish.catalog}",
                approval=text(kinds.spec(one).get("installPlanApproval")) or "Automatic",
                installed=text(kinds.status(one).get("installedCSV")),
                explanation=explain(pictures[objects.namespace(one)], wish.package),
            )
        )
    catalogs = [
        CatalogRow(
            namespace=objects.namespace(one),
            name=objects.name(one),
            source=text(kinds.spec(one).get("address") or kinds.spec(one).get("image")),
            state=kinds.connection_state(one) or "none yet",
        )
        for one in await reader.list(kinds.CATALOG_SOURCE, namespace)
    ]
    return Status(operators=tuple(rows), catalogs=tuple(catalogs))
