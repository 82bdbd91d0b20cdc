"""Values from YAML and JSON that know their places.

The only module that knows the YAML libraries. YAML is read as Kubernetes' own
reader does (the YAML 1.1 family of Go's yaml.v2), which differs from PyYAML's
defaults in timestamps, sexagesimals, booleans and octal numbers. Places are
worked out only when somebody asks for one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from olmkit.base import yaml_places, yaml_reader
from olmkit.base.diagnostics import Diagnostic, InputError, Location, Severity
from olmkit.base.yaml_places import Node
from olmkit.base.yaml_reader import YamlError

Key = str | int


class Document:
    """One parsed value, the file it came from, and its place in that file.

    `value` is plain data: dict, list, str, int, float, bool, None.
    """

    __slots__ = ("_below", "_data", "_nodes", "index", "path", "value")

    def __init__(self, value: Any, *, path: str, data: bytes = b"", index: int = 0) -> None:
        self.value = value
        self.path = path
        self.index = index
        self._data = data
        self._nodes: Node | None = None
        self._below: tuple[Key, ...] = ()

    def derived(self, value: Any, *below: Key) -> Document:
        """Another value that was made from this one, or from its part under `below`.

        It has the places of what it was made from.
        """
        made = Document(value, path=self.path, data=self._data, index=self.index)
        made._nodes = self._nodes
        made._below = (*self._below, *below)
        return made

    def at(self, *keys: Key) -> Location:
        """Where the value under `keys` stands; where it is missing, its nearest ancestor."""
        return self._location(keys, of_key=False)

    def at_key(self, *keys: Key) -> Location:
        """Where the last of `keys` itself stands."""
        return self._location(keys, of_key=True)

    def get(self, *keys: Key, default: Any = None) -> Any:
        """The value under `keys`, or `default` when something on the way is missing."""
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

    def _location(self, keys: tuple[Key, ...], *, of_key: bool) -> Location:
        if self._nodes is None and self._data:
            self._nodes = yaml_places.compose(self._data, index=self.index)
        node = self._nodes
        path = field_path(keys)
        if node is not None:
            for key in self._below:
                entry = node.entries.get(key)
                node = entry[1] if entry else node
        if node is None:
            return Location(path=self.path, field=path)
        for position, key in enumerate(keys):
            if isinstance(key, int) and key < 0:
                key += len(node.entries)
            entry = node.entries.get(key)
            if entry is None:
                break
            node = entry[0] if of_key and position == len(keys) - 1 else entry[1]
        return Location(
            path=self.path,
            line=node.line + 1,
            column=node.column + 1,
            end_line=node.end_line + 1,
            end_column=node.end_column + 1,
            field=path,
        )


def field_path(keys: tuple[Key, ...]) -> str:
    """`keys` as people write them: `spec.installModes[3].type`."""
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
    """The first document of a YAML or JSON file.

    Raises `InputError` with a diagnostic that names line and column when the
    text is neither, is too deep, or expands beyond measure.
    """
    try:
        value = yaml_reader.read(data)
    except YamlError as problem:
        raise _input_error(problem, data, path) from None
    return Document(None if value is yaml_reader.MISSING else value, path=path, data=data)


def load_all(data: bytes, path: str) -> Iterator[Document]:
    """Every document of a file, in order; an empty one is a `Document` of `None`."""
    values = yaml_reader.read_all(data)
    index = 0
    while True:
        try:
            value = next(values)
        except StopIteration:
            return
        except YamlError as problem:
            raise _input_error(problem, data, path) from None
        yield Document(value, path=path, data=data, index=index)
        index += 1


def dump(value: Any) -> bytes:
    """YAML text in the house style, which is that of Go's yaml.v2 with sorted keys."""
    text: bytes = yaml.dump(
        value, Dumper=_Dumper, encoding="utf-8", allow_unicode=True, default_flow_style=False
    )
    return text


def dump_json(value: Any, *, indent: int | None = None) -> bytes:
    """JSON text with sorted keys and one newline at the end."""
    separators = (",", ":") if indent is None else (",", ": ")
    text = json.dumps(
        value, sort_keys=True, indent=indent, ensure_ascii=False, separators=separators
    )
    return text.encode() + b"\n"


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the library's interface
        return True


def _text(dumper: Any, value: str) -> Any:
    style = "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _input_error(problem: YamlError, data: bytes, path: str) -> InputError:
    line, column = problem.line, problem.column
    if line is None and problem.offset is not None:
        before = data[: problem.offset]
        line = before.count(b"\n")
        column = len(before[before.rfind(b"\n") + 1 :].decode("utf-8", "replace"))
    at = Location(
        path=path,
        line=None if line is None else line + 1,
        column=None if column is None else column + 1,
    )
    found = Diagnostic(
        rule="DOC001",
        name="syntax",
        severity=Severity.ERROR,
        message=problem.message,
        at=at,
        hint=problem.hint,
    )
    return InputError(f"{at}: {problem.message}", problem.hint, (found,))
