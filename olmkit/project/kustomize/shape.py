"""The keys of a kustomization, and those that olmkit supports.

Keys that only kustomize supports are refused with their place and an alternative; unknown keys are
errors. Source: kustomize's types `Kustomization`, version 5.8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.base import documents
from olmkit.base.documents import Document, Key
from olmkit.kube import objects
from olmkit.project.kustomize.resources import PIPE_HINT, refusal

_GROUP = "kustomize.config.k8s.io"
_HEADS = frozenset({("", ""), (f"{_GROUP}/v1beta1", "Kustomization")})
_HEADS |= {("", "Kustomization"), (f"{_GROUP}/v1beta1", ""), (f"{_GROUP}/v1alpha1", "Component")}


@dataclass(frozen=True, slots=True)
class _Shape:
    """The keys of a mapping: supported ones, those that only kustomize supports, and strings."""

    built: frozenset[str]
    unsupported: frozenset[str] = frozenset()
    texts: frozenset[str] = frozenset()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TOP = _Shape(
    _words(
        "apiVersion kind metadata resources bases components configurations namespace namePrefix "
        "nameSuffix labels commonLabels commonAnnotations patches patchesStrategicMerge "
        "patchesJson6902 replicas images replacements sortOptions configMapGenerator "
        "secretGenerator generatorOptions vars"
    ),
    _words(
        "buildMetadata crds generators helmChartInflationGenerator helmCharts helmGlobals "
        "imageTags openapi transformers validators"
    ),
)
_PATCH = _Shape(_words("path patch target options"))
_ENTRIES = {
    "images": _Shape(
        _words("name newName newTag digest"),
        _words("tagSuffix"),
        _words("name newName newTag digest"),
    ),
    "labels": _Shape(_words("pairs includeSelectors includeTemplates"), _words("fields")),
    "patches": _PATCH,
    "patchesJson6902": _PATCH,
    "replacements": _Shape(
        _words("path source sourceValue targets"), texts=_words("path sourceValue")
    ),
    "replicas": _Shape(_words("name count"), texts=_words("name")),
}
_SORTING = _Shape(_words("order"), _words("legacySortOptions"), _words("order"))


def check(document: Document) -> None:
    """Raise `InputError` for an invalid or unsupported kustomization."""
    if not isinstance(document.value, dict):
        raise refusal("a kustomization must be a mapping", document.at())
    _check(document, (), _TOP)
    head = document.value.get("apiVersion") or "", document.value.get("kind") or ""
    if head not in _HEADS:
        raise refusal(
            f"`{head[0]}` `{head[1]}` is not a kustomization",
            document.at("kind" if document.value.get("kind") else "apiVersion"),
            hint=f"write `apiVersion: {_GROUP}/v1beta1` and `kind: Kustomization`, or neither",
        )
    for section, shape in _ENTRIES.items():
        for index, entry in enumerate(objects.sequence(document.value.get(section))):
            if isinstance(entry, dict):
                _check(document, (section, index), shape)
    if isinstance(document.value.get("sortOptions"), dict):
        _check(document, ("sortOptions",), _SORTING)


def _check(document: Document, keys: tuple[Key, ...], shape: _Shape) -> None:
    for key, value in _list_values(document, keys):
        if key in shape.unsupported:
            raise refusal(
                f"`{key}` of kustomize is not supported here",
                document.at_key(*keys, key),
                PIPE_HINT,
            )
        if key not in shape.built:
            known = {one.lower(): one for one in shape.built | shape.unsupported}
            suggestion = known.get(str(key).lower())
            raise refusal(
                f'invalid Kustomization: json: unknown field "{key}"',
                document.at_key(*keys, key),
                hint=f"write `{suggestion}`: kustomize accepts any case, and olmkit only this one"
                if suggestion
                else "",
            )
        if key in shape.texts and not isinstance(value, str):
            raise refusal(
                f"`{documents.field_path((*keys, key))}` must be a string",
                document.at(*keys, key),
                hint="put it in quotes",
            )


def _list_values(document: Document, keys: tuple[Key, ...]) -> Iterator[tuple[str, Any]]:
    """Yield the keys of a mapping with a value; an empty one counts as missing."""
    found: Mapping[str, Any] = document.get(*keys) if keys else document.value
    for key, value in found.items():
        if value not in (None, [], {}, ""):
            yield key, value
