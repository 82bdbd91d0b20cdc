from __future__ import annotations

import pytest

from olmkit.kube.crds import field_errors


def test_a_path_has_the_format_of_kubernetes() -> None:
    assert field_errors.path(("spec", "versions", 0, "name")) == "spec.versions[0].name"
    assert field_errors.path(("metadata", "annotations", "a.b/c")) == "metadata.annotations[a.b/c]"
    assert field_errors.path(()) == ""


def test_messages_are_those_of_the_api_server() -> None:
    keys = ("spec", "a")

    assert field_errors.invalid(keys, "x", "no").message == 'spec.a: Invalid value: "x": no'
    assert field_errors.required(keys).message == "spec.a: Required value"
    assert field_errors.forbidden(keys, "no").message == "spec.a: Forbidden: no"
    assert field_errors.duplicate(keys, "x").message == 'spec.a: Duplicate value: "x"'
    assert field_errors.too_many(keys, 9, 8).message == (
        "spec.a: Too many: 9: must have at most 8 items"
    )
    assert field_errors.unsupported(keys, "x", ("y", "z")).message == (
        'spec.a: Unsupported value: "x": supported values: "y", "z"'
    )


def test_a_long_value_is_cut() -> None:
    assert len(field_errors.invalid(("a",), "x" * 10_000, "no").message) < 300


@pytest.mark.parametrize("name", ["a", "A.b-c_d", "example.org/a", "a.b/C_d"])
def test_qualified_names_are_accepted(name: str) -> None:
    assert field_errors.qualified_name_problem(name) == ""


@pytest.mark.parametrize(
    "name", ["", "-a", "a b", "a/b/c", "A.b/c", "/a", "a/", "x" * 64, "-x.org/a"]
)
def test_other_names_are_refused(name: str) -> None:
    assert field_errors.qualified_name_problem(name) != ""


@pytest.mark.parametrize(
    ("value", "good"),
    [
        ("", True),
        ("a.B_1", True),
        ("a b", False),
        ("-", False),
        ("x" * 63, True),
        ("x" * 64, False),
    ],
)
def test_label_values_are_checked(value: str, good: bool) -> None:
    assert (field_errors.label_value_problem(value) == "") is good


def test_metadata_is_checked_as_in_the_api_server() -> None:
    metadata = {
        "namespace": "a",
        "labels": {"-x": "y", "z": "two words"},
        "annotations": {"a/b/c": "d"},
        "finalizers": ["clean up!"],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "A", "name": "a", "uid": "1", "controller": True},
            {"apiVersion": "v1", "kind": "A", "name": "b", "controller": True},
        ],
    }

    found = [
        problem.message.partition(": ")[0] for problem in field_errors.object_metadata(metadata)
    ]

    assert found == [
        "metadata.name",
        "metadata.namespace",
        "metadata.labels",
        "metadata.labels",
        "metadata.annotations",
        "metadata.finalizers",
        "metadata.ownerReferences.uid",
        "metadata.ownerReferences",
    ]


def test_valid_metadata_has_no_errors() -> None:
    assert list(field_errors.object_metadata({"name": "a", "labels": {"b": ""}})) == []


def test_annotations_have_a_maximum_size() -> None:
    (problem,) = field_errors.annotation_errors({"a": "x" * (256 * 1024)})

    assert problem.message.startswith("metadata.annotations: Too long")


def test_labels_and_subdomains_are_distinguished() -> None:
    assert list(field_errors.label_1035(("a",), "v1")) == []
    assert list(field_errors.label_1035(("a",), "1v")) != []
    assert list(field_errors.label_1035(("a",), "x" * 64)) != []
    assert list(field_errors.subdomain(("a",), "a.b")) == []
    assert list(field_errors.subdomain(("a",), "A.b")) != []
    assert list(field_errors.subdomain(("a",), "x" * 254)) != []


def test_limits_are_the_last_values_that_the_api_server_accepts() -> None:
    keys = ("metadata", "name")
    assert not [*field_errors.label_1035(keys, "a" * 63)]
    assert [*field_errors.label_1035(keys, "a" * 64)]
    longest = ".".join(["a" * 63] * 3 + ["a" * 61])
    assert not [*field_errors.subdomain(keys, longest)]
    assert [*field_errors.subdomain(keys, longest + "a")]
    most = field_errors.MAX_ANNOTATIONS
    assert not [*field_errors.annotation_errors({"a": "x" * (most - 1)})]
    assert [*field_errors.annotation_errors({"a": "x" * most})]
