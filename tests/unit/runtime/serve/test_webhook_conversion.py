"""Conversions between versions: all objects or none, in order, with unchanged identity."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.serve.webhook_admission import BadReview
from olmkit.runtime.serve.webhook_conversion import CannotConvert, Conversions, Spoke

GROUP = "cache.example.com"
HUB = GVK(group=GROUP, version="v1", kind="Cache")


def renamed(old: str, new: str) -> Any:
    def convert(manifest: Manifest) -> Manifest:
        spec = manifest["spec"]
        if spec.get(old) == "never":
            raise CannotConvert("never has no other form")
        if spec.get(old) == "strange":
            spec[old] = object()
        if old in spec:
            spec[new] = spec.pop(old)
        manifest["metadata"] |= {"name": "changed", "annotations": {"by": new}}
        return manifest

    return convert


def conversions() -> Conversions:
    made = Conversions()
    made.add(
        HUB,
        Spoke(version="v1alpha1", to_hub=renamed("a", "hub"), from_hub=renamed("hub", "a")),
        Spoke(version="v2", to_hub=renamed("b", "hub"), from_hub=renamed("hub", "b")),
    )
    return made


def cache(version: str = "v1alpha1", **spec: Any) -> Manifest:
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Cache",
        "metadata": {"name": "c", "namespace": "n", "uid": "u", "labels": {"l": "1"}},
        "spec": spec,
    }


def review(wanted: str, *manifests: Any) -> Manifest:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "request": {"uid": "r", "desiredAPIVersion": wanted, "objects": list(manifests)},
    }


def ask(asked: Any, failures: list[int] | None = None) -> Any:
    counted = failures if failures is not None else []
    answer = conversions().answer(asked, lambda: counted.append(1))
    assert (answer["kind"], answer["response"]["uid"]) == ("ConversionReview", "r")
    return answer["response"]


def test_objects_are_returned_in_their_order() -> None:
    response = ask(review(f"{GROUP}/v1", cache(a=1), cache("v2", b=2), cache(a=3)))
    assert response["result"] == {"status": "Success"}
    assert [one["spec"]["hub"] for one in response["convertedObjects"]] == [1, 2, 3]
    assert {one["apiVersion"] for one in response["convertedObjects"]} == {f"{GROUP}/v1"}


def test_a_spoke_is_converted_to_a_spoke_through_the_hub() -> None:
    (found,) = ask(review(f"{GROUP}/v2", cache(a=1)))["convertedObjects"]
    assert found == {
        "apiVersion": f"{GROUP}/v2",
        "kind": "Cache",
        "metadata": {
            "name": "c",
            "namespace": "n",
            "uid": "u",
            "labels": {"l": "1"},
            "annotations": {"by": "b"},
        },
        "spec": {"b": 1},
    }


def test_a_list_is_one_object_of_the_review() -> None:
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": [cache(a=1), cache(a=2)]}
    (found,) = ask(review(f"{GROUP}/v1", listed))["convertedObjects"]
    assert [one["spec"] for one in found["items"]] == [{"hub": 1}, {"hub": 2}]


@pytest.mark.parametrize(
    ("wanted", "broken", "words"),
    [
        (f"{GROUP}/v1", cache(a="never"), "never has no other form"),
        (f"{GROUP}/v9", cache(a=1), "Cache has no version `v9`"),
        (f"{GROUP}/v1", cache("v9"), "Cache has no version `v9`"),
        (f"{GROUP}/v1", cache("v1"), "Cache is already in the version `v1`"),
        ("other.example.com/v1", cache(a=1), "is in the group cache.example.com, not in"),
        (f"{GROUP}/v1", {**cache(), "kind": "Pod"}, "no conversion for Pod"),
        (f"{GROUP}/v1", "text", "not an object"),
        (f"{GROUP}/v1", None, "not an object"),
    ],
)
def test_an_object_that_cannot_be_converted_fails_the_whole_review(
    wanted: str, broken: Any, words: str
) -> None:
    failures: list[int] = []
    response = ask(review(wanted, cache(a=1), broken), failures)
    assert response["convertedObjects"] == []
    assert response["result"]["status"] == "Failure"
    assert words in response["result"]["message"]
    assert failures == []


def test_a_failing_function_is_reported_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    failures: list[int] = []
    broken = cache()
    del broken["spec"]
    response = ask(review(f"{GROUP}/v1", broken), failures)
    assert response["result"]["message"] == "the conversion webhook failed: KeyError('spec')"
    assert failures == [1]
    assert "conversion failed" in caplog.text


def test_an_object_that_cannot_be_written_is_reported_and_counted() -> None:
    failures: list[int] = []
    response = ask(review(f"{GROUP}/v1", cache(a="strange")), failures)
    assert response["result"]["message"].startswith("the conversion webhook failed: TypeError(")
    assert (response["convertedObjects"], failures) == ([], [1])


@pytest.mark.parametrize(
    "broken",
    [
        None,
        {},
        review("v") | {"apiVersion": "apiextensions.k8s.io/v2"},
        review("v") | {"kind": "AdmissionReview"},
        review("v") | {"request": []},
        review("v") | {"request": {"uid": "r", "desiredAPIVersion": "v", "objects": {}}},
        review("v") | {"request": {"uid": "r", "objects": []}},
    ],
)
def test_an_invalid_review_is_reported(broken: Any) -> None:
    with pytest.raises(BadReview):
        ask(broken)


def test_a_round_trip_shows_lost_fields() -> None:
    before, after = conversions().there_and_back(cache(a=1), "v2")
    assert before["spec"] == after["spec"] == {"a": 1}


def test_kinds_and_versions_are_unique() -> None:
    made = conversions()
    with pytest.raises(ValueError, match="already has a hub"):
        made.add(HUB)
    same = Spoke(version="v1", to_hub=renamed("", ""), from_hub=renamed("", ""))
    with pytest.raises(ValueError, match="listed twice"):
        Conversions().add(HUB, same)


@pytest.mark.parametrize(
    ("kind", "versions", "problems"),
    [
        ("Cache", ["v1", "v2", "v1alpha1"], []),
        ("Cache", ["v1", "v3"], ["Cache v3 cannot be converted"]),
        ("Other", ["v1"], []),
        ("Other", ["v1", "v2"], ["Other has 2 versions and no hub"]),
    ],
)
def test_versions_of_a_crd_without_a_conversion_are_reported(
    kind: str, versions: list[str], problems: list[str]
) -> None:
    crd: Manifest = {
        "spec": {
            "group": GROUP,
            "names": {"kind": kind},
            "versions": [
                *({"name": one, "served": True} for one in versions),
                {"name": "v0", "served": False},
            ],
        }
    }
    assert conversions().check(crd) == problems
