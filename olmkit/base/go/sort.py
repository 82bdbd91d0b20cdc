"""Sort like Go's `sort.Slice`, which is not stable.

The order of equal items depends only on the algorithm: pattern-defeating quicksort, with fixed
choices of pivots. To write the same bytes as tools that sort this way, the same algorithm is
needed. Other code uses `sorted`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

T = TypeVar("T")

# Up to this length, Go uses insertion sort, which is stable.
_INSERTION: Final = 12
_NINTHER: Final = 50
_SHIFTS: Final = 5
# All twelve comparisons of the candidates found the greater one first.
_DESCENDING: Final = 12
_MASK: Final = 2**64 - 1


def sort_slice(items: Iterable[T], key: Callable[[T], Any]) -> list[T]:
    """Return the items by `key`, equal ones in the order in which `sort.Slice` leaves them."""
    values = list(items)
    keys = [key(value) for value in values]
    if len(values) <= _INSERTION or len(set(keys)) == len(keys):
        return sorted(values, key=key)
    slice_ = _Slice(keys, values)
    slice_.sort(0, len(values), len(values).bit_length())
    return values


class _Slice:
    """Two lists that are sorted together by the first one."""

    def __init__(self, keys: list[Any], values: list[Any]) -> None:
        self._keys = keys
        self._values = values

    def sort(self, start: int, end: int, limit: int) -> None:
        balanced = partitioned = True
        while True:
            length = end - start
            if length <= _INSERTION or limit == 0:
                # Go uses heapsort after too many bad pivots; no real list needs that.
                self._insert(start, end)
                return
            if not balanced:
                self._scatter(start, end)
                limit -= 1
            pivot, swaps = self._pivot(start, end)
            if swaps == _DESCENDING:
                self._keys[start:end] = self._keys[start:end][::-1]
                self._values[start:end] = self._values[start:end][::-1]
                pivot, swaps = end - 1 - (pivot - start), 0
            if balanced and partitioned and swaps == 0 and self._is_nearly_sorted(start, end):
                return
            if start > 0 and not self._keys[start - 1] < self._keys[pivot]:
                start = self._split_equal(start, end, pivot)
                continue
            middle, partitioned = self._split(start, end, pivot)
            left, right = middle - start, end - middle
            balanced = min(left, right) >= length // 8
            if left < right:
                self.sort(start, middle, limit)
                start = middle + 1
            else:
                self.sort(middle + 1, end, limit)
                end = middle

    def _swap(self, one: int, other: int) -> None:
        for items in (self._keys, self._values):
            items[one], items[other] = items[other], items[one]

    def _insert(self, start: int, end: int) -> None:
        order = sorted(range(start, end), key=self._keys.__getitem__)
        for items in (self._keys, self._values):
            items[start:end] = [items[index] for index in order]

    def _sink(self, index: int, first: int) -> None:
        """Move an item down to its position, not below `first`."""
        while index > first and self._keys[index] < self._keys[index - 1]:
            self._swap(index, index - 1)
            index -= 1

    def _rise(self, index: int, end: int) -> None:
        while index < end and self._keys[index] < self._keys[index - 1]:
            self._swap(index, index - 1)
            index += 1

    def _is_nearly_sorted(self, start: int, end: int) -> bool:
        """Sort if only a few shifts are needed; return whether that was enough."""
        index = start + 1
        for _ in range(_SHIFTS):
            while index < end and not self._keys[index] < self._keys[index - 1]:
                index += 1
            if index == end:
                return True
            if end - start < _NINTHER:
                return False
            self._swap(index, index - 1)
            if index - start >= 2:
                self._sink(index - 1, 0)
            if end - index >= 2:
                self._rise(index + 1, end)
        return False

    def _pivot(self, start: int, end: int) -> tuple[int, int]:
        """Return the index of the pivot, and the number of swaps among its candidates."""
        quarter = (end - start) // 4
        places = [start + quarter * step for step in (1, 2, 3)]
        swaps = 0
        if end - start >= _NINTHER:
            for index, place in enumerate(places):
                places[index], more = self._median(place - 1, place, place + 1)
                swaps += more
        middle, more = self._median(*places)
        return middle, swaps + more

    def _median(self, one: int, two: int, three: int) -> tuple[int, int]:
        keys, swaps = self._keys, 0
        if keys[two] < keys[one]:
            one, two, swaps = two, one, swaps + 1
        if keys[three] < keys[two]:
            two, swaps = three, swaps + 1
        if keys[two] < keys[one]:
            two, swaps = one, swaps + 1
        return two, swaps

    def _split(self, start: int, end: int, pivot: int) -> tuple[int, bool]:
        """Move smaller items to the left, the others to the right.

        Returns the position of the pivot, and whether all items were already in place.
        """
        keys = self._keys
        self._swap(start, pivot)
        low, high = start + 1, end - 1
        already = True
        while True:
            while low <= high and keys[low] < keys[start]:
                low += 1
            while low <= high and not keys[high] < keys[start]:
                high -= 1
            if low > high:
                self._swap(high, start)
                return high, already
            already = False
            self._swap(low, high)
            low, high = low + 1, high - 1

    def _split_equal(self, start: int, end: int, pivot: int) -> int:
        """Move items equal to the pivot to the left, greater ones right; return the boundary."""
        keys = self._keys
        self._swap(start, pivot)
        low, high = start + 1, end - 1
        while True:
            while low <= high and not keys[start] < keys[low]:
                low += 1
            while low <= high and keys[start] < keys[high]:
                high -= 1
            if low > high:
                return low
            self._swap(low, high)
            low, high = low + 1, high - 1

    def _scatter(self, start: int, end: int) -> None:
        """Move three items, so that a pattern does not cause bad pivots again."""
        length = random = end - start
        span = 1 << length.bit_length()
        middle = start + length // 4 * 2
        for index in (middle - 1, middle, middle + 1):
            random ^= random << 13 & _MASK
            random ^= random >> 7
            random ^= random << 17 & _MASK
            other = random & (span - 1)
            self._swap(index, start + (other - length if other >= length else other))
