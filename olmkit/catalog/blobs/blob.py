"""One document of a catalog: its identity, text, fields and place.

A `Blob` stores JSON text rather than a value, so that a catalog in memory is about as large as on
disk; `value` and `fields` are computed on request. Blobs that the reference refuses are refused
here, with the same messages.
"""

from __future__ import annotations

import base64
from typing import Any, Final

from olmkit.base import documents, findings
from olmkit.base.diagnostics import InputError, Location
from olmkit.base.documents import Document, Key
from olmkit.base.json import reader as json_reader
from olmkit.base.json import text as json_text
from olmkit.catalog.blobs import records, shapes, stream, wire
from olmkit.catalog.blobs.records import Record
from olmkit.catalog.blobs.shapes import ShapeError
from olmkit.catalog.blobs.stream import Part

_OBJECT: Final = "olm.bundle.object"
# Maximum number of characters of a blob in a message.
_SHOWN: Final = 120


class Blob:
    """One document of a catalog. Blobs are equal if `opm` would write the same bytes.

    `schema`, `package` and `name` are empty if absent; their keys match case-insensitively, like
    all keys in Go. The text of a `rendered` blob is written without changes, including the spelling
    of numbers in property values. The text of a `settled` blob is already in the form of `raw`.
    """

    __slots__ = (
        "_data",
        "_end",
        "_start",
        "name",
        "package",
        "place",
        "rendered",
        "schema",
        "settled",
    )

    def __init__(
        self,
        *,
        schema: str,
        package: str,
        name: str,
        data: bytes,
        start: int = 0,
        end: int | None = None,
        place: Part | None = None,
        rendered: bool = False,
        settled: bool = False,
    ) -> None:
        self.schema = schema
        self.package = package
        self.name = name
        self._data = data
        self._start = start
        self._end = len(data) if end is None else end
        self.place = place
        self.rendered = rendered
        self.settled = settled

    @property
    def text(self) -> bytes:
        """Return the stored JSON text."""
        return self._data[self._start : self._end]

    @classmethod
    def of(cls, value: dict[str, Any], *, path: str = "") -> Blob:
        """Return a blob with a value. Raises `InputError` if it is not a valid blob."""
        data = json_text.compact(value, escape_html=False)
        part = Part(value=value, path=path, index=0, data=b"", start=0, end=0, json=True)
        schema, package, name = identify(part)
        return cls(schema=schema, package=package, name=name, data=data)

    @property
    def value(self) -> dict[str, Any]:
        """Return the document as read, with numbers as doubles; created at each call."""
        value: dict[str, Any] = json_reader.read_doubles(self.text)
        return value

    @property
    def fields(self) -> dict[str, Any]:
        """Return the known fields of an `olm.*` blob by their correct names, including empty ones.

        Raises `InputError` for a field of a wrong type. For a custom blob, returns the whole value.
        """
        return known_fields(self, self.value)

    @property
    def raw(self) -> bytes:
        """Return the text that the reference stores, compares and serves: sorted and compact."""
        return self._sorted_text() + b"\n"

    @property
    def record(self) -> Record | None:
        """Return the fields of a regular `olm.*` blob, with the values of properties as text.

        None for any other blob; use `fields` for it.
        """
        return None if self.schema not in wire.SHAPES else records.read(self._sorted_text())

    def _sorted_text(self) -> bytes:
        return self.text if self.settled else json_text.compact(self.value, escape_html=False)

    @property
    def path(self) -> str:
        """Return the file it was read from; empty if it was created in memory."""
        return self.place.path if self.place else ""

    @property
    def index(self) -> int:
        """Return its number in that file, from 0."""
        return self.place.index if self.place else 0

    @property
    def document(self) -> Document:
        """Return the value with its places in the file."""
        place = self.place
        if place is None:
            return Document(self.value, path="")
        return Document(
            self.value,
            path=place.path,
            data=place.data,
            index=place.index,
            start=place.start,
            end=place.end,
            json=place.json,
        )

    def without_place(self) -> Blob:
        """Return the blob without its file, whose bytes it would otherwise keep in memory."""
        return Blob(
            schema=self.schema,
            package=self.package,
            name=self.name,
            data=self.text,
            rendered=self.rendered,
            settled=self.settled,
        )

    def at(self, *keys: Key) -> Location:
        """Return the place of the value under `keys`, or of its nearest ancestor."""
        return self.document.at(*keys)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blob) and self.raw == other.raw

    def __hash__(self) -> int:
        return hash((self.schema, self.package, self.name))

    def __repr__(self) -> str:
        return f"Blob(schema={self.schema!r}, package={self.package!r}, name={self.name!r})"


def parse_part(part: Part, *, settle: bool = False) -> Blob:
    """Return the blob of a document. Raises `InputError` if OLM cannot read it.

    With `settle`, JSON is also converted to the form of `raw`, which is the fastest to read.
    """
    schema, package, name = identify(part)
    if not schema:
        raise _missing_schema(part)
    blob = _blob(part, schema, package, name, settle=settle)
    _check(blob, part.value)
    return blob


def _blob(part: Part, schema: str, package: str, name: str, *, settle: bool = False) -> Blob:
    place = Part(
        value=None,
        path=part.path,
        index=part.index,
        data=part.data,
        start=part.start,
        end=part.end,
        json=part.json,
    )
    if part.json and not settle:
        return Blob(
            schema=schema,
            package=package,
            name=name,
            data=part.data,
            start=part.start,
            end=part.end,
            place=place,
        )
    data = json_text.compact(part.value, escape_html=False)
    return Blob(
        schema=schema,
        package=package,
        name=name,
        data=data,
        place=place,
        settled=not json_reader.has_odd_numbers(data),
    )


def identify(part: Part) -> tuple[str, str, str]:
    """Return schema, package and name of a document. Raises `InputError` if it is not a blob."""
    value = part.value
    if value is None:
        return "", "", ""
    if not isinstance(value, dict):
        raise _error(
            part,
            (),
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal "
            f"{shapes.kind(value)} into Go value of type map[string]interface {{}}",
            hint="each document of a catalog is an object with a `schema`",
        )
    names: dict[str, str] = {}
    twice: dict[str, list[str]] = {}
    for key in value:
        folded = key.casefold()
        if folded in names:
            twice.setdefault(folded, [names[folded]]).append(key)
        names[folded] = key
    if twice:
        messages = [
            f'duplicate keys for key "{folded}": [{" ".join(sorted(keys))}]'
            for folded, keys in sorted(twice.items())
        ]
        message = messages[0] if len(messages) == 1 else f"[{', '.join(messages)}]"
        keys = next(iter(twice.values()))
        raise _error(part, (keys[-1],), message, hint="keep one spelling of the key")
    found = []
    for folded in ("schema", "package", "name"):
        key = names.get(folded, "")
        text = value[key] if key else ""
        if not isinstance(text, str):
            raise _error(
                part,
                (key,),
                f'expected value for key "{key}" to be a string, got {shapes.kind(text)}',
                hint=f"quote the value of `{key}`, or leave the key out",
            )
        found.append(text)
    return found[0], found[1], found[2]


def _check(blob: Blob, value: dict[str, Any]) -> None:
    """Refuse values that the reference cannot decode into its types."""
    if blob.settled and _fits(blob.record):
        return
    fields = known_fields(blob, value)
    if blob.schema != wire.BUNDLE:
        return
    for index, item in enumerate(fields["properties"] or ()):
        if item["type"] == _OBJECT:
            bundle_object(blob, fields, index)


def _fits(record: Record | None) -> bool:
    """Return whether no field needs another check, as an inlined manifest does."""
    if isinstance(record, records.Bundle):
        return all(item.type != _OBJECT for item in record.properties)
    return record is not None


def known_fields(blob: Blob, value: dict[str, Any]) -> dict[str, Any]:
    """Return `Blob.fields` of an existing value."""
    shape = wire.SHAPES.get(blob.schema)
    if shape is None:
        return value
    try:
        return shapes.read(shape, value)
    except ShapeError as error:
        raise _error(
            blob.place, error.keys, f"parse {wire.PARSED_AS[blob.schema]}: {error.message}"
        ) from None


def bundle_object(blob: Blob, fields: dict[str, Any], index: int) -> bytes:
    """Return the JSON text of the manifest inlined in property number `index` of a bundle.

    Raises `InputError` if it is neither JSON nor YAML.
    """
    where = f'read bundle objects: package "{fields["package"]}", bundle "{fields["name"]}"'
    value = fields["properties"][index]["value"]
    keys: tuple[Key, ...] = ("properties", index, "value")
    parse = f"parse property at index {index} as bundle object"
    if value is shapes.ABSENT:
        raise _error(blob.place, keys[:2], f"{where}: {parse}: unexpected end of JSON input")
    text = value.get("data") if isinstance(value, dict) and len(value) == 1 else None
    data = shapes.decode_base64(text) if isinstance(text, str) else None
    if not isinstance(data, bytes):
        # The rare forms: other fields, another spelling of the name, no text, or an error in it.
        try:
            state = shapes.read(wire.BUNDLE_OBJECT, value)
        except ShapeError as error:
            raise _error(
                blob.place, (*keys, *error.keys), f"{where}: {parse}: {error.message}"
            ) from None
        data = base64.b64decode(state["data"] or "")
    if stream.looks_like_json(data):
        return data
    try:
        document = documents.load_yaml(data, blob.path)
    except InputError as error:
        convert = f"convert bundle object property at index {index} to JSON"
        problem = error.diagnostics[0].message if error.diagnostics else error.message
        raise _error(blob.place, keys, f"{where}: {convert}: yaml: {problem}") from None
    return json_text.compact(document.value)


def _missing_schema(part: Part) -> InputError:
    text = ""
    if part.value is not None:
        text = json_text.compact(part.value, escape_html=False).decode() + "\n"
    elif part.json:
        text = "null\n"
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    return _error(
        part,
        (),
        f"object '{shown}' is missing root schema field",
        hint="each document of a catalog needs a `schema`; one with comments only counts too",
    )


def _error(part: Part | None, keys: tuple[Key, ...], message: str, *, hint: str = "") -> InputError:
    at = None
    if part is not None and part.data:
        document = Document(
            None,
            path=part.path,
            data=part.data,
            index=part.index,
            start=part.start,
            end=part.end,
            json=part.json,
        )
        at = document.at(*keys)
    found = findings.create(
        "FBC002",
        message,
        at=at,
        hint=hint,
    )
    return InputError.of(found)
