"""Convert a catalog to a template that renders the same catalog.

Sources: `opm alpha convert-template` of operator-registry 1.73 for the basic and the substitutes
template; the semver template has no converter there. A conversion that would lose something is
refused, where the catalog alone shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from olmkit.base import documents, findings
from olmkit.base.diagnostics import InputError
from olmkit.base.json import reader as json_reader
from olmkit.base.json import text as json_text
from olmkit.catalog.blobs import wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.fbc import Form
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import semver, source
from olmkit.catalog.templates.findings import ENTRY, refuse_all
from olmkit.catalog.templates.source import SCHEMAS, Kind

_INDENT: Final = 4
_CHANNEL: Final = re.compile(
    rf"({'|'.join(semver.ARCHETYPES)})-v(?:0|[1-9][0-9]*)(\.(?:0|[1-9][0-9]*))?"
)
_OTHER_KINDS: Final = "convert the catalog to `basic`, which keeps all blobs"


def convert(blobs: Sequence[Blob], kind: Kind) -> bytes:
    """Return the template as indented JSON text, without a line end.

    Raises `InputError` with the places of what the template cannot express.
    """
    match kind:
        case Kind.BASIC:
            return _basic(blobs)
        case Kind.SUBSTITUTES:
            return _template(Kind.SUBSTITUTES, map(_text, blobs), b',"substitutions":[]')
        case Kind.SEMVER:
            return _semver(blobs)


def dump(template: bytes, form: Form) -> bytes:
    """Return the text of a template file, as the reference ends it."""
    if form == "json":
        return template + b"\n"
    return b"---\n" + documents.dump(json_reader.read(template)) + b"\n"


def _template(kind: Kind, entries: Iterator[bytes], rest: bytes = b"") -> bytes:
    schema = SCHEMAS[kind].encode()
    listed = b",".join(entries)
    written = b"[%b]" % listed if listed else b"null"
    text = b'{"schema":"%b","entries":%b%b}' % (schema, written, rest)
    return json_text.indent(text, _INDENT)


def _text(blob: Blob) -> bytes:
    return json_text.compact(blob.value)


# Basic


def _basic(blobs: Sequence[Blob]) -> bytes:
    images: dict[str, Blob] = {}
    faults = []
    for blob in blobs:
        if blob.schema != wire.BUNDLE:
            continue
        image = RenderedBundle.of(blob).image
        if not image:
            message = f"bundle `{blob.name}` has no image, which a template needs"
            hint = "convert the catalog to `substitutes`, which keeps bundles as they are"
        elif image in images and images[image].raw != blob.raw:
            message = f"bundles `{images[image].name}` and `{blob.name}` differ, but have one image"
            hint = f"correct one of them: both have `{image}`"
        else:
            images[image] = blob
            continue
        faults.append(findings.create(ENTRY, message, at=blob.document.at(), hint=hint))
    refuse_all(faults)
    return _template(Kind.BASIC, map(_entry, blobs))


def _entry(blob: Blob) -> bytes:
    """Return a blob of a basic template; of a bundle, its image."""
    if blob.schema != wire.BUNDLE:
        return _text(blob)
    image = RenderedBundle.of(blob).image
    return json_text.compact({"schema": wire.BUNDLE, "image": image}, sort=False)


# Semver


def _semver(blobs: Sequence[Blob]) -> bytes:
    """Return the semver template that is rendered to these blobs; this is verified."""
    bundles = {blob.name: RenderedBundle.of(blob) for blob in blobs if blob.schema == wire.BUNDLE}
    fields = _archetypes(blobs, bundles)
    differing: Blob | None = None
    for preference in ("", semver.MAJOR, semver.MINOR):
        value = {**fields, "defaultChannelTypePreference": preference} if preference else fields
        text = json_text.indent(json_text.compact(value, sort=False), _INDENT)
        try:
            made = _render(text, bundles)
        except InputError:
            if preference:  # it does not fit the kinds of channels
                continue
            raise
        found = _find_difference(blobs, made)
        if found is None:
            return text
        differing = differing or found
    assert differing is not None  # noqa: S101 - the first round sets it
    named = f"{differing.schema} `{differing.name or differing.package}`"
    # What only the rendered catalog has is in no file.
    placed = next((blob for blob in blobs if blob is differing), blobs[0])
    raise findings.error(
        ENTRY,
        f"the semver template cannot express {named}: rendered, it would be different or absent",
        at=placed.document.at(),
        hint=_OTHER_KINDS,
    )


def _archetypes(blobs: Sequence[Blob], bundles: dict[str, RenderedBundle]) -> dict[str, Any]:
    """Return the fields of the template: kinds of channels, and images by archetype."""
    images: dict[str, dict[str, None]] = {name: {} for name in semver.ARCHETYPES}
    kinds: set[str] = set()
    for blob in blobs:
        if blob.schema != wire.CHANNEL:
            continue
        match = _CHANNEL.fullmatch(blob.name)
        if match is None:
            raise findings.error(
                ENTRY,
                f"the semver template has no channel with the name `{blob.name}`",
                at=blob.document.at(),
                hint=_OTHER_KINDS,
            )
        kinds.add(semver.MINOR if match[2] else semver.MAJOR)
        for entry in blob.fields["entries"] or ():
            bundle = bundles.get(entry["name"])
            if bundle is None or not bundle.image:
                raise findings.error(
                    ENTRY,
                    f"the catalog has no image of `{entry['name']}`, which `{blob.name}` contains",
                    at=blob.document.at(),
                    hint="add the bundle with its image to the catalog",
                )
            images[match[1]][bundle.image] = None
    return {
        "schema": SCHEMAS[Kind.SEMVER],
        "generateMajorChannels": semver.MAJOR in kinds,
        "generateMinorChannels": semver.MINOR in kinds,
        **{
            archetype: {"bundles": [{"image": image} for image in named]}
            for archetype, named in images.items()
            if named
        },
    }


def _render(text: bytes, bundles: dict[str, RenderedBundle]) -> list[Blob]:
    template = source.read(text, "template", Kind.SEMVER)
    known = {bundle.image: bundle for bundle in bundles.values()}
    named = {image: known[image] for image, _ in semver.images(template)}
    return list(semver.render(template, named, Level.NONE))


def _find_difference(blobs: Sequence[Blob], rendered: Sequence[Blob]) -> Blob | None:
    """Return the first blob that only one of the two has."""
    here, there = (
        {_normalize(blob): blob for blob in blobs},
        {_normalize(blob): blob for blob in rendered},
    )
    if len(here) < len(blobs):
        return next(blob for blob in blobs if here[_normalize(blob)] is not blob)
    return next(
        (here.get(key) or there[key] for key in (*here, *there) if (key in here) != (key in there)),
        None,
    )


def _normalize(blob: Blob) -> bytes:
    """Return the text of a blob without the order of entries and skips, which is irrelevant."""
    value = blob.value
    if blob.schema == wire.CHANNEL:
        entries = blob.fields["entries"] or ()
        value["entries"] = sorted(
            ({**entry, "skips": sorted(entry["skips"] or ())} for entry in entries),
            key=lambda entry: entry["name"],
        )
    return json_text.compact(value)
