"""Imports of Python modules that fail if the modules import each other in a cycle.

Only a cycle of `from … import NAME` fails, and only if each name is defined below the import of the
next module: the first module to load then needs a name that is not yet defined.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from olmkit.apis.import_cycles import Imports
from olmkit.apis.python.names import Module, imported_from


def early_imports(modules: Mapping[str, Module]) -> Imports:
    """Return the imports of Python modules that fail if they are part of a cycle."""
    wanted = {name: dict(_list_imports(module, modules)) for name, module in modules.items()}
    return {
        name: {
            other: module.at(statement)
            for other, statement in wanted[name].items()
            if _comes_too_early(statement, modules[other], wanted[other].values())
        }
        for name, module in modules.items()
    }


def _list_imports(
    module: Module, modules: Mapping[str, Module]
) -> Iterator[tuple[str, ast.ImportFrom]]:
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom):
            origin = imported_from(module, statement)
            if origin in modules and origin != module.name:
                yield origin, statement


def _comes_too_early(
    statement: ast.ImportFrom, other: Module, goes_on: Collection[ast.ImportFrom]
) -> bool:
    """Return whether a name is defined after the last cyclic import in its module."""
    last = max((one.lineno for one in goes_on), default=0)
    there = {alias.name: one.lineno for one in goes_on for alias in one.names}
    there |= {name: node.lineno for name, node in other.classes.items()}
    there |= {name: node.lineno for name, node in other.assigned.items()}
    return any(there.get(alias.name, -1) >= last for alias in statement.names)
