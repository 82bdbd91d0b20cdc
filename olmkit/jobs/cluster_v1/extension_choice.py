"""Choose the bundle like OLM v1, from the catalog that catalogd serves.

A request that the catalog cannot meet is an error; what cannot be known in advance is a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.names import similar_package
from olmkit.base.versions import Version
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import Start, UpgradeQuery
from olmkit.catalog.model import Bundle, Package
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.catalog import cluster_catalog
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster.read import or_default
from olmkit.jobs.cluster_v1 import downgrades
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, sequence, text
from olmkit.olm import kinds
from olmkit.olm.explain.explanation import Diagnosis, Readiness
from olmkit.olm.preview import Preview
from olmkit.olm.resolver import v1 as resolver
from olmkit.olm.resolver.v1 import ChosenBundle, ClusterCatalog
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1
from olmkit.olm.v1 import version_range
from olmkit.olm.v1.extension import ExtensionRequest


class NotOfferedError(InputError):
    """The served catalogs offer no matching bundle."""


class ChannelMissingError(NotOfferedError):
    """No served catalog has the channel; another version range does not help."""


class DowngradeError(NotOfferedError):
    """The version that fits is older than the installed one."""


class NoCatalogError(InputError):
    """The cluster has no catalog that OLM would read; waiting does not help."""


_ONE_FOR_INSTALL = "pass one catalog with `--catalog`"
_ONE_FOR_UPGRADE = "limit the ClusterExtension to one catalog: `spec.source.catalog.selector`"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionChoice:
    """The bundle to be installed; `csv` and `brings` are empty if unknown, and `notes` say why.

    `unread` says what this machine cannot read of it and why, and `hint` what to do. `has` is the
    preview of the installed bundle. `packages` are those of a catalog that is new to the cluster.
    """

    csv: str = ""
    brings: Preview | None = field(default=None, repr=False)
    has: Preview | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    packages: frozenset[str] = frozenset()
    unread: str = ""
    hint: str = ""


async def choose_for_install(
    reader: ClusterObjects, request: ExtensionRequest, access: Access
) -> ExtensionChoice:
    """Return the bundle of an install.

    Raises `InputError` if a catalog that OLM reads is not served, and if the catalogs have no
    bundle that OLM would install; `RemoteError` if a catalog image does not exist. Other problems
    with the image are notes: only the cluster may be able to reach the registry.
    """
    image = request.catalog_image
    off: Sequence[Manifest] = ()
    if image:
        try:
            catalog = (await cluster_bundle.read_catalog(image, access)).catalog
        except OlmkitError as error:
            if isinstance(error, InputError) or cluster_bundle.is_missing(error):
                raise
            return _unknown_error(error, image)
        read: tuple[ClusterCatalog, ...] = (ClusterCatalog(name=request.catalog, catalog=catalog),)
    else:
        asked = v1.request_of(v1.cluster_extension(request))
        try:
            read = await _read(reader, asked, is_new=True)
            off = await _find_disabled(reader, asked)
        except OlmkitError as error:
            if isinstance(error, InputError):
                raise
            return _unknown_error(error)
    query = UpgradeQuery(
        channels=request.channels,
        range=version_range.parse(request.version) if request.version else None,
    )
    hint = _ONE_FOR_INSTALL
    with _name_disabled(off):
        chosen = _choose(read, request.package, query, request.version, hint=hint, image=image)
    found = await cluster_bundle.read_chosen(
        chosen.bundle.name, _channel(chosen, read, request.package), chosen.bundle.image, access
    )
    return ExtensionChoice(
        csv=found.csv,
        brings=found.preview,
        notes=(*cluster_bundle.unread_notes(found), *_from(chosen, read)),
        packages=frozenset(read[0].catalog.packages) if image else frozenset(),
        unread=found.note,
        hint=found.hint,
    )


async def choose_for_upgrade(
    reader: ClusterObjects,
    extension: Manifest,
    version: str,
    access: Access,
    *,
    is_changed: bool = False,
) -> ExtensionChoice:
    """Return the bundle of a ClusterExtension with this version range, or with its own if empty.

    Raises `InputError` if its catalogs offer no bundle in the range, with the version to upgrade to
    first if several upgrades are needed, and if the cluster has no catalog for it. A new range, or
    another change (`is_changed`), is also an error if OLM cannot read a catalog; for the current
    range that is a note.
    """
    request = v1.request_of(extension)
    is_changed = is_changed or bool(version)
    version = version or text(request.get("version"))
    package = text(request.get("packageName"))
    name, at = v1.installed_bundle(extension)
    is_free = not name or request.get("upgradeConstraintPolicy") == "SelfCertified"
    query = UpgradeQuery(
        channels=[text(one) for one in sequence(request.get("channels"))],
        range=version_range.parse(version) if version else None,
        installed=None if is_free else upgrades.start_of({}, name, Version.read(at)),
    )
    try:
        read = await _read(reader, request, is_new=False)
        off = await _find_disabled(reader, request)
    except OlmkitError as error:
        if isinstance(error, NoCatalogError) or (is_changed and isinstance(error, InputError)):
            raise
        return _unknown_error(error)
    hint = _ONE_FOR_UPGRADE
    try:
        with _name_disabled(off):
            if name and not _has_package(read, package):
                raise NotOfferedError(
                    _not_found(read, package), hint=cluster_catalogs.ADDING, cause="no-such-package"
                )
            chosen = _choose(read, package, query, version, hint=hint)
    except DowngradeError as error:
        error.hint = downgrades.hint(objects.name(extension))
        raise
    except NotOfferedError as error:
        having = [_package(one, package) for one in read if package in one.catalog.packages]
        hops = upgrades.shortest_path_of_v1(having, query)
        if len(hops) < 2:
            raise
        raise _hops_error(extension, name, hops) from error
    best = chosen.bundle
    if best.name == name:
        # OLM continues to apply the installed bundle: if that fails, its permissions are checked.
        fails = text(kinds.any_condition(extension, "Progressing").get("reason")) == "Retrying"
        same = await _preview_installed(read, package, name, access) if fails else None
        return ExtensionChoice(csv=name, has=same, notes=_find_newer(read, package, query, name))
    has = await _preview_installed(read, package, name, access) if name else None
    found = await cluster_bundle.read_chosen(
        best.name, _channel(chosen, read, package), best.image, access
    )
    notes = (
        *downgrades.notes(best, name, Version.read(at)),
        *_continuation(read, package, query, best),
        *cluster_bundle.unread_notes(found),
        *_from(chosen, read),
    )
    return ExtensionChoice(csv=best.name, brings=found.preview, has=has, notes=notes)


async def find_removed_package(reader: ClusterObjects, extension: Manifest) -> str:
    """Return a message if no catalog of a ClusterExtension has its package; empty if unknown."""
    request = v1.request_of(extension)
    package = text(request.get("packageName"))
    try:
        read = await _read(reader, request, is_new=False)
    except OlmkitError:
        return ""
    return "" if _has_package(read, package) else _not_found(read, package)


def _has_package(read: Sequence[ClusterCatalog], package: str) -> bool:
    return any(package in one.catalog.packages for one in read)


async def _read(
    reader: ClusterObjects, request: Mapping[str, Any], *, is_new: bool
) -> tuple[ClusterCatalog, ...]:
    """Return the catalogs that OLM reads for this request.

    Raises `InputError` if there are none, or if one is not served and needs action; `OlmkitError`
    if one cannot be read now. `is_new`: a named catalog must be served now.
    """
    named = v1.catalog_name(request)
    if named and set(objects.mapping(request.get("selector"))) == {"matchLabels"}:
        existing = await reader.find(v1.CLUSTER_CATALOG, named)
        selected: Sequence[Manifest] = () if existing is None else (existing,)
        if existing is None:
            try:
                return (await _read_served(reader, named, existing),)
            except InputError as error:
                raise NoCatalogError(
                    error.message, hint=error.hint, cause="no-such-catalog"
                ) from error
        if is_new:
            return (await _read_served(reader, named, existing),)
    else:
        every = await reader.list(v1.CLUSTER_CATALOG)
        selected = cluster_catalogs.selected_catalogs(every, request)
        if not selected:
            off = cluster_catalogs.find_disabled(every, request)
            hint = (
                cluster_catalogs.enable_command(off)
                if off
                else _no_catalog_hint(every, is_new=is_new)
            )
            raise NoCatalogError(_no_catalog_error(every), hint=hint, cause="no-such-catalog")
    found = []
    for one in selected:
        ailing = cluster_catalogs.explain_catalog(one)
        if ailing is not None and ailing.readiness is not Readiness.WAITING:
            raise _unusable_error(ailing, is_one_of_many=len(selected) > 1, is_new=is_new)
        try:
            found.append(await _read_served(reader, objects.name(one), one))
        except InputError as error:  # it may be served soon
            raise OlmkitError(error.message, hint=error.hint) from error
    return tuple(found)


async def _find_disabled(reader: ClusterObjects, request: Mapping[str, Any]) -> Sequence[Manifest]:
    """Return the unavailable catalogs that OLM would otherwise read."""
    every = await or_default(reader.list(v1.CLUSTER_CATALOG), ())
    return cluster_catalogs.find_disabled(every, request)


@contextmanager
def _name_disabled(off: Sequence[Manifest]) -> Iterator[None]:
    """Add the unavailable catalogs to the error if the others offer nothing."""
    try:
        yield
    except NotOfferedError as error:
        if off:
            error.hint = cluster_catalogs.enable_command(off)
        raise


def _unusable_error(ailing: Diagnosis, *, is_one_of_many: bool, is_new: bool) -> InputError:
    if not is_one_of_many:
        return InputError(ailing.message, hint=ailing.hint, cause=ailing.cause)
    return InputError(
        f"{ailing.message}, and OLM v1 reads every catalog for a ClusterExtension without a "
        "selector",
        hint=f"{_ONE_FOR_INSTALL if is_new else _ONE_FOR_UPGRADE}, or fix that one: {ailing.hint}",
        cause=ailing.cause,
    )


def _no_catalog_hint(catalogs: Sequence[Manifest], *, is_new: bool) -> str:
    if is_new:
        return "create a catalog from an image with `--catalog IMAGE`"
    if catalogs:
        return "correct `spec.source.catalog.selector` of the ClusterExtension"
    return cluster_catalogs.CREATING


def _no_catalog_error(catalogs: Sequence[Manifest]) -> str:
    off = [objects.name(one) for one in catalogs if cluster_catalogs.is_disabled(one)]
    if off and len(off) == len(catalogs):
        return f"all ClusterCatalogs are switched off: {', '.join(f'`{one}`' for one in off)}"
    if catalogs:
        return "no ClusterCatalog matches the selector"
    return "the cluster has no ClusterCatalog"


async def _read_served(
    reader: ClusterObjects, name: str, catalog: Manifest | None
) -> ClusterCatalog:
    tree = await cluster_catalog.read(reader, name)
    return ClusterCatalog(
        name=name,
        priority=cluster_catalogs.priority(catalog or {}),
        catalog=catalog_job.read(name, tree=tree, valid=False),
    )


def _choose(
    read: Sequence[ClusterCatalog],
    package: str,
    query: UpgradeQuery,
    version: str,
    *,
    hint: str,
    image: str = "",
) -> ChosenBundle:
    """Return OLM's choice; `image` is that of a catalog that is not in the cluster.

    Raises `InputError` if there is none.
    """
    place = image or f"clustercatalog:{read[0].name if len(read) == 1 else 'NAME'}"
    having = [one for one in read if package in one.catalog.packages]
    if not having:
        raise _not_found_error(read, package, place)
    place = f"clustercatalog:{having[0].name}" if len(having) == 1 and not image else place
    for name in query.channels:
        if not any(name in _package(one, package).channels for one in having):
            known = sorted({c for one in having for c in _package(one, package).channels})
            listed = ", ".join(f"`{one}`" for one in known)
            raise ChannelMissingError(
                f"package `{package}` has no channel `{name}`",
                hint=f"the package has {listed}: choose one with `--channel`"
                if known
                else "the package has no channels",
                cause="no-such-channel",
            )
    if not any(upgrades.offers_of_v1(_package(one, package), query) for one in having):
        raise _none_fits_error(having, package, query, version, place)
    ambiguous = resolver.rivals(having, package, query)
    if len(ambiguous) > 1:
        names = ", ".join(f"`{one.catalog}`" for one in ambiguous)
        raise InputError(
            f"several catalogs of the same priority have `{package}`: {names}",
            hint=f"{hint}, or give one ClusterCatalog a higher `spec.priority`",
            cause="several-catalogs",
        )
    resolver.require_alone(ambiguous[0].bundle)
    return ambiguous[0]


def _none_fits_error(
    having: Sequence[ClusterCatalog], package: str, query: UpgradeQuery, version: str, place: str
) -> NotOfferedError:
    """Explain that no version fits, or that the one that fits is not an upgrade."""
    names = ", ".join(f"`{one}`" for one in query.channels)
    where = f" in channel {names}" if len(query.channels) == 1 else ""
    where = f" in the channels {names}" if len(query.channels) > 1 else where
    missing = f"package `{package}` has no version{where} that fits `{version or 'any'}`"
    after = query.installed
    at = after.version.version if after and after.version else None
    if after is None:
        return NotOfferedError(
            missing,
            hint=f"run `olmkit catalog list bundles {place} {package}` to see all versions",
            cause="no-such-version",
        )
    paths = (
        f"run `olmkit catalog path {place} {package} --from {at or after.name} --olm v1`"
        " to see the available upgrades"
    )
    best = resolver.rivals(having, package, replace(query, installed=None))
    found = best[0].bundle if best else None
    if found is None or found.name == after.name:
        return NotOfferedError(
            f"{missing} and upgrades from `{after.name}`", hint=paths, cause="no-way"
        )
    if downgrades.is_older(found, at):
        return DowngradeError(
            f"`{found.name}` is older than the installed `{after.name}`{where}, and OLM v1 does "
            "not downgrade",
            cause="no-way",
        )
    return NotOfferedError(
        f"no upgrade leads from the installed `{after.name}` to `{found.name}`{where}",
        hint=paths,
        cause="no-way",
    )


def _not_found_error(read: Sequence[ClusterCatalog], package: str, place: str) -> NotOfferedError:
    listing = f"run `olmkit catalog list packages {place}` to see all packages of a catalog"
    if len(read) > 1:
        return NotOfferedError(_not_found(read, package), hint=listing, cause="no-such-package")
    near = similar_package(package, read[0].catalog.packages)
    where = place.removeprefix("clustercatalog:")
    return NotOfferedError(
        f"the catalog `{where}` does not have the package `{package}`",
        hint=f"did you mean `{near}`?" if near else listing,
        cause="no-such-package",
    )


def _not_found(read: Sequence[ClusterCatalog], package: str) -> str:
    if len(read) == 1:
        return f"the catalog `{read[0].name}` does not have the package `{package}`"
    listed = ", ".join(f"`{one.name}`" for one in read)
    return f"no catalog of the cluster has the package `{package}`: {listed}"


def _package(one: ClusterCatalog, package: str) -> Package:
    return one.catalog.packages[package]


def _channel(chosen: ChosenBundle, read: Sequence[ClusterCatalog], package: str) -> str:
    """Return a channel that has the bundle, for messages."""
    for one in read:
        if one.name == chosen.catalog:
            listed = _package(one, package).channels.values()
            return next((c.name for c in listed if chosen.bundle.name in c.entries), "")
    return ""


def _from(chosen: ChosenBundle, read: Sequence[ClusterCatalog]) -> tuple[str, ...]:
    """Yield notes: the catalog of the bundle if there are several, and its deprecation."""
    notes = []
    if len(read) > 1:
        notes.append(f"OLM takes it from the catalog `{chosen.catalog}`")
    if chosen.bundle.deprecation is not None:
        notes.append(f"`{chosen.bundle.name}` is deprecated, and OLM has nothing that is not")
    return tuple(notes)


def _find_newer(
    read: Sequence[ClusterCatalog], package: str, query: UpgradeQuery, name: str
) -> tuple[str, ...]:
    """Return a note if no newer version is offered, or only outside the range."""
    best = resolver.rivals(read, package, replace(query, range=None))
    if best and best[0].bundle.name != name:
        return (f"`{best[0].bundle.name}` is offered, and the requested range excludes it",)
    return ("no newer version is offered",)


async def _preview_installed(
    read: Sequence[ClusterCatalog], package: str, name: str, access: Access
) -> Preview | None:
    """Return a preview of the installed bundle, from the first catalog that has it."""
    for one in read:
        if package in one.catalog.packages and name in _package(one, package).bundles:
            return await cluster_bundle.preview_bundle(one.catalog, package, name, access)
    return None


def _continuation(
    read: Sequence[ClusterCatalog], package: str, query: UpgradeQuery, bundle: Bundle
) -> Iterator[str]:
    """Yield a note if OLM will upgrade further within the range, one bundle at a time."""
    path = [bundle]
    while query.installed is not None and path[-1].version is not None:
        at = Start(path[-1].name, path[-1].version)
        best = resolver.rivals(read, package, replace(query, installed=at))
        if not best or best[0].bundle.name in (one.name for one in path):
            break
        path.append(best[0].bundle)
    if len(path) > 1:
        names = ", then ".join(f"`{one.name}`" for one in path[1:])
        yield f"OLM then continues with {names}; to stop before, request one version"


def _hops_error(extension: Manifest, name: str, hops: Sequence[Bundle]) -> NotOfferedError:
    return NotOfferedError(
        f"`{hops[-1].name}` is {len(hops)} upgrades away from `{name}`, and OLM v1 "
        f"performs one at a time: {' → '.join(hop.name for hop in hops)}",
        hint=f"begin with `olmkit upgrade {objects.name(extension)} --olm v1 --to "
        f"{hops[0].version}`",
        cause="no-way",
    )


def _unknown_error(error: OlmkitError, image: str = "") -> ExtensionChoice:
    catalog = f"the catalog `{image}`" if image else "the catalog"
    note = (
        "the bundle is not known in advance, so its permissions and conflicts with the cluster "
        f"cannot be checked: {error.message}"
    )
    return ExtensionChoice(
        notes=(note,),
        unread=f"{catalog} cannot be read from here: {error.message}",
        hint=error.hint,
    )
