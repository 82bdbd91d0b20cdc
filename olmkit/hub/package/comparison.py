"""The contents of a version as facts that can be compared with those of other versions.

`bundle diff` compares two bundles. A page cannot contain that for each pair of 150 versions, so it
gets the facts of each version and compares them itself: a fact that only the newer version has is
new, a fact with another value has changed. The facts cover the output of `bundle diff`; the effect
of CRD changes on stored objects is on the page of the newer version.

Most facts are the same from one version to the next, so only the differences are written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from olmkit.base.json import text as json_text
from olmkit.bundle.changes.change import Area
from olmkit.bundle.summary import grants
from olmkit.bundle.summary.summary import BundleSummary, UsedImage
from olmkit.hub import paths
from olmkit.hub.package import schemas
from olmkit.hub.pages.kind_pages import CrdPage, Field
from olmkit.hub.records import Record
from olmkit.kube import objects
from olmkit.kube.objects import Manifest

_COMPARED: Final = ("ClusterServiceVersion", "CustomResourceDefinition")
_SHORT: Final = 120  # maximum characters of a value
_MOST: Final = 400_000  # maximum facts of all versions of a package; above it, fields are left out
_ORDER: Final = (
    Area.CRDS,
    Area.APIS,
    Area.PERMISSIONS,
    Area.INSTALLATION,
    Area.WORKLOADS,
    Area.WEBHOOKS,
    Area.IMAGES,
    Area.DEPENDENCIES,
    Area.OBJECTS,
    Area.CATALOG,
    Area.DESCRIPTIONS,
)
_FIELDS: Final = len(_ORDER)  # the last title


class Fact(NamedTuple):
    """`area` is an index of `titles`; facts with the same key and area are about the same thing."""

    area: int
    key: str
    value: str


def titles() -> tuple[str, ...]:
    """Return the titles of areas, as on the pages of versions."""
    return (*(title(area) for area in _ORDER), "Fields")


def title(area: Area) -> str:
    written = str(area).replace("-", " ")
    return written[:1].upper() + written[1:]


def facts(
    record: Record,
    summary: BundleSummary | None,
    channels: Iterable[str],
    crd_page: Callable[[str], CrdPage | None],
) -> frozenset[Fact]:
    """Return the facts of a version. `crd_page` returns the page of a CRD by its path."""
    found: dict[tuple[int, str], str] = {}
    if summary is not None:
        for area, key, value in _summary_facts(record, summary):
            found[_ORDER.index(area), key] = value
    for name in channels:
        found[_ORDER.index(Area.CATALOG), f"channel {name}"] = ""
    for one in record.bundle.related_images:
        if one.image:
            key = f"relatedImages/{one.name}" if one.name else one.image
            found.setdefault((_ORDER.index(Area.IMAGES), key), one.image if one.name else "")
    for key, value in _fields(record, crd_page):
        found[_FIELDS, key] = value
    return frozenset(Fact(area, key, value) for (area, key), value in found.items())


def _summary_facts(record: Record, found: BundleSummary) -> Iterator[tuple[Area, str, str]]:
    for crd in record.crds.values():
        yield Area.CRDS, objects.name(crd), _digest(crd)
    for api in found.provided:
        yield Area.APIS, f"provides {_kind(api)}", ""
    for api in found.required:
        yield Area.APIS, f"requires {_kind(api)}", ""
    for target, verbs in grants.atoms(found.grants).items():
        yield Area.PERMISSIONS, f"may use {target}", grants.describe_verbs(verbs)
    for account in found.accounts:
        yield Area.PERMISSIONS, f"runs as the service account {account}", ""
    for mode in found.install_modes:
        yield Area.INSTALLATION, f"install mode {mode}", ""
    yield Area.INSTALLATION, "minimum version of Kubernetes", found.min_kube_version or "any"
    yield from _workload_facts(found)
    yield from _image_facts(found.images)
    for entry in (*found.dependencies, *found.properties):
        value = json_text.compact(entry.value).decode("utf-8", "replace")
        yield Area.DEPENDENCIES, f"{entry.type} {_short(value)}", ""
    for one in record.manifests:
        if objects.kind(one) not in _COMPARED:
            yield Area.OBJECTS, f"{objects.kind(one)} {objects.name(one)}", _digest(one)
    for noun, value in (
        ("display name", found.display_name),
        ("description", found.description),
        ("provider", found.provider),
        ("maturity", found.maturity),
    ):
        yield Area.DESCRIPTIONS, noun, _short(value)
    for key, value in found.csv_annotations.items():
        yield Area.DESCRIPTIONS, f"annotation {key}", _short(value)


def _workload_facts(found: BundleSummary) -> Iterator[tuple[Area, str, str]]:
    for one in found.workloads:
        copies = "1 replica" if one.replicas == 1 else f"{one.replicas} replicas"
        value = f"{copies}; account {one.account}; containers {', '.join(one.containers)}"
        yield Area.WORKLOADS, f"Deployment {one.name}", value
        selector = json_text.compact(dict(one.selector)).decode("utf-8", "replace")
        yield Area.WORKLOADS, f"selector of Deployment {one.name}", _short(selector)
    for hook in found.webhooks:
        parts = (hook.path, hook.failure_policy, *hook.crds, *hook.resources)
        where = f"Deployment {hook.deployment}"
        value = "; ".join(one for one in (where, *parts) if one)
        yield Area.WEBHOOKS, f"{hook.type} {hook.name}", _short(value)


def _image_facts(listed: Iterable[UsedImage]) -> Iterator[tuple[Area, str, str]]:
    for one in listed:
        for place in one.places:
            if place == "relatedImages/":
                yield Area.IMAGES, one.image, ""
            else:
                yield Area.IMAGES, place, one.image


def _fields(record: Record, crd_page: Callable[[str], CrdPage | None]) -> Iterator[tuple[str, str]]:
    for crd in record.crds.values():
        digest = schemas.digest(crd)
        for version, _ in schemas.versions(crd):
            page = crd_page(paths.crd(digest, version))
            if page is not None:
                yield from _rows(page.fields, f"{page.kind} {page.version}: ")


def _rows(fields: Sequence[Field], before: str) -> Iterator[tuple[str, str]]:
    for one in fields:
        parts = (one.type, "required" if one.required else "", *one.limits)
        yield f"{before}{one.anchor}", _short(", ".join(part for part in parts if part))
        yield from _rows(one.fields, before)


def _kind(api: Any) -> str:
    return f"{api.kind} {api.group}/{api.version}"


def _digest(manifest: Manifest) -> str:
    return "contents " + hashlib.sha256(json_text.compact(manifest)).hexdigest()[:12]


def _short(value: str) -> str:
    """Return a value on one line; a longer one ends with a digest, so that changes are detected."""
    line = " ".join(value.split())
    if len(line) <= _SHORT:
        return line
    digest = hashlib.sha256(value.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{line[:_SHORT]}… ({len(value)} characters, {digest})"


# All versions of a package


@dataclass(slots=True)
class Facts:
    """The facts of the versions of a package, added in the order of their versions."""

    versions: list[tuple[str, frozenset[Fact]]] = field(default_factory=list)
    without_fields: bool = False
    _count: int = 0
    _known: dict[Fact, Fact] = field(default_factory=dict)

    def add(self, bundle: str, found: frozenset[Fact]) -> None:
        self._count += len(found)
        if self._count > _MOST and not self.without_fields:
            self.without_fields = True
            self.versions = [(name, _no_fields(one)) for name, one in self.versions]
        kept = _no_fields(found) if self.without_fields else found
        # Most facts are equal to those of the previous version: they are stored once.
        shared = frozenset(self._known.setdefault(one, one) for one in kept)
        self.versions.append((bundle, shared))

    def data(self) -> Mapping[str, Any]:
        """Return the data for the script of the page.

        `facts` are an area and indexes of `texts`; each version lists the facts that it has in
        addition to (`more`) or not in common with (`less`) the previous one.
        """
        texts: dict[str, int] = {}
        places: dict[Fact, int] = {}
        written: list[list[int]] = []
        versions = []
        before: frozenset[Fact] = frozenset()

        def place(fact: Fact) -> int:
            if fact not in places:
                places[fact] = len(places)
                key, value = (texts.setdefault(one, len(texts)) for one in fact[1:])
                written.append([fact.area, key, value])
            return places[fact]

        for name, found in self.versions:
            more = [place(one) for one in sorted(found - before)]
            less = [place(one) for one in sorted(before - found)]
            versions.append({"bundle": name, "more": more, "less": less})
            before = found
        return {
            "titles": list(titles()),
            "texts": list(texts),
            "facts": written,
            "versions": versions,
            "withoutFields": self.without_fields,
        }


def _no_fields(found: frozenset[Fact]) -> frozenset[Fact]:
    return frozenset(one for one in found if one.area != _FIELDS)


def script(data: Mapping[str, Any]) -> str:
    """Return the data as a script: pages opened from disk cannot fetch a file."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return "window.hubFacts = " + text.replace("<", "\\u003c") + ";\n"
