"""Rules about the ClusterServiceVersion itself: that it is there, and its own fields.

What it says about APIs is judged in `apis`, its examples in `examples`, and
what it installs in `installs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base import names
from olmkit.base.diagnostics import Related, Severity
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle, ClusterServiceVersion
from olmkit.kube import field_errors
from olmkit.kube.typed import Difference, Misfit
from olmkit.rules import objects
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

API_VERSION = "operators.coreos.com/v1alpha1"
INSTALL_MODES = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
_CASED = (
    "olm.operatorGroup",
    "olm.operatorNamespace",
    "olm.targetNamespaces",
    "olm.providedAPIs",
    "olm.skipRange",
)
# The commonest strict version, so that the version module is imported for odd ones only.
_PLAIN_VERSION = re.compile(r"(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}", re.ASCII)
# The commonest ranges and image references, for the same reason.
_PLAIN_RANGE = re.compile(
    r"(?:[<>]=?|=)?(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2}"
    r"(?: (?:[<>]=?|=)?(?:0|[1-9]\d{0,8})(?:\.(?:0|[1-9]\d{0,8})){2})*",
    re.ASCII,
)
_PLAIN_IMAGE = re.compile(
    r"[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z]+(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*){1,6}"
    r"(?:@sha256:[0-9a-f]{64}|:[A-Za-z0-9_][A-Za-z0-9_.-]{0,100})",
    re.ASCII,
)
# Quotes of any kind, and the `v` before a number.
_ORNAMENT = re.compile(r"[\"'‘’“”]|\bv(?=\d)")  # noqa: RUF001 - found in published bundles
# Types whose missing fields hinder nothing but the console's forms.
_DESCRIPTIVE = frozenset(
    {"APIResourceReference", "SpecDescriptor", "StatusDescriptor", "ActionDescriptor"}
)
# Missing fields that rules of their own speak of, with the words that people search for.
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

    Why: the CSV is what OLM installs; a bundle is one CSV and what belongs to it.

    Fix: add the CSV; `olmkit bundle generate` writes it. If there is one, its
    `kind` or `apiVersion` is misspelt, or it is not the first document of its file.
    """
    if bundle.csv is not None or not bundle.manifests or _csv_is_unreadable(bundle):
        return
    directory = bundle.place(bundle.manifests_dir).path
    for document in bundle.manifests:
        kind = model.mapping(document.value).get("kind")
        looks_so = model.text(kind).lower() == model.CSV_KIND.lower()
        if looks_so or (kind is None and b"installModes" in bundle.data(document)):
            yield Finding(
                f"unable to find a csv in bundle directory {directory}",
                at=document.at("kind"),
                hint=f"write `kind: {model.CSV_KIND}`",
            )
            return
        if document.value is None and any(
            model.text(model.mapping(later.value).get("kind")) == model.CSV_KIND
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

    Fix: keep one CSV; make a bundle of its own for each other version.
    """
    for csv in bundle.csvs[1:]:
        yield Finding(
            "invalid bundle: contains multiple CSVs",
            at=csv.at("kind"),
            hint="keep one; each version is a bundle of its own",
            related=(Related(bundle.csvs[0].at("kind"), "the first is here"),),
        )


@rule("CSV003", "csv-type")
def csv_type(bundle: Bundle) -> Iterator[Finding]:
    """A field of the CSV has a value of a wrong type.

    Why: nothing can read the CSV then, neither OLM nor the tools for catalogs.

    Fix: write the value in the type that is due.
    """
    for csv, difference in _differences(bundle, Misfit.TYPE):
        yield objects.misfit_finding(csv.document, difference)


@rule("CSV004", "csv-version-unreadable")
def csv_version_unreadable(bundle: Bundle) -> Iterator[Finding]:
    """The version of the CSV is no version.

    Why: nothing can read the CSV then. A version such as `1.0` without quotes is
    a number, not a text.

    Fix: write three numbers, such as `1.0.0`.
    """
    csv = bundle.csv
    value = model.mapping(csv.value.get("spec")).get("version") if csv else None
    if csv is None or value is None or isinstance(value, list | Mapping):
        return
    if not isinstance(value, str) or not _is_tolerable(value):
        yield Finding(
            f"unable to parse CSV: `{model.text(value)}` is no version",
            at=csv.at("spec", "version"),
            hint="write three numbers, such as `1.0.0`",
        )


@rule("CSV005", "csv-name")
def csv_name(bundle: Bundle) -> Iterator[Finding]:
    """The name of the CSV is not one that OLM can use.

    Why: the name becomes the name of an object and the value of a label, so it is
    a DNS subdomain of at most 63 characters.

    Fix: use the package, `.v` and the version, such as `memcached-operator.v1.0.0`.
    """
    csv = bundle.csv
    if csv is not None:
        for problem in _name_problems(csv.name):
            yield Finding(
                f'metadata.name "{csv.name}" is invalid: {problem}',
                at=csv.at("metadata", "name"),
                hint="name it `<package>.v<version>`",
            )


@rule("CSV006", "replaces-name")
def replaces_name(bundle: Bundle) -> Iterator[Finding]:
    """The CSV that this one replaces has an impossible name.

    Why: no CSV can have that name, so the upgrade edge leads nowhere.

    Fix: write the name of the CSV that this one follows.
    """
    csv = bundle.csv
    if csv is not None and csv.replaces:
        for problem in _name_problems(csv.replaces):
            yield Finding(
                f'spec.replaces "{csv.replaces}" is invalid: {problem}',
                at=csv.at("spec", "replaces"),
                hint="write the `metadata.name` of the CSV before this one",
            )


@rule("CSV012", "repeated-install-mode", suite=SOUND_SUITE)
def repeated_install_mode(bundle: Bundle) -> Iterator[Finding]:
    """An install mode is listed more than once.

    Why: OLM cannot tell which entry is meant and refuses the whole CSV, which
    shows only after the bundle is installed.

    Fix: keep one entry for each install mode.
    """
    csv = bundle.csv
    seen: dict[str, int] = {}
    for index, mode in enumerate(csv.install_modes if csv else ()):
        first = seen.setdefault(mode.type, index)
        if csv is not None and first != index:
            yield Finding(
                f"install mode `{mode.type}` is listed more than once",
                at=csv.at("spec", "installModes", index),
                hint="keep one entry for each install mode",
                related=(Related(csv.at("spec", "installModes", first), "first listed here"),),
            )


@rule("CSV016", "no-install-modes")
def no_install_modes(bundle: Bundle) -> Iterator[Finding]:
    """The CSV lists no install modes.

    Why: OLM then supports none of them, and the operator cannot be installed.

    Fix: list the four modes with `supported: true` or `false` each.
    """
    csv = bundle.csv
    if csv is not None and not csv.install_modes and csv.spec:
        yield Finding(
            "install modes not found",
            at=csv.at("spec", "installModes"),
            hint=f"list {', '.join(f'`{mode}`' for mode in INSTALL_MODES)} in `spec.installModes`",
        )


@rule("CSV018", "no-supported-install-mode")
def no_supported_install_mode(bundle: Bundle) -> Iterator[Finding]:
    """No install mode is supported.

    Why: the operator cannot be installed in any way.

    Fix: set `supported: true` for at least one mode, mostly `AllNamespaces`.
    """
    csv = bundle.csv
    if csv is not None and csv.install_modes and not any(m.supported for m in csv.install_modes):
        yield Finding(
            "none of InstallModeTypes are supported",
            at=csv.at("spec", "installModes"),
            hint="set `supported: true` for at least one, mostly `AllNamespaces`",
        )


@rule("CSV019", "no-min-kube-version", severity=Severity.WARNING)
def no_min_kube_version(bundle: Bundle) -> Iterator[Finding]:
    """The CSV does not say which version of Kubernetes it needs.

    Why: without `minKubeVersion` OLM installs the operator into any cluster,
    however old.

    Fix: write the oldest version that the operator is tested with.
    """
    csv = bundle.csv
    if csv is not None and csv.spec and not csv.min_kube_version.strip():
        yield Finding(
            "csv.Spec.minKubeVersion is not informed",
            at=csv.at("spec", "minKubeVersion"),
            hint="write the oldest Kubernetes version that it works with: `minKubeVersion: 1.28.0`",
        )


@rule("CSV020", "min-kube-version")
def min_kube_version(bundle: Bundle) -> Iterator[Finding]:
    """The oldest version of Kubernetes is no version.

    Why: OLM compares it with the cluster's version and needs all three numbers,
    without `v`.

    Fix: write it like `1.28.0`.
    """
    csv = bundle.csv
    value = csv.min_kube_version if csv else ""
    if csv is not None and value.strip() and not is_strict_version(value):
        yield Finding(
            f"csv.Spec.MinKubeVersion has an invalid value: {value}",
            at=csv.at("spec", "minKubeVersion"),
            hint="write three numbers without `v`, such as `1.28.0`",
        )


@rule("CSV021", "csv-field-missing")
def csv_field_missing(bundle: Bundle) -> Iterator[Finding]:
    """A field that every CSV must have is missing or empty.

    Why: the API server refuses the CSV.

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
    """An annotation of OLM is written with wrong capitals.

    Why: OLM does not find it, and what it says has no effect.

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
            )


@rule("CSV023", "properties-annotation", severity=Severity.WARNING)
def properties_annotation(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has its properties in an annotation.

    Why: the annotation `olm.properties` is deprecated; properties have a file.

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

    Why: the API server cannot tell which kind is meant.

    Fix: write `apiVersion: operators.coreos.com/v1alpha1`.
    """
    csv = bundle.csv
    if csv is not None and not csv.api_version:
        yield Finding(
            "'apiVersion' is missing", at=csv.at("apiVersion"), hint=f"write `{API_VERSION}`"
        )


@rule("CSV030", "unknown-install-mode", suite=SOUND_SUITE)
def unknown_install_mode(bundle: Bundle) -> Iterator[Finding]:
    """An install mode is not one of the four that exist.

    Why: OLM passes over it, and the mode that was meant counts as unsupported. It
    is a warning as long as another mode is supported.

    Fix: correct its name.
    """
    csv = bundle.csv
    modes = csv.install_modes if csv else ()
    usable = any(mode.supported for mode in modes if mode.type in INSTALL_MODES)
    for index, mode in enumerate(modes):
        if csv is not None and mode.type not in INSTALL_MODES:
            import difflib

            near = difflib.get_close_matches(mode.type, INSTALL_MODES, n=1)
            yield Finding(
                f"install mode `{mode.type}` does not exist",
                at=csv.at("spec", "installModes", index, "type"),
                hint=f"did you mean `{near[0]}`"
                if near
                else f"modes are {', '.join(INSTALL_MODES)}",
                severity=Severity.WARNING if usable else None,
            )


@rule("CSV031", "csv-api-version", suite=SOUND_SUITE)
def csv_api_version(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has another `apiVersion` than the one that exists.

    Why: the API server does not know such an object. OLM itself passes over a
    wrong version of the right group, so that alone is a warning.

    Fix: write `apiVersion: operators.coreos.com/v1alpha1`.
    """
    csv = bundle.csv
    if csv is not None and csv.api_version not in ("", API_VERSION):
        same_group = csv.gvk.group == API_VERSION.partition("/")[0]
        yield Finding(
            f"a ClusterServiceVersion of `{csv.api_version}` does not exist",
            at=csv.at("apiVersion"),
            hint=f"write `{API_VERSION}`",
            severity=Severity.WARNING if same_group else None,
        )


@rule("CSV032", "csv-namespace", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_namespace(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has a namespace.

    Why: OLM creates the CSV in the namespace that the user chose; another one in
    the file misleads. (`placeholder`, the custom of old generators, is let pass.)

    Fix: remove `metadata.namespace`.
    """
    csv = bundle.csv
    namespace = model.text(csv.metadata.get("namespace")) if csv else ""
    if csv is not None and namespace not in ("", "placeholder"):
        yield Finding(
            f"a CSV in a bundle has no namespace, and this one has `{namespace}`",
            at=csv.at("metadata", "namespace"),
            hint="remove it: OLM sets the namespace",
        )


@rule("CSV033", "csv-name-version", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_name_version(bundle: Bundle) -> Iterator[Finding]:
    """The name of the CSV and its version differ.

    Why: people and scripts read the version from the name.

    Fix: end the name in `.v` and the version.
    """
    csv = bundle.csv
    if csv is None or not csv.version or csv.version == "0.0.0":
        return
    wanted = csv.version + (f"-{csv.release}" if csv.release else "")
    name = csv.name
    if name and not name.endswith((wanted, wanted.replace("+", "-"), wanted.replace("+", "."))):
        yield Finding(
            f"name `{name}` does not end in version `{wanted}`",
            at=csv.at("metadata", "name"),
            hint=f"name it `<package>.v{wanted}`",
            related=(Related(csv.at("spec", "version"), "the version is here"),),
        )


@rule("CSV034", "replaces-itself", suite=SOUND_SUITE)
def replaces_itself(bundle: Bundle) -> Iterator[Finding]:
    """The CSV replaces or skips itself.

    Why: the upgrade graph gets a circle, and catalogs refuse it.

    Fix: name the CSV before this one.
    """
    csv = bundle.csv
    if csv is None or not csv.name:
        return
    if csv.replaces == csv.name:
        yield Finding(
            f"`{csv.name}` replaces itself",
            at=csv.at("spec", "replaces"),
            hint="name the CSV before this one, or remove `replaces`",
        )
    for index, name in enumerate(csv.skips):
        if name == csv.name:
            yield Finding(f"`{csv.name}` skips itself", at=csv.at("spec", "skips", index))


@rule("CSV035", "skips-name", suite=SOUND_SUITE)
def skips_name(bundle: Bundle) -> Iterator[Finding]:
    """A CSV that is skipped has an impossible name.

    Why: no CSV can have that name, so nothing is skipped.

    Fix: write names of CSVs, not versions.
    """
    csv = bundle.csv
    for index, name in enumerate(csv.skips if csv else ()):
        if csv is not None and any(_name_problems(name)):
            yield Finding(
                f"`{name}` in `spec.skips` is no name of a CSV",
                at=csv.at("spec", "skips", index),
                hint="write the `metadata.name` of the CSV that is skipped",
            )


@rule("CSV036", "skip-range", suite=SOUND_SUITE)
def skip_range(bundle: Bundle) -> Iterator[Finding]:
    """The skip range is no range of versions.

    Why: OLM passes over a range that it cannot read, and no version is skipped. It
    is a warning where only a `v` or quotes stand in the way.

    Fix: write it like `>=1.0.0 <1.2.0`.
    """
    csv = bundle.csv
    if csv is None or not csv.skip_range.strip() or _PLAIN_RANGE.fullmatch(csv.skip_range):
        return
    from olmkit.base.versions import InvalidRangeError, VersionRange

    try:
        VersionRange.parse(csv.skip_range)
    except InvalidRangeError:
        plain = _without_ornaments(csv.skip_range)
        yield Finding(
            f"`{csv.skip_range}` is no range of versions",
            at=csv.at("metadata", "annotations", "olm.skipRange"),
            hint=f"write `{plain}`" if plain else "write it like `>=1.0.0 <1.2.0`",
            severity=Severity.WARNING if plain else None,
        )


@rule("CSV037", "csv-version-missing", suite=SOUND_SUITE)
def csv_version_missing(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no version, or 0.0.0.

    Why: catalogs order bundles by their version. 0.0.0 is what a missing version
    counts as.

    Fix: write `spec.version`.
    """
    csv = bundle.csv
    if csv is not None and csv.spec and csv.version in ("", "0.0.0"):
        value = model.mapping(csv.value.get("spec")).get("version")
        if value is None or value == "0.0.0":
            yield Finding(
                "the CSV has no version" if value is None else "the version of the CSV is 0.0.0",
                at=csv.at("spec", "version"),
                hint="write `version: 0.1.0` below `spec`",
            )


@rule("CSV038", "csv-version", suite=SOUND_SUITE)
def csv_version(bundle: Bundle) -> Iterator[Finding]:
    """The version of the CSV is not a strict semantic version.

    Why: the CSV can be read, but catalogs refuse the bundle: they want exactly
    three numbers without leading zeros and without `v`.

    Fix: write it like `1.0.0`.
    """
    csv = bundle.csv
    value = model.mapping(csv.value.get("spec")).get("version") if csv else None
    if csv is None or not isinstance(value, str):
        return
    if _is_tolerable(value) and not is_strict_version(value):
        yield Finding(
            f"version `{value}` is not a semantic version",
            at=csv.at("spec", "version"),
            hint="write three numbers, without `v` and leading zeros, such as `1.0.0`",
        )


@rule("CSV039", "status", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_status(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has a status.

    Why: the status is what OLM says about an installed CSV; in a bundle it was
    copied from a cluster, and has no effect.

    Fix: remove `status`.
    """
    csv = bundle.csv
    if csv is not None and _has_content(csv.value.get("status")):
        yield Finding(
            "a status does not belong into a bundle", at=csv.at_key("status"), hint="remove it"
        )


@rule("CSV040", "csv-field-unknown", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_field_unknown(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has a field that does not exist.

    Why: it is dropped without a word; mostly its name is misspelt, or it stands
    one level too deep or too high.

    Fix: correct its name or its place.
    """
    for csv, difference in _differences(bundle, Misfit.UNKNOWN):
        yield objects.misfit_finding(csv.document, difference)


@rule("CSV041", "csv-field-case", severity=Severity.WARNING, suite=SOUND_SUITE)
def csv_field_case(bundle: Bundle) -> Iterator[Finding]:
    """A field of the CSV is written with wrong capitals.

    Why: tools written in Go find it all the same, the API server drops it.

    Fix: write it as shown.
    """
    for csv, difference in _differences(bundle, Misfit.CASE):
        yield objects.misfit_finding(csv.document, difference)


@rule("CSV042", "csv-not-text", suite=SOUND_SUITE)
def csv_not_text(bundle: Bundle) -> Iterator[Finding]:
    """A field of the CSV is a number or a truth value where a text is due.

    Why: `operator-sdk` takes `true` for the text `true`, but `opm render` refuses
    the bundle.

    Fix: put the value in quotes.
    """
    for csv, difference in _differences(bundle, Misfit.TEXT):
        if difference.keys != ("spec", "version"):
            yield objects.misfit_finding(csv.document, difference)


@rule("CSV043", "description-incomplete", severity=Severity.WARNING, suite=SOUND_SUITE)
def description_incomplete(bundle: Bundle) -> Iterator[Finding]:
    """A descriptor or a listed resource lacks a field.

    Why: the console has no use for it then, and the schema of the CSV wants it.

    Fix: write the field.
    """
    for csv, difference in _differences(bundle, Misfit.MISSING):
        if difference.type in _DESCRIPTIVE and _is_worth_saying(difference):
            yield objects.misfit_finding(csv.document, difference)


@rule("CSV044", "properties-annotation-json", suite=SOUND_SUITE)
def properties_annotation_json(bundle: Bundle) -> Iterator[Finding]:
    """The annotation `olm.properties` is no JSON list of properties.

    Why: `opm render` refuses the bundle.

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
            "`olm.properties` is no JSON list of properties",
            at=csv.at("metadata", "annotations", "olm.properties"),
            hint="move the properties to `metadata/properties.yaml`",
        )


@rule("CSV045", "csv-metadata", suite=SOUND_SUITE)
def csv_metadata(bundle: Bundle) -> Iterator[Finding]:
    """A label or an annotation of the CSV has a form that the API server refuses.

    Why: creating the CSV fails when the operator is installed.

    Fix: correct the key or the value.
    """
    csv = bundle.csv
    if csv is None:
        return
    labels = field_errors.label_errors(csv.metadata.get("labels"))
    annotations = field_errors.annotation_errors(csv.metadata.get("annotations"))
    for problem in (*labels, *annotations):
        yield Finding(problem.message, at=csv.at_key(*problem.keys))


@rule("CSV046", "release", suite=SOUND_SUITE)
def release(bundle: Bundle) -> Iterator[Finding]:
    """The release of the CSV is malformed, or not in its name.

    Why: catalogs tell builds of one version apart by their release, and want the
    bundle to be called package, `-v`, version, `-` and release.

    Fix: rename the CSV, or remove `spec.release`.
    """
    csv = bundle.csv
    if csv is None or not csv.release:
        return
    from olmkit.base.versions import InvalidVersionError, Release

    try:
        Release.parse(csv.release)
    except InvalidVersionError as error:
        yield Finding(
            f"release `{csv.release}` is not valid: {error.reason or error.message}",
            at=csv.at("spec", "release"),
        )
        return
    wanted = f"{bundle.package}-v{csv.version}-{csv.release}"
    if bundle.package and csv.name != wanted:
        yield Finding(
            f"a CSV with a release must be named `{wanted}`, not `{csv.name}`",
            at=csv.at("metadata", "name"),
            related=(Related(csv.at("spec", "release"), "the release is here"),),
        )
    if csv.annotations.get("olm.substitutesFor"):
        yield Finding(
            "a CSV has either a release or `olm.substitutesFor`, not both",
            at=csv.at("metadata", "annotations", "olm.substitutesFor"),
        )


@rule("CSV047", "related-image", suite=SOUND_SUITE)
def related_image(bundle: Bundle) -> Iterator[Finding]:
    """A related image is no image reference.

    Why: mirroring a catalog copies the related images; it stops at one that is
    no reference.

    Fix: write registry, repository, and tag or digest, without `https://`.
    """
    csv = bundle.csv
    for index, entry in enumerate(csv.related_images if csv else ()):
        image = model.text(entry.get("image"))
        if csv is None or not image or _PLAIN_IMAGE.fullmatch(image):
            continue
        from olmkit.oci.reference import InvalidReferenceError, Reference

        try:
            Reference.parse(image)
        except InvalidReferenceError as error:
            unfinished = image.endswith(("@", ":"))
            yield Finding(
                f"related image `{image}` is no image reference",
                at=csv.at("spec", "relatedImages", index, "image"),
                hint="write the digest or tag behind it" if unfinished else error.hint,
                severity=Severity.WARNING if unfinished else None,
            )


@rule("CSV048", "related-image-missing", severity=Severity.WARNING, suite=SOUND_SUITE)
def related_image_missing(bundle: Bundle) -> Iterator[Finding]:
    """An entry of the related images has no image.

    Why: mirroring a catalog leaves that image out, and the operator lacks it in a
    disconnected cluster. Newer catalogs refuse the bundle.

    Fix: write `image`; `value` is not read.
    """
    csv = bundle.csv
    for index, entry in enumerate(csv.related_images if csv else ()):
        if csv is not None and not model.text(entry.get("image")):
            name = model.text(entry.get("name"))
            yield Finding(
                f"related image{f' `{name}`' if name else ''} has no `image`",
                at=csv.at("spec", "relatedImages", index),
                hint="write the reference into `image`",
            )


@rule("CSV049", "related-image-repeated", severity=Severity.WARNING, suite=SOUND_SUITE)
def related_image_repeated(bundle: Bundle) -> Iterator[Finding]:
    """A related image is listed twice with the same name.

    Why: the second entry has no effect; mostly another image was meant.

    Fix: remove it.
    """
    csv = bundle.csv
    seen: dict[tuple[str, str], int] = {}
    for index, entry in enumerate(csv.related_images if csv else ()):
        key = (model.text(entry.get("name")), model.text(entry.get("image")))
        first = seen.setdefault(key, index)
        if csv is not None and key[1] and first != index:
            yield Finding(
                f"related image `{key[1]}` is listed twice",
                at=csv.at("spec", "relatedImages", index),
                related=(Related(csv.at("spec", "relatedImages", first), "first listed here"),),
            )


@rule("CSV050", "csv-field-required", suite=SOUND_SUITE)
def csv_field_required(bundle: Bundle) -> Iterator[Finding]:
    """A deployment, a permission, a webhook or another part of the CSV lacks a field.

    Why: the API server refuses the CSV, or what OLM makes of it.

    Fix: write the field.
    """
    for csv, difference in _differences(bundle, Misfit.MISSING):
        if (
            difference.type not in _DESCRIPTIVE
            and (difference.type, difference.wanted) not in _JUDGED_ELSEWHERE
        ):
            yield objects.misfit_finding(csv.document, difference)


def is_strict_version(text: str) -> bool:
    """Whether `text` is a semantic version in the strict sense."""
    if _PLAIN_VERSION.fullmatch(text):
        return True
    from olmkit.base.versions import InvalidVersionError, Version

    try:
        Version.parse(text)
    except InvalidVersionError:
        return False
    return True


def _is_tolerable(text: str) -> bool:
    """Whether a tolerant reader takes `text` for a version."""
    if _PLAIN_VERSION.fullmatch(text):
        return True
    from olmkit.base.versions import InvalidVersionError, Version

    try:
        Version.parse_tolerantly(text)
    except InvalidVersionError:
        return False
    return True


def _without_ornaments(text: str) -> str:
    """`text` without quotes and `v`s, when that makes it a range; else an empty text."""
    from olmkit.base.versions import InvalidRangeError, VersionRange

    plain = _ORNAMENT.sub("", text).strip()
    try:
        VersionRange.parse(plain)
    except InvalidRangeError:
        return ""
    return plain


def _name_problems(name: str) -> Iterator[str]:
    if not names.is_subdomain(name):
        yield field_errors.SUBDOMAIN
    elif len(name) > names.MAX_LABEL:
        yield f"must be no more than {names.MAX_LABEL} characters"


def _missing_fields(csv: ClusterServiceVersion) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The fields without which a CSV is refused, in the words of operator-sdk."""
    if not _has_content(csv.metadata):
        yield "ObjectMeta", ("metadata",)
    if not _has_content(csv.spec):
        yield "Spec", ("spec",)
        return
    install = model.mapping(csv.spec.get("install"))
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
    """Whether a Go structure read from `value` would differ from an empty one."""
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
    bundle: Bundle, misfit: Misfit
) -> Iterator[tuple[ClusterServiceVersion, Difference]]:
    csv = bundle.csv
    if csv is not None:
        for difference in csv.differences:
            if difference.misfit is misfit:
                yield csv, difference


def _is_worth_saying(difference: Difference) -> bool:
    """A resource without a name is the rule rather than the exception, and harms nobody."""
    return (difference.type, difference.wanted) != ("APIResourceReference", "name")
