"""Authentication in a registry: its challenge, basic credentials, tokens for a scope.

Tokens are cached for one registry and scope, requested again when the registry no longer accepts
them, and never sent to another host. Only a challenge of the registry's own host counts: callers
must check that before they pass one on.
"""

from __future__ import annotations

import asyncio
import re
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from olmkit.base import names
from olmkit.base.diagnostics import RemoteError
from olmkit.edges.images.registries.credentials import RegistryCredentials
from olmkit.edges.network import header_values, urls
from olmkit.edges.network.urls import redact
from olmkit.edges.network.web import TEMPORARY_STATUS, Reply, Web
from olmkit.oci.reference import Reference
from olmkit.oci.store import RegistryError

_MAX_TOKEN_ANSWER = 1024 * 1024
_WORD = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_SCHEME = re.compile(rf"({_WORD})(?:\s++(?!=)(.*))?", re.DOTALL)
_PARAMETER = re.compile(rf'({_WORD})\s*+=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s"=][^\s"]*+))', re.DOTALL)
_SCHEMES = ("bearer", "basic")  # the supported schemes, the best first
_CLIENT = "olmkit"
_MAX_NAMED_SCOPES = 8  # in a challenge; registries name one scope, or two for a mount
_MAX_TOKEN = 64 * 1024  # with all claims of a large company, tokens have up to 8 KB


@dataclass(frozen=True, slots=True)
class Challenge:
    """The authentication that a registry requires: `Basic`, or `Bearer` with its token server."""

    scheme: str
    parameters: Mapping[str, str] = field(default_factory=dict, hash=False)


def parse_challenges(text: str) -> tuple[Challenge, ...]:
    """Parse the challenges of `WWW-Authenticate` headers (RFC 9110, section 11.6.1).

    Each starts with its scheme and may have parameters, all separated by commas. Anything else is
    left out.
    """
    found: list[tuple[str, dict[str, str]]] = []
    for element in header_values.split_list(text):
        rest: str = element
        if not _PARAMETER.fullmatch(element):
            scheme = _SCHEME.fullmatch(element)
            if scheme is None:
                continue
            found.append((scheme[1].lower(), {}))
            rest = (scheme[2] or "").strip()
        parameter = _PARAMETER.fullmatch(rest)
        if parameter is not None and found:
            key, quoted, plain = parameter.groups(default="")
            found[-1][1][key.lower()] = re.sub(r"\\(.)", r"\1", quoted) or plain
    return tuple(Challenge(scheme, parameters) for scheme, parameters in found)


class Authenticator:
    """The `Authorization` header for one registry; concurrent requests may need it."""

    def __init__(
        self, web: Web, reference: Reference, credentials: RegistryCredentials | None
    ) -> None:
        self._web = web
        self._reference = reference
        self._host = reference.registry
        self._credentials = credentials
        self._challenge: Challenge | None = None
        self._unmet = ""  # the unsupported schemes of a challenge
        self._tokens: dict[str, str] = {}
        self._named: dict[str, str] = {}  # scope: the scopes in the registry's challenges
        self._lock = asyncio.Lock()

    def challenged(self, reply: Reply, scope: str = "") -> None:
        """Process a 401 of the registry itself, for a request with `scope`.

        The scope in the challenge is also requested, because some registries have scopes of another
        form (https://github.com/oras-project/oras-dotnet/issues/395). Without `scope`, the one in
        the challenge is not used: responses to `/v2/` often contain an example.
        """
        challenges = parse_challenges(reply.listed("WWW-Authenticate"))
        known = [
            challenge
            for scheme in _SCHEMES
            for challenge in challenges
            if challenge.scheme == scheme
        ]
        self._unmet = "" if known else ", ".join(f"`{one.scheme[:30]}`" for one in challenges[:3])
        if known:
            self._challenge = known[0]
            if scope:
                named = known[0].parameters.get("scope", "")
                self._named[scope] = _missing_scopes(named, scope)

    async def header(self, scope: str, *, refused: str | None = None) -> str | None:
        """Return the header for `scope`; `refused` is a header that is no longer valid."""
        challenge = self._challenge
        if challenge is None:
            return None
        if challenge.scheme == "basic":
            if self._credentials is None or not self._credentials.username:
                raise self.denied(401)
            return self._credentials.basic
        if self._credentials is not None and self._credentials.registry_token:
            return f"Bearer {self._credentials.registry_token}"
        async with self._lock:
            token = self._tokens.get(scope)
            if token is None or f"Bearer {token}" == refused:
                self._tokens.pop(scope, None)
                everything = f"{scope} {self._named.get(scope, '')}".strip()
                token = await self._fetch_token(challenge, everything)
                self._tokens[scope] = token
        return f"Bearer {token}"

    def denied(self, status: int, codes: tuple[str, ...] = (), url: str = "") -> RegistryError:
        """Return the error for a registry that denies access."""
        if status == 401 and self._challenge is None:
            ways = f"accepts only {self._unmet}" if self._unmet else "names no way to log in"
            message = f"registry `{self._host}` refuses access and {ways}"
            hint = "olmkit logs in with `Basic` and `Bearer`: check the address of the registry"
        elif self._credentials is None:
            message = (
                f"registry `{self._host}` requires credentials, and none are configured for it"
            )
            hint = f"log in first: `docker login {self._host}` or `podman login {self._host}`"
        elif status == 401:
            message = f"registry `{self._host}` does not accept the credentials"
            hint = f"log in again: `docker login {self._host}` or `podman login {self._host}`"
        else:
            message = f"registry `{self._host}` does not allow this"
            hint = "check the permissions of this user on the repository"
        return RegistryError(message, hint=hint, status=status, codes=codes, url=url)

    def without_secrets(self, text: str) -> str:
        """Return `text` of a response without the sent credentials: some servers repeat them."""
        secrets = list(self._tokens.values())
        if (known := self._credentials) is not None:
            basic = known.basic.removeprefix("Basic ")
            secrets += [basic, known.password, known.identity_token, known.registry_token]
        for secret in sorted(filter(None, secrets), key=len, reverse=True):
            text = text.replace(secret, "…")
        return text

    async def _fetch_token(self, challenge: Challenge, scope: str) -> str:
        realm = challenge.parameters.get("realm", "")
        try:
            parsed = urllib.parse.urlsplit(str(urls.parse(realm)))
        except RemoteError:
            raise RegistryError(
                f"registry `{self._host}` does not name a valid token server"
            ) from None
        service = challenge.parameters.get("service", "")
        credentials = self._credentials
        if credentials is not None and parsed.scheme == "http" and not self._may_be_plain(parsed):
            raise RegistryError(
                f"registry `{self._host}` requests the credentials unencrypted "
                f"at `{redact(realm)}`",
                hint="report this to the owner of the registry; nothing was sent",
            )
        if credentials is not None and credentials.identity_token:
            form = {
                "grant_type": "refresh_token",
                "service": service,
                "client_id": _CLIENT,
                "scope": scope,
                "refresh_token": credentials.identity_token,
            }
            sending = self._web.send(
                "POST",
                realm,
                headers={"Content-Type": "application/x-www-form-urlencoded"},
                body=urllib.parse.urlencode(form).encode(),
            )
        else:
            # A parameter for each scope: token servers treat one parameter as one scope, including
            # spaces.
            scopes = [("scope", one) for one in scope.split()]
            query = [*urllib.parse.parse_qsl(parsed.query), ("service", service), *scopes]
            if credentials is not None:
                query.append(("account", credentials.username))
            url = parsed._replace(query=urllib.parse.urlencode([q for q in query if q[1]])).geturl()
            headers = {"Authorization": credentials.basic} if credentials is not None else {}
            sending = self._web.send("GET", url, headers=headers)
        async with sending as reply:
            if reply.status in (400, 401, 403):
                raise self.denied(401, url=reply.url)
            if reply.status != 200:
                raise RegistryError(
                    f"token server `{redact(realm)}` answers with status {reply.status}",
                    status=reply.status,
                    url=reply.url,
                    temporary=reply.status in TEMPORARY_STATUS,
                    retry_after=reply.retry_after,
                )
            return _token(await reply.read(_MAX_TOKEN_ANSWER), redact(realm))

    def _may_be_plain(self, realm: urllib.parse.SplitResult) -> bool:
        """Return whether secrets may be sent there unencrypted.

        This is allowed for this machine, and for the host of a registry with `--plain-http`; that
        option does not apply to other hosts that the registry names.
        """
        host = realm.hostname or ""
        own = self._web.options.plain_http and host == self._reference.host.lower()
        return own or names.is_loopback(host)


def _token(data: bytes, shown: str) -> str:
    try:
        value: Any = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        value = None
    for key in ("token", "access_token"):
        if isinstance(value, dict) and isinstance(value.get(key), str) and value[key]:
            token: str = value[key]
            if token.isascii() and token.isprintable() and len(token) <= _MAX_TOKEN:
                return token
    raise RegistryError(f"token server `{shown}` does not return a token")


def _missing_scopes(named: str, scope: str) -> str:
    """Return the scopes of a challenge that `scope` does not cover, in order."""
    own = [_split_scope(one) for one in scope.split()]
    found: dict[str, None] = {}
    for one in named.split()[:_MAX_NAMED_SCOPES]:
        resource, actions = _split_scope(one)
        if one.isascii() and not any(resource == r and actions <= a for r, a in own):
            found[one] = None
    return " ".join(found)


def _split_scope(scope: str) -> tuple[str, frozenset[str]]:
    """Split a scope of the form `type:name:actions` into its subject and its actions."""
    resource, colon, actions = scope.rpartition(":")
    return (resource, frozenset(actions.split(","))) if colon else (scope, frozenset())
