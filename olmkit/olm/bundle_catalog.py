"""A catalog of one bundle, to test the bundle without publishing a catalog.

One package, one channel, one bundle, which replaces the installed one. A bundle from a folder
contains its manifests; OLM unpacks a bundle image itself.
"""

from __future__ import annotations

import json

from olmkit.catalog.bundles.render import RenderedBundle


def blobs(bundle: RenderedBundle, channel: str, *, replaces: str = "") -> bytes:
    """Return the catalog as lines of JSON."""
    entry = {"name": bundle.name}
    if replaces and replaces != bundle.name:
        entry["replaces"] = replaces
    head = (
        {"schema": "olm.package", "name": bundle.package, "defaultChannel": channel},
        {
            "schema": "olm.channel",
            "package": bundle.package,
            "name": channel,
            "entries": [entry],
        },
    )
    lines = [json.dumps(blob, separators=(",", ":")).encode() for blob in head]
    return b"\n".join((*lines, bundle.text())) + b"\n"
