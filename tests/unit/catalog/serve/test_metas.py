"""Lines of a catalog, found by schema, package and name."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.serve import metas
from olmkit.catalog.serve.metas import BadQueryError, LineIndex, Metas, Query, Span

VALUES = [
    {"schema": "olm.package", "name": "cog"},
    {"schema": "olm.channel", "package": "cog", "name": "stable"},
    {"schema": "olm.bundle", "package": "cog", "name": "cog.v1.0.0"},
    {"schema": "olm.package", "name": "gear"},
    {"schema": "olm.deprecations", "package": "gear"},
    {"schema": "note", "text": "é <b>"},
]


def built(values: list[dict[str, str]]) -> tuple[Metas, bytes]:
    stored = bytearray()
    packer = zlib.compressobj(wbits=31)

    def append(piece: bytes) -> int:
        stored.extend(piece)
        return len(stored) - len(piece)

    found = metas.build(
        (Blob.of(value) for value in values),
        append,
        lambda piece: packer.compress(piece) if piece else packer.flush(),
    )
    return metas.decode(metas.encode(found)), bytes(stored)


def selected(query: Query, values: list[dict[str, str]] = VALUES) -> list[str]:
    found, stored = built(values)
    spans = LineIndex(found).select(query)
    text = b"".join(stored[span.offset : span.offset + span.length] for span in spans)
    return text.decode().splitlines()


def test_lines_are_sorted_compact_and_not_escaped_for_html() -> None:
    assert selected(Query(schema="note")) == ['{"schema":"note","text":"é <b>"}']


def test_the_gzip_form_is_stored_after_the_lines() -> None:
    found, stored = built(VALUES)
    assert gzip.decompress(stored[found.length :]) == stored[: found.length]
    assert found.packed == len(stored) - found.length


@pytest.mark.parametrize(
    ("query", "numbers"),
    [
        (Query(), [0, 1, 2, 3, 4, 5]),
        (Query(schema="olm.package"), [0, 3]),
        (Query(package="cog"), [1, 2]),  # not the package's own blob, which only has a name
        (Query(name="cog"), [0]),
        (Query(schema="olm.package", name="gear"), [3]),
        (Query(schema="olm.bundle", package="cog", name="cog.v1.0.0"), [2]),
        (Query(schema="olm.bundle", package="gear"), []),
        (Query(schema="olm"), []),
    ],
)
def test_a_query_selects_blobs_that_match_all_its_parameters(
    query: Query, numbers: list[int]
) -> None:
    every = selected(Query())
    assert selected(query) == [every[number] for number in numbers]


def test_adjacent_lines_are_one_span() -> None:
    found, _ = built(VALUES)
    lengths = [line.length for line in found.lines]
    assert LineIndex(found).select(Query(package="cog")) == [
        Span(lengths[0], lengths[1] + lengths[2])
    ]


def test_an_empty_catalog_has_no_lines() -> None:
    assert LineIndex(built([])[0]).select(Query()) == []


@given(
    st.lists(
        st.fixed_dictionaries(
            {"schema": st.sampled_from("ab")},
            optional={"package": st.sampled_from("pq"), "name": st.sampled_from("mn")},
        ),
        max_size=8,
    ),
    st.tuples(*(st.sampled_from(["", *values]) for values in ("ab", "pq", "mn"))),
)
def test_the_index_finds_the_same_blobs_as_a_scan(
    values: list[dict[str, str]], query: tuple[str, str, str]
) -> None:
    asked = Query(*query)
    scan = [
        Blob.of(value).raw.decode().rstrip("\n")
        for value in values
        if all(
            wanted in ("", value.get(key, ""))
            for key, wanted in zip(metas.PARAMETERS, asked, strict=True)
        )
    ]
    assert selected(asked, values) == scan


def test_parameters_are_read() -> None:
    assert metas.parse_query([]) == Query()
    given = [("schema", "a"), ("schema", "b"), ("package", "")]
    assert metas.parse_query(given) == Query(schema="a")
    with pytest.raises(BadQueryError, match="unknown parameter `Schema`"):
        metas.parse_query([("Schema", "a")])
