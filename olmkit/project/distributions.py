"""The distributions of olmkit that a project needs, in versions that match this one.

docs/explanation/versions.md says which versions are compatible.
"""

from __future__ import annotations

import re

import olmkit

_RELEASED = re.compile(r"(\d+)\.(\d+)(?:\.\d+)*")


def runtime(*extras: str) -> str:
    """Return the requirement of an operator's image: the runtime, with `extras`."""
    return f"olmkit-runtime[{','.join(extras)}]{compatible(olmkit.__version__)}"


def compatible(version: str) -> str:
    """Return the versions with all features of `version`: `>=0.1,<0.2`, from 1.0 `>=1.2,<2`."""
    match = _RELEASED.match(version)
    if match is None:
        raise ValueError(f"`{version}` is not a version")
    major, minor = int(match[1]), int(match[2])
    lowest = f"{major}.{minor}" if match[0] == version else version
    return f">={lowest},<{major + 1}" if major else f">={lowest},<0.{minor + 1}"
