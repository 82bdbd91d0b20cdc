"""Rules about CustomResourceDefinitions: what the API server checks when one is created.

The messages are those of the API server. Rules describe a CRD in its internal form, which v1 and
v1beta1 share: fields that are the same in all versions are at the top. Schemas have their own
module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from olmkit.base import texts
from olmkit.base.diagnostics import Severity
from olmkit.bundle.model import CERT_MANAGER_INJECTION, Bundle, CustomResourceDefinition
from olmkit.kube import objects as kube_objects
from olmkit.kube.builtin.typed import TypeMisfit
from olmkit.kube.crds import conversion_errors, definition_errors, field_errors
from olmkit.kube.crds.definition_errors import Errors
from olmkit.rules import objects
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

API_VERSIONS = ("apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1")


@rule("CRD002", "crd-api-version")
def crd_api_version(bundle: Bundle) -> Iterator[Finding]:
    """A CRD has an unknown `apiVersion`.

    Why: no tool can read it.

    Fix: write `apiVersion: apiextensions.k8s.io/v1`.
    """
    for crd in bundle.crds:
        if crd.api_version not in API_VERSIONS:
            yield Finding(
                f"unsupported CRD version {texts.shorten(crd.api_version)}".rstrip(),
                at=crd.at("apiVersion"),
                hint=f"write `{API_VERSIONS[0]}`",
            )


@rule("CRD003", "crd-type")
def crd_type(bundle: Bundle) -> Iterator[Finding]:
    """A field of a CRD has a value of the wrong type.

    Why: no tool can read the CRD.

    Fix: write a value of the correct type.
    """
    for crd in bundle.crds:
        for difference in crd.differences:
            if difference.misfit is TypeMisfit.TYPE:
                yield objects.misfit_finding(crd.document, difference)


@rule("CRD004", "crd-name")
def crd_name(bundle: Bundle) -> Iterator[Finding]:
    """The name of a CRD is not its plural and its group.

    Why: the API server requires `<plural>.<group>`.

    Fix: correct the name, the plural or the group.
    """
    yield from _check(bundle, definition_errors.check_name)


@rule("CRD005", "crd-metadata")
def crd_metadata(bundle: Bundle) -> Iterator[Finding]:
    """The API server rejects the metadata of a CRD.

    Why: a CRD cannot have a namespace, and its labels and annotations must have a valid
    syntax.

    Fix: correct the field.
    """
    yield from _check(bundle, lambda crd: field_errors.object_metadata(crd.metadata))


@rule("CRD006", "crd-group")
def crd_group(bundle: Bundle) -> Iterator[Finding]:
    """The group of a CRD is missing or not a domain name.

    Why: groups are domain names with a dot, so that they do not collide.

    Fix: use a domain that you own, such as `cache.example.com`.
    """
    yield from _check(bundle, definition_errors.check_group)


@rule("CRD007", "crd-scope")
def crd_scope(bundle: Bundle) -> Iterator[Finding]:
    """The scope of a CRD is neither `Namespaced` nor `Cluster`.

    Why: the API server accepts only these two.

    Fix: write `scope: Namespaced` or `scope: Cluster`.
    """
    yield from _check(bundle, definition_errors.check_scope)


@rule("CRD008", "crd-version-name")
def crd_version_name(bundle: Bundle) -> Iterator[Finding]:
    """The name of a version is malformed or repeated.

    Why: the name is part of the API's path, so it has lowercase letters and digits, such as
    `v1alpha1`.

    Fix: correct the name.
    """
    yield from _check(bundle, definition_errors.check_version_names)


@rule("CRD009", "crd-storage-version")
def crd_storage_version(bundle: Bundle) -> Iterator[Finding]:
    """A CRD does not have exactly one storage version.

    Why: the API server stores all objects in one version, whichever version a client uses.

    Fix: set `storage: true` for one version, and `false` for all others.
    """
    yield from _check(bundle, definition_errors.check_storage)


@rule("CRD010", "crd-first-version")
def crd_first_version(bundle: Bundle) -> Iterator[Finding]:
    """The version of a v1beta1 CRD is not the first of its versions.

    Why: the field is obsolete and must agree with the list.

    Fix: remove `spec.version`.
    """
    yield from _check(bundle, definition_errors.check_first_version)


@rule("CRD011", "crd-names")
def crd_names(bundle: Bundle) -> Iterator[Finding]:
    """A name of the kind is missing or malformed.

    Why: plural, singular, short names and categories must be DNS labels. Kind and list kind
    must be DNS labels in lowercase, and must differ.

    Fix: correct the name.
    """
    yield from _check(bundle, definition_errors.check_names)


@rule("CRD012", "crd-protected-group")
def crd_protected_group(bundle: Bundle) -> Iterator[Finding]:
    """A CRD is in a group of the Kubernetes project without its approval.

    Why: groups below `k8s.io` and `kubernetes.io` are protected. CRDs in these groups need
    the annotation `api-approved.kubernetes.io`.

    Fix: use a group that you own. Or set the annotation to the URL of the approval, or to a
    reason that begins with `unapproved`.
    """
    yield from _check(bundle, definition_errors.check_approval)


@rule("CRD013", "crd-deprecation-warning")
def crd_deprecation_warning(bundle: Bundle) -> Iterator[Finding]:
    """The deprecation warning of a version cannot be used.

    Why: the API server sends it in a header. It must be one printable line of at most 256
    characters, and the version must be deprecated.

    Fix: shorten it, or set `deprecated: true`.
    """
    yield from _check(bundle, definition_errors.check_deprecation)


@rule("CRD014", "crd-column")
def crd_column(bundle: Bundle) -> Iterator[Finding]:
    """A printer column is incomplete or has an unknown type.

    Why: the API server rejects the CRD.

    Fix: write a name, a type and a JSON path that begins with a dot.
    """
    yield from _check(bundle, definition_errors.check_columns)


@rule("CRD015", "crd-selectable-field")
def crd_selectable_field(bundle: Bundle) -> Iterator[Finding]:
    """A selectable field is not in the schema, or is listed twice.

    Why: the API server rejects the CRD. Each version can have at most eight selectable
    fields.

    Fix: correct the path.
    """
    yield from _check(bundle, definition_errors.check_selectable_fields)


@rule("CRD016", "crd-scale")
def crd_scale(bundle: Bundle) -> Iterator[Finding]:
    """A path of the scale subresource is missing or invalid.

    Why: the API server reads replicas below `.spec`, and the selector below `.spec` or
    `.status`.

    Fix: correct the path.
    """
    yield from _check(bundle, lambda crd: definition_errors.check_scale(crd, status=False))


@rule("CRD017", "crd-schema-place")
def crd_schema_place(bundle: Bundle) -> Iterator[Finding]:
    """A v1beta1 CRD has the same setting at the top level and in its versions.

    Why: schemas, subresources and columns are either at the top level, for all
    versions, or in each version.

    Fix: keep one of the two.
    """
    yield from _check(bundle, definition_errors.check_top_and_versions)


@rule("CRD018", "crd-conversion")
def crd_conversion(bundle: Bundle) -> Iterator[Finding]:
    """The conversion of a CRD is incomplete or contradictory.

    Why: a webhook needs a service or a URL, and its review versions. Without a webhook, you
    can set neither.

    Fix: complete the webhook, or set the strategy to `None`.
    """
    yield from _check(bundle, conversion_errors.check_conversion)


@rule("CRD019", "crd-preserve-unknown-fields")
def crd_preserve_unknown_fields(bundle: Bundle) -> Iterator[Finding]:
    """A CRD preserves unknown fields.

    Why: v1 CRDs must not set this. In v1beta1, it is the default, so a v1beta1 CRD must set
    `false`.

    Fix: convert the CRD to v1, or write `preserveUnknownFields: false`. Where you need
    unknown fields, write `x-kubernetes-preserve-unknown-fields: true` in the schema.
    """
    yield from _check(bundle, definition_errors.check_preserve_unknown_fields)


@rule("CRD030", "crd-not-served", suite=SOUND_SUITE)
def crd_not_served(bundle: Bundle) -> Iterator[Finding]:
    """A CRD serves no version.

    Why: clients cannot use the API.

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

    Why: the API server sets the status of an installed CRD; in a bundle, it is a copy from
    a cluster. (An empty status, which generators write, is allowed.)

    Fix: remove `status`.
    """
    for crd in bundle.crds:
        status = kube_objects.mapping(crd.value.get("status"))
        if any(status.values()) and any(kube_objects.mapping(status.get("acceptedNames")).values()):
            yield Finding(
                "a bundle must not contain a status", at=crd.at_key("status"), hint="remove it"
            )


@rule("CRD032", "crd-field-unknown", severity=Severity.WARNING, suite=SOUND_SUITE)
def crd_field_unknown(bundle: Bundle) -> Iterator[Finding]:
    """A CRD has an unknown field, or a field with the wrong case.

    Why: the API server drops it without a warning.

    Fix: correct its name or its place.
    """
    for crd in bundle.crds:
        for difference in crd.differences:
            if difference.misfit in (TypeMisfit.UNKNOWN, TypeMisfit.CASE):
                yield objects.misfit_finding(crd.document, difference)


@rule("CRD033", "crd-not-text", suite=SOUND_SUITE)
def crd_not_text(bundle: Bundle) -> Iterator[Finding]:
    """A field of a CRD is a number or a boolean instead of a string.

    Why: some tools accept `1` as the string `1`; the API server does not.

    Fix: put the value in quotes.
    """
    for crd in bundle.crds:
        for difference in crd.differences:
            if difference.misfit is TypeMisfit.TEXT:
                yield objects.misfit_finding(crd.document, difference)


@rule("CRD034", "crd-scale-status", suite=SOUND_SUITE)
def crd_scale_status(bundle: Bundle) -> Iterator[Finding]:
    """The path to the current replicas is missing or invalid.

    Why: the API server rejects the CRD. (`operator-sdk` ignores this.)

    Fix: write a path below `.status`.
    """
    yield from _check(bundle, lambda crd: definition_errors.check_scale(crd, status=True))


@rule("CRD035", "crd-cert-manager", severity=Severity.WARNING, suite=SOUND_SUITE)
def crd_cert_manager(bundle: Bundle) -> Iterator[Finding]:
    """An annotation makes cert-manager write a CA into a CRD.

    Why: OLM sets the CA of the conversion webhook. If cert-manager is installed, it
    overwrites the CA, so that conversions fail.

    Fix: remove the annotation.
    """
    for crd in bundle.crds:
        for key in crd.annotations if crd.converts_by_webhook else ():
            if key.startswith(CERT_MANAGER_INJECTION):
                yield Finding(
                    f"OLM sets the CA of the conversion webhook, and `{key}` makes "
                    "cert-manager overwrite it",
                    at=crd.at_key("metadata", "annotations", key),
                    hint="remove the annotation",
                )


def _check(
    bundle: Bundle, check: Callable[[CustomResourceDefinition], Errors]
) -> Iterator[Finding]:
    for crd in bundle.crds:
        if crd.api_version in API_VERSIONS:
            for problem in check(crd):
                yield Finding(problem.message, at=crd.at(*problem.keys))
