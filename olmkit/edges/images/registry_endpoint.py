"""One repository of a registry as something that can be asked.

Finds out how the registry speaks (encrypted, unless it was asked otherwise or is
on this machine), adds credentials to what goes to the registry itself and to
nobody else, and turns its refusals into errors with a cure.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass

import msgspec

from olmkit.base.diagnostics import RemoteError
from olmkit.edges.images.credentials import Credentials
from olmkit.edges.images.registry_auth import Authenticator
from olmkit.edges.web import (
    TEMPORARY_STATUS,
    NotEncryptedError,
    Reply,
    UnreachableError,
    Web,
    same_origin,
)
from olmkit.oci.content import Descriptor
from olmkit.oci.reference import Reference
from olmkit.oci.store import Opener, RegistryError, checked

_MAX_ERROR = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is asked, so that it can be asked again."""

    method: str
    url: str
    headers: Mapping[str, str]
    body: bytes | None = None
    content: tuple[Opener, Descriptor, int, int] | None = None  # from, to: a part of content
    follow: bool = True

    def opened(self) -> bytes | AsyncIterator[bytes] | None:
        if self.content is None:
            return self.body
        opener, descriptor, start, end = self.content
        if start == 0 and end == descriptor.size:
            return checked(descriptor, opener(0))
        return _part(opener(start), end - start)


class Endpoint:
    """A repository, with the credentials for it; what is asked must end with the client."""

    def __init__(
        self,
        web: Web,
        reference: Reference,
        credentials: Credentials | None,
        *,
        insecure: bool = False,
    ) -> None:
        self.web = web
        self._insecure = insecure  # may speak without encryption, where it knows no better
        self.reference = reference
        self.host = reference.registry
        self.pushing = False  # asks for a token that may write, from the first push on
        self._authenticator = Authenticator(web, self.host, credentials)
        self._base = ""
        self._connecting = asyncio.Lock()

    async def url(self, rest: str) -> str:
        if not self._base:
            async with self._connecting:
                if not self._base:  # others may have connected while we waited
                    self._base = await self._connect()
        return f"{self._base}/v2/{self.reference.repository}/{rest}"

    async def _connect(self) -> str:
        """Where the API is: encrypted, unless it was asked otherwise or is on this machine."""
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
        # Only on this machine: nobody else hears this question, and it carries no secrets.
        try:
            return await self._ping(plain)
        except UnreachableError:
            raise
        except RemoteError as error:
            if getattr(error, "status", 400) != 400:
                raise
            # A registry that speaks TLS says 400 to this, or nothing at all.
            try:
                return await self._ping(secure)
            except NotEncryptedError:
                raise error from None

    async def _ping(self, base: str) -> str:
        async with self.web.send("GET", f"{base}/v2/") as reply:
            if reply.status == 401:
                self._authenticator.challenged(reply)
            elif reply.status != 200:
                raise await self.refusal(reply, "reach")
        return base

    @contextlib.asynccontextmanager
    async def send(self, request: Request, *, mounting: str = "") -> AsyncIterator[Reply]:
        """One request with credentials, and once more with fresh ones when these are stale."""
        scope = self._scope(mounting)
        url = _encrypted(request.url, self._base)
        ours = same_origin(url, self._base)
        header = await self._authenticator.header(scope) if ours else None
        for last in (False, True):
            headers = {**request.headers, **({"Authorization": header} if header else {})}
            async with self.web.send(
                request.method, url, headers=headers, body=request.opened(), follow=request.follow
            ) as reply:
                if reply.status != 401 or not ours:
                    yield reply
                    return
                if last:
                    raise self._authenticator.denied(401, url=reply.url)
                self._authenticator.challenged(reply)
            header = await self._authenticator.header(scope, refused=header)

    def _scope(self, mounting: str = "") -> str:
        actions = "pull,push" if self.pushing else "pull"
        scope = f"repository:{self.reference.repository}:{actions}"
        return f"{scope} repository:{mounting}:pull" if mounting else scope

    async def cancel(self, location: str) -> None:
        """Let go of an upload; that it could not be let go of hurts nobody."""
        if not location:
            return
        request = Request(method="DELETE", url=location, headers={})
        with contextlib.suppress(RemoteError):
            async with self.send(request):
                pass

    async def refusal(self, reply: Reply, doing: str) -> RegistryError:
        """The error for an answer that is not what was hoped for."""
        codes, words = _parse_errors(await _read_error(reply))
        if reply.status == 403 or "DENIED" in codes:
            return self._authenticator.denied(403, codes, reply.url)
        said = f": {words}" if words else ""
        return RegistryError(
            f"cannot {doing} registry `{self.host}`: it answers with status {reply.status}{said}",
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
                f"registry `{self.host}` has stored something else than was sent: "
                f"`{stored}` instead of `{descriptor.digest}`"
            )


def _encrypted(url: str, base: str) -> str:
    """`url` with the scheme of the registry: behind a proxy many forget that they are encrypted."""
    if base.startswith("https://") and url.startswith("http://"):
        secure = f"https://{url.removeprefix('http://')}"
        return secure if same_origin(secure, base) else url
    return url


async def _part(content: AsyncIterator[bytes], size: int) -> AsyncIterator[bytes]:
    """The first `size` bytes of `content`."""
    left = size
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
    """The codes of a refusal and its words, without the details, which may quote requests."""
    try:
        value = msgspec.json.decode(data)
        errors = [error for error in value["errors"] if isinstance(error, dict)]
    except (msgspec.DecodeError, KeyError, TypeError, RecursionError, UnicodeDecodeError):
        return (), ""
    codes = tuple(error["code"] for error in errors if isinstance(error.get("code"), str))
    words = [error["message"] for error in errors if isinstance(error.get("message"), str)]
    text = "; ".join(words)
    return codes, "".join(char for char in text if char.isprintable())[:300]


def _hint(status: int) -> str:
    if status == 429:
        return "it is asked too often: wait, or log in"
    if status in TEMPORARY_STATUS:
        return "try again; if it stays so, look at the registry's log"
    if status == 413:
        return "the registry, or a proxy before it, does not take content of this size"
    if status == 404:
        return "check the name of the repository"
    return ""
