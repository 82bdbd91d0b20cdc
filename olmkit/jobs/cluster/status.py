"""List the operators that OLM has installed and their state, for both generations."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.edges.cluster.objects import ClusterObjects, Kind
from olmkit.jobs.cluster import read
from olmkit.jobs.cluster_v1 import state as extension_states
from olmkit.kube import objects
from olmkit.kube.api import Forbidden
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState, Objects
from olmkit.olm.explain.explanation import Explanation, Readiness
from olmkit.olm.explain.installs import explain
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import explain as extension_explain
from olmkit.olm.v1 import extension as v1
from olmkit.olm.v1.state import ExtensionState

# Subscriptions, CatalogSources, ClusterExtensions, ClusterCatalogs.
_ALL = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRow:
    """The state of one Subscription or ClusterExtension.

    `catalog` is `NAMESPACE/NAME`; for OLM v1 the name that the ClusterExtension requests, or empty.
    `approval` is empty for OLM v1, which has none. `installed` is the name of the bundle,
    or empty.
    """

    olm: str
    namespace: str
    name: str
    package: str
    channel: str
    catalog: str
    approval: str
    installed: str
    explanation: Explanation


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogRow:
    """One CatalogSource or ClusterCatalog; `source` is its image or address."""

    namespace: str
    name: str
    source: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorsStatus:
    """Operators and catalogs.

    `notes` name the kinds that the user may not list, and say why a ClusterCatalog is not served.
    """

    operators: tuple[OperatorRow, ...]
    catalogs: tuple[CatalogRow, ...]
    notes: tuple[str, ...] = ()


async def status(
    reader: ClusterObjects, *, namespace: str = "", package: str = ""
) -> OperatorsStatus:
    """Return the state of operators in one or all namespaces, or of one package.

    Kinds that the user may not list become notes. Raises `InputError` if the cluster has no OLM,
    and `Forbidden` if the user may list nothing.
    """
    hidden: dict[Kind, Forbidden] = {}
    newer = await reader.knows(v1.CLUSTER_EXTENSION)
    if not newer:
        await read.require_olm(reader)
    subscriptions, sources, extensions, catalogs = await asyncio.gather(
        *(
            _list(reader, kind, place, hidden)
            for kind, place in (
                (kinds.SUBSCRIPTION, namespace),
                (kinds.CATALOG_SOURCE, namespace),
                (v1.CLUSTER_EXTENSION, ""),
                (v1.CLUSTER_CATALOG, ""),
            )
        )
    )
    if len(hidden) == (_ALL if newer else _ALL // 2):
        raise next(iter(hidden.values()))
    wanted = [one for one in subscriptions if package in ("", kinds.subscription_key(one).package)]
    places = sorted({objects.namespace(one) for one in wanted})
    seen = await asyncio.gather(*(read.snapshot(reader, place) for place in places))
    pictures = dict(zip(places, seen, strict=True))
    rows = [_subscription(one, pictures[objects.namespace(one)]) for one in wanted]
    shown = [_source(one) for one in sources]
    if newer:
        chosen = [one for one in extensions if _is_chosen(one, namespace, package)]
        listed = catalogs if v1.CLUSTER_CATALOG not in hidden else None
        states = await asyncio.gather(
            *(
                extension_states.read_around(reader, objects.name(one), one, listed, logs=False)
                for one in chosen
            )
        )
        rows += [_extension(one, state) for one, state in zip(chosen, states, strict=True)]
        shown += [_cluster_catalog(one) for one in catalogs]
    return OperatorsStatus(
        operators=tuple(rows),
        catalogs=tuple(shown),
        notes=(
            *(f"not shown: {error.message}" for error in hidden.values()),
            *_reasons(catalogs),
        ),
    )


async def _list(
    reader: ClusterObjects, kind: Kind, namespace: str, hidden: dict[Kind, Forbidden]
) -> Objects:
    """Return the objects of a kind; if the user may not list them, add a note to `hidden`."""
    try:
        return await reader.list(kind, namespace)
    except Forbidden as error:
        hidden[kind] = error
        return ()


def _subscription(one: Manifest, seen: ClusterState) -> OperatorRow:
    key = kinds.subscription_key(one)
    return OperatorRow(
        olm="v0",
        namespace=objects.namespace(one),
        name=objects.name(one),
        package=key.package,
        channel=key.channel,
        catalog=f"{key.catalog_namespace}/{key.catalog}",
        approval=text(kinds.spec(one).get("installPlanApproval")) or "Automatic",
        installed=seen.installed(one),
        explanation=explain(seen, key.package),
    )


def _is_chosen(extension: Manifest, namespace: str, package: str) -> bool:
    """Return whether a ClusterExtension matches the namespace and the package."""
    names = (objects.name(extension), text(v1.request_of(extension).get("packageName")))
    place = text(kinds.spec(extension).get("namespace"))
    return namespace in ("", place) and (not package or package in names)


def _extension(one: Manifest, state: ExtensionState) -> OperatorRow:
    asked = v1.request_of(one)
    installed, _ = v1.installed_bundle(one)
    return OperatorRow(
        olm="v1",
        namespace=text(kinds.spec(one).get("namespace")),
        name=objects.name(one),
        package=text(asked.get("packageName")),
        channel=", ".join(map(str, sequence(asked.get("channels")))),
        catalog=v1.catalog_name(asked),
        approval="",
        installed=installed,
        explanation=extension_explain.explain(state),
    )


def _source(one: Manifest) -> CatalogRow:
    return CatalogRow(
        namespace=objects.namespace(one),
        name=objects.name(one),
        source=text(kinds.spec(one).get("address") or kinds.spec(one).get("image")),
        state=kinds.connection_state(one) or "none yet",
    )


def _reasons(catalogs: Objects) -> Iterator[str]:
    """Yield why OLM v1 cannot read a catalog, or its current image."""
    for found in map(cluster_catalogs.explain_change, catalogs):
        if found is not None and found.readiness is not Readiness.WAITING:
            yield found.message


def _catalog_state(catalog: Manifest) -> str:
    if cluster_catalogs.explain_catalog(catalog) is not None:
        return "not served"
    return "SERVING" if cluster_catalogs.explain_change(catalog) is None else "outdated"


def _cluster_catalog(one: Manifest) -> CatalogRow:
    image = mapping(mapping(kinds.spec(one).get("source")).get("image"))
    return CatalogRow(
        namespace="",
        name=objects.name(one),
        source=text(image.get("ref")),
        state=_catalog_state(one),
    )
