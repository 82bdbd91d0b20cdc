"""Semver templates as older releases of opm render them.

`semver_releases.json` has the SHA-256 of the YAML that `opm alpha render-template semver` of each
release printed for the templates of the set `rules`.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.catalog.blobs import fbc
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import source
from olmkit.catalog.templates.opm_release import Edges, OpmRelease
from olmkit.catalog.templates.source import Kind
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import RenderOptions
from olmkit.jobs.catalog.templates import template

RECORDED = json.loads(
    (Path(__file__).parents[2] / "vectors" / "semver_releases.json").read_text(encoding="utf-8")
)


@functools.cache
def bundle(folder: Path, image: str) -> RenderedBundle:
    package, _, tag = image.rpartition("/")[2].partition(":")
    read = render.read_bundle(str(folder / package / tag), RenderOptions(image=image))
    return asyncio.run(read).rendered


@pytest.mark.parametrize("release", sorted(RECORDED))
def test_every_template_has_the_bytes_of_the_release(vectors: Path, release: str) -> None:
    folder = vectors / "rules/templates"
    wrong = []
    for case, digest in RECORDED[release].items():
        data = (folder / case / "template.yaml").read_bytes()
        read = source.read(data, "template.yaml", Kind.SEMVER)
        bundles = {image: bundle(folder / "bundles", image) for image, _ in template.images(read)}
        blobs = template.render_blobs(read, bundles, Level.NONE, OpmRelease.parse(release))
        if hashlib.sha256(fbc.dump(blobs, "yaml")).hexdigest() != digest:
            wrong.append(case)
    assert wrong == []
    assert len(RECORDED[release]) > 30


@pytest.mark.parametrize(
    ("text", "edges", "has_presentation"),
    [
        ("1.36", Edges.MAJOR, False),
        ("v1.37.0", Edges.CHANNEL_WITH_REPLACED, False),
        ("1.56", Edges.CHANNEL_WITH_REPLACED, False),
        ("1.57.0", Edges.CHANNEL, False),
        ("1.60.3", Edges.CHANNEL, False),
        ("1.61", Edges.MAJOR, False),
        ("v1.65", Edges.MAJOR, True),
    ],
)
def test_rules_change_with_the_releases(text: str, edges: Edges, has_presentation: bool) -> None:
    release = OpmRelease.parse(text)

    assert (release.edges, release.has_presentation) == (edges, has_presentation)


@pytest.mark.parametrize("text", ["1.27", "1.74", "2.50", "", "1.50.x", "1"])
def test_an_unknown_release_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is not a release of opm from 1\.28 to 1\.73"):
        OpmRelease.parse(text)
