"""The fields of a kustomization, and refused ones with their places."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.project.kustomize import shape as kustomize_shape


@pytest.mark.parametrize(
    "text",
    [
        "resources: []\n",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nmetadata: {name: x}\n",
        "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n",
        "kind: Kustomization\n",
        "openapi:\ncrds: []\nimages: [{name: a, tagSuffix: ''}]\n",
        "images: [{name: a, newTag: '1.10'}]\nsortOptions: {order: fifo}\n",
    ],
)
def test_a_valid_kustomization_is_accepted(text: str) -> None:
    kustomize_shape.check(documents.load(text.encode(), "k.yaml"))


@pytest.mark.parametrize(
    ("text", "hint", "place"),
    [
        ("\nNamePrefix: x-\n", "write `namePrefix`: kustomize accepts any case", "2:1"),
        ("images:\n- {name: a, newtag: b}\n", "write `newTag`", "2:13"),
        ("\nimageTags: [{name: a}]\n", "into `--input -`", "2:1"),
    ],
)
def test_features_that_only_kustomize_supports_have_a_place_and_a_hint(
    text: str, hint: str, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        kustomize_shape.check(documents.load(text.encode(), "k.yaml"))
    [found] = caught.value.diagnostics
    assert hint in found.hint
    assert str(found.at) == f"k.yaml:{place}"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("- a\n", "must be a mapping", "1:1"),
        ("kind: Service\n", "`` `Service` is not a kustomization", "1:7"),
        ("apiVersion: v1\n", "is not a kustomization", "1:13"),
        ("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Component\n", "not a kustom", "2:7"),
        ("nothing: 1\n", 'unknown field "nothing"', "1:1"),
        ("images:\n- {name: a, tag: b}\n", 'unknown field "tag"', "2:13"),
        ("images:\n- {name: a, newTag: 1.10}\n", "`images[0].newTag` must be a string", "2:21"),
        ("replicas:\n- {name: 5, count: 1}\n", "`replicas[0].name` must be a string", "2:10"),
        ("sortOptions: {order: fifo, by: x}\n", 'unknown field "by"', "1:28"),
    ],
)
def test_an_invalid_kustomization_is_refused_at_its_place(
    text: str, message: str, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        kustomize_shape.check(documents.load(text.encode(), "k.yaml"))
    assert message in caught.value.message
    assert str(caught.value.diagnostics[0].at) == f"k.yaml:{place}"


@pytest.mark.parametrize(
    ("text", "key", "place"),
    [
        ("resources: []\nhelmCharts: [{name: a}]\n", "helmCharts", "2:1"),
        ("images:\n- {name: a, tagSuffix: b}\n", "tagSuffix", "2:13"),
        ("labels:\n- fields: [{path: a}]\n", "fields", "2:3"),
        ("sortOptions: {legacySortOptions: {orderFirst: [a]}}\n", "legacySortOptions", "1:15"),
    ],
)
def test_kustomizations_that_only_kustomize_builds_are_refused_with_a_hint(
    text: str, key: str, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        kustomize_shape.check(documents.load(text.encode(), "k.yaml"))
    assert caught.value.message == f"`{key}` of kustomize is not supported here"
    assert "--input -" in caught.value.hint
    assert str(caught.value.diagnostics[0].at) == f"k.yaml:{place}"
