from __future__ import annotations

import os
import threading

import pytest

from olmkit.edges import workers


def double(number: int) -> tuple[int, int]:
    return number * 2, os.getpid()


def refuse(number: int) -> int:
    raise ValueError(f"{number} is refused")


@pytest.mark.parametrize("count", [0, 1, 3, 4, 20])
def test_results_are_in_the_order_of_the_items(count: int) -> None:
    done = workers.map_all(double, range(count), processes=2)

    assert [value for value, _ in done] == [number * 2 for number in range(count)]


def test_a_few_items_are_processed_in_this_process() -> None:
    assert {where for _, where in workers.map_all(double, range(3))} == {os.getpid()}


def test_one_process_is_this_process() -> None:
    assert {where for _, where in workers.map_all(double, range(9), processes=1)} == {os.getpid()}


def test_with_other_threads_no_process_is_forked() -> None:
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        found = workers.map_all(double, range(9), processes=2)
    finally:
        done.set()
        other.join()

    assert {where for _, where in found} == {os.getpid()}


def test_an_exception_of_the_work_is_raised() -> None:
    with pytest.raises(ValueError, match="is refused"):
        workers.map_all(refuse, range(9), processes=2)


def test_the_number_of_processors_is_positive() -> None:
    assert workers.processors() >= 1
