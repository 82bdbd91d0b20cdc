"""Choose the proxy for a host by the environment variables of curl and Go.

The rules are those of Go, because a cluster's settings are written for Go programs: OLM adds the
cluster's settings to every operator, with whole networks in `NO_PROXY`, such as the one that
contains the API server's address. Connections to this machine use no proxy.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from olmkit.base.diagnostics import ConfigurationError

_PORTS = {"http": 80, "https": 443}


def proxy_for(url: str, environment: Mapping[str, str]) -> str | None:
    """Return the proxy's URL for `url`; None if there is none, or `NO_PROXY` excepts the host.

    `NO_PROXY` lists `*`, addresses, networks as CIDR, and domains: `example.com` matches the domain
    and its subdomains, `.example.com` and `*.example.com` only the subdomains. A port, if given,
    must be the same. Raises `ConfigurationError` for an invalid URL, without showing it.
    """
    parts = urlsplit(url)
    host = (parts.hostname or "").rstrip(".")
    names = (f"{parts.scheme}_proxy", f"{parts.scheme}_proxy".upper())
    name = next((name for name in names if environment.get(name)), None)
    if name is None or not host:
        return None
    port = parts.port or _PORTS.get(parts.scheme, 0)
    if _is_excepted(host, port, environment.get("no_proxy") or environment.get("NO_PROXY") or ""):
        return None
    proxy = environment[name] if "://" in environment[name] else f"http://{environment[name]}"
    if not _is_valid(proxy):
        raise ConfigurationError(
            f"the variable `{name}` does not contain the URL of a proxy",
            hint="write it as `http://host:port`",
        )
    return proxy


def _is_valid(proxy: str) -> bool:
    try:
        parts = urlsplit(proxy)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


def _is_excepted(host: str, port: int, listed: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        address = None
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(_excepts(entry.strip().lower(), host, port, address) for entry in listed.split(","))


def _excepts(
    entry: str,
    host: str,
    port: int,
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None,
) -> bool:
    if not entry:
        return False
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, wanted = _split_port(entry)
    if wanted and wanted != str(port):
        return False
    if address is not None:
        try:
            return address == ipaddress.ip_address(name)
        except ValueError:
            return False
    name = name.removeprefix("*")
    return host.endswith(name) if name.startswith(".") else f".{host}".endswith(f".{name}")


def _split_port(entry: str) -> tuple[str, str]:
    """Return a name or an address, and its port if there is one."""
    if entry.startswith("["):
        name, _, rest = entry[1:].partition("]")
        return name, rest.removeprefix(":")
    name, colon, port = entry.rpartition(":")
    return (name, port) if colon and ":" not in name else (entry, "")
