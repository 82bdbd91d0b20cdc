"""External URLs: parsed once, shown without secrets, compared by origin.

A registry's responses contain further URLs. A string that is not an `http` or `https` URL raises
`RemoteError` here, so that no other module handles invalid ports, brackets or bytes.
"""

from __future__ import annotations

import re

from yarl import URL

from olmkit.base.diagnostics import RemoteError

_LAST_PORT = 65535
_PORT = re.compile(
    r"https?://(?:[^/?#]*@)?(?P<place>(?:\[[^\]/?#]*\]|[^/?#:@]*):(?P<port>[0-9]{1,9}))(?:[/?#]|$)"
)
_SCHEMES = ("http", "https")
_MAX_LENGTH = 16 * 1024  # signed URLs of storage services stay below 4 KB


def parse(text: str) -> URL:
    """Parse an absolute `http` or `https` URL, or raise `RemoteError`."""
    url = _parse(text)
    if url is None:
        found = _PORT.match(text)
        if found is not None and int(found["port"]) > _LAST_PORT:
            raise RemoteError(
                f"`{_printable(found['place'])}` is not an address: a port is at most {_LAST_PORT}"
            )
        raise RemoteError(f"`{redact(text)}` is not a valid URL")
    return url


def join(base: URL, text: str) -> URL:
    """Resolve the URL `text` relative to `base`, or raise `RemoteError`."""
    try:
        url = _parse(str(base.join(URL(text, encoded=True)))) if _is_plain(text) else None
    except ValueError:
        url = None
    if url is None:
        raise RemoteError(f"`{redact(str(base))}` refers to a location that is not a valid URL")
    return url


def redact(url: str) -> str:
    """Return `url` without user, password, and the values of its query."""
    try:
        parsed = URL(url, encoded=True)
        if parsed.host is None:
            return _printable(parsed.path) or "a URL"
        query = "?…" if parsed.raw_query_string else ""
        port = f":{parsed.explicit_port}" if parsed.explicit_port else ""
        host = f"[{parsed.host}]" if ":" in parsed.host else parsed.host
    except ValueError:
        return "a URL"
    return _printable(f"{parsed.scheme}://{host}{port}{parsed.raw_path}{query}")


def same_origin(one: str, other: str) -> bool:
    """Return whether two URLs are for the same scheme, host and port."""
    first, second = _parse(one), _parse(other)
    if first is None or second is None:
        return False
    return (first.scheme, first.host, first.port) == (second.scheme, second.host, second.port)


def is_downgrade(source: str, target: str) -> bool:
    """Return whether `target` is unencrypted, although `source` is encrypted."""
    return source.lower().startswith("https:") and not target.lower().startswith("https:")


def _parse(text: str) -> URL | None:
    try:
        url = URL(text, encoded=True) if _is_plain(text) else None
        if url is None or url.scheme not in _SCHEMES or not url.host or not url.port:
            return None
    except ValueError:  # ports, brackets and international names are checked late
        return None
    return url


def _is_plain(text: str) -> bool:
    return len(text) <= _MAX_LENGTH and text.isascii() and text.isprintable() and " " not in text


def _printable(text: str) -> str:
    safe = "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
    return safe if len(safe) <= 300 else f"{safe[:300]}…"
