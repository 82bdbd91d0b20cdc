"""A selection from catalogs in one argument: `PACKAGE[:CHANNEL][@VERSION]`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from olmkit.base.diagnostics import ConfigurationError

_WORDS = re.compile(r"(?P<package>[^:@]+)(?::(?P<channel>[^@]+))?(?:@(?P<version>.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A package, optionally in one channel; the command defines the meaning of `version`."""

    package: str
    channel: str = ""
    version: str = ""

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Parse a selection. Raises `ConfigurationError` if it names no package."""
        found = _WORDS.fullmatch(text)
        if found is None:
            raise ConfigurationError(
                f"`{text}` names no package", hint="write `PACKAGE[:CHANNEL][@VERSION]`"
            )
        return cls(**{key: value or "" for key, value in found.groupdict().items()})
