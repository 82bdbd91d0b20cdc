"""The index in bytes."""

from __future__ import annotations

from types import SimpleNamespace as Served

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.catalog.serve import registry_index
from olmkit.catalog.serve.registry_index import Index


def test_an_index_is_restored_from_its_bytes(served: Served) -> None:
    index, _, _ = served.build(
        served.package(),
        served.channel("stable", {"name": "cog.v1.0.0", "skips": ["a", "b"]}),
        served.bundle("cog.v1.0.0", served.api("Cog")),
        {"schema": "note", "package": "cog"},
    )
    assert registry_index.decode(registry_index.encode(index)) == index


def test_the_bytes_of_an_empty_index_are_an_empty_index() -> None:
    empty = Index(packages=(), customs=())
    assert registry_index.decode(registry_index.encode(empty)) == empty


@pytest.mark.property
@given(st.binary(max_size=60))
def test_other_bytes_are_refused_without_another_exception(data: bytes) -> None:
    try:
        registry_index.decode(data)
    except ValueError:
        return
