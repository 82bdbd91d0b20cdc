"""The search: preferences, constraints, and what OLM loses in the process."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from olmkit.olm.resolver import search
from olmkit.olm.resolver.search import SearchProblem


def problem(size: int) -> SearchProblem:
    made = SearchProblem()
    for _ in range(size):
        made.variable()
    return made


def test_the_first_candidate_is_selected_or_the_next_one_if_it_is_impossible() -> None:
    made = problem(3)
    made.required.append(0)
    made.choices[0].append((1, 2))
    assert search.solve(made, [0]) == {0, 1}

    made.choices[1].append(())
    assert search.solve(made, [0]) == {0, 2}


def test_an_assumed_candidate_is_selected_although_it_is_not_the_first() -> None:
    made = problem(4)
    made.required += [0, 1]
    made.choices[0].append((2,))
    made.choices[1].append((3, 2))
    made.at_most_one((2, 3))

    assert search.solve(made, [0, 1]) == {0, 1, 2}


def test_a_duplicate_entry_can_never_be_selected() -> None:
    made = problem(2)
    made.required.append(0)
    made.choices[0].append((1,))
    made.at_most_one((1, 1))

    assert search.solve(made, [0]) is None


def test_a_rejected_choice_keeps_the_installed_version() -> None:
    # a: 2 is the upgrade, 4 the installed version. c: 3 is the upgrade, 5 the installed version.
    # The upgrade of c needs 6 or 7, which belong to the package of a.
    made = problem(8)
    made.required += [0, 1]
    made.kept |= {4, 5}
    made.choices[0].append((2, 4))
    made.choices[1].append((3, 5))
    made.choices[3].append((6, 7))
    made.at_most_one((2, 4, 6, 7))
    made.at_most_one((3, 5))

    assert search.solve(made, [0, 1]) == {0, 1, 2, 5}
    assert search.solve(made, [1, 0]) == {0, 1, 4, 5}


@st.composite
def problems(draw: st.DrawFn) -> SearchProblem:
    size = draw(st.integers(2, 7))
    made = problem(size)
    one = st.integers(0, size - 1)
    made.required += draw(st.lists(one, max_size=2, unique=True))
    made.prohibited |= draw(st.sets(one, max_size=1))
    for owner in range(size):
        made.choices[owner] += draw(
            st.lists(st.lists(one, max_size=3, unique=True).map(tuple), max_size=2)
        )
    for group in draw(st.lists(st.lists(one, min_size=2, max_size=4, unique=True), max_size=3)):
        made.at_most_one(group)
    return made


def is_met(made: SearchProblem, selected: frozenset[int]) -> bool:
    """Return whether a selection satisfies all constraints, checked one by one."""
    return (
        selected.issuperset(made.required)
        and selected.isdisjoint(made.prohibited)
        and all(selected.intersection(needed) for one in selected for needed in made.choices[one])
        and all(len(selected.intersection(group)) < 2 for group in made.groups)
    )


@given(problems())
def test_a_selection_is_found_if_and_only_if_there_is_one(made: SearchProblem) -> None:
    size = len(made.choices)
    possible = any(
        is_met(made, frozenset(some))
        for count in range(size + 1)
        for some in itertools.combinations(range(size), count)
    )
    found = search.solve(made, made.required)

    assert (found is not None) == possible
    assert found is None or is_met(made, found)
