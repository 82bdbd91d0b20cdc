from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs.typed_json import Member
from olmkit.catalog.bundles import migrate, render, source_bundle
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle

Cog = Callable[..., Tree]


def rendered(tree: Tree, image: str = "a.io/cog:v1") -> RenderedBundle:
    return render.render(source_bundle.read(tree), image)[0]


@pytest.mark.parametrize("level", [Level.CSV_METADATA, Level.ALL])
def test_inlined_manifests_become_metadata(cog: Cog, level: Level) -> None:
    migrated = migrate.migrate(rendered(cog()), level)

    assert [item.type for item in migrated.properties] == [
        "olm.gvk",
        "olm.package",
        "olm.csv.metadata",
    ]
    assert migrated.properties[-1].value == (
        b'{"apiServiceDefinitions":{},"crdDescriptions":{"owned":[{"name":"cogs.example.org",'
        b'"version":"v1","kind":"Cog"}]},"displayName":"Cog","provider":{}}'
    )


def test_all_displayed_fields_of_a_csv_are_kept_in_their_order(cog: Cog) -> None:
    tree = cog(
        None,
        "  name: cog.v1.0.0\n",
        "  name: cog.v1.0.0\n  labels: {b: '1', a: '2'}\n  annotations: {c: d}\n",
        "kind: Cog}",
        "kind: Cog, specDescriptors: [{path: p, value: {z: <, a: null}, X-descriptors: [u]}],"
        " resources: [{kind: Pod, version: v1}], more: 1}",
        "  displayName: Cog\n",
        "  description: <b>\n  maturity: ''\n  keywords: [k]\n  links: [{url: u}]\n"
        "  maintainers: [{name: m, email: e}]\n  minKubeVersion: 1.20.0\n"
        "  nativeAPIs: [{kind: K, group: g, version: v}]\n  provider: {name: P}\n"
        "  installModes: [{type: OwnNamespace}]\n"
        "  apiservicedefinitions: {owned: [{name: w, group: g, version: v, kind: W,"
        " containerPort: 5}]}\n",
    )

    migrated = migrate.migrate(rendered(tree), Level.ALL)

    assert migrated.properties[-1].value.decode() == (
        '{"annotations":{"c":"d"},'
        '"apiServiceDefinitions":{"owned":[{"name":"w","group":"g","version":"v","kind":"W",'
        '"containerPort":5}]},'
        '"crdDescriptions":{"owned":[{"name":"cogs.example.org","version":"v1","kind":"Cog",'
        '"resources":[{"name":"","kind":"Pod","version":"v1"}],'
        '"specDescriptors":[{"path":"p","x-descriptors":["u"],'
        '"value":{"a":null,"z":"\\u003c"}}]}]},'
        '"description":"<b>",'
        '"installModes":[{"type":"OwnNamespace","supported":false}],'
        '"keywords":["k"],'
        '"labels":{"a":"2","b":"1"},'
        '"links":[{"url":"u"}],'
        '"maintainers":[{"name":"m","email":"e"}],'
        '"minKubeVersion":"1.20.0",'
        '"nativeAPIs":[{"group":"g","version":"v","kind":"K"}],'
        '"provider":{"name":"P"}}'
    )


def test_a_bundle_that_would_lose_its_manifests_is_kept(cog: Cog) -> None:
    bundle = rendered(cog(), "")

    assert migrate.migrate(bundle, Level.ALL) is bundle


def test_without_a_level_nothing_changes(cog: Cog) -> None:
    bundle = rendered(cog())

    assert migrate.migrate(bundle, Level.NONE) is bundle


def test_a_bundle_with_metadata_or_without_a_csv_is_kept(cog: Cog) -> None:
    bundle = rendered(cog())
    has = replace(bundle, properties=(*bundle.properties, Member("olm.csv.metadata", b"{}")))
    lacks = replace(bundle, properties=bundle.properties[:2])
    odd = replace(bundle, properties=(Member("olm.bundle.object", b'{"data":5}'),))

    for each in (has, lacks, odd):
        assert migrate.migrate(each, Level.ALL) is each


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  displayName: Cog\n", "  displayName: [x]\n", "`spec.displayName` must be a string"),
        ("version: 1.0.0\n", "version: one\n", "`one` is not a version"),
        ("version: 1.0.0\n", "version: null\n", "`` is not a version"),
    ],
)
def test_a_csv_of_a_wrong_type_is_refused(cog: Cog, old: str, new: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        migrate.migrate(rendered(cog(None, old, new)), Level.ALL, "b")


def test_metadata_can_be_read_back(cog: Cog) -> None:
    migrated = migrate.migrate(rendered(cog()), Level.ALL)

    assert json.loads(migrated.properties[-1].value)["displayName"] == "Cog"
