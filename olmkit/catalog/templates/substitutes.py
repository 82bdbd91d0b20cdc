"""The substitutes template: rebuilt bundles replace other bundles in the upgrade graph.

Source: the substitutes template of operator-registry 1.62 and later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from olmkit.base import findings
from olmkit.base.diagnostics import InputError, Location
from olmkit.base.versions import InvalidVersionError, VersionRelease
from olmkit.catalog.blobs import wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles import migrate
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import entries, identity
from olmkit.catalog.templates.findings import SUBSTITUTION
from olmkit.catalog.templates.source import Template

Check = Callable[[Sequence[Blob]], None]
"""Raises `InputError` for blobs that are not a valid catalog."""


def images(template: Template) -> Iterator[tuple[str, Location]]:
    """Yield the images of the substitutes. Raises `InputError` for a substitution without sense."""
    bases: set[str] = set()
    names: dict[str, str] = {}
    for index, item in enumerate(_substitutions(template)):
        name, base = item["name"], item["base"]
        at = template.at("substitutions", index)
        if problem := _problem(name, base, bases, names):
            raise findings.error(
                SUBSTITUTION,
                problem,
                at=at,
                hint="write the image of a bundle as `name`, and the name of another bundle as "
                "`base`",
            )
        bases.add(base)
        names[name] = base
        yield name, template.at("substitutions", index, "name")


def render(
    template: Template, bundles: Mapping[str, RenderedBundle], level: Level, check: Check
) -> list[Blob]:
    """Return the entries with all substitutions. Raises `InputError` when one is not possible."""
    blobs = list(entries.blobs(template))
    _check(check, blobs, "the entries of the template are not a valid catalog", template)
    for index, item in enumerate(_substitutions(template)):
        bundle = bundles[item["name"]]
        _check_versions(template, index, item["base"], bundle, blobs)
        blobs = [_substitute_entry(blob, item["base"], bundle.name) for blob in blobs]
        blobs.append(migrate.migrate(bundle, level).blob())
    _check(check, blobs, "the result is not a valid catalog", template)
    return blobs


def _substitutions(template: Template) -> Sequence[Mapping[str, str]]:
    found: Sequence[Mapping[str, str]] = template.fields["substitutions"] or ()
    return found


def _problem(name: str, base: str, bases: set[str], names: Mapping[str, str]) -> str:
    if base in bases:
        return f"cannot reuse the same substitution base `{base}`"
    if name in names:
        return (
            f"cannot reuse the same substitution `{name}` for different bases "
            f"(`{names[name]}` and `{base}`)"
        )
    if not name:
        return "the `name` of a substitution is empty"
    if not base:
        return "the `base` of a substitution is empty"
    return "`name` and `base` of a substitution are the same" if name == base else ""


def _check(check: Check, blobs: Sequence[Blob], message: str, template: Template) -> None:
    try:
        check(blobs)
    except InputError as error:
        found = tuple(one._replace(at=template.at("entries")) for one in error.diagnostics)
        raise InputError(f"{message}: {error.message}", error.hint, found) from None


def _check_versions(
    template: Template, index: int, base: str, substitute: RenderedBundle, blobs: Sequence[Blob]
) -> None:
    at = template.at("substitutions", index)
    found = next((b for b in blobs if b.schema == wire.BUNDLE and b.name == base), None)
    if found is None:
        raise findings.error(
            SUBSTITUTION,
            f"base bundle `{base}` does not exist in the catalog",
            at=at,
            hint="name a bundle of the entries as `base`",
        )
    old = _version(RenderedBundle.of(found), at)
    new = _version(substitute, at)
    if not old < new:
        raise findings.error(
            SUBSTITUTION,
            f"base bundle `{base}` ({old}) is not less than substitute bundle "
            f"`{substitute.name}` ({new})",
            at=at,
            hint="a substitute has a higher version or a higher release",
        )


def _version(bundle: RenderedBundle, at: Location) -> VersionRelease:
    try:
        found = identity.version(bundle)
    except InvalidVersionError as error:
        raise findings.error(
            SUBSTITUTION, f"bundle `{bundle.name}`: {error.message}", at=at
        ) from None
    if found is None:
        raise findings.error(
            SUBSTITUTION, f"bundle `{bundle.name}` lacks a single `olm.package` property", at=at
        )
    return found


def _substitute_entry(blob: Blob, base: str, substitute: str) -> Blob:
    """Return a channel in which `substitute` takes the place of `base`; other blobs as they are."""
    if blob.schema != wire.CHANNEL:
        return blob
    fields = blob.fields
    old = fields["entries"] or []
    if not any(base in (e["name"], e["replaces"], *(e["skips"] or ())) for e in old):
        return blob
    changed: list[dict[str, Any]] = []
    added: list[dict[str, Any]] = []
    for entry in old:
        skips = list(entry["skips"] or ())
        if entry["name"] == base:
            added.append({**entry, "name": substitute, "skips": [*skips, base]})
            changed.append({"name": base})
        elif entry["replaces"] == base:
            changed.append({**entry, "replaces": substitute, "skips": [*skips, base]})
        elif base in skips:
            kept = [name for name in skips if name != base]
            changed.append({**entry, "skips": [*kept, substitute]})
        else:
            changed.append(entry)
    value = {**blob.value, "entries": [_without_empty(e) for e in (*changed, *added)]}
    return Blob.of(value)


def _without_empty(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value}
