"""Why an API server cannot be reached or refuses a request, and what to do about it.

Network libraries report the same error in many forms; here each has one message and one hint. A
hint names the wrong field of the kubeconfig, if it is known.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import errno
import json
import os
import re
import ssl
from collections.abc import Mapping
from typing import Any, Final

from olmkit.edges.network.http_library import aiohttp
from olmkit.kube.api import ClusterError, Forbidden, NotKubernetes, Unauthorized, Unreachable

_PLAIN_TO_TLS: Final = "Client sent an HTTP request to an HTTPS server"
# OpenSSL's error if the first bytes of a response are not TLS.
_NOT_TLS: Final = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST",
                   "UNKNOWN_PROTOCOL")  # fmt: skip
_NO_NAME: Final = re.compile(r"Hostname mismatch|IP address mismatch|doesn't match")
_NAMED: Final = re.compile(r"certificate is not valid for '(?P<name>[^']+)'")
_ANONYMOUS: Final = "system:anonymous"
_DENIED: Final = re.compile(
    r'cannot (?P<verb>\S+) resource "(?P<resource>[^"]+)" in API group "(?P<group>[^"]*)"'
    r'(?: in the namespace "(?P<namespace>[^"]+)")?'
)
_SERVER: Final = "correct `server` in the kubeconfig"


def unreachable(error: BaseException, host: str) -> Unreachable:
    """Return the error for a missing response; `host` is the host and port of the server."""
    reason, hint, temporary = _reason(error)
    return Unreachable(
        f"cannot reach the API server at `{host}`: {reason}", hint=hint, temporary=temporary
    )


def is_distrust(error: BaseException) -> bool:
    """Return whether the certificate of the server does not match the trusted CA."""
    return isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientSSLError)


def not_kubernetes(host: str, answer: str) -> NotKubernetes:
    """Return the error for a server that is not an API server, as `answer` shows."""
    return NotKubernetes(f"the server at `{host}` is not a Kubernetes API: {answer}", hint=_SERVER)


def explain(error: ClusterError, *, host: str, authorization: str | None) -> ClusterError:
    """Return the refusal of a server with a hint; `authorization` is the header that was sent.

    The header itself is not in the error.
    """
    if error.code == 400 and _PLAIN_TO_TLS in error.message:
        return ClusterError(
            f"the API server at `{host}` expects TLS, and the request came in plain HTTP",
            hint="write `https://` in `server` of the kubeconfig",
            code=error.code,
        )
    match error:
        case Unauthorized():
            error.message, error.hint = _explain_unauthorized(error.message, authorization)
        case Forbidden() if not error.causes:
            error.hint = _permission_hint(error.message, authorization)
        case _:
            pass
    return error


def _reason(error: BaseException) -> tuple[str, str, bool]:
    """Return message, hint, and whether the problem may be temporary."""
    match error:
        case _ if is_distrust(error):
            return (*_tls_reason(error), False)
        case TimeoutError():
            return "it did not answer in time", "", True
        case aiohttp.ClientConnectorDNSError():
            return _os_reason(error), f"{_SERVER}, or check DNS", True
        case aiohttp.ClientConnectorError() | OSError():
            reason = _os_reason(error)
            refused = reason == os.strerror(errno.ECONNREFUSED)
            return reason, f"start the cluster, or {_SERVER}" if refused else "", True
        case aiohttp.ClientResponseError() if "Bad status line" in error.message:
            return "its answer is not HTTP", f"{_SERVER}: another service has that port", False
        case aiohttp.ClientResponseError():  # its message contains the proxy's URL and password
            return f"{error.message} (status {error.status})", "", True
        case _:
            return str(error) or type(error).__name__, "", True


def _os_reason(error: BaseException) -> str:
    found = getattr(error, "os_error", error)
    number = getattr(found, "errno", None) or 0
    return os.strerror(number) if number > 0 else str(getattr(found, "strerror", "") or found)


def _tls_reason(error: BaseException) -> tuple[str, str]:
    cause = error.__cause__ or error
    message = str(cause)
    if any(part in message for part in _NOT_TLS):
        return (
            "it does not use TLS",
            f"{_SERVER}: the port, or `http://` for a server without TLS",
        )
    reason = f"its certificate cannot be trusted: {_plain(cause)}"
    if _NO_NAME.search(message):
        named = _NAMED.search(message)
        name = f"`{named['name']}`" if named else "that name"
        return reason, (
            f"the certificate does not name {name}: correct `server` in the kubeconfig, or set "
            "`tls-server-name` to a name of the certificate"
        )
    if "expired" in message or "not yet valid" in message:
        return reason, "renew the certificate of the API server, or correct the clock"
    if "certificate verify failed" in message:
        return reason, (
            "set `certificate-authority` in the kubeconfig to the authority that signed the "
            "certificate of this server"
        )
    return reason, ""


def _plain(cause: BaseException) -> str:
    """Return the part of OpenSSL's message that people can read."""
    found = getattr(cause, "verify_message", "") if isinstance(cause, ssl.SSLError) else ""
    return str(found).rstrip(".") or str(cause)


def _explain_unauthorized(message: str, authorization: str | None) -> tuple[str, str]:
    if authorization is None:
        return (
            f"the API server requires credentials: {message}",
            "set a token or a current client certificate for the user in the kubeconfig",
        )
    ended = _expiry(authorization)
    if ended is not None and ended < datetime.datetime.now(datetime.UTC):
        when = f"{ended:%Y-%m-%d %H:%M} UTC"
        return (
            f"the API server refuses the token, which expired on {when}",
            "log in again, or create a token: `kubectl create token SERVICEACCOUNT`",
        )
    return (
        f"the API server does not accept the credentials: {message}",
        "they may be wrong or expired: log in again, or correct the user in the kubeconfig",
    )


def _expiry(authorization: str) -> datetime.datetime | None:
    """Return the expiry time of a token if it is a JSON Web Token (RFC 7519, `exp`)."""
    parts = authorization.removeprefix("Bearer ").split(".")
    if len(parts) != 3:
        return None
    body = parts[1] + "=" * (-len(parts[1]) % 4)
    try:
        claims: Mapping[str, Any] = json.loads(base64.urlsafe_b64decode(body))
        return datetime.datetime.fromtimestamp(claims["exp"], datetime.UTC)
    except (binascii.Error, ValueError, KeyError, TypeError, OverflowError, OSError,
            RecursionError):  # fmt: skip
        return None


def _permission_hint(message: str, authorization: str | None) -> str:
    """Return a hint with the permission that a user needs."""
    if _ANONYMOUS in message:
        sent = "the request had no credentials" if authorization is None else (
            "the API server did not recognize the credentials"
        )  # fmt: skip
        return f"{sent}: set a user for the context in the kubeconfig"
    denied = _DENIED.search(message)
    if denied is None:
        return ""
    resource = ".".join(part for part in (denied["resource"], denied["group"]) if part)
    place = f" in namespace `{denied['namespace']}`" if denied["namespace"] else ""
    scope = " in the whole cluster" if not place else ""
    return f"bind the user to a role that allows `{denied['verb']}` of `{resource}`{place}{scope}"
