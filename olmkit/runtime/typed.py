"""Python classes of kinds: their GVK, and conversion from and to manifests.

A class needs `gvk`, `from_manifest` and `to_manifest`, as in `CustomResource`. Other pydantic
models also work if `api_version` and `kind` have defaults, as in the generated types of Kubernetes'
built-in kinds. Both keep fields that the class does not know.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, Self, TypeVar

from olmkit.kube.objects import GVK, Manifest


class Kind(Protocol):
    """A Python class of a kind, such as a subclass of `CustomResource` or a dataclass."""

    gvk: ClassVar[GVK]

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Self:
        """Return the typed object; raise `ValueError` if the data do not fit the class."""

    def to_manifest(self) -> Manifest:
        """Return the fields that were set as plain data."""


class ModelKind(Protocol):
    """A pydantic model of a kind, whose `api_version` and `kind` have defaults."""

    @property
    def api_version(self) -> Any: ...

    @property
    def kind(self) -> Any: ...

    @property
    def metadata(self) -> Any: ...

    @classmethod
    def model_validate(cls, obj: Any) -> Self: ...

    def model_dump(self, *, mode: str, by_alias: bool, exclude_unset: bool) -> dict[str, Any]: ...


K = TypeVar("K", bound=Kind | ModelKind)
"""A class of a kind."""


class Unreadable(ValueError):  # noqa: N818 - a fact, not a fault
    """An object does not fit its class, for example because it is older than its schema.

    `manifest` is the object as stored by the server; the exception's cause names the wrong field.
    """

    def __init__(self, message: str, manifest: Manifest) -> None:
        super().__init__(message)
        self.manifest = manifest


def gvk_of(kind: Any) -> GVK:
    """Return the GVK of a class, or a `GVK` itself; raise `TypeError` if there is none."""
    return kind if isinstance(kind, GVK) else _gvk_of_class(kind)


def read(kind: type[K], manifest: Manifest) -> K:
    """Return a manifest as an object of the class; raise `Unreadable` if it does not fit."""
    reader: Any = getattr(kind, "from_manifest", None) or functools.partial(_validated, kind)
    try:
        made: K = reader(manifest)
    except ValueError as error:
        raise Unreadable(_problem(kind, manifest, error), manifest) from error
    return made


def manifest_of(obj: Manifest | Kind | ModelKind) -> Manifest:
    """Return the object as a manifest; a manifest is returned unchanged."""
    if isinstance(obj, dict):
        return obj
    found: Any = obj
    if hasattr(found, "to_manifest"):
        made: Manifest = found.to_manifest()
        return made
    if not hasattr(found, "model_dump"):
        raise TypeError(f"an object must be a manifest (a dictionary) or typed, not {found!r:.100}")
    gvk = gvk_of(type(found))
    dumped: Manifest = found.model_dump(mode="json", by_alias=True, exclude_unset=True)
    _add_unknown(found, dumped)
    return dumped | {"apiVersion": gvk.api_version, "kind": gvk.kind}


def with_status(obj: Manifest | Kind | ModelKind) -> Manifest:
    """Return a manifest of the object for a status update, with at least its name and status."""
    found: Any = obj
    if hasattr(found, "_to_status_manifest"):
        made: Manifest = found._to_status_manifest()  # noqa: SLF001 - a class of ours
        return made
    return manifest_of(obj)


@functools.cache
def _gvk_of_class(kind: Any) -> GVK:
    named = getattr(kind, "gvk", None)
    if isinstance(named, GVK):
        return named
    fields: Mapping[str, Any] = getattr(kind, "model_fields", {})
    api_version, name = (
        getattr(fields.get(field), "default", None) for field in ("api_version", "kind")
    )
    if not (isinstance(api_version, str) and isinstance(name, str) and api_version and name):
        shown = getattr(kind, "__name__", repr(kind))
        raise TypeError(
            f"`{shown}` has no kind: set `gvk`, or defaults for `api_version` and `kind`"
        )
    return GVK.parse(api_version, name)


def _validated(kind: Any, manifest: Manifest) -> Any:
    return kind.model_validate(manifest, extra="allow")


def _add_unknown(value: Any, dumped: Any) -> None:
    """Restore unknown fields, which pydantic keeps in the model but does not dump."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(dumped, dict) and key in dumped:
                _add_unknown(item, dumped[key])
    elif isinstance(value, list | tuple):
        for item, written in zip(value, dumped, strict=True):
            _add_unknown(item, written)
    elif hasattr(value, "__pydantic_fields_set__"):
        for name, field in type(value).model_fields.items():
            key = field.serialization_alias or field.alias or name
            if key in dumped:
                _add_unknown(getattr(value, name), dumped[key])
        dumped.update(value.__pydantic_extra__ or {})


def _problem(kind: type[Any], manifest: Manifest, error: ValueError) -> str:
    metadata = manifest.get("metadata") or {}
    name = "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))
    listed = getattr(error, "errors", None)
    if listed is None:
        problem = str(error)
    else:
        problem = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}"
            for one in listed(include_url=False, include_input=False, include_context=False)
        )
    return f"`{gvk_of(kind).kind}` `{name}` does not fit its class: {problem}"
