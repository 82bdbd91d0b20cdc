"""Base classes and types for the kinds of an operator, at run time.

`olmkit generate` reads the same classes as source text. Models keep unknown fields, so that an
operator does not drop fields that a newer CRD adds. Objects from the server are not validated
again: one that was stored before a rule existed is still readable.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from olmkit.base import names
from olmkit.kube.objects import GVK, Manifest

Int32 = int
"""An integer of 32 bits in the API."""

Int64 = int
"""An integer of 64 bits in the API."""

Quantity = str
"""An amount such as `100Mi` or `0.5`."""

Duration = str
"""A Go duration, such as `1m30s`."""

Time = str
"""A timestamp (RFC 3339)."""

MicroTime = str
"""A timestamp (RFC 3339) with microseconds."""

IntOrString = int | str
"""A number or a string, such as a port number or a port name."""

JSON = Any
"""Any value that JSON can represent."""

RawExtension = dict[str, Any]
"""An object of any kind."""


class Model(BaseModel):
    """A structure of an API: attributes in snake case, JSON names in camel case."""

    model_config = ConfigDict(
        alias_generator=names.lower_camel, populate_by_name=True, extra="allow"
    )


class Condition(Model):
    """A status condition of an object (`metav1.Condition`)."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time = ""
    observed_generation: Int64 = 0


class OwnerReference(Model):
    """A reference to the owner of an object."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Model):
    """The metadata of an object."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    generation: Int64 = 0
    resource_version: str = ""
    creation_timestamp: Time | None = None
    deletion_timestamp: Time | None = None
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    finalizers: list[str] = Field(default_factory=list)
    owner_references: list[OwnerReference] = Field(default_factory=list)


class CustomResource(Model):
    """The base class of kinds; a subclass sets `gvk`, its group, version and kind."""

    gvk: ClassVar[GVK]

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Self:
        """Return the typed object; raise `pydantic.ValidationError` if the data do not fit."""
        return cls.model_validate(manifest)

    def to_manifest(self) -> Manifest:
        """Return the fields that were set as plain data, without defaults."""
        _note_changes(self)
        return self._dumped(None)

    def _to_status_manifest(self) -> Manifest:
        """Return only the name and the status, which a status update needs."""
        if type(self).to_manifest is not CustomResource.to_manifest:
            return self.to_manifest()
        _note_changes(self, ("metadata", "status"))
        return self._dumped({"metadata": {"name", "namespace", "uid"}, "status": True})

    def _dumped(self, include: Any) -> Manifest:
        dumped: Manifest = self.model_dump(
            by_alias=True, exclude_unset=True, mode="json", include=include
        )
        dumped["apiVersion"] = self.gvk.api_version
        dumped["kind"] = self.gvk.kind
        return dumped


def _note_changes(model: BaseModel, only: Collection[str] = ()) -> None:
    """Mark a field as set if something inside its default value was changed."""
    given = model.model_fields_set
    for name, may_be_absent in _fields(type(model)):
        if only and name not in only:
            continue
        value = getattr(model, name)
        if value is None and may_be_absent:
            given.discard(name)  # the API server would reject null
        elif isinstance(value, BaseModel):
            _note_changes(value)
            if value.model_fields_set:
                given.add(name)
        else:
            if isinstance(value, dict | list | tuple):
                _note_inside(value)
            if name not in given and value != _default(type(model), name):
                given.add(name)


@functools.cache
def _fields(model: type[BaseModel]) -> tuple[tuple[str, bool], ...]:
    """Return the name of each field, and whether its default is None."""
    return tuple((name, one.default is None) for name, one in model.model_fields.items())


@functools.cache
def _default(model: type[BaseModel], name: str) -> Any:
    """Return a field's default; cached, since pydantic inspects its factory at each call."""
    return model.model_fields[name].get_default(call_default_factory=True)


def _note_inside(value: Any) -> None:
    """Mark changes in the models inside a list or a mapping."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in value:
        if isinstance(item, BaseModel):
            _note_changes(item)
        else:
            _note_inside(item)
