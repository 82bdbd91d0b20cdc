"""Build the resolution input of a namespace from the state of the cluster and its catalogs.

The catalogs themselves are not objects of the cluster: they are read elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from olmkit.base.versions import Version
from olmkit.catalog.model import Catalog
from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.resolver import catalog_entries, installed_entries
from olmkit.olm.resolver.resolution import (
    CatalogEntries,
    CatalogKey,
    Installed,
    ResolverInput,
    Subscription,
)

# The namespaces of the catalogs that all namespaces see: the defaults of OpenShift and of OLM.
GLOBAL = ("openshift-marketplace", "olm")
_PROPERTIES = "operatorframework.io/properties"


def visible(seen: ClusterState, also: Iterable[CatalogKey] = ()) -> tuple[Manifest, ...]:
    """Return the CatalogSources that count for the namespace: its own, and the global ones."""
    places = (seen.namespace, global_namespace(seen, also))
    return tuple(one for one in seen.catalogs if objects.namespace(one) in places)


def global_namespace(seen: ClusterState, also: Iterable[CatalogKey] = ()) -> str:
    """Return the namespace whose catalogs all namespaces see, as far as the objects show it."""
    shared = shared_namespace(seen.system)
    if shared:
        return shared
    named = [key_of(one) for one in seen.subscriptions]
    for key in (*named, *also):
        if key.namespace not in ("", seen.namespace):
            return key.namespace
    existing = {objects.namespace(one) for one in seen.catalogs}
    return next((place for place in GLOBAL if place in existing), GLOBAL[-1])


def shared_namespace(programs: Iterable[Manifest]) -> str:
    """Return the namespace whose catalogs all namespaces see, from OLM's Deployments.

    Empty if they do not show it, for example because OLM runs outside the cluster.
    """
    for deployment in programs:
        if objects.name(deployment) != kinds.CATALOG_PROGRAM:
            continue
        for container in sequence(objects.pod_spec(deployment).get("containers")):
            words = [
                text(word)
                for part in ("command", "args")
                for word in sequence(mapping(container).get(part))
            ]
            for place, word in enumerate(words):
                name, _, value = word.lstrip("-").partition("=")
                if name == "namespace" and word.startswith("-"):
                    return value or "".join(words[place + 1 : place + 2])
    return ""


def key_of(subscription: Manifest) -> CatalogKey:
    """Return the catalog that a Subscription names."""
    key = kinds.subscription_key(subscription)
    return CatalogKey(key.catalog, key.catalog_namespace)


def build_input(
    seen: ClusterState,
    catalogs: Mapping[CatalogKey, Catalog],
    requests: Sequence[Subscription] = (),
) -> ResolverInput:
    """Return the resolution input of a namespace; `requests` are new Subscriptions."""
    own = tuple(map(_subscription, seen.subscriptions))
    return ResolverInput(
        namespace=seen.namespace,
        global_namespace=global_namespace(seen, (one.catalog for one in requests)),
        sources=[
            CatalogEntries(key=key, entries=tuple(catalog_entries.catalog_entries(catalog, key)))
            for key, catalog in catalogs.items()
        ],
        installed=[_installed_csv(one) for one in seen.own_csvs() if not kinds.is_going(one)],
        subscriptions=(*own, *requests),
    )


def _subscription(one: Manifest) -> Subscription:
    key, spec, status = kinds.subscription_key(one), kinds.spec(one), kinds.status(one)
    return Subscription(
        name=objects.name(one),
        package=key.package,
        channel=key.channel,
        catalog=key_of(one),
        starting_csv=text(spec.get("startingCSV")),
        installed_csv=text(status.get("installedCSV")),
        current_csv=text(status.get("currentCSV")),
        is_manual=spec.get("installPlanApproval") == "Manual",
    )


def _installed_csv(csv: Manifest) -> Installed:
    spec = kinds.spec(csv)
    defined = mapping(spec.get("customresourcedefinitions"))
    found = Installed(
        name=objects.name(csv),
        version=Version.read(text(spec.get("version"))),
        phase=kinds.phase(csv),
        replaces=text(spec.get("replaces")),
        provided=tuple(_apis(defined.get("owned"))),
        required=tuple(_apis(defined.get("required"))),
    )
    note = mapping(objects.metadata(csv).get("annotations")).get(_PROPERTIES)
    if not isinstance(note, str):
        return found
    properties, trouble = installed_entries.parse_annotation(note)
    return replace(found, properties=properties, trouble=trouble)


def _apis(described: object) -> Iterator[GVK]:
    for one in map(mapping, sequence(described)):
        group = text(one.get("name")).partition(".")[2]
        yield GVK(group=group, version=text(one.get("version")), kind=text(one.get("kind")))
