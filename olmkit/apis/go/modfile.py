"""`go.mod`: the modules of a project, their versions, and their replacements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`|[^\s]+')


@dataclass(frozen=True, slots=True)
class GoModule:
    """A module in a version; a replacement by a folder has no version."""

    path: str
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModFile:
    """The contents of a `go.mod`. `replacements` are by path, or by path and version."""

    module: str
    requirements: dict[str, str] = field(default_factory=dict)
    replacements: dict[GoModule, GoModule] = field(default_factory=dict)

    def resolve(self, path: str) -> GoModule | None:
        """Return the module that provides a required path."""
        version = self.requirements.get(path, "")
        for key in (GoModule(path, version), GoModule(path)):
            if key in self.replacements:
                return self.replacements[key]
        return GoModule(path, version) if version else None

    def module_of(self, package: str) -> str:
        """Return the longest module path that contains an import path, or an empty string."""
        known = {*self.requirements, *(key.path for key in self.replacements)}
        while package:
            if package in known:
                return package
            package = package.rpartition("/")[0]
        return ""


def parse(text: str) -> ModFile:
    """Parse a `go.mod`; unknown parts are left out, because Go itself reports them."""
    module = ""
    requirements: dict[str, str] = {}
    replacements: dict[GoModule, GoModule] = {}
    for verb, words in _directives(text):
        if verb == "module" and words:
            module = words[0]
        elif verb == "require" and len(words) >= 2:
            requirements[words[0]] = words[1]
        elif verb == "replace" and "=>" in words:
            arrow = words.index("=>")
            old, new = words[:arrow], words[arrow + 1 :]
            if old and new:
                replacements[GoModule(*old[:2])] = GoModule(*new[:2])
    return ModFile(module=module, requirements=requirements, replacements=replacements)


def used_folders(text: str) -> tuple[str, ...]:
    """Return the folders of the modules in a `go.work`."""
    return tuple(words[0] for verb, words in _directives(text) if verb == "use" and words)


def _directives(text: str) -> Iterator[tuple[str, list[str]]]:
    block = ""
    for line in text.splitlines():
        words = [word.strip('"`') for word in _WORD.findall(line.partition("//")[0])]
        if not words:
            continue
        if block:
            if words == [")"]:
                block = ""
            else:
                yield block, words
        elif words[-1] == "(":
            block = words[0]
        else:
            yield words[0], words[1:]


def escape(path: str) -> str:
    """Return a module path as in the module cache, with `!` before capital letters."""
    return re.sub(r"[A-Z]", lambda match: "!" + match.group().lower(), path)
