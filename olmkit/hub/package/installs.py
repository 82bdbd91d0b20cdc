"""Instructions for one version: the objects for OLM v0 in each mode and for OLM v1, and commands.

The objects are those of `olmkit install`. Names from the catalog become part of a command only if
they are valid names of objects.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from olmkit.base import documents, names
from olmkit.base.diagnostics import InputError
from olmkit.catalog.model import Channel
from olmkit.hub.package import stated
from olmkit.hub.pages.instructions import STAND_INS, Install, Picker, PickerChoice, Variant
from olmkit.hub.records import Record
from olmkit.kube import objects
from olmkit.kube.objects import Manifest
from olmkit.olm import install_objects, kinds, preview
from olmkit.olm.install_objects import InstallRequest, Mode, SubscribedCatalog
from olmkit.olm.v1 import extension, support
from olmkit.olm.v1 import permissions as permissions_of_v1
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
_GENERATIONS: Final = (("v0", "OLM v0"), ("v1", "OLM v1"), ("v1-account", "OLM v1 up to 1.10"))
_PLATFORMS: Final = {
    "kubernetes": ("Kubernetes", "operators", "olm"),
    "openshift": ("OpenShift", "openshift-operators", "openshift-marketplace"),
}
_ONE_GROUP: Final = (
    "A namespace has exactly one OperatorGroup. Leave the OperatorGroup out if the namespace has "
    "one already."
)
_ACCOUNT: Final = (
    "OLM v1 up to release 1.10 installs with the permissions of a ServiceAccount. The manifests "
    "create one with the permissions that this version needs."
)
_BROAD_ACCOUNT: Final = (
    "OLM v1 up to release 1.10 installs with the permissions of a ServiceAccount. This catalog "
    "does not carry the permissions that this version needs, so the manifests bind the account to "
    "`cluster-admin`, which allows everything. `olmkit install --create-service-account` reads "
    "the bundle image and grants only what is needed."
)
# Names that need no quotes in YAML and in a shell, and no escapes in HTML.
_PLAIN_BUNDLE: Final = re.compile(r"[a-z][a-z0-9-]*\.v?\d+\.\d+\.\d+[a-z0-9.-]*", re.ASCII)
_PLAIN_VERSION: Final = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?", re.ASCII)
_PLAIN_PACKAGE: Final = re.compile(r"[a-z][a-z0-9-]{0,38}[a-z0-9]", re.ASCII)
_PLAIN_CHANNEL: Final = re.compile(r"[a-z][a-z0-9.-]*[a-z0-9]", re.ASCII)
# Not plain: constants of YAML, and names that are also names of namespaces.
_NOT_PLAIN: Final = frozenset(
    ("on", "no", "yes", "off", "true", "false", "null", "operators", "openshift-operators")
)
_V1_REFUSING: Final = ("olm.package.required", "olm.gvk.required", "olm.constraint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """The catalog's place in the cluster. Empty `namespace`: the global one of the platform.

    With `image`, the instructions create the catalog; `folder` is that of the files in an image
    without a server.
    """

    name: str
    namespace: str = ""
    image: str = ""
    folder: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _InstallInput:
    """The input of the instructions: equal for most versions and many packages.

    `bundle`, `version`, `package` and `channel` are names or their placeholders. `suggested` and
    `account` are objects as JSON, which can be compared fast; empty if there are none.
    """

    bundle: str
    version: str
    package: str
    channel: str
    is_head: bool
    where: Where
    suggested: str
    modes: tuple[str, ...]
    refusal: tuple[str, ...]
    account: str
    has_manifests: bool
    is_described: bool


def build_instructions(
    record: Record, package: str, channel: Channel | None, head: str, where: Where
) -> Install:
    """Return the instructions. `head`: the bundle that OLM chooses without a version."""
    if channel is None:
        return Install(notes=("This version is not installable through a channel.",))
    if not names.is_subdomain(package) or not channel.name.isprintable():
        return Install(
            notes=("The name of the package or channel is not valid, so OLM cannot install it.",)
        )
    suggested, note = stated.namespace(record)
    written = placeholders(record.bundle.name, record.version, package, channel.name)
    if record.has_manifests:  # the names of their roles depend on the package's name
        written = (*written[:2], package, written[3])
    bundle, version, named, of = written
    refusal = refusal_of_v1(record)
    place = suggested or install_objects.namespace(_label(named))
    account = () if refusal else _account(record, named, objects.name(place))
    wanted = _InstallInput(
        bundle=bundle,
        version=version,
        package=named,
        channel=of,
        is_head=record.bundle.name == head,
        where=where,
        suggested=json.dumps(suggested) if suggested is not None else "",
        modes=kinds.supported_modes(record.csv),
        refusal=refusal,
        account=json.dumps(account),
        has_manifests=record.has_manifests,
        is_described=record.is_described,
    )
    templates = _templates(wanted)
    generations = {one.olm for one in templates}
    modes = [mode for mode in _WIDEST if mode in wanted.modes]
    first = stated.first_object(record)
    return Install(
        pickers=(
            _picker("olm", "OLM", [one for one in _GENERATIONS if one[0] in generations]),
            _picker("platform", "Platform", [(key, value[0]) for key, value in _PLATFORMS.items()]),
            _picker("mode", "Watched namespaces", [(mode, _MODES[mode]) for mode in modes]),
        ),
        templates=templates,
        written=written,
        notes=tuple(_notes(wanted, note)),
        first_object=documents.dump(first).decode() if first is not None else "",
        publisher_text=record.annotations.get("artifacthub.io/install", ""),
        package=package,
        channel=channel.name,
        bundle=record.bundle.name,
        version=record.version,
        is_head=wanted.is_head,
        removal_text=record.annotations.get("operator.openshift.io/uninstall-message", ""),
    )


def placeholders(
    bundle: str, version: str, package: str, channel: str
) -> tuple[str, str, str, str]:
    """Return placeholders for names that never need quotes, else the names."""
    if _PLAIN_BUNDLE.fullmatch(bundle) and _PLAIN_VERSION.fullmatch(version):
        bundle, version = STAND_INS[:2]
    if _PLAIN_PACKAGE.fullmatch(package) and package not in _NOT_PLAIN:
        package = STAND_INS[2]
    if _PLAIN_CHANNEL.fullmatch(channel) and channel not in _NOT_PLAIN:
        channel = STAND_INS[3]
    return bundle, version, package, channel


@lru_cache(maxsize=128)
def _templates(install_input: _InstallInput) -> tuple[Variant, ...]:
    """Return the variants, cached for versions with the same ones: it takes milliseconds."""
    return (*_variants_of_v0(install_input), *_variants_of_v1(install_input))


def _label(package: str) -> str:
    return package if names.is_label(package) else "operator"


def _picker(name: str, title: str, choices: Iterable[tuple[str, str]]) -> Picker:
    made = tuple(PickerChoice(value=value, label=label) for value, label in choices)
    return Picker(name=name, title=title, choices=made)


def _notes(install_input: _InstallInput, note: str) -> Iterator[str]:
    if note:
        yield note
    if not install_input.is_described:
        yield (
            "The catalog does not state the install modes of this version, so there are no "
            "instructions for OLM v0, and it is not known whether OLM v1 installs it."
        )
    elif not install_input.modes:
        yield "This version states no supported install mode: OLM v0 cannot install it."
    elif len(install_input.modes) > 1 and "AllNamespaces" in install_input.modes:
        yield (
            "An installation for all namespaces and one for some namespaces cannot provide the "
            "same API in one cluster."
        )


def _variants_of_v0(install_input: _InstallInput) -> Iterator[Variant]:
    for mode in _WIDEST:
        if mode in install_input.modes:
            for platform in _PLATFORMS:
                yield _variant_of_v0(install_input, platform, mode)


def _variant_of_v0(install_input: _InstallInput, platform: str, mode: str) -> Variant:
    title, shared, marketplace = _PLATFORMS[platform]
    place, made = _namespace(install_input, mode, shared)
    named = _watched_mode(mode, place, install_input.modes)
    catalog = SubscribedCatalog(
        name=install_input.where.name,
        namespace=install_input.where.namespace or marketplace,
        image=install_input.where.image,
        folder=install_input.where.folder,
        poll="15m" if install_input.where.image and "@" not in install_input.where.image else "",
    )
    request = InstallRequest(
        package=install_input.package,
        namespace=place,
        catalog=catalog,
        channel=install_input.channel,
        starting_csv="" if install_input.is_head else install_input.bundle,
        manual=not install_input.is_head,
    )
    is_shared = place == shared
    listed = install_objects.subscription_objects(request, None if is_shared else named)
    listed = (*made, *listed)
    notes = [] if is_shared else [_ONE_GROUP]
    if not install_input.is_head:
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
        olmkit=_olmkit(install_input, place, named, catalog),
        after=_next_commands(place, is_head=install_input.is_head),
        removal=_removal(install_input, place),
        namespace=place,
    )


def _namespace(
    install_input: _InstallInput, mode: str, shared: str
) -> tuple[str, tuple[Manifest, ...]]:
    """Return the name of the namespace, and the Namespace to create."""
    suggested = json.loads(install_input.suggested) if install_input.suggested else None
    if suggested is not None and objects.name(suggested) != shared:
        return objects.name(suggested), (suggested,)
    if mode == "AllNamespaces":
        return shared, ()
    place = _label(install_input.package)
    return place, (install_objects.namespace(place),)


def _watched_mode(mode: str, place: str, supported: Sequence[str]) -> Mode:
    if mode == "SingleNamespace":
        return Mode(type=mode, namespaces=("my-namespace",))
    if mode == "MultiNamespace":
        own = (place,) if "OwnNamespace" in supported else ()
        return Mode(type=mode, namespaces=(*own, "my-namespace", "my-other-namespace"))
    return Mode(type=mode)


def _yaml(listed: Iterable[Manifest]) -> str:
    return documents.dump_all(listed).decode()


def _apply(text: str) -> str:
    """Return a command that creates the objects, with a quoted heredoc delimiter."""
    lines = set(text.splitlines())
    delimiter = "EOF"
    while delimiter in lines:
        delimiter += "F"
    return f"kubectl apply -f - <<'{delimiter}'\n{text}{delimiter}"


def _olmkit(
    install_input: _InstallInput, place: str, mode: Mode, catalog: SubscribedCatalog
) -> str:
    parts = ["olmkit", "install", install_input.package, "--catalog", catalog.image or catalog.name]
    if not catalog.image:
        parts += ["--catalog-namespace", catalog.namespace]
    parts += ["--channel", install_input.channel, "--mode", str(mode), "-n", place]
    if not install_input.is_head:
        parts += ["--version", install_input.version, "--approval", "manual"]
    return shlex.join(parts)


def _next_commands(place: str, *, is_head: bool) -> str:
    watch = f"kubectl -n {place} get csv,subscription,installplan"
    if is_head:
        return watch
    patch = shlex.quote('{"spec":{"approved":true}}')
    return f"{watch}\nkubectl -n {place} patch installplan NAME --type merge -p {patch}"


def _removal(install_input: _InstallInput, place: str) -> str:
    bundle = shlex.quote(f"csv/{install_input.bundle}")
    return f"kubectl -n {place} delete subscription/{install_input.package} {bundle}"


def refusal_of_v1(record: Record) -> tuple[str, ...]:
    """Return why OLM v1 does not install the bundle, according to the catalog."""
    found = []
    if record.is_described:
        try:
            support.check(preview.preview_csv(record.csv, record.manifests))
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


def _variants_of_v1(install_input: _InstallInput) -> Iterator[Variant]:
    if install_input.refusal:
        yield Variant(olm="v1", title="OLM v1", refusal=install_input.refusal)
        return
    suggested = json.loads(install_input.suggested) if install_input.suggested else None
    namespace = suggested or install_objects.namespace(_label(install_input.package))
    request = ExtensionRequest(
        package=install_input.package,
        namespace=objects.name(namespace),
        version="" if install_input.is_head else install_input.version,
        channels=(install_input.channel,),
        catalog=install_input.where.name,
        catalog_image=install_input.where.image,
        poll_minutes=10
        if install_input.where.image and "@" not in install_input.where.image
        else 0,
    )
    yield _variant_of_v1(install_input, request, namespace)
    yield _variant_of_v1(
        install_input,
        replace(request, service_account=_installer(install_input.package)),
        namespace,
    )


def _installer(package: str) -> str:
    """Return the service account of OLM v1."""
    return f"{package}-installer"


def _variant_of_v1(
    install_input: _InstallInput, request: ExtensionRequest, namespace: Manifest
) -> Variant:
    listed: list[Manifest] = [namespace]
    title = "OLM v1"
    notes: tuple[str, ...] = ()
    parts = ["olmkit", "install", install_input.package, "--olm", "v1", "-n", request.namespace]
    parts += [
        "--catalog",
        install_input.where.image or install_input.where.name,
        "--channel",
        install_input.channel,
    ]
    if request.version:
        parts += ["--version", request.version]
    if request.service_account:
        title = "OLM v1 up to release 1.10"
        notes = (_ACCOUNT if install_input.has_manifests else _BROAD_ACCOUNT,)
        listed += json.loads(install_input.account)
        parts.append("--create-service-account")
    if install_input.where.image:
        listed.append(extension.cluster_catalog(request))
    listed.append(extension.cluster_extension(request))
    text = _yaml(listed)
    return Variant(
        olm="v1-account" if request.service_account else "v1",
        title=title,
        text="The operator watches all namespaces of the cluster.",
        notes=notes,
        yaml=text,
        command=_apply(text),
        olmkit=shlex.join(parts),
        after=f"kubectl get clusterextension {install_input.package}",
        removal=f"kubectl delete clusterextension {install_input.package}",
        namespace=request.namespace,
    )


def _account(record: Record, package: str, namespace: str) -> tuple[Manifest, ...]:
    """Return the service account, with the permissions that the bundle needs, else with all."""
    needs = permissions_of_v1.ExtensionPermissions(cluster=(), local=(), granted=())
    if record.has_manifests:
        needs = permissions_of_v1.required_permissions(record.manifests, extension=package)
    made = permissions_of_v1.account_objects(
        needs,
        account=_installer(package),
        namespace=namespace,
        package=package,
    )
    if record.has_manifests:
        return made
    (account,) = made
    subject = {
        "kind": "ServiceAccount",
        "name": _installer(package),
        "namespace": namespace,
    }
    binding = {
        "apiVersion": f"{permissions_of_v1.RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {
            "name": f"{namespace}-{_installer(package)}",
            "labels": objects.labels_of(account),
        },
        "roleRef": {
            "apiGroup": permissions_of_v1.RBAC,
            "kind": "ClusterRole",
            "name": "cluster-admin",
        },
        "subjects": [subject],
    }
    return (account, binding)
