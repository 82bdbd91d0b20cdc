"""The built-in kinds of Kubernetes for the API server double: their resources and fields.

The double serves only the kinds that it gets: `ApiServer.of(BUILT_IN, crds=[...])`, or the few that
a test needs. `scripts/built_in_kinds.py` writes `data/kinds.txt` and `data/fields.txt` from the
answers of a real server.
"""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Iterator, Mapping

from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK


def _kinds() -> Iterator[tuple[Resource, str]]:
    for line in _lines("kinds.txt"):
        api_version, kind, plural, scope, below, fields = line.split()
        group, _, version = api_version.rpartition("/")
        resource = Resource(
            gvk=GVK(group, version, kind),
            plural=plural,
            namespaced=scope == "Namespaced",
            subresources=frozenset(() if below == "-" else below.split(",")),
        )
        yield resource, fields


def _lines(name: str) -> list[str]:
    text = (pkgutil.get_data(__name__, f"data/{name}") or b"").decode()
    return [line for line in text.splitlines() if not line.startswith("#")]


_TYPES = dict(_kinds())

BUILT_IN: tuple[Resource, ...] = tuple(_TYPES)
"""All kinds in the discovery document of a real server that are stored as objects."""

_BY_KIND = {resource.gvk: kind for resource, kind in _TYPES.items()}


def type_of(gvk: GVK) -> str:
    """Return the name of a built-in kind's type in `fields`; empty for other kinds."""
    return _BY_KIND.get(gvk, "")


@functools.cache
def fields() -> Mapping[str, Mapping[str, str]]:
    """Return the fields of each type, in the notation of `kube/data/shapes.txt`."""
    found: dict[str, dict[str, str]] = {}
    here: dict[str, str] = {}
    for line in _lines("fields.txt"):
        if line.startswith(" "):
            here.update(item.split(":", 1) for item in line.split())  # type: ignore[misc]
        else:
            here = found.setdefault(line.removesuffix(":"), {})
    return found
