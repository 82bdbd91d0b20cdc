"""The candidates of a resolution: bundles with their requirements, in order of preference.

Each Subscription has candidates, each requirement has providers; all of them together are the
variables of the search. At most one bundle provides an API, and at most one belongs to a package.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import BrokenChannelError
from olmkit.kube.objects import GVK
from olmkit.olm.resolver import requirements, resolution
from olmkit.olm.resolver.requirements import EntryPredicate
from olmkit.olm.resolver.resolution import (
    CatalogEntries,
    CatalogKey,
    ResolutionError,
    ResolverEntry,
    ResolverInput,
    Subscription,
)
from olmkit.olm.resolver.search import SearchProblem

Order = Callable[[Sequence[ResolverEntry]], Sequence[ResolverEntry]]
"""The order of channels with the same name if the Subscription does not name a channel."""


@dataclass(slots=True)
class Candidates:
    """All candidates of one resolution.

    `upgrades` maps an entry to the CSV that it would replace. `unmet` explains why a Subscription
    has no choice, `offers` lists its choices, the best first, and `needs` what meets each
    requirement, in the order of `problem.choices`. `subscriptions` are the variables that are not
    entries; `groups` names the subject of each group of the problem: `API …` or `package …`.
    """

    problem: SearchProblem = field(default_factory=SearchProblem)
    entries: dict[ResolverEntry, int] = field(default_factory=dict)
    anchors: list[int] = field(default_factory=list)
    upgrades: dict[ResolverEntry, str] = field(default_factory=dict)
    unmet: dict[str, str] = field(default_factory=dict)
    offers: dict[str, tuple[ResolverEntry, ...]] = field(default_factory=dict)
    needs: dict[ResolverEntry, list[tuple[EntryPredicate, tuple[ResolverEntry, ...]]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    errors: list[ResolutionError] = field(default_factory=list)
    subscriptions: dict[int, Subscription] = field(default_factory=dict)
    groups: dict[int, str] = field(default_factory=dict)


class Collector:
    """Collects the candidates; `existing` are the installed entries."""

    def __init__(
        self, inputs: ResolverInput, existing: Sequence[ResolverEntry], linked: frozenset[str]
    ) -> None:
        self.inputs = inputs
        self._existing = {one.name: one for one in existing}
        self._linked = linked
        self._sources = _visible_catalogs(inputs, existing)
        self._channels: dict[tuple[CatalogKey, str, str], list[ResolverEntry]] = defaultdict(list)
        self._ordered: dict[tuple[CatalogKey, str, str], Sequence[ResolverEntry]] = {}
        self._twins: Counter[tuple[CatalogKey, str, str]] = Counter()
        for source in self._sources.values():
            for entry in source.entries:
                self._twins[entry.catalog, entry.channel, entry.name] += 1
                self._channels[_channel_of(entry)].append(entry)
        self._providers: dict[tuple[EntryPredicate, CatalogKey], tuple[ResolverEntry, ...]] = {}
        self.found = Candidates()

    def collect_installed(self) -> None:
        """Add the variables of installed entries; those without a Subscription must stay."""
        for entry in self._existing.values():
            variable = self._add(entry)
            self.found.problem.kept.add(variable)
            if entry.name not in self._linked:
                self.found.problem.required.append(variable)
                self.found.anchors.append(variable)

    def collect(self, subscription: Subscription, order: Order) -> None:
        """Add the variable of a Subscription, with everything that it may require."""
        problem = self.found.problem
        variable = problem.variable()
        problem.required.append(variable)
        self.found.anchors.append(variable)
        self.found.subscriptions[variable] = subscription
        current = (
            self._existing.get(subscription.installed_csv) if subscription.installed_csv else None
        )
        found = self._find_matches(subscription, current)
        if isinstance(found, str):
            self.found.unmet[subscription.name] = found
            problem.prohibited.add(variable)
            return
        try:
            candidates = list(self._candidates(subscription, found, current, order))
        except ResolutionError as error:
            self.found.errors.append(error)
            return
        self.found.offers[subscription.name] = tuple(candidates)
        numbers = []
        known = len(self.found.errors)
        for candidate in candidates:
            numbers.append(self._add(candidate))
            if len(self.found.errors) > known:
                return  # OLM does not look further
        if current is not None:
            before = self._add(current)
            for candidate, number in zip(candidates, numbers, strict=True):
                self.found.upgrades[candidate] = current.name
                problem.at_most_one((number, before))
            numbers.append(before)
        if numbers:
            problem.choices[variable].append(tuple(numbers))
        else:
            problem.prohibited.add(variable)

    def close(self) -> Candidates:
        """Add the constraints among all bundles."""
        apis: dict[GVK, list[int]] = defaultdict(list)
        packages: dict[str, list[int]] = defaultdict(list)
        for entry, number in self.found.entries.items():
            if self.twins(entry) > 1:
                continue
            for api in entry.apis:
                apis[api].append(number)
            for package in entry.packages:
                packages[package].append(number)
        labelled = [(f"API {api}", numbers) for api, numbers in apis.items()]
        labelled += [(f"package {package}", numbers) for package, numbers in packages.items()]
        for label, numbers in labelled:
            self.found.groups[len(self.found.problem.groups)] = label
            self.found.problem.at_most_one(numbers)
        return self.found

    def twins(self, entry: ResolverEntry) -> int:
        """Return the number of entries with this CSV and channel name in the catalog."""
        return self._twins[entry.catalog, entry.channel, entry.name]

    def _find_matches(
        self, subscription: Subscription, current: ResolverEntry | None
    ) -> list[ResolverEntry] | str:
        """Return the candidates of a Subscription, or OLM's message if there are none."""
        sources = list(self._sources.values())
        if any(subscription.catalog):
            sources = [source for source in sources if source.key == subscription.catalog]
        place = f"referenced by subscription {subscription.name}"
        found = [one for source in sources for one in source.entries]
        if not found:
            catalog, namespace = subscription.catalog
            return f"no operators found from catalog {catalog} in namespace {namespace} {place}"
        found = [one for one in found if subscription.package in (one.package, *one.packages)]
        if not found:
            return f"no operators found in package {subscription.package} in the catalog {place}"
        found = [one for one in found if subscription.channel in ("", one.channel)]
        channel, package = subscription.channel, subscription.package
        where = f"in channel {channel} of package {package} in the catalog {place}"
        if not found:
            return f"no operators found {where}"
        if current is None and subscription.starting_csv:
            found = [one for one in found if one.name == subscription.starting_csv]
            if not found:
                return f"no operators found with name {subscription.starting_csv} {where}"
        return found

    def _candidates(
        self,
        subscription: Subscription,
        found: list[ResolverEntry],
        current: ResolverEntry | None,
        order: Order,
    ) -> Iterator[ResolverEntry]:
        ordered: list[ResolverEntry] = []
        for channel in sorted({(not one.is_default, one.channel) for one in found}):
            of_channel = [one for one in found if one.channel == channel[1]]
            ordered += self._sort_entries(of_channel, subscription.package)
        if current is not None:
            at = (current.name, current.version)
            ordered = [one for one in ordered if upgrades.edge(one, one.skip_range, *at)]
        named: dict[str, list[ResolverEntry]] = defaultdict(list)
        for one in found:
            named[one.name].append(one)
        for name in dict.fromkeys(one.name for one in ordered):
            yield from order(named[name])

    def _sort_entries(
        self, entries: Sequence[ResolverEntry], package: str
    ) -> Sequence[ResolverEntry]:
        try:
            return upgrades.order_of(entries, package, entries[0].channel)
        except BrokenChannelError as error:
            raise ResolutionError(error.fault, error.message) from None

    def _add(self, entry: ResolverEntry) -> int:
        """Return the variable of an entry; its requirements are collected with it."""
        known = self.found.entries.get(entry)
        if known is not None:
            return known
        problem = self.found.problem
        waiting = [entry]
        self.found.entries[entry] = problem.variable()
        while waiting:
            one = waiting.pop(0)
            number = self.found.entries[one]
            if one.is_deprecated:
                problem.prohibited.add(number)
            try:
                predicates = requirements.entry_requirements(one)
            except ResolutionError as error:
                self.found.errors.append(error)
                continue
            for predicate in predicates:
                try:
                    providers = self._providers_of(predicate, one)
                except ResolutionError as error:
                    self.found.errors.append(error)
                    continue
                self.found.needs[one].append((predicate, providers))
                for provider in providers:
                    if provider not in self.found.entries:
                        self.found.entries[provider] = problem.variable()
                        waiting.append(provider)
                numbers = tuple(self.found.entries[provider] for provider in providers)
                problem.choices[number].append(numbers)
        return self.found.entries[entry]

    def _providers_of(
        self, predicate: EntryPredicate, entry: ResolverEntry
    ) -> tuple[ResolverEntry, ...]:
        key = (predicate, entry.catalog)
        if key not in self._providers:
            self._providers[key] = tuple(self._find(predicate, entry.catalog))
        return self._providers[key]

    def _find(self, predicate: EntryPredicate, own: CatalogKey) -> Iterator[ResolverEntry]:
        def preference(source: CatalogEntries) -> tuple[object, ...]:
            return (
                source.key.name != resolution.EXISTING,
                source.key != own,
                -source.priority,
                source.key.namespace != self.inputs.namespace,
                source.key.name,
            )

        for source in sorted(self._sources.values(), key=preference):
            met = [one for one in source.entries if predicate.holds(one)]
            if source.key.name == resolution.EXISTING:
                for package in sorted({one.package for one in met}):
                    yield from self._sort_entries(
                        [one for one in met if one.package == package], package
                    )
                continue
            channels = {_channel_of(one): one.is_default for one in met}
            for key in sorted(channels, key=lambda key: (not channels[key], key[1], key[2])):
                if key not in self._ordered:
                    self._ordered[key] = self._sort_entries(self._channels[key], key[1])
                yield from (one for one in self._ordered[key] if predicate.holds(one))


def _visible_catalogs(
    inputs: ResolverInput, existing: Sequence[ResolverEntry]
) -> dict[CatalogKey, CatalogEntries]:
    own = CatalogKey(resolution.EXISTING, inputs.namespace)
    found = {own: CatalogEntries(key=own, entries=tuple(existing))}
    for source in inputs.sources:
        if source.key.namespace in inputs.scope and not source.trouble:
            found[source.key] = source
    return found


def _channel_of(entry: ResolverEntry) -> tuple[CatalogKey, str, str]:
    return (entry.catalog, entry.package, entry.channel)
