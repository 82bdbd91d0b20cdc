"""Upload a blob to a registry, with as many attempts as needed.

Small blobs are sent in one request after the upload has started; large ones in chunks. After an
error, one chunk is sent again if the registry keeps earlier ones, else the whole blob. On a fast
connection, chunks grow, because each causes some work in the registry. Registries that do not
support chunks get everything in one request.
"""

from __future__ import annotations

import asyncio
import urllib.parse

from olmkit.edges.images.registries.endpoint import RegistryEndpoint, RegistryRequest
from olmkit.edges.network.header_values import parse_count
from olmkit.edges.network.web import TEMPORARY_STATUS
from olmkit.oci.content import Descriptor
from olmkit.oci.store import Opener, RegistryError

# After a chunk that took less than these seconds, a larger one may follow: sending it again would
# take a few seconds more. Small chunks that were requested stay small.
_QUICK = 2.0
_GROWTH = 4
_GROWS_FROM = 16 * 1024 * 1024
_GROWS_TO = 512 * 1024 * 1024


class Upload:
    """The upload of one blob to a registry, with as many attempts as needed."""

    def __init__(
        self,
        endpoint: RegistryEndpoint,
        descriptor: Descriptor,
        content: Opener,
        chunk_size: int,
    ) -> None:
        self._endpoint = endpoint
        self._descriptor = descriptor
        self._content = content
        self._chunk_size = chunk_size
        self._location = ""
        self._sent = 0
        self._whole = descriptor.size <= chunk_size

    async def run(self) -> None:
        await self._endpoint.web.retry(self._attempt)

    async def _attempt(self) -> None:
        """Start the upload, or continue at the registry's position."""
        if self._location and not await self._resume():
            self._location, self._sent = "", 0
        if not self._location:
            await self._begin()
        try:
            if not self._whole:
                await self._send_chunks()
            await self._finish()
        except RegistryError as error:
            if not self._whole and error.status in (400, 404, 405, 411, 415, 416, 501):
                # Some registries do not support chunks, or lose earlier chunks after an error.
                self._whole = self._sent == 0
                self._location = ""
                error.temporary = True
            elif error.status == 404:  # the registry has lost the upload
                self._location = ""
                error.temporary = True
            raise

    async def _begin(self) -> None:
        request = RegistryRequest(
            method="POST", url=await self._endpoint.url("blobs/uploads/"), headers={}
        )
        async with self._endpoint.send(request) as reply:
            if reply.status != 202:
                raise await self._endpoint.refusal(reply, "push to")
            location = self._endpoint.upload_url(reply)
            if not location:
                raise RegistryError(
                    f"registry `{self._endpoint.host}` accepts an upload and does not say where "
                    "to send the content",
                    hint="check that the address is a registry's, and that no proxy removes "
                    "the `Location` header",
                )
            self._location, self._sent = location, 0
            least = parse_count(reply.headers.get("OCI-Chunk-Min-Length", ""))
            self._chunk_size = max(self._chunk_size, least or 0)

    async def _resume(self) -> bool:
        """Return whether the registry still has the upload; updates the position."""
        request = RegistryRequest(method="GET", url=self._location, headers={}, follow=False)
        async with self._endpoint.send(request) as reply:
            if reply.status in TEMPORARY_STATUS:
                raise await self._endpoint.refusal(reply, "push to")
            if reply.status not in (202, 204):
                return False
            end = parse_count(reply.headers.get("Range", "").rpartition("-")[2])
            # Old registries respond with `0-0` if they have received nothing; one byte is sent
            # again.
            self._sent = end + 1 if end else 0
            self._location = self._endpoint.upload_url(reply) or self._location
        self._whole = self._whole and self._sent == 0
        return self._sent <= self._descriptor.size

    async def _send_chunks(self) -> None:
        size = self._descriptor.size
        clock = asyncio.get_running_loop().time
        while self._sent < size:
            begin = clock()
            end = min(self._sent + self._chunk_size, size)
            request = RegistryRequest(
                method="PATCH",
                url=self._location,
                headers={
                    "Content-Type": "application/octet-stream",
                    "Content-Length": str(end - self._sent),
                    "Content-Range": f"{self._sent}-{end - 1}",
                },
                content=(self._content, self._descriptor, self._sent, end),
            )
            async with self._endpoint.send(request) as reply:
                if reply.status != 202:
                    raise await self._endpoint.refusal(reply, "push to")
                self._location = self._endpoint.upload_url(reply) or self._location
                self._sent = end
            if clock() - begin < _QUICK and _GROWS_FROM <= self._chunk_size < _GROWS_TO:
                self._chunk_size *= _GROWTH

    async def _finish(self) -> None:
        """Send the request with the digest, and with all remaining content."""
        separator = "&" if "?" in self._location else "?"
        digest = urllib.parse.quote(str(self._descriptor.digest), safe="")
        size = self._descriptor.size
        request = RegistryRequest(
            method="PUT",
            url=f"{self._location}{separator}digest={digest}",
            headers={
                "Content-Type": "application/octet-stream",
                "Content-Length": str(size if self._whole else 0),
            },
            content=(self._content, self._descriptor, 0, size) if self._whole else None,
        )
        async with self._endpoint.send(request) as reply:
            if reply.status not in (201, 204):
                raise await self._endpoint.refusal(reply, "push to")
            self._endpoint.compare(reply, self._descriptor)
