"""Resources and their selectors."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.base.diagnostics import InputError, Location
from olmkit.base.documents import Document
from olmkit.project.kustomize.resources import Identity, Resource, Selector, require_unique

AT = Location(path="k", line=1)


def resource(name: str = "a", namespace: str = "", **metadata: Any) -> Resource:
    value = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {}), **metadata},
    }
    return Resource(value, Document(value, path="a.yaml"))


def test_a_resource_remembers_its_names() -> None:
    found = resource("a", "n")
    found.rename(name="my-a")
    found.rename(namespace="m")
    found.rename(name="my-a")
    assert [(one.name, one.namespace) for one in found.identities] == [
        ("a", "n"),
        ("my-a", "n"),
        ("my-a", "m"),
    ]
    assert found.original == Identity("a", "n", found.gvk.kind)


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ({}, True),
        ({"kind": "Deployment", "group": "apps", "version": "v1"}, True),
        ({"kind": "Deploy"}, False),
        ({"kind": "Deploy.*"}, True),
        ({"name": "old"}, True),
        ({"name": "ol"}, False),
        ({"name": "new", "namespace": "n"}, True),
        ({"name": "old", "namespace": "m"}, False),
        ({"labelSelector": "app=web"}, True),
        ({"labelSelector": "app==web,tier!=back"}, True),
        ({"labelSelector": "app in (web, api), !other"}, True),
        ({"labelSelector": "app notin (web)"}, False),
        ({"labelSelector": "app"}, True),
        ({"labelSelector": "none"}, False),
        ({"annotationSelector": "note=x"}, True),
        ({"annotationSelector": "note!=x"}, False),
    ],
)
def test_a_selector_matches_any_name_that_a_resource_had(
    selector: dict[str, str], matches: bool
) -> None:
    found = resource("old", "n", labels={"app": "web"}, annotations={"note": "x"})
    found.rename(name="new")
    assert Selector.parse(selector, AT).matches(found) is matches


def test_an_exact_selector_is_not_a_regular_expression() -> None:
    assert not Selector.parse({"name": "ol."}, AT, exact=True).matches(resource("old"))
    assert Selector.parse({"name": "old"}, AT, exact=True).matches(resource("old"))


def test_two_equal_objects_are_refused() -> None:
    with pytest.raises(InputError, match="occurs twice"):
        require_unique([resource(), resource()], lambda _: AT)
    require_unique([resource(), resource(namespace="n")], lambda _: AT)
    other = resource()
    other.value["apiVersion"] = "other/v2"
    require_unique([resource(), other], lambda _: AT)
