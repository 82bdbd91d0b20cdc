"""One difference between two bundles, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from olmkit.kube.objects import Manifest

V0: Final = "v0"
V1: Final = "v1"
GENERATIONS: Final = (V0, V1)


class Level(StrEnum):
    """What a difference means for an upgrade; the worst first."""

    BLOCKS = "blocks"
    WARNS = "warns"
    INFO = "info"


class Area(StrEnum):
    """What a difference is about, in the order of reports."""

    UPGRADE = "upgrade"
    CRDS = "CRDs"
    APIS = "APIs"
    PERMISSIONS = "permissions"
    INSTALLATION = "installation"
    WORKLOADS = "workloads"
    WEBHOOKS = "webhooks"
    IMAGES = "images"
    DEPENDENCIES = "dependencies"
    OBJECTS = "objects"
    CATALOG = "catalog"
    DESCRIPTIONS = "descriptions"


_LEVELS: Final = {level: index for index, level in enumerate(Level)}
_AREAS: Final = {area: index for index, area in enumerate(Area)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What is different, and what it means.

    `olm`: the generations of OLM that refuse the upgrade or break, when `level` is `blocks`; else
    those for which the difference matters. `subject`: the object that it is about, `place`: the
    field in it. `version`: of a CRD. `example`: an object that the old CRD accepts and the new one
    refuses. `otherwise`: the level for a generation of OLM that does not mind.
    """

    area: Area
    rule: str
    message: str
    level: Level = Level.INFO
    olm: tuple[str, ...] = GENERATIONS
    subject: str = ""
    place: str = ""
    version: str = ""
    old: Any = None
    new: Any = None
    example: Manifest | None = None
    hint: str = ""
    otherwise: Level = field(default=Level.WARNS, compare=False, repr=False)

    @property
    def sort_key(self) -> tuple[Any, ...]:
        return (_LEVELS[self.level], _AREAS[self.area], self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two bundles."""

    reference: str
    name: str
    package: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """All that changes from one bundle to the next, what blocks the upgrade first."""

    old: Side
    new: Side
    olm: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def blocks(self) -> tuple[Change, ...]:
        return tuple(one for one in self.changes if one.level is Level.BLOCKS)

    def count(self, level: Level) -> int:
        return sum(one.level is level for one in self.changes)


def for_generations(changes: Iterable[Change], olm: Iterable[str]) -> Iterator[Change]:
    """The changes as some generations of OLM see them; what no other sees is left out."""
    wanted = tuple(olm)
    for one in changes:
        left = tuple(name for name in one.olm if name in wanted)
        if left:
            yield replace(one, olm=left)
        elif one.level is Level.BLOCKS:
            yield replace(one, level=one.otherwise, olm=wanted)


def ordered(changes: Iterable[Change]) -> tuple[Change, ...]:
    """What blocks first, then by area; otherwise in the order in which they were found."""
    return tuple(sorted(changes, key=lambda one: one.sort_key))
