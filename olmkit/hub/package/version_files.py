"""The files of each version of a package: its page, its JSON and the schemas of its CRDs."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Final

from olmkit.catalog.model import Bundle
from olmkit.hub import paths, records
from olmkit.hub.feeds import Entry
from olmkit.hub.package import apis, comparison, schemas, stated, upgrades
from olmkit.hub.package import version_page as operators
from olmkit.hub.package.comparison import Facts
from olmkit.hub.package.package_input import PackageInput
from olmkit.hub.package.package_json import bundle_data
from olmkit.hub.package.package_parts import Data, Part
from olmkit.hub.package.version_page import Shared, compare, contents
from olmkit.hub.pages.kind_pages import CrdPage
from olmkit.hub.pages.page_parts import Link
from olmkit.hub.records import Record
from olmkit.kube.objects import GVK

_KEPT: Final = 8  # number of kept bundles, since the next ones replace them


class VersionFiles:
    """Creates the files of versions, from the newest to the oldest."""

    def __init__(self, package_input: PackageInput, shared: Shared, known: Container[str]) -> None:
        self.compared = Facts()
        self.entries: list[Entry] = []
        self._wanted = package_input
        self._shared = shared
        self._known = known
        self._record = lru_cache(maxsize=_KEPT)(records.read_record)
        self._read = lru_cache(maxsize=_KEPT)(lambda one: contents(self._record(one)))
        self._same = _SameApis(package_input, self._record)
        # Only of the last version: the fields of many versions would fill the memory.
        self._crds: dict[str, CrdPage] = {}

    def parts(self, bundle: Bundle) -> Iterator[Part]:
        shared = self._shared
        found = self._read(bundle)
        record = found.record
        replaced = find_replaced(bundle, shared)
        changes = compare(self._read(replaced), found) if replaced is not None else None
        same = self._same.of(bundle)
        page = operators.page(record, changes, shared, is_first=False, same=same)
        yield Part(page.href, page)
        yield Part(f"{page.href}bundle.json", Data(bundle_data(record, shared)))
        self.entries.append(self._entry(record, page.href))
        self._crds = dict(self._crd_pages(record))
        for path, crd in self._crds.items():
            if path not in self._known:
                yield Part(path, crd)
        of = (channel.name for channel in shared.members.get(bundle.name, ()))
        compared = comparison.facts(record, found.summary, of, self._crds.get)
        self.compared.add(bundle.name, compared)
        if bundle is upgrades.shown_bundle(shared.package):
            first = operators.page(record, changes, shared, is_first=True)
            yield Part(self._wanted.path, first)

    def _entry(self, record: Record, href: str) -> Entry:
        bundle, package = record.bundle, self._shared.package
        of = [channel.name for channel in self._shared.members.get(bundle.name, ())]
        words = [f"In channel {name}." for name in of] or ["In no channel."]
        if upgrades.is_deprecated(bundle):
            words.append("Deprecated.")
        return Entry(
            title=f"{stated.display_name(record, package.name)} {record.version}".strip(),
            href=href,
            identity=(self._wanted.catalog, package.name, bundle.name),
            created=record.annotations.get("createdAt", ""),
            summary=" ".join(words),
        )

    def _crd_pages(self, record: Record) -> Iterator[tuple[str, CrdPage]]:
        for crd in record.crds.values():
            digest = schemas.digest(crd)
            for version, _ in schemas.versions(crd):
                path = paths.crd(digest, version)
                if path in self._crds:
                    yield path, self._crds[path]
            for path, page in schemas.pages(crd, self._crds):
                has_page = self._shared.has_page_of(page.group, page.kind)
                yield path, page if has_page else replace(page, kind_href="")


class _SameApis:
    """The place of an API's contents: on the page of the newest version that has them."""

    def __init__(self, package_input: PackageInput, read: Callable[[Bundle], Record]) -> None:
        self._wanted = package_input
        self._read = read
        self._listed = upgrades.bundles(package_input.package)
        self._next = 0  # the index of the newest version that has not been checked
        self._found: dict[str, tuple[Bundle, Link]] = {}
        self._contents: dict[str, Mapping[GVK, str]] = {}

    def of(self, bundle: Bundle) -> Mapping[GVK, Link]:
        """Return the APIs of a version that are the same in a newer one, and their places."""
        while bundle.name not in self._contents:
            self._add(self._listed[self._next])
            self._next += 1
        links_ = {kind: self._found[one] for kind, one in self._contents[bundle.name].items()}
        return {kind: link for kind, (of, link) in links_.items() if of is not bundle}

    def _add(self, bundle: Bundle) -> None:
        try:
            record = self._read(bundle)
            found = apis.contents(record, stated.examples(record))
        except Exception:  # the page of the version reports it
            found = {}
        self._contents[bundle.name] = found
        path = paths.bundle(self._wanted.base, bundle.package, bundle.name)
        for kind, contents_ in found.items():
            link = Link(
                label=str(bundle.version or bundle.name),
                href=f"{path}#{apis.anchor(kind.kind, kind.version)}",
            )
            self._found.setdefault(contents_, (bundle, link))


def find_replaced(bundle: Bundle, shared: Shared) -> Bundle | None:
    """Return the replaced bundle, from the first channel that has it."""
    for channel in shared.members.get(bundle.name, ()):
        found = shared.package.bundles.get(channel.entries[bundle.name].replaces)
        if found is not None:
            return found
    return None
