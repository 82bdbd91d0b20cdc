"""Damaged sources: thousands of small errors never raise an exception."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.apis import csv_markers, roles, webhooks
from olmkit.apis.crds import manifests
from olmkit.apis.findings import Findings
from olmkit.apis.python import source
from olmkit.base import documents
from olmkit.base.diagnostics import Location
from olmkit.base.tree import Tree
from olmkit.kube.objects import GVK

WORDS = [
    '# +kubebuilder:validation:Enum={a,{b;c},"d',
    "# +kubebuilder:default={{{{a:1}},",
    "# +listType=map",
    "# +operator-sdk:csv:customresourcedefinitions:resources={{{a}}}",
    "class X(X, Y[int], metaclass=Z): pass",
    "type T = list[T]",
    "T = NewType('T', 'T')",
    "A = Annotated[A, Ge(A)]",
    "x: 'list[\"x\"]' = {**y, 1: 2, 'a': [None, ...]}",
    "x: Annotated = Field(*a, **b)",
    "x: Literal[()] = -(-1)",
    "x: list[()] = [] | {}",
    "from . import *\nfrom .... import a",
    "import a.b.c as d, e",
    "    ",
    "\t",
    "(",
    "'''",
    "\\",
    "\r",
    "\x0c",
    "\u2028",
    "é",
]


@pytest.mark.parametrize("seed", range(8))
def test_damaged_sources_result_in_findings_and_never_in_an_exception(
    root: Path, seed: int, mutant: Callable[..., str]
) -> None:
    chance = random.Random(seed)
    originals = [
        (root / "tests/conformance/types/shapes/shapes.py").read_text(),
        (root / "operator/memcached_operator/api/v1alpha1/memcached.py").read_text()
        + "\n# +groupName=cache.example.com\n",
        (root / "tests/golden/generate/errors/input/toy/api/v1.py").read_text(),
    ]
    for number in range(40):
        text = mutant(originals[number % len(originals)], chance, words=WORDS)
        findings = Findings()
        sources = source.read(Tree({"api/v1.py": text.encode("utf-8", "replace")}), findings)
        for crd in manifests.crds(sources, findings).values():
            documents.dump(crd)
        roles.roles(sources, role_name="r")
        webhooks.configurations(sources, findings)
        keys = {
            GVK(str(p.group), p.version, k.name.name): Location(path="PROJECT")
            for p in sources.packages
            for k in p.kinds()
        }
        csv_markers.describe_apis(sources, keys, findings)
        assert all(found.at is not None and found.message for found in findings)
