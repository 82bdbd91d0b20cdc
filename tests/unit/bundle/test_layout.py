from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.bundle import layout

ANNOTATIONS = (
    b"annotations:\n"
    b"  operators.operatorframework.io.bundle.package.v1: kettle\n"
    b"  operators.operatorframework.io.bundle.channels.v1: stable, fast\n"
    b"  operators.operatorframework.io.bundle.channel.default.v1: stable\n"
)
CSV = b"kind: ClusterServiceVersion\nmetadata: {name: kettle.v1.0.0}\n"


def _read(**files: bytes) -> layout.Bundle:
    tree = {name.replace("__", "/").replace("_yaml", ".yaml"): text for name, text in files.items()}
    return layout.read(Tree(tree), "bundle")


def test_a_bundle_has_the_contents_of_its_files() -> None:
    bundle = _read(
        metadata__annotations_yaml=ANNOTATIONS,
        metadata__dependencies_yaml=b"dependencies: [{type: olm.label, value: {label: a}}]\n",
        metadata__properties_yaml=b"properties: [{type: a, value: b}]\n",
        manifests__csv_yaml=CSV,
        manifests__crd_yaml=b"kind: CustomResourceDefinition\n",
        manifests__map_yaml=b"kind: ConfigMap\n",
    )

    assert (bundle.package, bundle.channels, bundle.default_channel) == (
        "kettle",
        ("stable", "fast"),
        "stable",
    )
    assert bundle.csv is not None
    assert bundle.csv.name == "kettle.v1.0.0"
    assert len(bundle.crds) == 1
    assert [document.path for document in bundle.manifests] == [
        "bundle/manifests/crd.yaml",
        "bundle/manifests/csv.yaml",
        "bundle/manifests/map.yaml",
    ]
    assert [(entry.type, entry.value) for entry in bundle.dependencies] == [
        ("olm.label", {"label": "a"})
    ]
    assert bundle.properties[0].at("value").line == 1
    assert bundle.unreadable == ()


@pytest.mark.parametrize("value", ["deploy", "./deploy/", "/deploy/", "x/../deploy"])
def test_manifests_are_in_the_directory_that_the_annotations_name(value: str) -> None:
    annotations = f"annotations: {{operators.operatorframework.io.bundle.manifests.v1: {value}}}\n"

    bundle = _read(metadata__annotations_yaml=annotations.encode(), deploy__csv_yaml=CSV)

    assert bundle.manifests_dir == "deploy"
    assert bundle.csv is not None


@pytest.mark.parametrize("value", ["../deploy", "''"])
def test_a_directory_that_does_not_exist_is_replaced_by_the_usual_one(value: str) -> None:
    annotations = f"annotations: {{operators.operatorframework.io.bundle.manifests.v1: {value}}}\n"

    bundle = _read(metadata__annotations_yaml=annotations.encode(), manifests__csv_yaml=CSV)

    assert bundle.manifests_dir == "manifests"


def test_annotations_come_from_the_first_file_that_has_them_if_the_usual_one_does_not() -> None:
    bundle = _read(elsewhere__b_yaml=b"annotations: {a: b}\n", manifests__csv_yaml=CSV)

    assert bundle.annotations == {"a": "b"}
    assert bundle.metadata_dir == "elsewhere"


def test_scalars_count_as_strings_and_lists_do_not() -> None:
    text = b"Annotations: {a: true, b: 1.5, c: null, d: [x]}\n"

    bundle = _read(metadata__annotations_yaml=text, manifests__csv_yaml=CSV)

    assert bundle.annotations == {"a": "true", "b": "1.5", "c": ""}


def test_an_unreadable_file_is_kept_with_its_error() -> None:
    bundle = _read(metadata__annotations_yaml=ANNOTATIONS, manifests__a_yaml=b"a: [\n")

    (broken,) = bundle.unreadable
    assert broken.path == "manifests/a.yaml"
    assert broken.error.diagnostics[0].at is not None
    assert broken.error.diagnostics[0].at.path == "bundle/manifests/a.yaml"


def test_hidden_files_and_files_in_subdirectories_are_not_manifests() -> None:
    tree = Tree({"manifests/.a.yaml": CSV, "manifests/b/c.yaml": CSV, "manifests/d.yaml": CSV})

    bundle = layout.read(tree)

    assert [document.path for document in bundle.manifests] == ["manifests/d.yaml"]


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        (b"# licence\n---\nkind: A\n", True),
        (b"\n---\nkind: A\n", True),
        (b"\xef\xbb\xbf# licence\r\n--- # next\r\nkind: A\r\n", True),
        (b"---\nkind: A\n", False),
        (b"# licence\nkind: A\n---\n", False),
        (b"kind: A\n", False),
    ],
)
def test_a_comment_before_the_separator_is_an_empty_document(text: bytes, empty: bool) -> None:
    document = layout.load_first(text, "a.yaml")

    assert (document.value is None) is empty


def test_further_documents_are_found() -> None:
    tree = Tree(
        {"manifests/a.yaml": b"kind: A\n---\nkind: B\n", "manifests/b.yaml": b"# a\n---\nkind: C\n"}
    )
    bundle = layout.read(tree, "x")

    extra = [
        [other.get("kind") for other in layout.extra_documents(bundle, document)]
        for document in bundle.manifests
    ]

    assert extra == [["B"], ["C"]]


def test_utf_16_is_refused_with_a_fix() -> None:
    with pytest.raises(InputError, match="UTF-16") as caught:
        layout.load_first("kind: A\n".encode("utf-16"), "a.yaml")

    assert caught.value.diagnostics[0].hint == "save the file as UTF-8"


@pytest.mark.parametrize("tree", [Tree(), Tree({"README.md": b"x"})])
def test_a_directory_without_a_bundle_is_refused(tree: Tree) -> None:
    with pytest.raises(InputError) as caught:
        layout.read(tree, "folder")

    assert "folder" in caught.value.message
    assert "manifests/" in caught.value.hint


def test_more_files_than_a_bundle_can_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A layer of some kilobytes can have 100,000 empty files, and rules would read each of them."""
    monkeypatch.setattr(layout, "MAX_FILES", 50)
    files = {f"manifests/{number}.yaml": b"" for number in range(49)}
    assert len(layout.read(Tree(files | {"metadata/annotations.yaml": ANNOTATIONS})).tree) == 50
    many = {f"manifests/{number}.yaml": b"" for number in range(51)}
    with pytest.raises(InputError, match="`bundle` has more than 50 files"):
        layout.read(Tree(many), "bundle")
