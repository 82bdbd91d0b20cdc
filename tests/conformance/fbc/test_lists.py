"""The output of `catalog list` and `catalog graph`, compared with `opm alpha` v1.73.0.

Real catalogs and small vectors, with the recorded text of opm v1.73.0, byte by byte.
`GRAPHS` names the graphs that differ, and why.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from olmkit.catalog.graph import drawing
from olmkit.cli.catalog import list as catalog_list
from olmkit.jobs.catalog import catalogs as job

LISTS = {
    "packages": catalog_list.packages,
    "channels": catalog_list.channels,
    "bundles": catalog_list.bundles,
}
GRAPHS = {
    "releases-two-one-version": "the reference forgets releases when it orders entries",
}


def _real(cases: Path) -> Iterator[tuple[Path, str]]:
    for folder in sorted((cases / "catalogs").glob("*/*")):
        yield folder, f"{folder.parent.name}__{folder.name}"


def _vectors(vectors: Path, *keys: str) -> Iterator[dict[str, Any]]:
    lines = (vectors / "rules" / "catalogs.jsonl").read_text("utf-8").split("\n")
    vectors = (json.loads(line) for line in lines if line)
    return (vector for vector in vectors if any(key in vector for key in keys))


def _list(what: str, folder: Path) -> str:
    result = CliRunner().invoke(LISTS[what], [str(folder)])
    return str(result.stdout)


@pytest.mark.parametrize("what", LISTS)
def test_lists_of_real_catalogs_are_those_of_the_reference(cases: Path, what: str) -> None:
    expected = cases / "expected" / "catalogs"
    for folder, name in _real(cases):
        assert _list(what, folder) == (expected / f"{name}.list-{what}.txt").read_text("utf-8")


def test_graphs_of_real_catalogs_are_those_of_the_reference(cases: Path) -> None:
    for folder, name in _real(cases):
        expected = (cases / "expected" / "catalogs" / f"{name}.mermaid").read_text("utf-8")
        assert drawing.mermaid(job.read(str(folder)).chosen()) == expected


def test_lists_of_vectors_are_those_of_the_reference(vectors: Path) -> None:
    differing = {}
    for vector in _vectors(vectors, "list"):
        folder = vectors / "rules" / "catalogs" / vector["case"]
        for what, answer in vector["list"].items():
            ours = _list(what, folder)
            if answer["exit"] == 0 and ours != answer["stdout"]:
                differing[vector["case"], what] = ours

    assert differing == {}


def test_graphs_of_vectors_are_those_of_the_reference(vectors: Path) -> None:
    differing = set()
    for vector in _vectors(vectors, "graph"):
        folder = vectors / "rules" / "catalogs" / vector["case"]
        answer = vector["graph"]
        # If it refuses a catalog for one unreadable version, olmkit still draws the graph.
        if answer["exit"] == 0:
            ours = drawing.mermaid(job.read(str(folder), valid=False).chosen())
            if ours != answer.get("stdout", ""):
                differing.add(vector["case"])

    assert differing == set(GRAPHS)
