"""Modules that import each other in a circle, so that none of them can be loaded.

In Go every circle is one. In Python only a circle of `from … import NAME` is, each
of whose names is defined below the import that goes on: whichever module is loaded
first, a name is wanted of a module that has not come so far.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from olmkit.apis.findings import Findings
from olmkit.apis.python.names import Module, imported_from
from olmkit.base.diagnostics import Location, Related

Imports = Mapping[str, Mapping[str, Location]]
"""Of each module, those it imports, and where."""


def check(imports: Imports, findings: Findings) -> None:
    """Tell of every circle, at the import that closes it."""
    for circle in _circles(imports):
        names = " → ".join(f"`{name}`" for name in (*circle, circle[0]))
        places = [imports[a][b] for a, b in zip(circle, (*circle[1:], circle[0]), strict=True)]
        findings.add(
            "API030",
            f"the imports go in a circle: {names}",
            places[0],
            hint="move what both need into a module of its own",
            related=tuple(Related(place, "and on from here") for place in places[1:]),
        )


def of_python(modules: Mapping[str, Module]) -> Imports:
    """The imports of Python modules that fail when they are part of a circle."""
    wanted = {name: dict(_wanted(module, modules)) for name, module in modules.items()}
    return {
        name: {
            other: module.at(statement)
            for other, statement in wanted[name].items()
            if _comes_too_early(statement, modules[other], wanted[other].values())
        }
        for name, module in modules.items()
    }


def _wanted(module: Module, modules: Mapping[str, Module]) -> Iterator[tuple[str, ast.ImportFrom]]:
    for statement in module.tree.body:
        if isinstance(statement, ast.ImportFrom):
            origin = imported_from(module, statement)
            if origin in modules and origin != module.name:
                yield origin, statement


def _comes_too_early(
    statement: ast.ImportFrom, other: Module, goes_on: Collection[ast.ImportFrom]
) -> bool:
    """Whether a name is there only after the last import by which the other module goes on."""
    last = max((one.lineno for one in goes_on), default=0)
    there = {alias.name: one.lineno for one in goes_on for alias in one.names}
    there |= {name: node.lineno for name, node in other.classes.items()}
    there |= {name: node.lineno for name, node in other.assigned.items()}
    return any(there.get(alias.name, -1) >= last for alias in statement.names)


def _circles(imports: Imports) -> Iterator[tuple[str, ...]]:
    """Circles, each once and beginning with its first name; one at the least of those there are."""
    seen: set[str] = set()
    told: set[frozenset[str]] = set()
    for start in sorted(imports):
        if start in seen:
            continue
        path: list[str] = []
        waiting: list[tuple[str, int]] = [(start, 0)]
        while waiting:
            name, depth = waiting.pop()
            del path[depth:]
            if name in path:
                circle = path[path.index(name) :]
                first = circle.index(min(circle))
                if frozenset(circle) not in told:
                    told.add(frozenset(circle))
                    yield (*circle[first:], *circle[:first])
                continue
            if name in seen:
                continue
            seen.add(name)
            path.append(name)
            waiting += [(other, depth + 1) for other in reversed(list(imports.get(name, ())))]
