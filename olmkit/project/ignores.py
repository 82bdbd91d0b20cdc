"""The rules that a project ignores: `[tool.olmkit.ignore]` of its `pyproject.toml`.

Each rule has a reason, which explains the decision:

    [tool.olmkit.ignore]
    HUB063 = "our channels are named after years"
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from olmkit.base.diagnostics import ConfigurationError

SECTION = "ignore"
_MARK = b"tool.olmkit.ignore"


def parse(data: bytes | None, path: str) -> Mapping[str, str]:
    """Return rule → reason; `ConfigurationError` if it is not TOML, or without a reason."""
    if data is None or _MARK not in data:
        return {}
    import tomllib

    try:
        value: Any = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"`{path}` is not TOML: {error}") from None
    entry = value
    for name in ("tool", "olmkit", SECTION):
        entry = entry.get(name, {}) if isinstance(entry, dict) else {}
    if not isinstance(entry, dict):
        raise ConfigurationError(f"`tool.olmkit.{SECTION}` of `{path}` is not a table")
    for rule, reason in entry.items():
        if not isinstance(reason, str) or len(reason.split()) < 2:
            raise ConfigurationError(
                f"`{path}` ignores `{rule}` without a reason",
                hint=f'write the reason, such as `{rule} = "our channels are named after years"`',
            )
    return entry
