"""Resolve a namespace like OLM v0: the installs and the changes of Subscriptions.

The answers are the same as OLM's. Where OLM depends on the random order of Go's maps, every order
is tried, and all possible answers are returned.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from olmkit.olm.resolver import installed_entries, search
from olmkit.olm.resolver.candidates import Collector
from olmkit.olm.resolver.resolution import (
    CatalogKey,
    Installed,
    ResolutionError,
    ResolverEntry,
    ResolverInput,
    Subscription,
)

# Limit of orders that are tried: enough for five Subscriptions that compete with each other.
_MAX_ORDERS: Final = 120
_MAX_TURNS: Final = 6


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class InstallStep:
    """A CSV to install, and the value of its `spec.replaces`."""

    csv: str
    package: str
    channel: str
    catalog: CatalogKey
    replaces: str


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class GeneratedSubscription:
    """A Subscription that OLM creates for a dependency."""

    name: str
    package: str
    channel: str
    catalog: CatalogKey
    starting_csv: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvedInstall:
    """One result. `moves` are the changed Subscriptions with their new CSVs.

    `plan` is the approval of the InstallPlan; empty if there is none because nothing changes.
    """

    steps: tuple[InstallStep, ...] = ()
    moves: tuple[tuple[str, str], ...] = ()
    generated: tuple[GeneratedSubscription, ...] = ()
    plan: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsatisfiable:
    """Nothing is installed: the requirements cannot be met. `unmet` are OLM's messages."""

    unmet: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The namespace cannot be resolved. `messages` are OLM's, `facts` name the bundles."""

    kinds: tuple[str, ...]
    messages: tuple[str, ...]
    facts: tuple[str, ...] = field(default=(), compare=False)


Answer = SolvedInstall | Unsatisfiable | Failed


def resolve(inputs: ResolverInput) -> tuple[Answer, ...]:
    """Return the answers that OLM v0 may give: one, or several where it is not deterministic."""
    if inputs.groups != 1:
        message = f"expected 1 OperatorGroup in the namespace, found {inputs.groups}"
        return (Failed(kinds=("operator-group",), messages=(message,)),)
    found: dict[Answer, None] = {}
    for turns in _turns(inputs):
        found |= dict.fromkeys(_answers(inputs, turns))
    return tuple(found)


def collect(inputs: ResolverInput, turns: Sequence[int] | None = None) -> Collector | Failed:
    """Return all candidates, or what prevents the resolution.

    `turns`: for each Subscription without a channel, the order in which its channels are tried.
    """
    errors: list[ResolutionError] = []
    entries: tuple[ResolverEntry, ...] = ()
    try:
        entries = installed_entries.entries(inputs)
    except ResolutionError as error:
        errors.append(error)
    collector = Collector(inputs, entries, installed_entries.subscribed_csvs(inputs))
    collector.collect_installed()
    if collector.found.errors:
        return _failure(collector.found.errors)
    errors += _check_input(inputs)
    if errors:
        return _failure(errors)
    for subscription, turn in zip(
        inputs.subscriptions, turns or (0,) * len(inputs.subscriptions), strict=True
    ):
        collector.collect(subscription, functools.partial(_rotate, turn))
    collector.close()
    return _failure(collector.found.errors) if collector.found.errors else collector


def _answers(inputs: ResolverInput, turns: Sequence[int]) -> Iterator[Answer]:
    """Yield the answers for all orders of mandatory variables, with one order of channels each."""
    collector = collect(inputs, turns)
    if isinstance(collector, Failed):
        yield collector
        return
    found = collector.found
    for anchors in _orders(found.anchors):
        selected = search.solve(found.problem, anchors)
        if selected is None:
            yield Unsatisfiable(unmet=tuple(sorted(found.unmet.values())))
            return
        chosen = [one for one, number in found.entries.items() if number in selected]
        try:
            yield _result(inputs, collector, [one for one in chosen if not one.is_installed])
        except ResolutionError as error:
            yield _failure([error])


def apply_result(inputs: ResolverInput, result: SolvedInstall) -> ResolverInput:
    """Return the input after a result was applied: with its CSVs, without replaced ones."""
    below = {one.name: one.replaces for one in inputs.installed}
    gone: set[str] = set()
    for step in result.steps:
        name = step.replaces
        while name and name not in gone:
            gone.add(name)
            name = below.get(name, "")
    entries = {
        (entry.catalog, entry.channel, entry.name): entry
        for source in inputs.sources
        for entry in source.entries
    }
    new = [
        Installed(
            name=step.csv,
            version=entries[step.catalog, step.channel, step.csv].version,
            replaces=step.replaces,
            properties=entries[step.catalog, step.channel, step.csv].properties,
        )
        for step in result.steps
    ]
    names = {one.name for one in new}
    kept = [one for one in inputs.installed if one.name not in gone | names]
    moved = dict(result.moves)
    subscriptions = [
        replace(
            subscription,
            installed_csv=moved[subscription.name],
            current_csv=moved[subscription.name],
        )
        if subscription.name in moved
        else subscription
        for subscription in inputs.subscriptions
    ]
    subscriptions += [
        Subscription(
            name=one.name,
            package=one.package,
            channel=one.channel,
            catalog=one.catalog,
            starting_csv=one.starting_csv,
            installed_csv=one.starting_csv,
            current_csv=one.starting_csv,
        )
        for one in result.generated
    ]
    return replace(inputs, installed=[*kept, *new], subscriptions=subscriptions)


def _check_input(inputs: ResolverInput) -> Iterator[ResolutionError]:
    for source in inputs.sources:
        if source.trouble and source.key.namespace in inputs.scope:
            place = f"{source.key.namespace}/{source.key.name}"
            text = f"error using catalogsource {place}: {source.trouble}"
            yield ResolutionError("catalog-unavailable", text)


def _failure(errors: Sequence[ResolutionError]) -> Failed:
    return Failed(
        kinds=tuple(sorted({error.kind for error in errors})),
        messages=tuple(sorted({error.message for error in errors})),
        facts=tuple(sorted({error.fact for error in errors})),
    )


def _result(
    inputs: ResolverInput, collector: Collector, chosen: Sequence[ResolverEntry]
) -> SolvedInstall:
    steps, generated = [], []
    moves: dict[str, str] = {}
    present = {one.name for one in inputs.installed}
    for entry in chosen:
        if "/" in entry.channel:
            raise ResolutionError("origin", f"unable to parse identifier {entry} for source info")
        if collector.twins(entry) != 1:
            text = f"expected exactly one operator, got {collector.twins(entry)}"
            raise ResolutionError("exactly-one", text)
        subscriptions = [
            subscription for subscription in inputs.subscriptions if _is_for(subscription, entry)
        ]
        if (
            subscriptions
            and entry.name in present
            and all(w.current_csv == entry.name for w in subscriptions)
        ):
            continue
        replaces = collector.found.upgrades.get(entry, entry.replaces)
        steps.append(
            InstallStep(csv=entry.name, package=entry.package, channel=entry.channel,
                 catalog=entry.catalog, replaces=replaces)
        )  # fmt: skip
        if not subscriptions:
            generated.append(_generate_subscription(entry))
        moves |= {
            subscription.name: entry.name
            for subscription in subscriptions
            if subscription.current_csv != entry.name
        }
    manual = any(subscription.is_manual for subscription in inputs.subscriptions)
    return SolvedInstall(
        steps=tuple(sorted(steps)),
        moves=tuple(sorted(moves.items())),
        generated=tuple(sorted(generated)),
        plan=("Manual" if manual else "Automatic") if moves else "",
    )


def _is_for(subscription: Subscription, entry: ResolverEntry) -> bool:
    return (
        subscription.package == entry.package
        and subscription.channel in ("", entry.channel)
        and subscription.catalog in (entry.catalog, CatalogKey("", ""))
    )


def _generate_subscription(entry: ResolverEntry) -> GeneratedSubscription:
    name = f"{entry.package}-{entry.channel}-{entry.catalog.name}-{entry.catalog.namespace}"
    return GeneratedSubscription(
        name=name,
        package=entry.package,
        channel=entry.channel,
        catalog=entry.catalog,
        starting_csv=entry.name,
    )


def _turns(inputs: ResolverInput) -> Iterator[tuple[int, ...]]:
    """Return the orders in which channels are tried for each Subscription that names none."""
    each = [
        range(1) if subscription.channel else range(_MAX_TURNS)
        for subscription in inputs.subscriptions
    ]
    return itertools.islice(itertools.product(*each), _MAX_TURNS**2)


def _rotate(turn: int, found: Sequence[ResolverEntry]) -> Sequence[ResolverEntry]:
    orders = list(itertools.islice(itertools.permutations(found), _MAX_TURNS))
    return orders[turn % len(orders)]


def _orders(anchors: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if math.factorial(len(anchors)) <= _MAX_ORDERS:
        yield from itertools.permutations(anchors)
        return
    for start in range(len(anchors)):
        turned = (*anchors[start:], *anchors[:start])
        yield turned
        yield turned[::-1]
