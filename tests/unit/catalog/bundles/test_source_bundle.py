from __future__ import annotations

from collections.abc import Callable

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs.typed_json import Member
from olmkit.catalog.bundles import source_bundle
from olmkit.catalog.bundles.source_apis import Api

Cog = Callable[..., Tree]


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


def test_hidden_files_and_directories_are_not_manifests(cog: Cog) -> None:
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
def test_a_file_that_is_not_a_manifest_is_omitted_and_reported(
    cog: Cog, text: str, why: str
) -> None:
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
    ("release", "read"),
    [("'1'", "1"), ("1", "1"), ("1.5", "1.5"), ("null", ""), ("1.0", "1")],
)
def test_a_release_is_a_string_or_a_number(cog: Cog, release: str, read: str) -> None:
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


def test_dependencies_of_a_wrong_type_are_omitted_and_reported(cog: Cog) -> None:
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
def test_a_bundle_has_two_directories(paths: tuple[str, ...], is_bundle: bool) -> None:
    assert source_bundle.is_bundle(Tree(dict.fromkeys(paths, b""))) is is_bundle
