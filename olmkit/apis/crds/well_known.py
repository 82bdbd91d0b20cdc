"""Types whose schema Kubernetes fixes, and the descriptions that its types have.

The descriptions are those of Kubernetes' API machinery (Apache-2.0): they are part of
every CRD in every cluster, and do not differ between CRDs.
"""

from __future__ import annotations

import copy
from typing import Any

QUANTITY_PATTERN = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]"
    r"|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)

API_VERSION = {
    "description": (
        "APIVersion defines the versioned schema of this representation of an object.\n"
        "Servers should convert recognized schemas to the latest internal value, and\n"
        "may reject unrecognized values.\n"
        "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/"
        "api-conventions.md#resources"
    ),
    "type": "string",
}

KIND = {
    "description": (
        "Kind is a string value representing the REST resource this object represents.\n"
        "Servers may infer this from the endpoint the client submits requests to.\n"
        "Cannot be updated.\n"
        "In CamelCase.\n"
        "More info: https://git.k8s.io/community/contributors/devel/sig-architecture/"
        "api-conventions.md#types-kinds"
    ),
    "type": "string",
}

_CONDITION = {
    "description": (
        "Condition contains details for one aspect of the current state of this API Resource."
    ),
    "properties": {
        "lastTransitionTime": {
            "description": (
                "lastTransitionTime is the last time the condition transitioned from one status "
                "to another.\n"
                "This should be when the underlying condition changed.  If that is not known, then "
                "using the time when the API field changed is acceptable."
            ),
            "format": "date-time",
            "type": "string",
        },
        "message": {
            "description": (
                "message is a human readable message indicating details about the transition.\n"
                "This may be an empty string."
            ),
            "maxLength": 32768,
            "type": "string",
        },
        "observedGeneration": {
            "description": (
                "observedGeneration represents the .metadata.generation that the condition was set "
                "based upon.\n"
                "For instance, if .metadata.generation is currently 12, but the "
                ".status.conditions[x].observedGeneration is 9, the condition is out of date\n"
                "with respect to the current state of the instance."
            ),
            "format": "int64",
            "minimum": 0,
            "type": "integer",
        },
        "reason": {
            "description": (
                "reason contains a programmatic identifier indicating the reason for the "
                "condition's last transition.\n"
                "Producers of specific condition types may define expected values and meanings for "
                "this field,\n"
                "and whether the values are considered a guaranteed API.\n"
                "The value should be a CamelCase string.\n"
                "This field may not be empty."
            ),
            "maxLength": 1024,
            "minLength": 1,
            "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            "type": "string",
        },
        "status": {
            "description": "status of the condition, one of True, False, Unknown.",
            "enum": ["True", "False", "Unknown"],
            "type": "string",
        },
        "type": {
            "description": "type of condition in CamelCase or in foo.example.com/CamelCase.",
            "maxLength": 316,
            "pattern": (
                r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
                r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
            ),
            "type": "string",
        },
    },
    "required": ["lastTransitionTime", "message", "reason", "status", "type"],
    "type": "object",
}

_STRING_MAP = {"additionalProperties": {"type": "string"}, "type": "object"}

SCHEMAS: dict[str, dict[str, Any]] = {
    "Time": {"format": "date-time", "type": "string"},
    "MicroTime": {"format": "date-time", "type": "string"},
    "Duration": {"type": "string"},
    "Quantity": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "pattern": QUANTITY_PATTERN,
        "x-kubernetes-int-or-string": True,
    },
    "IntOrString": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
    "RawExtension": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "JSON": {"x-kubernetes-preserve-unknown-fields": True},
    "ObjectMeta": {"type": "object"},
    "Unstructured": {"type": "object"},
    "Fields": {"additionalProperties": True, "type": "object"},
    "Condition": _CONDITION,
}

EMBEDDED_OBJECT_META: dict[str, Any] = {
    "properties": {
        "annotations": _STRING_MAP,
        "finalizers": {"items": {"type": "string"}, "type": "array"},
        "labels": _STRING_MAP,
        "name": {"type": "string"},
        "namespace": {"type": "string"},
    },
    "type": "object",
}


def schema(name: str) -> dict[str, Any]:
    """Return a fresh copy of the schema of a well-known type."""
    return copy.deepcopy(SCHEMAS[name])
