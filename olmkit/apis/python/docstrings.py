"""Docstrings of a Python module, and markers in them that are not read."""

from __future__ import annotations

import ast

from olmkit.apis import docs
from olmkit.apis.findings import Findings
from olmkit.apis.markers.table import REGISTRY
from olmkit.apis.python import literals
from olmkit.apis.python.names import Module
from olmkit.base.diagnostics import Location


def read_docstring(statement: ast.stmt, module: Module, findings: Findings) -> str:
    """Return the text of a docstring; report markers in it, which have no effect."""
    text = statement.value.value  # type: ignore[attr-defined]
    if not literals.is_text(text):
        findings.add(
            "API002",
            "the docstring contains an unpaired surrogate, which is not a character",
            module.at(statement),
            hint="write the character itself",
        )
        return ""
    for offset, line in enumerate(text.splitlines()):
        stripped = line.strip()
        if docs.is_marker_line(line) and REGISTRY.levels(stripped[1:]):
            at = Location(path=module.path, line=statement.lineno + offset)
            findings.add(
                "API022",
                f"`{stripped}` is in a docstring, where markers are not read",
                at,
                hint="write it as a comment: `# " + stripped + "`",
            )
    return docs.from_docstring(text)


def is_docstring(statement: ast.stmt) -> bool:
    """Return whether a statement is a string without a use, as docstrings are."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
