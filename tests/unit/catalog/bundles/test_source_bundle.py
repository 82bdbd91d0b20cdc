from __future__ import annotations

from collections.abc import Callable

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs.typed_json import Member
from olmkit.catalog.bundles import source_bundle
from olmkit.catalog.bundles.source_bundle import Api

Cog = Callable[..., Tree]
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"


def test_a_bundle_is_read(cog: Cog) -> None:
    bundle = source_bundle.read(cog(), "b")

    assert (bundle.name, bundle.package, bundle.version) == ("cog.v1.0.0", "cog", "1.0.0")
    assert bundle.provided == {Api("example.org", "v1", "Cog", "cogs")}
    assert bundle.required == frozenset()
    assert [found.path for found in bundle.objects] == [
        "b/manifests/crd.yaml",
        "b/manifests/csv.yaml",
    ]
    assert bundle.notes == ()


def test_hidden_files_and_folders_are_not_manifests(cog: Cog) -> None:
    bundle = source_bundle.read(
        cog({"manifests/.x.yaml": "kind: X", "manifests/sub/y.yaml": "kind: Y"})
    )

    assert len(bundle.objects) == 2


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x: [", "not closed with"),
        ("", "the file is empty"),
        ("# only words\n", "its first document is empty"),
        ("[]", "it holds no mapping"),
        ("a: b\n", "Object 'Kind' is missing"),
        ("kind: 5\n", "Object 'Kind' is missing"),
        ("kind: X\napiVersion: a/b/c\n", "`a/b/c` is not an API version"),
    ],
)
def test_what_is_not_a_manifest_is_left_out_with_a_word(cog: Cog, text: str, why: str) -> None:
    bundle = source_bundle.read(cog({"manifests/x.yaml": text}), "b")

    assert len(bundle.objects) == 2
    (note,) = bundle.notes
    assert note.rule == "FBC901"
    assert why in note.message
    assert note.at is not None
    assert note.at.path == "b/manifests/x.yaml"


def test_the_first_of_two_csvs_counts(cog: Cog) -> None:
    bundle = source_bundle.read(
        cog({"manifests/zzz.yaml": "kind: ClusterServiceVersion\nmetadata: {name: other}\n"})
    )

    assert bundle.name == "cog.v1.0.0"
    assert [note.rule for note in bundle.notes] == ["FBC902"]


@pytest.mark.parametrize(
    ("old", "new", "message", "place"),
    [
        ("version: 1.0.0\n", "version: 1.0\n", "`spec.version` must be a string", "7:12"),
        ("  name: cog", "  labels: {a: 1}\n  name: cog", "`metadata.labels.a` must be", "4:15"),
        ("  name: cog", "  creationTimestamp: now\n  name: cog", "must be a time", "4:22"),
        ("spec:\n", "Spec:\n", "the ClusterServiceVersion has no `spec`", "1:1"),
        ("name: cogs.example.org", "name: cogs", "couldn't parse plural.group", "10:16"),
        ("kind: Cog}", "kind: Cogs}", "couldn't find example.org/v1/Cogs (cogs)", "10:9"),
        ("kind: Cog}", "kind: 5}", "cannot unmarshal number", "10:53"),
        (
            "      - {name: cogs.example.org, version: v1, kind: Cog}",
            "      -",
            "is empty",
            "10:8",
        ),
        ("  displayName: Cog\n", "  release: [1]\n", "release field must be", "6:12"),
        ("kind: ClusterServiceVersion", "kind: CSV", "no csv in bundle", ""),
    ],
)
def test_a_csv_that_no_catalog_takes_is_refused_with_its_place(
    cog: Cog, old: str, new: str, message: str, place: str
) -> None:
    with pytest.raises(InputError) as raised:
        source_bundle.read(cog(None, old, new), "b")

    fault = raised.value.diagnostics[-1]
    assert message in fault.message
    assert fault.at is not None
    assert str(fault.at) == (f"b/manifests/csv.yaml:{place}" if place else "b/manifests")


@pytest.mark.parametrize(
    ("crd", "message"),
    [
        (None, "couldn't find"),
        (
            "apiVersion: example.org/v1\nkind: CustomResourceDefinition\n",
            'no kind "CustomResourceDefinition" is registered for version "example.org/v1"',
        ),
        (
            f"{CRD}spec: {{versions: [{{name: v1, served: 'yes'}}]}}\n",
            "`spec.versions[0].served` must be",
        ),
        (
            f"{CRD}status: {{conditions: 1}}\n",
            "`status.conditions` must be a list",
        ),
    ],
)
def test_crds_that_do_not_fit_are_refused(cog: Cog, crd: str | None, message: str) -> None:
    with pytest.raises(InputError) as raised:
        source_bundle.read(cog({"manifests/crd.yaml": crd}))

    assert message in raised.value.message


def test_a_key_of_a_crd_in_wrong_capitals_is_an_unknown_one(cog: Cog) -> None:
    crd = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "spec: {group: example.org, names: {kind: Cog, plural: cogs}, versions: [{name: v1}],\n"
        "  Scope: 5}\n"
    )

    bundle = source_bundle.read(cog({"manifests/crd.yaml": crd}))

    assert bundle.provided == {Api("example.org", "v1", "Cog", "cogs")}


def test_all_versions_of_an_older_crd_are_provided(cog: Cog) -> None:
    crd = (
        "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n"
        "spec: {group: example.org, version: v2, names: {kind: Cog, plural: cogs},\n"
        "  versions: [{name: v1}]}\n"
    )

    bundle = source_bundle.read(cog({"manifests/crd.yaml": crd}))

    assert {api.version for api in bundle.provided} == {"v1", "v2"}


@pytest.mark.parametrize(
    ("release", "read"),
    [("'1'", "1"), ("1", "1"), ("1.5", "1.5"), ("null", ""), ("1.0", "1")],
)
def test_a_release_is_a_text_or_a_number(cog: Cog, release: str, read: str) -> None:
    tree = cog(None, "  displayName: Cog\n", f"  release: {release}\n")

    assert source_bundle.read(tree).release == read


def test_metadata_comes_from_the_first_file_that_has_it(cog: Cog) -> None:
    bundle = source_bundle.read(
        cog(
            {
                "metadata/annotations.yaml": None,
                "metadata/.a.json": '{"dependencies": [{"type": "a", "value": {"z": 1.0}}]}',
                "metadata/b.yaml": (
                    "Annotations: {operators.operatorframework.io.bundle.package.v1: 5}\n"
                    "dependencies: [{type: b, value: 1}]\n"
                    "properties: [{type: c, value: <}]\n"
                ),
            }
        )
    )

    assert bundle.package == "5"
    assert bundle.dependencies == (Member("a", b'{"z": 1.0}'),)
    assert bundle.properties == (Member("c", b'"\\u003c"'),)


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (None, "Could not find annotations file"),
        ("annotations: {}\n", "Could not find annotations file"),
        ("annotations: [1]\n", "Could not find annotations file"),
        ("a: [", "Could not find annotations file"),
        (
            "annotations: {operators.operatorframework.io.bundle.channels.v1: stable}\n",
            "the annotations name no package",
        ),
    ],
)
def test_a_bundle_without_a_package_is_refused(
    cog: Cog, annotations: str | None, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        source_bundle.read(cog({"metadata/annotations.yaml": annotations}))


def test_dependencies_that_do_not_fit_are_left_out_with_a_word(cog: Cog) -> None:
    bundle = source_bundle.read(cog({"metadata/dependencies.yaml": "dependencies: [1]\n"}), "b")

    assert bundle.dependencies == ()
    (note,) = bundle.notes
    assert str(note.at) == "b/metadata/dependencies.yaml"
    assert "the dependencies of the file are left out" in note.message


@pytest.mark.parametrize(
    ("paths", "is_bundle"),
    [
        (("manifests/a", "metadata/b"), True),
        (("manifests", "metadata/b"), False),
        (("x/manifests/a", "x/metadata/b"), False),
    ],
)
def test_a_bundle_has_two_folders(paths: tuple[str, ...], is_bundle: bool) -> None:
    assert source_bundle.is_bundle(Tree(dict.fromkeys(paths, b""))) is is_bundle
