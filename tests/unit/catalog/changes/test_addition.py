from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import fbc
from olmkit.catalog.bundles import render, source_bundle
from olmkit.catalog.changes import addition
from olmkit.catalog.changes.addition import Addition, NewEntry, Placement

Cog = Callable[..., Tree]

OLD = {
    "schema": "olm.bundle",
    "name": "cog.v0.9.0",
    "package": "cog",
    "image": "a.io/cog:v0.9.0",
    "properties": [{"type": "olm.package", "value": {"packageName": "cog", "version": "0.9.0"}}],
}
PACKAGE = {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"}
CHANNEL = {
    "schema": "olm.channel",
    "name": "stable",
    "package": "cog",
    "entries": [{"name": "cog.v0.9.0"}],
}


def catalog(*values: dict[str, Any], path: str = "cog/catalog.json") -> Tree:
    return Tree({path: "".join(json.dumps(value) + "\n" for value in values).encode()})


def add(tree: Tree, bundle: Tree, placement: Placement | None = None, file: str = "") -> Addition:
    source = source_bundle.read(bundle)
    rendered, _ = render.render(source, "a.io/cog:v1.0.0")
    return addition.add(tree, source, rendered, placement or Placement(), file=file)


def entries(tree: Tree, channel: str) -> list[dict[str, Any]]:
    return next(
        blob.value["entries"]
        for blob in fbc.load(tree)
        if (blob.schema, blob.name) == ("olm.channel", channel)
    )


def test_the_first_bundle_creates_its_package_and_its_channels(cog: Cog) -> None:
    tree = cog(
        {
            "metadata/annotations.yaml": (
                "annotations:\n"
                "  operators.operatorframework.io.bundle.package.v1: cog\n"
                "  operators.operatorframework.io.bundle.channels.v1: fast, stable\n"
                "  operators.operatorframework.io.bundle.channel.default.v1: stable\n"
            )
        },
        "spec:\n  displayName",
        "spec:\n  description: All cogs\n  icon: [{base64data: aWNvbg==, mediatype: image/png}]\n"
        "  displayName",
    )

    made = add(Tree(), tree)

    assert list(made.tree) == ["cog/catalog.yaml"]
    blobs = list(fbc.load(made.tree))
    assert [(blob.schema, blob.name) for blob in blobs] == [
        ("olm.package", "cog"),
        ("olm.channel", "fast"),
        ("olm.channel", "stable"),
        ("olm.bundle", "cog.v1.0.0"),
    ]
    assert blobs[0].value == {
        "schema": "olm.package",
        "name": "cog",
        "defaultChannel": "stable",
        "description": "All cogs",
        "icon": {"base64data": "aWNvbg==", "mediatype": "image/png"},
    }


def test_the_head_of_the_channel_is_replaced(cog: Cog) -> None:
    made = add(catalog(PACKAGE, CHANNEL, OLD), cog())

    assert made.entries == (NewEntry(channel="stable", name="cog.v1.0.0", replaces="cog.v0.9.0"),)
    assert entries(made.tree, "stable") == [
        {"name": "cog.v0.9.0"},
        {"name": "cog.v1.0.0", "replaces": "cog.v0.9.0"},
    ]


def test_a_version_that_the_channel_already_names_is_its_end(cog: Cog) -> None:
    named = {**CHANNEL, "entries": [{"name": "cog.v2.0.0", "replaces": "cog.v1.0.0"}]}
    made = add(catalog(PACKAGE, named, {**OLD, "name": "cog.v2.0.0"}), cog())

    assert made.entries == (NewEntry(channel="stable", name="cog.v1.0.0"),)


def test_a_csv_that_names_its_predecessors_decides(cog: Cog) -> None:
    tree = cog(
        None,
        "spec:\n  displayName",
        "spec:\n  replaces: cog.v0.8.0\n  skips: [cog.v0.9.0]\n  displayName",
        "  name: cog.v1.0.0",
        "  annotations: {olm.skipRange: '<1.0.0'}\n  name: cog.v1.0.0",
    )

    assert add(catalog(PACKAGE, CHANNEL, OLD), tree).entries == (
        NewEntry(
            channel="stable",
            name="cog.v1.0.0",
            replaces="cog.v0.8.0",
            skips=("cog.v0.9.0",),
            skip_range="<1.0.0",
        ),
    )


def test_options_take_precedence(cog: Cog) -> None:
    tree = cog(None, "spec:\n  displayName", "spec:\n  replaces: x\n  displayName")
    placement = Placement(channels=("stable", "new"), skips=("cog.v0.9.0",), skip_range="<1.0.0")

    made = add(catalog(PACKAGE, CHANNEL, OLD), tree, placement)

    entry = {"name": "cog.v1.0.0", "skips": ["cog.v0.9.0"], "skipRange": "<1.0.0"}
    assert entries(made.tree, "stable")[-1] == entry
    assert entries(made.tree, "new") == [entry]


def test_an_existing_bundle_can_join_another_channel(cog: Cog) -> None:
    first = add(catalog(PACKAGE, CHANNEL, OLD), cog())

    second = add(first.tree, cog(), Placement(channels=("fast",)))

    names = [blob.name for blob in fbc.load(second.tree) if blob.schema == "olm.bundle"]
    assert sorted(names) == ["cog.v0.9.0", "cog.v1.0.0"]
    assert entries(second.tree, "fast") == [{"name": "cog.v1.0.0"}]


@pytest.mark.parametrize(
    ("present", "changes", "placement", "message"),
    [
        (
            (PACKAGE, {**CHANNEL, "entries": [{"name": "cog.v1.0.0"}]}),
            (),
            Placement(skip_range="<1.0.0"),
            "is in the channel `stable` of `cog` already, with other upgrade edges",
        ),
        (
            (PACKAGE, CHANNEL, OLD, {**OLD, "name": "cog.v1.0.0"}),
            (),
            Placement(),
            "another bundle `cog.v1.0.0` is in the catalog already",
        ),
        (
            (PACKAGE, CHANNEL, OLD),
            ("version: 1.0.0\n", "version: 0.8.0\n"),
            Placement(),
            "is not an upgrade of `cog.v0.9.0`, the head of the channel `stable`",
        ),
        (
            (PACKAGE, CHANNEL, OLD),
            ("version: 1.0.0\n", "version: one\n"),
            Placement(),
            "has no version that can be compared",
        ),
    ],
)
def test_an_invalid_addition_is_refused(
    cog: Cog, present: tuple[Any, ...], changes: tuple[str, ...], placement: Placement, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        add(catalog(*present), cog(None, *changes), placement)


@pytest.mark.parametrize("path", ["cog/catalog.json", "cog/catalog.yaml"])
@pytest.mark.parametrize("placement", [Placement(), Placement(replaces="cog.v0.9.0")])
def test_the_same_bundle_again_changes_nothing(cog: Cog, path: str, placement: Placement) -> None:
    first = add(catalog(PACKAGE, CHANNEL, OLD, path=path), cog())

    second = add(first.tree, cog(), placement)

    assert second.tree == first.tree
    assert second.entries == (NewEntry(channel="stable", name="cog.v1.0.0", replaces="cog.v0.9.0"),)


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("cog/catalog.json", b"", b""),
        ("cog/catalog.json", b"}", b"}\n"),
        ("cog/catalog.yaml", b"", b""),
        ("cog/catalog.yaml", b"---\n", b"---\n# by hand\n"),
    ],
)
def test_an_unpublished_bundle_can_be_overwritten(
    cog: Cog, path: str, old: bytes, new: bytes
) -> None:
    first = add(Tree(), cog(), file=path)
    tree = Tree({path: first.tree.data(path).replace(old, new, 1)})
    later = cog(None, "displayName", "maturity: beta\n  displayName")
    with pytest.raises(InputError, match="another bundle `cog"):
        add(tree, later)

    second = add(tree, later, Placement(overwrite=True))

    assert entries(second.tree, "stable") == entries(first.tree, "stable")
    assert len(list(fbc.load(second.tree))) == len(list(fbc.load(first.tree)))
    assert second.tree != tree
    assert add(second.tree, later).tree == second.tree
    assert new in second.tree.data(path)


def test_a_bundle_without_a_channel_is_refused(cog: Cog) -> None:
    annotations = "annotations: {operators.operatorframework.io.bundle.package.v1: cog}\n"

    with pytest.raises(InputError, match="belongs to no channel"):
        add(Tree(), cog({"metadata/annotations.yaml": annotations}))


@pytest.mark.parametrize(
    ("tree", "file", "home"),
    [
        (Tree(), "", "cog/catalog.yaml"),
        (Tree(), "x.json", "x.json"),
        (catalog(PACKAGE, path="a.yaml"), "", "a.yaml"),
        (catalog(PACKAGE, path="a.yaml").merge(catalog(CHANNEL, path="b.yaml")), "", "b.yaml"),
        (catalog(PACKAGE, CHANNEL, path="a.yaml").merge(catalog(OLD, path="c.yaml")), "", "c.yaml"),
    ],
)
def test_the_bundle_goes_to_the_file_with_bundles_of_its_package(
    cog: Cog, tree: Tree, file: str, home: str
) -> None:
    made = add(tree, cog(), file=file)

    assert b"cog.v1.0.0" in made.tree.data(home)
    assert [blob.path for blob in fbc.load(made.tree) if blob.name == "cog.v1.0.0"] == [home]
