"""Signatures and other manifests that refer to an image, and how they are copied."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest
from aiohttp import web

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.edges.images import attached, transfer
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.registries.client import RegistryStore
from olmkit.edges.network.web import Web, WebOptions
from olmkit.oci import image, layer, referrers
from olmkit.oci import store as stores
from olmkit.oci.content import Descriptor, Digest, ImageManifest, MediaType
from olmkit.oci.image import MultiPlatformImage
from olmkit.oci.reference import Reference
from olmkit.oci.store import ImageStore, MemoryStore, RegistryError
from olmkit.testing.loopback import serving
from olmkit.testing.registry import RegistryServer

T = TypeVar("T")
IMAGE = image.data_image(layer.write(Tree({"a": b"1"})), {"k": "v"}, created_by="test")


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def manifest_of(
    content: bytes, *, kind: str = "application/vnd.example", subject: Descriptor | None = None
) -> tuple[Descriptor, MemoryStore]:
    """A manifest with one layer, in a separate store."""
    config, data = Descriptor.of(b"{}", kind), Descriptor.of(content, "text/plain")
    manifest = ImageManifest(
        media_type=MediaType.OCI_MANIFEST, config=config, layers=(data,), subject=subject
    ).format()
    descriptor = Descriptor.of(manifest, MediaType.OCI_MANIFEST)
    return descriptor, MemoryStore(
        {config.digest: b"{}", data.digest: content, descriptor.digest: manifest}
    )


async def put(target: Any, content: bytes, *, tag: str = "", subject: Any = None) -> Descriptor:
    """A manifest that refers to an image, by a tag or by its subject."""
    descriptor, source = manifest_of(content, subject=subject)
    await transfer.copy(source, target, descriptor, tag=tag or None)
    if subject is not None:
        await target.attach(descriptor)
    return descriptor


async def push_images(target: Any) -> dict[str, Descriptor]:
    """An image with manifests that refer to it, directly and indirectly."""
    await transfer.copy(MemoryStore.of(IMAGE), target, IMAGE.descriptor, tag="v1")
    root = IMAGE.descriptor
    assert isinstance(IMAGE, MultiPlatformImage)
    part = IMAGE.index.manifests[1]
    made = {
        suffix: await put(target, suffix.encode(), tag=referrers.cosign_tag(root.digest, suffix))
        for suffix in referrers.COSIGN_SUFFIXES
    }
    made["of a platform"] = await put(
        target, b"platform", tag=referrers.cosign_tag(part.digest, ".sig")
    )
    made["by subject"] = await put(target, b"subject", subject=root)
    made["of that"] = await put(target, b"nested", subject=made["by subject"])
    made["second"] = await put(target, b"second", subject=root)
    return made


async def digests(store: ImageStore, root: Descriptor = IMAGE.descriptor) -> set[Digest]:
    return {one.descriptor.digest for one in await attached.find(store, root)}


@asynccontextmanager
async def opened(host: str, repository: str) -> AsyncIterator[RegistryStore]:
    async with Web(WebOptions(attempts=2, first_wait=0.01)) as client:
        yield RegistryStore(client, Reference.parse(f"{host}/{repository}"))


@dataclass
class ModernRegistry:
    """docker-registry behind the referrers API, with two entries per page."""

    upstream: str
    by_subject: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    answers_with: int = 200

    async def __call__(self, request: web.Request) -> web.StreamResponse:
        if "/referrers/" in request.path:
            if self.answers_with != 200:
                return web.Response(status=self.answers_with)
            return self._page(request)
        body = await request.read()
        async with (
            aiohttp.ClientSession(auto_decompress=False) as session,
            session.request(
                request.method,
                f"http://{self.upstream}{request.path_qs}",
                headers={k: v for k, v in request.headers.items() if k.lower() != "host"},
                data=body,
                allow_redirects=False,
            ) as answer,
        ):
            kept = ("Content-Type", "Docker-Content-Digest", "Range")
            headers = {key: answer.headers[key] for key in kept if key in answer.headers}
            if "Location" in answer.headers:
                location = answer.headers["Location"]
                headers["Location"] = location.replace(self.upstream, request.host)
            data = await answer.read()
            if request.method == "PUT" and "/manifests/" in request.path:
                self._note(body, headers)
            return web.Response(status=answer.status, body=data, headers=headers)

    def _note(self, body: bytes, headers: dict[str, str]) -> None:
        value = json.loads(body)
        if "subject" in value:
            subject = value["subject"]["digest"]
            headers["OCI-Subject"] = subject
            descriptor = Descriptor.of(body, value["mediaType"])
            entry = {
                "mediaType": descriptor.media_type,
                "digest": str(descriptor.digest),
                "size": descriptor.size,
            }
            listed = self.by_subject.setdefault(subject, [])
            if entry not in listed:
                listed.append(entry)

    def _page(self, request: web.Request) -> web.Response:
        start = int(request.query.get("from", "0"))
        found = self.by_subject.get(request.path.rpartition("/")[2], [])
        headers = {}
        if start + 2 < len(found):
            headers["Link"] = f'<{request.path}?from={start + 2}>; rel="next"'
        index = {
            "schemaVersion": 2,
            "mediaType": MediaType.OCI_INDEX,
            "manifests": found[start : start + 2],
        }
        return web.json_response(index, content_type=MediaType.OCI_INDEX, headers=headers)


def test_all_referrers_of_an_image_are_copied_from_registry_to_layout_and_back(
    registry: RegistryServer, tmp_path: Path
) -> None:
    async def work() -> None:
        layout = Layout(tmp_path / "oci")
        async with (
            opened(registry.host, "attached/one") as first,
            opened(registry.host, "attached/two") as second,
        ):
            made = await push_images(first)
            expected = {one.digest for one in made.values()}
            assert await digests(first) == expected
            for source, target in ((first, layout), (layout, second)):
                await transfer.copy(source, target, IMAGE.descriptor, tag="v1")
                copied = await attached.copy(source, target, IMAGE.descriptor)
                assert {one.descriptor.digest for one in copied} == expected
                assert await digests(target) == expected
            assert await first.tags() == await second.tags()
            listed = await second.resolve(referrers.list_tag(IMAGE.digest))
            await attached.copy(layout, second, IMAGE.descriptor)
            again = await second.resolve(referrers.list_tag(IMAGE.digest))
            assert listed == again
            index = await stores.read_manifest(second, listed)
            types = [one.artifact_type for one in index.references]
            assert types == ["application/vnd.example"] * 2

    run(work())


def test_the_referrers_api_is_used_if_a_registry_has_it(registry: RegistryServer) -> None:
    async def work() -> None:
        modern = ModernRegistry(registry.host)
        async with serving(modern) as host, opened(host, "attached/modern") as store:
            made = await push_images(store)
            for number in range(5):
                extra = await put(store, b"%d" % number, subject=IMAGE.descriptor)
                made[str(number)] = extra
            assert await digests(store) == {one.digest for one in made.values()}
            assert referrers.list_tag(IMAGE.digest) not in await store.tags()

    run(work())


@pytest.mark.parametrize("status", [403, 404, 405, 501])
def test_a_registry_that_refuses_the_api_has_a_list_under_a_tag(
    registry: RegistryServer, status: int
) -> None:
    async def work() -> None:
        modern = ModernRegistry(registry.host, answers_with=status)
        repository = f"attached/refuses-{status}"
        async with serving(modern) as host, opened(host, repository) as store:
            await transfer.copy(MemoryStore.of(IMAGE), store, IMAGE.descriptor)
            # No registry of these tests accepts the subject without being able to list it.
            modern.by_subject.clear()
            async with opened(registry.host, repository) as plain:
                made = await put(plain, b"x", subject=IMAGE.descriptor)
            assert await digests(store) == {made.digest}

    run(work())


def test_a_failing_registry_is_reported(registry: RegistryServer) -> None:
    async def work() -> None:
        modern = ModernRegistry(registry.host, answers_with=500)
        async with serving(modern) as host, opened(host, "attached/fails") as store:
            await transfer.copy(MemoryStore.of(IMAGE), store, IMAGE.descriptor)
            with pytest.raises(RegistryError, match="status 500"):
                await digests(store)

    run(work())


def test_more_referrers_than_an_image_can_have_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attached, "MAX_REFERRERS", 2)

    async def work() -> None:
        layout = Layout(tmp_path / "oci")
        await push_images(layout)
        with pytest.raises(InputError, match="more than 2"):
            await digests(layout)

    run(work())


def test_a_store_without_referrers_has_none() -> None:
    assert run(attached.find(MemoryStore.of(IMAGE), IMAGE.descriptor)) == ()
    assert run(attached.copy(MemoryStore(), MemoryStore(), IMAGE.descriptor)) == ()
