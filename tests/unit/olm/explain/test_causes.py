"""The names of causes are stable: each is documented, and each documented one is used."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path


def test_each_cause_is_on_its_page(root: Path) -> None:
    page = (root / "docs/reference/causes.md").read_text()
    documented = {
        name
        for line in page.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`([a-z][a-z0-9-]+)`", line.split("|")[1])
    }
    used = {name for file in _sources(root) for name in _causes(ast.parse(file.read_text()))}

    assert used == documented


def _sources(root: Path) -> Iterator[Path]:
    yield from (root / "olmkit/olm").rglob("*.py")
    yield root / "olmkit/cli/frame/install_status.py"
    yield root / "olmkit/cli/cluster/deletion.py"
    for package in ("cluster", "cluster_v0", "cluster_v1"):
        yield from (root / "olmkit/jobs" / package).rglob("*.py")


def _causes(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.keyword) and node.arg == "cause":
            if isinstance(node.value, ast.JoinedStr):  # missing parts of a catalog
                yield from (f"no-such-{what}" for what in ("catalog", "package", "channel"))
                yield "no-such-version"
            yield from (
                part.value
                for part in ast.walk(node.value)
                if isinstance(part, ast.Constant)
                and isinstance(part.value, str)
                and re.fullmatch(r"[a-z]+(-[a-z]+)*", part.value)
                and part.value not in ("version", "name")
                and not part.value.endswith("-such-")
            )
