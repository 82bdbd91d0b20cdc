"""The files that all pages share: style sheet, scripts, icon of the site."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Final

FOLDER: Final = "static"
"""Where they are, relative to the first page."""
_NAMES: Final = ("favicon.svg", "hub.css", "hub.js", "theme.js")


@lru_cache(maxsize=1)
def shared() -> Mapping[str, bytes]:
    """Name below `FOLDER` → bytes."""
    folder = files("olmkit.hub.looks") / "static"
    return {name: (folder / name).read_bytes() for name in _NAMES}


def index_script(index: str) -> str:
    """The search index, a JSON list, as a script: pages opened from disk cannot fetch a file."""
    # JSON is JavaScript since ES2019; `<` is written so that the text may be in a page as well.
    return "window.hubIndex = " + index.strip().replace("<", "\\u003c") + ";\n"
