"""Values from YAML and JSON with their places in the file.

The main interface to YAML. YAML is read like in Kubernetes (the YAML 1.1 family of Go's yaml.v2),
which differs from PyYAML's defaults in timestamps, sexagesimals, booleans and octal numbers. Places
are computed only on request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from olmkit.base.diagnostics import InputError, Location
from olmkit.base.document_errors import document_error, error_at, further, place_in_file, yaml_error
from olmkit.base.json import reader as json_reader
from olmkit.base.json.reader import JsonError
from olmkit.base.yaml import fast as yaml_fast
from olmkit.base.yaml import reader as yaml_reader
from olmkit.base.yaml import scalars as yaml_scalars
from olmkit.base.yaml.events import YamlError
from olmkit.base.yaml.lines import Lines
from olmkit.base.yaml.reader import YamlReading

if TYPE_CHECKING:
    from olmkit.base.yaml.positions import YamlNode

Key = str | int

# The maximum number of values in a YAML document, counted by its lines and commas: each needs some
# 300 bytes while it is read. The largest real documents have a few hundred thousand.
MAX_VALUES: Final = 1_500_000
# The maximum number of documents in a file; a manifest of a whole platform has some hundreds.
MAX_DOCUMENTS: Final = 100_000
MAX_KEY: Final = 100_000  # characters; each message about a field has its keys
_COLLECTIONS: Final = (dict, list)

_SEPARATOR: Final = re.compile(rb"^---(?=[ \t\r\n]|\Z)", re.MULTILINE)
_CONTENT: Final = re.compile(rb"^[ \t]*[^#% \t\r\n]", re.MULTILINE)


class Duplicate(NamedTuple):
    """A duplicate key in a mapping; the last one counts."""

    keys: tuple[Key, ...]
    first: Location
    again: Location


class Document:
    """One parsed value, the file it came from, and its place in that file.

    `value` is plain data: dict, list, str, int, float, bool, None. `data` is the whole file; the
    document is the first one in `data[start:end]`, read as JSON if `json`; `more`: others follow
    there.
    """

    __slots__ = (
        "_below",
        "_data",
        "_end",
        "_inner",
        "_json",
        "_lines",
        "_nodes",
        "_repeated",
        "_start",
        "index",
        "more",
        "path",
        "value",
    )

    def __init__(
        self,
        value: Any,
        *,
        path: str,
        data: bytes = b"",
        index: int = 0,
        start: int = 0,
        end: int | None = None,
        json: bool = False,
    ) -> None:
        self.value = value
        self.path = path
        self.index = index
        self._json = json
        # Whether a mapping may have duplicate keys, which only the fast JSON reader does not know.
        self._repeated = json
        self._data = data
        self._start = start
        self._end = len(data) if end is None else end
        self._inner = 0
        self.more = False
        self._nodes: YamlNode | None = None
        self._lines: Lines | None = None
        self._below: tuple[Key, ...] = ()

    def derived(self, value: Any, *below: Key) -> Document:
        """Return another value that was derived from this one, or from its part under `below`.

        It has the places of its source.
        """
        made = Document(
            value,
            path=self.path,
            data=self._data,
            index=self.index,
            start=self._start,
            end=self._end,
            json=self._json,
        )
        made._inner = self._inner
        made._nodes = self._nodes
        made._below = (*self._below, *below)
        return made

    def at(self, *keys: Key) -> Location:
        """Return the place of the value under `keys`, or of its nearest ancestor."""
        return self._location(keys, of_key=False)

    def at_key(self, *keys: Key) -> Location:
        """Return the place of the last of `keys` itself."""
        return self._location(keys, of_key=True)

    def get(self, *keys: Key, default: Any = None) -> Any:
        """Return the value under `keys`, or `default` if a part of the path is missing."""
        value = self.value
        for key in keys:
            if isinstance(value, list):
                if not isinstance(key, int) or not -len(value) <= key < len(value):
                    return default
                value = value[key]
            elif isinstance(value, Mapping) and key in value:
                value = value[key]
            else:
                return default
        return value

    def text(self, at: Location) -> str:
        """Return the text of a range in the document's file."""
        from olmkit.base import fixes

        return fixes.text_at(self._data, at)

    def span(self, *keys: Key) -> Location:
        """Return the whole range of the value under `keys`, to the end of its last part."""
        self._tree()  # the fast search does not know the end of a mapping
        return self._location(keys, of_key=False)

    def duplicate_keys(self) -> Iterator[Duplicate]:
        """Yield the duplicate keys of mappings, from the top."""
        node = self._tree() if self._repeated else None
        if node is not None:
            yield from self._duplicates(node, ())

    def _tree(self) -> YamlNode | None:
        if self._nodes is None and self._data:
            if self._json:
                from olmkit.base.json import positions as json_positions

                self._nodes = json_positions.compose(self._data, self._start)
            else:
                from olmkit.base.yaml import positions as yaml_positions

                part = self._data[self._start : self._end]
                self._nodes = yaml_positions.compose(part, index=self._inner)
        return self._nodes

    def _location(self, keys: tuple[Key, ...], *, of_key: bool) -> Location:
        path = field_path(keys)
        if self._nodes is None and self._is_whole_yaml():
            # Most files need few places, not the tree of all.
            if self._lines is None:
                self._lines = Lines(self._data, self.value)
            place = self._lines.find(keys, of_key=of_key)
            if place is not None:
                line, column, end_line, end_column = place
                return Location(
                    path=self.path,
                    line=line + 1,
                    column=column + 1,
                    end_line=end_line + 1,
                    end_column=end_column + 1,
                    field=path,
                )
        node = self._tree()
        if node is None:
            return Location(path=self.path, field=path)
        for key in self._below:
            entry = node.entries.get(key)
            node = entry[1] if entry else node
        for position, key in enumerate(keys):
            if isinstance(key, int) and key < 0:
                key += len(node.entries)
            entry = node.entries.get(key)
            if entry is None:
                break
            node = entry[0] if of_key and position == len(keys) - 1 else entry[1]
        return self._place_of(node, path)

    def _is_whole_yaml(self) -> bool:
        whole = self._start == 0 and self._end == len(self._data) and self._inner == 0
        return whole and not self._json and not self._below and not self.more

    def _place_of(self, node: YamlNode, field: str) -> Location:
        line, column = place_in_file(self._data, self._start, node.line, node.column)
        end_line, end_column = place_in_file(
            self._data, self._start, node.end_line, node.end_column
        )
        return Location(
            path=self.path,
            line=line,
            column=column,
            end_line=end_line,
            end_column=end_column,
            field=field,
        )

    def _duplicates(self, node: YamlNode, keys: tuple[Key, ...]) -> Iterator[Duplicate]:
        for name, first, second in node.twice:
            path = (*keys, name)
            yield Duplicate(
                keys=path,
                first=self._place_of(first, field_path(path)),
                again=self._place_of(second, field_path(path)),
            )
        for key, (_, below) in node.entries.items():
            yield from self._duplicates(below, (*keys, key))


def field_path(keys: tuple[Key, ...]) -> str:
    """Format `keys` for people: `spec.installModes[3].type`."""
    text = ""
    for key in keys:
        if isinstance(key, int):
            text += f"[{key}]"
        elif "." in key or "[" in key:
            text += f'["{key}"]'
        else:
            text += f".{key}" if text else key
    return text


def load(data: bytes, path: str) -> Document:
    """Return the first document of a YAML or JSON file.

    Raises `InputError` with line and column if the text is neither, is nested too deeply, or
    expands too much.
    """
    document = _load_json(data, path)
    if document is not None:
        return document
    try:
        return load_yaml(data, path)
    except InputError as error:
        if not _starts_like_json(data):
            raise
        # It is neither: the reader that got further has the better error.
        raise further(error, _json_problem(data, path)) from None


def load_yaml(
    data: bytes, path: str, *, start: int = 0, end: int | None = None, index: int = 0
) -> Document:
    """Return the first document of a part of a file, read as YAML even if it looks like JSON.

    What JSON allows and YAML does not (an escaped slash, halves of characters) is refused.
    """
    stop = len(data) if end is None else end
    part = data if start == 0 and stop == len(data) else data[start:stop]
    try:
        found = _read_yaml(part)
    except YamlError as problem:
        raise yaml_error(problem, data, path, start) from None
    return _document(found, path=path, data=data, index=index, start=start, end=stop)


def load_all(data: bytes, path: str, *, as_kustomize: bool = False) -> Iterator[Document]:
    """Yield every document of a file, in order; an empty one is a `Document` of `None`.

    With `as_kustomize`, `yes`, `on` and similar words are strings, and dates are timestamps.
    """
    if _starts_like_json(data):
        _check_json_size(data, path)
        try:
            yield from list(_json_documents(data, path))
        except JsonError:
            pass
        else:
            return
    index = 0
    for start, end in _parts(data):
        if index >= MAX_DOCUMENTS:
            raise error_at(
                data,
                path,
                start,
                f"the file has more than {MAX_DOCUMENTS:,} documents",
                hint="split it into several files",
            )
        part = data[start:end]
        try:
            if as_kustomize:
                _check_size(part)
                found: Iterable[YamlReading] = yaml_reader.read_all(
                    part, yaml_scalars.plain_of_kustomize
                )
            else:
                found = _read_all_yaml(part)
        except YamlError as problem:
            raise yaml_error(problem, data, path, start) from None
        for inner, reading in enumerate(found):
            document = _document(reading, path=path, data=data, index=index, start=start, end=end)
            document._inner = inner  # noqa: SLF001 - this file's own
            yield document
            index += 1


def broken_parts(data: bytes, path: str) -> Iterator[InputError]:
    """Yield the errors of unreadable documents after the first `---` line."""
    for number, (start, end) in enumerate(_parts(data)):
        if number == 0:
            continue
        try:
            for _ in _read_all_yaml(data[start:end]):
                pass
        except YamlError as problem:
            yield yaml_error(problem, data, path, start)


def literal_lines(data: bytes) -> frozenset[int]:
    """Return the lines, from 1, of texts in which spaces at line ends are content (`|` and `>`).

    For text that is not YAML, returns all lines.
    """
    from olmkit.base.yaml import positions as yaml_positions

    lines: set[int] = set()
    for start, end in _parts(data):
        first = data.count(b"\n", 0, start)
        found = yaml_positions.literal_lines(data[start:end])
        if found is None:
            return frozenset(range(1, data.count(b"\n") + 2))
        lines.update(first + line + 1 for line in found)
    return frozenset(lines)


def dump(value: Any) -> bytes:
    """Return YAML text in the form of Go's yaml.v2 with sorted keys.

    Raises `InputError` for a string that not every reader would read back unchanged.
    """
    from olmkit.base.yaml import writer as yaml_writer

    try:
        return yaml_writer.write(value).encode()
    except yaml_writer.UnwritableError as error:
        raise InputError(
            f"yaml: {error}",
            "remove control characters from strings, and keep keys under 1,024 characters",
        ) from None


def unwritable(value: Any) -> tuple[str | int, ...] | None:
    """Return the path to the first string or key that `dump` refuses; None if there is none."""
    from olmkit.base.yaml import writer as yaml_writer

    return yaml_writer.unwritable(value)


def dump_all(values: Iterable[Any]) -> bytes:
    """Return the values as one YAML stream, each as in `dump`."""
    return b"---\n".join(map(dump, values))


def dump_json(value: Any, *, indent: int | None = None) -> bytes:
    """Return JSON text with sorted keys and one newline at the end."""
    from olmkit.base.json import (
        text as json_text,  # it imports the JSON library, which is slow to start
    )

    text = json_text.compact(value, escape_html=False)
    return (text if indent is None else json_text.indent(text, indent)) + b"\n"


_TOO_MANY_VALUES: Final = (
    f"the document has more than {MAX_VALUES:,} lines and list items",
    "split it into several documents; no manifest or blob is that large",
)


def _check_size(data: bytes) -> None:
    """Refuse a text that would need too much memory, before it is read."""
    if len(data) > MAX_VALUES and data.count(b"\n") + data.count(b",") > MAX_VALUES:
        message, hint = _TOO_MANY_VALUES
        raise YamlError(message, line=0, column=0, hint=hint)


def _check_json_size(data: bytes, path: str) -> None:
    if len(data) > MAX_VALUES and data.count(b",") > MAX_VALUES:
        raise document_error(Location(path=path, line=1, column=1), *_TOO_MANY_VALUES)


def _check_keys(value: Any, size: int, path: str, data: bytes = b"", start: int = 0) -> None:
    """Refuse a key that would need too much memory in messages."""
    nodes = [value] if size > MAX_KEY else []
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            try:
                is_long = node and max(map(len, node)) > MAX_KEY
            except TypeError:  # a key that is not text
                is_long = any(isinstance(key, str) and len(key) > MAX_KEY for key in node)
            if is_long:
                at = Location(path=path, line=data.count(b"\n", 0, start) + 1, column=1)
                raise document_error(
                    at, f"a key has more than {MAX_KEY:,} characters", "shorten it, or remove it"
                )
            node = node.values()
        elif not isinstance(node, list):
            continue
        nodes += [inner for inner in node if isinstance(inner, _COLLECTIONS)]


def _read_yaml(data: bytes) -> YamlReading:
    _check_size(data)
    value = yaml_fast.read(data)
    return yaml_reader.read(data) if value is yaml_fast.REFUSED else YamlReading(value)


def _read_all_yaml(data: bytes) -> Iterable[YamlReading]:
    _check_size(data)
    value = yaml_fast.read(data)
    return yaml_reader.read_all(data) if value is yaml_fast.REFUSED else (YamlReading(value),)


def _parts(data: bytes) -> Iterator[tuple[int, int]]:
    """Split before each separator line; a part without content is joined with the next one."""
    start = 0
    for match in _SEPARATOR.finditer(data):
        # Comments and directives before the first separator belong to the document after it.
        if match.start() and (start or _CONTENT.search(data, 0, match.start())):
            yield start, match.start()
            start = match.start()
    yield start, len(data)


def _document(
    found: YamlReading, *, path: str, data: bytes, index: int, start: int, end: int
) -> Document:
    value = None if found.value is yaml_reader.MISSING else found.value
    _check_keys(value, end - start, path, data, start)
    document = Document(value, path=path, data=data, index=index, start=start, end=end)
    document.more = found.more
    document._repeated = found.repeated  # noqa: SLF001 - this file's own
    return document


def _starts_like_json(data: bytes) -> bool:
    start = json_reader.skip_space(data, 0)
    return data[start : start + 1] == b"{"


def _load_json(data: bytes, path: str) -> Document | None:
    """Parse text that starts with a brace and is one JSON value."""
    if not _starts_like_json(data):
        return None
    _check_json_size(data, path)
    try:
        value = json_reader.read(data)
    except JsonError:
        return None
    start = json_reader.skip_space(data, 0)
    _check_keys(value, len(data), path)
    return Document(value, path=path, data=data, start=start, json=True)


def _json_documents(data: bytes, path: str) -> Iterator[Document]:
    for index, (value, start, end) in enumerate(json_reader.read_stream(data, 0, doubles=False)):
        _check_keys(value, end - start, path, data, start)
        yield Document(value, path=path, data=data, index=index, start=start, end=end, json=True)


def _json_problem(data: bytes, path: str) -> InputError | None:
    start = json_reader.skip_space(data, 0)
    from olmkit.base.json import positions as json_positions

    error = json_positions.explain(data, start)
    if error is None or error.offset is None:
        return None
    return error_at(data, path, error.offset, error.message)
