"""The APIs that a bundle provides and requires, as the tools that build catalogs read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmkit.base import findings, texts
from olmkit.base.documents import Document
from olmkit.bundle import model
from olmkit.catalog.blobs.shapes import Field, ListOf, Object, Text
from olmkit.catalog.bundles.findings import refusal
from olmkit.catalog.bundles.typed_values import (
    Keys,
    check_times,
    misfit,
    read_mapping,
    read_shape,
    read_type,
    spellings,
)
from olmkit.kube.builtin import fits

# The sections of a CSV that describe its APIs.
API_SECTIONS: Final = ("apiservicedefinitions", "customresourcedefinitions")
_CRD_GROUP: Final = "apiextensions.k8s.io"
_CRD_TYPES: Final = {"v1": "CustomResourceDefinition", "v1beta1": "CustomResourceDefinitionBeta"}
_TEXT: Final = Text()
_DEFINITION: Final = Object(
    go="registry.DefinitionKey",
    fields=tuple(Field(name, _TEXT) for name in ("group", "kind", "name", "version")),
    optional=True,
)
_DEFINITIONS: Final = Object(
    go="struct",
    fields=tuple(
        Field(name, ListOf(_DEFINITION, "[]*registry.DefinitionKey"))
        for name in ("owned", "required")
    ),
)


@dataclass(frozen=True, slots=True, order=True)
class Api:
    """An API, identified by the four names that match owners and providers."""

    group: str
    version: str
    kind: str
    plural: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}/{self.kind} ({self.plural})"


Described = list[tuple[Api, Keys]]


def api_descriptions(csv: Document, spec: Mapping[str, Any], section: str) -> dict[str, Described]:
    """Return the owned and required APIs of a section of the CSV, each with its place."""
    value = read_mapping(csv, spec.get(section), "spec", section)
    read = read_shape(csv, _DEFINITIONS, value, "spec", section)
    return {
        which: [
            (_api(csv, item, section, keys), keys)
            for index, item in enumerate(read[which] or ())
            for keys in [("spec", section, (spellings(value, which) or [which])[-1], index)]
        ]
        for which in ("owned", "required")
    }


def _api(csv: Document, value: Mapping[str, str] | None, section: str, keys: Keys) -> Api:
    if value is None:
        raise misfit(csv, keys, "the description of an API is empty", hint="remove the entry")
    name, group = value["name"], value["group"]
    if section == "customresourcedefinitions":
        name, dot, group = name.partition(".")
        if not dot:
            raise misfit(
                csv,
                (*keys, "name"),
                f"couldn't parse plural.group from crd name: {texts.shorten(name)}",
                hint="name the CRD as `<plural>.<group>`",
            )
    return Api(group=group, version=value["version"], kind=value["kind"], plural=name)


def check_owned(csv: Document, name: str, owned: Described, provided: set[Api]) -> None:
    missing = [
        findings.create(
            "FBC903",
            f"error checking provided apis in bundle {name}: couldn't find {api} in bundle",
            at=csv.at(*keys),
            hint=_case_hint(api, provided),
        )
        for api, keys in owned
        if api not in provided
    ]
    if missing:
        raise refusal(missing)


def _case_hint(api: Api, provided: set[Api]) -> str:
    """Return a hint about an owned CRD that the bundle lacks."""
    versions = sorted(
        found.version
        for found in provided
        if (found.group, found.plural, found.kind) == (api.group, api.plural, api.kind)
    )
    if versions:
        return f"its CRD has the versions {', '.join(f'`{version}`' for version in versions)}"
    return "add its CRD to `manifests/`, or correct `name`, `version` and `kind`"


def crd_apis(crd: Document) -> Iterator[Api]:
    api_version = crd.value.get("apiVersion") or ""
    group, _, version = api_version.rpartition("/") if isinstance(api_version, str) else ("",) * 3
    if version not in _CRD_TYPES:
        return
    if group != _CRD_GROUP:
        raise misfit(
            crd,
            ("apiVersion",),
            f'no kind "{model.CRD_KIND}" is registered for version "{api_version}"',
            hint=f"write `apiVersion: {_CRD_GROUP}/{version}`",
        )
    # Unlike all other typed values, a CRD is decoded case-sensitively.
    if not fits.fits(crd.value, _CRD_TYPES[version]):
        read_type(crd, _CRD_TYPES[version], crd.value, any_case=False)
    check_times(crd, crd.value.get("metadata"), "metadata")
    status = crd.value.get("status")
    read_type(crd, "CustomResourceDefinitionStatus", status, "status", any_case=False)
    spec = crd.value.get("spec") or {}
    names = spec.get("names") or {}
    versions = [(item or {}).get("name") or "" for item in spec.get("versions") or ()]
    if version == "v1beta1" and spec.get("version"):
        versions.append(spec["version"])
    for name in versions:
        yield Api(
            group=spec.get("group") or "",
            version=name,
            kind=names.get("kind") or "",
            plural=names.get("plural") or "",
        )
