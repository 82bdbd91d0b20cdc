"""Typed kinds for operators: what `olmkit generate` reads as text is this at run time.

Models keep fields that they do not know, so that an operator of today does not
drop what a CRD of tomorrow adds. What is read from the server is taken as it is:
an object from before a rule existed is an object all the same.
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
"""A time span as Go writes it, such as `1m30s`."""

Time = str
"""A moment in RFC 3339."""

MicroTime = str
"""A moment in RFC 3339 with microseconds."""

IntOrString = int | str
"""A number or a text, such as a port or its name."""

JSON = Any
"""Any value that JSON can hold."""

RawExtension = dict[str, Any]
"""An object of any kind."""


class Model(BaseModel):
    """A part of an API: attributes in snake case, JSON names in camel case."""

    model_config = ConfigDict(
        alias_generator=names.lower_camel, populate_by_name=True, extra="allow"
    )


class Condition(Model):
    """One aspect of the state of an object."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: Time = ""
    observed_generation: Int64 = 0


class OwnerReference(Model):
    """Who an object belongs to."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False


class ObjectMeta(Model):
    """What every object says about itself."""

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
    """A kind. `gvk` says where the API server keeps it; a subclass sets it."""

    gvk: ClassVar[GVK]

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = Field(default_factory=ObjectMeta)

    @classmethod
    def from_manifest(cls, manifest: Manifest) -> Self:
        """The typed object; `pydantic.ValidationError` when the data have another shape."""
        return cls.model_validate(manifest)

    def to_manifest(self) -> Manifest:
        """Plain data of what was set; what only has a default, and None by default, is left out."""
        _note_changes(self)
        return self._dumped(None)

    def _to_status_manifest(self) -> Manifest:
        """Only the name and the status, which a write of the status needs."""
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
    """Count as set what was changed inside a default, such as a field of a part not given."""
    given = model.model_fields_set
    for name, may_be_absent in _fields(type(model)):
        if only and name not in only:
            continue
        value = getattr(model, name)
        if value is None and may_be_absent:
            given.discard(name)  # a null would be refused
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
    """The name of each field, and whether None is its default."""
    return tuple((name, one.default is None) for name, one in model.model_fields.items())


@functools.cache
def _default(model: type[BaseModel], name: str) -> Any:
    """A default to compare with; pydantic reads the signature of its factory at each call."""
    return model.model_fields[name].get_default(call_default_factory=True)


def _note_inside(value: Any) -> None:
    """The models in a list or a mapping."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in value:
        if isinstance(item, BaseModel):
            _note_changes(item)
        else:
            _note_inside(item)
