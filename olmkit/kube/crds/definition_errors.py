"""Validate a CRD like the API server, field by field.

Schemas and conversion have their own modules. Names and limits are those of the validation in
`k8s.io/apiextensions-apiserver`; v1 and v1beta1 are validated in their common internal form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from olmkit.base.documents import Key
from olmkit.kube import objects
from olmkit.kube.crds import field_errors, selectable_fields
from olmkit.kube.crds.field_errors import FieldError

_APPROVAL = "api-approved.kubernetes.io"
_MAX_WARNING = 256  # length of deprecationWarning
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")

Errors = Iterator[FieldError]


class Definition(Protocol):
    """A CustomResourceDefinition of either API version, read leniently.

    `versions` are the entries of `spec.versions`, or the version in `spec.version` of v1beta1.
    """

    @property
    def name(self) -> str: ...
    @property
    def annotations(self) -> Mapping[str, str]: ...
    @property
    def spec(self) -> Mapping[str, Any]: ...
    @property
    def is_beta(self) -> bool: ...
    @property
    def group(self) -> str: ...
    @property
    def plural(self) -> str: ...
    @property
    def versions(self) -> tuple[Mapping[str, Any], ...]: ...


def _spec_names(crd: Definition) -> Mapping[str, Any]:
    return objects.mapping(crd.spec.get("names"))


def check_name(crd: Definition) -> Errors:
    """Yield what the API server refuses in `metadata.name`, which is plural and group."""
    keys = ("metadata", "name")
    if not crd.name:
        return
    yield from field_errors.subdomain(keys, crd.name)
    if crd.name != f"{crd.plural}.{crd.group}":
        yield field_errors.invalid(keys, crd.name, 'must be spec.names.plural+"."+spec.group')


def check_group(crd: Definition) -> Errors:
    """Yield what the API server refuses in `spec.group`, a domain name with a dot."""
    keys = ("spec", "group")
    if not crd.group:
        yield field_errors.required(keys)
        return
    yield from field_errors.subdomain(keys, crd.group)
    if "." not in crd.group:
        yield field_errors.invalid(keys, crd.group, "should be a domain with at least one dot")


def check_scope(crd: Definition) -> Errors:
    """Yield what the API server refuses in `spec.scope`."""
    scope = objects.scalar_text(crd.spec.get("scope"))
    if not scope and not crd.is_beta:
        yield field_errors.required(("spec", "scope"))
    elif scope and scope not in ("Cluster", "Namespaced"):
        yield field_errors.unsupported(("spec", "scope"), scope, ("Cluster", "Namespaced"))


def check_version_names(crd: Definition) -> Errors:
    """Yield what the API server refuses in the names of the versions, which must be unique."""
    seen: set[str] = set()
    for index, version in enumerate(crd.versions):
        name = objects.scalar_text(version.get("name"))
        yield from field_errors.label_1035(("spec", "versions", index, "name"), name)
        if name in seen:
            message = "must contain unique version names"
            yield FieldError(
                ("spec", "versions", index, "name"), f"spec.versions: Invalid value: {message}"
            )
        seen.add(name)


def check_storage(crd: Definition) -> Errors:
    """Yield what the API server refuses in the storage versions: there must be exactly one."""
    if sum(version.get("storage") is True for version in crd.versions) != 1:
        detail = "must have exactly one version marked as storage version"
        yield FieldError(("spec", "versions"), f"spec.versions: Invalid value: {detail}")


def check_first_version(crd: Definition) -> Errors:
    """Yield what the API server refuses in `spec.version` of v1beta1."""
    version = objects.scalar_text(crd.spec.get("version"))
    if version and crd.versions and version != objects.scalar_text(crd.versions[0].get("name")):
        detail = "must match the first version in spec.versions"
        yield field_errors.invalid(("spec", "version"), version, detail)


def check_names(crd: Definition) -> Errors:
    """Yield what the API server refuses in `spec.names`."""
    given = _spec_names(crd)
    kind = objects.scalar_text(given.get("kind"))
    singular = objects.scalar_text(given.get("singular")) or kind.lower()
    list_kind = objects.scalar_text(given.get("listKind")) or f"{kind}List"
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
        for index, name in enumerate(objects.sequence(given.get(key))):
            yield from field_errors.label_1035(
                ("spec", "names", key, index), objects.scalar_text(name)
            )


def check_approval(crd: Definition) -> Errors:
    """Yield the errors of the API approval annotation, which Kubernetes' own groups need."""
    protected = ("k8s.io", "kubernetes.io")
    if not any(crd.group == domain or crd.group.endswith(f".{domain}") for domain in protected):
        return
    keys = ("metadata", "annotations", _APPROVAL)
    value = crd.annotations.get(_APPROVAL, "")
    if not value:
        yield field_errors.required(
            keys,
            f'protected groups must have approval annotation "{_APPROVAL}", '
            "see https://github.com/kubernetes/enhancements/pull/1111",
        )
    elif not value.startswith("unapproved") and "://" not in value:
        yield field_errors.invalid(
            keys,
            value,
            f'protected groups must have approval annotation "{_APPROVAL}" with either a URL or '
            'a reason starting with "unapproved"',
        )


def check_deprecation(crd: Definition) -> Errors:
    """Yield what the API server refuses in the warnings of deprecated versions."""
    for index, version in enumerate(crd.versions):
        warning = version.get("deprecationWarning")
        if not isinstance(warning, str):
            continue
        keys: tuple[Key, ...] = ("spec", "versions", index, "deprecationWarning")
        if version.get("deprecated") is not True:
            yield field_errors.invalid(keys, warning, "can only be set for deprecated versions")
        if not warning:
            yield field_errors.invalid(keys, warning, "must not be an empty string")
        if len(warning) > _MAX_WARNING:
            yield FieldError(
                keys,
                f"{field_errors.path(keys)}: Invalid value: must be <= {_MAX_WARNING} characters "
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


def check_columns(crd: Definition) -> Errors:
    """Yield what the API server refuses in the printer columns."""
    path_key = "JSONPath" if crd.is_beta else "jsonPath"
    for keys, column in _list_items(crd, "additionalPrinterColumns"):
        kind, shape = (
            objects.scalar_text(column.get("type")),
            objects.scalar_text(column.get("format")),
        )
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
        path = objects.scalar_text(column.get(path_key))
        if not path:
            yield field_errors.required((*keys, path_key))
        elif not path.startswith("."):
            detail = "must be a simple json path starting with ."
            yield field_errors.invalid((*keys, path_key), path, detail)


def check_selectable_fields(crd: Definition) -> Errors:
    """Yield what the API server refuses in the selectable fields, which the schema must have."""
    for index, version in enumerate(crd.versions):
        fields = objects.sequence(version.get("selectableFields"))
        keys: tuple[Key, ...] = ("spec", "versions", index, "selectableFields")
        schema = objects.mapping(objects.mapping(version.get("schema")).get("openAPIV3Schema"))
        seen: set[str] = set()
        for position, entry in enumerate(fields):
            path = objects.scalar_text(objects.mapping(entry).get("jsonPath"))
            place = (*keys, position, "jsonPath")
            if not path:
                yield field_errors.required(place)
            elif path in seen:
                yield field_errors.duplicate(place, path)
            elif detail := selectable_fields.problem(schema, path):
                yield field_errors.invalid(place, path, detail)
            seen.add(path)
        if len(seen) > selectable_fields.MOST:
            yield field_errors.too_many(keys, len(seen), selectable_fields.MOST)


def check_scale(crd: Definition, *, status: bool) -> Errors:
    """Yield what the API server refuses in the scale subresource.

    `status`: check the path to the actual replicas, else the other paths.
    """
    for keys, holder in _holders(crd):
        subresources = objects.mapping(holder.get("subresources"))
        if not isinstance(subresources.get("scale"), Mapping):
            continue
        scale = objects.mapping(subresources["scale"])
        place = (*keys, "subresources", "scale")
        wanted = (
            (("statusReplicasPath", ".status", True),)
            if status
            else (("specReplicasPath", ".spec", True), ("labelSelectorPath", "", False))
        )
        for key, root, needed in wanted:
            path = objects.scalar_text(scale.get(key))
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


def check_top_and_versions(crd: Definition) -> Errors:
    """Yield what the API server refuses in fields at the top of v1beta1 and in its versions."""
    if not crd.is_beta:
        return
    versions = [objects.mapping(item) for item in objects.sequence(crd.spec.get("versions"))]
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


def preserves_unknown_fields(crd: Definition) -> bool:
    """Return whether it keeps fields that are not in its schema; v1beta1 does by default."""
    value = crd.spec.get("preserveUnknownFields")
    return value is True or (value is None and crd.is_beta)


def check_preserve_unknown_fields(crd: Definition) -> Errors:
    """Yield the errors of `spec.preserveUnknownFields`, which new CRDs must not set."""
    if preserves_unknown_fields(crd):
        yield field_errors.FieldError(
            ("spec", "preserveUnknownFields"),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set "
            "x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        )


def _holders(
    crd: Definition,
) -> Iterator[tuple[tuple[Key, ...], Mapping[str, Any]]]:
    """Yield the parts of a CRD with subresources and columns: versions, and the top of v1beta1."""
    if crd.is_beta:
        yield ("spec",), crd.spec
    for index, version in enumerate(objects.sequence(crd.spec.get("versions"))):
        yield ("spec", "versions", index), objects.mapping(version)


def _list_items(
    crd: Definition, section: str
) -> Iterator[tuple[tuple[Key, ...], Mapping[str, Any]]]:
    for keys, holder in _holders(crd):
        for index, item in enumerate(objects.sequence(holder.get(section))):
            yield (*keys, section, index), objects.mapping(item)
