"""Catalog templates compared with `opm alpha render-template` of operator-registry 1.73.

The vectors have its bytes in both formats, or its refusal. The images that they name are
directories here; `tests/unit/jobs/catalog/templates/test_template.py` tests that images are pulled.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import source
from olmkit.catalog.templates.source import Kind
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import RenderOptions
from olmkit.jobs.catalog.templates import template

# Their images have no directory: no tag, no such tag, no registry, no reference at all.
ABSENT: Final = {
    "basic-absent-image",
    "basic-digest-unknown",
    "basic-not-a-bundle-reference",
    "semver-absent-image",
    "semver-image-empty",
    "semver-no-tag",
    "semver-short-name",
}
# opm always refuses a tag with a digest; olmkit uses the digest. A basic template
# as a stream of blobs is the form of opm before 1.44.
ACCEPTED: Final = {"basic-tag-and-digest", "basic-bare-stream"}
# The argument of the command is not a kind.
ARGUMENTS: Final = {"type-unknown"}


def _bundle(vectors: Path, image: str) -> RenderedBundle:
    folder = vectors / "templates" / "bundles"
    if "@" in image:
        known = (line.split() for line in (folder.parent / "digests.txt").read_text().splitlines())
        tagged = {digest: name for name, digest in known}
        package, _, tag = tagged[image.partition("@")[2]].rpartition("/")[2].partition(":")
    else:
        package, _, tag = image.rpartition("/")[2].partition(":")
    return _read(str(folder / package / tag), image)


@functools.cache
def _read(folder: str, image: str) -> RenderedBundle:
    # A tag with a digest cannot be the image of a directory.
    options = RenderOptions(image=image.partition("@")[0] if image.count(":") > 2 else image)
    return asyncio.run(render.read_bundle(folder, options)).rendered


def _render(vectors: Path, case: dict[str, Any]) -> list[Blob]:
    words = case["args"]
    level = Level(words[1]) if "--migrate-level" in words else Level.NONE
    kind = Kind(words[0]) if words and level is Level.NONE else None
    read = source.read((vectors / case["file"]).read_bytes(), case["file"], kind)
    bundles = {image: _bundle(vectors, image) for image, _ in template.images(read)}
    return list(template.render_blobs(read, bundles, level))


def _cases(vectors: Path) -> Iterator[dict[str, Any]]:
    for line in (vectors / "templates.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["case"] not in ABSENT | ACCEPTED | ARGUMENTS:
            yield case


def test_every_vector_has_opms_bytes(vectors: Path) -> None:
    folder = vectors / "rules"
    accepted = [case for case in _cases(folder) if case["yaml"]["exit"] == 0]
    forms: tuple[fbc.Form, ...] = ("yaml", "json")

    different = [
        f"{case['case']} as {form}"
        for case in accepted
        for blobs in [_render(folder, case)]
        for form in forms
        if fbc.dump(blobs, form) != (folder / case[form]["file"]).read_bytes()
    ]

    assert different == []
    assert len(accepted) == 57


def test_every_refused_vector_is_refused_with_a_place(vectors: Path) -> None:
    refused = [case for case in _cases(vectors / "rules") if case["yaml"]["exit"]]
    wrong = []

    for case in refused:
        try:
            _render(vectors / "rules", case)
        except OlmkitError as error:
            places = [found.at for found in error.diagnostics if found.at and found.at.path]
            if len(places) != len(error.diagnostics) or not places:
                wrong.append(f"{case['case']} has no place")
        else:
            wrong.append(f"{case['case']} is accepted")

    assert wrong == []
    assert len(refused) == 44


def test_a_tag_with_a_digest_is_read_by_the_digest(vectors: Path) -> None:
    case = vectors / "rules/templates/basic-tag-and-digest/template.yaml"

    read = source.read(case.read_bytes(), "template.yaml")

    [(image, _), *_] = template.images(read)
    assert image.count(":") == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            b"schema: olm.composite\n",
            "a composite template (`olm.composite`) is rendered into the directories",
        ),
        (b"[" * 600, "levels deep"),
        (b"schema: olm.semver\nstable: &a\n  bundles: *a\n", "anchor"),
        (b'{"schema": "olm.semver", "schema": "olm.semver"}', "`schema` is set twice"),
    ],
)
def test_invalid_templates_are_refused_with_a_message(text: bytes, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        source.read(text, "template.yaml")
