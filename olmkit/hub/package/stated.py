"""Read annotations and free-form fields of a CSV leniently."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from olmkit.base import names
from olmkit.base.json import syntax_errors
from olmkit.hub.records import Record
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, scalar_text, sequence, text

LEVELS: Final = (
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
)
OTHER: Final = "Other"
_FEATURE: Final = "features.operators.openshift.io/"
_LEGACY: Final = "operators.openshift.io/infrastructure-features"
_TEMPLATE: Final = "operatorframework.io/suggested-namespace-template"
_SUGGESTED: Final = "operatorframework.io/suggested-namespace"
_COMPANY: Final = re.compile(r",?\s+(inc|llc|ltd|gmbh|corp|corporation)\.?$", re.IGNORECASE)
_DEPRECATED: Final = re.compile(r"^\s*[\[(]\s*deprecated\s*[\])]\s*", re.IGNORECASE)
_LEGACY_NAMES: Final = {
    "proxy": "proxy-aware",
    "proxyaware": "proxy-aware",
    "fips": "fips-compliant",
    "fipsmode": "fips-compliant",
    "tls": "tls-profiles",
}
_MAX_JSON: Final = 4 * 1024 * 1024


def display_name(record: Record | None, package: str) -> str:
    name = text(record.spec.get("displayName")) if record else ""
    return name.strip() or package


def sort_key(name: str) -> str:
    """Return the sort key of a name in the list: without a leading `[DEPRECATED]`."""
    return _DEPRECATED.sub("", name).casefold()


def provider(record: Record) -> tuple[str, str]:
    """Return name and URL, as written."""
    found = mapping(record.spec.get("provider"))
    return text(found.get("name")).strip(), text(found.get("url"))


def provider_group(name: str) -> str:
    """Return the name by which a provider is counted: without its legal form."""
    return _COMPANY.sub("", name.strip())


def categories(record: Record) -> tuple[str, ...]:
    found = record.annotations.get("categories", "")
    listed = dict.fromkeys(one.strip() for one in found.split(",") if one.strip())
    return tuple(listed) or (OTHER,)


def capability(record: Record) -> tuple[str, int | None]:
    """Return the capability level as written, and its number from 1 to 5; None if it is unknown."""
    found = record.annotations.get("capabilities", "").strip()
    return found, LEVELS.index(found) + 1 if found in LEVELS else None


def features(record: Record) -> Mapping[str, bool]:
    """Return the features that annotations declare, each as supported or not supported."""
    found: dict[str, bool] = {}
    listed = _json(record.annotations.get(_LEGACY, ""))
    for one in sequence(listed):
        key = text(one).strip().lower()
        if key:
            found[_LEGACY_NAMES.get(key.replace("-", ""), key)] = True
    for name, value in sorted(record.annotations.items()):
        if name.startswith(_FEATURE) and value.strip().lower() in ("true", "false"):
            found[name.removeprefix(_FEATURE)] = value.strip().lower() == "true"
    return dict(sorted(found.items()))


def platforms(record: Record, of: str) -> tuple[str, ...]:
    """Return the supported `arch` or `os`; empty if the labels do not name any."""
    prefix = f"operatorframework.io/{of}."
    return tuple(
        sorted(
            name.removeprefix(prefix)
            for name, value in objects.labels_of(record.csv).items()
            if name.startswith(prefix) and value == "supported"
        )
    )


def namespace(record: Record) -> tuple[Manifest | None, str]:
    """Return the suggested Namespace, first from the template, and why one was rejected."""
    written = record.annotations.get(_TEMPLATE, "")
    note = ""
    if written:
        found = _json(written)
        if names.is_label(objects.name(found)):
            metadata = mapping(mapping(found).get("metadata"))
            kept = {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
            made = {"name": objects.name(found), **kept}
            return {"apiVersion": "v1", "kind": "Namespace", "metadata": made}, ""
        note = "The suggested namespace template of the operator cannot be used."
    plain = record.annotations.get(_SUGGESTED, "").strip()
    if names.is_label(plain):
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": plain}}, note
    if plain:
        note = "The suggested namespace of the operator is not a valid name."
    return None, note


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """The objects of `alm-examples`; `error` and `raw` if they cannot be read."""

    objects: tuple[Manifest, ...] = ()
    error: str = ""
    raw: str = ""


def examples(record: Record) -> Examples:
    written = record.annotations.get("alm-examples") or record.annotations.get("olm.examples", "")
    if not written.strip():
        return Examples()
    try:
        found = json.loads(written[:_MAX_JSON])
    except (ValueError, RecursionError) as error:
        return Examples(error=syntax_errors.describe(error), raw=written[:20_000])
    listed = found if isinstance(found, list) else [found]
    unique: dict[str, Manifest] = {}
    for one in listed:
        if isinstance(one, dict):
            unique.setdefault(json.dumps(one, sort_keys=True), one)
    return Examples(objects=tuple(unique.values()))


def first_object(record: Record) -> Manifest | None:
    """Return the object to create after the installation, else the first example."""
    found = _json(record.annotations.get("operatorframework.io/initialization-resource", ""))
    if isinstance(found, dict) and found.get("kind"):
        return found
    return next(iter(examples(record).objects), None)


def internal(record: Record) -> frozenset[str]:
    """Return the names of the CRDs that users do not create."""
    found = _json(record.annotations.get("operators.operatorframework.io/internal-objects", ""))
    return frozenset(text(one) for one in sequence(found))


def listed(record: Record, key: str) -> Iterator[tuple[str, str]]:
    """Yield name and address of each entry of `links` or `maintainers`; one may be empty."""
    second = "email" if key == "maintainers" else "url"
    for one in map(mapping, sequence(record.spec.get(key))):
        name, address = text(one.get("name")).strip(), text(one.get(second)).strip()
        if key == "links" and not address:
            continue
        if address and second == "email" and ":" not in address:
            address = f"mailto:{address}"
        if name or address:
            yield name or address, address


def keywords(record: Record) -> tuple[str, ...]:
    found = (scalar_text(one).strip() for one in sequence(record.spec.get("keywords")))
    return tuple(dict.fromkeys(one for one in found if one))


def _json(written: str) -> Any:
    try:
        return json.loads(written[:_MAX_JSON]) if written.strip() else None
    except (ValueError, RecursionError):
        return None
