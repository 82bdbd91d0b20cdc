"""Values from YAML and JSON that know their places.

The only module that knows the YAML libraries. YAML is read as Kubernetes' own
reader does (the YAML 1.1 family of Go's yaml.v2), which differs from PyYAML's
defaults in timestamps, sexagesimals, booleans and octal numbers. Places are
worked out only when somebody asks for one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.diagnostics import Location

Key = str | int


class Document:
    """One parsed value, the file it came from, and its place in that file.

    `value` is plain data: dict, list, str, int, float, bool, None.
    """

    __slots__ = ("_data", "index", "path", "value")

    def __init__(self, value: Any, *, path: str, data: bytes = b"", index: int = 0) -> None:
        self.value = value
        self.path = path
        self.index = index
        self._data = data

    def at(self, *keys: Key) -> Location:
        """Where the value under `keys` stands; where it is missing, its nearest ancestor."""
        raise NotImplementedError

    def at_key(self, *keys: Key) -> Location:
        """Where the last of `keys` itself stands."""
        raise NotImplementedError

    def get(self, *keys: Key, default: Any = None) -> Any:
        """The value under `keys`, or `default` when something on the way is missing."""
        value = self.value
        for key in keys:
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif isinstance(value, list) and isinstance(key, int) and -len(value) <= key < len(value):
                value = value[key]
            else:
                return default
        return value


def load(data: bytes, path: str) -> Document:
    """The first document of a YAML or JSON file.

    Raises `InputError` with a diagnostic that names line and column when the
    text is neither, is too deep, or expands beyond measure.
    """
    raise NotImplementedError


def load_all(data: bytes, path: str) -> Iterator[Document]:
    """Every document of a file, in order; an empty one is a `Document` of `None`."""
    raise NotImplementedError


def dump(value: Any) -> bytes:
    """YAML text in the house style, which is that of Go's yaml.v2 with sorted keys."""
    raise NotImplementedError


def dump_json(value: Any, *, indent: int | None = None) -> bytes:
    """JSON text with sorted keys and one newline at the end."""
    raise NotImplementedError
