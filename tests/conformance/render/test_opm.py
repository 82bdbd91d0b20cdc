"""Rendering compared with opm of operator-registry 1.73.

Published bundles and catalogs result in its bytes, in both formats and migrated. Rule
vectors, one error each, result in its blob or its refusal. `differences.toml` has
every difference with its reason; one that is not there fails, and so does an
entry that is no longer a difference.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import OlmkitError
from olmkit.catalog.blobs import fbc
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.bundles.migrate import Level
from olmkit.jobs.catalog import render
from olmkit.jobs.catalog.render import RenderOptions

HERE = Path(__file__).parent
DIFFERENCES: dict[str, Any] = tomllib.loads((HERE / "differences.toml").read_text())
FORMS: Sequence[fbc.Form] = ("json", "yaml")


def _render(path: Path, level: Level = Level.NONE) -> tuple[Blob, ...] | OlmkitError:
    options = RenderOptions(level=level, processes=1)
    try:
        return asyncio.run(render.render_all([str(path)], options)).blobs
    except OlmkitError as error:
        return error


def _answers(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_text().splitlines():
        yield json.loads(line)


def _digest(blobs: tuple[Blob, ...] | OlmkitError, form: fbc.Form) -> str:
    text = b"" if isinstance(blobs, OlmkitError) else fbc.dump(blobs, form)
    return hashlib.sha256(text).hexdigest()


def test_published_bundles_result_in_the_same_bytes(cases: Path) -> None:
    answers = list(_answers(cases / "expected/render-bundles.jsonl"))

    different = [
        f"{answer['case']} as {form}"
        for answer in answers
        for blobs in [_render(cases / answer["case"])]
        for form in FORMS
        if _digest(blobs, form) != answer[form]["sha256"]
    ]

    assert different == []
    assert len(answers) == 76


def test_the_published_bundle_without_csv_is_refused_with_the_reason(cases: Path) -> None:
    error = _render(cases / "bundles/nxiq-operator-certified/1.128.0-1")

    assert isinstance(error, OlmkitError)
    assert error.message == "no csv in bundle"
    left_out, fault = error.diagnostics
    assert "its first document is empty" in left_out.message
    assert left_out.at is not None
    assert left_out.at.path.endswith("nxiq-operator-certified.clusterserviceversion.yaml")
    assert fault.message == "no csv in bundle"


@pytest.mark.parametrize(
    ("answer", "level"), [("render", Level.NONE), ("render-migrate", Level.ALL)]
)
def test_published_catalogs_result_in_the_same_bytes(
    cases: Path, answer: str, level: Level
) -> None:
    answers = list(_answers(cases / "expected/catalogs.jsonl"))

    different = [
        f"{expected['case']} as {form}"
        for expected in answers
        for blobs in [_render(cases / expected["case"], level)]
        for form in FORMS
        if _digest(blobs, form) != expected[answer][form]["sha256"]
    ]

    assert different == []
    assert answers


def test_rule_vectors_result_in_the_same_blob_or_are_also_refused(vectors: Path) -> None:
    answers = list(_answers(vectors / "rules/bundles-render.jsonl"))

    different = [
        vector["case"]
        for vector in answers
        if _outcome(_render(vectors / "rules/bundles" / vector["case"]))
        != (vector.get("blob"), vector.get("objects"))
    ]

    assert different == []
    assert len(answers) == 757


def _outcome(blobs: tuple[Blob, ...] | OlmkitError) -> tuple[Any, list[str] | None]:
    """Return the blob without its inlined manifests, and these."""
    if isinstance(blobs, OlmkitError):
        return None, None
    blob = json.loads(fbc.dump(blobs, "json"))
    objects = []
    others = []
    for item in blob["properties"]:
        if item["type"] == "olm.bundle.object":
            manifest = json.loads(base64.b64decode(item["value"]["data"]))
            objects.append(f"{manifest['kind']}/{manifest.get('metadata', {}).get('name')}")
        else:
            others.append(item)
    return {**blob, "properties": others}, objects


@pytest.mark.parametrize("name", sorted(DIFFERENCES))
def test_every_listed_difference_exists(vectors: Path, tmp_path: Path, name: str) -> None:
    case = DIFFERENCES[name]
    minimal = vectors / "rules/bundles/minimal"
    for path in minimal.rglob("*"):
        if path.is_file():
            copy = tmp_path / path.relative_to(minimal)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    changed = tmp_path / case["file"]
    old, new = case["replace"]
    text = changed.read_text()
    assert old in text
    changed.write_text(text.replace(old, new))

    blobs = _render(tmp_path)

    if case["ours"] == "refuses":
        assert isinstance(blobs, OlmkitError)
    elif case["ours"] == "renders":
        assert not isinstance(blobs, OlmkitError)
    else:
        assert not isinstance(blobs, OlmkitError)
        assert blobs[0].package == case["ours"]
    assert case["ours"] != case["reference"]
    assert case["why"]
