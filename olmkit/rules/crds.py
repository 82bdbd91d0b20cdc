"""Rules about CustomResourceDefinitions: what the API server checks when one is created.

The words are the API server's. Rules speak of a CRD in its internal form, where
v1 and v1beta1 are one: fields that are the same in all versions stand at the
top. Schemas have a module of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olmkit.base import names
from olmkit.base.diagnostics import Severity
from olmkit.base.documents import Key
from olmkit.bundle import model
from olmkit.bundle.model import Bundle, CustomResourceDefinition
from olmkit.kube import field_errors
from olmkit.kube.field_errors import FieldError
from olmkit.kube.typed import Misfit
from olmkit.rules import objects
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

API_VERSIONS = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")
APPROVAL = "api-approved.kubernetes.io"
MAX_SELECTABLE = 8  # apiextensions validation: MaxSelectableFields
MAX_WARNING = 256  # apiextensions validation: length of deprecationWarning
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_MAX_PORT = 65535

Errors = Iterator[FieldError]


@rule("CRD002", "crd-api-version")
def crd_api_version(bundle: Bundle) -> Iterator[Finding]:
    """A CRD has another `apiVersion` than those that exist.

    Why: nothing can read it then.

    Fix: write `apiVersion: apiextensions.k8s.io/v1`.
    """
    for crd in bundle.crds:
        if crd.api_version not in API_VERSIONS:
            yield Finding(
                f"unsupported CRD version {crd.api_version}".rstrip(),
                at=crd.at("apiVersion"),
                hint=f"write `{API_VERSIONS[0]}`",
            )


@rule("CRD003", "crd-type")
def crd_type(bundle: Bundle) -> Iterator[Finding]:
    """A field of a CRD has a value of a wrong type.

    Why: nothing can read the CRD then.

    Fix: write the value in the type that is due.
    """
    for crd in bundle.crds:
        for difference in crd.differences:
            if difference.misfit is Misfit.TYPE:
                yield objects.misfit_finding(crd.document, difference)


@rule("CRD004", "crd-name")
def crd_name(bundle: Bundle) -> Iterator[Finding]:
    """The name of a CRD is not its plural and its group.

    Why: the API server demands `<plural>.<group>`.

    Fix: correct the name, the plural or the group.
    """
    yield from _judge(bundle, _name)


@rule("CRD005", "crd-metadata")
def crd_metadata(bundle: Bundle) -> Iterator[Finding]:
    """The metadata of a CRD is not what the API server takes.

    Why: CRDs have no namespace, and labels and annotations have their syntax.

    Fix: correct the field.
    """
    yield from _judge(bundle, lambda crd: field_errors.object_metadata(crd.metadata))


@rule("CRD006", "crd-group")
def crd_group(bundle: Bundle) -> Iterator[Finding]:
    """The group of a CRD is missing or no domain name.

    Why: groups are domain names with a dot, so that they do not collide.

    Fix: use a domain of yours, such as `cache.example.com`.
    """
    yield from _judge(bundle, _group)


@rule("CRD007", "crd-scope")
def crd_scope(bundle: Bundle) -> Iterator[Finding]:
    """The scope of a CRD is neither `Namespaced` nor `Cluster`.

    Why: there are these two, and the API server wants one of them.

    Fix: write `scope: Namespaced` or `scope: Cluster`.
    """
    yield from _judge(bundle, _scope)


@rule("CRD008", "crd-version-name")
def crd_version_name(bundle: Bundle) -> Iterator[Finding]:
    """The name of a version is malformed or there twice.

    Why: the name is part of the API's path: lower case letters and digits, such as
    `v1alpha1`.

    Fix: correct the name.
    """
    yield from _judge(bundle, _version_names)


@rule("CRD009", "crd-storage-version")
def crd_storage_version(bundle: Bundle) -> Iterator[Finding]:
    """A CRD has no version that is stored, or several.

    Why: objects are kept in exactly one version, whichever they are written in.

    Fix: set `storage: true` for one version, and `false` for all others.
    """
    yield from _judge(bundle, _storage)


@rule("CRD010", "crd-first-version")
def crd_first_version(bundle: Bundle) -> Iterator[Finding]:
    """The version of a v1beta1 CRD is not the first of its versions.

    Why: the field is old and must say the same as the list.

    Fix: remove `spec.version`.
    """
    yield from _judge(bundle, _first_version)


@rule("CRD011", "crd-names")
def crd_names(bundle: Bundle) -> Iterator[Finding]:
    """A name of the kind is missing or malformed.

    Why: plural, singular, short names and categories are DNS labels; kind and
    list kind are, in lower case, and differ.

    Fix: correct the name.
    """
    yield from _judge(bundle, _names)


@rule("CRD012", "crd-protected-group")
def crd_protected_group(bundle: Bundle) -> Iterator[Finding]:
    """A CRD is in a group of the Kubernetes project without its approval.

    Why: groups below `k8s.io` and `kubernetes.io` are protected: CRDs in them
    carry the annotation `api-approved.kubernetes.io`.

    Fix: use a group of yours; or set the annotation to the URL of the approval, or
    to a reason that begins with `unapproved`.
    """
    yield from _judge(bundle, _approval)


@rule("CRD013", "crd-deprecation-warning")
def crd_deprecation_warning(bundle: Bundle) -> Iterator[Finding]:
    """The deprecation warning of a version cannot be used.

    Why: the API server sends it in a header: one printable line of at most 256
    characters, and only for a version that is deprecated.

    Fix: shorten it, or set `deprecated: true`.
    """
    yield from _judge(bundle, _deprecation)


@rule("CRD014", "crd-column")
def crd_column(bundle: Bundle) -> Iterator[Finding]:
    """A printer column is incomplete or of an unknown type.

    Why: the API server refuses the CRD.

    Fix: give it name, type and a JSON path that begins with a dot.
    """
    yield from _judge(bundle, _columns)


@rule("CRD015", "crd-selectable-field")
def crd_selectable_field(bundle: Bundle) -> Iterator[Finding]:
    """A selectable field is not in the schema, or is listed twice.

    Why: the API server refuses the CRD. There may be eight for each version.

    Fix: correct the path.
    """
    yield from _judge(bundle, _selectable)


@rule("CRD016", "crd-scale")
def crd_scale(bundle: Bundle) -> Iterator[Finding]:
    """A path of the scale subresource is missing or points elsewhere.

    Why: replicas are read below `.spec`, and the selector below `.spec` or
    `.status`.

    Fix: correct the path.
    """
    yield from _judge(bundle, lambda crd: _scale(crd, status=False))


@rule("CRD017", "crd-schema-place")
def crd_schema_place(bundle: Bundle) -> Iterator[Finding]:
    """A v1beta1 CRD has the same thing at the top and in its versions.

    Why: schemas, subresources and columns stand either at the top, for all
    versions, or in each version.

    Fix: keep one of the two.
    """
    yield from _judge(bundle, _top_and_versions)


@rule("CRD018", "crd-conversion")
def crd_conversion(bundle: Bundle) -> Iterator[Finding]:
    """The conversion of a CRD is incomplete or contradicts itself.

    Why: a webhook needs a service or a URL and the review versions that it
    understands; without a webhook there must be neither.

    Fix: complete the webhook, or set the strategy to `None`.
    """
    yield from _judge(bundle, _conversion)


@rule("CRD019", "crd-preserve-unknown-fields")
def crd_preserve_unknown_fields(bundle: Bundle) -> Iterator[Finding]:
    """A CRD keeps fields that are not in its schema.

    Why: new CRDs must not. In v1beta1 it is the default, so such a CRD must say
    `false`.

    Fix: write `preserveUnknownFields: false`, and
    `x-kubernetes-preserve-unknown-fields: true` in the schema where it is meant;
    better, convert the CRD to v1.
    """
    yield from _judge(bundle, _preserve)


@rule("CRD030", "crd-not-served", suite=SOUND_SUITE)
def crd_not_served(bundle: Bundle) -> Iterator[Finding]:
    """No version of a CRD is served.

    Why: nobody can use the API.

    Fix: set `served: true` for at least one version.
    """
    for crd in bundle.crds:
        if crd.versions and not any(version.get("served") is True for version in crd.versions):
            yield Finding(
                "no version of the CRD is served",
                at=crd.at("spec", "versions"),
                hint="set `served: true` for at least one version",
            )


@rule("CRD031", "crd-status", severity=Severity.WARNING, suite=SOUND_SUITE)
def crd_status(bundle: Bundle) -> Iterator[Finding]:
    """A CRD has a status with content.

    Why: the status is what the API server says about an installed CRD; in a bundle
    it was copied from a cluster. (An empty one, which generators write, is let pass.)

    Fix: remove `status`.
    """
    for crd in bundle.crds:
        status = model.mapping(crd.value.get("status"))
        if any(status.values()) and any(model.mapping(status.get("acceptedNames")).values()):
            yield Finding(
                "a status does not belong into a bundle", at=crd.at_key("status"), hint="remove it"
            )


@rule("CRD032", "crd-field-unknown", severity=Severity.WARNING, suite=SOUND_SUITE)
def crd_field_unknown(bundle: Bundle) -> Iterator[Finding]:
    """A CRD has a field that does not exist, or with wrong capitals.

    Why: the API server drops it without a word.

    Fix: correct its name or its place.
    """
    for crd in bundle.crds:
        for difference in crd.differences:
            if difference.misfit in (Misfit.UNKNOWN, Misfit.CASE):
                yield objects.misfit_finding(crd.document, difference)


@rule("CRD033", "crd-not-text", suite=SOUND_SUITE)
def crd_not_text(bundle: Bundle) -> Iterator[Finding]:
    """A field of a CRD is a number or a truth value where a text is due.

    Why: some tools take `1` for the text `1`; the API server does not.

    Fix: put the value in quotes.
    """
    for crd in bundle.crds:
        for difference in crd.differences:
            if difference.misfit is Misfit.TEXT:
                yield objects.misfit_finding(crd.document, difference)


@rule("CRD034", "crd-scale-status", suite=SOUND_SUITE)
def crd_scale_status(bundle: Bundle) -> Iterator[Finding]:
    """The path to the current replicas is missing or points elsewhere.

    Why: the API server refuses the CRD. (`operator-sdk` passes over it.)

    Fix: write a path below `.status`.
    """
    yield from _judge(bundle, lambda crd: _scale(crd, status=True))


def _judge(
    bundle: Bundle, check: Callable[[CustomResourceDefinition], Errors]
) -> Iterator[Finding]:
    for crd in bundle.crds:
        if crd.api_version in API_VERSIONS:
            for problem in check(crd):
                yield Finding(problem.message, at=crd.at(*problem.keys))


def _spec_names(crd: CustomResourceDefinition) -> Mapping[str, Any]:
    return model.mapping(crd.spec.get("names"))


def _name(crd: CustomResourceDefinition) -> Errors:
    keys = ("metadata", "name")
    if not crd.name:
        return
    yield from field_errors.subdomain(keys, crd.name)
    if crd.name != f"{crd.plural}.{crd.group}":
        yield field_errors.invalid(keys, crd.name, 'must be spec.names.plural+"."+spec.group')


def _group(crd: CustomResourceDefinition) -> Errors:
    keys = ("spec", "group")
    if not crd.group:
        yield field_errors.required(keys)
        return
    yield from field_errors.subdomain(keys, crd.group)
    if "." not in crd.group:
        yield field_errors.invalid(keys, crd.group, "should be a domain with at least one dot")


def _scope(crd: CustomResourceDefinition) -> Errors:
    scope = model.text(crd.spec.get("scope"))
    if not scope and not crd.is_beta:
        yield field_errors.required(("spec", "scope"))
    elif scope and scope not in ("Cluster", "Namespaced"):
        yield field_errors.unsupported(("spec", "scope"), scope, ("Cluster", "Namespaced"))


def _version_names(crd: CustomResourceDefinition) -> Errors:
    seen: set[str] = set()
    for index, version in enumerate(crd.versions):
        name = model.text(version.get("name"))
        yield from field_errors.label_1035(("spec", "versions", index, "name"), name)
        if name in seen:
            message = "must contain unique version names"
            yield FieldError(
                ("spec", "versions", index, "name"), f"spec.versions: Invalid value: {message}"
            )
        seen.add(name)


def _storage(crd: CustomResourceDefinition) -> Errors:
    if sum(version.get("storage") is True for version in crd.versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield FieldError(("spec", "versions"), f"spec.versions: Invalid value: {detail}")


def _first_version(crd: CustomResourceDefinition) -> Errors:
    version = model.text(crd.spec.get("version"))
    if version and crd.versions and version != model.text(crd.versions[0].get("name")):
        detail = "must match the first version in spec.versions"
        yield field_errors.invalid(("spec", "version"), version, detail)


def _names(crd: CustomResourceDefinition) -> Errors:
    given = _spec_names(crd)
    kind = model.text(given.get("kind"))
    singular = model.text(given.get("singular")) or kind.lower()
    list_kind = model.text(given.get("listKind")) or f"{kind}List"
    for key, value in (("plural", crd.plural), ("singular", singular), ("kind", kind)):
        keys = ("spec", "names", key)
        if value:
            lowered = value.lower() if key == "kind" else value
            yield from field_errors.label_1035(keys, lowered)
        elif key in given or key != "singular":
            yield field_errors.required(keys)
    yield from field_errors.label_1035(("spec", "names", "listKind"), list_kind.lower())
    if kind and kind == list_kind:
        detail = "kind and listKind may not be the same"
        yield field_errors.invalid(("spec", "names", "listKind"), list_kind, detail)
    for key in ("shortNames", "categories"):
        for index, name in enumerate(model.sequence(given.get(key))):
            yield from field_errors.label_1035(("spec", "names", key, index), model.text(name))


def _approval(crd: CustomResourceDefinition) -> Errors:
    protected = ("k8s.io", "kubernetes.io")
    if not any(crd.group == domain or crd.group.endswith(f".{domain}") for domain in protected):
        return
    keys = ("metadata", "annotations", APPROVAL)
    value = crd.annotations.get(APPROVAL, "")
    if not value:
        yield field_errors.required(
            keys,
            f'protected groups must have approval annotation "{APPROVAL}", '
            "see https://github.com/kubernetes/enhancements/pull/1111",
        )
    elif not value.startswith("unapproved") and "://" not in value:
        yield field_errors.invalid(
            keys,
            value,
            f'protected groups must have approval annotation "{APPROVAL}" with either a URL or '
            'a reason starting with "unapproved"',
        )


def _deprecation(crd: CustomResourceDefinition) -> Errors:
    for index, version in enumerate(crd.versions):
        warning = version.get("deprecationWarning")
        if not isinstance(warning, str):
            continue
        keys: tuple[Key, ...] = ("spec", "versions", index, "deprecationWarning")
        if version.get("deprecated") is not True:
            yield field_errors.invalid(keys, warning, "can only be set for deprecated versions")
        if not warning:
            yield field_errors.invalid(keys, warning, "must not be an empty string")
        if len(warning) > MAX_WARNING:
            yield FieldError(
                keys,
                f"{field_errors.path(keys)}: Invalid value: must be <= {MAX_WARNING} characters "
                "long",
            )
        odd = next((at for at, char in enumerate(warning) if not char.isprintable()), None)
        if odd is not None:
            yield field_errors.invalid(
                keys,
                warning,
                "must only contain printable UTF-8 characters; "
                f"non-printable character found at index {odd}",
            )


def _columns(crd: CustomResourceDefinition) -> Errors:
    path_key = "JSONPath" if crd.is_beta else "jsonPath"
    for keys, column in _listed(crd, "additionalPrinterColumns"):
        kind, shape = model.text(column.get("type")), model.text(column.get("format"))
        if not column.get("name"):
            yield field_errors.required((*keys, "name"))
        if not kind:
            detail = f"must be one of {','.join(_COLUMN_TYPES)}"
            yield field_errors.required((*keys, "type"), detail)
        elif kind not in _COLUMN_TYPES:
            detail = f"must be one of {','.join(_COLUMN_TYPES)}"
            yield field_errors.invalid((*keys, "type"), kind, detail)
        if shape and shape not in _COLUMN_FORMATS:
            detail = f"must be one of {','.join(_COLUMN_FORMATS)}"
            yield field_errors.invalid((*keys, "format"), shape, detail)
        path = model.text(column.get(path_key))
        if not path:
            yield field_errors.required((*keys, path_key))
        elif not path.startswith("."):
            detail = "must be a simple json path starting with ."
            yield field_errors.invalid((*keys, path_key), path, detail)


def _selectable(crd: CustomResourceDefinition) -> Errors:
    for index, version in enumerate(crd.versions):
        fields = model.sequence(version.get("selectableFields"))
        keys: tuple[Key, ...] = ("spec", "versions", index, "selectableFields")
        if len(fields) > MAX_SELECTABLE:
            yield field_errors.too_many(keys, len(fields), MAX_SELECTABLE)
        schema = model.mapping(model.mapping(version.get("schema")).get("openAPIV3Schema"))
        seen: set[str] = set()
        for position, entry in enumerate(fields):
            path = model.text(model.mapping(entry).get("jsonPath"))
            place = (*keys, position, "jsonPath")
            if not path:
                yield field_errors.required(place)
            elif path in seen:
                yield field_errors.duplicate(place, path)
            elif not has_simple_path(schema, path):
                detail = "is an invalid path: does not refer to a valid field"
                yield field_errors.invalid(place, path, detail)
            seen.add(path)


def _scale(crd: CustomResourceDefinition, *, status: bool) -> Errors:
    for keys, holder in _holders(crd):
        subresources = model.mapping(holder.get("subresources"))
        if not isinstance(subresources.get("scale"), Mapping):
            continue
        scale = model.mapping(subresources["scale"])
        place = (*keys, "subresources", "scale")
        wanted = (
            (("statusReplicasPath", ".status", True),)
            if status
            else (("specReplicasPath", ".spec", True), ("labelSelectorPath", "", False))
        )
        for key, root, needed in wanted:
            path = model.text(scale.get(key))
            if not path:
                if needed:
                    yield field_errors.required((*place, key))
            elif root and not path.startswith(f"{root}."):
                detail = f"should be a json path under {root}"
                yield field_errors.invalid((*place, key), path, detail)
            elif not root and not path.startswith((".spec.", ".status.")):
                detail = "should be a json path under either .spec or .status"
                yield field_errors.invalid((*place, key), path, detail)


_TOP = (
    ("validation", "schema", "schemas"),
    ("subresources", "subresources", "subresources"),
    ("additionalPrinterColumns", "additionalPrinterColumns", "additionalPrinterColumns"),
)


def _top_and_versions(crd: CustomResourceDefinition) -> Errors:
    if not crd.is_beta:
        return
    versions = [model.mapping(item) for item in model.sequence(crd.spec.get("versions"))]
    for top, inner, noun in _TOP:
        found = [version[inner] for version in versions if version.get(inner)]
        if found and crd.spec.get(top):
            detail = f"top-level and per-version {noun} are mutually exclusive"
            yield field_errors.forbidden(("spec", top), detail)
        if len(found) == len(versions) > 1 and all(item == found[0] for item in found):
            yield FieldError(
                ("spec", "versions"),
                f"spec.versions: Invalid value: per-version {noun} may not all be set to "
                "identical values (top-level should be used instead)",
            )


def _conversion(crd: CustomResourceDefinition) -> Errors:
    conversion = model.mapping(crd.spec.get("conversion"))
    keys: tuple[Key, ...] = ("spec", "conversion")
    strategy = model.text(conversion.get("strategy")) or "None"
    webhook = conversion if crd.is_beta else model.mapping(conversion.get("webhook"))
    client = webhook.get("webhookClientConfig" if crd.is_beta else "clientConfig")
    reviews = webhook.get("conversionReviewVersions")
    inner = keys if crd.is_beta else (*keys, "webhook")
    client_keys = (*inner, "webhookClientConfig" if crd.is_beta else "clientConfig")
    if strategy not in ("None", "Webhook"):
        yield field_errors.unsupported((*keys, "strategy"), strategy, ("None", "Webhook"))
    elif strategy == "None":
        detail = "should not be set when strategy is not set to Webhook"
        if client is not None:
            yield field_errors.forbidden(client_keys, detail)
        if model.sequence(reviews):
            yield field_errors.forbidden((*inner, "conversionReviewVersions"), detail)
    else:
        if _preserves(crd):
            detail = "must be None if spec.preserveUnknownFields is true"
            yield field_errors.invalid((*keys, "strategy"), strategy, detail)
        if not isinstance(client, Mapping):
            detail = "required when strategy is set to Webhook"
            yield field_errors.required(client_keys, detail)
        else:
            yield from _client(client, client_keys)
        beta_default = ["v1beta1"] if crd.is_beta else []
        listed = [model.text(item) for item in model.sequence(reviews)] or beta_default
        yield from _reviews(listed, (*inner, "conversionReviewVersions"))


def _client(client: Mapping[str, Any], keys: tuple[Key, ...]) -> Errors:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield field_errors.required(keys, "exactly one of url or service is required")
    elif isinstance(url, str):
        yield from _url(url, (*keys, "url"))
    elif isinstance(service, Mapping):
        for key in ("name", "namespace"):
            if not service.get(key):
                yield field_errors.required((*keys, "service", key), f"service {key} is required")
        port = service.get("port", 443)
        if isinstance(port, int) and not 1 <= port <= _MAX_PORT:
            detail = "port is not valid: must be between 1 and 65535, inclusive"
            yield field_errors.invalid((*keys, "service", "port"), port, detail)
        yield from _path(model.text(service.get("path")), (*keys, "service", "path"))


def _path(path: str, keys: tuple[Key, ...]) -> Errors:
    if not path or path == "/":
        return
    if not path.startswith("/"):
        yield field_errors.invalid(keys, path, "must start with a '/'")
    segments = path.removeprefix("/").removesuffix("/").split("/")
    for index, segment in enumerate(segments):
        if not segment:
            yield field_errors.invalid(keys, path, f"segment[{index}] may not be empty")
        elif not names.is_subdomain(segment):
            detail = f"segment[{index}]: {field_errors.SUBDOMAIN}"
            yield field_errors.invalid(keys, path, detail)


def _url(url: str, keys: tuple[Key, ...]) -> Errors:
    form = "; desired format: https://host[/path]"
    scheme, separator, rest = url.partition("://")
    if not separator:
        scheme, rest = "", url
    bare, hash_sign, fragment = rest.partition("#")
    bare, question, query = bare.partition("?")
    host = bare.partition("/")[0]
    if scheme != "https":
        detail = f"'https' is the only allowed URL scheme{form}"
        yield field_errors.invalid(keys, scheme, detail)
    if not host.rpartition("@")[2]:
        yield field_errors.invalid(keys, host, f"host must be specified{form}")
    if "@" in host:
        detail = f"user information is not permitted in the URL{form}"
        yield field_errors.invalid(keys, host.partition("@")[0], detail)
    if hash_sign and fragment:
        yield field_errors.invalid(keys, fragment, "fragments are not permitted in the URL")
    if question and query:
        yield field_errors.invalid(keys, query, "query parameters are not permitted in the URL")


def _reviews(listed: list[str], keys: tuple[Key, ...]) -> Errors:
    if not listed:
        yield field_errors.required(keys)
        return
    seen: set[str] = set()
    for index, version in enumerate(listed):
        if version in seen:
            yield field_errors.invalid((*keys, index), version, "duplicate version")
        seen.add(version)
        yield from field_errors.label_1035((*keys, index), version)
    if not seen & {"v1", "v1beta1"}:
        detail = "must include at least one of v1, v1beta1"
        yield field_errors.invalid(keys, listed, detail)


def _preserves(crd: CustomResourceDefinition) -> bool:
    value = crd.spec.get("preserveUnknownFields")
    return value is True or (value is None and crd.is_beta)


def _preserve(crd: CustomResourceDefinition) -> Errors:
    if _preserves(crd):
        yield field_errors.FieldError(
            ("spec", "preserveUnknownFields"),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        )


def _holders(
    crd: CustomResourceDefinition,
) -> Iterator[tuple[tuple[Key, ...], Mapping[str, Any]]]:
    """Where a CRD may have subresources and columns: its versions, and the top of v1beta1."""
    if crd.is_beta:
        yield ("spec",), crd.spec
    for index, version in enumerate(model.sequence(crd.spec.get("versions"))):
        yield ("spec", "versions", index), model.mapping(version)


def _listed(
    crd: CustomResourceDefinition, section: str
) -> Iterator[tuple[tuple[Key, ...], Mapping[str, Any]]]:
    for keys, holder in _holders(crd):
        for index, item in enumerate(model.sequence(holder.get(section))):
            yield (*keys, section, index), model.mapping(item)


def has_simple_path(schema: Mapping[str, Any], path: str) -> bool:
    """Whether a path of plain fields (`.spec.size`) leads to a scalar of the schema."""
    node: Any = schema
    if not path.startswith("."):
        return False
    for part in path[1:].split("."):
        node = model.mapping(model.mapping(node).get("properties")).get(part)
    return model.mapping(node).get("type") in ("string", "integer", "boolean")
