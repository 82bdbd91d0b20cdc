"""Blobs that are read, refused and written, compared with the output of `opm render`.

`writer.jsonl` has small blobs as JSON text with the recorded output in both forms,
or the reason if a blob was refused; the catalogs are published ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.fbc import Blob, Form


def _answers(cases: Path) -> Iterator[dict[str, Any]]:
    for line in (cases / "expected" / "writer.jsonl").read_text("utf-8").splitlines():
        yield json.loads(line)


def _written(text: str, form: Form) -> str | None:
    try:
        return fbc.dump(fbc.load_stream(text.encode(), "c.json"), form).decode()
    except InputError:
        return None


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_blobs_are_written_byte_by_byte(cases: Path, form: Form) -> None:
    differing = [
        (answer["in"], written, answer[form])
        for answer in _answers(cases)
        if form in answer and (written := _written(answer["in"], form)) != answer[form]
    ]

    assert differing == []


def test_blobs_that_the_reference_refuses_are_refused(cases: Path) -> None:
    accepted = [
        (answer["in"], answer["refused"])
        for answer in _answers(cases)
        if "refused" in answer and _written(answer["in"], "yaml") is not None
    ]

    assert accepted == []


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_published_catalogs_are_the_same_after_writing_and_reading(cases: Path, form: Form) -> None:
    for path in sorted((cases / "catalogs").glob("*/*/catalog.yaml")):
        blobs = list(fbc.load(Tree({"catalog.yaml": path.read_bytes()})))
        text = fbc.dump(blobs, form)
        again = list(fbc.load_stream(text, f"catalog.{form}"))

        assert _known(again) == _known(fbc.sort_for_writing(blobs)), path
        assert fbc.dump(again, form) == text, path


def _known(blobs: Any) -> list[Any]:
    """Return what is written of blobs: their known fields."""
    listed: list[Blob] = list(blobs)
    return [(blob.schema, blob.package, blob.name, blob.fields) for blob in listed]
