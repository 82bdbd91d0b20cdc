"""Releases of opm that render semver templates differently than the current one.

Sources: `alpha/template/semver` of operator-registry 1.28 to 1.73. Edges: up to 1.36 and since 1.61
as today; 1.37 to 1.60 link each channel on its own, and up to 1.56 a bundle also skips what it
replaces. Packages have an icon and a description since 1.65.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from olmkit.base.diagnostics import ConfigurationError

OLDEST: Final = 28
NEWEST: Final = 73
_RELEASE: Final = re.compile(r"v?1\.([0-9]{1,3})(?:\.[0-9]{1,3})?")


class Edges(Enum):
    """How the entries of channels are linked."""

    MAJOR = auto()
    """Across the channels of a major version."""
    CHANNEL = auto()
    """In each channel on its own."""
    CHANNEL_WITH_REPLACED = auto()
    """In each channel on its own; what an entry replaces is also among its skips."""


@dataclass(frozen=True, slots=True)
class OpmRelease:
    """A release `1.<minor>` of opm."""

    minor: int = NEWEST

    @classmethod
    def parse(cls, text: str) -> OpmRelease:
        """Return the release in `1.50`, `1.50.0` or `v1.50.0`. Raises `ConfigurationError`."""
        match = _RELEASE.fullmatch(text)
        if match is None or not OLDEST <= int(match[1]) <= NEWEST:
            raise ConfigurationError(
                f"`{text[:60]}` is not a release of opm from 1.{OLDEST} to 1.{NEWEST}",
                hint="name a release such as `1.50`",
            )
        return cls(int(match[1]))

    @property
    def edges(self) -> Edges:
        if 37 <= self.minor <= 56:
            return Edges.CHANNEL_WITH_REPLACED
        return Edges.CHANNEL if 57 <= self.minor <= 60 else Edges.MAJOR

    @property
    def has_presentation(self) -> bool:
        """Whether packages have the icon and the description of their newest bundle."""
        return self.minor >= 65


CURRENT: Final = OpmRelease()
