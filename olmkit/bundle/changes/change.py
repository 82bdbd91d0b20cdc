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


class ChangeLevel(StrEnum):
    """The effect of a difference on an upgrade, the most severe first."""

    BLOCKS = "blocks"
    WARNS = "warns"
    INFO = "info"


class Area(StrEnum):
    """The area of a difference, in the order of reports."""

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


_LEVELS: Final = {level: index for index, level in enumerate(ChangeLevel)}
_AREAS: Final = {area: index for index, area in enumerate(Area)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleChange:
    """One difference and its effect.

    `olm`: the generations of OLM that refuse the upgrade or fail, if `level` is `blocks`; else
    those for which the difference matters. `subject`: the changed object, `place`: the field in it.
    `version`: that of a CRD. `example`: an object that the old CRD accepts and the new one refuses.
    `otherwise`: the level for other generations of OLM.
    """

    area: Area
    rule: str
    message: str
    level: ChangeLevel = ChangeLevel.INFO
    olm: tuple[str, ...] = GENERATIONS
    subject: str = ""
    place: str = ""
    version: str = ""
    old: Any = None
    new: Any = None
    example: Manifest | None = None
    hint: str = ""
    otherwise: ChangeLevel = field(default=ChangeLevel.WARNS, compare=False, repr=False)

    @property
    def sort_key(self) -> tuple[Any, ...]:
        return (_LEVELS[self.level], _AREAS[self.area], self.subject)


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedBundle:
    """One of the two bundles."""

    reference: str
    name: str
    package: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDifference:
    """All changes between two bundles, blocking ones first."""

    old: ComparedBundle
    new: ComparedBundle
    olm: tuple[str, ...]
    changes: tuple[BundleChange, ...]

    @property
    def blocks(self) -> tuple[BundleChange, ...]:
        return tuple(one for one in self.changes if one.level is ChangeLevel.BLOCKS)

    def count(self, level: ChangeLevel) -> int:
        return sum(one.level is level for one in self.changes)


def for_generations(changes: Iterable[BundleChange], olm: Iterable[str]) -> Iterator[BundleChange]:
    """Yield the changes for some generations of OLM, without those only for others."""
    wanted = tuple(olm)
    for one in changes:
        left = tuple(name for name in one.olm if name in wanted)
        if left:
            yield replace(one, olm=left)
        elif one.level is ChangeLevel.BLOCKS:
            yield replace(one, level=one.otherwise, olm=wanted)


def sort_changes(changes: Iterable[BundleChange]) -> tuple[BundleChange, ...]:
    """Return the changes with blocking ones first, then by area."""
    return tuple(sorted(changes, key=lambda one: one.sort_key))
