"""Options of controller-gen in a Makefile, so that a Go project is generated as its authors do.

Recipe lines that run it are looked at, with simple variables put in. What cannot be
read from the text (shell, functions, other folders) is left out, never guessed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from olmkit.project.config import Settings

MAKEFILE = "Makefile"
_VARIABLE = re.compile(
    r"^(?:export +)?([A-Za-z_][A-Za-z0-9_]*) *(\??|::?)= *(.*?) *$", re.MULTILINE
)
_USE = re.compile(r"\$(?:\(([A-Za-z_][A-Za-z0-9_]*)\)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
# A call of a function, which only make can work out.
_CALL = re.compile(r"\$[({][A-Za-z]+\s[^(){}]*[)}]")
_PROGRAM = re.compile(r"(?:.*/)?controller-gen|.*\$[({](?:LOCAL_)?CONTROLLER_GEN(?:_BINARY)?[)}]")
_PATHS = re.compile(r"[,;]")
_BOOLS = {
    "generateEmbeddedObjectMeta": "embedded_object_meta",
    "allowDangerousTypes": "allow_dangerous_types",
    "ignoreUnexportedFields": "ignore_unexported_fields",
    "deprecatedV1beta1CompatibilityPreserveUnknownFields": "preserve_unknown_fields",
}
_TEXTS = {"headerFile": "header_file", "year": "year", "roleName": "role_name"}


@dataclass(frozen=True, slots=True)
class Found:
    """What the line of a Makefile asks for; `settings` are names and values of `Settings`."""

    line: int
    settings: dict[str, Any]

    def applied(self, settings: Settings) -> tuple[Settings, tuple[str, ...]]:
        """The settings with what they leave open, and the names of those."""
        standard = {one.name: one.default for one in fields(Settings)}
        new = {
            name: value
            for name, value in self.settings.items()
            if getattr(settings, name) == standard[name] != value
        }
        return replace(settings, **new), tuple(name.replace("_", "-") for name in new)


def read(text: str) -> Found | None:
    """The options of the first line that makes CRDs; None when no line does.

    The name of the role may stand on a line of its own.
    """
    variables = {m.group(1): m.group(3) for m in _VARIABLE.finditer(text)}
    found: Found | None = None
    role: str | None = None
    for line, words in _calls(text, variables):
        settings = _settings(words)
        role = role or settings.get("role_name")
        generators = {word.partition(":")[0] for word in words}
        if found is None and "crd" in generators:
            if "rbac" not in generators:
                settings.pop("sources", None)  # roles come from other packages than these
            found = Found(line, settings)
    if found and role:
        found.settings.setdefault("role_name", role)
    return found


def _calls(text: str, variables: dict[str, str]) -> Iterator[tuple[int, list[str]]]:
    """Recipe lines that run the program in the Makefile's own folder: number and arguments."""
    for number, line in _lines(text):
        if not line.startswith("\t"):
            continue
        try:
            words = shlex.split(_CALL.sub("$", line).strip().lstrip("@-"), comments=True)
        except ValueError:
            continue
        program = next((i for i, word in enumerate(words) if _PROGRAM.fullmatch(word)), None)
        if program is None or "cd" in words[:program]:
            continue
        try:
            expanded = shlex.split(
                " ".join(_expand(word, variables) for word in words[program + 1 :])
            )
        except ValueError:
            continue
        yield number, expanded


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Logical lines with the number of their first one."""
    whole, start = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        start = start or number
        if line.endswith("\\"):
            whole += line[:-1] + " "
            continue
        yield start, whole + line
        whole, start = "", 0
    if whole:
        yield start, whole


def _expand(word: str, variables: dict[str, str]) -> str:
    for _ in range(5):  # variables of variables; more is no simple one

        def value(match: re.Match[str]) -> str:
            return variables.get(match.group(1) or match.group(2), match.group())

        expanded = _USE.sub(value, word)
        if expanded == word:
            break
        word = expanded
    return word


def _settings(words: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    sources: list[str] = []
    for word in words:
        if word.startswith("paths="):
            sources += _PATHS.split(word.removeprefix("paths=").strip("{}"))
            continue
        generator, colon, options = word.partition(":")
        if generator not in ("crd", "rbac", "webhook") or not colon:
            continue
        for option in options.split(","):
            if "$" not in option:
                settings |= _option(*option.partition("=")[::2])
    folders = tuple(folder for path in sources if path and (folder := _folder(path)) is not None)
    if folders and not any(folder == "" or "$" in folder for folder in folders):
        settings["sources"] = tuple(dict.fromkeys(folders))
    return settings


def _folder(path: str) -> str | None:
    """`./api/...` → `api`, `./api` → `api/.`, `./...` → an empty text; None for foreign ones."""
    if not path.startswith("./") and path != ".":
        return None
    path = path.removeprefix("./")
    if path == "..." or path.endswith("/..."):
        return path.removesuffix("...").rstrip("/")
    return f"{path.removesuffix('/.').rstrip('/')}/." if path != "." else "."


def _option(name: str, value: str) -> dict[str, Any]:
    value = value.strip("\"'")
    if name == "maxDescLen" and value.isascii() and value.isdigit():
        return {"max_description": int(value)}
    if name in _BOOLS and value in ("true", "false"):
        return {_BOOLS[name]: value == "true"}
    return {_TEXTS[name]: value} if name in _TEXTS and value else {}
