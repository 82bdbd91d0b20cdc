"""Search for a selection that meets all constraints, with OLM's preferences.

Choices are made in the order in which they arise, each with the first candidate that does not cause
an immediate contradiction. If all are made and cannot be met, the last one is undone. A choice
without remaining candidates is skipped, and its position in its list is kept. OLM sometimes loses a
preference this way, and the result depends on it.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

Literal = tuple[int, bool]


@dataclass(slots=True)
class SearchProblem:
    """Variables by number. `choices[v]`: if `v` is selected, each list needs one selected member.

    `kept` are the variables that are preferred where no choice decides.
    """

    choices: list[list[tuple[int, ...]]] = field(default_factory=list)
    required: list[int] = field(default_factory=list)
    prohibited: set[int] = field(default_factory=set)
    groups: list[tuple[int, ...]] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)

    def variable(self) -> int:
        self.choices.append([])
        return len(self.choices) - 1

    def at_most_one(self, variables: Sequence[int]) -> None:
        """Allow at most one of them; a variable that is listed twice can never be selected."""
        counts = Counter(variables)
        self.prohibited |= {one for one, count in counts.items() if count > 1}
        self.groups.append(tuple(counts))


@dataclass(slots=True)
class _Guess:
    candidates: tuple[int, ...]
    index: int
    variable: int | None
    children: int = 0
    mark: int = 0


def solve(problem: SearchProblem, anchors: Iterable[int]) -> frozenset[int] | None:
    """Return the selected variables, with `anchors` in order; None if there is no solution."""
    state = _State(problem)
    if not state.is_sound:
        return None
    waiting: deque[tuple[tuple[int, ...], int]] = deque(((one,), 0) for one in anchors)
    guesses: list[_Guess] = []
    assumed: set[int] = set()
    holds = True
    while True:
        if holds and not waiting:
            holds = state.is_satisfiable()
            if holds:
                return state.smallest_selection()
        if holds:
            guess = _guess(problem, waiting, assumed)
            guesses.append(guess)
            if guess.variable is not None:
                guess.mark = state.mark()
                assumed.add(guess.variable)
                holds = state.assume(guess.variable, value=True)
            continue
        if not guesses:
            return None
        guess = guesses.pop()
        for _ in range(guess.children):
            waiting.pop()
        if guess.variable is not None:
            assumed.discard(guess.variable)
            state.undo(guess.mark)
            holds = True
            guess.index += 1
        waiting.appendleft((guess.candidates, guess.index))


def _guess(
    problem: SearchProblem, waiting: deque[tuple[tuple[int, ...], int]], assumed: set[int]
) -> _Guess:
    """Make the next choice, or skip it; its own requirements are chosen last."""
    candidates, index = waiting.popleft()
    if index >= len(candidates) or not assumed.isdisjoint(candidates):
        return _Guess(candidates, index, None)
    guess = _Guess(candidates, index, candidates[index])
    for needed in problem.choices[candidates[index]]:
        if needed:
            waiting.append((needed, 0))
            guess.children += 1
    return guess


class _State:
    """The state of the search: unit propagation, and a full search on request."""

    def __init__(self, problem: SearchProblem) -> None:
        size = len(problem.choices)
        self._values: list[bool | None] = [None] * size
        self._rejected_first = sorted(range(size), key=lambda one: (one in problem.kept, one))
        self._trail: list[int] = []
        self._clauses: list[tuple[Literal, ...]] = []
        self._open: list[int] = []
        self._watching: dict[Literal, list[int]] = {}
        for owner, lists in enumerate(problem.choices):
            for candidates in lists:
                if owner not in candidates:
                    self._add((owner, False), *((one, True) for one in dict.fromkeys(candidates)))
        self._others: list[list[tuple[int, ...]]] = [[] for _ in range(size)]
        for group in problem.groups:
            for one in group:
                self._others[one].append(group)
        facts = [clause[0] for clause in self._clauses if len(clause) == 1]
        facts += [(one, True) for one in problem.required]
        facts += [(one, False) for one in sorted(problem.prohibited)]
        self.is_sound = all(self.assume(variable, value=value) for variable, value in facts)

    def mark(self) -> int:
        return len(self._trail)

    def undo(self, mark: int) -> None:
        """Undo all assumptions since the mark."""
        while len(self._trail) > mark:
            variable = self._trail.pop()
            value = self._values[variable]
            self._values[variable] = None
            for clause in self._watching.get((variable, not value), ()):
                self._open[clause] += 1

    def assume(self, variable: int, *, value: bool) -> bool:
        """Assume a literal and its consequences; return whether there is no contradiction."""
        pending = deque([(variable, value)])
        while pending:
            variable, value = pending.popleft()
            now = self._values[variable]
            if now is not None:
                if now != value:
                    return False
                continue
            self._values[variable] = value
            self._trail.append(variable)
            holds = True
            for clause in self._watching.get((variable, not value), ()):
                self._open[clause] -= 1
                holds = holds and self._follow(clause, pending)
            if not holds:
                return False
            if value:
                for group in self._others[variable]:
                    pending += ((other, False) for other in group if other != variable)
        return True

    def is_satisfiable(self) -> bool:
        """Return whether all constraints can be met with the current assumptions; it adds none."""
        mark = self.mark()
        found = self._complete(None)
        self.undo(mark)
        return found

    def smallest_selection(self) -> frozenset[int]:
        """Return the selection with the fewest variables beyond the implied ones."""
        extra = 0
        while True:
            mark = self.mark()
            if self._complete(extra):
                return frozenset(one for one, value in enumerate(self._values) if value)
            self.undo(mark)
            extra += 1

    def _complete(self, extra: int | None) -> bool:
        """Decide all open variables, selecting at most `extra` of them; False if impossible."""
        tried: list[tuple[int, int, bool]] = []
        selected = 0
        while True:
            undecided = (one for one in self._rejected_first if self._values[one] is None)
            variable = next(undecided, None)
            if variable is None:
                return True
            value = False
            mark = self.mark()
            while not (
                (not value or extra is None or selected < extra)
                and self.assume(variable, value=value)
            ):
                self.undo(mark)
                while value:
                    if not tried:
                        return False
                    variable, mark, value = tried.pop()
                    selected -= value
                    self.undo(mark)
                value = True
            tried.append((variable, mark, value))
            selected += value

    def _add(self, *literals: Literal) -> None:
        number = len(self._clauses)
        self._clauses.append(literals)
        self._open.append(len(literals))
        for one in literals:
            self._watching.setdefault(one, []).append(number)

    def _follow(self, clause: int, pending: deque[Literal]) -> bool:
        if self._open[clause] == 0:
            return False
        if self._open[clause] == 1:
            for variable, value in self._clauses[clause]:
                if self._values[variable] is None:
                    pending.append((variable, value))
                    break
        return True
