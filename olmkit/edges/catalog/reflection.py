"""gRPC server reflection, which `grpcurl` requests first.

Versions v1 and v1alpha have the same messages, so one response is valid for both. The descriptors
are those of `services.binpb`, split without the protobuf library.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from importlib import resources

from olmkit.base.protobuf import enum, fields, message, string

_NOT_FOUND = 5
_UNIMPLEMENTED = 12

# Fields of the request, of which one is set.
_BY_FILE_NAME, _BY_SYMBOL, _BY_EXTENSION, _EXTENSIONS_OF, _LIST_SERVICES = 3, 4, 5, 6, 7

# Fields of a descriptor set, of a file, and of definitions with a name and parts.
_FILE, _NAME, _PACKAGE, _DEPENDENCY = 1, 1, 2, 3
_FILE_MESSAGE, _FILE_ENUM, _FILE_SERVICE = 4, 5, 6
_MESSAGE_NESTED, _MESSAGE_ENUM, _SERVICE_METHOD = 3, 4, 2


class Descriptors:
    """Descriptor files, found by file name and by the names that they define."""

    def __init__(self, data: bytes) -> None:
        self._files: dict[str, bytes] = {}
        self._dependencies: dict[str, tuple[str, ...]] = {}
        self._symbols: dict[str, str] = {}
        for file in _parts(data, _FILE):
            name = _text(file, _NAME)
            self._files[name] = file
            self._dependencies[name] = tuple(part.decode() for part in _parts(file, _DEPENDENCY))
            package = _text(file, _PACKAGE)
            for symbol in _defined_symbols(file):
                self._symbols[f"{package}.{symbol}" if package else symbol] = name

    def of_file(self, name: str) -> list[bytes]:
        """Return a file and its dependencies; empty if it does not exist."""
        found: dict[str, bytes] = {}
        wanted = [name]
        while wanted:
            current = wanted.pop()
            if current in self._files and current not in found:
                found[current] = self._files[current]
                wanted += self._dependencies[current]
        return list(found.values())

    def of_symbol(self, symbol: str) -> list[bytes]:
        """Return the file that defines a message, service or method, and its dependencies."""
        return self.of_file(self._symbols.get(symbol, ""))


@functools.cache
def shipped_descriptors() -> Descriptors:
    """Return the descriptors of the services of `olmkit catalog serve`."""
    return Descriptors(resources.files("olmkit.edges").joinpath("services.binpb").read_bytes())


def answer(request: bytes, services: Sequence[str], descriptors: Descriptors) -> bytes:
    """Return the response to one request. Raises `ValueError` if it is not valid."""
    kind, text = 0, ""
    for number, value in fields(request):
        if _BY_FILE_NAME <= number <= _LIST_SERVICES and isinstance(value, bytes):
            kind = number
            text = "" if number == _BY_EXTENSION else value.decode()
    match kind:
        case 7:
            listed = b"".join(message(1, string(1, name)) for name in services)
            body = message(6, listed)
        case 3:
            body = _file_response(descriptors.of_file(text), text)
        case 4:
            body = _file_response(descriptors.of_symbol(text), text)
        case 5 | 6:
            body = _error(_NOT_FOUND, "there are no extensions here")
        case _:
            body = _error(_UNIMPLEMENTED, "the type of the request is unknown")
    return message(2, request) + body


def _file_response(files: Iterable[bytes], text: str) -> bytes:
    data = b"".join(message(1, file) for file in files)
    return message(4, data) if data else _error(_NOT_FOUND, f"`{text}` is not known here")


def _error(code: int, words: str) -> bytes:
    return message(7, enum(1, code) + string(2, words))


def _defined_symbols(file: bytes) -> Iterable[str]:
    for part in _parts(file, _FILE_MESSAGE):
        yield from _nested_symbols(part)
    for part in _parts(file, _FILE_ENUM):
        yield _text(part, _NAME)
    for part in _parts(file, _FILE_SERVICE):
        service = _text(part, _NAME)
        yield service
        for method in _parts(part, _SERVICE_METHOD):
            yield f"{service}.{_text(method, _NAME)}"


def _nested_symbols(part: bytes) -> Iterable[str]:
    name = _text(part, _NAME)
    yield name
    for nested in _parts(part, _MESSAGE_NESTED):
        for inner in _nested_symbols(nested):
            yield f"{name}.{inner}"
    for nested in _parts(part, _MESSAGE_ENUM):
        yield f"{name}.{_text(nested, _NAME)}"


def _parts(data: bytes, number: int) -> Iterable[bytes]:
    return (value for found, value in fields(data) if found == number and isinstance(value, bytes))


def _text(data: bytes, number: int) -> str:
    return next(iter(_parts(data, number)), b"").decode()
