"""Several bundles as one catalog: channels, edges, omitted bundles."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.bundles import render, source_bundle
from olmkit.catalog.changes import assembly
from olmkit.catalog.changes.assembly import Member

PREFIX = "operators.operatorframework.io.bundle."


def member(version: str, spec: str = "", channels: str = "stable", default: str = "") -> Member:
    files = {
        "metadata/annotations.yaml": f"annotations:\n  {PREFIX}package.v1: cog\n"
        f"  {PREFIX}channels.v1: {channels}\n"
        f"  {PREFIX}channel.default.v1: '{default}'\n",
        "manifests/csv.yaml": "apiVersion: operators.coreos.com/v1alpha1\n"
        f"kind: ClusterServiceVersion\nmetadata: {{name: v{version}}}\n"
        f"spec: {{version: {version}, description: of {version}{spec}}}\n",
    }
    source = source_bundle.read(Tree({path: text.encode() for path, text in files.items()}))
    return Member(source=source, rendered=render.render(source)[0])


def entries(made: assembly.AssembledCatalog) -> dict[str, list[str]]:
    return {
        blob.name: [entry["name"] for entry in blob.fields["entries"]]
        for blob in made.blobs
        if blob.schema == "olm.channel"
    }


def test_the_newest_bundle_that_names_a_default_channel_decides() -> None:
    made = assembly.assemble_bundles(
        [
            member("1.10.0", ", replaces: v1.9.0", default="stable"),
            member("1.9.0", channels="stable,fast", default="fast"),
            member("2.0.0", channels="fast"),
        ]
    )

    assert made.blobs[0].value == {
        "schema": "olm.package",
        "name": "cog",
        "defaultChannel": "stable",
        "description": "of 1.10.0",
    }
    assert entries(made) == {"stable": ["v1.9.0", "v1.10.0"], "fast": ["v1.9.0", "v2.0.0"]}


def test_a_head_brings_the_bundles_that_it_replaces_and_skips_and_the_rest_is_named() -> None:
    made = assembly.assemble_heads(
        "cog",
        "stable",
        {"stable": "v3.0.0", "old": "v1.0.0"},
        [
            member("1.0.0", ", replaces: v3.0.0"),
            member("2.0.0"),
            member("3.0.0", ", replaces: v1.0.0, skips: [v2.0.0, v9.0.0]"),
            member("4.0.0"),
        ],
    )

    assert entries(made) == {
        "stable": ["v1.0.0", "v2.0.0", "v3.0.0"],
        "old": ["v1.0.0", "v2.0.0", "v3.0.0"],
    }
    assert [found.message for found in made.diagnostics] == [
        "bundle `v4.0.0` is left out: no channel leads to it"
    ]
    assert "description" not in made.blobs[0].value


def test_bundles_without_an_order_or_a_head_are_refused() -> None:
    with pytest.raises(InputError, match="no version that can be compared"):
        assembly.assemble_bundles([member("'1.0'")])
    with pytest.raises(InputError, match="no bundle `v9`"):
        assembly.assemble_heads("cog", "stable", {"stable": "v9"}, [member("1.0.0")])
