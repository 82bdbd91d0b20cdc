"""The files of `registries.conf`, and a store for all mirrors of an image.

The files are the same as for Podman: one main file, the user's or else the machine's, and the
drop-in folders next to both. `CONTAINERS_REGISTRIES_CONF` names another one.
"""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.base.streams import closing
from olmkit.edges import disk
from olmkit.oci.content import Descriptor, Digest
from olmkit.oci.referrers import Referring
from olmkit.oci.store import ImageStore, Opener

if TYPE_CHECKING:
    from olmkit.oci.mirrors import Rules

_NAME = "registries.conf"
_MACHINE = Path("/etc/containers")
_LIMIT = 1024 * 1024


def read(environment: Mapping[str, str]) -> Rules | None:
    """Return the rules of this machine and user; None without any, which costs no time."""
    found: Rules | None = None
    for path in _files(environment):
        from olmkit.oci import mirrors

        rules = mirrors.parse(disk.read_file(path, limit=_LIMIT), str(path))
        found = rules if found is None else found.merge(rules)
    return found if found is not None and (found.rules or found.findings) else None


def _files(environment: Mapping[str, str]) -> Iterator[Path]:
    if named := environment.get("CONTAINERS_REGISTRIES_CONF"):
        path = Path(named)
        if not path.is_file():
            raise ConfigurationError(f"`{path}` does not exist: `CONTAINERS_REGISTRIES_CONF`")
        yield path
        return
    home = environment.get("XDG_CONFIG_HOME") or (
        f"{environment['HOME']}/.config" if environment.get("HOME") else ""
    )
    user = Path(home, "containers") if home else None
    mains = [folder / _NAME for folder in (user, _MACHINE) if folder is not None]
    yield from [path for path in mains if path.is_file()][:1]
    for folder in (_MACHINE, user):
        if folder is not None:
            yield from sorted((folder / f"{_NAME}.d").glob("*.conf"))


class MirroredStore:
    """A read-only `ImageStore`; the first mirror with an image serves all of it."""

    def __init__(self, stores: Sequence[ImageStore], shown: str) -> None:
        self._stores = list(stores)
        self._shown = shown

    async def resolve(self, selector: str) -> Descriptor:
        for store in self._stores[:-1]:
            with contextlib.suppress(RemoteError):
                found = await store.resolve(selector)
                self._prefer(store)
                return found
        return await self._stores[-1].resolve(selector)

    async def exists(self, descriptor: Descriptor) -> bool:
        for store in self._stores[:-1]:
            with contextlib.suppress(RemoteError):
                if await store.exists(descriptor):
                    return True
        return await self._stores[-1].exists(descriptor)

    async def fetch(self, descriptor: Descriptor, offset: int = 0) -> AsyncIterator[bytes]:
        position = offset
        for store in self._stores:
            try:
                async with closing(store.fetch(descriptor, position)) as content:
                    async for chunk in content:
                        position += len(chunk)
                        yield chunk
            except RemoteError:
                if store is self._stores[-1]:
                    raise
            else:
                return

    async def tags(self) -> tuple[str, ...]:
        for store in self._stores[:-1]:
            with contextlib.suppress(RemoteError):
                return await store.tags()
        return await self._stores[-1].tags()

    async def push(self, descriptor: Descriptor, content: Opener) -> None:  # noqa: ARG002
        raise self._read_only()

    async def tag(self, descriptor: Descriptor, tag: str) -> None:  # noqa: ARG002
        raise self._read_only()

    async def tagged(self, tag: str) -> Descriptor | None:
        for store in self._referrer_stores():
            with contextlib.suppress(RemoteError):
                if (found := await store.tagged(tag)) is not None:
                    return found
        return None

    async def referrers(self, subject: Digest) -> tuple[Descriptor, ...]:
        for store in self._referrer_stores():
            with contextlib.suppress(RemoteError):
                if found := await store.referrers(subject):
                    return found
        return ()

    async def attach(self, descriptor: Descriptor) -> None:  # noqa: ARG002
        raise self._read_only()

    def _referrer_stores(self) -> list[Referring]:
        return [store for store in self._stores if isinstance(store, Referring)]

    def _prefer(self, store: ImageStore) -> None:
        """Use `store` first from now on; the registry in the name remains the last."""
        if store is not self._stores[0]:
            self._stores.remove(store)
            self._stores.insert(0, store)

    def _read_only(self) -> ConfigurationError:
        return ConfigurationError(f"`{self._shown}` is read from mirrors, and is not written there")
