"""Packages that export names of their modules, which are imported on first use.

`olmkit.runtime`, `olmkit.testing` and `olmkit.jobs` are such packages: one import for their users,
without loading unused modules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def lazy(
    package: str, names: Mapping[str, Iterable[str]], modules: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package.

    `names` maps the full name of a module to its exported names, `modules` the exported name of a
    whole module to its full name.
    """
    homes = {name: module for module, exported in names.items() for name in exported}
    whole = dict(modules or {})
    public = sorted({*homes, *whole})

    def get(name: str) -> Any:
        if name in whole:
            found: Any = importlib.import_module(whole[name])
        elif name in homes:
            found = getattr(importlib.import_module(homes[name]), name)
        else:
            raise AttributeError(f"module `{package}` has no attribute `{name}`")
        setattr(sys.modules[package], name, found)
        return found

    return get, lambda: public, public
