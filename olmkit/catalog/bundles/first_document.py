"""Find the first document of a file, like Kubernetes' YAML reader.

They read the first JSON value of a file that starts with a brace, else the YAML up to the first
line that starts with three dashes, and ignore the rest.
"""

from __future__ import annotations

from typing import Final

from olmkit.base import documents, findings
from olmkit.base.diagnostics import InputError, Location
from olmkit.base.documents import Document
from olmkit.base.json import reader as json_reader
from olmkit.base.json.reader import JsonError

# Maximum number of bytes that are read to distinguish JSON from YAML.
_PEEK: Final = 30
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


def read(data: bytes, path: str) -> Document:
    """Return the first document. Raises `InputError` with a place if there is none."""
    text = json_text_of(data)
    if text:
        return Document(json_reader.read(text), path=path, data=data)
    if not data:
        raise InputError("the file is empty")
    if data.startswith(_UTF_16) and (len(data) + (not data.endswith(b"\n"))) % 2:
        # The reader ends the last line with a byte that is half a character here.
        raise InputError("incomplete UTF-16 character", hint="save the file as UTF-8")
    return documents.load_yaml(data, path, end=_first_part(data, path))


def json_text_of(data: bytes) -> bytes:
    """Return the text of the JSON value at the start of a file; empty if there is none."""
    if not data[:_PEEK].lstrip().startswith(b"{"):
        return b""
    try:
        _, begin, end = next(json_reader.read_stream(data, 0))
    except JsonError:
        return b""
    return data[begin:end]


def _first_part(data: bytes, path: str) -> int:
    """Return the end of the first part of a YAML stream, including a leading separator."""
    if data.startswith(b"---"):
        _check_separator(data, 0, path)
    end = data.find(b"\n---")
    if end < 0:
        return len(data)
    _check_separator(data, end + 1, path)
    return end + 1


def _check_separator(data: bytes, start: int, path: str) -> None:
    """Check that only a comment follows the dashes."""
    stop = data.find(b"\n", start)
    rest = data[start + 3 : len(data) if stop < 0 else stop].strip()
    if not rest or rest.startswith(b"#"):
        return
    message = f"invalid Yaml document separator: {rest[:60].decode('utf-8', 'replace')}"
    found = findings.create(
        "DOC001",
        message,
        at=Location(path=path, line=data.count(b"\n", 0, start) + 1, column=1),
        hint="put only a comment after `---`",
    )
    raise InputError(message, found.hint, (found,))
