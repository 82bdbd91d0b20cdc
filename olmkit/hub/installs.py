"""How to install one version: the objects for OLM v0 in each mode and for OLM v1, and commands.

The objects are those of `olmkit install`. Names from the catalog become part of a command only
when they are valid names of objects.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from olmkit.base import documents, names
from olmkit.base.diagnostics import InputError
from olmkit.catalog.model import Channel
from olmkit.hub import stated
from olmkit.hub.pages import Install, Picker, PickerChoice, Variant
from olmkit.hub.records import Record
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm import install_objects, kinds, preview
from olmkit.olm.install_objects import Catalog, InstallRequest, Mode
from olmkit.olm.v1 import extension, support
from olmkit.olm.v1.extension import ExtensionRequest

_WIDEST: Final = ("AllNamespaces", "MultiNamespace", "SingleNamespace", "OwnNamespace")
_MODES: Final = {
    "AllNamespaces": "All namespaces",
    "MultiNamespace": "Several namespaces",
    "SingleNamespace": "Another namespace",
    "OwnNamespace": "Its own namespace",
}
_MEANING: Final = {
    "AllNamespaces": "The operator watches all namespaces of the cluster.",
    "MultiNamespace": "The operator watches the listed namespaces. They must exist.",
    "SingleNamespace": "The operator watches one other namespace. It must exist.",
    "OwnNamespace": "The operator watches only the namespace in which it runs.",
}
_PLATFORMS: Final = {
    "kubernetes": ("Kubernetes", "operators", "olm"),
    "openshift": ("OpenShift", "openshift-operators", "openshift-marketplace"),
}
_ONE_GROUP: Final = (
    "A namespace has exactly one OperatorGroup. Leave the OperatorGroup out if the namespace has "
    "one already."
)
_ACCOUNT: Final = (
    "Up to release 1.10, OLM v1 also needs a ServiceAccount with the permissions of the operator: "
    "`olmkit install --create-service-account` creates it."
)
_V1_REFUSING: Final = ("olm.package.required", "olm.gvk.required", "olm.constraint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """How the cluster knows the catalog. Empty `namespace`: the global one of the platform.

    With `image`, the instructions create the catalog.
    """

    name: str
    namespace: str = ""
    image: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    record: Record
    package: str
    channel: str
    is_head: bool
    where: Where
    suggested: Manifest | None
    modes: tuple[str, ...]


def of_record(
    record: Record, package: str, channel: Channel | None, head: str, where: Where
) -> Install:
    """The instructions. `head`: the bundle that OLM takes from the channel without a version."""
    if channel is None:
        return Install(notes=("This version is not installable through a channel.",))
    suggested, note = stated.namespace(record)
    if not names.is_subdomain(package) or not channel.name.isprintable():
        return Install(
            notes=("The name of the package or channel is not valid, so OLM cannot install it.",)
        )
    wanted = _Wanted(
        record=record,
        package=package,
        channel=channel.name,
        is_head=record.bundle.name == head,
        where=where,
        suggested=suggested,
        modes=kinds.supported_modes(record.csv),
    )
    variants = [*_variants_of_v0(wanted), _variant_of_v1(wanted)]
    modes = [mode for mode in _WIDEST if mode in wanted.modes]
    first = stated.first_object(record)
    return Install(
        pickers=(
            _picker("olm", "OLM", (("v0", "OLM v0"), ("v1", "OLM v1"))),
            _picker("platform", "Platform", [(key, value[0]) for key, value in _PLATFORMS.items()]),
            _picker("mode", "Watched namespaces", [(mode, _MODES[mode]) for mode in modes]),
        ),
        variants=tuple(variants),
        notes=tuple(_notes(wanted, note)),
        first_object=documents.dump(first).decode() if first is not None else "",
        publisher_text=record.annotations.get("artifacthub.io/install", ""),
        removal=_removal(wanted),
        removal_text=record.annotations.get("operator.openshift.io/uninstall-message", ""),
    )


def _picker(name: str, title: str, choices: Iterable[tuple[str, str]]) -> Picker:
    made = tuple(PickerChoice(value=value, label=label) for value, label in choices)
    return Picker(name=name, title=title, choices=made)


def _notes(wanted: _Wanted, note: str) -> Iterator[str]:
    if note:
        yield note
    if not wanted.modes:
        yield "This version states no supported install mode: OLM v0 cannot install it."
    elif len(wanted.modes) > 1 and "AllNamespaces" in wanted.modes:
        yield (
            "An installation for all namespaces and one for some namespaces cannot provide the "
            "same API in one cluster."
        )


def _variants_of_v0(wanted: _Wanted) -> Iterator[Variant]:
    for mode in _WIDEST:
        if mode in wanted.modes:
            for platform in _PLATFORMS:
                yield _variant_of_v0(wanted, platform, mode)


def _variant_of_v0(wanted: _Wanted, platform: str, mode: str) -> Variant:
    title, shared, marketplace = _PLATFORMS[platform]
    place, made = _namespace(wanted, mode, shared)
    named = _watched(mode, place, wanted.modes)
    catalog = Catalog(
        name=wanted.where.name,
        namespace=wanted.where.namespace or marketplace,
        image=wanted.where.image,
        poll="15m" if wanted.where.image and "@" not in wanted.where.image else "",
    )
    request = InstallRequest(
        package=wanted.package,
        namespace=place,
        catalog=catalog,
        channel=wanted.channel,
        starting_csv="" if wanted.is_head else wanted.record.bundle.name,
        manual=not wanted.is_head,
    )
    is_shared = place == shared
    listed = install_objects.subscription_objects(request, None if is_shared else named)
    listed = (*made, *listed)
    notes = [] if is_shared else [_ONE_GROUP]
    if not wanted.is_head:
        notes.append(
            "The approval is manual: with automatic approval, OLM upgrades to the head of the "
            "channel at once."
        )
    if catalog.namespace not in (marketplace, place):
        notes.append(
            f"OLM v0 finds a catalog in namespace {catalog.namespace} only if that is the global "
            "namespace for catalogs."
        )
    text = _yaml(listed)
    return Variant(
        olm="v0",
        platform=platform,
        mode=mode,
        title=f"OLM v0 on {title}: {_MODES[mode].lower()}",
        text=_MEANING[mode],
        notes=tuple(notes),
        yaml=text,
        command=_apply(text),
        olmkit=_olmkit(wanted, place, named, catalog),
        after=_after(place, is_head=wanted.is_head),
    )


def _namespace(wanted: _Wanted, mode: str, shared: str) -> tuple[str, tuple[Manifest, ...]]:
    """The name of the namespace, and the Namespace that is to be created."""
    if wanted.suggested is not None and objects.name(wanted.suggested) != shared:
        return objects.name(wanted.suggested), (wanted.suggested,)
    if mode == "AllNamespaces":
        return shared, ()
    place = wanted.package if names.is_label(wanted.package) else "operator"
    return place, (install_objects.namespace(place),)


def _watched(mode: str, place: str, supported: Sequence[str]) -> Mode:
    if mode == "SingleNamespace":
        return Mode(type=mode, namespaces=("my-namespace",))
    if mode == "MultiNamespace":
        own = (place,) if "OwnNamespace" in supported else ()
        return Mode(type=mode, namespaces=(*own, "my-namespace", "my-other-namespace"))
    return Mode(type=mode)


def _yaml(listed: Iterable[Manifest]) -> str:
    return documents.dump_all(listed).decode()


def _apply(text: str) -> str:
    """One command that creates the objects: a quoted delimiter, so that nothing is expanded."""
    lines = set(text.splitlines())
    delimiter = "EOF"
    while delimiter in lines:
        delimiter += "F"
    return f"kubectl apply -f - <<'{delimiter}'\n{text}{delimiter}"


def _olmkit(wanted: _Wanted, place: str, mode: Mode, catalog: Catalog) -> str:
    parts = ["olmkit", "install", wanted.package, "--catalog", catalog.image or catalog.name]
    if not catalog.image:
        parts += ["--catalog-namespace", catalog.namespace]
    parts += ["--channel", wanted.channel, "--mode", str(mode), "-n", place]
    if not wanted.is_head:
        parts += ["--version", wanted.record.version, "--approval", "manual"]
    return shlex.join(parts)


def _after(place: str, *, is_head: bool) -> str:
    watch = f"kubectl -n {place} get csv,subscription,installplan"
    if is_head:
        return watch
    patch = shlex.quote('{"spec":{"approved":true}}')
    return f"{watch}\nkubectl -n {place} patch installplan NAME --type merge -p {patch}"


def _removal(wanted: _Wanted) -> str:
    place, _ = _namespace(wanted, "AllNamespaces", "operators")
    bundle = shlex.quote(wanted.record.bundle.name)
    return (
        f"kubectl -n {place} delete subscription {wanted.package}\n"
        f"kubectl -n {place} delete csv {bundle}"
    )


def refusal_of_v1(record: Record) -> tuple[str, ...]:
    """Why OLM v1 does not install the bundle, as far as the catalog tells."""
    found = []
    try:
        support.check(preview.of_csv(record.csv, record.manifests))
    except InputError as error:
        found.append(_sentence(error.message))
    present = [one for one in _V1_REFUSING if one in record.bundle.properties.order]
    if present and not any("dependenc" in one for one in found):
        found.append("It requires other operators, and OLM v1 does not resolve dependencies.")
    if not record.bundle.image:
        found.append("The catalog names no image of the bundle.")
    return tuple(found)


def _sentence(message: str) -> str:
    return message[:1].upper() + message[1:] + "."


def _variant_of_v1(wanted: _Wanted) -> Variant:
    refusal = refusal_of_v1(wanted.record)
    if refusal:
        return Variant(olm="v1", title="OLM v1", refusal=refusal)
    label = wanted.package if names.is_label(wanted.package) else "operator"
    namespace = wanted.suggested or install_objects.namespace(label)
    request = ExtensionRequest(
        package=wanted.package,
        namespace=objects.name(namespace),
        version="" if wanted.is_head else wanted.record.version,
        channels=(wanted.channel,),
        catalog=wanted.where.name,
        catalog_image=wanted.where.image,
        poll_minutes=10 if wanted.where.image and "@" not in wanted.where.image else 0,
    )
    listed: list[Manifest] = [namespace]
    if wanted.where.image:
        listed.append(extension.cluster_catalog(request))
    listed.append(extension.cluster_extension(request))
    parts = ["olmkit", "install", wanted.package, "--olm", "v1", "-n", request.namespace]
    parts += ["--catalog", wanted.where.image or wanted.where.name, "--channel", wanted.channel]
    if request.version:
        parts += ["--version", request.version]
    text = _yaml(listed)
    return Variant(
        olm="v1",
        title="OLM v1",
        text="The operator watches all namespaces of the cluster.",
        notes=(_ACCOUNT,),
        yaml=text,
        command=_apply(text),
        olmkit=shlex.join(parts),
        after=f"kubectl get clusterextension {wanted.package}",
    )
