"""Admission webhooks, which the API server calls before it stores an object.

A *defaulter* changes the object, a *validator* denies it or warns. Both get typed objects if a kind
is passed, and plain data otherwise. The lower-level form is a handler, a function from request to
verdict. This module has no I/O; `webhook` serves it over HTTP. Source: `admission.k8s.io/v1`.

A handler raises `Denied` to deny a request. Any other error is a bug in the webhook: it also denies
the request, with code 500, and is logged with its traceback.
"""

from __future__ import annotations

import base64
import copy
import dataclasses
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, Self, TypeVar

import msgspec

from olmkit.kube import changes, finalizers, objects, patches
from olmkit.kube.api import Cause, ClusterError
from olmkit.kube.objects import GVK, Manifest

_LOG = logging.getLogger(__name__)

_UNDERSTOOD = (("admission.k8s.io", "v1"), ("admission.k8s.io", "v1beta1"))
_REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    504: "Timeout",
}


class Operation(StrEnum):
    """The operation on the object."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    CONNECT = "CONNECT"


class BadReview(Exception):  # noqa: N818 - a fact about what was sent
    """The request is not a valid review; `status` is the HTTP status."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Denied(Exception):  # noqa: N818 - an answer, not a fault
    """The request is denied; `message` is shown to the user.

    `causes` name fields, as in the API server's own validation errors. Warnings are also shown.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int = 403,
        causes: Sequence[Cause] = (),
        warnings: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.causes = tuple(causes)
        self.warnings = tuple(warnings)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRequest:
    """An admission request. `object` is None on DELETE, `old` on CREATE and CONNECT.

    `gvk` and `plural` are those of the object in this request, which a rule with `matchPolicy:
    Equivalent` may have converted. `name` is empty for a create request with `generateName`. `raw`
    is the whole request.
    """

    uid: str
    operation: str
    gvk: GVK
    plural: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    user: str = ""
    groups: tuple[str, ...] = ()
    dry_run: bool = False
    object: Manifest | None = None
    old: Manifest | None = None
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The verdict of one handler; `patch` has the JSON patch operations of a mutating handler.

    The default code is 200 if allowed, and 403 if denied.
    """

    allowed: bool = True
    message: str = ""
    code: int = 0
    causes: tuple[Cause, ...] = ()
    warnings: tuple[str, ...] = ()
    patch: tuple[Mapping[str, Any], ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)


Handler = Callable[[AdmissionRequest], Awaitable[Verdict]]
"""Handles one request. A mutating handler gets the object with the changes of the handlers before
it.
"""


class TypedKind(Protocol):
    """The methods that a typed kind needs, as in `olmkit.runtime.kinds.CustomResource`."""

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Self:
        """Return the typed object; raise `ValueError` if the data do not fit the class."""

    def to_manifest(self) -> Manifest:
        """Return the fields that were set as plain data."""


K = TypeVar("K", bound=TypedKind)
T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)


class Defaulter(Protocol[T_contra]):
    """Sets defaults in objects."""

    async def default(self, obj: T_contra, request: AdmissionRequest, /) -> None:
        """Change `obj` in place. It may be called twice for the same object."""


class Validator(Protocol[T_contra]):
    """Denies objects by raising `Denied`, or admits them with warnings."""

    async def validate_create(
        self, new: T_contra, request: AdmissionRequest, /
    ) -> Sequence[str] | None:
        """Validate the creation of an object."""

    async def validate_update(
        self, old: T_contra, new: T_contra, request: AdmissionRequest, /
    ) -> Sequence[str] | None:
        """Validate an update of an object."""

    async def validate_delete(
        self, old: T_contra, request: AdmissionRequest, /
    ) -> Sequence[str] | None:
        """Validate the deletion of an object."""


def defaulting(defaulter: Defaulter[K], kind: type[K]) -> Handler:
    """Return a handler for a typed kind, whose patch has the changes of the defaulter.

    The patch is the difference between two dumps of the typed object, so that unknown fields, and
    fields that the type serializes differently, stay as they were sent. An object that does not fit
    the type is not changed: the validation against its schema follows, with a better message.
    """

    async def handle(request: AdmissionRequest) -> Verdict:
        if request.object is None:
            return Verdict()
        try:
            obj = kind.from_manifest(request.object)
        except ValueError:
            return Verdict()
        before = obj.to_manifest()
        await defaulter.default(obj, request)
        change = changes.merge_patch(before, obj.to_manifest())
        return _changed(request.object, patches.merge_patch(request.object, change))

    return handle


def defaulting_plain(defaulter: Defaulter[Manifest]) -> Handler:
    """Return a handler whose defaulter changes plain data."""

    async def handle(request: AdmissionRequest) -> Verdict:
        if request.object is None:
            return Verdict()
        made = copy.deepcopy(request.object)
        await defaulter.default(made, request)
        return _changed(request.object, made)

    return handle


def validating(validator: Validator[K], kind: type[K]) -> Handler:
    """Return a handler for a typed kind, which denies an object that does not fit it with code 400.

    It must stay possible to repair or delete objects that were stored before a rule existed. So if
    the old object does not fit, the new one is validated as a creation, and a deletion is allowed.
    """
    return _validating(validator, kind.from_manifest)


def validating_plain(validator: Validator[Manifest]) -> Handler:
    """Return a handler whose validator gets plain data."""
    return _validating(validator, lambda manifest: manifest)


def webhook_path(word: str, gvk: GVK) -> str:
    """Return the conventional path of a webhook; `word` is `mutate` or `validate`."""
    return f"/{word}-{gvk.group.replace('.', '-')}-{gvk.version}-{gvk.kind.lower()}"


async def answer(review: Any, handlers: Sequence[Handler], failed: Callable[[], None]) -> Manifest:
    """Return the response to `review`: handlers run in order, and the first denial ends it.

    `failed` is called for each handler that raised an unexpected error. Raises `BadReview`.
    """
    request = _parse(review)
    verdict = await _judge(request, handlers, failed)
    response: dict[str, Any] = {
        "uid": request.uid,
        "allowed": verdict.allowed,
        "status": _status(verdict),
    }
    if verdict.patch:
        document = msgspec.json.encode(list(verdict.patch))
        response["patch"] = base64.b64encode(document).decode()
        response["patchType"] = "JSONPatch"
    if verdict.warnings:
        # They are sent in headers, which have one line.
        response["warnings"] = [" ".join(one.split()) for one in verdict.warnings]
    if verdict.annotations:
        response["auditAnnotations"] = dict(verdict.annotations)
    return {
        "apiVersion": review["apiVersion"],
        "kind": "AdmissionReview",
        "response": response,
    }


async def _judge(
    request: AdmissionRequest, handlers: Sequence[Handler], failed: Callable[[], None]
) -> Verdict:
    """Run the handlers, each on the result of the previous one; return one verdict."""
    if request.operation not in Operation.__members__:
        words = f"the operation `{request.operation}` is unknown"
        return Verdict(allowed=False, code=400, message=words)
    now = request
    verdict = Verdict()
    warnings: list[str] = []
    annotations: dict[str, str] = {}
    for handler in handlers:
        try:
            verdict = await handler(now)
            # A value that JSON cannot express is an error of this handler, as if it had raised.
            msgspec.json.encode((verdict.patch, verdict.warnings, verdict.annotations))
            if verdict.allowed and verdict.patch:
                made = patches.json_patch(now.object, list(verdict.patch))
                now = dataclasses.replace(now, object=made)
        except Denied as error:
            verdict = Verdict(
                allowed=False,
                message=str(error),
                code=error.code,
                causes=error.causes,
                warnings=error.warnings,
            )
        except ClusterError as error:
            causes = tuple(error.causes)
            verdict = Verdict(
                allowed=False, message=str(error), code=error.code or 500, causes=causes
            )
        except Exception as error:
            failed()
            _LOG.exception("webhook failed", extra={"uid": now.uid, "kind": str(now.gvk)})
            verdict = Verdict(allowed=False, code=500, message=f"the webhook failed: {error!r}")
        warnings += verdict.warnings
        annotations.update(verdict.annotations)
        if not verdict.allowed:
            break
    verdict = dataclasses.replace(
        verdict, patch=(), warnings=tuple(warnings), annotations=annotations
    )
    if not verdict.allowed or now.object is request.object:
        return verdict
    # One patch with the changes of all handlers: the API server applies it to the object it sent.
    return dataclasses.replace(verdict, patch=tuple(changes.json_patch(request.object, now.object)))


def _parse(review: Any) -> AdmissionRequest:
    """Return the request of a review; raise `BadReview` if it is invalid."""
    group, _, version = objects.text(objects.mapping(review).get("apiVersion")).rpartition("/")
    if objects.kind(review) != "AdmissionReview" or (group, version) not in _UNDERSTOOD:
        raise BadReview("the body is not an AdmissionReview of admission.k8s.io/v1")
    request = objects.mapping(review.get("request"))
    uid, operation = request.get("uid"), request.get("operation")
    if not isinstance(uid, str) or not uid:
        raise BadReview("the AdmissionReview has no `request.uid`")
    if not isinstance(operation, str):
        raise BadReview("the AdmissionReview has no `request.operation`")
    kind = objects.mapping(request.get("kind"))
    user = objects.mapping(request.get("userInfo"))
    return AdmissionRequest(
        uid=uid,
        operation=operation,
        gvk=GVK(
            group=objects.text(kind.get("group")),
            version=objects.text(kind.get("version")),
            kind=objects.text(kind.get("kind")),
        ),
        plural=objects.text(objects.mapping(request.get("resource")).get("resource")),
        subresource=objects.text(request.get("subResource")),
        name=objects.text(request.get("name")),
        namespace=objects.text(request.get("namespace")),
        user=objects.text(user.get("username")),
        groups=tuple(map(objects.text, objects.sequence(user.get("groups")))),
        dry_run=request.get("dryRun") is True,
        object=_object(request, "object"),
        old=_object(request, "oldObject"),
        raw=request,
    )


def _object(request: Mapping[str, Any], field_name: str) -> Manifest | None:
    found = request.get(field_name)
    if found is not None and not isinstance(found, dict):
        raise BadReview(f"`request.{field_name}` of the AdmissionReview is not an object")
    return found


def _status(verdict: Verdict) -> dict[str, Any]:
    if verdict.allowed:
        message = {"message": verdict.message} if verdict.message else {}
        return {"code": verdict.code or 200, **message}
    code = verdict.code or 403
    status: dict[str, Any] = {
        "status": "Failure",
        "code": code,
        "reason": _REASONS.get(code, ""),
        "message": verdict.message or _REASONS.get(code) or "refused",
    }
    if verdict.causes:
        causes = [dataclasses.asdict(cause) for cause in verdict.causes]
        status["details"] = {"causes": causes}
    return status


def _changed(old: Manifest, new: Manifest) -> Verdict:
    return Verdict(patch=tuple(changes.json_patch(old, new)))


def _validating(validator: Validator[T], read: Callable[[Manifest], T]) -> Handler:
    async def judge(request: AdmissionRequest) -> Sequence[str] | None:
        new, old = request.object, request.old
        if request.operation == Operation.DELETE and old is not None:
            before = _readable(read, old)
            return None if before is None else await validator.validate_delete(before, request)
        if request.operation not in (Operation.CREATE, Operation.UPDATE) or new is None:
            return None
        try:
            after = read(new)
        except ValueError as error:
            if finalizers.is_being_deleted(new):
                return None
            raise Denied(f"the object cannot be read: {_words(error)}", code=400) from error
        before = None if old is None else _readable(read, old)
        if before is None:
            return await validator.validate_create(after, request)
        return await validator.validate_update(before, after, request)

    async def handle(request: AdmissionRequest) -> Verdict:
        warnings = await judge(request) or ()
        return Verdict(warnings=(warnings,) if isinstance(warnings, str) else tuple(warnings))

    return handle


def _words(error: ValueError) -> str:
    """Return the error of a model on one line; pydantic's message has several lines."""
    listed = getattr(error, "errors", None)
    if not callable(listed):
        return str(error)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in listed())


def _readable(read: Callable[[Manifest], T], manifest: Manifest) -> T | None:
    try:
        return read(manifest)
    except ValueError:
        return None
