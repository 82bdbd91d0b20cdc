"""A catalog of one bundle."""

from __future__ import annotations

import json

from olmkit.catalog import model
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.typed_json import Member
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.olm import bundle_catalog

IDENTITY = Member("olm.package", b'{"packageName":"cache","version":"1.0.0"}')
BUNDLE = RenderedBundle(
    name="cache.v1.0.0", package="cache", image="", properties=(IDENTITY,), related_images=()
)


def test_it_is_a_complete_catalog() -> None:
    lines = bundle_catalog.blobs(BUNDLE, "stable")

    catalog = model.from_blobs(fbc.load_stream(lines, "catalog.json", report=lambda _: None))

    package = catalog.packages["cache"]
    assert package.default_channel == "stable"
    assert list(package.channels["stable"].entries) == ["cache.v1.0.0"]


def test_it_replaces_the_installed_version_but_not_itself() -> None:
    def entry(replaces: str) -> dict[str, str]:
        lines = bundle_catalog.blobs(BUNDLE, "stable", replaces=replaces).splitlines()
        return dict(json.loads(lines[1])["entries"][0])

    assert entry("cache.v0.9.0") == {"name": "cache.v1.0.0", "replaces": "cache.v0.9.0"}
    assert entry("cache.v1.0.0") == {"name": "cache.v1.0.0"}
