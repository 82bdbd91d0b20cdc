from __future__ import annotations

import random

import pytest

from olmkit.base.go.sort import sort_slice

# Keys, and the indices in the order in which Go's `sort.Slice` leaves them.
VECTORS = [
    (
        "0000000000000",
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
    ),
    (
        "01201201201201201201",
        [9, 18, 15, 3, 12, 0, 6, 10, 7, 4, 13, 16, 1, 19, 8, 5, 11, 14, 2, 17],
    ),
    (
        "444433333222221111100000",
        [23, 22, 21, 20, 19, 14, 18, 17, 16, 15, 12, 9, 11, 13, 10, 7, 8, 6, 5, 4, 0, 3, 2, 1],
    ),
    (
        "333113103210033100001103231123003230221200030230001103333012",
        [
            22,
            57,
            52,
            49,
            48,
            47,
            44,
            7,
            42,
            41,
            40,
            11,
            12,
            35,
            31,
            30,
            16,
            17,
            18,
            19,
            15,
            38,
            20,
            58,
            51,
            50,
            26,
            27,
            3,
            4,
            6,
            10,
            21,
            39,
            45,
            59,
            36,
            37,
            33,
            24,
            28,
            9,
            46,
            32,
            0,
            8,
            34,
            5,
            29,
            14,
            25,
            43,
            2,
            53,
            54,
            55,
            56,
            1,
            23,
            13,
        ],
    ),
    (
        "0000000011611111222222333333334444455555166666677777788",
        [
            0,
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            40,
            11,
            12,
            13,
            14,
            15,
            16,
            17,
            18,
            19,
            20,
            21,
            26,
            23,
            24,
            25,
            22,
            27,
            28,
            29,
            30,
            31,
            32,
            33,
            34,
            39,
            36,
            37,
            38,
            35,
            44,
            41,
            42,
            43,
            10,
            45,
            46,
            47,
            48,
            49,
            50,
            51,
            52,
            53,
            54,
        ],
    ),
    (
        "0000000000000000000000000000001000000000000000000000000000000222",
        [
            0,
            1,
            2,
            3,
            4,
            5,
            6,
            7,
            8,
            9,
            10,
            11,
            12,
            13,
            14,
            15,
            16,
            17,
            18,
            19,
            20,
            21,
            22,
            23,
            24,
            25,
            26,
            27,
            28,
            29,
            31,
            32,
            33,
            34,
            35,
            36,
            37,
            38,
            39,
            40,
            41,
            42,
            43,
            44,
            45,
            46,
            47,
            48,
            49,
            50,
            51,
            52,
            53,
            54,
            55,
            56,
            57,
            58,
            59,
            60,
            30,
            61,
            62,
            63,
        ],
    ),
]


@pytest.mark.parametrize(("keys", "order"), VECTORS, ids=[keys[:20] for keys, _ in VECTORS])
def test_equal_items_have_the_order_of_go(keys: str, order: list[int]) -> None:
    assert sort_slice(range(len(keys)), key=lambda index: keys[index]) == order


@pytest.mark.parametrize("length", [0, 1, 12, 13, 49, 50, 51, 300])
@pytest.mark.parametrize("kinds", [2, 7, 1000])
def test_the_result_is_sorted_and_complete(length: int, kinds: int) -> None:
    chance = random.Random(length * kinds)
    keys = [chance.randrange(kinds) for _ in range(length)]

    order = sort_slice(range(length), key=lambda index: keys[index])

    assert sorted(order) == list(range(length))
    assert [keys[index] for index in order] == sorted(keys)


def test_lists_with_many_equal_keys_are_sorted() -> None:
    for seed in range(100):
        chance = random.Random(seed)
        kinds = chance.choice([2, 3, 4, 6, 10])
        keys = [chance.randrange(kinds) for _ in range(chance.randrange(13, 200))]

        order = sort_slice(range(len(keys)), key=lambda index, keys=keys: keys[index])

        assert [keys[index] for index in order] == sorted(keys), seed


def test_short_lists_are_sorted_stably() -> None:
    assert sort_slice(["b1", "a1", "b2", "a2"], key=lambda item: item[0]) == [
        "a1",
        "a2",
        "b1",
        "b2",
    ]
