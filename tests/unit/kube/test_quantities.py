"""Quantities are written in their canonical form."""

from __future__ import annotations

import pytest

from olmkit.kube import quantities


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("500m", "500m"),
        ("0.5", "500m"),
        (".5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1500Mi", "1500Mi"),
        ("1.5Gi", "1536Mi"),
        ("1.1Ki", "1127"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("12E6", "12e6"),
        ("1E", "1E"),
        ("1e-3", "1e-3"),
        ("0", "0"),
        ("0Ki", "0"),
        ("-1000m", "-1"),
        ("1000000", "1M"),
        ("1024", "1024"),
        ("0.1n", "1n"),
        ("2.50", "2500m"),
        (" 1Gi ", "1Gi"),
    ],
)
def test_a_quantity_has_one_canonical_form(text: str, written: str) -> None:
    assert quantities.canonical(text) == written
    assert quantities.canonical(written) == written


@pytest.mark.parametrize("text", ["", "much", "1GB", "1 Gi", "Gi", "1e99999", "1" * 200, "٣"])
def test_other_strings_are_not_quantities(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantities.canonical(text)
