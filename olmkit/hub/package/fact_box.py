"""The box of facts next to a version, from its CSV and its annotations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from olmkit.base import documents
from olmkit.base.diagnostics import OlmkitError
from olmkit.catalog.blobs import properties
from olmkit.hub.looks.text import shortened
from olmkit.hub.package import stated
from olmkit.hub.pages.page_parts import Fact, Item
from olmkit.hub.records import Record
from olmkit.kube.objects import mapping, scalar_text, sequence, text
from olmkit.olm import kinds

LIFECYCLES: Final = "io.openshift.operators.lifecycles.v1alpha1"
"""The schema of the blob with the support periods of a package's versions."""

_ANNOTATIONS: Final = (
    ("Subscription", "operators.openshift.io/valid-subscription"),
    ("Console plugins", "console.openshift.io/plugins"),
    ("Cluster monitoring", "operatorframework.io/cluster-monitoring"),
    ("Changes", "artifacthub.io/changes"),
    ("Recommendations", "artifacthub.io/recommendations"),
    ("Screenshots", "artifacthub.io/screenshots"),
    ("License", "artifacthub.io/license"),
    ("Security updates", "artifacthub.io/containsSecurityUpdates"),
    ("Prerelease", "artifacthub.io/prerelease"),
)
_LONGEST: Final = 65536  # maximum characters of an annotation
_TEXT: Final = 500  # maximum characters of an item
_MOST: Final = 20  # maximum items of a list


def list_facts(record: Record, lifecycle: Mapping[str, Any]) -> Iterator[Fact]:
    """Return the facts in order. `lifecycle` is the package's lifecycle blob."""
    notes = record.annotations
    yield Fact(label="Categories", items=_items(stated.categories(record)))
    yield Fact(label="Install modes", items=_items(modes(record)))
    kube = text(record.spec.get("minKubeVersion"))
    yield Fact(
        label="Kubernetes",
        items=(Item(text=f"{kube.removeprefix('v')} or newer", note="OLM v1 does not check it"),)
        if kube
        else (),
    )
    for label, value in (
        ("Newest Kubernetes", notes.get("operatorhub.io/ui-metadata-max-k8s-version", "")),
        ("Newest OpenShift", _max_openshift(record)),
    ):
        if value:
            yield Fact(label=label, items=(Item(text=value),))
    yield Fact(label="Architectures", items=_platforms(record, "arch", "amd64"))
    yield Fact(label="Operating systems", items=_platforms(record, "os", "linux"))
    features = stated.features(record)
    if features:
        items = tuple(
            Item(text=name, note="" if value else "not supported")
            for name, value in features.items()
        )
        yield Fact(label="Features", items=items)
    yield Fact(label="Created", items=_items((notes.get("createdAt", ""),)))
    yield Fact(label="Maturity", items=_items((text(record.spec.get("maturity")),)))
    yield Fact(label="Repository", items=_addresses((notes.get("repository", ""),)))
    yield Fact(label="Support", items=_addresses((notes.get("support", ""),)))
    for label, key in (("Links", "links"), ("Maintainers", "maintainers")):
        items = tuple(Item(text=name, url=url) for name, url in stated.listed(record, key))
        yield Fact(label=label, items=items)
    yield Fact(label="Keywords", items=_items(stated.keywords(record)))
    for label, key in _ANNOTATIONS:
        if notes.get(key, "").strip():
            yield Fact(label=label, items=tuple(_parse_items(notes[key])))
    if notes.get("certified", "").strip().lower() not in ("", "true", "false"):
        yield Fact(label="Certified", items=(Item(text=notes["certified"]),))
    yield from _lifecycle(record, lifecycle)


def _items(values: Sequence[str]) -> tuple[Item, ...]:
    return tuple(Item(text=value) for value in values if value)


def _addresses(values: Sequence[str]) -> tuple[Item, ...]:
    return tuple(
        Item(text=value, url=value if ":" in value else "") for value in values if value.strip()
    )


def modes(record: Record) -> tuple[str, ...]:
    return kinds.supported_modes(record.csv)


def _platforms(record: Record, of: str, assumed: str) -> tuple[Item, ...]:
    found = stated.platforms(record, of)
    return _items(found) if found else (Item(text=assumed, note="assumed"),)


def _parse_items(written: str) -> Iterator[Item]:
    """Yield the items of a list in JSON or YAML; any other text is a single item."""
    try:
        found: Any = documents.load_yaml(written[:_LONGEST].encode("utf-8", "replace"), "").value
    except OlmkitError:
        found = None
    if not isinstance(found, list):
        yield Item(text=shortened(written, _TEXT))
        return
    for one in found[:_MOST]:
        fields = mapping(one)
        url = text(fields.get("url"))
        words = (text(fields.get(key)) for key in ("kind", "title", "description"))
        shown = ": ".join(word for word in words if word) or url or scalar_text(one)
        if shown:
            yield Item(text=shortened(shown, _TEXT), url=url)
    if len(found) > _MOST:
        yield Item(text=f"and {len(found) - _MOST} more")


def _lifecycle(record: Record, blob: Mapping[str, Any]) -> Iterator[Fact]:
    """Return support phases and platforms of the shown minor version, as in OpenShift catalogs."""
    version = record.bundle.version
    if version is None:
        return
    name = f"{version.version.major}.{version.version.minor}"
    for one in map(mapping, sequence(blob.get("versions"))):
        if text(one.get("name")) not in (name, str(version.version)):
            continue
        phases = tuple(
            Item(
                text=text(phase.get("name")) or "not named",
                note=f"until {end}" if end else "",
                begin=text(phase.get("startDate"))[:10],
                end=end,
            )
            for phase in map(mapping, sequence(one.get("phases"))[:_MOST])
            for end in (text(phase.get("endDate"))[:10],)
        )
        if phases:
            yield Fact(label="Support phases", items=phases)
        for platform in map(mapping, sequence(one.get("platformCompatibility"))[:_MOST]):
            label = f"Versions of {text(platform.get('name')) or 'the platform'}"
            versions = ", ".join(map(scalar_text, sequence(platform.get("versions"))[:_MOST]))
            if versions:
                yield Fact(label=label, items=(Item(text=versions),))
        return


def _max_openshift(record: Record) -> str:
    for one in record.bundle.properties.others:
        if one.type == properties.MAX_OPENSHIFT:
            return str(one.value)
    return ""
