"""Limits for all documents of one bundle.

The limits of `base.documents` are for one file. A layer of 100 KB can have a file of 1 MB under
thousands of names, and each would be parsed and checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.documents import Document

# Parsed values of a bundle, counted by lines, commas, brackets and dashes. The largest public
# bundles have 64,000; half a million need a few seconds and less than a gigabyte.
MAX_VALUES: Final = 500_000
# Text of a bundle; the largest public bundles have 3.4 MB.
MAX_TEXT: Final = 64_000_000
_VALUES: Final = (b"\n", b",", b"[", b"{", b"- ", b"? ")
_HINT: Final = "keep only the files of one bundle in the folder"
_UNKNOWN: Final = 25_000  # the values of an unreadable file with aliases
_ANCHOR: Final = re.compile(rb"&(?:(?<=[\s\[{,:]&)|(?<=\A&))[^\s,\[\]{}&]")
_ALIAS: Final = re.compile(rb"\*(?:(?<=[\s\[{,:]\*)|(?<=\A\*))[^\s,\[\]{}*]")


class DocumentLimitError(InputError):
    """The documents of a bundle exceed a limit, so that the others are not read."""


class DocumentBudget:
    """Counts the documents of one bundle; raises `DocumentLimitError` when there are too many.

    `name` is the name of the bundle in messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name or "the folder"
        self._values = 0
        self._text = 0
        self._largest = (0, "")  # the text of the largest file, and its path

    def load(
        self, data: bytes, path: str, reader: Callable[[bytes, str], Document] = documents.load
    ) -> Document:
        """Return the document that `reader` reads, and count its text and the uses of aliases."""
        self._largest = max(self._largest, (len(data), path))
        self._count(sum(map(data.count, _VALUES)), len(data))
        if not (_ANCHOR.search(data) and _ALIAS.search(data)):
            return reader(data, path)
        try:
            document = reader(data, path)
        except InputError:
            self._count(_UNKNOWN, 0)  # it may have repeated a lot before the error
            raise
        self._count(*_size(document.value))
        return document

    def _count(self, values: int, text: int) -> None:
        self._values += values
        self._text += text
        if self._values > MAX_VALUES:
            raise DocumentLimitError(
                f"the files of `{self._name}` have more than {MAX_VALUES:,} lines and list items, "
                f"more than a bundle can have; the largest file so far is `{self._largest[1]}`",
                hint=_HINT,
            )
        if self._text > MAX_TEXT:
            raise DocumentLimitError(
                f"the files of `{self._name}` have more than {MAX_TEXT / 1e6:.0f} MB of text, "
                f"more than a bundle can have; the largest file so far is `{self._largest[1]}`",
                hint=_HINT,
            )


def _size(value: Any) -> tuple[int, int]:
    """Return how many values a document has, and how many characters."""
    values = text = 0
    waiting = [value]
    while waiting:
        one = waiting.pop()
        values += 1
        if isinstance(one, dict):
            text += sum(map(len, one))
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)
        elif isinstance(one, str):
            text += len(one)
    return values, text
