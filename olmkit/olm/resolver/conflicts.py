"""Find the few constraints of a problem that contradict each other.

`search` gives the same results as OLM and records no reasons. Here the constraints are labelled,
and the search records the constraints behind each conclusion. The result is a contradictory set;
constraints that the contradiction does not need are then removed one by one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from olmkit.olm.resolver.search import SearchProblem

_MOST_STEPS: Final = 20_000  # limit of constraint visits; hard problems get no explanation


class TooHardError(Exception):
    """The search for a contradiction was given up."""


@dataclass(frozen=True, slots=True)
class Required:
    """A variable that must be selected."""

    variable: int


@dataclass(frozen=True, slots=True)
class Prohibited:
    """A variable that must not be selected."""

    variable: int


@dataclass(frozen=True, slots=True)
class Needs:
    """List `index` of a variable's requirements: one of `candidates` must be selected."""

    variable: int
    index: int
    candidates: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class AtMostOne:
    """Group `index` of the problem: at most one of `variables` may be selected."""

    index: int
    variables: tuple[int, ...]


Constraint = Required | Prohibited | Needs | AtMostOne


def explain(
    problem: SearchProblem, also: Iterable[int], preferred: Sequence[Constraint] = ()
) -> tuple[Constraint, ...]:
    """Return a smallest set of constraints that contradict each other when `also` are selected.

    None of them can be left out. Of several sets, one with the `preferred` constraints is chosen if
    possible. Empty if there is no contradiction. Raises `TooHardError`.
    """
    constraints = [*(Required(one) for one in also), *_constraints(problem)]
    core = _Search(constraints).contradiction()
    if core is None:
        return ()
    kept = [one for one in constraints if one in core]
    # Constraints that are tried first are removed first: groups, then the rest, then the preferred
    # ones.
    for one in sorted(kept, key=lambda one: (one in preferred, not isinstance(one, AtMostOne))):
        fewer = [other for other in kept if other != one]
        if _Search(fewer).contradiction() is not None:
            kept = fewer
    return tuple(kept)


def _constraints(problem: SearchProblem) -> Iterator[Constraint]:
    yield from (Required(one) for one in problem.required)
    yield from (Prohibited(one) for one in sorted(problem.prohibited))
    for variable, lists in enumerate(problem.choices):
        for index, candidates in enumerate(lists):
            if variable not in candidates:
                yield Needs(variable, index, candidates)
    for index, group in enumerate(problem.groups):
        if len(group) > 1:
            yield AtMostOne(index, group)


@dataclass(slots=True)
class _Fact:
    """A decided variable: by a constraint and the facts before it, or by a guess."""

    value: bool
    by: Constraint | None
    after: tuple[int, ...] = ()


@dataclass(slots=True)
class _Search:
    constraints: Sequence[Constraint]
    _watching: dict[int, list[Constraint]] = field(default_factory=dict)
    _facts: dict[int, _Fact] = field(default_factory=dict)
    _steps: int = 0

    def contradiction(self) -> frozenset[Constraint] | None:
        """Return constraints that contradict each other; None if all of them can be met."""
        for one in self.constraints:
            for variable in _variables(one):
                self._watching.setdefault(variable, []).append(one)
        found = self._solve(self.constraints)
        return None if found is None else frozenset(found[0])

    def _solve(self, fresh: Iterable[Constraint]) -> tuple[set[Constraint], set[int]] | None:
        """Return the constraints and guesses behind a contradiction; None if there is none."""
        trail: list[int] = []
        found = self._propagate(fresh, trail)
        if found is None:
            found = self._branch()
        for variable in trail:
            del self._facts[variable]
        return found

    def _branch(self) -> tuple[set[Constraint], set[int]] | None:
        guess = self._open_candidate()
        if guess is None:
            return None
        behind: set[Constraint] = set()
        guesses: set[int] = set()
        for value in (True, False):
            self._facts[guess] = _Fact(value, None)
            found = self._solve(self._watching.get(guess, ()))
            del self._facts[guess]
            if found is None:
                return None
            if guess not in found[1]:
                return found
            behind |= found[0]
            guesses |= found[1] - {guess}
        return behind, guesses

    def _open_candidate(self) -> int | None:
        """Return a candidate for an unmet requirement of a selected variable."""
        for one in self.constraints:
            if isinstance(one, Needs) and self._is(one.variable, value=True):
                if any(self._is(other, value=True) for other in one.candidates):
                    continue
                return next(other for other in one.candidates if other not in self._facts)
        return None

    def _propagate(
        self, fresh: Iterable[Constraint], trail: list[int]
    ) -> tuple[set[Constraint], set[int]] | None:
        pending = deque(fresh)
        while pending:
            self._steps += 1
            if self._steps > _MOST_STEPS:
                raise TooHardError
            one = pending.popleft()
            for variable, value, after in self._conclusions(one):
                known = self._facts.get(variable)
                if known is None:
                    self._facts[variable] = _Fact(value, one, after)
                    trail.append(variable)
                    pending.extend(self._watching[variable])
                elif known.value != value:
                    return self._behind(one, (variable, *after))
        return None

    def _conclusions(self, one: Constraint) -> Iterator[tuple[int, bool, tuple[int, ...]]]:
        match one:
            case Required(variable):
                yield variable, True, ()
            case Prohibited(variable):
                yield variable, False, ()
            case Needs(variable, _, candidates):
                if any(self._is(other, value=True) for other in candidates):
                    return
                open_ = [other for other in candidates if other not in self._facts]
                if not open_:
                    yield variable, False, candidates
                elif len(open_) == 1 and self._is(variable, value=True):
                    others = tuple(other for other in candidates if other != open_[0])
                    yield open_[0], True, (variable, *others)
            case AtMostOne(_, variables):
                selected = next((one for one in variables if self._is(one, value=True)), None)
                if selected is not None:
                    for other in variables:
                        if other != selected:
                            yield other, False, (selected,)

    def _is(self, variable: int, *, value: bool) -> bool:
        fact = self._facts.get(variable)
        return fact is not None and fact.value == value

    def _behind(
        self, last: Constraint, variables: Iterable[int]
    ) -> tuple[set[Constraint], set[int]]:
        found, guesses = {last}, set()
        waiting, seen = list(variables), set(variables)
        while waiting:
            variable = waiting.pop()
            fact = self._facts[variable]
            if fact.by is None:
                guesses.add(variable)
                continue
            found.add(fact.by)
            fresh = [other for other in fact.after if other not in seen]
            seen.update(fresh)
            waiting += fresh
        return found, guesses


def _variables(one: Constraint) -> tuple[int, ...]:
    match one:
        case Required(variable) | Prohibited(variable):
            return (variable,)
        case Needs(variable, _, candidates):
            return (variable, *candidates)
        case AtMostOne(_, variables):
            return variables
