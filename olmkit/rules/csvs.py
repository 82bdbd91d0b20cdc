"""Rules about the ClusterServiceVersion itself: that it exists, and its own fields.

Its name, version and upgrade edges are checked in `csv_versions`, its APIs in `apis`, its examples
in `examples`, and what it installs in `installs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.diagnostics import Related, Severity
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle, ClusterServiceVersion
from olmkit.kube import objects as kube_objects
from olmkit.kube.builtin.typed import TypeDifference, TypeMisfit
from olmkit.kube.crds import field_errors
from olmkit.rules import fixes, objects
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

API_VERSION = "operators.coreos.com/v1alpha1"
_CASED = (
    "olm.operatorGroup",
    "olm.operatorNamespace",
    "olm.targetNamespaces",
    "olm.providedAPIs",
    "olm.skipRange",
)
# Types whose missing fields affect only the forms of the console.
_DESCRIPTIVE = frozenset(
    {"APIResourceReference", "SpecDescriptor", "StatusDescriptor", "ActionDescriptor"}
)
# Missing fields that other rules describe, with the messages that people search for.
_JUDGED_ELSEWHERE = frozenset(
    {
        ("ClusterServiceVersion", "metadata"),
        ("ClusterServiceVersion", "spec"),
        ("ClusterServiceVersionSpec", "install"),
        ("ClusterServiceVersionSpec", "displayName"),
        ("NamedInstallStrategy", "strategy"),
        ("StrategyDetailsDeployment", "deployments"),
        ("InstallMode", "supported"),
        ("InstallMode", "type"),
        ("CRDDescription", "name"),
        ("CRDDescription", "version"),
        ("CRDDescription", "kind"),
        ("APIResourceReference", "name"),
        ("RelatedImage", "image"),
        ("RelatedImage", "name"),
        ("Icon", "base64data"),
        ("Icon", "mediatype"),
    }
)


@rule("CSV001", "no-csv")
def no_csv(bundle: Bundle) -> Iterator[Finding]:
    """The bundle has no ClusterServiceVersion.

    Why: OLM installs the CSV; a bundle consists of one CSV and its related objects.

    Fix: add the CSV; `olmkit bundle generate` writes it. If the file exists, its `kind` or
    `apiVersion` is misspelled, or the CSV is not the first document of its file.
    """
    if bundle.csv is not None or not bundle.manifests or _csv_is_unreadable(bundle):
        return
    directory = bundle.place(bundle.manifests_dir).path
    for document in bundle.manifests:
        kind = kube_objects.mapping(document.value).get("kind")
        looks_so = kube_objects.scalar_text(kind).lower() == model.CSV_KIND.lower()
        if looks_so or (kind is None and b"installModes" in bundle.data(document)):
            yield Finding(
                f"unable to find a csv in bundle directory {directory}",
                at=document.at("kind"),
                hint=f"write `kind: {model.CSV_KIND}`",
                fix=fixes.replace_value(document, ("kind",), model.CSV_KIND),
            )
            return
        if document.value is None and any(
            kube_objects.scalar_text(kube_objects.mapping(later.value).get("kind"))
            == model.CSV_KIND
            for later in layout.extra_documents(bundle, document)
        ):
            yield Finding(
                f"unable to find a csv in bundle directory {directory}",
                at=document.at(),
                hint="it is in a later document of this file, and only the first is read",
            )
            return
    yield Finding(
        f"unable to find a csv in bundle directory {directory}",
        at=bundle.place(bundle.manifests_dir),
        hint=f"add a manifest of kind `{model.CSV_KIND}`; `olmkit bundle generate` writes it",
    )


@rule("CSV002", "several-csvs")
def several_csvs(bundle: Bundle) -> Iterator[Finding]:
    """The bundle has more than one ClusterServiceVersion.

    Why: a bundle is exactly one version of one operator.

    Fix: keep one CSV; create a separate bundle for each other version.
    """
    for csv in bundle.csvs[1:]:
        yield Finding(
            "invalid bundle: contains multiple CSVs",
            at=csv.at("kind"),
            hint="keep one; each version is a separate bundle",
            related=(Related(bundle.csvs[0].at("kind"), "the first is here"),),
        )


@rule("CSV003", "csv-type")
def csv_type(bundle: Bundle) -> Iterator[Finding]:
    """A field of the CSV has a value of the wrong type.

    Why: neither OLM nor catalog tools can read the CSV.

    Fix: write a value of the correct type.
    """
    for csv, difference in _differences(bundle, TypeMisfit.TYPE):
        yield objects.misfit_finding(csv.document, difference)


@rule("CSV021", "csv-field-missing")
def csv_field_missing(bundle: Bundle) -> Iterator[Finding]:
    """A required field of the CSV is missing or empty.

    Why: the API server rejects the CSV.

    Fix: write the field.
    """
    csv = bundle.csv
    if csv is None:
        return
    for field, keys in _missing_fields(csv):
        yield Finding(
            f"{field}: required field missing",
            at=csv.at(*keys),
            hint=f"write `{field_errors.path(keys)}`",
        )


@rule("CSV022", "annotation-case")
def annotation_case(bundle: Bundle) -> Iterator[Finding]:
    """An annotation of OLM has the wrong case.

    Why: OLM does not find it, so it has no effect.

    Fix: write it as shown.
    """
    csv = bundle.csv
    right = {name.lower(): name for name in _CASED}
    for key in csv.annotations if csv else ():
        wanted = right.get(key.lower(), key)
        if csv is not None and key != wanted:
            yield Finding(
                f"provided annotation {key} uses wrong case and should be {wanted} instead",
                at=csv.at_key("metadata", "annotations", key),
                hint=f"write `{wanted}`",
                fix=fixes.rename_key(csv.document, ("metadata", "annotations", key), wanted),
            )


@rule("CSV023", "properties-annotation", severity=Severity.WARNING)
def properties_annotation(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has its properties in an annotation.

    Why: the annotation `olm.properties` is deprecated; properties have a separate file.

    Fix: move them to `metadata/properties.yaml`.
    """
    csv = bundle.csv
    if csv is not None and "olm.properties" in csv.annotations:
        yield Finding(
            "found olm.properties annotation, please define these properties in "
            "metadata/properties.yaml instead",
            at=csv.at_key("metadata", "annotations", "olm.properties"),
            hint="move them to `metadata/properties.yaml`",
        )


@rule("CSV024", "csv-api-version-missing")
def csv_api_version_missing(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no `apiVersion`.

    Why: the API server cannot determine the kind.

    Fix: write `apiVersion: operators.coreos.com/v1alpha1`.
    """
    csv = bundle.csv
    if csv is not None and not csv.api_version:
        yield Finding(
            "'apiVersion' is missing", at=csv.at("apiVersion"), hint=f"write `{API_VERSION}`"
        )


@rule("CSV031", "csv-api-version", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_api_version(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has an unknown `apiVersion`.

    Why: OLM identifies the CSV by its kind and ignores the version in the file. Other tools
    do not recognize the object. The API server rejects it if you apply the file manually.

    Fix: write `apiVersion: operators.coreos.com/v1alpha1`.
    """
    csv = bundle.csv
    if csv is not None and csv.api_version not in ("", API_VERSION):
        yield Finding(
            f"a ClusterServiceVersion of `{csv.api_version}` does not exist",
            at=csv.at("apiVersion"),
            hint=f"write `{API_VERSION}`",
        )


@rule("CSV032", "csv-namespace", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_namespace(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has a namespace.

    Why: OLM creates the CSV in the namespace that the user chose; a different namespace in
    the file is misleading. (`placeholder`, which old generators write, is allowed.)

    Fix: remove `metadata.namespace`.
    """
    csv = bundle.csv
    namespace = kube_objects.scalar_text(csv.metadata.get("namespace")) if csv else ""
    if csv is not None and namespace not in ("", "placeholder"):
        yield Finding(
            f"a CSV in a bundle has no namespace, and this one has `{namespace}`",
            at=csv.at("metadata", "namespace"),
            hint="remove it: OLM sets the namespace",
        )


@rule("CSV039", "status", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_status(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has a status.

    Why: OLM sets the status of an installed CSV; in a bundle it is a
    copy from a cluster and has no effect.

    Fix: remove `status`.
    """
    csv = bundle.csv
    if csv is not None and _has_content(csv.value.get("status")):
        yield Finding(
            "a bundle must not contain a status", at=csv.at_key("status"), hint="remove it"
        )


@rule("CSV040", "csv-field-unknown", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_field_unknown(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has an unknown field.

    Why: OLM drops it without a warning. Usually its name is misspelled, or it is at the
    wrong level.

    Fix: correct its name or its place.
    """
    for csv, difference in _differences(bundle, TypeMisfit.UNKNOWN):
        yield objects.misfit_finding(csv.document, difference)


@rule("CSV041", "csv-field-case", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_field_case(bundle: Bundle) -> Iterator[Finding]:
    """A field of the CSV has the wrong case.

    Why: tools written in Go still find it, but the API server drops it.

    Fix: write it as shown.
    """
    for csv, difference in _differences(bundle, TypeMisfit.CASE):
        yield objects.misfit_finding(csv.document, difference)


@rule("CSV042", "csv-not-text", suite=SOUND_SUITE)
def csv_not_text(bundle: Bundle) -> Iterator[Finding]:
    """A field of the CSV is a number or a boolean instead of a string.

    Why: `operator-sdk` accepts `true` as the string `true`, but `opm render` rejects
    the bundle.

    Fix: put the value in quotes.
    """
    for csv, difference in _differences(bundle, TypeMisfit.TEXT):
        if difference.keys != ("spec", "version"):
            yield objects.misfit_finding(csv.document, difference)


@rule("CSV043", "description-incomplete", severity=Severity.WARNING, suite=SOUND_SUITE)
def description_incomplete(bundle: Bundle) -> Iterator[Finding]:
    """A descriptor or a listed resource lacks a field.

    Why: the console cannot use it, and the schema of the CSV requires the field.

    Fix: write the field.
    """
    for csv, difference in _differences(bundle, TypeMisfit.MISSING):
        if difference.type in _DESCRIPTIVE and _is_worth_saying(difference):
            yield objects.misfit_finding(csv.document, difference)


@rule("CSV044", "properties-annotation-json", suite=SOUND_SUITE)
def properties_annotation_json(bundle: Bundle) -> Iterator[Finding]:
    """The annotation `olm.properties` is not a JSON list of properties.

    Why: `opm render` rejects the bundle.

    Fix: move the properties to `metadata/properties.yaml`.
    """
    from olmkit.rules.dependencies import json_value

    csv = bundle.csv
    text = csv.annotations.get("olm.properties", "") if csv else ""
    if csv is None or not text:
        return
    value = json_value(text)
    if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in value):
        yield Finding(
            "`olm.properties` is not a JSON list of properties",
            at=csv.at("metadata", "annotations", "olm.properties"),
            hint="move the properties to `metadata/properties.yaml`",
        )


@rule("CSV045", "csv-metadata", suite=SOUND_SUITE)
def csv_metadata(bundle: Bundle) -> Iterator[Finding]:
    """The API server rejects a label or an annotation of the CSV.

    Why: OLM cannot create the CSV when you install the operator.

    Fix: correct the key or the value.
    """
    csv = bundle.csv
    if csv is None:
        return
    labels = field_errors.label_errors(csv.metadata.get("labels"))
    annotations = field_errors.annotation_errors(csv.metadata.get("annotations"))
    for problem in (*labels, *annotations):
        yield Finding(problem.message, at=csv.at_key(*problem.keys))


@rule("CSV050", "csv-field-required", suite=SOUND_SUITE)
def csv_field_required(bundle: Bundle) -> Iterator[Finding]:
    """A deployment, a permission, a webhook or another part of the CSV lacks a field.

    Why: the API server rejects the CSV, or the object that OLM creates from it.

    Fix: write the field.
    """
    for csv, difference in _differences(bundle, TypeMisfit.MISSING):
        if (
            difference.type not in _DESCRIPTIVE
            and (difference.type, difference.wanted) not in _JUDGED_ELSEWHERE
        ):
            yield objects.misfit_finding(csv.document, difference)


def _missing_fields(csv: ClusterServiceVersion) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the fields without which a CSV is refused, with the messages of operator-sdk."""
    if not _has_content(csv.metadata):
        yield "ObjectMeta", ("metadata",)
    if not _has_content(csv.spec):
        yield "Spec", ("spec",)
        return
    install = kube_objects.mapping(csv.spec.get("install"))
    if not _has_content(install):
        yield "Spec.InstallStrategy", ("spec", "install")
    else:
        if not install.get("strategy"):
            yield "Spec.InstallStrategy.StrategyName", ("spec", "install", "strategy")
        if _has_content(csv.install_spec) and csv.install_spec.get("deployments") is None:
            keys = ("spec", "install", "spec", "deployments")
            yield "Spec.InstallStrategy.StrategySpec.DeploymentSpecs", keys
    if not csv.display_name:
        yield "Spec.DisplayName", ("spec", "displayName")


def _has_content(value: Any) -> bool:
    """Return whether a Go structure read from `value` would differ from an empty one."""
    if isinstance(value, Mapping):
        return any(_has_content(item) for item in value.values())
    return isinstance(value, list) or bool(value)


def _csv_is_unreadable(bundle: Bundle) -> bool:
    return any(
        b"ClusterServiceVersion" in bundle.tree.data(broken.path)
        for broken in bundle.unreadable
        if broken.path.startswith(bundle.manifests_dir)
    )


def _differences(
    bundle: Bundle, misfit: TypeMisfit
) -> Iterator[tuple[ClusterServiceVersion, TypeDifference]]:
    csv = bundle.csv
    if csv is not None:
        for difference in csv.differences:
            if difference.misfit is misfit:
                yield csv, difference


def _is_worth_saying(difference: TypeDifference) -> bool:
    """Return whether to report an empty field: most resources have no name, which is harmless."""
    return (difference.type, difference.wanted) != ("APIResourceReference", "name")
