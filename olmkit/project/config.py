"""A user's project: the PROJECT file and `[tool.olmkit]` as one typed value.

The PROJECT file is the one of kubebuilder and operator-sdk (version 3), so that projects of either
are read. `[tool.olmkit]` in `pyproject.toml` has the settings that are not possible there. Nothing
here reads the disk: the bytes are passed in.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from olmkit.base import findings, names, toml_positions
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError, Location, Severity
from olmkit.project import ignores

if TYPE_CHECKING:
    from olmkit.base.documents import Document

PROJECT_FILE = "PROJECT"
PYPROJECT_FILE = "pyproject.toml"
_WATCHES_FILE = "watches.yaml"
WATCHED_LAYOUTS = {
    "helm": "helm.sdk.operatorframework.io/v1",
    "ansible": "ansible.sdk.operatorframework.io/v1",
}
"""Layouts of projects whose operator a `watches.yaml` describes."""


MIGRATE = "migrate the project to version 3, as the book of kubebuilder describes"
"""The hint for a PROJECT file of version 1 or 2."""

IDENTITY = ("domain", "group", "kind", "version")
"""The keys by which a plugin names a kind that it has created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """One API that the project has or uses: an entry of `resources`.

    `runner` is `helm` or `ansible` if an entry of `watches.yaml` runs for its objects in a project
    that is written in another language.
    """

    group: str
    domain: str
    version: str
    kind: str
    at: Location
    plural: str = ""
    path: str = ""
    has_types: bool = False
    is_namespaced: bool = True
    has_controller: bool = False
    is_core: bool = False
    is_external: bool = False
    runner: str = ""

    @property
    def is_defined_elsewhere(self) -> bool:
        """Return whether another owner defines the kind: Kubernetes, or another operator."""
        return self.is_core or self.is_external

    @property
    def qualified_group(self) -> str:
        """Return group and domain: `cache.example.com`; only one of them if the other is empty."""
        if self.is_core and self.group == "core":
            return ""
        return ".".join(part for part in (self.group, self.domain) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of `[tool.olmkit]`, with their defaults."""

    sources: tuple[str, ...] = ()
    role_name: str = "manager-role"
    max_description: int | None = None
    allow_dangerous_types: bool = False
    embedded_object_meta: bool = False
    infer_defaults: bool = True
    strict_markers: bool = False
    ignore_unexported_fields: bool = False
    preserve_unknown_fields: bool | None = None
    header_file: str = ""
    year: str = ""
    controller_gen_version: str = ""
    crd_folder: str = "config/crd/bases"
    image_base: str = ""
    image_entrypoint: tuple[str, ...] = ()
    image_libc: str = ""
    image_lock: str = ""
    image_packages: tuple[str, ...] = ()
    image_python: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """One project. `document` has `plugins` and unknown keys of the file, `findings` the latter."""

    name: str
    document: Document
    domain: str = ""
    repo: str = ""
    layout: tuple[str, ...] = ()
    is_multigroup: bool = False
    apis: tuple[Api, ...] = ()
    settings: Settings = Settings()
    findings: tuple[Diagnostic, ...] = ()

    @property
    def language(self) -> str:
        """Return `python`, `go`, `helm`, `ansible`, or an empty string."""
        for key in self.layout:
            language = key.removeprefix("base.").partition(".")[0]
            if language in ("python", "go", "helm", "ansible"):
                return language
            if language == "hybrid":  # a Go program that also runs charts
                return "go"
        return ""

    @property
    def runners(self) -> tuple[str, ...]:
        """Return the runners of the kinds in its `watches.yaml`: `helm`, `ansible` or both."""
        named = {api.runner for api in self.apis} | {self.language}
        return tuple(one for one in WATCHED_LAYOUTS if one in named)

    def own_apis(self) -> tuple[Api, ...]:
        """Return the APIs whose types are the project's own."""
        return tuple(api for api in self.apis if api.has_types)


def parse(
    project_file: bytes | Document | None, pyproject: bytes | None = None, *, prefix: str = ""
) -> Project:
    """Return a project from its two files; the first one may have been read by `document`.

    Raises `ConfigurationError` if there is no PROJECT file or if it cannot be read.
    """
    if project_file is None:
        raise ConfigurationError(
            f"there is no project here: `{prefix + PROJECT_FILE}` does not exist",
            hint="run the command in a project, pass its folder with `-C`, or create one with "
            "`olmkit init`",
        )
    if isinstance(project_file, bytes):
        project_file = document(project_file, prefix=prefix)
    reader = _Reader(project_file)
    project = reader.project()
    settings = parse_settings(pyproject, prefix + PYPROJECT_FILE)
    if reader.errors:
        raise ConfigurationError(reader.errors[0].message, "", tuple(reader.errors))
    return replace(project, settings=settings)


def document(project_file: bytes, *, prefix: str = "") -> Document:
    """Return a PROJECT file as a document; `ConfigurationError` if it is not YAML."""
    # Here and below: callers that need only `[tool.olmkit]` do not load the YAML readers.
    from olmkit.base import documents

    try:
        return documents.load(project_file, prefix + PROJECT_FILE)
    except InputError as error:
        raise ConfigurationError(error.message, error.hint, error.diagnostics) from error


def find_plugins_from_watches(project: Project, read: Callable[[str], bytes | None]) -> Project:
    """Return the project with the layout of its `watches.yaml` if its own is wrong.

    It is wrong for a Go layout without a `go.mod`, and for no layout without sources of a package.
    In a Go program, kinds without a Go package are those of charts and roles. `read` returns the
    bytes of a file of the project, or None if it does not exist.
    """
    builds = {"go": ("go.mod",), "": ("go.mod", PYPROJECT_FILE)}.get(project.language)
    data = None if builds is None else read(_WATCHES_FILE)
    if builds is None or data is None:
        return project
    from olmkit.base import documents

    try:
        listed = documents.load(data, _WATCHES_FILE).value
    except InputError:  # the reader of the entries reports it
        return project
    entries = [
        {str(key).lower(): value for key, value in one.items()}
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, Mapping)
    ]
    runners = ["helm" if "chart" in one else "ansible" for one in entries]
    if any(read(name) is not None for name in builds):
        kinds = {
            tuple(str(one.get(key) or "") for key in ("group", "version", "kind")): runner
            for one, runner in zip(entries, runners, strict=True)
        }
        return replace(project, apis=tuple(_with_runner(api, kinds) for api in project.apis))
    if len(set(runners)) != 1:  # nothing, or kinds of both, which a Python program runs
        return project
    return replace(project, layout=(WATCHED_LAYOUTS[runners[0]],))


def _with_runner(api: Api, runners: Mapping[tuple[str, ...], str]) -> Api:
    key = (api.qualified_group, api.version, api.kind)
    return api if api.path or api.runner else replace(api, runner=runners.get(key, ""))


def old_version(project_file: Document) -> str:
    """Return the version of a PROJECT file of kubebuilder 1 or 2; empty for any other file."""
    version = str(project_file.get("version"))
    return version if version in ("1", "2") else ""


def of_any_version(project_file: Document) -> Project:
    """Return the project of a PROJECT file of version 3 or a similar one, without settings.

    Raises `ConfigurationError` for one with other values under these keys.
    """
    reader = _Reader(project_file)
    project = reader.project()
    wrong = tuple(found for found in reader.errors if found.rule != _OTHER_VERSION)
    if wrong:
        raise ConfigurationError(wrong[0].message, diagnostics=wrong)
    return project


def without_file(pyproject: bytes | None, *, prefix: str = "") -> Project:
    """Return a project with settings but without a PROJECT file, APIs and name."""
    settings = parse_settings(pyproject, prefix + PYPROJECT_FILE)
    from olmkit.base import documents

    document = documents.load(b"{}", prefix + PROJECT_FILE)
    return Project(name="", document=document, settings=settings)


def changed(settings: Settings, text: str) -> Settings:
    """Return settings with one changed by `NAME=VALUE`; raises `ConfigurationError`.

    Items of a list are separated by commas.
    """
    import difflib

    name, equals, said = text.partition("=")
    known = {setting.name.replace("_", "-"): setting for setting in fields(Settings)}
    if not equals or name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        names = ", ".join(f"`{key}`" for key in known)
        hint = f"did you mean `{near[0]}`?" if near else f"use one of {names}"
        raise ConfigurationError(f"`{text}` is not a setting: write `NAME=VALUE`", hint)
    kind = str(known[name].type)
    value: Any = said
    if kind.startswith("tuple"):
        value = [item for item in said.split(",") if item]
    elif kind.startswith("bool"):
        value = {"true": True, "false": False}.get(said, said)
    elif kind.startswith("int"):
        value = int(said) if said.isascii() and said.isdigit() else said
    try:
        chosen = _setting(kind, value)
    except _WrongTypeError as error:
        raise ConfigurationError(f"`{name}` must be {error}, not `{said}`") from None
    return replace(settings, **{known[name].name: chosen})


@dataclass(slots=True)
class _Reader:
    """Reads the PROJECT file and collects its errors."""

    document: Document
    errors: list[Diagnostic] = field(default_factory=list)

    def project(self) -> Project:
        from olmkit.project import project_keys

        document = self.document
        if not isinstance(document.value, Mapping):
            self._wrong("PRJ001", "the project file has no keys", document.at())
            return Project(name="", document=document)
        version = document.get("version")
        if str(version).partition("-")[0] != "3":
            found_version = "no version" if version is None else f"version `{version}`"
            self._wrong(
                _OTHER_VERSION,
                f"the project file has {found_version}; version 3 is read",
                document.at("version"),
                MIGRATE if str(version) in ("1", "2") else 'write `version: "3"`',
            )
        name = self._text("projectName")
        if name and not names.is_label(name):
            self._wrong(
                "PRJ003",
                f"`{name}` is not a project name",
                document.at("projectName"),
                "use at most 63 lower-case letters, digits and dashes",
            )
        warnings: list[Diagnostic] = []
        for found in project_keys.check(document):
            (self.errors if found.severity is Severity.ERROR else warnings).append(found)
        layout = document.get("layout")
        keys = layout if isinstance(layout, list) else [layout]
        return Project(
            name=name,
            document=document,
            domain=self._text("domain"),
            repo=self._text("repo"),
            layout=tuple(key for key in keys if isinstance(key, str)),
            is_multigroup=document.get("multigroup") is True,
            apis=tuple(self._apis()),
            findings=tuple(warnings),
        )

    def _apis(self) -> Iterator[Api]:
        listed = self.document.get("resources")
        if listed is None:
            return
        if not isinstance(listed, list):
            self._wrong("PRJ001", "`resources` is not a list", self.document.at("resources"))
            return
        runners = self._runners()
        for index, entry in enumerate(listed):
            at = self.document.at("resources", index)
            if not isinstance(entry, Mapping):
                self._wrong("PRJ001", "an entry of `resources` has no keys", at)
                continue
            version = self._text("resources", index, "version")
            kind = self._text("resources", index, "kind")
            if not version or not kind:
                self._wrong("PRJ004", "an entry of `resources` lacks `version` or `kind`", at)
                continue
            api = entry.get("api")
            yield Api(
                group=self._text("resources", index, "group"),
                domain=self._text("resources", index, "domain"),
                version=version,
                kind=kind,
                plural=self._text("resources", index, "plural"),
                path=self._text("resources", index, "path"),
                at=self.document.at("resources", index, "kind"),
                has_types=isinstance(api, Mapping),
                is_namespaced=isinstance(api, Mapping) and api.get("namespaced") is True,
                has_controller=entry.get("controller") is True or bool(entry.get("controllers")),
                is_core=entry.get("core") is True,
                is_external=entry.get("external") is True,
                runner=runners.get(tuple(entry.get(key, "") for key in IDENTITY), ""),
            )

    def _runners(self) -> dict[tuple[Any, ...], str]:
        """Return the kinds that a plugin has created, with their runners."""
        found = {}
        for runner, plugin in WATCHED_LAYOUTS.items():
            listed = self.document.get("plugins", plugin, "resources")
            for entry in listed if isinstance(listed, list) else []:
                if isinstance(entry, Mapping):
                    found[tuple(entry.get(key, "") for key in IDENTITY)] = runner
        return found

    def _text(self, *keys: str | int) -> str:
        value = self.document.get(*keys)
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        self._wrong("PRJ001", f"`{keys[-1]}` is not a string", self.document.at(*keys))
        return ""

    def _wrong(self, code: str, message: str, at: Location, hint: str = "") -> None:
        self.errors.append(findings.create(code, message, at=at, hint=hint))


_OTHER_VERSION = "PRJ002"


def parse_settings(data: bytes | None, path: str = PYPROJECT_FILE) -> Settings:
    """Return `[tool.olmkit]` of a `pyproject.toml`.

    Raises `ConfigurationError` if it is not TOML, or if a setting is unknown or of a wrong type.
    """
    if data is None:
        return Settings()
    try:
        text = data.decode("utf-8")
        value: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        words, at = toml_positions.of_error(error, path)
        found = findings.create("PRJ007", f"the file is not TOML: {words}", at=at)
        raise ConfigurationError(f"`{path}` is not TOML: {error}", "", (found,)) from None
    table = value.get("tool", {}).get("olmkit", {}) if isinstance(value.get("tool"), dict) else {}
    if not isinstance(table, dict):
        at = toml_positions.find(text, path, "tool", "olmkit")
        found = findings.create("PRJ006", "`tool.olmkit` is not a table", at=at)
        raise ConfigurationError(found.message, "", (found,))
    known = {setting.name.replace("_", "-"): setting for setting in fields(Settings)}
    chosen: dict[str, Any] = {}
    wrong: list[Diagnostic] = []
    for key, said in table.items():
        if key == ignores.SECTION:
            continue
        code, message, hint = "PRJ005", f"`tool.olmkit.{key}` is not a setting", ""
        if key in known:
            try:
                chosen[known[key].name] = _setting(str(known[key].type), said)
                continue
            except _WrongTypeError as error:
                code, message = "PRJ006", f"`tool.olmkit.{key}` must be {error}"
        else:
            from olmkit.base import configuration

            hint = configuration.suggest_key(key, [*known, ignores.SECTION])
        at = toml_positions.find(text, path, "tool", "olmkit", key)
        wrong.append(findings.create(code, message, at=at, hint=hint))
    if wrong:
        raise ConfigurationError(wrong[0].message, "", tuple(wrong))
    return Settings(**chosen)


class _WrongTypeError(TypeError):
    """An invalid setting."""


def _setting(kind: str, said: Any) -> Any:
    if kind.startswith("tuple"):
        if isinstance(said, str):
            return (said,)
        if isinstance(said, list) and all(isinstance(item, str) for item in said):
            return tuple(said)
        words = "a list of strings"
    elif kind.startswith("bool"):
        if isinstance(said, bool):
            return said
        words = "`true` or `false`"
    elif kind.startswith("int"):
        if isinstance(said, int) and not isinstance(said, bool):
            return said
        words = "a number"
    else:
        if isinstance(said, str):
            return said
        words = "a text"
    raise _WrongTypeError(words)
