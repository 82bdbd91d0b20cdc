"""A selection from catalogs in one word: `PACKAGE[:CHANNEL][@VERSION]`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from olmkit.base.diagnostics import ConfigurationError

_WORDS = re.compile(r"(?P<package>[^:@]+)(?::(?P<channel>[^@]+))?(?:@(?P<version>.+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A package, perhaps in one channel; what `version` may be is for the command to say."""

    package: str
    channel: str = ""
    version: str = ""

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Raises `ConfigurationError` when no package is named."""
        found = _WORDS.fullmatch(text)
        if found is None:
            raise ConfigurationError(
                f"`{text}` names no package", hint="write `PACKAGE[:CHANNEL][@VERSION]`"
            )
        return cls(**{key: value or "" for key, value in found.groupdict().items()})
