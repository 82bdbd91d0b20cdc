"""Find changes since an earlier build by its `index.json`.

The dates in catalogs cannot be trusted, and no clock is read. So a change is a difference from the
earlier list; the changes of the earlier build follow the new ones.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from olmkit.base.diagnostics import InputError
from olmkit.hub.pages.list_page import News, Tile
from olmkit.kube.objects import mapping, sequence, text

MOST: Final = 100
"""Maximum number of changes, the newest ones."""

_KINDS: Final = ("added", "updated", "deprecated", "removed")
_Key = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Earlier:
    """The list of an earlier build: catalog and package → fields, and its changes."""

    packages: Mapping[_Key, Mapping[str, Any]]
    changes: tuple[News, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The time of a build: after `earlier`, at `time` (RFC 3339), if known."""

    earlier: Earlier | None = None
    time: str = ""


def parse(data: bytes, path: str) -> Earlier:
    """Return the `index.json` of an earlier build. Raises `InputError` if it is not valid."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    listed = mapping(found).get("packages")
    if not isinstance(listed, list):
        raise InputError(
            f"`{path}` is not the list of a hub",
            hint="name the `index.json` of an earlier build, or its directory",
        )
    packages = {
        (text(one.get("catalog")), text(one.get("name"))): one
        for one in map(mapping, listed)
        if text(one.get("name"))
    }
    changes = (_read(mapping(one)) for one in sequence(mapping(found).get("changes")))
    return Earlier(packages=packages, changes=tuple(one for one in changes if one is not None))


def since(moment: Moment, tiles: Sequence[Tile]) -> tuple[News, ...] | None:
    """Return the changes from the earlier list to `tiles`, by name, then the earlier changes.

    Returns None without an earlier list.
    """
    earlier, time = moment.earlier, moment.time
    if earlier is None:
        return None
    now = {(one.catalog, one.name): one for one in tiles}
    found = [
        *_new(earlier, now, time),
        *(
            News(
                kind="removed",
                name=key[1],
                catalog=key[0],
                display_name=text(one.get("displayName")) or key[1],
                before=text(one.get("version")),
                time=time,
            )
            for key, one in earlier.packages.items()
            if key not in now
        ),
    ]
    found.sort(key=lambda one: (one.name, one.catalog))
    known = (
        replace(one, href=now[key].href if (key := (one.catalog, one.name)) in now else "")
        for one in earlier.changes
    )
    return (*found, *known)[:MOST]


def data(changes: Sequence[News]) -> list[dict[str, str]]:
    """Return the changes as JSON."""
    return [{key: value for key, value in asdict(one).items() if value} for one in changes]


def sentence(one: News) -> str:
    """Describe a change, without the name of the operator."""
    match one.kind:
        case "added":
            return f"version {one.version} is new in the catalog" if one.version else "is new"
        case "updated":
            return f"version {one.version or 'not stated'}, before {one.before or 'not stated'}"
        case "removed":
            return "is no longer in the catalog"
        case _:
            return "is deprecated now"


def _new(earlier: Earlier, now: Mapping[_Key, Tile], time: str) -> Iterator[News]:
    for key, tile in now.items():
        known = earlier.packages.get(key)
        before = text(known.get("version")) if known is not None else ""
        if known is None:
            kind = "added"
        elif before != tile.version:
            kind = "updated"
        elif tile.deprecated and not known.get("deprecated"):
            kind = "deprecated"
        else:
            continue
        yield News(
            kind=kind,
            name=tile.name,
            catalog=tile.catalog,
            display_name=tile.display_name,
            href=tile.href,
            version=tile.version,
            before=before if kind == "updated" else "",
            time=time,
        )


def _read(found: Mapping[str, Any]) -> News | None:
    kept = {key: text(found.get(key)) for key in News.__dataclass_fields__}
    return News(**kept) if kept["kind"] in _KINDS and kept["name"] else None
