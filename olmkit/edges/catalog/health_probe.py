"""Asks a gRPC server whether it is healthy: what OLM runs inside the pods of catalogs.

This file is also a program by itself, put into catalog images under the name
`grpc_health_probe`, which OLM executes every few seconds with half a second of
a small share of a processor. So it speaks just enough HTTP/2 over a plain socket,
imports almost nothing, and needs no gRPC library. Flags and exit codes are those
of the program that it replaces; it accepts and ignores the rest.
"""

import socket
import sys
from time import monotonic

# Exit codes of the program that this replaces.
OK, MISUSED, NO_CONNECTION, NO_ANSWER, UNHEALTHY = 0, 1, 2, 3, 4
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_DATA, _HEADERS, _RESET, _SETTINGS, _PING, _GOAWAY = 0, 1, 3, 4, 6, 7
_END_STREAM, _END_HEADERS, _ACK = 1, 4, 1
_MAX_FRAME = 16384  # what a server may send by default, RFC 9113 section 4.2
_STATUS = ("UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN")
_UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_WITH_VALUE = ("addr", "service", "connect-timeout", "rpc-timeout", "user-agent", "rpc-header")
_ALONE = ("v", "gzip")


class ProbeError(Exception):
    """Why there is no verdict; the first argument is the exit code."""


def arguments(arguments: list[str]) -> dict[str, str]:
    """Parse Go-style flags: one or two dashes, the value after `=` or in the next argument."""
    found = {"addr": "", "service": "", "connect-timeout": "1s", "rpc-timeout": "1s"}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in _WITH_VALUE + _ALONE:
            raise ProbeError(MISUSED, f"unknown flag: {word}")
        if name in _WITH_VALUE and not equals:
            if not rest:
                raise ProbeError(MISUSED, f"flag needs an argument: {word}")
            value = rest.pop(0)
        found[name] = value
    if not found["addr"]:
        raise ProbeError(MISUSED, "-addr not specified")
    return found


def seconds(text: str) -> float:
    """Return a duration of Go, such as `5s` or `1m30s`."""
    total, number = 0.0, ""
    rest = text
    while rest:
        char = rest[0]
        if char.isdigit() or char == ".":
            number, rest = number + char, rest[1:]
            continue
        unit = next(
            (name for name in ("ns", "us", "ms", "s", "m", "h") if rest.startswith(name)), ""
        )
        try:
            total += float(number) * _UNITS[unit]
        except (KeyError, ValueError):
            raise ProbeError(MISUSED, f"invalid duration: {text}") from None
        number, rest = "", rest[len(unit) :]
    if number or not text:
        raise ProbeError(MISUSED, f"invalid duration: {text}")
    return total


def connect(address: str, timeout: float) -> socket.socket:
    """Return a connection to `host:port`, `:port`, `[v6]:port` or `unix:path`."""
    try:
        if address.startswith("unix:"):
            return _connect_unix(address[5:].removeprefix("//"), timeout)
        host, _, port = address.rpartition(":")
        # No host is this machine, which needs no name: a pod may have none for it.
        return socket.create_connection((host.strip("[]") or None, int(port)), timeout)
    except (OSError, ValueError, OverflowError) as error:
        raise ProbeError(NO_CONNECTION, f'failed to connect service "{address}": {error}') from None


def _connect_unix(path: str, timeout: float) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    try:
        found.settimeout(timeout)
        found.connect(path)
    except OSError:
        found.close()
        raise
    return found


def check(connection: socket.socket, address: str, service: str, timeout: float) -> int:
    """Return the status number that the server reports for `service`."""
    name = service.encode()
    message = (b"\x0a" + _varint(len(name)) + name) if name else b""
    connection.sendall(
        _PREFACE
        + _frame(_SETTINGS, 0, 0, b"")
        + _frame(_HEADERS, _END_HEADERS, 1, _request_headers(address))
        + _frame(_DATA, _END_STREAM, 1, b"\0" + len(message).to_bytes(4, "big") + message)
    )
    deadline = monotonic() + timeout
    body = b""
    while True:
        kind, flags, stream, payload = _read_frame(connection, deadline)
        if kind == _SETTINGS and not flags & _ACK:
            connection.sendall(_frame(_SETTINGS, _ACK, 0, b""))
        elif kind == _PING and not flags & _ACK:
            connection.sendall(_frame(_PING, _ACK, 0, payload))
        elif kind == _GOAWAY or (kind == _RESET and stream == 1):
            raise ProbeError(NO_ANSWER, "rpc failed: the server ended the call")
        elif kind == _DATA and stream == 1:
            body += payload[1 : len(payload) - payload[0]] if flags & 8 else payload
        if len(body) >= 5 and len(body) >= 5 + int.from_bytes(body[1:5], "big"):
            return _status(body[5 : 5 + int.from_bytes(body[1:5], "big")])
        if stream == 1 and flags & _END_STREAM and kind in (_DATA, _HEADERS):
            raise ProbeError(NO_ANSWER, "rpc failed: the server gave no answer")


def _request_headers(address: str) -> bytes:
    """Encode headers with HPACK without a dynamic table (RFC 7541), indexed where possible."""
    block = b"\x83\x86"  # :method POST, :scheme http
    for index, value in (
        (4, b"/grpc.health.v1.Health/Check"),  # :path
        (1, address.encode()),  # :authority
        (31, b"application/grpc"),  # content-type
    ):
        block += (bytes([index]) if index < 15 else bytes([15, index - 15])) + _text(value)
    return block + b"\x00" + _text(b"te") + _text(b"trailers")


def _text(value: bytes) -> bytes:
    if len(value) < 127:
        return bytes([len(value)]) + value
    return b"\x7f" + _varint(len(value) - 127) + value


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    )


def _read_frame(connection: socket.socket, deadline: float) -> tuple[int, int, int, bytes]:
    head = _read(connection, 9, deadline)
    size = int.from_bytes(head[:3], "big")
    if size > _MAX_FRAME:
        raise ProbeError(NO_ANSWER, "rpc failed: the server does not speak HTTP/2")
    payload = _read(connection, size, deadline)
    return head[3], head[4], int.from_bytes(head[5:9], "big") & 0x7FFFFFFF, payload


def _read(connection: socket.socket, size: int, deadline: float) -> bytes:
    data = b""
    while len(data) < size:
        left = deadline - monotonic()
        if left <= 0:
            raise ProbeError(NO_ANSWER, "timeout: health rpc did not complete in time")
        connection.settimeout(left)
        try:
            part = connection.recv(size - len(data))
        except TimeoutError:
            raise ProbeError(NO_ANSWER, "timeout: health rpc did not complete in time") from None
        if not part:
            raise ProbeError(NO_ANSWER, "rpc failed: the server closed the connection")
        data += part
    return data


def _status(message: bytes) -> int:
    """Return field 1 of the response; without it, the default 0."""
    return message[1] if len(message) >= 2 and message[0] == 8 else 0


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def main(words: list[str]) -> int:
    """Print the verdict; the exit code is 0 when the server is healthy."""
    try:
        given = arguments(words)
        patience, limit = seconds(given["connect-timeout"]), seconds(given["rpc-timeout"])
        with connect(given["addr"], patience) as connection:
            status = check(connection, given["addr"], given["service"], limit)
    except ProbeError as error:
        code, text = error.args
        sys.stderr.write(f"error: {text}\n")
        return int(code)
    except OSError as error:
        sys.stderr.write(f"error: rpc failed: {error}\n")
        return NO_ANSWER
    name = _STATUS[status] if status < len(_STATUS) else str(status)
    if status != 1:
        sys.stderr.write(f"service unhealthy (responded with {name!r})\n")
        return UNHEALTHY
    sys.stdout.write("status: SERVING\n")
    return OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
