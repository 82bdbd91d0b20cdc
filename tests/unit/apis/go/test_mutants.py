"""Damaged Go sources: thousands of small errors never raise an exception."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.apis import csv_markers, roles, webhooks
from olmkit.apis.crds import manifests
from olmkit.apis.findings import Findings
from olmkit.apis.go import source as go_source
from olmkit.base import documents
from olmkit.base.diagnostics import Location
from olmkit.base.tree import Tree
from olmkit.kube.objects import GVK
from tests.fixtures.no_modules import NoModules

WORDS = [
    '// +kubebuilder:validation:Enum={a,{b;c},"d',
    "// +kubebuilder:default={{{{a:1}},",
    "// +listType=map",
    "// +k8s:enum",
    "// +kubebuilder:validation:Type=array",
    "// +operator-sdk:csv:customresourcedefinitions:resources={{{a}}}",
    'type X struct { X `json:",inline"`; Y []X `json:"y"` }',
    "type T = []T",
    "type A = B\ntype B = A",
    "type C D\ntype D C",
    'type G[T any] struct{ F T `json:"f"` }',
    "func (x *Text) MarshalJSON() {}",
    "func (Inner) MarshalText() {}",
    'const ( A Colour = iota; B Colour = "b" + "c" )',
    'import . "example.com/toys/api/v1"',
    'import "C"',
    'F map[string]map[int]chan struct{} `json:"f,string,"`',
    'F struct{ A struct{ B int } `json:"a"` } `json`',
    "/*",
    "*/",
    "`",
    '"',
    "}",
    "{",
    "(",
    "\r",
    "\x00",
    "é\ufeff",
]


@pytest.mark.parametrize("seed", range(6))
def test_damaged_go_sources_result_in_findings_and_never_in_an_exception(
    root: Path, seed: int, mutant: Callable[..., str]
) -> None:
    chance = random.Random(seed)
    golden = root / "tests/golden/generate"
    originals = [
        (golden / f"{name}/input/api/v1/{file}").read_text()
        for name, file in (
            ("go-types", "types.go"),
            ("go-markers", "types.go"),
            ("go-errors", "types.go"),
            ("go-all", "toy_types.go"),
        )
    ]
    for number in range(40):
        text = mutant(
            originals[number % len(originals)], chance, words=WORDS, marks="`*./", instead="*`"
        )
        findings = Findings()
        files = {"api/v1/doc.go": b"// +groupName=x.example.com\npackage v1\n"}
        tree = Tree(files | {"api/v1/types.go": text.encode()})
        sources = go_source.read(tree, "example.com/toys", NoModules(), findings)
        crds = manifests.crds(sources, findings)
        roles.roles(sources, role_name="manager-role")
        webhooks.configurations(sources, findings)
        wanted = {
            GVK(key.group, versions[0].name, key.kind): Location(path="PROJECT")
            for key, versions in manifests.versions(sources, Findings()).items()
        }
        csv_markers.describe_apis(sources, wanted, findings)
        for crd in crds.values():
            documents.dump(crd)
        assert all(found.at and found.at.path for found in findings)
