"""The names of catalogs in `catalog resolve`."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.cli.catalog import inputs
from olmkit.cli.catalog.upgrades import resolve


@pytest.mark.parametrize(
    ("given", "name", "reference"),
    [
        ("clustercatalog:shelf", "shelf", "clustercatalog:shelf"),
        ("catalogsource:olm/shelf", "shelf", "catalogsource:olm/shelf"),
        ("catalogsource:shelf", "shelf", "catalogsource:shelf"),
        ("a=clustercatalog:shelf", "a", "clustercatalog:shelf"),
        ("quay.io/example/catalog:v1", "catalog", "quay.io/example/catalog:v1"),
        ("some/folder/", "folder", "some/folder/"),
    ],
)
def test_a_catalog_has_the_end_of_its_reference_as_its_name(
    monkeypatch: pytest.MonkeyPatch, given: str, name: str, reference: str
) -> None:
    def read(_: Any, text: str, *__: Any, **___: Any) -> str:
        return text

    monkeypatch.setattr(inputs, "read", read)
    assert resolve._catalog(None, given, None) == (name, reference)  # type: ignore[arg-type,comparison-overlap]  # noqa: SLF001
