"""Read and write the files of file-based catalogs.

Reading accepts what the reference accepts, and reports what the reference silently loses. Writing
produces the same bytes as the reference: packages sorted by name, in each the package, its channels
and bundles by name, custom blobs by schema, and deprecations; fields that an `olm.*` schema does
not know are left out. What blobs mean together is `olmkit.catalog.model`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from olmkit.base import documents, findings
from olmkit.base.diagnostics import Diagnostic, InputError
from olmkit.base.json import reader as json_reader
from olmkit.base.json import text as json_text
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import blob as blobs_
from olmkit.catalog.blobs import records, shapes, stream, wire
from olmkit.catalog.blobs.blob import Blob

__all__ = [
    "Blob",
    "Form",
    "dump",
    "dump_blob",
    "dump_tree",
    "load",
    "load_stream",
    "sort_for_writing",
    "unknown_fields",
]

Form = Literal["yaml", "json"]
Report = Callable[[Diagnostic], None]

_INDENT: Final = 4


def load(
    tree: Tree, prefix: str = "", *, report: Report | None = None, settle: bool = False
) -> Iterator[Blob]:
    """Yield the blobs of all files below `prefix`, in the same order as opm.

    `.indexignore` files exclude files. Raises `InputError` at the first document that is not a
    blob; `report` receives oddities that are not errors; `settle` is that of `parse_part`.
    """
    root = prefix.strip("/") + "/" if prefix.strip("/") else ""
    from olmkit.catalog.blobs import ignore  # only for folders

    for path in ignore.catalog_files(tree, root):
        yield from load_stream(tree.data(path), path, report=report, settle=settle)


def load_stream(
    data: bytes, path: str, *, report: Report | None = None, settle: bool = False
) -> Iterator[Blob]:
    """Yield the blobs of one file."""
    for part in stream.read(data, path, check=blobs_.identify, report=report or _ignore):
        yield blobs_.parse_part(part, settle=settle)


@dataclass(slots=True)
class _Group:
    """The blobs of one package, each kind in the order of reading."""

    packages: list[Blob] = field(default_factory=list)
    channels: list[Blob] = field(default_factory=list)
    bundles: list[Blob] = field(default_factory=list)
    others: list[Blob] = field(default_factory=list)
    deprecations: list[Blob] = field(default_factory=list)

    def __iter__(self) -> Iterator[Blob]:
        yield from self.packages
        yield from sorted(self.channels, key=lambda blob: blob.name)
        yield from sorted(self.bundles, key=lambda blob: blob.name)
        yield from sorted(self.others, key=lambda blob: blob.schema)
        yield from self.deprecations


def sort_for_writing(blobs: Iterable[Blob]) -> Iterator[Blob]:
    """Yield the blobs in the order of writing; those without a package are left out."""
    groups, rest = _group_by_package(blobs)
    for name in sorted(groups):
        yield from groups[name]
    yield from rest


def dump(blobs: Iterable[Blob], form: Form, *, keep_unknown: bool = False) -> bytes:
    """Return the text of a catalog; with `keep_unknown`, also fields that the reference drops."""
    return b"".join(pieces(blobs, form, keep_unknown=keep_unknown))


def pieces(blobs: Iterable[Blob], form: Form, *, keep_unknown: bool = False) -> Iterator[bytes]:
    """Yield the text of `dump` one document at a time, for large catalogs."""
    return (dump_blob(blob, form, keep_unknown=keep_unknown) for blob in sort_for_writing(blobs))


def dump_tree(blobs: Iterable[Blob], form: Form) -> Tree:
    """Return a file for each package in its folder; custom blobs without a package at the top.

    Raises `InputError` for a package whose name cannot be a folder.
    """

    def text(part: Iterable[Blob]) -> bytes:
        return b"".join(dump_blob(blob, form) for blob in part)

    groups, rest = _group_by_package(blobs)
    files: dict[str, bytes] = {}
    for name in sorted(groups):
        folder = _folder(name)
        files[f"{folder}/catalog.{form}"] = text(groups[name])
    if rest:
        files[f"catalog.{form}"] = text(rest)
    return Tree(files)


def dump_blob(blob: Blob, form: Form, *, keep_unknown: bool = False) -> bytes:
    """Return one document, with `---` before it in YAML and a newline after it."""
    if blob.rendered:
        if form == "yaml":
            return b"---\n" + documents.dump(json_reader.read(blob.text))
        return json_text.indent(blob.text, _INDENT) + b"\n"
    if form == "json" and not keep_unknown and (record := blob.record) is not None:
        return json_text.indent(records.dump(record), _INDENT) + b"\n"
    value = blob.value
    shape = wire.SHAPES.get(blob.schema)
    if shape is not None:
        written = shapes.dump(
            shape, blobs_.known_fields(blob, value), anything=_sort_keys if form == "json" else None
        )
        value = shapes.restore(shape, value, written) if keep_unknown else written
    if form == "yaml":
        return b"---\n" + documents.dump(value)
    text = json_text.compact(value, escape_html=False, sort=shape is None)
    return json_text.indent(text, _INDENT) + b"\n"


def unknown_fields(blob: Blob) -> Iterator[Diagnostic]:
    """Return the unknown fields of an `olm.*` blob, which writing it would drop."""
    shape = wire.SHAPES.get(blob.schema)
    if shape is None or (blob.settled and blob.record is not None):
        return
    document = blob.document
    for way in shapes.unknown(shape, blob.value):
        yield findings.create(
            "FBC004",
            f"`{documents.field_path(way)}` is not a field of `{blob.schema}`",
            at=document.at_key(*way),
            subject=blob.name or blob.package,
            hint="move it to a property, or "
            "to a blob with a custom schema: no tool reads it, and writing the catalog drops it",
        )


def _sort_keys(value: Any) -> msgspec.Raw:
    return msgspec.Raw(json_text.compact(value, escape_html=False))


def _group_by_package(blobs: Iterable[Blob]) -> tuple[dict[str, _Group], list[Blob]]:
    groups: dict[str, _Group] = {}
    rest: list[Blob] = []
    for blob in blobs:
        name = blob.name if blob.schema == wire.PACKAGE else blob.package
        if not name:
            if blob.schema not in wire.SHAPES:
                rest.append(blob)
            continue
        group = groups.setdefault(name, _Group())
        match blob.schema:
            case wire.PACKAGE:
                group.packages.append(blob)
            case wire.CHANNEL:
                group.channels.append(blob)
            case wire.BUNDLE:
                group.bundles.append(blob)
            case wire.DEPRECATIONS:
                group.deprecations.append(blob)
            case _:
                group.others.append(blob)
    return groups, rest


def _folder(package: str) -> str:
    parts: list[str] = []
    for part in package.split("/"):
        if part == "..":
            if not parts:
                break
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    else:
        if parts and not package.startswith("/"):
            return "/".join(parts)
    raise InputError(
        f'invalid package name "{package}": must be a single local path element',
        hint="a package is written to a folder with its name; rename the package",
    )


def _ignore(found: Diagnostic) -> None:
    """Report nothing."""
