"""Python types have the CRDs that controller-gen writes for the same types in Go."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.apis.crds import manifests
from olmkit.apis.findings import Findings
from olmkit.apis.python import source
from olmkit.base import documents
from olmkit.base.tree import Tree
from olmkit.edges import disk

HERE = Path(__file__).parent
STAMP = "controller-gen.kubebuilder.io/version"


def _tree(case: str, root: Path) -> Tree:
    if case == "memcached":
        files = disk.read_tree(root / "operator/memcached_operator")
        return Tree({path: file for path, file in files.items() if path.endswith(".py")})
    return Tree({"v1/shapes.py": (HERE / case / "shapes.py").read_bytes()})


def _expected(case: str) -> bytes:
    """Return the output of the reference, without the name of its tool."""
    lines = (HERE / case / "expected.yaml").read_text().splitlines(keepends=True)
    kept = [line for line in lines if STAMP not in line]
    text = "".join(kept).replace("  annotations:\n  name:", "  name:")
    return text.encode()


@pytest.mark.parametrize("case", ["memcached", "shapes"])
def test_python_types_have_the_crd_of_the_same_types_in_go(case: str, root: Path) -> None:
    findings = Findings()
    sources = source.read(_tree(case, root), findings)
    (crd,) = manifests.crds(sources, findings).values()
    # The marker of `shapes` names fields that its kind does not have; the reference ignores it.
    assert [found.rule for found in findings.items] == ["API035"] * 2 * (case == "shapes")
    assert (b"---\n" + documents.dump(crd)).decode() == _expected(case).decode()
