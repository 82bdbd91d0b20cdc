"""Answer the queries of `api.Registry` from an index.

Responses are encoded messages; `edges` only sends them. Order, messages and oddities are the same
as in `opm serve`: `replaces` and `skips` are absent if a single bundle is requested and present in
lists, and no request uses skip ranges. Where `opm serve` chooses at random, the first by name is
used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from olmkit.base.protobuf import head, message, string, utf8
from olmkit.catalog.serve.registry_index import (
    API,
    BundleRecord,
    ChannelRecord,
    CustomRecord,
    EntryRecord,
    Index,
    PackageRecord,
    Read,
)

NAME: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]*")
"""Valid schemas and packages of custom blobs in a served catalog."""

NAME_WORDS: Final = "^[a-zA-Z0-9][a-zA-Z0-9._-]*$"


class NotFoundError(Exception):
    """A query has no result; the message is that of opm."""


class BadQuestionError(Exception):
    """The query is invalid."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A record with its parents."""

    package: PackageRecord
    channel: ChannelRecord
    record: EntryRecord

    @property
    def bundle(self) -> BundleRecord:
        return self.package.bundles[self.record.bundle]


class _Channel:
    __slots__ = ("entries", "record")

    def __init__(self, package: PackageRecord, record: ChannelRecord) -> None:
        self.record = record
        self.entries = {
            package.bundles[entry.bundle].name: _Entry(package, record, entry)
            for entry in record.entries
        }


class RegistryApi:
    """A catalog that responds to queries; `read` returns the bytes of its pieces."""

    def __init__(self, index: Index, read: Read) -> None:
        self._index = index
        self._read = read
        self._packages = {package.name: package for package in index.packages}
        self._channels = {
            package.name: {record.name: _Channel(package, record) for record in package.channels}
            for package in index.packages
        }

    @property
    def package_count(self) -> int:
        return len(self._packages)

    @property
    def bundle_count(self) -> int:
        return sum(len(package.bundles) for package in self._index.packages)

    def list_packages(self) -> Iterator[bytes]:
        """Yield a `PackageName` for each package."""
        for name in self._packages:
            yield string(1, name)

    def get_package(self, name: str) -> bytes:
        """Return the `Package` with its channels and their heads."""
        package = self._packages.get(name)
        if package is None:
            raise NotFoundError(f'package "{name}" not found')
        channels = b"".join(
            message(
                2,
                string(1, channel.name)
                + string(2, channel.head)
                + _deprecation(3, channel.deprecation),
            )
            for channel in package.channels
        )
        return (
            string(1, name)
            + channels
            + string(3, package.default_channel)
            + _deprecation(4, package.deprecation)
        )

    def get_bundle(self, package: str, channel: str, name: str) -> bytes:
        """Return one `Bundle`."""
        entry = self._channel(package, channel).entries.get(name)
        if entry is None:
            raise NotFoundError(
                f'package "{package}", channel "{channel}", bundle "{name}" not found'
            )
        return self._full_bundle(entry)

    def get_bundle_for_channel(self, package: str, channel: str) -> bytes:
        """Return the `Bundle` at the head of a channel."""
        found = self._channel(package, channel)
        return self._full_bundle(found.entries[found.record.head])

    def get_bundle_that_replaces(self, name: str, package: str, channel: str) -> bytes:
        """Return a `Bundle` whose `replaces` or `skips` names the requested one."""
        if package not in self._packages:
            raise NotFoundError(f"package {package} not found")
        for entry in self._channel(package, channel).entries.values():
            if entry.record.replaces == name or name in entry.record.skips:
                return self._full_bundle(entry)
        raise NotFoundError(f'no entry found for package "{package}", channel "{channel}"')

    def channel_entries_that_replace(self, name: str) -> list[bytes]:
        """Return a `ChannelEntry` for each bundle that replaces `name`, and for each skip of it."""
        found = self._entries_by_replaced.get(name)
        if not found:
            raise NotFoundError(f"no channel entries found that replace {name}")
        return [_channel_entry(entry, entry.record.replaces) for entry in found]

    def channel_entries_that_provide(self, api: API) -> list[bytes]:
        """Return a `ChannelEntry` for each provider of an API, and one for each of its skips."""
        found = self._providers.get(api)
        if not found:
            raise _no_provider(api)
        return [
            _channel_entry(entry, replaced)
            for entry in found
            for replaced in _replaced_names(entry.record)
        ]

    def latest_channel_entries_that_provide(self, api: API) -> list[bytes]:
        """Return the entries for channel heads; only skips of bundles in the channel count."""
        found = self._heads_that_provide(api)
        answers: list[bytes] = []
        for entry in found:
            present = self._channels[entry.package.name][entry.channel.name].entries
            replaces, *skips = _replaced_names(entry.record)
            answers += [
                _channel_entry(entry, replaced)
                for replaced in (replaces, *(skip for skip in skips if skip in present))
            ]
        return answers

    def default_bundle_that_provides(self, api: API) -> bytes:
        """Return the default channel's head of the first package that provides an API."""
        for entry in self._heads_that_provide(api):
            if entry.channel.name == entry.package.default_channel:
                return self._full_bundle(entry)
        raise NotFoundError(f"no entry found that provides {_api_words(api)}")

    def list_bundles(self) -> Iterator[bytes]:
        """Yield a `Bundle` for each channel entry, by channel, package and bundle name.

        Manifests are left out if they are in an image.
        """
        for entry in self._all:
            bundle = entry.bundle
            edges = _edges(entry.record)
            if bundle.has_image:
                pieces = self._read(bundle.offset, bundle.brief)
                yield b"".join((pieces, _channel_fields(entry), edges))
            else:
                yield self._full_bundle(entry) + edges

    def full_bundles(self) -> Iterator[tuple[str, str, str, bytes]]:
        """Yield package, channel, bundle and the whole `Bundle`, with its edges, of each entry."""
        for entry in self._all:
            data = self._full_bundle(entry) + _edges(entry.record)
            yield entry.package.name, entry.channel.name, entry.bundle.name, data

    def list_custom_blobs(self, schema: str, package: str) -> Iterator[bytes]:
        """Yield a `Struct` for each blob of a schema that is not OLM's own."""
        if not schema:
            raise BadQuestionError("schema is required")
        for word, text in (("schema", schema), ("packageName", package)):
            if text and not NAME.fullmatch(text):
                raise BadQuestionError(
                    f'invalid custom schema query: invalid {word} "{text}": must match {NAME_WORDS}'
                )
        for record in self._customs.get((schema, package), ()):
            yield bytes(self._read(record.offset, record.length))

    def _channel(self, package: str, channel: str) -> _Channel:
        channels = self._channels.get(package)
        if channels is None:
            raise NotFoundError(f'package "{package}" not found')
        found = channels.get(channel)
        if found is None:
            raise NotFoundError(f'package "{package}", channel "{channel}" not found')
        return found

    def _full_bundle(self, entry: _Entry) -> bytes:
        bundle = entry.bundle
        # A view, so that megabytes of data are copied only once.
        pieces = memoryview(self._read(bundle.offset, bundle.length))
        parts: list[bytes | memoryview] = [
            pieces[: bundle.brief + bundle.objects],
            _channel_fields(entry),
        ]
        if bundle.csv_length:
            csv = pieces[bundle.csv_start : bundle.csv_start + bundle.csv_length]
            parts += [head(4, bundle.csv_length), csv]
        return b"".join(parts)

    def _heads_that_provide(self, api: API) -> list[_Entry]:
        found = [
            entry
            for entry in self._providers.get(api, ())
            if entry.bundle.name == entry.channel.head
        ]
        if not found:
            raise _no_provider(api)
        return found

    @cached_property
    def _entries(self) -> list[_Entry]:
        return [
            entry
            for channels in self._channels.values()
            for channel in channels.values()
            for entry in channel.entries.values()
        ]

    @cached_property
    def _all(self) -> list[_Entry]:
        return sorted(self._entries, key=lambda e: (e.channel.name, e.package.name, e.bundle.name))

    @cached_property
    def _entries_by_replaced(self) -> dict[str, list[_Entry]]:
        found: dict[str, list[_Entry]] = {}
        for entry in self._entries:
            for name in _replaced_names(entry.record):
                found.setdefault(name, []).append(entry)
        return found

    @cached_property
    def _providers(self) -> dict[API, list[_Entry]]:
        found: dict[API, list[_Entry]] = {}
        for entry in self._entries:
            for api in dict.fromkeys(entry.bundle.provided):
                found.setdefault(api, []).append(entry)
        return found

    @cached_property
    def _customs(self) -> dict[tuple[str, str], list[CustomRecord]]:
        found: dict[tuple[str, str], list[CustomRecord]] = {}
        for record in self._index.customs:
            found.setdefault((record.schema, record.package), []).append(record)
        return found


def _replaced_names(record: EntryRecord) -> list[str]:
    """Return what a bundle replaces, then what it also skips."""
    return [record.replaces, *(skip for skip in record.skips if skip != record.replaces)]


def _edges(record: EntryRecord) -> bytes:
    return string(13, record.replaces) + b"".join(message(14, utf8(skip)) for skip in record.skips)


def _channel_fields(entry: _Entry) -> bytes:
    return string(3, entry.channel.name) + string(10, entry.record.skip_range)


def _channel_entry(entry: _Entry, replaces: str) -> bytes:
    return (
        string(1, entry.package.name)
        + string(2, entry.channel.name)
        + string(3, entry.bundle.name)
        + string(4, replaces)
    )


def _deprecation(number: int, text: str | None) -> bytes:
    return b"" if text is None else message(number, string(1, text))


def _no_provider(api: API) -> NotFoundError:
    return NotFoundError(f"no channel entries found that provide {_api_words(api)}")


def _api_words(api: API) -> str:
    return " ".join(
        f'{word}:"{part}"' for word, part in zip(("group", "version", "kind"), api, strict=True)
    )
