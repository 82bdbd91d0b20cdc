"""The kinds of a bundle."""

from __future__ import annotations

from olmkit.bundle.generation.supported_kinds import REPLACED_BY_OLM, SUPPORTED


def test_no_kind_is_both_supported_and_replaced() -> None:
    assert not {kind for _, kind in REPLACED_BY_OLM} & set(SUPPORTED)
