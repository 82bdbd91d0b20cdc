"""The folders in which olmkit caches data that it can get again.

If you delete such a folder, olmkit only needs more time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError


def folder(environment: Mapping[str, str], name: str) -> Path:
    """Return the folder `name` in `OLMKIT_CACHE`, else in the user's cache folder.

    Raises `ConfigurationError` if no variable names a folder. With a fixed name in `/tmp`, other
    users could control its content.
    """
    if chosen := environment.get("OLMKIT_CACHE"):
        return Path(chosen) / name
    user = Path(environment.get("XDG_CACHE_HOME") or "")
    if not user.is_absolute():  # must be ignored (XDG Base Directory Specification)
        if not environment.get("HOME"):
            raise ConfigurationError(
                f"the {name} cache has no folder, since `HOME` is not set",
                hint="set `OLMKIT_CACHE` to a folder that only you can write to",
            )
        user = Path(environment["HOME"], ".cache")
    return user / "olmkit" / name
