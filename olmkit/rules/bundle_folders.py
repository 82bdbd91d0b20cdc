"""Rules about the folders of a bundle, and the annotations that name them."""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base import texts
from olmkit.base.diagnostics import Severity
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle
from olmkit.rules.annotation_places import at, value_fix
from olmkit.rules.engine import SOUND_SUITE, Finding, rule


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
        at=at(bundle, model.MANIFESTS) if bundle.annotations_document else bundle.place(),
        hint=hint,
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
            at=at(bundle, model.METADATA),
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
    yield Finding(message, at=at(bundle, model.MANIFESTS), hint="set it to `manifests/`")


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
                at=at(bundle, key),
                hint=f"write `{value.lstrip('/')}`",
                fix=value_fix(bundle, key, value.lstrip("/")),
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
            at=at(bundle, model.TEST_CONFIG),
            hint="add it, or remove the annotation",
        )
