"""The options of an install, and the bundle and catalog that they select.

Invalid options are rejected before any request. The bundle is read if possible, so that its
contents can be shown before anything is written.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.catalog.model import Catalog as Model
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import offered
from olmkit.jobs.cluster import read as cluster_read
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.oci.reference import Reference
from olmkit.olm import bundle_catalog, kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.install_objects import Mode, ServedCatalog, SubscribedCatalog
from olmkit.olm.preview import Preview
from olmkit.olm.resolver import cluster_input
from olmkit.olm.v1 import extension as v1

# The image that serves a catalog in the cluster; any image with `opm` works.
CATALOG_SERVER = "quay.io/operator-framework/opm:v1.73.0"

_MANIFESTS = ("packages.operators.coreos.com/v1", "PackageManifest")
_ADDRESS = re.compile(r"[^\s/]+:[0-9]{1,5}")
# Go's form of durations; OLM silently uses its default interval for an invalid one.
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h))+")


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallOptions:
    """The user's options: `package` or `bundle`; `catalog` is an image or a name."""

    namespace: str
    package: str = ""
    bundle: str = ""
    catalog: str = ""
    catalog_namespace: str = ""
    catalog_address: str = ""
    catalog_server: str = CATALOG_SERVER
    poll: str = ""
    channel: str = ""
    version: str = ""
    mode: str = ""
    manual: bool = False
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallChoice:
    """The bundle to install, as far as it is known; `csv` is empty if only OLM chooses.

    `content` is the whole catalog, if it was read.
    """

    package: str
    catalog: SubscribedCatalog
    channel: str = ""
    csv: str = ""
    preview: Preview | None = None
    notes: tuple[str, ...] = ()
    served: ServedCatalog | None = None
    manifests: tuple[Manifest, ...] = ()
    content: Model | None = field(default=None, repr=False)


def check(options: InstallOptions) -> None:
    """Raise `ConfigurationError` for invalid options, before any request."""
    if bool(options.package) == bool(options.bundle):
        raise ConfigurationError(
            "nothing to install: pass a package or `--bundle`",
            hint="run `olmkit install PACKAGE` or `olmkit install --bundle REF`",
        )
    if options.bundle and (options.version or options.catalog or options.catalog_address):
        raise ConfigurationError("a bundle comes without a catalog and has one version")
    if options.bundle:
        Reference.parse(options.catalog_server)
    else:
        cluster_bundle.check_names(options.package, options.catalog)
    if options.mode:
        Mode.parse(options.mode)
    if options.catalog_address and not _ADDRESS.fullmatch(options.catalog_address):
        raise ConfigurationError(
            f"`{options.catalog_address}` is not an address of a server", hint="write `HOST:PORT`"
        )
    if options.poll and not cluster_bundle.is_image(options.catalog):
        raise ConfigurationError("OLM can poll only a catalog that is given by its image")
    if options.poll and not _DURATION.fullmatch(options.poll):
        raise ConfigurationError(
            f"invalid value for `--poll`: `{options.poll}` is not a duration",
            hint="write `15m` or `1h30m`",
        )


async def choose(
    reader: ClusterObjects, options: InstallOptions, access: Access, state: ClusterState
) -> InstallChoice:
    """Choose the bundle and its catalog; nothing is written.

    Raises `InputError` if the catalog or the bundle's image does not exist, or if the catalog does
    not have the package or version; `RemoteError` if the catalog's image does not exist.
    """
    if options.bundle:
        return await _choose_bundle(options, access)
    if options.catalog_address:
        catalog = SubscribedCatalog(
            name=f"{options.package}-catalog",
            namespace=options.namespace,
            address=options.catalog_address,
        )
        return await _choose_from_address(options, catalog, options.catalog_address, access, state)
    options = _with_namespace(options, state)
    if cluster_bundle.is_image(options.catalog):
        return await _choose_from_image(options, access)
    return await _choose_from_existing(reader, options, access, state)


def _with_namespace(options: InstallOptions, state: ClusterState) -> InstallOptions:
    """Return the options for an existing CatalogSource that is written as `NAMESPACE/NAME`."""
    namespace, _, name = options.catalog.partition("/")
    if state.catalog(name, namespace) is None or options.poll:
        return options
    return replace(options, catalog=name, catalog_namespace=namespace)


async def _choose_bundle(options: InstallOptions, access: Access) -> InstallChoice:
    named = await cluster_bundle.require_bundle(options.bundle, access)
    channel = options.channel or named.channel
    package = named.rendered.package
    served = ServedCatalog(
        namespace=options.namespace,
        package=package,
        blobs=bundle_catalog.blobs(named.rendered, channel),
        image=options.catalog_server,
        secrets=options.secrets,
    )
    tree = Tree({"catalog.json": served.blobs})
    content = catalog_job.read(options.bundle, tree=tree, valid=False)
    catalog = SubscribedCatalog(
        name=served.name,
        namespace=options.namespace,
        address=served.address,
        secrets=options.secrets,
    )
    return InstallChoice(
        package=package,
        catalog=catalog,
        channel=channel,
        csv=named.rendered.name,
        preview=named.preview,
        served=served,
        manifests=named.manifests,
        content=content,
    )


async def _choose_from_image(options: InstallOptions, access: Access) -> InstallChoice:
    catalog = SubscribedCatalog(
        name=f"{options.package}-catalog",
        namespace=options.namespace,
        image=options.catalog,
        poll=options.poll,
        secrets=options.secrets,
    )
    try:
        read = await cluster_bundle.read_catalog(options.catalog, access)
    except OlmkitError as error:
        if cluster_bundle.is_missing(error) and not options.secrets:
            raise
        return _unread(options, catalog, f"the catalog cannot be read from here: {error.message}")
    catalog_job.require_servable(options.catalog, read.catalog)
    chosen = await cluster_bundle.choose(
        read.catalog, options.package, access, channel=options.channel, version=options.version
    )
    choice = _build_choice(options, replace(catalog, folder=read.folder), chosen)
    return replace(choice, content=read.catalog)


async def _choose_from_existing(
    reader: ClusterObjects, options: InstallOptions, access: Access, state: ClusterState
) -> InstallChoice:
    found = await _find_catalog(reader, options, access, state)
    catalog = SubscribedCatalog(name=objects.name(found), namespace=objects.namespace(found))
    image = objects.text(kinds.spec(found).get("image"))
    unseen = await _require_visible(reader, options, catalog, image)
    if not image:
        address = objects.text(kinds.spec(found).get("address"))
        choice = await _choose_from_address(options, catalog, address, access, state)
        return replace(choice, notes=(*unseen, *choice.notes))
    try:
        read = await cluster_bundle.read_catalog(image, access)
    except OlmkitError as error:
        choice = _unread(options, catalog, f"`{image}` cannot be read from here: {error.message}")
        return replace(choice, notes=(*unseen, *choice.notes))
    chosen = await cluster_bundle.choose(
        read.catalog, options.package, access, channel=options.channel, version=options.version
    )
    choice = _build_choice(options, catalog, chosen)
    return replace(choice, content=read.catalog, notes=(*unseen, *choice.notes))


async def _require_visible(
    reader: ClusterObjects, options: InstallOptions, catalog: SubscribedCatalog, image: str
) -> tuple[str, ...]:
    """Raise `InputError` if OLM does not use the catalog for the namespace.

    Returns a note if that is only likely: where OLM runs outside the cluster, its namespace for
    global catalogs is not known.
    """
    if catalog.namespace == options.namespace:
        return ()
    shared = cluster_input.shared_namespace(await cluster_read.read_catalog_operator(reader))
    if catalog.namespace in ((shared,) if shared else cluster_input.GLOBAL):
        return ()
    name = f"`{catalog.namespace}/{catalog.name}`"
    if not shared:
        note = (
            f"OLM uses catalogs of namespace `{options.namespace}` and of its namespace for global "
            f"catalogs; if that is not `{catalog.namespace}`, it does not find {name}"
        )
        return (note,)
    raise InputError(
        f"OLM does not use the catalog {name} for namespace `{options.namespace}`, only catalogs "
        f"of that namespace and of `{shared}`",
        hint=f"pass `--catalog {image}`, so that olmkit creates a catalog in that namespace"
        if image
        else "pass the image of the catalog with `--catalog`, or its address with "
        "`--catalog-address`",
        cause="no-such-catalog",
    )


async def _choose_from_address(
    options: InstallOptions,
    catalog: SubscribedCatalog,
    address: str,
    access: Access,
    state: ClusterState,
) -> InstallChoice:
    """Choose from the catalog at an address, if this machine can reach it like the cluster."""
    chosen = None
    if address and offered.is_reachable(address):
        chosen = await cluster_bundle.choose_from_server(
            address, options.package, access, channel=options.channel, version=options.version
        )
    if chosen is None:
        return _unread(options, catalog, f"the catalog `{catalog.name}` cannot be read from here")
    choice = _build_choice(options, catalog, chosen)
    # Only then does it matter what else is served.
    if not chosen.has_dependencies and not state.subscriptions:
        return choice
    try:
        return replace(choice, content=await offered.read_address(address))
    except OlmkitError as error:
        note = (
            f"the whole catalog `{catalog.name}` cannot be read from here, so dependencies and "
            f"conflicts with other operators cannot be checked in advance: {error.message}"
        )
        return replace(choice, notes=(*choice.notes, note))


async def _find_catalog(
    reader: ClusterObjects, options: InstallOptions, access: Access, state: ClusterState
) -> Manifest:
    """Return the CatalogSource with the given name, else the only one with the package."""
    near = [
        one
        for one in state.catalogs
        if not options.catalog or objects.name(one) == options.catalog
        if not options.catalog_namespace or objects.namespace(one) == options.catalog_namespace
    ]
    if options.catalog:
        own = [one for one in near if objects.namespace(one) == options.namespace]
        near = own or near
        if not near:
            _require_seen(state, options, f"there is no CatalogSource `{options.catalog}`")
            raise InputError(
                f"there is no CatalogSource `{options.catalog}`",
                hint="run `olmkit status` to list the existing ones; write an image with its "
                "registry",
                cause="no-such-catalog",
            )
    elif len(near) != 1:
        near = await _find_catalogs(reader, options, near, state)
        if len(near) > 1:
            near = await _offering(reader, near, options, access)
    if len(near) > 1:
        listed = ", ".join(f"`{objects.namespace(one)}/{objects.name(one)}`" for one in near)
        raise InputError(
            f"several catalogs match: {listed}",
            hint="choose one with `--catalog` and `--catalog-namespace`",
            cause="several-catalogs",
        )
    return near[0]


def _require_seen(state: ClusterState, options: InstallOptions, missing: str) -> None:
    """Raise `InputError` that explains which CatalogSources the user may not list."""
    if state.lists_catalogs(options.catalog_namespace):
        return
    seen = ", ".join(f"`{one}`" for one in state.catalog_places or ())
    where = f" in the namespaces where you may list them: {seen}" if seen else ""
    asked = f"in namespace `{options.catalog_namespace}`" if options.catalog_namespace else (
        "in the whole cluster"
    )  # fmt: skip
    raise InputError(
        f"{missing}{where}"
        if seen
        else "the CatalogSources of the cluster are unknown, because you may not list them",
        hint="bind the user to a role that allows `list` of `catalogsources.operators.coreos.com` "
        f"{asked}, or pass the image of a catalog with `--catalog`",
        cause="catalogs-not-listable",
    )


async def _not_offered_error(reader: ClusterObjects, package: str) -> InputError:
    return InputError(
        f"no catalog offers the package `{package}`",
        hint="`olmkit status` lists the catalogs of the cluster; pass an image with `--catalog`"
        f"{await _v1_hint(reader)}",
        cause="no-such-package",
    )


async def _v1_hint(reader: ClusterObjects) -> str:
    """Return the rest of a hint if the cluster has catalogs of OLM v1."""
    if not await cluster_read.or_default(reader.list(v1.CLUSTER_CATALOG), ()):
        return ""
    return "; the cluster has ClusterCatalogs, from which `--olm v1` installs"


async def _find_catalogs(
    reader: ClusterObjects, options: InstallOptions, near: list[Manifest], state: ClusterState
) -> list[Manifest]:
    """Return the catalogs that offer the package, according to OLM's PackageManifests."""
    if not near:
        place = options.catalog_namespace
        where = f"namespace `{place}`" if place else "the cluster"
        _require_seen(state, options, "there is no CatalogSource")
        raise InputError(
            f"{where} has no CatalogSource",
            hint=f"pass an image with `--catalog`, or a bundle with `--bundle`"
            f"{await _v1_hint(reader)}",
            cause="no-such-catalog",
        )
    listed = await reader.list(_MANIFESTS, options.namespace)
    offered = {
        (
            objects.text(kinds.status(one).get("catalogSource")),
            objects.text(kinds.status(one).get("catalogSourceNamespace")),
        )
        for one in listed
        if objects.text(kinds.status(one).get("packageName")) == options.package
    }
    found = [one for one in near if (objects.name(one), objects.namespace(one)) in offered]
    if listed and not found:
        raise await _not_offered_error(reader, options.package)
    return found or [one for one in near if one in cluster_input.visible(state)] or near


async def _offering(
    reader: ClusterObjects, near: list[Manifest], options: InstallOptions, access: Access
) -> list[Manifest]:
    """Return the catalogs that have the package or cannot be read from this machine."""
    found = []
    for one in near:
        try:
            catalog = await offered.read(one, access)
        except OlmkitError:
            found.append(one)
        else:
            if options.package in catalog.packages:
                found.append(one)
    if not found:
        raise await _not_offered_error(reader, options.package)
    return found


def _unread(options: InstallOptions, catalog: SubscribedCatalog, note: str) -> InstallChoice:
    csv = ""
    if options.version:
        csv = options.version
        if not csv.startswith(options.package):
            csv = f"{options.package}.v{options.version}"
            note += f"; assuming that version {options.version} is named `{csv}`"
    note += (
        ", so its permissions cannot be shown, and its dependencies and conflicts with the cluster "
        "cannot be checked, in advance"
    )
    return InstallChoice(
        package=options.package,
        catalog=catalog,
        channel=options.channel,
        csv=csv,
        notes=(note,),
    )


def _build_choice(
    options: InstallOptions, catalog: SubscribedCatalog, chosen: cluster_bundle.ChosenVersion
) -> InstallChoice:
    if chosen.is_missing and not options.secrets:
        raise InputError(
            f"the catalog offers `{chosen.csv}`, but {chosen.note}",
            hint="push the bundle image; if it needs credentials, pass `--pull-secret`",
            cause="bundle-cannot-be-unpacked",
        )
    return InstallChoice(
        package=options.package,
        catalog=catalog,
        channel=chosen.channel,
        csv=chosen.csv,
        preview=chosen.preview,
        notes=cluster_bundle.unread_notes(chosen),
        manifests=chosen.manifests,
    )
