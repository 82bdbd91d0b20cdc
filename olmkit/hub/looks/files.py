"""The files that all pages share: style sheet, scripts, icon of the site."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

FOLDER: Final = "static"
"""Their folder, relative to the first page."""
_NAMES: Final = ("compare.js", "favicon.svg", "hub.css", "hub.js", "operator.js", "theme.js")
_LIVE: Final = "live.js"


@lru_cache(maxsize=1)
def shared() -> Mapping[str, bytes]:
    """Return name below `FOLDER` → bytes."""
    folder = files("olmkit.hub.looks") / "static"
    return {name: (folder / name).read_bytes() for name in _NAMES}


def live() -> tuple[str, bytes]:
    """Return name below `FOLDER` and bytes of the script that reloads served pages."""
    return _LIVE, (files("olmkit.hub.looks") / "static" / _LIVE).read_bytes()


def index_script(index: str) -> str:
    """Return the search index as a script, since local pages cannot fetch a file."""
    return _script("hubIndex", index)


def descriptions_script(text: str) -> str:
    """Return the descriptions of the operators as a script, in the order of the index."""
    return _script("hubDescriptions", text)


def _script(name: str, text: str) -> str:
    # JSON is JavaScript since ES2019; `<` is escaped, so that the text may also be in a page.
    return f"window.{name} = " + text.strip().replace("<", "\\u003c") + ";\n"
