"""Rules about the metadata of a bundle: its annotations and its folders.

`metadata/annotations.yaml` describes a bundle: its package, its channels, and the folder of its
manifests. Dependencies and properties have their own modules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from olmkit.base import names, texts
from olmkit.base.diagnostics import Fix, Location, Related, Severity
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle
from olmkit.kube import objects
from olmkit.rules import fixes
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
_CHANNEL_FORM = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


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
    value = _annotations(bundle)
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
                at=_at(bundle),
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
        at=_at(bundle, model.MEDIA_TYPE),
        hint="set it to `registry+v1`, the only media type that OLM uses",
    )


@rule("MET004", "channels-empty")
def channels_empty(bundle: Bundle) -> Iterator[Finding]:
    """The bundle names no channel.

    Why: OLM cannot install a bundle that is in no channel.

    Fix: name at least one channel, for example `stable`.
    """
    if bundle.annotations.get(model.CHANNELS) == "":
        yield Finding(
            f'Expecting annotation "{model.CHANNELS}" to have non-empty value',
            at=_at(bundle, model.CHANNELS),
            hint="name at least one channel, such as `stable`",
        )


@rule("MET005", "default-channel-empty")
def default_channel_empty(bundle: Bundle) -> Iterator[Finding]:
    """The default channel is an empty string.

    Why: an empty string is not a channel name. The key is optional.

    Fix: name the default channel, or remove the key.
    """
    if bundle.annotations.get(model.DEFAULT_CHANNEL) == "":
        yield Finding(
            f'Expecting annotation "{model.DEFAULT_CHANNEL}" to have non-empty value',
            at=_at(bundle, model.DEFAULT_CHANNEL),
            hint="name the default channel, or remove the key",
        )


@rule("MET006", "no-manifests")
def no_manifests(bundle: Bundle) -> Iterator[Finding]:
    """The manifests directory has no files.

    Why: a bundle without manifests has nothing to install.

    Fix: put the manifests into the directory, or correct the annotation that names it.
    """
    prefix = f"{bundle.manifests_dir}/"
    inside = [path.removeprefix(prefix) for path in bundle.tree if path.startswith(prefix)]
    if any("/" not in path for path in inside):
        return
    directory = bundle.place(bundle.manifests_dir).path
    below = _bundle_below(bundle)
    if below:
        hint = below
    elif inside:
        hint = "the files are in folders below it; put them directly into the folder"
    elif model.MANIFESTS in bundle.annotations:
        hint = f"the annotation `{model.MANIFESTS}` names this folder; correct either"
    else:
        hint = "put the manifests into this folder"
    yield Finding(
        f"The directory {texts.shorten(directory)} contains no yaml files",
        at=_at(bundle, model.MANIFESTS) if bundle.annotations_document else bundle.place(),
        hint=hint,
    )


@rule("MET007", "annotation-type")
def annotation_type(bundle: Bundle) -> Iterator[Finding]:
    """The annotations, or the value of an annotation, have the wrong type.

    Why: annotations are strings. Every tool rejects the whole file.

    Fix: write the value as a string, in quotes.
    """
    value = _annotations(bundle)
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
                at=_at(bundle, key),
                hint="write it as one string, in quotes",
            )


@rule("MET020", "annotation-not-text", severity=Severity.WARNING, suite=SOUND_SUITE)
def annotation_not_text(bundle: Bundle) -> Iterator[Finding]:
    """The value of an annotation is a boolean, a number or null.

    Why: annotations are strings. Some tools accept `true` as the string `true`;
    strict ones reject the file.

    Fix: put the value in quotes.
    """
    for key, value in objects.mapping(_annotations(bundle)).items():
        if value is None or isinstance(value, bool | int | float):
            document = bundle.annotations_document
            yield Finding(
                f"the value of `{key}` is not a string",
                at=_at(bundle, key),
                hint="put it in quotes" if value is not None else "give it a value, or remove it",
                fix=fixes.quote_value(document, (_section(bundle), key)) if document else None,
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
        at=_at(bundle, model.PACKAGE),
        hint="use lower case letters, digits and `-`, at most 63 characters",
    )


@rule("MET022", "channel-name-empty", suite=SOUND_SUITE)
def channel_name_empty(bundle: Bundle) -> Iterator[Finding]:
    """The list of channels has an empty name.

    Why: an extra comma creates a channel without a name, which catalogs reject.

    Fix: remove the comma.
    """
    listed = bundle.annotations.get(model.CHANNELS, "")
    if listed and not all(name.strip() for name in listed.split(",")):
        yield Finding(
            f"the list of channels `{listed}` has an empty name",
            at=_at(bundle, model.CHANNELS),
            hint="separate the names by one comma each",
            fix=_channels_fix(bundle),
        )


@rule("MET023", "channel-list-form", severity=Severity.WARNING, suite=SOUND_SUITE)
def channel_list_form(bundle: Bundle) -> Iterator[Finding]:
    """The list of channels has spaces, duplicates or invalid characters.

    Why: tools split the list at commas and keep the spaces, so that ` beta` and `beta` are
    two channels. A space also breaks the label in a Containerfile.

    Fix: write each name once, and separate the names only with commas.
    """
    listed = bundle.annotations.get(model.CHANNELS, "")
    parts = [name for name in listed.split(",") if name.strip()]
    if any(name != name.strip() for name in parts):
        yield Finding(
            f"the list of channels `{listed}` has spaces",
            at=_at(bundle, model.CHANNELS),
            hint="separate the names by commas alone",
            fix=_channels_fix(bundle),
        )
    for name, count in Counter(name.strip() for name in parts).items():
        if count > 1:
            yield Finding(
                f"channel `{name}` is listed more than once",
                at=_at(bundle, model.CHANNELS),
                fix=_channels_fix(bundle),
            )
        if not _CHANNEL_FORM.fullmatch(name):
            yield Finding(
                f"channel name `{name}` has characters that break catalogs",
                at=_at(bundle, model.CHANNELS),
                hint="use letters, digits, `-`, `_` and `.`",
            )


@rule("MET024", "default-channel-unlisted", severity=Severity.WARNING, suite=SOUND_SUITE)
def default_channel_unlisted(bundle: Bundle) -> Iterator[Finding]:
    """The default channel is not among the channels of the bundle.

    Why: another bundle can provide the default channel. Usually this is a mistake, and the
    default channel of the package has no bundle.

    Fix: add the default channel to the channels, or name one of them.
    """
    default = bundle.default_channel
    if default and bundle.channels and default not in bundle.channels:
        yield Finding(
            f"default channel `{default}` is not among the channels `{','.join(bundle.channels)}`",
            at=_at(bundle, model.DEFAULT_CHANNEL),
            hint="name one of the channels of this bundle",
        )


@rule("MET025", "metadata-folder", suite=SOUND_SUITE)
def metadata_folder(bundle: Bundle) -> Iterator[Finding]:
    """The annotation for the metadata directory does not name the directory.

    Why: tools that read the image search for dependencies and properties in the directory
    of this annotation, and find none.

    Fix: set the annotation to the directory of `annotations.yaml`.
    """
    value = bundle.annotations.get(model.METADATA)
    if value is None or bundle.annotations_document is None:
        return
    named = layout.directory(value)
    if not value or named != bundle.metadata_dir:
        yield Finding(
            f"`{value}` is not the folder of the annotations"
            if value
            else "the metadata folder is empty in the annotations",
            at=_at(bundle, model.METADATA),
            hint=_bundle_below(bundle) or f"set it to `{bundle.metadata_dir or '.'}/`",
        )


def _bundle_below(bundle: Bundle) -> str:
    """Return a hint for a folder with several bundles, of which only one is read."""
    folder = bundle.metadata_dir.rpartition("/")[0]
    named = layout.directory(bundle.annotations.get(model.MANIFESTS, ""))
    if not folder or not named:
        return ""
    if not any(path.startswith(f"{folder}/{named}/") for path in bundle.tree):
        return ""
    return f"pass the folder of the bundle, `{bundle.place(folder).path}`"


@rule("MET026", "manifests-folder", suite=SOUND_SUITE)
def manifests_folder(bundle: Bundle) -> Iterator[Finding]:
    """The annotation for the manifests directory is empty or a path outside of the bundle.

    Why: the image contains only files of the bundle.

    Fix: write a path relative to the bundle, by convention `manifests/`.
    """
    value = bundle.annotations.get(model.MANIFESTS)
    if value is None:
        return
    if not value:
        message = "the manifests folder is empty in the annotations"
    elif layout.directory(value) is None:
        message = f"`{value}` leaves the bundle"
    else:
        return
    yield Finding(message, at=_at(bundle, model.MANIFESTS), hint="set it to `manifests/`")


@rule("MET027", "folder-absolute", severity=Severity.WARNING, suite=SOUND_SUITE)
def folder_absolute(bundle: Bundle) -> Iterator[Finding]:
    """A directory in the annotations begins with a slash.

    Why: the path is relative to the bundle; tools interpret an absolute path differently.

    Fix: remove the leading slash.
    """
    for key in (model.MANIFESTS, model.METADATA):
        value = bundle.annotations.get(key, "")
        if value.startswith("/"):
            yield Finding(
                f"`{value}` should be relative to the bundle",
                at=_at(bundle, key),
                hint=f"write `{value.lstrip('/')}`",
                fix=_value_fix(bundle, key, value.lstrip("/")),
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
            agree = value == _annotations(bundle)
            yield Finding(
                f"two files have annotations{'' if agree else ', and they disagree'}",
                at=other.at("annotations"),
                hint="keep one of them, named `annotations.yaml`",
                related=(Related(_at(bundle), "these are used"),),
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
                at=_at_key(bundle, key),
                hint=f"did you mean `{near[0]}`" if near else "",
                fix=_key_fix(bundle, key, near[0]) if near else None,
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
            at=_at(bundle, OPENSHIFT_VERSIONS),
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


@rule("SCD001", "scorecard-config-missing", severity=Severity.WARNING, suite=SOUND_SUITE)
def scorecard_config_missing(bundle: Bundle) -> Iterator[Finding]:
    """The annotations name a scorecard configuration that does not exist.

    Why: pipelines that run the scorecard fail, or run no test.

    Fix: add `config.yaml` to that folder, or remove the annotation.
    """
    value = bundle.annotations.get(model.TEST_CONFIG)
    if value is None:
        return
    folder = layout.directory(value)
    path = f"{folder}/config.yaml" if folder else "config.yaml"
    if folder is None or path not in bundle.tree:
        yield Finding(
            f"there is no scorecard configuration at `{path}`",
            at=_at(bundle, model.TEST_CONFIG),
            hint="add it, or remove the annotation",
        )


def _channels_fix(bundle: Bundle) -> Fix | None:
    """Return the list of channels with each name once, separated only by commas."""
    names_ = dict.fromkeys(bundle.channels)
    return _value_fix(bundle, model.CHANNELS, ",".join(names_)) if names_ else None


def _value_fix(bundle: Bundle, key: str, value: str) -> Fix | None:
    document = bundle.annotations_document
    return fixes.replace_value(document, (_section(bundle), key), value) if document else None


def _key_fix(bundle: Bundle, key: str, new: str) -> Fix | None:
    document = bundle.annotations_document
    return fixes.rename_key(document, (_section(bundle), key), new) if document else None


def _annotations(bundle: Bundle) -> Any:
    return layout.annotations_value(bundle.annotations_document)


def _annotations_unreadable(bundle: Bundle) -> bool:
    folder = f"{bundle.metadata_dir}/"
    return bundle.annotations_document is None and any(
        broken.path.startswith(folder) for broken in bundle.unreadable
    )


def _has_wrong_type(bundle: Bundle, key: str) -> bool:
    return isinstance(objects.mapping(_annotations(bundle)).get(key), dict | list)


def _at(bundle: Bundle, *keys: str) -> Location:
    document = bundle.annotations_document
    return bundle.place() if document is None else document.at(_section(bundle), *keys)


def _at_key(bundle: Bundle, *keys: str) -> Location:
    document = bundle.annotations_document
    return bundle.place() if document is None else document.at_key(_section(bundle), *keys)


def _section(bundle: Bundle) -> str:
    """Return the top-level key as written."""
    document = bundle.annotations_document
    for key in objects.mapping(document.value if document else None):
        if key.lower() == "annotations":
            return key
    return "annotations"


def _noun(value: Any) -> str:
    match value:
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return "a single value"
