"""Explain the messages of OLM v1: cause, names and fix.

OLM v1 reports a failure as one message in the condition `Progressing`. Source of the messages: the
observed behavior of operator-controller 1.2.0, and the sources of release 1.11.0.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import kinds
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, FaultOrigin, Readiness
from olmkit.olm.v1 import catalogs
from olmkit.olm.v1.extension import catalog_name, installed_bundle, request_of
from olmkit.olm.v1.state import OWNER_LABEL, ExtensionState

Part = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A message of OLM v1 about a ClusterExtension."""

    state: ExtensionState
    extension: Manifest
    message: str
    readiness: Readiness

    @property
    def name(self) -> str:
        return objects.name(self.extension)

    @property
    def package(self) -> str:
        return text(request_of(self.extension).get("packageName"))


def explain_message(
    state: ExtensionState, extension: Manifest, message: str, readiness: Readiness
) -> Diagnosis:
    """Return the explanation of a message, or an unknown message itself."""
    resolved = _RESOLVED.search(message)
    plain = _RESOLVED.sub("", message)
    failure = Failure(state=state, extension=extension, message=plain, readiness=readiness)
    for pattern, explain in _FORMS:
        found = pattern.search(plain)
        if found is not None:
            finding = explain(failure, {k: v or "" for k, v in found.groupdict().items()})
            break
    else:
        finding = Diagnosis(
            cause="extension-fails",
            message=explanation.first_line(plain) or "OLM reports no reason",
            readiness=readiness,
        )
    if resolved is None or finding.links:
        return finding
    # The bundle is an object of a catalog, not of the cluster.
    link = explanation.ChainLink(f"bundle {resolved['bundle']}", f"version {resolved['version']}")
    return replace(finding, links=(link,))


def _explain_service_account(failure: Failure, _: Part) -> Diagnosis:
    account = text(mapping(kinds.spec(failure.extension).get("serviceAccount")).get("name"))
    place = failure.state.namespace
    if not failure.state.has_namespace:
        return Diagnosis(
            cause="namespace-missing",
            message=f"the namespace `{place}` of ClusterExtension `{failure.name}` does not exist",
            hint=f"create it, with the service account `{account}` in it: OLM v1 does not",
            readiness=failure.readiness,
        )
    return Diagnosis(
        cause="service-account",
        message=f"the service account `{account}` does not exist in namespace `{place}`",
        hint=f"run `kubectl create serviceaccount {account} -n {place}`, then apply the roles that "
        f"{_print_manifests_command(failure)}",
        readiness=failure.readiness,
    )


def _explain_not_served(failure: Failure, part: Part) -> Diagnosis:
    for catalog in failure.state.catalogs:
        if objects.name(catalog) == part["catalog"]:
            finding = catalogs.explain_catalog(catalog)
            if finding is not None:
                return _explain_blocking_catalog(failure, finding)
    return Diagnosis(
        cause="catalog-not-ready",
        message=f"the catalog `{part['catalog']}` cannot be read: "
        f"{explanation.first_line(part['rest'])}",
        hint="" if failure.state.are_catalogs_known else catalogs.LISTING,
        readiness=failure.readiness,
        origin=FaultOrigin.WORLD,
    )


def _explain_blocking_catalog(failure: Failure, finding: Diagnosis) -> Diagnosis:
    """Explain the error of a catalog that OLM reads for this ClusterExtension."""
    if catalog_name(request_of(failure.extension)):
        return finding
    hint = "or limit the ClusterExtension to one catalog: `spec.source.catalog.selector`"
    return replace(
        finding,
        message=f"{finding.message}; OLM reads every catalog for a ClusterExtension without a "
        "selector",
        hint=f"{finding.hint}; {hint}" if finding.hint else "",
    )


def _explain_no_bundle(failure: Failure, part: Part) -> Diagnosis:
    rest, package = part["rest"].strip(), failure.package
    read = catalogs.selected_catalogs(failure.state.catalogs, request_of(failure.extension))
    if failure.state.are_catalogs_known and not read:
        return _explain_no_catalog(failure)
    ailing = next((one for one in map(catalogs.explain_catalog, read) if one is not None), None)
    if ailing is not None:
        return ailing
    before = part["before"]
    if not failure.state.are_catalogs_known:
        return _explain_unlisted_catalogs(
            failure, f"from version {before} {rest}".strip() if before else rest
        )
    off = catalogs.find_disabled(failure.state.catalogs, request_of(failure.extension))
    on = catalogs.enable_command(off) if off else ""
    if before:
        return Diagnosis(
            cause="no-way",
            message=f"no catalog offers an upgrade from version {before} of `{package}`"
            f"{f' {rest}' if rest else ''}",
            hint=on or _path_hint(failure, read, before),
            readiness=failure.readiness,
        )
    return Diagnosis(
        cause="no-such-version" if rest else "no-such-package",
        message=f"no catalog has the package `{package}`{f' {rest}' if rest else ''}",
        hint=on or _offer_hint(failure, read, is_of_version=bool(rest)),
        readiness=failure.readiness,
    )


def _explain_no_catalog(failure: Failure) -> Diagnosis:
    """Explain that the selector matches no catalog, or only disabled ones."""
    request = request_of(failure.extension)
    for catalog in catalogs.find_disabled(failure.state.catalogs, request):
        finding = catalogs.explain_catalog(catalog)
        if finding is not None:
            return finding
    named = catalog_name(request)
    if not failure.state.catalogs and not named:
        return Diagnosis(
            cause="no-such-catalog",
            message=f"the cluster has no ClusterCatalog that could have the package "
            f"`{failure.package}`",
            hint=catalogs.CREATING,
            readiness=failure.readiness,
        )
    what = f"no ClusterCatalog `{named}` exists for" if named else "no ClusterCatalog matches"
    return Diagnosis(
        cause="no-such-catalog",
        message=f"{what} the selector of ClusterExtension `{failure.name}`",
        hint="correct `spec.source.catalog.selector`, or create the catalog",
        readiness=failure.readiness,
    )


def _explain_unlisted_catalogs(failure: Failure, rest: str) -> Diagnosis:
    """Explain that the reason is unknown because the user may not list catalogs."""
    wanted = f"`{failure.package}` {rest}".rstrip()
    return Diagnosis(
        cause="catalogs-not-listable",
        message=f"OLM found no bundle of the package {wanted}; the reason is not known, "
        "because you may not list ClusterCatalogs",
        hint=catalogs.LISTING,
        readiness=failure.readiness,
    )


def _offer_hint(failure: Failure, read: Sequence[Manifest], *, is_of_version: bool) -> str:
    """Return a hint: the field to correct, and the command that lists valid values."""
    place = f"clustercatalog:{objects.name(read[0]) if len(read) == 1 else 'NAME'}"
    if is_of_version:
        return (
            "correct version and channels, or add a catalog that has it; `olmkit catalog list "
            f"bundles {place} {failure.package}` prints the available versions"
        )
    return (
        "correct `spec.source.catalog.packageName`, or add a catalog that has it; `olmkit catalog "
        f"list packages {place}` prints the packages of a catalog"
    )


def _path_hint(failure: Failure, read: Iterable[Manifest], before: str) -> str:
    names = [objects.name(one) for one in read]
    if len(names) != 1:
        return "compare the requested version and channels with the upgrade edges of the catalogs"
    return (
        f"`olmkit catalog path clustercatalog:{names[0]} {failure.package} --from {before} "
        "--olm v1` shows the available upgrades"
    )


def _explain_ambiguous_package(failure: Failure, part: Part) -> Diagnosis:
    names = part["names"].split()
    listed = ", ".join(f"`{name}`" for name in names)
    return Diagnosis(
        cause="several-catalogs",
        message=f"several catalogs of the same priority have `{failure.package}`: {listed}",
        hint=f"set `spec.source.catalog.selector.matchLabels` of ClusterExtension "
        f"`{failure.name}` to one of them, or give one ClusterCatalog a higher `spec.priority`",
        readiness=Readiness.BLOCKED,
    )


def _explain_dependency(_: Failure, part: Part) -> Diagnosis:
    return Diagnosis(
        cause="dependencies-not-supported",
        message=f"`{part['bundle']}` needs other operators (`{part['type']}`), and OLM v1 "
        "does not resolve dependencies",
        hint="install it with OLM v0",
        readiness=Readiness.BLOCKED,
    )


def _explain_install_modes(failure: Failure, part: Part) -> Diagnosis:
    modes = ", ".join(f"`{mode}`" for mode in part["modes"].split()) or "none"
    return Diagnosis(
        cause="install-mode-not-supported",
        message=f"OLM v1 installs only bundles that support `AllNamespaces`, and the bundle "
        f"supports {modes}",
        hint=_add_rollback_hint(failure, "install it with OLM v0"),
        readiness=Readiness.BLOCKED,
    )


def _explain_webhooks(failure: Failure, _: Part) -> Diagnosis:
    return Diagnosis(
        cause="webhooks-not-supported",
        message="this release of OLM v1 does not install bundles with webhooks",
        hint=_add_rollback_hint(failure, "install it with OLM v0, or upgrade OLM v1"),
        readiness=Readiness.BLOCKED,
    )


def _explain_api_services(failure: Failure, _: Part) -> Diagnosis:
    return Diagnosis(
        cause="api-services-not-supported",
        message="OLM v1 does not install bundles that contain APIServices",
        hint=_add_rollback_hint(failure, "install it with OLM v0"),
        readiness=Readiness.BLOCKED,
    )


def _explain_kind(failure: Failure, part: Part) -> Diagnosis:
    return Diagnosis(
        cause="kind-not-supported",
        message=f"OLM does not install objects of kind `{part['kind']}`, such as `{part['name']}`",
        hint=_add_rollback_hint(failure, "remove the object from the bundle"),
        readiness=Readiness.BLOCKED,
    )


def _add_rollback_hint(failure: Failure, hint: str) -> str:
    """Add to the hint; after an upgrade, also how to return to the installed version."""
    _, version = installed_bundle(failure.extension)
    if not version:
        return hint
    back = f"`olmkit upgrade {failure.name} --olm v1 --to {version}`"
    return f"{hint}; {back} returns to the installed version"


def _explain_crd(failure: Failure, part: Part) -> Diagnosis:
    found = list(_list_breaking_changes(part["crd"], part["rest"]))
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    crd, first = found[0] if found else (part["crd"], explanation.first_line(part["rest"]))
    is_one = len({name for name, _ in found}) < 2
    breaks = tuple(change if is_one else f"{name}: {change}" for name, change in found)
    return Diagnosis(
        cause="crd-upgrade-unsafe",
        message=f"the new CustomResourceDefinition `{crd}` would break objects: {first}{more}",
        hint=_add_rollback_hint(
            failure,
            "publish a version that only adds optional fields; "
            "`spec.install.preflight.crdUpgradeSafety.enforcement: None` disables the check",
        ),
        details=breaks if len(breaks) > 1 else (),
        readiness=Readiness.BLOCKED,
    )


def _list_breaking_changes(crd: str, rest: str) -> Iterable[tuple[str, str]]:
    """Yield each change that the check refuses: its CRD, and its version and field."""
    for line in rest.split("\n"):
        named = _OTHER_CRD.match(line)
        crd = named["crd"] if named else crd
        plain = _CHECKED.sub("", line[named.end() :] if named else line).strip()
        if plain and not plain.startswith("calculating schema diff"):  # it names no change
            yield crd, plain


def _explain_range(_: Failure, part: Part) -> Diagnosis:
    return Diagnosis(
        cause="bad-range",
        message=f"`{part['range']}` is not a version range",
        hint="use `1.2.3`, `>=1.0.0 <2.0.0` or `1.x`",
        readiness=Readiness.BLOCKED,
    )


def _explain_collision(failure: Failure, part: Part) -> Diagnosis:
    kind, name = part["kind"], part["name"]
    owner = failure.state.named(kind, name)
    by = objects.labels_of(owner).get(OWNER_LABEL, "") if owner is not None else ""
    place = f" in namespace `{part['place']}`" if part["place"] else ""
    whose = f"belongs to ClusterExtension `{by}`" if by else "was not created by OLM v1"
    hint = (
        f"delete the ClusterExtension `{failure.name}`, or uninstall `{by}` first"
        if by
        else f"delete the {kind} `{name}`, or uninstall what created it, first"
    )
    is_crd = kind == "CustomResourceDefinition"
    return Diagnosis(
        cause="crd-owned-elsewhere" if is_crd else "object-owned-elsewhere",
        message=f"the {kind} `{name}`{place} exists and {whose}",
        hint=hint,
        links=()
        if owner is None
        else (explanation.link(owner, f"owned by {by or 'another owner'}"),),
        readiness=Readiness.BLOCKED,
    )


def _explain_escalation(failure: Failure, part: Part) -> Diagnosis:
    """Explain which rules the service account may not grant."""
    missing = tuple(_rules(part["rest"]))
    counted = f"{len(missing)} permissions" if len(missing) != 1 else "1 permission"
    return Diagnosis(
        cause="service-account-forbidden",
        message=f"the service account of ClusterExtension `{failure.name}` lacks {counted} that "
        f"the bundle grants to its operator",
        hint=_permissions_hint(failure),
        details=missing,
        readiness=failure.readiness,
    )


def _rules(rest: str) -> Iterable[str]:
    """Yield each rule in the notation of the API server, as `verbs: resources.group`."""
    for rule in re.findall(r"\{(\w+:.*)\}", rest):
        fields = dict(re.findall(r"(\w+):(\[[^\]]*\])", rule))
        values = {key: re.findall(r'"([^"]*)"', value) for key, value in fields.items()}
        groups = values.get("APIGroups") or [""]
        resources = [
            f"{resource}.{group}" if group else resource
            for group in groups
            for resource in values.get("Resources", [])
        ]
        named = values.get("ResourceNames", [])
        what = [*resources, *values.get("NonResourceURLs", [])]
        suffix = f" named {', '.join(named)}" if named else ""
        yield f"{', '.join(values.get('Verbs', []))}: {', '.join(what)}{suffix}"


def _explain_forbidden(failure: Failure, part: Part) -> Diagnosis:
    account = part["account"].removeprefix("system:serviceaccount:").replace(":", "/")
    return Diagnosis(
        cause="service-account-forbidden",
        message=f"the service account `{account}` cannot {explanation.first_line(part['rest'])}",
        hint=_permissions_hint(failure),
        readiness=failure.readiness,
    )


def _permissions_hint(failure: Failure) -> str:
    return f"apply the roles that {_print_manifests_command(failure)}"


def _print_manifests_command(failure: Failure) -> str:
    """Return the command that prints manifests with the missing permissions."""
    return f"`olmkit upgrade {failure.name} --olm v1 --dry-run` prints"


def _explain_pull(failure: Failure, part: Part) -> Diagnosis:
    reason = explanation.first_line(part["rest"])
    return Diagnosis(
        cause="bundle-cannot-be-unpacked",
        message=f"OLM cannot pull the image of the bundle: {reason}",
        hint="push the image, or correct the catalog that names it"
        if catalogs.is_missing_image(reason)
        else "check that operator-controller can reach that registry and may pull from it; with a "
        "mirror, mount its `registries.conf` in operator-controller",
        readiness=failure.readiness,
        origin=FaultOrigin.WORLD,
    )


_CHECKED = re.compile(
    r"(?:CustomResourceDefinition \S+ failed upgrade safety validation\. )|"
    r'(?:"\w+" validation failed: )'
)
_OTHER_CRD = re.compile(r'\s*validating upgrade for CRD "(?P<crd>[^"]*)" failed: ')
_RESOLVED = re.compile(
    r' for resolved bundle "(?P<bundle>[^"]*)" with version "(?P<version>[^"]*)"\s*$'
)
# An object that something else has created; `state` of the jobs reads its owner.
EXISTS = re.compile(
    r"(?P<kind>\w+) '(?P<name>[^']*)' already exists in namespace '(?P<place>[^']*)'"
)
_BEFORE = r'(?:error upgrading from currently installed version "(?P<before>[^"]*)": )?'
_FORMS: tuple[tuple[re.Pattern[str], Callable[[Failure, Part], Diagnosis]], ...] = (
    (
        re.compile(r"due to missing ServiceAccount|service account \"[^\"]*\" not found"),
        _explain_service_account,
    ),
    (
        re.compile(
            r'error walking catalogs: error getting package "[^"]*" from catalog '
            r'"(?P<catalog>[^"]*)": (?P<rest>.*)',
            re.DOTALL,
        ),
        _explain_not_served,
    ),
    (
        re.compile(
            r"found bundles for package .* in multiple catalogs with the same priority "
            r"\[(?P<names>[^\]]*)\]",
            re.DOTALL,
        ),
        _explain_ambiguous_package,
    ),
    (
        re.compile(_BEFORE + r'no bundles found for package "[^"]*"(?P<rest>[^;\n]*)'),
        _explain_no_bundle,
    ),
    (
        re.compile(
            r'bundle "(?P<bundle>[^"]*)" has a dependency declared via property "(?P<type>[^"]*)"'
        ),
        _explain_dependency,
    ),
    (
        re.compile(r"supported install modes \[(?P<modes>[^\]]*)\] do not support"),
        _explain_install_modes,
    ),
    (re.compile(r"webhookDefinitions are not supported"), _explain_webhooks),
    (re.compile(r"(?i)apiServiceDefini?tions are not supported"), _explain_api_services),
    (
        re.compile(
            r"bundle contains unsupported resource: Name: (?P<name>.*?), Kind: (?P<kind>\w+)"
        ),
        _explain_kind,
    ),
    (re.compile(r'desired version range "(?P<range>[^"]*)" is invalid'), _explain_range),
    (
        re.compile(
            r"(?:CustomResourceDefinition|CRD) \"?(?P<crd>[a-z0-9.-]+)\"? failed (?:upgrade safety "
            r"validation\. )?(?P<rest>.*)",
            re.DOTALL,
        ),
        _explain_crd,
    ),
    (re.compile(EXISTS.pattern + " and cannot be managed"), _explain_collision),
    (
        re.compile(
            r"attempting to grant RBAC permissions not currently held:(?P<rest>.*)", re.DOTALL
        ),
        _explain_escalation,
    ),
    (
        re.compile(r'is forbidden: User "(?P<account>[^"]*)" cannot (?P<rest>.*)'),
        _explain_forbidden,
    ),
    (
        re.compile(
            r"(?:error creating image source|error copying image|pulling image)"
            r"[^:]*: (?P<rest>.*)"
        ),
        _explain_pull,
    ),
)
