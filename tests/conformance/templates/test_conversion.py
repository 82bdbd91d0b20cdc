"""Catalogs converted to templates and rendered again: nothing is lost, or it is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.catalog.blobs import fbc, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import conversion, source
from olmkit.catalog.templates.source import Kind
from olmkit.edges import disk
from olmkit.jobs.catalog.templates import template

CATALOG = """
schema: olm.channel
package: p
name: stable-v1
entries: [{name: p.v1.0.0}, {name: p.v1.0.1, skips: [p.v1.0.0]}]
---
schema: custom.x
b: 1
a: <x>
---
{schema: olm.package, name: p, defaultChannel: stable-v1}
---
schema: olm.bundle
package: p
name: p.v1.0.0
image: quay.io/x/p:v1.0.0
properties: [{type: olm.package, value: {packageName: p, version: 1.0.0}}]
---
schema: olm.bundle
package: p
name: p.v1.0.1
image: quay.io/x/p:v1.0.1
properties: [{type: olm.package, value: {packageName: p, version: 1.0.1}}]
"""


def blobs_of(text: str) -> list[Blob]:
    return list(fbc.load_stream(text.encode(), "catalog.yaml"))


def rendered(text: bytes, blobs: Sequence[Blob]) -> list[Blob]:
    """Return the catalog of a template whose images have the bundles of `blobs`."""
    made = source.read(text, "template.yaml")
    bundles = [RenderedBundle.of(blob) for blob in blobs if blob.schema == wire.BUNDLE]
    known = {bundle.image: bundle for bundle in bundles}
    named = {image: known[image] for image, _ in template.images(made)}
    return list(template.render_blobs(made, named))


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_every_catalog_is_the_same_after_the_round_trip(vectors: Path, form: fbc.Form) -> None:
    converted = 0
    for folder in sorted((vectors / "rules/catalogs").iterdir()):
        try:
            blobs = list(fbc.load(disk.read_tree(folder)))
            text = conversion.dump(conversion.convert(blobs, Kind.BASIC), form)
        except InputError:
            continue
        converted += 1
        again = rendered(text, blobs)
        assert fbc.dump(again, form) == fbc.dump(blobs, form), folder.name
        text = conversion.dump(conversion.convert(blobs, Kind.SUBSTITUTES), form)
        entries = source.read(text, "template.yaml").fields["entries"] or ()
        # Compared as values: in YAML, the reference writes a JSON `-0` that is read as 0.
        assert [Blob.of(value).value for value in entries] == [blob.value for blob in blobs]
    assert converted > 100


def test_a_basic_template_names_images_in_the_order_of_the_catalog() -> None:
    text = conversion.dump(conversion.convert(blobs_of(CATALOG), Kind.BASIC), "json").decode()

    # From `opm alpha convert-template basic`.
    assert text.startswith('{\n    "schema": "olm.template.basic",\n    "entries": [\n')
    assert '{\n            "a": "\\u003cx\\u003e",\n            "b": 1,' in text
    bundle = '"schema": "olm.bundle",\n            "image": "quay.io/x/p:v1.0.0"\n        }'
    assert bundle in text
    assert conversion.dump(conversion.convert([], Kind.BASIC), "yaml") == (
        b"---\nentries: null\nschema: olm.template.basic\n\n"
    )


def test_a_bundle_without_an_image_or_with_a_shared_one_is_refused_with_its_place() -> None:
    shared = CATALOG.replace("p:v1.0.1", "p:v1.0.0")
    bare = CATALOG.replace("image: quay.io/x/p:v1.0.1\n", "")
    for text, message in ((shared, "have one image"), (bare, "has no image")):
        with pytest.raises(InputError, match=message) as caught:
            conversion.convert(blobs_of(text), Kind.BASIC)
        (found,) = caught.value.diagnostics
        assert (found.rule, str(found.at)) == ("FBC911", "catalog.yaml:19:1")


def test_a_catalog_with_the_channels_of_a_semver_template_is_converted_to_one() -> None:
    blobs = [blob for blob in blobs_of(CATALOG) if blob.schema != "custom.x"]

    text = conversion.dump(conversion.convert(blobs, Kind.SEMVER), "yaml")

    assert text == (
        b"---\ngenerateMajorChannels: true\ngenerateMinorChannels: false\nschema: olm.semver\n"
        b"stable:\n  bundles:\n  - image: quay.io/x/p:v1.0.0\n  - image: quay.io/x/p:v1.0.1\n\n"
    )
    assert fbc.dump(rendered(text, blobs), "yaml") == fbc.dump(blobs, "yaml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("name: stable-v1", "name: alpha", "no channel with the name `alpha`"),
        ("skips: [p.v1.0.0]", "replaces: p.v1.0.0", "cannot express olm.channel `stable-v1`"),
        ("- none", "", "cannot express custom.x"),
        ("{name: p.v1.0.0}", "{name: p.v0.9.0}", "no image of `p.v0.9.0`"),
        ("defaultChannel: stable-v1", "defaultChannel: x", "cannot express olm.package `p`"),
    ],
)
def test_a_catalog_that_a_semver_template_cannot_express_is_refused(
    old: str, new: str, message: str
) -> None:
    text = CATALOG.replace(old, new, 1)
    if new:
        text = text.replace("schema: custom.x\nb: 1\na: <x>\n---\n", "")

    with pytest.raises(InputError, match=message) as caught:
        conversion.convert(blobs_of(text), Kind.SEMVER)

    assert caught.value.diagnostics[0].at is not None


def bundle_text(version: str) -> str:
    return (
        f"---\nschema: olm.bundle\npackage: p\nname: p.v{version}\nimage: quay.io/x/p:v{version}\n"
        "properties: [{type: olm.package, "
        f"value: {{packageName: p, version: {version}}}}}]\n"
    )


@pytest.mark.property
def test_every_catalog_of_a_semver_template_is_converted_to_a_semver_template() -> None:
    """The conversion only refuses catalogs that no semver template generates."""
    random = Random(7)
    for _ in range(300):
        numbers = [
            tuple(random.randrange(3) for _ in range(3)) for _ in range(random.randint(1, 7))
        ]
        versions = sorted({".".join(map(str, number)) for number in numbers})
        bundles = blobs_of("".join(map(bundle_text, versions)))
        major, minor = random.random() < 0.6, random.random() < 0.6
        kinds = [*["major"] * major, *["minor"] * (minor or not major)]
        value: dict[str, Any] = {
            "schema": "olm.semver",
            "generateMajorChannels": major,
            "generateMinorChannels": minor,
        }
        if random.random() < 0.5:
            value["defaultChannelTypePreference"] = random.choice(kinds)
        listed = [random.choice(("candidate", "fast", "stable")) for _ in versions]
        for archetype in ("candidate", "fast", "stable"):
            chosen = [
                {"image": f"quay.io/x/p:v{version}"}
                for version, first in zip(versions, listed, strict=True)
                if first == archetype or random.random() < 0.3
            ]
            if chosen:
                value[archetype] = {"bundles": chosen}
        catalog = rendered(json.dumps(value).encode(), bundles)

        converted = conversion.convert(catalog, Kind.SEMVER)

        assert fbc.dump(rendered(converted, bundles), "json") == fbc.dump(catalog, "json")


def test_real_catalogs_are_converted_to_semver_templates_or_are_refused_with_a_place(
    cases: Path,
) -> None:
    refusals = []
    for path in sorted((cases / "catalogs").rglob("catalog.*")):
        blobs = list(fbc.load_stream(path.read_bytes(), path.name))
        try:
            text = conversion.convert(blobs, Kind.SEMVER)
        except InputError as error:
            refusals += error.diagnostics
        else:
            assert fbc.dump(rendered(text, blobs), "json") == fbc.dump(blobs, "json")
    assert refusals
    assert all(found.at and found.at.line for found in refusals)
