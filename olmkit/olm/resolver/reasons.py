"""Explain why OLM v0 does not choose better candidates.

OLM does not report an upgrade that is not possible: the installed version remains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.catalog.graph import upgrades
from olmkit.olm.resolver import report, solve
from olmkit.olm.resolver.candidates import Candidates
from olmkit.olm.resolver.resolution import ResolverInput, Subscription
from olmkit.olm.resolver.solve import Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedBundle:
    """A bundle that a Subscription prefers, and why it cannot be installed."""

    subscription: str
    csv: str
    reason: str
    facts: tuple[str, ...] = ()


def find_rejected(inputs: ResolverInput) -> tuple[RejectedBundle, ...]:
    """Return for each Subscription the bundles that are better than its choice, the best first."""
    collector = solve.collect(inputs)
    if isinstance(collector, Failed):
        return ()
    return tuple(
        one
        for subscription in inputs.subscriptions
        for one in _find_rejected(collector.found, inputs, subscription)
    )


def unsatisfiable(inputs: ResolverInput) -> tuple[str, ...]:
    """Explain why OLM cannot meet all requirements, as facts; empty if it can.

    Anything that prevents a resolution, such as an invalid version range, is a fact too.
    """
    collector = solve.collect(inputs)
    if isinstance(collector, Failed):
        return collector.facts
    return report.unsatisfiable(collector.found)


def unreadable(inputs: ResolverInput) -> tuple[str, ...]:
    """Return what prevents every resolution: bundles with values that OLM cannot parse."""
    collector = solve.collect(inputs)
    return collector.facts if isinstance(collector, Failed) else ()


def has_requirements(inputs: ResolverInput) -> bool:
    """Return whether a candidate has requirements, for which OLM reads all visible catalogs."""
    collector = solve.collect(inputs)
    return not isinstance(collector, Failed) and any(collector.found.needs.values())


def against(inputs: ResolverInput, subscription: str, csv: str) -> tuple[str, ...]:
    """Explain why a Subscription cannot get a bundle that its channel offers; empty if it can."""
    collector = solve.collect(inputs)
    if isinstance(collector, Failed):
        return collector.facts
    found = collector.found
    named = (one for one in found.offers.get(subscription, ()) if one.name == csv)
    each = [report.explain_conflict(found, entry) for entry in named]
    return each[0] if each and all(each) else ()


def _find_rejected(
    found: Candidates, inputs: ResolverInput, subscription: Subscription
) -> Iterator[RejectedBundle]:
    name = subscription.name
    offers = found.offers.get(name, ())
    for entry in offers:
        facts = report.explain_conflict(found, entry)
        if facts:
            reason = report.join_sentences(facts)
            yield RejectedBundle(subscription=name, csv=entry.name, reason=reason, facts=facts)
    head = _head(inputs, subscription)
    if subscription.installed_csv and not offers and head not in ("", subscription.installed_csv):
        reason = f"no upgrade leads there from `{subscription.installed_csv}`"
        yield RejectedBundle(subscription=name, csv=head, reason=reason, facts=(reason,))


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
