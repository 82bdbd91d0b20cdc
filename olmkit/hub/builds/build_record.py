"""The record of an earlier build: the file `build.json` of a hub."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from olmkit.catalog.blobs import outline
from olmkit.catalog.blobs.outline import BlobPlace, FilePlace
from olmkit.hub.package.package_input import PackageInput
from olmkit.hub.pages.page_parts import Link
from olmkit.hub.records import ImagePlace
from olmkit.kube.objects import GVK

FILE: Final = "build.json"
_SCHEMA: Final = 2
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageRecord:
    """The inputs of a package's files.

    `kinds` and `packages` are those whose providers are on its pages.
    """

    key: str
    kinds: tuple[GVK, ...]
    packages: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The digests of the files of an earlier build, and its packages by their path."""

    is_hub: bool = False
    files: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, PackageRecord] = field(default_factory=dict)


NONE: Final = Earlier()
"""No earlier build."""


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def parse(data: bytes | None) -> Earlier:
    """Return the record of an earlier build; an empty one if there is none that is valid."""
    try:
        found = json.loads(data or b"")
        release = found["schema_version"]
        files = {str(path): str(digest) for path, digest in found["files"].items()}
        listed = found["packages"].items() if release == _SCHEMA else ()
        packages = {str(path): _package(one) for path, one in listed}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return NONE
    return Earlier(is_hub=True, files=files, packages=packages)


def format_record(files: Mapping[str, str], packages: Mapping[str, PackageRecord]) -> bytes:
    """Return the record as text; the same for the same build."""
    listed = {
        path: {
            "key": one.key,
            "kinds": [list(kind) for kind in one.kinds],
            "packages": list(one.packages),
            "files": list(one.files),
        }
        for path, one in sorted(packages.items())
    }
    value = {
        "schema_version": _SCHEMA,
        "files": dict(sorted(files.items())),
        "packages": listed,
    }
    # Without indentation: with 10,000 versions the file has some megabytes.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def _package(value: Any) -> PackageRecord:
    return PackageRecord(
        key=str(value["key"]),
        kinds=tuple(GVK(*map(str, kind)) for kind in value["kinds"]),
        packages=tuple(map(str, value["packages"])),
        files=tuple(map(str, value["files"])),
    )


# The input of a package's pages


def key(
    looks: str, package_input: PackageInput, kinds: tuple[GVK, ...], packages: tuple[str, ...]
) -> str:
    """Return a key that changes if the files of the package may change.

    `looks` is the key of templates and options. `kinds` and `packages`: those whose providers are
    on the pages.
    """
    total = hashlib.sha256()
    for piece in _pieces(looks, package_input, kinds, packages):
        total.update(len(piece).to_bytes(8, "big"))
        total.update(piece)
    return total.hexdigest()


def _pieces(
    looks: str, package_input: PackageInput, kinds: tuple[GVK, ...], packages: tuple[str, ...]
) -> Iterator[bytes]:
    package, providers = package_input.package, package_input.providers
    where = package_input.where
    yield _text(
        looks, package_input.base, package_input.catalog, where.name, where.namespace, where.image
    )
    yield _text(package.name, package.deprecation)
    yield _blob(package.place)
    yield json.dumps(package_input.lifecycle, sort_keys=True).encode()
    for channel in package.channels.values():
        yield _text(channel.deprecation)
        yield _blob(channel.place)
    for bundle in package.bundles.values():
        yield _text(bundle.deprecation, package_input.unread.get(bundle.name))
        yield _blob(bundle.place)
        if isinstance(bundle.place, ImagePlace):
            yield _blob(bundle.place.stated)
    yield _links(providers.dependents.get(package.name, ()))
    for kind in kinds:
        yield _links(providers.kinds.get(kind, ()))
    for name in packages:
        yield _links(providers.packages.get(name, ()))


def _blob(place: BlobPlace) -> bytes:
    if isinstance(place, FilePlace):
        return place.files.text(place)
    return outline.blob_at(place).text


def _links(found: tuple[Link, ...]) -> bytes:
    return _text(*(text for one in found for text in (one.label, one.href)))


def _text(*parts: str | None) -> bytes:
    return json.dumps(parts).encode()


class Lookups:
    """Records the kinds and packages whose providers are on the pages of a package."""

    def __init__(self, package_input: PackageInput) -> None:
        self._kinds: _Seen[GVK] = _Seen(package_input.providers.kinds)
        self._packages: _Seen[str] = _Seen(package_input.providers.packages)
        seen = replace(package_input.providers, kinds=self._kinds, packages=self._packages)
        self.wanted: Final = replace(package_input, providers=seen)

    @property
    def kinds(self) -> tuple[GVK, ...]:
        return tuple(sorted(self._kinds.keys_seen))

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(sorted(self._packages.keys_seen))


class _Seen(Mapping[_Key, tuple[Link, ...]]):
    def __init__(self, found: Mapping[_Key, tuple[Link, ...]]) -> None:
        self._found = found
        self.keys_seen: set[_Key] = set()

    def __getitem__(self, key: _Key) -> tuple[Link, ...]:
        self.keys_seen.add(key)
        return self._found[key]

    def __iter__(self) -> Iterator[_Key]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
