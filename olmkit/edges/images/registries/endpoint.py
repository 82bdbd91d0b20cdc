"""One repository of a registry as an HTTP endpoint.

Determines the registry's protocol (encrypted, unless requested otherwise or on this machine), adds
credentials to requests to the registry itself and to no other host, and converts its refusals to
errors with a fix.

A registry may refer to other hosts: by redirects, for uploads, for tokens. Responses of such a host
have no influence on requests to the registry or on where credentials are sent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import msgspec

from olmkit.base.diagnostics import RemoteError
from olmkit.base.streams import closing
from olmkit.edges.images.registries.auth import Authenticator
from olmkit.edges.images.registries.credentials import RegistryCredentials
from olmkit.edges.network.header_values import next_link
from olmkit.edges.network.urls import is_downgrade, redact, same_origin
from olmkit.edges.network.web import (
    TEMPORARY_STATUS,
    NotEncryptedError,
    Reply,
    UnreachableError,
    Web,
)
from olmkit.oci.content import Descriptor
from olmkit.oci.reference import Reference
from olmkit.oci.store import Opener, RegistryError, check_content

_MAX_ERROR = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryRequest:
    """A request that can be repeated."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    content: tuple[Opener, Descriptor, int, int] | None = None  # from, to: a range of content
    follow: bool = True

    def opened(self) -> bytes | AsyncIterator[bytes] | None:
        if self.content is None:
            return self.body
        opener, descriptor, start, end = self.content
        if start == 0 and end == descriptor.size:
            return check_content(descriptor, opener(0))
        return _part(opener(start), end - start)


class RegistryEndpoint:
    """A repository, with its credentials; requests must end before the client is closed."""

    def __init__(
        self,
        web: Web,
        reference: Reference,
        credentials: RegistryCredentials | None,
        *,
        insecure: bool = False,
    ) -> None:
        self.web = web
        self._insecure = insecure  # may use HTTP without encryption, if it does not support TLS
        self.reference = reference
        self.host = reference.registry
        self.pushing = False  # requests a token with write access, from the first push on
        self._authenticator = Authenticator(web, reference, credentials)
        self._base = ""
        self._connecting = asyncio.Lock()

    async def url(self, rest: str) -> str:
        if not self._base:
            async with self._connecting:
                if not self._base:  # another request may have connected meanwhile
                    self._base = await self._connect()
        return f"{self._base}/v2/{self.reference.repository}/{rest}"

    async def _connect(self) -> str:
        """Return the URL of the API: HTTPS, unless HTTP is requested or it is local."""
        host = "registry-1.docker.io" if self.host == "docker.io" else self.host
        secure, plain = f"https://{host}", f"http://{host}"
        if self.web.options.plain_http:
            return await self._ping(plain)
        if not self.reference.is_loopback:
            try:
                return await self._ping(secure)
            except NotEncryptedError:
                if not self._insecure:
                    raise
                return await self._ping(plain)
        # Only on this machine: no other host receives this request, which contains no secrets.
        try:
            return await self._ping(plain)
        except UnreachableError:
            raise
        except RemoteError as error:
            if getattr(error, "status", 400) != 400:
                raise
            # A registry with TLS responds with 400, or does not respond.
            try:
                return await self._ping(secure)
            except NotEncryptedError:
                raise error from None

    async def _ping(self, base: str) -> str:
        async with self.web.send("GET", f"{base}/v2/") as reply:
            if reply.status == 401 and not reply.is_from(base):
                raise RegistryError(
                    f"registry `{self.host}` redirects to `{reply.url}`, "
                    "which requests credentials",
                    hint="use the host that it redirects to in the image reference, "
                    "if you trust it; nothing was sent",
                    status=401,
                    url=reply.url,
                )
            if reply.status == 401:
                self._authenticator.challenged(reply)
            elif reply.status != 200:
                error = await self.refusal(reply, "reach")
                if reply.status == 404:
                    error.hint = "check the address: nothing there has the API of a registry"
                raise error
        return base

    @contextlib.asynccontextmanager
    async def send(self, request: RegistryRequest, *, mounting: str = "") -> AsyncIterator[Reply]:
        """Send a request with credentials, and again with fresh ones if these have expired."""
        scope = self._scope(mounting)
        url = _with_base_scheme(request.url, self._base)
        ours = same_origin(url, self._base)
        header = await self._authenticator.header(scope) if ours else None
        for last in (False, True):
            headers = {**request.headers, **({"Authorization": header} if header else {})}
            async with self.web.send(
                request.method, url, headers=headers, body=request.opened(), follow=request.follow
            ) as reply:
                # A host that the registry redirects to must not control where credentials are sent.
                if reply.status != 401 or not ours or not reply.is_from(self._base):
                    yield reply
                    return
                if last:
                    raise self._authenticator.denied(401, url=reply.url)
                self._authenticator.challenged(reply, scope)
            header = await self._authenticator.header(scope, refused=header)

    def _scope(self, mounting: str = "") -> str:
        actions = "pull,push" if self.pushing else "pull"
        scope = f"repository:{self.reference.repository}:{actions}"
        return f"{scope} repository:{mounting}:pull" if mounting else scope

    async def cancel(self, location: str) -> None:
        """Cancel an upload in the registry; an upload that remains does no harm."""
        if not same_origin(_with_base_scheme(location, self._base), self._base):
            return
        request = RegistryRequest(method="DELETE", url=location, headers={}, follow=False)
        with contextlib.suppress(RemoteError):
            async with self.send(request):
                pass

    def upload_url(self, reply: Reply) -> str:
        """Return the URL at which an upload continues; empty if the response has none.

        That may be another host, which gets the content but no credentials. It must be encrypted if
        the registry is, and another host must not refer back to the registry: otherwise it could
        choose the target in the registry.
        """
        url = _with_base_scheme(reply.location, self._base)
        if not url:
            return ""
        if not reply.is_from(self._base) and not same_origin(url, reply.full_url):
            raise RegistryError(
                f"`{reply.url}` is not registry `{self.host}` and names "
                f"another host for the upload, `{redact(url)}`",
                hint="report this to the owner of the registry",
            )
        if is_downgrade(self._base, url):
            raise RegistryError(
                f"registry `{self.host}` requests the content unencrypted at `{redact(url)}`",
                hint="report this to the owner of the registry; nothing was sent",
            )
        return url

    def next_page(self, reply: Reply) -> str:
        """Return the URL of the next page of a list by its `Link` header; empty for the last one.

        Raises `RegistryError` if it names another host: the list would silently end there.
        """
        target = next_link(reply.listed("Link"))
        if not target:
            return ""
        url = _with_base_scheme(reply.resolve(target), self._base)
        if not reply.is_from(self._base) or not same_origin(url, self._base):
            raise RegistryError(
                f"registry `{self.host}` continues its list on another host, `{redact(url)}`",
                hint="report this to the owner of the registry",
            )
        return url

    async def refusal(self, reply: Reply, doing: str) -> RegistryError:
        """Return the error for an unexpected response."""
        codes, words = _parse_errors(await _read_error(reply))
        words = _printable(self._authenticator.without_secrets(words))
        own = not self._base or reply.is_from(self._base)
        if own and (reply.status == 403 or "DENIED" in codes):
            return self._authenticator.denied(403, codes, reply.url)
        detail = f": {words}" if words else ""
        who = "it" if own else f"`{reply.url}`, which it names,"
        return RegistryError(
            f"cannot {doing} registry `{self.host}`: "
            f"{who} answers with status {reply.status}{detail}",
            hint=_hint(reply.status),
            status=reply.status,
            codes=codes,
            url=reply.url,
            temporary=reply.status in TEMPORARY_STATUS,
            retry_after=reply.retry_after,
        )

    def compare(self, reply: Reply, descriptor: Descriptor) -> None:
        stored = reply.headers.get("Docker-Content-Digest", "")
        if stored.startswith(f"{descriptor.digest.algorithm}:") and stored != str(
            descriptor.digest
        ):
            raise RegistryError(
                f"registry `{self.host}` stored content that differs from what was sent: "
                f"`{stored}` instead of `{descriptor.digest}`"
            )


def _with_base_scheme(url: str, base: str) -> str:
    """Return `url` with the scheme of the registry: behind a proxy, many return the wrong one."""
    if base.startswith("https://") and url.startswith("http://"):
        secure = f"https://{url.removeprefix('http://')}"
        return secure if same_origin(secure, base) else url
    return url


async def _part(content: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """Yield the first `size` bytes of `content`."""
    left = size
    async with closing(content):
        async for chunk in content:
            yield chunk[:left]
            left -= len(chunk)
            if left <= 0:
                return


async def _read_error(reply: Reply) -> bytes:
    try:
        return await reply.read(_MAX_ERROR)
    except RemoteError:
        return b""


def _parse_errors(data: bytes) -> tuple[tuple[str, ...], str]:
    """Return the codes and messages of an error, without details, which may quote requests."""
    try:
        value = msgspec.json.decode(data)
        errors = [error for error in value["errors"] if isinstance(error, dict)]
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError, UnicodeDecodeError):
        return (), ""
    codes = tuple(error["code"] for error in errors if isinstance(error.get("code"), str))
    words = [error["message"] for error in errors if isinstance(error.get("message"), str)]
    return codes, "; ".join(words)


def _printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())[:300]


def _hint(status: int) -> str:
    if 300 <= status < 400:
        return "only requests that read follow redirects to another host"
    if status == 429:
        return "wait, or log in: the registry receives too many requests"
    if status in TEMPORARY_STATUS:
        return "try again; if the error persists, check the log of the registry"
    if status == 413:
        return "raise the size limit of the registry, or of the proxy in front of it"
    if status == 404:
        return "check the name of the repository"
    return ""
