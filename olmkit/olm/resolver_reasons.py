"""Why OLM v0 does not take what one would expect: the better candidates, each with a reason.

OLM itself says nothing when an upgrade cannot be: what is installed stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.catalog import upgrades
from olmkit.olm import resolver, search
from olmkit.olm.candidates import Collected
from olmkit.olm.resolution import Entry, Scene, Wish
from olmkit.olm.resolver import Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejected:
    """A bundle that a Subscription would rather have, and why it cannot be."""

    wish: str
    csv: str
    reason: str


def rejected(scene: Scene) -> tuple[Rejected, ...]:
    """For each Subscription the bundles that are better than what it has, the best first."""
    collector = resolver.collect(scene)
    if isinstance(collector, Failed):
        return ()
    return tuple(one for wish in scene.wishes for one in _of_wish(collector.found, scene, wish))


def _of_wish(found: Collected, scene: Scene, wish: Wish) -> Iterator[Rejected]:
    offers = found.offers.get(wish.name, ())
    for entry in offers:
        reason = _reason(found, entry)
        if reason:
            yield Rejected(wish=wish.name, csv=entry.name, reason=reason)
    head = _head(scene, wish)
    if wish.installed_csv and not offers and head not in ("", wish.installed_csv):
        reason = f"no upgrade leads there from `{wish.installed_csv}`"
        yield Rejected(wish=wish.name, csv=head, reason=reason)


def _head(scene: Scene, wish: Wish) -> str:
    channel = [
        entry
        for source in scene.sources
        if source.key == wish.catalog
        for entry in source.entries
        if (entry.package, entry.channel) == (wish.package, wish.channel)
    ]
    return upgrades.order_of(channel, wish.package, wish.channel)[0].name if channel else ""


def _reason(found: Collected, entry: Entry) -> str:
    direct = _defect(found, entry, frozenset())
    if direct:
        return direct
    number = found.entries[entry]
    problem = found.problem
    problem.required.append(number)
    try:
        possible = search.solve(problem, [*found.anchors, number])
    finally:
        problem.required.pop()
    return "" if possible else "it cannot be installed beside the rest"


def _defect(found: Collected, entry: Entry, seen: frozenset[Entry]) -> str:
    """What is wrong with the bundle itself, or with all that it could take along."""
    if entry.is_deprecated:
        return "it is deprecated (property `olm.deprecated`)"
    for kind, values in (("API", list(map(str, entry.apis))), ("package", entry.packages)):
        twice = next((one for one in values if values.count(one) > 1), "")
        if twice:
            return f"it names the {kind} `{twice}` twice, and so stands in its own way"
    for predicate, providers in found.needs.get(entry, ()):
        if not providers:
            return f"it requires an operator {predicate}, and no catalog offers one"
        if entry in providers or seen.intersection(providers):
            continue
        defects = [_defect(found, one, seen | {entry}) for one in providers]
        if all(defects):
            return (
                f"it requires an operator {predicate}, and `{providers[0].name}` is none "
                f"that can be: {defects[0]}"
            )
    return ""
