"""A snapshot of the cluster around one ClusterExtension.

A job reads it, `explain` explains it, and a file of objects can store it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, text
from olmkit.olm import cluster_state as snapshots
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState, Objects
from olmkit.olm.v1.extension import API, CLUSTER_CATALOG, request_of

OWNER_LABEL = "olm.operatorframework.io/owner-name"
CONTROLLERS = ("catalogd-controller-manager", "operator-controller-controller-manager")
"""The Deployments that OLM v1 consists of, in every release and distribution."""

SYSTEMS = ("olmv1-system", "openshift-operator-controller", "openshift-catalogd")
"""The namespaces of these Deployments, upstream and in OpenShift."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionState:
    """`name` is what the user typed: the name of a ClusterExtension, or of its package.

    `are_catalogs_known`: false if some catalogs may be missing because the user may not list them.
    `are_deployments_known`: false if the user may not list the Deployments of the namespace.
    `here`: the Deployments of the ClusterExtension, with all pods and events of its namespace.
    `system`: the Deployments of OLM v1 itself, with their pods. `around`: the namespaces of
    both, as far as they exist, and the objects that the conditions name.
    """

    name: str
    extension: Manifest | None = None
    catalogs: Objects = ()
    are_catalogs_known: bool = True
    are_deployments_known: bool = True
    here: ClusterState = field(default_factory=lambda: ClusterState(namespace=""))
    system: ClusterState = field(default_factory=lambda: ClusterState(namespace=""))
    around: Objects = ()

    @property
    def namespace(self) -> str:
        """Return the namespace in which the operator's Deployments run."""
        return text(kinds.spec(self.extension).get("namespace"))

    @property
    def has_namespace(self) -> bool:
        """Return whether that namespace exists; true if namespaces are not known."""
        known = [objects.name(one) for one in self.around if objects.kind(one) == "Namespace"]
        return not known or self.namespace in known

    def named(self, kind: str, name: str) -> Manifest | None:
        """Return an object that a condition names, if it was read."""
        for one in self.around:
            if (objects.kind(one), objects.name(one)) == (kind, name):
                return one
        return None


def choose_extension(extensions: Iterable[Manifest], name: str) -> Manifest | None:
    """Return the ClusterExtension with this name, else the one for this package.

    Raises `InputError` if several request the package.
    """
    listed = list(extensions)
    for one in listed:
        if objects.name(one) == name:
            return one
    found = [one for one in listed if text(request_of(one).get("packageName")) == name]
    if len(found) > 1:
        names = ", ".join(f"`{objects.name(one)}`" for one in found)
        raise InputError(
            f"several ClusterExtensions request the package `{name}`: {names}",
            hint="use the name of one of them instead of the package's",
        )
    return found[0] if found else None


def owned_deployments(deployments: Iterable[Manifest], extension: Manifest) -> Objects:
    """Return the Deployments that OLM created for the ClusterExtension."""
    name = objects.name(extension)
    return tuple(one for one in deployments if objects.labels_of(one).get(OWNER_LABEL) == name)


def from_objects(found: Iterable[Manifest], name: str) -> ExtensionState:
    """Return the state from a file of objects, for example one that `objects_of` has written.

    Raises `InputError` if several ClusterExtensions request the package `name`.
    """
    listed = list(found)
    extension = choose_extension((one for one in listed if _is(one, "ClusterExtension")), name)
    place = text(kinds.spec(extension).get("namespace"))
    here = snapshots.from_objects(listed, place)
    controllers = [one for one in listed if objects.name(one) in CONTROLLERS]
    home = next((objects.namespace(one) for one in controllers), "")
    looked_at = (extension, *here.deployments, *here.pods, *here.events)
    return ExtensionState(
        name=name,
        extension=extension,
        catalogs=tuple(one for one in listed if _is(one, "ClusterCatalog")),
        are_catalogs_known=snapshots.listable(listed, CLUSTER_CATALOG) is None,
        are_deployments_known=snapshots.listable(listed, kinds.DEPLOYMENT) is None,
        here=here,
        system=snapshots.from_objects(listed, home) if home else ClusterState(namespace=""),
        around=tuple(one for one in listed if one not in looked_at),
    )


def objects_of(state: ExtensionState) -> Iterator[Manifest]:
    """Yield the objects of a state, without long fields that explain nothing."""
    seen: set[tuple[str, str, str]] = set()
    if state.extension is not None:
        yield snapshots.shorten(state.extension)
    parts = (
        *(state.catalogs, state.around),
        tuple(snapshots.objects_of(state.here)),
        tuple(snapshots.objects_of(state.system)),
    )
    for one in (one for part in parts for one in part):
        key = (objects.kind(one), objects.namespace(one), objects.name(one))
        if key not in seen:
            seen.add(key)
            yield snapshots.shorten(one)
    if not state.are_catalogs_known:
        yield from snapshots.reviews(CLUSTER_CATALOG)
    if not state.are_deployments_known:
        yield from snapshots.reviews(kinds.DEPLOYMENT)


def _is(one: Manifest, kind: str) -> bool:
    return objects.kind(one) == kind and one.get("apiVersion") == API
