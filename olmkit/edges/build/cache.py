"""The cache of image builds: base images, and layers of packages.

The cache is an OCI layout, so each piece is complete and verified by its digest. Next to it is a
small file for each layer of packages that names the input of the layer. If you delete the folder,
the next build only needs more time.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.edges import user_cache
from olmkit.edges.disk import disk_error, write_atomically
from olmkit.edges.images.layout import Layout
from olmkit.oci import store as stores
from olmkit.oci.content import Descriptor, Digest, MediaType
from olmkit.oci.layer import Layer

_FOLDER = "build"
_MAX_LAYER = 2 * 1024 * 1024 * 1024


def folder(environment: Mapping[str, str]) -> Path:
    """Return the folder of the cache. Raises `ConfigurationError` if no variable names one."""
    return user_cache.folder(environment, _FOLDER)


class BuildCache:
    """One cache; `layout` has its content."""

    def __init__(self, folder: Path) -> None:
        self.layout = Layout(folder / "oci")
        self._keys = folder / "layers"

    async def base(self, name: str) -> Descriptor | None:
        """Return the cached image with `name`, if it is complete."""
        try:
            found = await self.layout.resolve(name)
            return found if await self.layout.exists(found) else None
        except ConfigurationError:
            return None

    async def layer(self, key: str) -> Layer | None:
        """Return the layer that was built from the input of `key`."""
        path = self._keys / f"{key}.json"
        try:
            record: Any = json.loads(path.read_bytes())
            descriptor = Descriptor(
                media_type=MediaType.OCI_LAYER_GZIP,
                digest=Digest.parse(record["digest"]),
                size=int(record["size"]),
            )
            diff_id = Digest.parse(record["diffId"])
            if not await self.layout.exists(descriptor):
                return None
            data = await stores.read(self.layout, descriptor, limit=_MAX_LAYER)
        except (OSError, ValueError, KeyError, TypeError, OlmkitError):
            return None  # as if it were not cached: it is built again
        return Layer(descriptor=descriptor, diff_id=diff_id, data=data)

    async def keep(self, key: str, layer: Layer) -> None:
        """Store `layer` under `key`."""
        await self.layout.push(layer.descriptor, stores.chunks(layer.data))
        value = {
            "diffId": str(layer.diff_id),
            "digest": str(layer.descriptor.digest),
            "size": layer.descriptor.size,
        }
        path = self._keys / f"{key}.json"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps(value).encode() + b"\n")
        except OSError as error:
            raise disk_error(path, error) from error
