# +groupName=toys.example.com
# +versionName=v1
# +kubebuilder:validation:Optional
"""Every marker that a schema knows, as `go-every-marker` has them in Go."""

from __future__ import annotations

from typing import Any, NewType

from olmkit.runtime import CustomResource, Int32, IntOrString, Model

# Ratio is open on both sides.
# +kubebuilder:validation:Minimum=0
# +kubebuilder:validation:ExclusiveMinimum=true
# +kubebuilder:validation:Maximum=100
# +kubebuilder:validation:ExclusiveMaximum=true
# +kubebuilder:validation:MultipleOf=5
Ratio = NewType("Ratio", int)

# Names are a few.
# +kubebuilder:validation:MinItems=1
# +kubebuilder:validation:MaxItems=9
# +kubebuilder:validation:items:MinLength=1
# +kubebuilder:validation:items:MaxLength=8
# +k8s:listType=set
Names = NewType("Names", list[str])

# Code is short.
# +kubebuilder:validation:MinLength=1
# +kubebuilder:validation:MaxLength=5
# +kubebuilder:validation:Pattern="^[a-z]+$"
# +kubebuilder:validation:Format=hostname
Code = NewType("Code", str)


# +kubebuilder:validation:AtLeastOneOf=left;right
# +kubebuilder:validation:MinProperties=1
# +kubebuilder:validation:MaxProperties=2
# +structType=atomic
class Pair(Model):
    """Pair has one half at least."""

    left: str | None = None
    right: str | None = None


# +kubebuilder:validation:AtMostOneOf=one;other
# +kubebuilder:validation:XPreserveUnknownFields
class Choice(Model):
    """Choice has one side at most."""

    one: str | None = None
    other: str | None = None


class Slot(Model):
    """Slot has a key."""

    # +required
    name: str
    # +kubebuilder:default=1
    port: Int32


class ToySpec(Model):
    """ToySpec has a field for each."""

    # +kubebuilder:validation:Required
    needed: str
    ratio: Ratio
    names: Names
    code: Code
    pair: Pair
    choice: Choice
    # +k8s:listType=map
    # +k8s:listMapKey=name
    # +k8s:listMapKey=port
    # +k8s:maxItems=4
    slots: list[Slot]
    # +kubebuilder:validation:items:Minimum=1
    # +kubebuilder:validation:items:ExclusiveMinimum=true
    # +kubebuilder:validation:items:Maximum=9
    # +kubebuilder:validation:items:ExclusiveMaximum=true
    # +kubebuilder:validation:items:MultipleOf=2
    numbers: list[int]
    # +kubebuilder:validation:items:Pattern="^a"
    # +kubebuilder:validation:items:Format=date
    # +kubebuilder:validation:items:XValidation:rule="self != 'b'",message="no b"
    texts: list[str]
    # +kubebuilder:validation:items:MinItems=1
    # +kubebuilder:validation:items:MaxItems=2
    lists: list[list[str]]
    # +kubebuilder:validation:items:MinProperties=1
    # +kubebuilder:validation:items:MaxProperties=2
    maps: list[dict[str, str]]
    # +kubebuilder:validation:items:Type=object
    # +kubebuilder:validation:items:XEmbeddedResource
    # +kubebuilder:validation:items:XPreserveUnknownFields
    objects: list[Choice]
    # +kubebuilder:validation:items:XIntOrString
    # +kubebuilder:validation:items:MaxLength=5
    either: list[IntOrString]
    # +kubebuilder:validation:items:Enum=a;b
    few: list[str]
    # +kubebuilder:validation:UniqueItems=false
    # +kubebuilder:validation:items:UniqueItems=false
    unique: list[list[str]]
    # +kubebuilder:validation:Schemaless
    # +kubebuilder:validation:XPreserveUnknownFields
    free: Any


# +kubebuilder:storageversion
# +kubebuilder:resource:shortName=ty
class Toy(CustomResource):
    """Toy is the kind that is stored."""

    spec: ToySpec
