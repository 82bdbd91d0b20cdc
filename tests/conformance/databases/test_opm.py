"""Index databases side by side with opm of operator-registry 1.73, the last that reads them.

Random graphs in the newest form, which opm itself created, and three of them in each older form.
The answers are digests of `opm render`, and null where it refuses.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import OlmkitError
from olmkit.catalog.blobs import fbc
from olmkit.catalog.bundles.migrate import Level
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import RenderOptions

# Up to this form opm's migrations fail: tables are replaced while others refer to them, and
# versions are written into separate rows.
LAST_FORM_OPM_CANNOT_MIGRATE = 4
# opm's migration to form 9 gives each dependency the value of the first one in the database, so
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
def test_databases_give_the_same_bytes_or_are_refused_too(
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


def test_forms_that_opm_cannot_migrate_are_read(vectors: Path) -> None:
    answers = [one for one in _answers(vectors) if _is_beyond_opm(one["case"])]

    refused = [
        one["case"]
        for one in answers
        if _digest(vectors / "databases/databases" / one["case"], "json", Level.NONE) is None
    ]

    assert all(one["json"] is None for one in answers)
    assert len(answers) == 15
    assert refused == []
