"""Index databases compared with opm of operator-registry 1.73, the last release that reads them.

Random graphs in the newest schema, which opm itself created, and three of them in each old one.
The expected results are digests of `opm render`, or null if it refuses the database.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.catalog.blobs import fbc, wire
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles.migrate import Level
from olmkit.catalog.bundles.render import RenderedBundle
from olmkit.catalog.templates import conversion, source
from olmkit.catalog.templates.source import Kind
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import RenderOptions
from olmkit.jobs.catalog.templates import template

# Up to this schema opm's migrations fail: tables are replaced while others refer to them, and
# versions are written into separate rows.
LAST_FORM_OPM_CANNOT_MIGRATE = 4
# opm's migration to schema 9 gives each dependency the value of the first one in the database, so
# that a required API ends up with the version of a required package. Each keeps its own here.
DIFFERENT = ["form-08-graph-00.db", "form-08-graph-01.db"]


def _answers(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "databases/opm.jsonl").read_text().splitlines()]


def _digest(path: Path, form: fbc.Form, level: Level) -> str | None:
    options = RenderOptions(level=level, processes=1)
    try:
        blobs = asyncio.run(render.render_all([str(path)], options)).blobs
    except OlmkitError:
        return None
    return hashlib.sha256(fbc.dump(blobs, form)).hexdigest()


def _is_beyond_opm(case: str) -> bool:
    kind, form, *_ = case.removesuffix(".db").split("-")
    return kind == "form" and int(form) <= LAST_FORM_OPM_CANNOT_MIGRATE


@pytest.mark.parametrize(
    ("answer", "form", "level"),
    [("json", "json", Level.NONE), ("yaml-migrated", "yaml", Level.ALL)],
)
def test_databases_result_in_the_same_bytes_or_are_also_refused(
    vectors: Path, answer: str, form: fbc.Form, level: Level
) -> None:
    answers = [one for one in _answers(vectors) if not _is_beyond_opm(one["case"])]

    different = [
        one["case"]
        for one in answers
        if _digest(vectors / "databases/databases" / one["case"], form, level) != one[answer]
    ]

    assert different == DIFFERENT
    assert len(answers) == 72
    assert sum(one[answer] is None for one in answers) == 10


def test_schemas_that_opm_cannot_migrate_are_read(vectors: Path) -> None:
    answers = [one for one in _answers(vectors) if _is_beyond_opm(one["case"])]

    refused = [
        one["case"]
        for one in answers
        if _digest(vectors / "databases/databases" / one["case"], "json", Level.NONE) is None
    ]

    assert all(one["json"] is None for one in answers)
    assert len(answers) == 15
    assert refused == []


def _rendered_back(blobs: Sequence[Blob], kind: Kind, form: fbc.Form) -> list[Blob]:
    """Return the blobs of the template of `blobs`; its images have the bundles of the database."""
    text = conversion.dump(conversion.convert(blobs, kind), form)
    read = source.read(text, f"template.{form}")
    bundles = [RenderedBundle.of(blob) for blob in blobs if blob.schema == wire.BUNDLE]
    known = {bundle.image: bundle for bundle in bundles}
    named = {image: known[image] for image, _ in template.images(read)}
    return list(template.render_blobs(read, named))


@pytest.mark.parametrize("form", ["yaml", "json"])
@pytest.mark.parametrize("kind", [Kind.BASIC, Kind.SUBSTITUTES])
def test_a_database_that_becomes_a_template_and_is_rendered_loses_nothing(
    vectors: Path, kind: Kind, form: fbc.Form
) -> None:
    """Numbers that a double cannot represent are rounded, as in every reader of a catalog file."""
    counts: Counter[str] = Counter()
    for path in sorted((vectors / "databases/databases").glob("*.db")):
        try:
            blobs = asyncio.run(render.render_all([str(path)], RenderOptions(processes=1))).blobs
        except OlmkitError:
            counts["not read"] += 1
            continue
        try:
            again = _rendered_back(blobs, kind, form)
        except InputError as error:
            counts[f"refused: {'has no image' in error.message}"] += 1
            continue
        written = list(fbc.load_stream(fbc.dump(blobs, form), f"catalog.{form}"))
        assert fbc.dump(again, form) == fbc.dump(written, form), path.name
        counts["equal"] += 1
    # Half of the databases have bundles without an image, which a basic template cannot name.
    least = {Kind.BASIC: 45, Kind.SUBSTITUTES: 75}[kind]
    assert counts["equal"] >= least, counts
    assert "refused: False" not in counts, counts
    assert kind is Kind.BASIC or "refused: True" not in counts, counts
