"""A layout folder with the images of many repositories, for mirroring on disk.

Each image has its name in its registry, so that the folder contains all information:
`quay.io/example/cog@sha256:…`, or with its tag. Other programs that read layouts also find the
images under these names.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from olmkit.edges.images.layout import Layout
from olmkit.oci import mirroring
from olmkit.oci.content import Descriptor, Digest
from olmkit.oci.reference import Reference
from olmkit.oci.store import Opener, read_manifest

# Names that are not yet in the index: adding them one by one would write it thousands of times.
_PENDING: Final = 64


class ImageFolder:
    """The images of a folder by repository; `close` adds the last names."""

    def __init__(self, folder: Path) -> None:
        self.layout = Layout(folder)
        self._names: dict[str, Descriptor] = {}
        self._pending: dict[str, Descriptor] = {}
        self._subjects: dict[str, dict[Digest, list[Descriptor]]] | None = None
        if self.layout.is_there():
            self._names = {
                name: replace(entry, annotations={}) for name, entry in self.layout.entries()
            }

    @property
    def images(self) -> tuple[Reference, ...]:
        """Return the names of images in registries, without signature tags."""
        found = (mirroring.parse_layout_name(name) for name in sorted(self._names))
        return tuple(
            one
            for one in found
            if one is not None and not (one.tag and mirroring.is_referrer_tag(one.tag))
        )

    def repository(self, name: str) -> FolderRepository:
        return FolderRepository(self, name)

    def get(self, name: str) -> Descriptor | None:
        """Return the descriptor of a full reference."""
        return self._names.get(name)

    async def add(self, name: str, descriptor: Descriptor) -> None:
        """Give a name to an existing image."""
        known = self._names.get(name)
        if known is not None and known.digest == descriptor.digest:
            return
        self._names[name] = self._pending[name] = replace(descriptor, annotations={})
        self._subjects = None
        if len(self._pending) >= _PENDING:
            await self.close()

    async def close(self) -> None:
        """Write all added names to the index."""
        pending, self._pending = self._pending, {}
        if pending:
            await self.layout.tag_all(pending)

    async def subjects(self, repository: str) -> dict[Digest, list[Descriptor]]:
        """Return the referrers in a repository by subject."""
        if self._subjects is None:
            found: dict[str, dict[Digest, list[Descriptor]]] = {}
            for name, descriptor in sorted(self._names.items()):
                reference = mirroring.parse_layout_name(name)
                if reference is None or not descriptor.is_manifest:
                    continue
                manifest = await read_manifest(self.layout, descriptor)
                if manifest.subject is not None:
                    listed = found.setdefault(reference.name, {})
                    listed.setdefault(manifest.subject.digest, []).append(descriptor)
            self._subjects = found
        return self._subjects.get(repository, {})

    async def referrers(self) -> frozenset[Digest]:
        """Return the manifests in the folder that are referrers, not separate images."""
        names = {one.name for one in self.images}
        found = [await self.subjects(name) for name in sorted(names)]
        return frozenset(
            one.digest for by_subject in found for listed in by_subject.values() for one in listed
        )

    def digest(self, reference: Reference) -> Digest | None:
        """Return the digest of an image of the folder."""
        found = self._names.get(str(reference))
        return found.digest if found is not None else None

    def names_of(self, repository: str) -> tuple[str, ...]:
        """Return the tags of a repository, sorted."""
        beginning = f"{repository}:"
        return tuple(
            sorted(
                name.removeprefix(beginning)
                for name in self._names
                if name.startswith(beginning)
                and "@" not in name
                and "/" not in name[len(beginning) :]
            )
        )


class FolderRepository:
    """A `Store` for one repository of a folder."""

    def __init__(self, folder: ImageFolder, name: str) -> None:
        self._folder = folder
        self._name = name

    async def exists(self, descriptor: Descriptor) -> bool:
        return await self._folder.layout.exists(descriptor)

    def fetch(self, descriptor: Descriptor, offset: int = 0) -> AsyncIterator[bytes]:
        return self._folder.layout.fetch(descriptor, offset)

    async def push(self, descriptor: Descriptor, content: Opener) -> None:
        await self._folder.layout.push(descriptor, content)

    async def resolve(self, selector: str) -> Descriptor:
        separator = "@" if ":" in selector else ":"
        found = self._folder.get(f"{self._name}{separator}{selector}")
        if found is None and separator == "@":
            # A part of an index has no name, and names may not have been written yet.
            found = self._folder.layout.by_digest(selector)
        return found if found is not None else await self._folder.layout.resolve(selector)

    async def tag(self, descriptor: Descriptor, tag: str) -> None:
        await self._folder.add(f"{self._name}:{tag}", descriptor)

    async def tags(self) -> tuple[str, ...]:
        return self._folder.names_of(self._name)

    async def tagged(self, tag: str) -> Descriptor | None:
        return self._folder.get(f"{self._name}:{tag}")

    async def referrers(self, subject: Digest) -> tuple[Descriptor, ...]:
        return tuple((await self._folder.subjects(self._name)).get(subject, ()))

    async def attach(self, descriptor: Descriptor) -> None:
        await self._folder.add(f"{self._name}@{descriptor.digest}", descriptor)
