# +groupName=fields.example.com
"""Markers of fields that other cases have on types, and the other way round."""

from __future__ import annotations

from olmkit.runtime import CustomResource, Model


class FieldsSpec(Model):
    # +kubebuilder:validation:Minimum=1
    # +kubebuilder:validation:Maximum=9
    # +kubebuilder:validation:MultipleOf=2
    number: int

    # +k8s:minimum=1
    # +k8s:maximum=9
    # +k8s:required
    same: int

    # +k8s:optional
    left_out: str

    # +kubebuilder:validation:MinItems=1
    # +kubebuilder:validation:MaxItems=2
    listed: list[str]

    # +kubebuilder:validation:MinProperties=1
    # +kubebuilder:validation:MaxProperties=2
    mapped: dict[str, str]

    # +kubebuilder:validation:Type=string
    # +kubebuilder:validation:Format=date
    written: int

    # +kubebuilder:validation:XIntOrString
    either: str

    # +default={"a": [1]}
    # +kubebuilder:pruning:PreserveUnknownFields
    free: dict[str, list[int]]

    # +kubebuilder:validation:XEmbeddedResource
    # +kubebuilder:validation:XPreserveUnknownFields
    thing: Thing


class Thing(Model):
    """A thing."""


class Fields(CustomResource):
    """Fields of all kinds."""

    spec: FieldsSpec
