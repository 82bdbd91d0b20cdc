"""A ClusterServiceVersion from catalog properties; the conformance tests cover more."""

from __future__ import annotations

import json
from typing import Any

import pytest

from olmkit.catalog.bundles import synthetic_csv


def text(metadata: Any, **other: Any) -> str:
    settings: dict[str, Any] = {
        "name": "cog.v1.0.0",
        "version": "1.0.0",
        "package_description": "",
        "package_icon": None,
        "related_images": (),
        **other,
    }
    return synthetic_csv.csv_text(metadata, **settings).decode()


BARE = (
    '{"kind":"ClusterServiceVersion","apiVersion":"operators.coreos.com/v1alpha1",'
    '"metadata":{"name":"cog.v1.0.0"},'
    '"spec":{"install":{"strategy":"deployment","spec":{"deployments":null}},"version":"1.0.0",'
    '"customresourcedefinitions":{},"apiservicedefinitions":{},"displayName":"","provider":{},'
    '"cleanup":{"enabled":false}},"status":{"cleanup":{}}}'
)


@pytest.mark.parametrize("metadata", [None, {}, {"description": ""}, {"annotations": {}}])
def test_an_empty_bundle_has_the_fields_that_readers_need(metadata: Any) -> None:
    assert text(metadata) == BARE


@pytest.mark.parametrize(
    "metadata", [[], "x", {"installModes": "x"}, {"labels": {"a": 1}}, {"provider": [1]}]
)
def test_values_of_wrong_types_are_ignored(metadata: Any) -> None:
    json.loads(text(metadata))


def test_fields_are_found_in_any_case_and_the_exact_name_takes_precedence() -> None:
    csv = json.loads(text({"DISPLAYNAME": "no", "displayName": "yes", "Maturity": "beta"}))
    assert csv["spec"]["displayName"] == "yes"
    assert csv["spec"]["maturity"] == "beta"


def test_unknown_fields_are_omitted_at_every_depth() -> None:
    owned = {"name": "cogs.x", "version": "v1", "kind": "Cog", "colour": "red"}
    csv = json.loads(text({"crdDescriptions": {"owned": [owned]}, "colour": "red"}))
    assert csv["spec"]["customresourcedefinitions"] == {
        "owned": [{"name": "cogs.x", "version": "v1", "kind": "Cog"}]
    }
    assert "colour" not in csv["spec"]


def test_values_of_the_bundle_take_precedence_over_the_package() -> None:
    assert (
        json.loads(text({"description": "mine"}, package_description="its"))["spec"]["description"]
        == "mine"
    )
    assert json.loads(text({}, package_description="its"))["spec"]["description"] == "its"


def test_values_of_descriptors_have_sorted_keys_and_null_is_a_value() -> None:
    descriptors = [{"path": "p", "value": {"b": 1, "a": [{"d": 1, "c": 2}]}}]
    descriptors.append({"path": "q", "value": None})
    made = text({"crdDescriptions": {"owned": [{"specDescriptors": descriptors}]}})
    assert '{"path":"p","value":{"a":[{"c":2,"d":1}],"b":1}},{"path":"q","value":null}' in made


def test_an_icon_is_written_in_canonical_base64() -> None:
    icon = {"base64data": "aWNv\nbg==", "mediatype": "image/png"}
    spec = json.loads(text({}, package_icon=icon))["spec"]
    assert spec["icon"] == [{"base64data": "aWNvbg==", "mediatype": "image/png"}]


def test_characters_are_escaped_as_in_go() -> None:
    made = text({"annotations": {"b": "<&>", "a": "\u2028"}})
    assert '"annotations":{"a":"\\u2028","b":"\\u003c\\u0026\\u003e"}' in made
