"""Explanations of conflicts compared with the search, on one of 40 worlds and each manual one.

The search decides whether a bundle can be selected together with required ones; the explanation
must agree, be contradictory, and need each of its constraints.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from olmkit.olm.resolver import conflicts, report, search, solve
from olmkit.olm.resolver.conflicts import AtMostOne, Constraint, Needs, Prohibited, Required
from olmkit.olm.resolver.search import SearchProblem
from olmkit.olm.resolver.solve import Failed
from tests.conformance.resolution.test_resolver import inputs_of
from tests.conformance.resolution.worlds import worlds


def problem_of(problem: SearchProblem, constraints: Iterable[Constraint]) -> SearchProblem:
    """Return a problem with the same variables and only these constraints."""
    found = SearchProblem(choices=[[] for _ in problem.choices])
    for one in constraints:
        match one:
            case Required(variable):
                found.required.append(variable)
            case Prohibited(variable):
                found.prohibited.add(variable)
            case Needs(variable, _, candidates):
                found.choices[variable].append(candidates)
            case AtMostOne(_, variables):
                found.at_most_one(variables)
    return found


def is_possible(problem: SearchProblem) -> bool:
    return search.solve(problem, problem.required) is not None


def test_explanations_agree_with_the_search_and_are_minimal(vectors: Path) -> None:
    explained = possible = 0
    for number, (world, _) in enumerate(worlds(vectors / "resolve")):
        if number % 40 and world["id"].startswith("w-"):
            continue
        collector = solve.collect(inputs_of(world))
        if isinstance(collector, Failed):
            continue
        found = collector.found
        for also in ((), *((found.entries[one],) for one in found.entries)):
            core = conflicts.explain(found.problem, also)
            whole = SearchProblem(
                choices=found.problem.choices,
                required=[*found.problem.required, *also],
                prohibited=found.problem.prohibited,
                groups=found.problem.groups,
            )
            assert is_possible(whole) == (not core), world["id"]
            if not core:
                possible += 1
                continue
            explained += 1
            assert not is_possible(problem_of(found.problem, core)), world["id"]
            for one in core:
                fewer = [other for other in core if other != one]
                assert is_possible(problem_of(found.problem, fewer)), world["id"]
        for entry in found.entries:
            facts = report.explain_conflict(found, entry)
            assert bool(facts) == bool(conflicts.explain(found.problem, (found.entries[entry],)))
            assert all(fact and not fact.endswith(".") for fact in facts)
    assert explained > 100
    assert possible > 100
