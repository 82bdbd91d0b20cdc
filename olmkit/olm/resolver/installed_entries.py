"""Convert installed CSVs to entries of the resolver."""

from __future__ import annotations

import json
from collections.abc import Iterator

from olmkit.base.json import syntax_errors
from olmkit.base.versions import Version
from olmkit.catalog.blobs import properties
from olmkit.olm.resolver import resolution
from olmkit.olm.resolver.resolution import (
    CatalogKey,
    Installed,
    ResolutionError,
    ResolverEntry,
    ResolverInput,
    ResolverProperty,
)

_NONE = Version(0, 0, 0)


def parse_annotation(text: str) -> tuple[tuple[ResolverProperty, ...], str]:
    """Return the properties in `operatorframework.io/properties` of a CSV, or an error."""
    trouble = "failed to unmarshal properties annotation"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        return (), f"{trouble}: {syntax_errors.describe(error)}"
    listed = value.get("properties") if isinstance(value, dict) else value
    if listed is None:
        return (), ""
    if not isinstance(listed, list) or not isinstance(value, dict):
        return (), f"{trouble}: it is not an object with a list of properties"
    found = []
    for one in listed:
        if not isinstance(one, dict) or not isinstance(one.get("type"), str):
            return (), f"{trouble}: a property is an object with a type and a value"
        found.append(ResolverProperty(one["type"], one.get("value")))
    return tuple(found), ""


def subscribed_csvs(inputs: ResolverInput) -> frozenset[str]:
    """Return the names of the CSVs that a Subscription has installed; these may be replaced."""
    return frozenset(
        subscription.installed_csv
        for subscription in inputs.subscriptions
        if subscription.installed_csv
    )


def entries(inputs: ResolverInput) -> tuple[ResolverEntry, ...]:
    """Return an entry for each CSV that counts. Raises `ResolutionError`."""
    left_out = _failing_forward(inputs) if inputs.fails_forward else set()
    return tuple(_entry(inputs, one) for one in inputs.installed if one.name not in left_out)


def _entry(inputs: ResolverInput, csv: Installed) -> ResolverEntry:
    if csv.trouble:
        raise _error(
            inputs,
            "csv-properties",
            f'failed to retrieve properties of csv "{csv.name}": {csv.trouble}',
        )
    listed = csv.properties
    if listed is None:
        listed = tuple(_infer_properties(inputs, csv))
    named = [one.value for one in listed if one.type == properties.PACKAGE]
    return ResolverEntry(
        catalog=CatalogKey(resolution.EXISTING, inputs.namespace),
        package=str(named[0].get("packageName", "")) if named else "",
        channel="",
        name=csv.name,
        version=csv.version or _NONE,
        properties=listed,
    )


def _infer_properties(inputs: ResolverInput, csv: Installed) -> Iterator[ResolverProperty]:
    for api in dict.fromkeys(csv.provided):
        yield ResolverProperty(properties.GVK, api._asdict())
    for api in dict.fromkeys(csv.required):
        yield ResolverProperty(properties.GVK_REQUIRED, api._asdict())
    claimed = {
        subscription.package
        for subscription in inputs.subscriptions
        if subscription.installed_csv == csv.name
    }
    if len(claimed) == 1:
        version = csv.version or _NONE
        text = "" if version == _NONE else str(version)
        yield ResolverProperty(properties.PACKAGE, {"packageName": claimed.pop(), "version": text})


def _failing_forward(inputs: ResolverInput) -> set[str]:
    """Return the replaced CSVs whose chain of replacements ends in a failed CSV."""
    successors = {one.replaces: one for one in inputs.installed if one.replaces}
    left_out: set[str] = set()
    for first in inputs.installed:
        walk = [first]
        while (above := successors.get(walk[-1].name)) is not None:
            below = walk[-1]
            if below.phase != "Replacing":
                state = f"in phase {below.phase} instead of Replacing"
                raise _error(inputs, "csv-phase", f"csv {inputs.namespace}/{below.name} {state}")
            if above in walk:
                text = f"csv {inputs.namespace}/{above.name} has already been seen"
                raise _error(inputs, "csv-seen", text)
            walk.append(above)
        if walk[-1].phase == "Failed":
            left_out |= {one.name for one in walk if one.phase == "Replacing"}
    return left_out


def _error(inputs: ResolverInput, kind: str, text: str) -> ResolutionError:
    place = f"{inputs.namespace}/{resolution.EXISTING}"
    return ResolutionError(kind, f"error using catalogsource {place}: {text}")
