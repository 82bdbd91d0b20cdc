"""Describe a contradiction in sentences: which requirements exclude which bundles.

Only this module writes sentences; `conflicts` returns the constraints. The order is for readers:
the requested bundle, then its requirements, then what excludes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from olmkit.catalog.graph import obstacles
from olmkit.olm.resolver import conflicts
from olmkit.olm.resolver.candidates import Candidates
from olmkit.olm.resolver.conflicts import AtMostOne, Constraint, Needs, Prohibited, Required
from olmkit.olm.resolver.requirements import EntryPredicate, InRange, Provides
from olmkit.olm.resolver.resolution import ResolverEntry, Subscription

_MOST_NAMES = 3


def explain_conflict(found: Candidates, entry: ResolverEntry) -> tuple[str, ...]:
    """Explain why an entry conflicts with the mandatory entries; empty if it does not.

    Each sentence is a fact; together they contradict each other.
    """
    return _sentences(found, (found.entries[entry],))


def unsatisfiable(found: Candidates) -> tuple[str, ...]:
    """Explain why the mandatory entries cannot be selected together; empty if they can."""
    return _sentences(found, ())


def join_sentences(sentences: Sequence[str]) -> str:
    """Join the sentences into one, with commas and a final `and`."""
    return ", and ".join([", ".join(sentences[:-1]), sentences[-1]] if sentences[1:] else sentences)


def _sentences(found: Candidates, also: tuple[int, ...]) -> tuple[str, ...]:
    packages = [
        AtMostOne(index, found.problem.groups[index])
        for index, label in found.groups.items()
        if label.startswith("package ")
    ]
    try:
        core = conflicts.explain(found.problem, also, preferred=packages)
    except conflicts.TooHardError:
        return ("it cannot be installed together with the rest",) if also else ()
    return tuple(_Report(found, core, also).sentences())


@dataclass(frozen=True, slots=True)
class _Report:
    found: Candidates
    core: tuple[Constraint, ...]
    also: tuple[int, ...]

    def sentences(self) -> Iterator[str]:
        names = {number: entry for entry, number in self.found.entries.items()}
        needs = {one.variable: one for one in self.core if isinstance(one, Needs)}
        prohibited = {one.variable for one in self.core if isinstance(one, Prohibited)}
        reported: set[Constraint] = set()

        def follow(variable: int) -> Iterator[str]:
            """Yield the transitive requirements of a selected entry."""
            for one in self.core:
                if one in reported or not isinstance(one, Needs) or one.variable != variable:
                    continue
                reported.add(one)
                if variable in names:
                    yield self._need(names, names[variable], one)
                    for candidate in one.candidates:
                        yield from follow(candidate)

        starts = [*self.also, *(one.variable for one in self.core if isinstance(one, Required))]
        for variable in dict.fromkeys(starts):
            if variable in names:
                yield from follow(variable)
        for variable in needs:
            if variable in names:
                yield from follow(variable)
        for variable in sorted(prohibited & names.keys()):
            subject = "it" if variable in self.also else f"`{names[variable].name}`"
            yield f"{subject} {_describe_obstacle(names[variable])}"
        pinned = list(self._subscriptions(names))
        for one in self.core:
            if isinstance(one, AtMostOne):
                yield from self._group(names, one, is_pinned=bool(pinned))
        yield from pinned
        for one in self.core:
            if isinstance(one, Required) and one.variable in names:
                entry = names[one.variable]
                if one.variable not in self.also:
                    yield f"`{entry.name}` is installed and no Subscription may replace it"

    def _need(self, names: dict[int, ResolverEntry], entry: ResolverEntry, one: Needs) -> str:
        predicate, _ = self.found.needs[entry][one.index]
        subject = "it" if self.found.entries[entry] in self.also else f"`{entry.name}`"
        listed = list(dict.fromkeys(names[candidate].name for candidate in one.candidates))
        needs = f"{subject} needs {_describe_predicate(predicate)}"
        if not listed:
            return f"{needs}, which no catalog offers"
        return f"{needs}, which only {_list_names(listed)} {_describe_offers(listed)}"

    def _group(
        self, names: dict[int, ResolverEntry], one: AtMostOne, *, is_pinned: bool
    ) -> Iterator[str]:
        """Yield two entries that exclude each other; nothing for those of one package."""
        label = self.found.groups.get(one.index, "")
        concerned = self._concerned()
        both = list(
            dict.fromkeys(
                names[variable].name
                for variable in one.variables
                if variable in names and variable in concerned
            )
        )
        noun, _, what = label.partition(" ")
        if noun == "API" and len(both) > 1:
            version, _, kind = what.partition(", Kind=")
            many = "both" if len(both) == 2 else "all"
            yield f"{_list_names(both)} {many} provide the API `{kind}` (`{version}`)"
        elif noun == "package" and len(both) > 1 and not is_pinned:
            yield f"{_list_names(both)} are of the package `{what}`"
        elif not label and len(both) > 1 and not is_pinned:
            yield f"{_list_names(both)} cannot be installed together"

    def _subscriptions(self, names: dict[int, ResolverEntry]) -> Iterator[str]:
        for one in self.core:
            if isinstance(one, Needs) and one.variable in self.found.subscriptions:
                subscription = self.found.subscriptions[one.variable]
                listed = list(dict.fromkeys(names[candidate].name for candidate in one.candidates))
                yield _describe_pinned(subscription, listed)
            elif isinstance(one, Prohibited) and one.variable in self.found.subscriptions:
                name = self.found.subscriptions[one.variable].name
                unmet = self.found.unmet.get(name, "")
                yield unmet or f"Subscription `{name}` has nothing to choose from"

    def _concerned(self) -> set[int]:
        """Return the variables that another constraint of the contradiction is about."""
        found = set(self.also)
        for one in self.core:
            match one:
                case Required(variable) | Prohibited(variable):
                    found.add(variable)
                case Needs(variable, _, candidates):
                    found |= {variable, *candidates}
                case _:
                    pass
        return found


def _describe_pinned(subscription: Subscription, listed: Sequence[str]) -> str:
    channel = (
        f" is pinned to channel `{subscription.channel}`, which" if subscription.channel else ""
    )
    if subscription.installed_csv and list(listed) == [subscription.installed_csv]:
        verb = "offers no upgrade from" if channel else " has no upgrade from"
        return f"Subscription `{subscription.name}`{channel} {verb.strip()} `{listed[0]}`"
    verb = "offers" if channel else "may have"
    return f"Subscription `{subscription.name}`{channel} {verb} {_list_names(listed)}"


def _describe_predicate(predicate: EntryPredicate) -> str:
    match predicate:
        case Provides(api):
            return f"the API `{api.kind}` (`{'/'.join(part for part in api[:2] if part)}`)"
        case InRange(package=package, text=text):
            return f"package `{package}` in `{text}`"
        case _:
            return f"an operator {predicate}"


def _describe_offers(listed: Sequence[str]) -> str:
    return "offers" if len(listed) == 1 else "offer"


def _list_names(names: Iterable[str]) -> str:
    listed = [f"`{name}`" for name in names]
    more = len(listed) - _MOST_NAMES
    if more > 0:
        return f"{', '.join(listed[:_MOST_NAMES])} and {more} more"
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if listed[1:] else listed)


def _describe_obstacle(entry: ResolverEntry) -> str:
    reason = obstacles.reason(
        apis=[str(api) for api in entry.apis],
        packages=entry.packages,
        is_deprecated=entry.is_deprecated,
    )
    return reason or "cannot be selected"
