"""Find import cycles of modules that prevent loading them.

In Go, every cycle is an error; `apis.python.import_order` decides which Python imports count.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmkit.apis.findings import Findings
from olmkit.base.diagnostics import Location, Related

Imports = Mapping[str, Mapping[str, Location]]
"""The imports of each module, with their places."""


def check(imports: Imports, findings: Findings) -> None:
    """Report every cycle, at the import that closes it."""
    for circle in _circles(imports):
        names = " → ".join(f"`{name}`" for name in (*circle, circle[0]))
        places = [imports[a][b] for a, b in zip(circle, (*circle[1:], circle[0]), strict=True)]
        findings.add(
            "API030",
            f"the modules import each other in a cycle: {names}",
            places[0],
            hint="move what both need into a third module",
            related=tuple(Related(place, "the cycle continues here") for place in places[1:]),
        )


def _circles(imports: Imports) -> Iterator[tuple[str, ...]]:
    """Yield cycles, each once and starting with its first name."""
    seen: set[str] = set()
    reported: set[frozenset[str]] = set()
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
                if frozenset(circle) not in reported:
                    reported.add(frozenset(circle))
                    yield (*circle[first:], *circle[:first])
                continue
            if name in seen:
                continue
            seen.add(name)
            path.append(name)
            waiting += [(other, depth + 1) for other in reversed(list(imports.get(name, ())))]
