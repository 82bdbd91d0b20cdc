"""A bundle as an image: its files in one layer, its annotations as labels.

The image has no base. It is an index over the platforms of OLM's nodes, because OLM runs the image
to copy its files, and a runtime looks for its own platform first. Labels that are only in the
Containerfile are kept, because an engine would set them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle
from olmkit.oci import image as images
from olmkit.oci import layer as layers
from olmkit.oci.content import Platform
from olmkit.oci.image import OLM_PLATFORMS, Image, MultiPlatformImage

_LABEL = re.compile(r"^\s*LABEL\s+(.*)$", re.IGNORECASE)
_CREATED_BY = "olmkit bundle build"
_NOT_IN_TAGS = re.compile(r"[^A-Za-z0-9_.-]")


def image(
    bundle: Bundle,
    *,
    containerfile: bytes = b"",
    platforms: Sequence[Platform] = OLM_PLATFORMS,
    created: int = 0,
) -> Image | MultiPlatformImage:
    """Return `bundle` as an image; `created` is the time of all files in it, in Unix seconds."""
    return images.data_image(
        layers.write(files(bundle), mtime=created),
        labels(bundle, containerfile),
        created_by=_CREATED_BY,
        platforms=platforms,
        created=created,
    )


def files(bundle: Bundle) -> Tree:
    """Return the files of the image: manifests, metadata, and scorecard tests if annotated.

    Raises `InputError` if a folder that the annotations name is empty or outside the bundle.
    """
    tests = bundle.annotations.get(model.TEST_CONFIG, "")
    named = {
        "manifests": bundle.annotations.get(model.MANIFESTS, "") or bundle.manifests_dir,
        "metadata": bundle.annotations.get(model.METADATA, "") or bundle.metadata_dir,
        **({"tests": tests} if tests else {}),
    }
    found = Tree()
    for noun, value in named.items():
        folder = layout.directory(value)
        if folder is None:
            raise InputError(f"the folder of {noun}, `{value}`, leaves the bundle")
        part = bundle.tree.under(folder)
        if not part and noun != "tests":
            raise InputError(
                f"the folder of {noun}, `{model.join(bundle.root, folder)}`, has no files",
                hint="generate the bundle again with `olmkit bundle generate`, "
                "or correct the folder in its annotations",
            )
        found = found.merge(part.at(folder))
    return found


def labels(bundle: Bundle, containerfile: bytes = b"") -> dict[str, str]:
    """Return the labels of the image: the annotations, and further labels of the Containerfile.

    Raises `InputError` if the annotations do not name the package, because then no catalog accepts
    the image as a bundle.
    """
    if not bundle.annotations.get(model.PACKAGE):
        raise InputError(
            f"the bundle's annotations lack `{model.PACKAGE}`",
            hint="generate the bundle again with `olmkit bundle generate`",
        )
    return {**containerfile_labels(containerfile), **bundle.annotations}


def containerfile_labels(data: bytes) -> dict[str, str]:
    """Return the labels that a Containerfile sets, if their values are plain strings."""
    found: dict[str, str] = {}
    text = re.sub(r"\\[ \t]*\r?\n", " ", data.decode("utf-8", "replace"))
    for line in text.splitlines():
        match = _LABEL.match(line)
        if match is None:
            continue
        try:
            words = shlex.split(match[1])
        except ValueError:
            continue
        if words and "=" not in words[0]:
            words = [f"{words[0]}={' '.join(words[1:])}"]  # the old form: LABEL key value
        for word in words:
            key, equals, value = word.partition("=")
            if equals and key and "$" not in word:
                found[key] = value
    return found


def default_tag(bundle: Bundle) -> str:
    """Return the default name of the image in a layout: `PACKAGE-bundle:vVERSION`."""
    return f"{_word(package(bundle.annotations))}-bundle:v{_word(version(bundle) or '0')}"


def package(annotations: Mapping[str, str]) -> str:
    """Return the package in the annotations; empty if there is none."""
    return annotations.get(model.PACKAGE, "")


def version(bundle: Bundle) -> str:
    """Return the version of the bundle's CSV, empty if there is none."""
    return bundle.csvs[0].version if bundle.csvs else ""


def _word(text: str) -> str:
    word = re.sub(r"[-._]{2,}", "-", _NOT_IN_TAGS.sub("-", text)).strip("-._")
    return word or "unnamed"
