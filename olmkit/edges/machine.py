"""The facts of this machine: the running Python, installed distributions, programs in `PATH`."""

from __future__ import annotations

import importlib.metadata
import platform
import re
import shutil
from collections.abc import Mapping

_REQUIREMENT = re.compile(
    r"(?P<name>[A-Za-z0-9._-]+)\s*(?:\[(?P<extras>[^\]]*)\])?[^;]*;"
    r".*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)"
)


def python_version() -> str:
    """Return the version of the running Python, such as `3.13.0`."""
    return platform.python_version()


def program(name: str) -> str:
    """Return the path of a program, empty if there is none."""
    return shutil.which(name) or ""


def version_of(distribution: str) -> str:
    """Return the version of an installed distribution, empty if it is not installed."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def extras_of(distribution: str) -> Mapping[str, tuple[str, ...]]:
    """Return the distributions that each extra needs; none if it is not installed.

    An extra that only combines extras of another distribution needs their distributions; one that
    combines extras of the same distribution needs the distribution itself.
    """
    try:
        requirements = importlib.metadata.requires(distribution) or ()
    except importlib.metadata.PackageNotFoundError:
        return {}
    found: dict[str, list[str]] = {}
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match is None:
            continue
        names = found.setdefault(match["extra"], [])
        names.append(match["name"])
        if match["extras"] and match["name"] != distribution:
            needs = extras_of(match["name"])
            asked = [one.strip() for one in match["extras"].split(",")]
            names += [name for one in asked for name in needs.get(one, ())]
    return {extra: tuple(dict.fromkeys(names)) for extra, names in sorted(found.items())}
