"""A catalog as OLM v1 reads it: one line of JSON for each blob, and an index of the lines.

The index finds lines by schema, package and name without reading any. It is small and kept in
memory; the reader decides where the lines are stored (spec: catalogd's HTTP API,
https://github.com/operator-framework/operator-controller/tree/main/docs).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

if TYPE_CHECKING:  # with a cache, no reader of YAML is loaded
    from olmkit.catalog.blobs.blob import Blob

PARAMETERS: Final = ("schema", "package", "name")


class BadQueryError(ValueError):
    """A query that the API does not support."""


class Query(NamedTuple):
    """The filter of a query; an empty string matches anything."""

    schema: str = ""
    package: str = ""
    name: str = ""


class Span(NamedTuple):
    """`length` bytes of the lines, from `offset`."""

    offset: int
    length: int


class Line(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One blob: its query fields, and the length of its line in bytes."""

    schema: str
    package: str
    name: str
    length: int


class Metas(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """All lines of a catalog in the order of its files.

    `digest` is the SHA-256 of the lines in hexadecimal; `packed` the length of their gzip form,
    which is stored behind them.
    """

    digest: str
    length: int
    packed: int
    lines: tuple[Line, ...]


def build(
    blobs: Iterable[Blob], append: Callable[[bytes], int], pack: Callable[[bytes], bytes]
) -> Metas:
    """Store the line of each blob with `append`, then all of them again as gzip.

    `pack` compresses piece by piece, and returns the remaining output for an empty piece.
    """
    digest = hashlib.sha256()
    packed: list[bytes] = []
    lines: list[Line] = []
    for blob in blobs:
        text = blob.raw
        append(text)
        digest.update(text)
        packed.append(pack(text))
        lines.append(Line(blob.schema, blob.package, blob.name, len(text)))
    packed.append(pack(b""))
    for piece in packed:
        append(piece)
    return Metas(
        digest=digest.hexdigest(),
        length=sum(line.length for line in lines),
        packed=sum(map(len, packed)),
        lines=tuple(lines),
    )


def encode(metas: Metas) -> bytes:
    return msgspec.msgpack.encode(metas)


def decode(data: bytes) -> Metas:
    """Return the index of `encode`; raise `ValueError` if `data` is something else."""
    return msgspec.msgpack.decode(data, type=Metas)


def parse_query(given: Sequence[tuple[str, str]]) -> Query:
    """Return the query of the parameters; if one is given twice, the first counts.

    Raises `BadQueryError` for an unknown parameter.
    """
    found: dict[str, str] = {}
    for name, value in given:
        if name not in PARAMETERS:
            raise BadQueryError(f"unknown parameter `{name}`")
        found.setdefault(name, value)
    return Query(**found)


class LineIndex:
    """Finds the lines that a query requests."""

    def __init__(self, metas: Metas) -> None:
        self._lines = metas.lines
        self._all = Span(0, metas.length)
        self._offsets: list[int] = []
        self._by: tuple[dict[str, list[int]], ...] = ({}, {}, {})
        offset = 0
        for number, line in enumerate(metas.lines):
            self._offsets.append(offset)
            offset += line.length
            for found, value in zip(self._by, (line.schema, line.package, line.name), strict=True):
                found.setdefault(value, []).append(number)

    def select(self, query: Query) -> list[Span]:
        """Return the positions of the lines, in catalog order; adjacent ones are merged."""
        asked = [(by, value) for by, value in zip(self._by, query, strict=True) if value]
        if not asked:
            return [self._all] if self._all.length else []
        candidates = min((by.get(value, []) for by, value in asked), key=len)
        return list(
            _join_spans(
                Span(self._offsets[number], self._lines[number].length)
                for number in candidates
                if self._matches(number, query)
            )
        )

    def _matches(self, number: int, query: Query) -> bool:
        line = self._lines[number]
        return all(
            wanted in ("", found)
            for wanted, found in zip(query, (line.schema, line.package, line.name), strict=True)
        )


def _join_spans(spans: Iterable[Span]) -> Iterator[Span]:
    last: Span | None = None
    for span in spans:
        if last is not None and last.offset + last.length == span.offset:
            last = Span(last.offset, last.length + span.length)
            continue
        if last is not None:
            yield last
        last = span
    if last is not None:
        yield last
