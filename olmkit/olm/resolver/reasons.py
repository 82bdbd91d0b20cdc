"""Why OLM v0 does not take what one would expect: the better candidates, each with a reason.

OLM itself says nothing when an upgrade cannot be: what is installed stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.catalog.graph import obstacles, upgrades
from olmkit.olm.resolver import search, solve
from olmkit.olm.resolver.candidates import Collected
from olmkit.olm.resolver.resolution import Entry, ResolverInput, Subscription
from olmkit.olm.resolver.solve import Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A bundle that a Subscription would rather have, and why it cannot be."""

    subscription: str
    csv: str
    reason: str


def rejected(inputs: ResolverInput) -> tuple[Rejected, ...]:
    """For each Subscription the bundles that are better than what it has, the best first."""
    collector = solve.collect(inputs)
    if isinstance(collector, Failed):
        return ()
    reasons = _Reasons(collector.found)
    return tuple(
        one
        for subscription in inputs.subscriptions
        for one in reasons.of_subscription(inputs, subscription)
    )


class _Reasons:
    def __init__(self, found: Collected) -> None:
        self._found = found
        self._defects: dict[Entry, str] = {}

    def of_subscription(
        self, inputs: ResolverInput, subscription: Subscription
    ) -> Iterator[Rejected]:
        offers = self._found.offers.get(subscription.name, ())
        for entry in offers:
            reason = self._defect(entry) or self._clash(entry)
            if reason:
                yield Rejected(subscription=subscription.name, csv=entry.name, reason=reason)
        head = _head(inputs, subscription)
        if (
            subscription.installed_csv
            and not offers
            and head not in ("", subscription.installed_csv)
        ):
            reason = f"no upgrade leads there from `{subscription.installed_csv}`"
            yield Rejected(subscription=subscription.name, csv=head, reason=reason)

    def _clash(self, entry: Entry) -> str:
        found, problem = self._found, self._found.problem
        number = found.entries[entry]
        problem.required.append(number)
        try:
            possible = search.solve(problem, [*found.anchors, number])
        finally:
            problem.required.pop()
        return "" if possible else "it cannot be installed beside the rest"

    def _defect(self, entry: Entry) -> str:
        """What is wrong with the bundle itself, or with all that it could take along."""
        if entry not in self._defects:
            self._defects[entry] = ""  # what needs itself is not wrong for that
            self._defects[entry] = _own(entry) or self._missing(entry)
        return self._defects[entry]

    def _missing(self, entry: Entry) -> str:
        for predicate, providers in self._found.needs.get(entry, ()):
            if not providers:
                return f"it requires an operator {predicate}, and no catalog offers one"
            defects = [self._defect(one) for one in providers]
            if all(defects):
                return (
                    f"it requires an operator {predicate}, and `{providers[0].name}` is none "
                    f"that can be: {defects[0]}"
                )
        return ""


def _own(entry: Entry) -> str:
    reason = obstacles.reason(
        apis=[str(api) for api in entry.apis],
        packages=entry.packages,
        is_deprecated=entry.is_deprecated,
    )
    return f"it {reason}" if reason else ""


def _head(inputs: ResolverInput, subscription: Subscription) -> str:
    channel = [
        entry
        for source in inputs.sources
        if source.key == subscription.catalog
        for entry in source.entries
        if (entry.package, entry.channel) == (subscription.package, subscription.channel)
    ]
    return (
        upgrades.order_of(channel, subscription.package, subscription.channel)[0].name
        if channel
        else ""
    )
