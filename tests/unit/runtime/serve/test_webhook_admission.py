"""The results of handlers, and the answers to the API server."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from pydantic import Field

from olmkit.kube import patches
from olmkit.kube.api import Cause, Forbidden, Invalid
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.kinds import CustomResource, Model
from olmkit.runtime.serve import webhook_admission
from olmkit.runtime.serve.webhook_admission import (
    AdmissionRequest,
    BadReview,
    Denied,
    Handler,
    Verdict,
)


class CacheSpec(Model):
    size: int = 1
    tags: list[str] = Field(default_factory=list)


class Cache(CustomResource):
    gvk: ClassVar[GVK] = GVK(group="cache.example.com", version="v1", kind="Cache")
    spec: CacheSpec = Field(default_factory=CacheSpec)


class Defaulting:
    """Sets a missing size."""

    async def default(self, obj: Cache, _: AdmissionRequest) -> None:
        if "size" not in obj.spec.model_fields_set:
            obj.spec.size = 3


class Validating:
    """Refuses a smaller size and a deletion by bob."""

    async def validate_create(self, new: Cache, _: AdmissionRequest) -> Sequence[str] | None:
        return ["one pod has no redundancy"] if new.spec.size == 1 else None

    async def validate_update(
        self, old: Cache, new: Cache, _: AdmissionRequest
    ) -> Sequence[str] | None:
        if new.spec.size < old.spec.size:
            cause = Cause("FieldValueInvalid", "must not shrink", "spec.size")
            raise Denied("size must not shrink", code=422, causes=[cause], warnings=["think"])
        return None

    async def validate_delete(self, _: Cache, request: AdmissionRequest) -> Sequence[str] | None:
        if request.user == "bob":
            raise Denied("not by bob")
        return None


def cache(**spec: Any) -> Manifest:
    return {
        "apiVersion": "cache.example.com/v1",
        "kind": "Cache",
        "metadata": {"name": "c", "creationTimestamp": None},
        "spec": spec,
    }


def review(
    operation: str = "CREATE",
    new: Any = None,
    old: Any = None,
    *,
    version: str = "v1",
    user: str = "ann",
) -> Manifest:
    return {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "request": {
            "uid": "u1",
            "kind": {"group": "cache.example.com", "version": "v1", "kind": "Cache"},
            "resource": {"group": "cache.example.com", "version": "v1", "resource": "caches"},
            "name": "c",
            "namespace": "n",
            "operation": operation,
            "userInfo": {"username": user, "groups": ["g"]},
            "object": new,
            "oldObject": old,
            "dryRun": False,
        },
    }


def ask(asked: Any, *handlers: Handler, failures: list[int] | None = None) -> Any:
    counted = failures if failures is not None else []
    answer = asyncio.run(webhook_admission.answer(asked, handlers, lambda: counted.append(1)))
    return answer["response"]


def patch_of(response: Any) -> Any:
    return json.loads(base64.b64decode(response["patch"]))


DEFAULTING = webhook_admission.defaulting(Defaulting(), Cache)
VALIDATING = webhook_admission.validating(Validating(), Cache)


def test_defaults_are_a_patch_of_the_sent_object() -> None:
    sent = cache(extra={"a": None})
    response = ask(review(new=sent), DEFAULTING)
    assert (response["uid"], response["allowed"], response["patchType"]) == (
        "u1",
        True,
        "JSONPatch",
    )
    assert patch_of(response) == [{"op": "add", "path": "/spec/size", "value": 3}]
    assert patches.json_patch(sent, patch_of(response))["spec"] == {"extra": {"a": None}, "size": 3}


def test_a_default_in_a_missing_field_creates_the_field() -> None:
    sent = cache()
    del sent["spec"]
    assert patch_of(ask(review(new=sent), DEFAULTING)) == [
        {"op": "add", "path": "/spec", "value": {"size": 3}}
    ]


def test_an_object_without_changes_has_no_patch() -> None:
    response = ask(review(new=cache(size=2)), DEFAULTING)
    assert response == {"uid": "u1", "allowed": True, "status": {"code": 200}}


def test_a_deletion_has_no_defaults() -> None:
    assert "patch" not in ask(review("DELETE", old=cache()), DEFAULTING)


def test_plain_data_is_changed_in_place_and_compared() -> None:
    class Plain:
        async def default(self, obj: Manifest, _: AdmissionRequest) -> None:
            obj["spec"]["size"] = 5
            obj["metadata"].pop("creationTimestamp")

    sent = cache(size=2)
    response = ask(review(new=sent), webhook_admission.defaulting_plain(Plain()))
    assert patch_of(response) == [
        {"op": "remove", "path": "/metadata/creationTimestamp"},
        {"op": "replace", "path": "/spec/size", "value": 5},
    ]
    assert sent["spec"] == {"size": 2}


def test_each_handler_sees_the_result_of_the_previous_one() -> None:
    async def double(request: AdmissionRequest) -> Verdict:
        assert request.object is not None
        size = request.object["spec"]["size"] * 2
        return Verdict(
            patch=({"op": "replace", "path": "/spec/size", "value": size},), warnings=("doubled",)
        )

    response = ask(review(new=cache()), DEFAULTING, double, double)
    assert patch_of(response) == [{"op": "add", "path": "/spec/size", "value": 12}]
    assert response["warnings"] == ["doubled", "doubled"]


def test_a_patch_that_cannot_be_applied_is_an_error_of_the_webhook() -> None:
    async def wrong(_: AdmissionRequest) -> Verdict:
        return Verdict(patch=({"op": "remove", "path": "/nothing"},))

    failures: list[int] = []
    response = ask(review(new=cache()), wrong, failures=failures)
    assert (response["allowed"], response["status"]["code"], failures) == (False, 500, [1])


def test_an_answer_that_cannot_be_written_is_an_error_of_the_webhook() -> None:
    async def wrong(_: AdmissionRequest) -> Verdict:
        return Verdict(patch=({"op": "add", "path": "/spec/size", "value": object()},))

    failures: list[int] = []
    response = ask(review(new=cache()), wrong, failures=failures)
    assert (response["allowed"], response["status"]["code"], failures) == (False, 500, [1])


def test_a_single_warning_does_not_need_a_list() -> None:
    class Careless(Validating):
        async def validate_create(self, new: Cache, _: AdmissionRequest) -> Sequence[str]:  # noqa: ARG002
            return "one pod has no redundancy"

    response = ask(review(new=cache()), webhook_admission.validating(Careless(), Cache))
    assert response["warnings"] == ["one pod has no redundancy"]


def test_the_depth_of_an_object_does_not_matter_without_changes() -> None:
    class Anything(Validating):
        async def validate_create(self, new: Any, _: AdmissionRequest) -> None:  # noqa: ARG002
            return None

    deep: Manifest = {}
    for _ in range(5000):
        deep = {"a": deep}
    response = ask(review(new=deep), webhook_admission.validating_plain(Anything()))
    assert response["allowed"] is True


def test_warnings_are_returned_with_an_accepted_object() -> None:
    response = ask(review(new=cache()), VALIDATING)
    assert response["allowed"] is True
    assert response["warnings"] == ["one pod has no redundancy"]


def test_a_refusal_names_the_field_and_keeps_its_warnings() -> None:
    response = ask(review("UPDATE", new=cache(size=1), old=cache(size=2)), VALIDATING)
    assert response["allowed"] is False
    assert response["status"] == {
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": "size must not shrink",
        "details": {
            "causes": [
                {
                    "reason": "FieldValueInvalid",
                    "message": "must not shrink",
                    "field": "spec.size",
                }
            ]
        },
    }
    assert response["warnings"] == ["think"]


@pytest.mark.parametrize(
    ("operation", "new", "old", "user", "allowed"),
    [
        ("CREATE", cache(size=2), None, "bob", True),
        ("UPDATE", cache(size=3), cache(size=2), "bob", True),
        ("DELETE", None, cache(), "ann", True),
        ("DELETE", None, cache(), "bob", False),
        ("CONNECT", None, None, "bob", True),
    ],
)
def test_the_operation_decides_which_handler_runs(
    operation: str, new: Any, old: Any, user: str, allowed: bool
) -> None:
    response = ask(review(operation, new, old, user=user), VALIDATING)
    assert response["allowed"] is allowed
    if not allowed:
        assert response["status"]["code"] == 403
        assert response["status"]["reason"] == "Forbidden"


def test_an_unknown_operation_is_refused_with_400() -> None:
    response = ask(review("PATCH", new=cache()), VALIDATING)
    assert (response["allowed"], response["status"]["code"]) == (False, 400)


def test_the_first_refusal_is_the_answer_and_ends_the_handlers() -> None:
    async def never(_: AdmissionRequest) -> Verdict:
        raise AssertionError

    async def no(_: AdmissionRequest) -> Verdict:
        return Verdict(allowed=False, warnings=("w",), annotations={"why": "so"})

    failures: list[int] = []
    response = ask(review(new=cache()), VALIDATING, no, never, failures=failures)
    assert response["warnings"] == ["one pod has no redundancy", "w"]
    assert response["auditAnnotations"] == {"why": "so"}
    assert response["status"]["message"] == "Forbidden"
    assert failures == []


def test_a_warning_of_several_lines_becomes_one() -> None:
    async def warn(_: AdmissionRequest) -> Verdict:
        return Verdict(warnings=("first\n  second",))

    assert ask(review(new=cache()), warn)["warnings"] == ["first second"]


def test_a_kind_of_another_library_reports_its_own_errors() -> None:
    class Plain:
        @classmethod
        def from_manifest(cls, manifest: Manifest) -> Plain:
            raise ValueError(f"no {manifest['kind']}")

        def to_manifest(self) -> Manifest:
            raise AssertionError

    class Anything:
        async def validate_create(self, _new: Plain, _: AdmissionRequest, /) -> None: ...
        async def validate_update(
            self, _old: Plain, _new: Plain, _: AdmissionRequest, /
        ) -> None: ...
        async def validate_delete(self, _old: Plain, _: AdmissionRequest, /) -> None: ...

    response = ask(review(new=cache()), webhook_admission.validating(Anything(), Plain))
    assert response["status"]["message"] == "the object cannot be read: no Cache"


def test_a_refusal_without_a_message_has_a_default_one() -> None:
    async def no(_: AdmissionRequest) -> Verdict:
        return Verdict(allowed=False, code=451)

    assert ask(review(new=cache()), no)["status"]["message"] == "refused"


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (RuntimeError("broken"), 500, "the webhook failed: RuntimeError('broken')"),
        (Forbidden("not you", code=403, reason="Forbidden"), 403, "not you"),
        (Invalid("bad", code=422, causes=[Cause("r", "m", "f")]), 422, "bad"),
    ],
)
def test_errors_refuse_with_their_code(
    error: Exception, code: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def fails(_: AdmissionRequest) -> Verdict:
        raise error

    failures: list[int] = []
    response = ask(review(new=cache()), fails, failures=failures)
    assert response["allowed"] is False
    assert (response["status"]["code"], response["status"]["message"]) == (code, words)
    assert len(failures) == (code == 500)
    assert ("webhook failed" in caplog.text) is (code == 500)


def test_an_object_of_a_wrong_type_is_refused_with_400_and_the_place() -> None:
    response = ask(review(new=cache(size="many")), VALIDATING)
    assert response["status"]["code"] == 400
    words = "the object cannot be read: spec.size: Input should be a valid integer"
    assert response["status"]["message"].startswith(words)


def test_an_object_of_a_wrong_type_gets_no_defaults_because_its_schema_has_the_better_error() -> (
    None
):
    response = ask(review(new=cache(size="many")), DEFAULTING)
    assert response == {"uid": "u1", "allowed": True, "status": {"code": 200}}


def going(**spec: Any) -> Manifest:
    made = cache(**spec)
    made["metadata"]["deletionTimestamp"] = "2024-05-01T00:00:00Z"
    return made


@pytest.mark.parametrize(
    ("operation", "new", "old", "warnings"),
    [
        ("UPDATE", cache(size=1), cache(size="many"), ["one pod has no redundancy"]),
        ("UPDATE", going(size="many"), cache(size="many"), None),
        ("DELETE", None, cache(size="many"), None),
    ],
    ids=["repaired", "its finalizer is taken away", "deleted"],
)
def test_an_object_that_is_no_longer_valid_can_be_repaired_and_removed(
    operation: str, new: Any, old: Any, warnings: Any
) -> None:
    response = ask(review(operation, new, old, user="bob"), VALIDATING)
    assert response["allowed"] is True
    assert response.get("warnings") == warnings


def test_a_review_of_the_old_version_is_answered_in_it() -> None:
    asked = review(new=cache(), version="v1beta1")
    answer = asyncio.run(webhook_admission.answer(asked, [DEFAULTING], lambda: None))
    assert answer["apiVersion"] == "admission.k8s.io/v1beta1"


@pytest.mark.parametrize(
    "broken",
    [
        None,
        [],
        "text",
        {},
        {"kind": "AdmissionReview", "apiVersion": "v1"},
        review() | {"apiVersion": "admission.k8s.io/v2"},
        review() | {"kind": "Pod"},
        review() | {"request": None},
        review() | {"request": {"uid": 1, "operation": "CREATE"}},
        review() | {"request": {"uid": "", "operation": "CREATE"}},
        review() | {"request": {"uid": "u"}},
        review(new=[1]),
        review(old="x"),
    ],
)
def test_an_invalid_review_is_reported(broken: Any) -> None:
    with pytest.raises(BadReview):
        ask(broken, VALIDATING)


@pytest.mark.parametrize(
    ("gvk", "path"),
    [
        (GVK(group="", version="v1", kind="Pod"), "/mutate--v1-pod"),
        (Cache.gvk, "/mutate-cache-example-com-v1-cache"),
    ],
)
def test_the_path_consists_of_group_version_and_kind(gvk: GVK, path: str) -> None:
    assert webhook_admission.webhook_path("mutate", gvk) == path
