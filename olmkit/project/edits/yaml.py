"""Edit YAML files without losing comments.

A file is never serialized again: the parsed document provides the places, and lines are inserted
there. Existing values are not changed, so that each edit is idempotent. Only block style is
supported; a non-empty list in flow style is an error with its place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from olmkit.base import documents, findings
from olmkit.base.diagnostics import InputError, Location
from olmkit.base.documents import Document, Key

MARKER = "+kubebuilder:scaffold:"

_COMMENT = re.compile(r"\s*#")
_BYTE_ORDER = "\ufeff"
# YAML 1.1 ends a line with each of these, and editors show most of them inside a line.
_ODD_LINE_END = re.compile("\r(?!\n)|[\x85\u2028\u2029]")


def with_item(
    data: bytes,
    path: str,
    keys: tuple[Key, ...],
    item: Any,
    *,
    marker: str = "",
    first: bool = False,
) -> bytes:
    """Return `data` with `item` in the list under `keys`: above the marker, else last, or `first`.

    An existing item, also as a mapping with more keys, is not added again; a commented item is
    uncommented. Raises `InputError` if there is no block list.
    """
    text = _Text(data, path)
    found = text.document.get(*keys)
    if isinstance(found, list) and any(_holds(one, item) for one in found):
        return data
    if not isinstance(found, list | None):
        raise _refusal(f"`{documents.field_path(keys)}` is not a list", text.document.at(*keys))
    if isinstance(item, str) and text.uncommented(item):
        return text.data()
    if found:
        text.add_to_list(keys, found, item, marker=marker, first=first)
    elif text.has_key(keys):
        text.fill_list(keys, item, marker=marker)
    else:
        return with_value(data, path, keys, [item])
    return text.data()


def with_replaced_item(data: bytes, path: str, keys: tuple[Key, ...], old: str, new: str) -> bytes:
    """Return `data` with `old` replaced by `new` in the list under `keys`, if it exists."""
    text = _Text(data, path)
    found = text.document.get(*keys)
    if isinstance(found, list) and old in found:
        text.replace_item(keys, found.index(old), new)
    return text.data()


def with_commented_item(data: bytes, path: str, keys: tuple[Key, ...], item: str) -> bytes:
    """Return `data` with the text `item` commented out in the list under `keys`, if it exists."""
    text = _Text(data, path)
    found = text.document.get(*keys)
    if isinstance(found, list):
        for index, one in enumerate(found):
            if _holds(one, item):
                text.comment_item(keys, index)
    return text.data()


def with_value(data: bytes, path: str, keys: tuple[Key, ...], value: Any) -> bytes:
    """Return `data` with `value` under `keys`; the parent mapping is created if needed.

    A new key is inserted in alphabetical order. Raises `InputError` if there is no mapping, and for
    a missing item of a list.
    """
    text = _Text(data, path)
    if text.document.get(*keys, default=_MISSING) == value:
        return data
    for depth in range(1, len(keys)):
        above = text.document.get(*keys[:depth], default=_MISSING)
        if above is _MISSING or above is None or above == {}:
            if any(isinstance(key, int) for key in keys[depth - 1 :]):
                where = documents.field_path(keys)
                raise _refusal(f"there is no `{where}`", text.document.at(*keys[:depth]), "")
            nested = value
            for key in reversed(keys[depth:]):
                nested = {key: nested}
            return with_value(data, path, keys[:depth], nested)
        if not isinstance(above, Mapping | list):
            where = documents.field_path(keys[:depth])
            raise _refusal(f"`{where}` is not a mapping", text.document.at(*keys[:depth]), "")
    if text.has_key(keys):
        text.replace_value(keys, value)
    else:
        text.insert_key(keys, value)
    return text.data()


def without_key(data: bytes, path: str, keys: tuple[Key, ...]) -> bytes:
    """Return `data` without the key `keys`, which must not be the only one of its mapping."""
    text = _Text(data, path)
    if text.has_key(keys):
        text.remove(keys)
    return text.data()


def in_document(data: bytes, path: str, kind: str, change: Callable[[bytes], bytes]) -> bytes:
    """Return `data` with the document of one kind changed; the others are not changed.

    Raises `InputError` if the file has none of that kind.
    """
    parts = re.split(rb"^(?=---(?:\s|$))", data, flags=re.MULTILINE)
    for index, part in enumerate(parts):
        if part.strip() and documents.load_yaml(part, path).get("kind") == kind:
            parts[index] = change(part)
            return b"".join(parts)
    raise _refusal(f"the file contains no {kind}", Location(path=path), "")


_MISSING = object()


def _holds(found: Any, desired: Any) -> bool:
    """Return whether an entry contains the wanted value, and possibly more."""
    if isinstance(desired, Mapping):
        return isinstance(found, Mapping) and all(
            key in found and _holds(found[key], value) for key, value in desired.items()
        )
    if isinstance(desired, str) and isinstance(found, str):
        return found.rstrip("/").removeprefix("./") == desired.rstrip("/").removeprefix("./")
    return bool(found == desired)


def _refusal(message: str, at: Location, hint: str = "write it in block style") -> InputError:
    found = findings.create(
        "PRJ010",
        message,
        at=at,
        hint=hint,
    )
    return InputError.of(found)


def _decoded(data: bytes, path: str) -> str:
    """Return the text of a file whose lines are those that the positions of values count."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        at = Location(path=path)
        raise _refusal("the file is not UTF-8", at, "save it as UTF-8") from None
    if odd := _ODD_LINE_END.search(text):
        at = Location(path=path, line=text.count("\n", 0, odd.start()) + 1)
        hint = "save the file with line feeds at the ends of lines"
        raise _refusal(f"`{ascii(odd[0])[1:-1]}` ends a line", at, hint)
    return text


class _Text:
    """The lines of one file, and its document."""

    def __init__(self, data: bytes, path: str) -> None:
        self.document: Document = documents.load_yaml(data, path)
        text = _decoded(data, path)
        self._byte_order = _BYTE_ORDER if text.startswith(_BYTE_ORDER) else ""
        text = text.removeprefix(_BYTE_ORDER)
        self._newline = "\r\n" if "\r\n" in text else "\n"
        self._lines = [line.removesuffix("\r") for line in text.split("\n")]
        if self._lines and self._lines[-1] == "":
            self._lines.pop()
        if not isinstance(self.document.value, Mapping | None):
            raise _refusal("the file has no keys", self.document.at(), "")

    def data(self) -> bytes:
        return (self._byte_order + self._newline.join([*self._lines, ""])).encode()

    def has_key(self, keys: tuple[Key, ...]) -> bool:
        above = self.document.get(*keys[:-1])
        return isinstance(above, Mapping) and keys[-1] in above

    def uncommented(self, item: str) -> bool:
        """Uncomment `#- item`, if it exists."""
        pattern = re.compile(rf"(\s*)#\s?- {re.escape(item)}\s*")
        for index, line in enumerate(self._lines):
            match = pattern.fullmatch(line)
            if match:
                self._lines[index] = f"{match[1]}- {item}"
                return True
        return False

    def add_to_list(
        self, keys: tuple[Key, ...], found: list[Any], item: Any, *, marker: str, first: bool
    ) -> None:
        start, dash = self._dash(keys, 0)
        if dash < 0:
            where = documents.field_path(keys)
            raise _refusal(f"`{where}` is on one line", self.document.at(*keys))
        lines = _item_lines(item, " " * dash)
        marked = self._marker(marker, keys)
        if first:
            place = self._above_comments(start)
        elif marked is not None:
            place = marked
        else:
            place = self._end_of_item(self._dash(keys, len(found) - 1)[0], dash)
        self._lines[place:place] = lines

    def replace_item(self, keys: tuple[Key, ...], index: int, item: str) -> None:
        line, dash = self._dash(keys, index)
        if dash >= 0:
            self._lines[line] = _item_lines(item, " " * dash)[0]

    def comment_item(self, keys: tuple[Key, ...], index: int) -> None:
        line, dash = self._dash(keys, index)
        if dash < 0:
            where = documents.field_path(keys)
            raise _refusal(f"`{where}` is on one line", self.document.at(*keys))
        text = self._lines[line]
        self._lines[line] = f"{text[:dash]}#{text[dash:]}"

    def fill_list(self, keys: tuple[Key, ...], item: Any, *, marker: str) -> None:
        """Add the first entry to the empty list under `keys`."""
        index, column = self._place(keys)
        line = self._lines[index]
        head, _, rest = line[column:].partition(":")
        comment = rest[rest.index(" #") :] if " #" in rest else ""
        self._lines[index] = f"{line[:column]}{head}:{comment}"
        place = index + 1
        marked = self._marker(marker, keys)
        if marked is not None:
            place = marked
        indent = " " * column
        self._lines[place:place] = _item_lines(item, indent)

    def replace_value(self, keys: tuple[Key, ...], value: Any) -> None:
        index, column = self._block_place(keys)
        end = self._end_of_key(index, column)
        lines = _key_lines(str(keys[-1]), value, " " * column)
        # The line may contain the dash of a list before the key.
        lines[0] = self._lines[index][:column] + lines[0][column:]
        self._lines[index:end] = lines

    def remove(self, keys: tuple[Key, ...]) -> None:
        index, column = self._block_place(keys)
        head = self._lines[index][:column]
        end = self._end_of_key(index, column)
        del self._lines[index:end]
        # The dash of a list entry moves to the next key; comments before that stay below it.
        if head.strip():
            while not self._lines[index].strip() or _COMMENT.match(self._lines[index]):
                index += 1
            self._lines[index] = head + self._lines[index][column:]

    def insert_key(self, keys: tuple[Key, ...], value: Any) -> None:
        """Insert a new key into the mapping at the end of `keys`."""
        *above, name = keys
        siblings = self.document.get(*above)
        if not siblings:
            self._lines += _key_lines(str(name), value, "")
            return
        after = [key for key in siblings if str(key) > str(name)]
        ordered = list(siblings)
        if ordered != sorted(ordered, key=str) or not after:
            last = (*above, ordered[-1])
            index, column = self._place(last)
            if self._is_flow(index, column, last):
                raise _refusal(
                    f"`{documents.field_path(tuple(above))}` is on one line",
                    self.document.at(*above),
                )
            place = self._end_of_key(index, column)
            while place < len(self._lines) and MARKER in self._lines[place]:
                place += 1  # the marker belongs to the list before it
            self._lines[place:place] = _key_lines(str(name), value, " " * column)
            return
        index, column = self._place((*above, after[0]))
        if self._is_flow(index, column, (*above, after[0])):
            raise _refusal(
                f"`{documents.field_path(tuple(above))}` is on one line",
                self.document.at(*above),
            )
        lines = _key_lines(str(name), value, " " * column)
        head = self._lines[index][:column]
        if head.strip():  # the dash of a list entry: it moves to the new key
            lines[0] = head + lines[0][column:]
            self._lines[index] = " " * column + self._lines[index][column:]
            self._lines[index:index] = lines
            return
        place = self._above_comments(index)
        self._lines[place:place] = lines

    def _place(self, keys: tuple[Key, ...]) -> tuple[int, int]:
        """Return line and column of a key, from 0."""
        at = self.document.at_key(*keys)
        return (at.line or 1) - 1, (at.column or 1) - 1

    def _block_place(self, keys: tuple[Key, ...]) -> tuple[int, int]:
        """Return the line and column of a key, or raise `InputError` in a flow collection."""
        index, column = self._place(keys)
        if self._is_flow(index, column, keys):
            where = documents.field_path(keys[:-1])
            raise _refusal(f"`{where}` is on one line", self.document.at(*keys[:-1]))
        return index, column

    def _is_flow(self, index: int, column: int, keys: tuple[Key, ...]) -> bool:
        before = self._lines[index][:column].strip()
        return bool(before.strip("- ")) or not keys

    def _dash(self, keys: tuple[Key, ...], index: int) -> tuple[int, int]:
        """Return the line of an entry and the column of its dash; -1 if there is none."""
        at = self.document.at(*keys, index)
        line, column = (at.line or 1) - 1, (at.column or 1) - 1
        before = self._lines[line][:column]
        return line, before.rindex("-") if before.strip() == "-" else -1

    def _marker(self, name: str, keys: tuple[Key, ...]) -> int | None:
        """Return the line of a marker in or directly below the list under `keys`."""
        if not name:
            return None
        start, column = self._place(keys)
        end = self._end_of_key(start, column)
        for index in range(start + 1, len(self._lines)):
            line = self._lines[index]
            if line.strip().lstrip("# ") == MARKER + name:
                return index
            if index >= end and line.strip() and not _COMMENT.match(line):
                return None
        return None

    def _above_comments(self, index: int) -> int:
        while index > 0 and _COMMENT.match(self._lines[index - 1]) and index - 1 > 0:
            index -= 1
        return index

    def _end_of_item(self, index: int, dash: int) -> int:
        return self._end(index, lambda line: _indent(line) > dash)

    def _end_of_key(self, index: int, column: int) -> int:
        def belongs(line: str) -> bool:
            indent = _indent(line)
            is_item = line[indent : indent + 2] in ("- ", "-")
            return indent > column or (indent == column and is_item)

        return self._end(index, belongs)

    def _end(self, index: int, belongs: Any) -> int:
        """Return the line after the block that begins at `index`."""
        end = last = index + 1
        while end < len(self._lines):
            line = self._lines[end]
            end += 1
            if not line.strip():
                continue
            if belongs(line):
                last = end
            elif not _COMMENT.match(line):
                break
        return last


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _item_lines(item: Any, indent: str) -> list[str]:
    first, *others = documents.dump(item).decode().splitlines()
    return [f"{indent}- {first}", *(f"{indent}  {line}" if line else "" for line in others)]


def _key_lines(name: str, value: Any, indent: str) -> list[str]:
    dumped = documents.dump({name: value}).decode().splitlines()
    return [indent + line if line else "" for line in dumped]
