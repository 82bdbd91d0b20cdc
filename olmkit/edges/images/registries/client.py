"""A repository in a registry, over the OCI distribution API 1.1 (and Docker's before it).

Every request is retried while its error is temporary; downloads and uploads continue where they
stopped. Downloaded content is verified here; uploaded content is verified by the registry, and its
digest is compared here.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import urllib.parse
from collections.abc import AsyncIterator, Mapping

import msgspec

from olmkit.base.diagnostics import InputError, RemoteError
from olmkit.base.streams import closing
from olmkit.edges.images.registries import lists as registry_lists
from olmkit.edges.images.registries.credentials import RegistryCredentials
from olmkit.edges.images.registries.endpoint import RegistryEndpoint, RegistryRequest
from olmkit.edges.images.registries.upload import Upload
from olmkit.edges.network.header_values import parse_count
from olmkit.edges.network.web import Reply, Web
from olmkit.oci import referrers
from olmkit.oci.content import (
    INDEX_TYPES,
    MANIFEST_TYPES,
    MAX_MANIFEST_SIZE,
    Descriptor,
    Digest,
    ImageIndex,
    MediaType,
    parse_manifest,
)
from olmkit.oci.reference import Reference
from olmkit.oci.store import ImageStore, Opener, RegistryError, check_content, read, read_manifest

_ACCEPT = ", ".join([*sorted(INDEX_TYPES), *sorted(MANIFEST_TYPES)])
_MAX_TAG = 128  # characters of a tag: the OCI distribution specification
_MAX_TAGS = 500_000
# One request up to this size, several above it: small enough to lose little if a connection is
# lost, large enough that the registry's work per request does not matter.
_CHUNK_SIZE = 64 * 1024 * 1024
_PAGE = re.compile(r"text/[a-z0-9.+-]{1,40}")
_KEPT_MANIFESTS = 64
# The responses of registries without the referrers API, which is newer than most of them.
_WITHOUT_REFERRERS = frozenset({400, 403, 404, 405, 406, 415, 501})
# The progress of a download after which its attempts start again: otherwise a server that sends one
# byte each time would get as many requests as the content has bytes.
_PROGRESS = 64 * 1024


class _Tags(msgspec.Struct):
    """A page of the list of tags; Docker's registry returns null if there are none."""

    tags: list[str] | None = None


class RegistryStore:
    """An `ImageStore` for one repository of a registry."""

    def __init__(
        self,
        web: Web,
        reference: Reference,
        *,
        credentials: RegistryCredentials | None = None,
        chunk_size: int = _CHUNK_SIZE,
        insecure: bool = False,
    ) -> None:
        self._web = web
        self.reference = reference
        self._endpoint = RegistryEndpoint(web, reference, credentials, insecure=insecure)
        self._chunk_size = chunk_size
        self._manifests: dict[Digest, bytes] = {}
        self._pushed: set[Digest] = set()  # manifests
        self._knows_head = True
        self._knows_referrers = True
        self._attached: set[Digest] = set()  # manifests that the registry lists by their subject
        self._attaching = asyncio.Lock()

    async def exists(self, descriptor: Descriptor) -> bool:
        kind = "manifests" if descriptor.is_manifest else "blobs"
        headers = {"Accept": descriptor.media_type} if descriptor.is_manifest else {}

        async def ask() -> bool:
            async with self._head(f"{kind}/{descriptor.digest}", headers) as reply:
                if reply.status == 404:
                    return False
                if reply.status not in (200, 206, 416):  # 416: it exists, and it is empty
                    raise await self._endpoint.refusal(reply, "look for content in")
                return True

        return await self._web.retry(ask)

    @property
    def place(self) -> str:
        """Return registry and repository, for messages about their content."""
        return f"{self.reference.registry}/{self.reference.repository}"

    async def fetch(self, descriptor: Descriptor, offset: int = 0) -> AsyncIterator[bytes]:
        kind = "manifests" if descriptor.is_manifest else "blobs"
        position = offset
        failures = 0
        while True:
            before = position
            try:
                async with closing(self._fetch_once(kind, descriptor, position)) as content:
                    async for chunk in content:
                        position += len(chunk)
                        yield chunk
                return
            except RemoteError as error:
                failures = 0 if position - before >= _PROGRESS else failures + 1
                if not error.temporary or failures >= self._web.attempts(error):
                    raise
                await self._web.pause(failures, error)

    async def push(self, descriptor: Descriptor, content: Opener) -> None:
        self._endpoint.pushing = True
        if descriptor.is_manifest:
            data = b"".join([chunk async for chunk in check_content(descriptor, content(0))])
            self._remember(descriptor, data)
            await self._put_manifest(descriptor, data, str(descriptor.digest))
            self._pushed.add(descriptor.digest)
            return
        await Upload(self._endpoint, descriptor, content, self._chunk_size).run()

    async def mount(self, descriptor: Descriptor, source: ImageStore) -> bool:
        """Mount a blob from another repository of the same registry, if the registry allows it."""
        if (
            not isinstance(source, RegistryStore)
            or source.reference.registry != self._endpoint.host
            or source.reference.repository == self.reference.repository
            or descriptor.is_manifest
        ):
            return False
        self._endpoint.pushing = True
        origin = source.reference.repository
        query = urllib.parse.urlencode({"mount": str(descriptor.digest), "from": origin})

        async def ask() -> bool:
            request = RegistryRequest(
                method="POST", url=await self._endpoint.url(f"blobs/uploads/?{query}"), headers={}
            )
            async with self._endpoint.send(request, mounting=origin) as reply:
                if reply.status == 201:
                    return True
                if reply.status == 202:  # an upload has started instead, which is not needed
                    await self._endpoint.cancel(reply.location)
                    return False
                return False

        with contextlib.suppress(RegistryError):
            return await self._web.retry(ask)
        return False

    async def resolve(self, selector: str) -> Descriptor:
        async def ask() -> Descriptor:
            request = RegistryRequest(
                method="GET",
                url=await self._endpoint.url(f"manifests/{selector}"),
                headers={"Accept": _ACCEPT},
            )
            async with self._endpoint.send(request) as reply:
                if reply.status == 404:
                    raise RegistryError(
                        f"registry `{self._endpoint.host}` has no image "
                        f"`{self.reference.repository}{_suffix(selector)}`",
                        hint="check repository and tag, and log in if the image is private",
                        status=404,
                        codes=("MANIFEST_UNKNOWN",),
                        url=reply.url,
                    )
                if reply.status != 200:
                    raise await self._endpoint.refusal(reply, "read from")
                size = parse_count(reply.headers.get("Content-Length", "0"))
                if size is not None and size > MAX_MANIFEST_SIZE:
                    raise InputError(
                        f"the manifest of image `{self.reference.name}{_suffix(selector)}` is "
                        f"{size / 1e6:.1f} MB; the limit is "
                        f"{MAX_MANIFEST_SIZE / 1e6:.0f} MB"
                    )
                data = await reply.read(MAX_MANIFEST_SIZE)
                media_type = self._media_type(reply, data, selector)
            descriptor = Descriptor.of(data, media_type)
            if ":" in selector:
                wanted = Digest.parse(selector)
                if not wanted.matches(data):
                    raise RegistryError(
                        f"registry `{self._endpoint.host}` returns another image than `{selector}`"
                    )
                descriptor = Descriptor(media_type=media_type, digest=wanted, size=len(data))
            self._remember(descriptor, data)
            return descriptor

        return await self._web.retry(ask)

    def _media_type(self, reply: Reply, data: bytes, selector: str) -> str:
        """Return the media type of a manifest, from the header or its content.

        Raises `RegistryError` or `InputError` if that is not an image.
        """
        served = reply.headers.get("Content-Type", "").partition(";")[0].strip()
        if served in INDEX_TYPES | MANIFEST_TYPES:
            return served
        try:
            return parse_manifest(data).media_type
        except InputError:
            if not _PAGE.fullmatch(served):
                raise
            raise RegistryError(
                f"registry `{self._endpoint.host}` returns `{served}` instead of an image for "
                f"`{self.reference.repository}{_suffix(selector)}`",
                hint="check that the address is a registry's, and that no proxy answers for it",
                url=reply.url,
            ) from None

    async def tag(self, descriptor: Descriptor, tag: str) -> None:
        self._endpoint.pushing = True
        # A new manifest has no name yet; for an existing one, the tag may already refer to it.
        if descriptor.digest not in self._pushed and await self._is_tagged(descriptor, tag):
            return
        await self._put_manifest(descriptor, await read(self, descriptor), tag)

    async def tagged(self, tag: str) -> Descriptor | None:
        """Return the descriptor of `tag`; None if the registry does not have it."""
        try:
            return await self.resolve(tag)
        except RegistryError as error:
            if error.status == 404:
                return None
            raise

    async def referrers(self, subject: Digest) -> tuple[Descriptor, ...]:
        """Return the referrers of `subject`, from the API or the fallback tag."""
        listed = await self._list_referrers(subject) if self._knows_referrers else None
        if listed is None:
            self._knows_referrers = False
            found = await self._list_under_tag(subject)
            return found.manifests if found is not None else ()
        return listed

    async def attach(self, descriptor: Descriptor) -> None:
        """Add a manifest to the tag that lists referrers, if the registry has no such API."""
        manifest = await read_manifest(self, descriptor)
        if manifest.subject is None or descriptor.digest in self._attached:
            return
        subject = manifest.subject.digest
        async with self._attaching:
            if self._knows_referrers and await self._list_referrers(subject) is not None:
                return  # the registry lists it itself
            self._knows_referrers = False
            found = await self._list_under_tag(subject)
            wanted = referrers.with_entry(found, referrers.entry(manifest, descriptor))
            if wanted != found:
                data = wanted.format()
                index = Descriptor.of(data, wanted.media_type)
                await self._put_manifest(index, data, referrers.list_tag(subject))

    async def _list_referrers(self, subject: Digest) -> tuple[Descriptor, ...] | None:
        """Return the referrers from the API; None if the registry does not support it."""
        url = await self._web.retry(lambda: self._endpoint.url(f"referrers/{subject}"))
        found = await registry_lists.read_all(
            url,
            self._referrers_page,
            host=self._endpoint.host,
            what=f"referrers of `{subject}`",
            most=referrers.MAX_REFERRERS,
        )
        return None if found is None else tuple(found)

    async def _referrers_page(self, url: str) -> tuple[tuple[Descriptor, ...] | None, str]:
        async def ask() -> tuple[tuple[Descriptor, ...] | None, str]:
            headers = {"Accept": MediaType.OCI_INDEX}
            async with self._endpoint.send(
                RegistryRequest(method="GET", url=url, headers=headers)
            ) as reply:
                if reply.status in _WITHOUT_REFERRERS:
                    return None, ""
                if reply.status != 200:
                    raise await self._endpoint.refusal(reply, "list what refers to an image in")
                following = self._endpoint.next_page(reply)
                kind = reply.headers.get("Content-Type", "").partition(";")[0].strip()
                data = await reply.read(MAX_MANIFEST_SIZE)
            if kind != MediaType.OCI_INDEX:  # an HTML page, from a proxy in front of it
                return None, ""
            page = parse_manifest(data, kind)
            return (page.manifests if isinstance(page, ImageIndex) else None), following

        return await self._web.retry(ask)

    async def _list_under_tag(self, subject: Digest) -> ImageIndex | None:
        tag = referrers.list_tag(subject)
        descriptor = await self.tagged(tag)
        if descriptor is None or not descriptor.is_index:
            return None
        found = await read_manifest(self, descriptor)
        return found if isinstance(found, ImageIndex) else None

    async def _is_tagged(self, descriptor: Descriptor, tag: str) -> bool:
        """Return whether the tag already refers to this in the registry."""

        async def ask() -> bool:
            headers = {"Accept": descriptor.media_type}
            async with self._head(f"manifests/{tag}", headers) as reply:
                found = reply.headers.get("Docker-Content-Digest", "")
                return reply.status == 200 and found == str(descriptor.digest)

        return await self._web.retry(ask)

    @contextlib.asynccontextmanager
    async def _head(self, rest: str, headers: Mapping[str, str]) -> AsyncIterator[Reply]:
        """Return the response to HEAD, or to GET if the registry does not support HEAD.

        See https://github.com/containerd/containerd/pull/6684.
        """
        url = await self._endpoint.url(rest)
        if self._knows_head:
            async with self._endpoint.send(
                RegistryRequest(method="HEAD", url=url, headers=headers)
            ) as reply:
                if reply.status not in (405, 501):
                    yield reply
                    return
            self._knows_head = False
        # One byte shows that a blob exists; the rest is not read.
        part = {} if rest.startswith("manifests/") else {"Range": "bytes=0-0"}
        request = RegistryRequest(method="GET", url=url, headers={**headers, **part})
        async with self._endpoint.send(request) as reply:
            yield reply

    async def tags(self) -> tuple[str, ...]:
        url = await self._web.retry(lambda: self._endpoint.url("tags/list"))
        found = await registry_lists.read_all(
            url, self._tag_page, host=self._endpoint.host, what="tags", most=_MAX_TAGS
        )
        return tuple(sorted(found or ()))

    async def _tag_page(self, url: str) -> tuple[list[str], str]:
        async def ask() -> tuple[list[str], str]:
            async with self._endpoint.send(
                RegistryRequest(method="GET", url=url, headers={})
            ) as reply:
                if reply.status != 200:
                    raise await self._endpoint.refusal(reply, "list the tags of")
                following = self._endpoint.next_page(reply)
                try:
                    page = msgspec.json.decode(await reply.read(MAX_MANIFEST_SIZE), type=_Tags)
                except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                    raise RegistryError(
                        f"registry `{self._endpoint.host}` lists its tags in an unknown form"
                    ) from None
                if any(len(tag) > _MAX_TAG for tag in page.tags or ()):
                    raise RegistryError(
                        f"registry `{self._endpoint.host}` lists a tag of more than {_MAX_TAG} "
                        "characters"
                    )
                return page.tags or [], following

        return await self._web.retry(ask)

    async def _fetch_once(
        self, kind: str, descriptor: Descriptor, offset: int
    ) -> AsyncIterator[bytes]:
        kept = self._manifests.get(descriptor.digest)
        if kept is not None:
            yield kept[offset:]
            return
        headers = {"Accept": descriptor.media_type} if kind == "manifests" else {}
        if offset:
            headers["Range"] = f"bytes={offset}-"
        request = RegistryRequest(
            method="GET",
            url=await self._endpoint.url(f"{kind}/{descriptor.digest}"),
            headers=headers,
        )
        async with self._endpoint.send(request) as reply:
            if reply.status not in (200, 206):
                raise await self._endpoint.refusal(reply, "read from")
            skip = offset if reply.status == 200 else 0
            async with closing(reply.chunks()) as chunks:
                async for chunk in chunks:
                    if skip >= len(chunk):
                        skip -= len(chunk)
                        continue
                    yield chunk[skip:]
                    skip = 0

    async def _put_manifest(self, descriptor: Descriptor, data: bytes, selector: str) -> None:
        async def ask() -> None:
            request = RegistryRequest(
                method="PUT",
                url=await self._endpoint.url(f"manifests/{selector}"),
                headers={"Content-Type": descriptor.media_type},
                body=data,
            )
            async with self._endpoint.send(request) as reply:
                if reply.status not in (200, 201, 202):
                    raise await self._endpoint.refusal(reply, "push to")
                self._endpoint.compare(reply, descriptor)
                if "OCI-Subject" in reply.headers:
                    self._attached.add(descriptor.digest)

        await self._web.retry(ask)

    def _remember(self, descriptor: Descriptor, data: bytes) -> None:
        if len(self._manifests) >= _KEPT_MANIFESTS:
            self._manifests.clear()
        self._manifests[descriptor.digest] = data


def _suffix(selector: str) -> str:
    return f"@{selector}" if ":" in selector else f":{selector}"
