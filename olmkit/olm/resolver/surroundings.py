"""The part of a catalog that a resolution for one package can reach.

A resolution for one bundle of a large catalog uses few packages: its own, and those that may
provide the requirements of their bundles. With only these, the answer is the same and much faster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from olmkit.kube.objects import GVK
from olmkit.olm.resolver import requirements
from olmkit.olm.resolver.requirements import Compound, EntryPredicate, InRange, Provides
from olmkit.olm.resolver.resolution import ResolutionError, ResolverEntry


class Surroundings:
    """Finds the packages related to one package, among the entries of a catalog."""

    def __init__(self, entries: Iterable[ResolverEntry]) -> None:
        self._entries: dict[str, list[tuple[int, ResolverEntry]]] = defaultdict(list)
        self._with_api: dict[GVK, set[str]] = defaultdict(set)
        self._with_name: dict[str, set[str]] = defaultdict(set)
        self._near: dict[str, frozenset[str]] = {}
        for number, entry in enumerate(entries):
            self._entries[entry.package].append((number, entry))
            self._with_name[entry.package].add(entry.package)
            for api in entry.apis:
                self._with_api[api].add(entry.package)
            for name in entry.packages:
                self._with_name[name].add(entry.package)

    def of(self, package: str) -> tuple[ResolverEntry, ...]:
        """Return the entries that are relevant to a package, in the order of the catalog."""
        found = {package, *self._with_name.get(package, ())}
        waiting = list(found)
        while waiting:
            new = self._related_packages(waiting.pop()) - found
            found |= new
            waiting += new
        numbered = [one for name in found for one in self._entries.get(name, ())]
        return tuple(entry for _, entry in sorted(numbered, key=lambda one: one[0]))

    def _related_packages(self, package: str) -> frozenset[str]:
        """Return the packages that may provide the requirements of a package's bundles."""
        if package not in self._near:
            needs = {need for _, entry in self._entries.get(package, ()) for need in _needs(entry)}
            self._near[package] = frozenset(
                name for need in needs for name in self._providers(need)
            )
        return self._near[package]

    def _providers(self, need: EntryPredicate) -> Iterable[str]:
        match need:
            case Provides(api=api):
                return self._with_api.get(api, ())
            case InRange(package=package):
                return self._with_name.get(package, ())
            case Compound(word="not"):
                return self._entries
            case Compound(parts=parts):
                return [name for part in parts for name in self._providers(part)]
            case _:  # a rule in CEL, or a label: any bundle may meet it
                return self._entries


def _needs(entry: ResolverEntry) -> Iterator[EntryPredicate]:
    try:
        yield from requirements.entry_requirements(entry)
    except ResolutionError:  # the resolution reports it
        return
