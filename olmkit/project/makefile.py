"""Read the options of controller-gen in the Makefile of a Go project.

Recipe lines that run it are parsed, with simple variables replaced. Parts that cannot be evaluated
(shell, functions, other folders) are left out, never guessed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from olmkit.project.config import Settings

MAKEFILE = "Makefile"
_VARIABLE = re.compile(
    r"^(?:export +)?([A-Za-z_][A-Za-z0-9_]*) *(\??|::?)= *(.*?) *$", re.MULTILINE
)
_USE = re.compile(r"\$(?:\(([A-Za-z_][A-Za-z0-9_]*)\)|\{([A-Za-z_][A-Za-z0-9_]*)\})")
# A call of a function, which only make can evaluate.
_CALL = re.compile(r"\$[({][A-Za-z]+\s[^(){}]*[)}]")
_PROGRAM = re.compile(r"(?:.*/)?controller-gen|.*\$[({](?:LOCAL_)?CONTROLLER_GEN(?:_BINARY)?[)}]")
_PATHS = re.compile(r"[,;]")
_COMMA = re.compile(r",(?![^{]*\})")
_FORM = re.compile(r"(?:artifacts:)?(?:dir|config)=([^,]+)(?:,code=.*)?")
_BOOLS = {
    "generateEmbeddedObjectMeta": "embedded_object_meta",
    "allowDangerousTypes": "allow_dangerous_types",
    "ignoreUnexportedFields": "ignore_unexported_fields",
    "deprecatedV1beta1CompatibilityPreserveUnknownFields": "preserve_unknown_fields",
}
_TEXTS = {"headerFile": "header_file", "year": "year", "roleName": "role_name"}
_OPTIONS = {
    "crd": (*_BOOLS, "headerFile", "year", "maxDescLen", "crdVersions", "omitToolVersion"),
    "rbac": ("headerFile", "year", "roleName", "fileName"),
    "webhook": ("headerFile", "year"),
}
# Values that are the default anyway.
_USUAL = {"crdVersions": ("", "v1", "{v1}"), "fileName": ("", "role.yaml")}
_FOLDERS = {"crd": "config/crd/bases", "rbac": "config/rbac", "webhook": "config/webhook"}


class IgnoredOption(NamedTuple):
    """An option of the line that has no effect here."""

    message: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Found:
    """The options of a line of a Makefile; `settings` are names and values of `Settings`."""

    line: int
    settings: dict[str, Any]
    ignored: tuple[IgnoredOption, ...] = ()

    def applied(self, settings: Settings) -> tuple[Settings, tuple[str, ...]]:
        """Return the settings, completed by these options, and the names of the used ones."""
        standard = {one.name: one.default for one in fields(Settings)}
        new = {
            name: value
            for name, value in self.settings.items()
            if getattr(settings, name) == standard[name] != value
        }
        return replace(settings, **new), tuple(name.replace("_", "-") for name in new)


def read(text: str) -> Found | None:
    """Return the options of the first line that generates CRDs; None if there is none.

    The name of the role may be on a separate line.
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
            found = Found(line, settings, tuple(dict.fromkeys(_find_ignored(words))))
    if found and role:
        found.settings.setdefault("role_name", role)
    return found


def _calls(text: str, variables: dict[str, str]) -> Iterator[tuple[int, list[str]]]:
    """Yield recipe lines that run the program in the Makefile's folder: number and arguments."""
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
    """Yield logical lines with the number of their first line."""
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
    for _ in range(5):  # nested variables; deeper nesting is not simple

        def value(match: re.Match[str]) -> str:
            return variables.get(match.group(1) or match.group(2), match.group())

        expanded = _USE.sub(value, word)
        if expanded == word:
            break
        word = expanded
    return word


def _settings(arguments: list[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    sources: list[str] = []
    outputs: dict[bool, str] = {}
    for word in arguments:
        if word.startswith("paths="):
            sources += _PATHS.split(word.removeprefix("paths=").strip("{}"))
            continue
        generator, colon, options = word.partition(":")
        if generator == "output" and (into := _output(options, "crd")):
            # A rule for one generator takes precedence over one for all generators.
            outputs[options.startswith("crd:")] = into
        if generator not in _OPTIONS or not colon:
            continue
        for option in _split(options):
            if "$" not in option:
                settings |= _option(*option.partition("=")[::2])
    if outputs:
        settings["crd_folder"] = outputs.get(True) or outputs[False]
    folders = tuple(folder for path in sources if path and (folder := _folder(path)) is not None)
    if folders and not any(folder == "" or "$" in folder for folder in folders):
        settings["sources"] = tuple(dict.fromkeys(folders))
    return settings


def _split(options: str) -> list[str]:
    """Return the options of a generator; commas in braces and quotes separate items."""
    return [option for option in _COMMA.split(options) if option]


def _output(rule: str, generator: str) -> str:
    """Return the output folder of a generator inside the project; empty for none."""
    form = rule.removeprefix(f"{generator}:")
    match = _FORM.fullmatch(form)
    folder = match.group(1).strip("\"'") if match else ""
    if "$" in folder or folder.startswith(("/", "..")):
        return ""
    return folder.removeprefix("./").rstrip("/")


def _find_ignored(arguments: list[str]) -> Iterator[IgnoredOption]:
    """Return options that controller-gen does not have, or that olmkit does not support."""
    import difflib

    called = {word.partition(":")[0] for word in arguments}
    for word in arguments:
        generator, colon, options = word.partition(":")
        if generator == "output":
            yield from _find_ignored_output(word, options, called)
        for option in _split(options) if generator in _OPTIONS and colon else ():
            name, _, value = option.partition("=")
            if name not in _OPTIONS[generator]:
                near = difflib.get_close_matches(name, _OPTIONS[generator], n=1)
                hint = f"did you mean `{near[0]}`?" if near else ""
                yield IgnoredOption(
                    f"`{name}` is not an option of the generator `{generator}`", hint
                )
            elif "$" in value:
                yield IgnoredOption(f"`{option}` is not read: only make knows its value")
            elif name in _USUAL and value.strip("\"'") not in _USUAL[name]:
                yield IgnoredOption(f"`{generator}:{option}` has no effect in olmkit")
            elif value and name not in (*_USUAL, "omitToolVersion") and not _option(name, value):
                yield IgnoredOption(f"`{value}` is not a value of `{generator}:{name}`")


def _find_ignored_output(word: str, rule: str, called: set[str]) -> Iterator[IgnoredOption]:
    named = rule.partition(":")[0]
    for generator in (named,) if named in _FOLDERS else tuple(_FOLDERS):
        is_other = named not in _FOLDERS and (named in called or named == "object")
        if generator not in called or is_other:
            continue
        folder = _output(rule, generator)
        if not folder or (generator != "crd" and folder != _FOLDERS[generator]):
            hint = "set `crd-folder` in [tool.olmkit]" if generator == "crd" else ""
            into = _FOLDERS[generator]
            yield IgnoredOption(
                f"`{word}` has no effect for `{generator}`, written to `{into}`", hint
            )


def _folder(path: str) -> str | None:
    """Convert `./api/...` to `api`, `./api` to `api/.`, `./...` to an empty string; else None."""
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
