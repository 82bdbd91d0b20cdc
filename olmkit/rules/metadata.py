"""Rules about the annotations of a bundle.

`metadata/annotations.yaml` describes a bundle: its package, its channels, and the folder of its
manifests. Channels, folders, dependencies and properties have their own modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from olmkit.base import names
from olmkit.base.diagnostics import Related, Severity
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle
from olmkit.kube import objects
from olmkit.rules import fixes
from olmkit.rules.annotation_places import annotations_value, at, at_key, key_fix, section
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

REQUIRED = (
    model.MEDIA_TYPE,
    model.MANIFESTS,
    model.METADATA,
    model.PACKAGE,
    model.CHANNELS,
)

# Keys below the prefix that a tool reads or writes.
KNOWN_KEYS = frozenset(
    {
        *REQUIRED,
        model.DEFAULT_CHANNEL,
        model.TEST_MEDIA_TYPE,
        model.TEST_CONFIG,
        model.ANNOTATION_PREFIX + "metrics.mediatype.v1",
        model.ANNOTATION_PREFIX + "metrics.builder",
        model.ANNOTATION_PREFIX + "metrics.project_layout",
    }
)

OPENSHIFT_VERSIONS = "com.redhat.openshift.versions"
_OPENSHIFT_FORM = re.compile(
    r"=?v?\d+\.\d+|v?\d+\.\d+-v?\d+\.\d+|v?\d+\.\d+(,v?\d+\.\d+(-v?\d+\.\d+)?)+", re.ASCII
)


@rule("MET001", "no-annotations")
def no_annotations(bundle: Bundle) -> Iterator[Finding]:
    """The bundle has no annotations.

    Why: `metadata/annotations.yaml` has the package, the channels and the location of the
    manifests. Without it, no tool can identify the bundle.

    Fix: run `olmkit bundle generate`, or write `metadata/annotations.yaml` with the mapping
    `annotations` as its first document.
    """
    if bundle.annotations or _annotations_unreadable(bundle):
        return
    document = bundle.annotations_document
    if document is None:
        yield Finding(
            f"metadata not found in {bundle.place().path}",
            at=bundle.place(),
            hint="write `metadata/annotations.yaml`; `olmkit bundle generate` does it",
        )
        return
    value = annotations_value(bundle)
    if value is not None and not isinstance(value, dict):
        return
    if document.value is None:
        hint = "the first document of the file is empty; only the first document is read"
    elif value is None:
        hint = "put the keys below a top-level key `annotations`"
    else:
        hint = "the mapping `annotations` is empty"
    yield Finding(
        f"metadata not found in {bundle.place().path}", at=document.at("annotations"), hint=hint
    )


@rule("MET002", "annotation-missing")
def annotation_missing(bundle: Bundle) -> Iterator[Finding]:
    """A required annotation is missing.

    Why: catalogs and OLM read media type, package, channels and directories from the
    annotations, and reject a bundle that lacks one.

    Fix: add the key to `metadata/annotations.yaml`.
    """
    if not bundle.annotations:
        return
    for key in REQUIRED:
        if key not in bundle.annotations and not _has_wrong_type(bundle, key):
            yield Finding(
                f'Missing annotation "{key}"',
                at=at(bundle),
                hint=f"add `{key}` to the annotations",
            )


@rule("MET003", "media-type")
def media_type(bundle: Bundle) -> Iterator[Finding]:
    """The media type is not `registry+v1`.

    Why: `registry+v1` is the only bundle format that OLM installs. `plain` and `helm` are
    reserved names that were never used.

    Fix: set the annotation to `registry+v1`.
    """
    found = bundle.annotations.get(model.MEDIA_TYPE)
    if found is None or found == "registry+v1":
        return
    yield Finding(
        f'Expecting annotation "{model.MEDIA_TYPE}" to have value "registry+v1" '
        f'instead of "{found}"',
        at=at(bundle, model.MEDIA_TYPE),
        hint="set it to `registry+v1`, the only media type that OLM uses",
    )


@rule("MET007", "annotation-type")
def annotation_type(bundle: Bundle) -> Iterator[Finding]:
    """The annotations, or the value of an annotation, have the wrong type.

    Why: annotations are strings. Every tool rejects the whole file.

    Fix: write the value as a string, in quotes.
    """
    value = annotations_value(bundle)
    document = bundle.annotations_document
    if document is None or value is None:
        return
    if not isinstance(value, dict):
        yield Finding(
            f"`annotations` must be a mapping, not {_noun(value)}", at=document.at("annotations")
        )
        return
    for key, item in value.items():
        if isinstance(item, dict | list):
            yield Finding(
                f"the value of `{key}` must be a string, not {_noun(item)}",
                at=at(bundle, key),
                hint="write it as one string, in quotes",
            )


@rule("MET020", "annotation-not-text", severity=Severity.WARNING, suite=SOUND_SUITE)
def annotation_not_text(bundle: Bundle) -> Iterator[Finding]:
    """The value of an annotation is a boolean, a number or null.

    Why: annotations are strings. Some tools accept `true` as the string `true`;
    strict ones reject the file.

    Fix: put the value in quotes.
    """
    for key, value in objects.mapping(annotations_value(bundle)).items():
        if value is None or isinstance(value, bool | int | float):
            document = bundle.annotations_document
            yield Finding(
                f"the value of `{key}` is not a string",
                at=at(bundle, key),
                hint="put it in quotes" if value is not None else "give it a value, or remove it",
                fix=fixes.quote_value(document, (section(bundle), key)) if document else None,
            )


@rule("MET021", "package-name", suite=SOUND_SUITE)
def package_name(bundle: Bundle) -> Iterator[Finding]:
    """The package has no name, or a name that is not valid in a catalog.

    Why: the package name becomes part of object names and labels in the cluster, so it must
    be a DNS label: lowercase letters, digits and `-`. With an empty name, `opm render`
    prints nothing.

    Fix: choose a valid name. Users type it to install the operator.
    """
    name = bundle.annotations.get(model.PACKAGE)
    if name is None or names.is_label(name):
        return
    yield Finding(
        f"`{name}` is not a package name" if name else "the package name is empty",
        at=at(bundle, model.PACKAGE),
        hint="use lower case letters, digits and `-`, at most 63 characters",
    )


@rule("MET028", "annotations-key", suite=SOUND_SUITE)
def annotations_key(bundle: Bundle) -> Iterator[Finding]:
    """The key `annotations` has the wrong case.

    Why: some tools still find it, but others, including OLM, do not.

    Fix: write `annotations`.
    """
    document = bundle.annotations_document
    if document is None:
        return
    for key in objects.mapping(document.value):
        if key.lower() == "annotations" and key != "annotations":
            yield Finding(
                f"`{key}` should be `annotations`",
                at=document.at_key(key),
                fix=fixes.rename_key(document, (key,), "annotations"),
            )


@rule("MET029", "annotations-file", severity=Severity.WARNING, suite=SOUND_SUITE)
def annotations_file(bundle: Bundle) -> Iterator[Finding]:
    """The annotations are in the wrong file, or in several files.

    Why: some tools read `annotations.yaml`, and others the first file by name.

    Fix: keep one file with annotations, and name it `metadata/annotations.yaml`.
    """
    document = bundle.annotations_document
    if document is None:
        return
    if not document.path.endswith("/" + layout.ANNOTATIONS_FILE):
        yield Finding(
            "the file with the annotations should be named `annotations.yaml`", at=document.at()
        )
    for other in bundle.metadata:
        value = other.get("annotations")
        if other.path != document.path and isinstance(value, dict) and value:
            agree = value == annotations_value(bundle)
            yield Finding(
                f"two files have annotations{'' if agree else ', and they disagree'}",
                at=other.at("annotations"),
                hint="keep one of them, named `annotations.yaml`",
                related=(Related(at(bundle), "these are used"),),
            )


@rule("MET030", "annotation-unknown", severity=Severity.WARNING, suite=SOUND_SUITE)
def annotation_unknown(bundle: Bundle) -> Iterator[Finding]:
    """An annotation looks like an annotation of OLM, but is unknown.

    Why: keys below `operators.operatorframework.io.` belong to OLM. An unknown key is
    usually misspelled, and has no effect.

    Fix: correct the key. For your own keys, use a domain that you own.
    """
    for key in bundle.annotations:
        if key.startswith(model.ANNOTATION_PREFIX) and key not in KNOWN_KEYS:
            import difflib

            near = difflib.get_close_matches(key, KNOWN_KEYS, n=1)
            yield Finding(
                f"annotation `{key}` is not known",
                at=at_key(bundle, key),
                hint=f"did you mean `{near[0]}`" if near else "",
                fix=key_fix(bundle, key, near[0]) if near else None,
            )


@rule("MET031", "openshift-versions", severity=Severity.WARNING, suite=SOUND_SUITE)
def openshift_versions(bundle: Bundle) -> Iterator[Finding]:
    """The OpenShift versions have an unknown format.

    Why: the pipelines of OpenShift's catalogs read `com.redhat.openshift.versions` to
    decide which catalogs get the bundle.

    Fix: write `v4.12` (that and later), `v4.12-v4.14` (a range), `=v4.12` (only that) or
    `v4.12,v4.13` (a list).
    """
    value = bundle.annotations.get(OPENSHIFT_VERSIONS)
    if value is not None and not _OPENSHIFT_FORM.fullmatch(value):
        yield Finding(
            f"`{value}` names no versions of OpenShift",
            at=at(bundle, OPENSHIFT_VERSIONS),
            hint="write `v4.12`, `v4.12-v4.14`, `=v4.12` or `v4.12,v4.13`",
        )


@rule("MET032", "extra-documents", severity=Severity.WARNING, suite=SOUND_SUITE)
def extra_documents(bundle: Bundle) -> Iterator[Finding]:
    """A file of the bundle has more than one document.

    Why: tools read only the first document of a file; the others are lost without a
    warning.

    Fix: put each object into a separate file.
    """
    for document in (*bundle.manifests, *bundle.metadata):
        extra = layout.extra_documents(bundle, document)
        if extra:
            yield Finding(
                f"only the first document of a file is read, and this file has {len(extra) + 1}",
                at=extra[0].at(),
                hint="put each object into a separate file",
            )


def _annotations_unreadable(bundle: Bundle) -> bool:
    folder = f"{bundle.metadata_dir}/"
    return bundle.annotations_document is None and any(
        broken.path.startswith(folder) for broken in bundle.unreadable
    )


def _has_wrong_type(bundle: Bundle, key: str) -> bool:
    return isinstance(objects.mapping(annotations_value(bundle)).get(key), dict | list)


def _noun(value: Any) -> str:
    match value:
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return "a single value"
