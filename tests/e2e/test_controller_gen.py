"""Random Go types and markers, compared with controller-gen in one run.

The reference is the program in CONTROLLER_GEN, or one that is built once; it
needs a Go toolchain. What both accept must be equal byte by byte, and what it refuses must
be refused.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from olmkit.apis.crds import manifests
from olmkit.apis.findings import Findings
from olmkit.apis.go import source as go_source
from olmkit.base import documents
from olmkit.base.diagnostics import has_errors
from olmkit.base.tree import Tree
from olmkit.edges.programs import go_modules

pytestmark = pytest.mark.e2e

STAMP = re.compile(
    r"  annotations:\n    controller-gen\.kubebuilder\.io/version: .*\n(?!    )"
    r"|    controller-gen\.kubebuilder\.io/version: .*\n"
)
HEAD = """\
// +groupName=g{}.example.com
package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var _ = []any{{corev1.NamespaceAll, resource.Quantity{{}}, intstr.IntOrString{{}}}}

"""
DECLARATIONS = """\
// Word is a word.
// +kubebuilder:validation:MaxLength=9
type Word string

// Count counts.
type Count int32

// Words are words.
type Words []Word

// Alias is another name.
type Alias = Word

// Part has fields.
// +kubebuilder:validation:MinProperties=1
type Part struct {
	// A is one.
	// +kubebuilder:default=x
	A Word `json:"a,omitempty"`
	B Count `json:"b"`
}

"""
# Types with matching markers; sometimes a marker does not match.
NUMBERS = ["kubebuilder:validation:Minimum=3", "k8s:maximum=7 # x", "kubebuilder:default=5"]
TEXTS = ["kubebuilder:validation:MinLength=2", "kubebuilder:validation:Pattern=`^a,b$`",
         "kubebuilder:validation:Enum=a;\"b c\";1", "kubebuilder:default=\"\""]  # fmt: skip
LISTS = ["kubebuilder:validation:MaxItems=4", "listType=atomic", "kubebuilder:default={a,b}",
         "kubebuilder:validation:items:Enum=a;b"]  # fmt: skip
MAPS = ["kubebuilder:validation:MaxProperties=4", "mapType=granular", "kubebuilder:default={a: b}"]
ANY = ["optional", "required", "nullable", "k8s:required", "k8s:immutable",
       "kubebuilder:example={a: {1,2}}", "kubebuilder:example=0", "kubebuilder:title=\"A b\"",
       "kubebuilder:validation:XValidation:rule=\"true\",message=\"m\"", "unknown:marker=x",
       "kubebuilder:pruning:PreserveUnknownFields"]  # fmt: skip
TYPES = {
    "int": NUMBERS, "int64": NUMBERS, "*uint8": NUMBERS, "Count": NUMBERS,
    "string": TEXTS, "Word": TEXTS, "Alias": TEXTS, "*string": TEXTS, "[]byte": TEXTS[:2],
    "[]string": LISTS, "[]Word": LISTS, "Words": LISTS[:3], "[][]int": LISTS[:2],
    "[]Part": LISTS[:2], "map[string]int": MAPS, "map[Word]Part": MAPS[:2],
    "corev1.ResourceList": MAPS[:2], "Part": ["structType=atomic"], "bool": [],
    "*corev1.SecretKeySelector": [], "metav1.Time": [], "resource.Quantity": [],
    "intstr.IntOrString": [], "metav1.Condition": [], "metav1.LabelSelector": [],
}  # fmt: skip
EVERYTHING = [*NUMBERS, *TEXTS, *LISTS, *MAPS, *ANY]


# The rule of `k8s:immutable` and others have a random order in the reference.
IMMUTABLE = re.compile(
    r"((?P<i> +)- message: field is immutable\n(?P=i)  rule: self == oldSelf\n)"
    r"((?P=i)- message: m\n(?P=i)  rule: \"true\"\n)"
)


def in_order(crd: str) -> str:
    """Return a CRD with the rules of immutable fields after the others."""
    while (found := IMMUTABLE.sub(r"\3\1", crd)) != crd:
        crd = found
    return crd


def a_field(number: int, chance: random.Random) -> str:
    lines = []
    if chance.random() < 0.1:
        return f'\tPart `json:"{chance.choice([",inline", "", f"e{number}"])}"`\n'
    kind = chance.choice(list(TYPES))
    for _ in range(chance.choice([0, 1, 1, 2, 3])):
        pool = EVERYTHING if chance.random() < 0.02 else [*TYPES[kind], *TYPES[kind], *ANY]
        words = chance.choice(["Some words.", "TODO: later", "---", "", "  more: words"])
        lines.append(f"\t// +{chance.choice(pool)}" if chance.random() < 0.7 else f"\t// {words}")
        if chance.random() < 0.1:
            lines.append("")
    tag = chance.choice(["", "", ",omitempty", ",omitzero"])
    lines.append(f'\tF{number} {kind} `json:"f{number}{tag}"`')
    return "\n".join(lines) + "\n"


def a_package(number: int, chance: random.Random) -> str:
    fields = "".join(a_field(index, chance) for index in range(chance.randint(2, 6)))
    metas = '\tmetav1.TypeMeta `json:",inline"`\n\tmetav1.ObjectMeta `json:"metadata,omitempty"`\n'
    spec = f"// Spec is wanted.\ntype Spec struct {{\n{fields}}}\n\n"
    kind = f'// Thing is a kind.\ntype Thing struct {{\n{metas}\tSpec Spec `json:"spec"`\n}}\n'
    return HEAD.format(number) + DECLARATIONS + spec + kind


@pytest.mark.parametrize("seed", range(3))
def test_random_types_have_the_output_of_controller_gen(
    seed: int, controller_gen: str, vectors: Path, tmp_path: Path
) -> None:
    shutil.copy(vectors / "go/crd-corev1/project/go.mod", tmp_path / "go.mod")
    shutil.copy(vectors / "go/common/go.sum", tmp_path / "go.sum")
    chance = random.Random(seed)
    texts = {f"p{number:03}": a_package(number, chance) for number in range(80)}
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "types.go").write_text(text)
    done = subprocess.run(
        [controller_gen, "crd", "paths=./...", "output:crd:dir=out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "GOFLAGS": "-mod=mod"},
    )
    refused = set(re.findall(r"\b(p[0-9]{3})[/:]", done.stderr))
    assert len(refused) < len(texts) / 2, done.stderr
    modules = go_modules.ModuleFolders(tmp_path, os.environ)

    for number, (name, text) in enumerate(texts.items()):
        findings = Findings()
        tree = Tree({f"{name}/types.go": text.encode()})
        sources = go_source.read(tree, modules.module, modules, findings)
        crds = manifests.crds(sources, findings)
        assert has_errors(findings) == (name in refused), text
        if name in refused:
            continue
        (wanted,) = (tmp_path / "out").glob(f"g{number}.example.com_*.yaml")
        ours = "---\n" + documents.dump(crds[wanted.name]).decode()
        # An inline field that is required has no name under which it could be required.
        theirs = re.sub(r'^ +- ""\n', "", STAMP.sub("", wanted.read_text()), flags=re.MULTILINE)
        assert in_order(ours) == in_order(theirs), text


@pytest.mark.parametrize("case", ["go-all", "go-every-marker", "go-markers", "go-types"])
def test_golden_files_of_go_projects_are_those_of_controller_gen(
    case: str, controller_gen: str, vectors: Path, root: Path, tmp_path: Path
) -> None:
    golden = root / "tests/golden/generate" / case
    shutil.copytree(golden / "input", tmp_path, dirs_exist_ok=True)
    go_mod = (vectors / "go/crd-corev1/project/go.mod").read_text()
    (tmp_path / "go.mod").write_text(re.sub(r"^module .*", "module example.com/toys", go_mod))
    shutil.copy(vectors / "go/common/go.sum", tmp_path / "go.sum")

    subprocess.run(
        [
            *(controller_gen, "rbac:roleName=manager-role", "webhook", "crd:omitToolVersion=true"),
            *("paths=./...", "output:crd:dir=config/crd/bases"),
        ],
        cwd=tmp_path,
        check=True,
        env={**os.environ, "GOFLAGS": "-mod=mod"},
    )

    written = {
        path.relative_to(tmp_path).as_posix(): path.read_text()
        for path in (tmp_path / "config").rglob("*.yaml")
    }
    assert written
    for path, text in written.items():
        assert (golden / "expected/files" / path).read_text() == text
