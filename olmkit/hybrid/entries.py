"""Common parts of the entries of a `watches.yaml`: keys, values and findings.

Keys match case-insensitively, as in helm-operator and ansible-operator, which read them through
Go's JSON decoder; an unknown key is a warning here.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from olmkit.base import documents, findings
from olmkit.base.diagnostics import Diagnostic, InputError, Location, Severity
from olmkit.base.documents import Document
from olmkit.base.go import durations
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK

FILE = "watches.yaml"

Choice = Callable[[frozenset[str]], bool]
"""Returns whether to read an entry with these keys, in lower case."""

Read = Callable[[Any, Mapping[str, str]], Any]
"""Reads a value, with the environment; raises `ValueError` with the error."""


@dataclass(frozen=True, slots=True)
class Field:
    """A key of entries: its reader, its attribute and its description."""

    key: str
    read: Read
    attribute: str
    default: str
    meaning: str


class Watch(Protocol):
    """The common fields of entries."""

    @property
    def gvk(self) -> GVK:
        """Return the kind whose objects are reconciled."""

    @property
    def at(self) -> Location:
        """Return the place of the entry."""


W = TypeVar("W", bound=Watch)


@dataclass(frozen=True, slots=True)
class Reading(Generic[W]):
    """The valid entries and the findings."""

    entries: tuple[W, ...]
    findings: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form(Generic[W]):
    """The form of entries: `fields` by key, and `required` groups with one key each.

    `make` gets the kind, the place, and the values by their keys.
    """

    fields: Mapping[str, Read]
    required: Sequence[Sequence[str]]
    make: Callable[[GVK, Location, Mapping[str, Any]], W]


def read(
    form: Form[W],
    data: bytes,
    environment: Mapping[str, str],
    *,
    path: str,
    only: Choice | None = None,
) -> Reading[W]:
    """Return the entries of a file, or `only` some; raise `InputError` if it is not YAML."""
    reader = _Reader(documents.load(data, path), environment, form, only)
    entries = tuple(reader.entries())
    return Reading(entries, tuple(sorted(reader.findings, key=Diagnostic.sort_key)))


@dataclass(slots=True)
class _Reader(Generic[W]):
    document: Document
    environment: Mapping[str, str]
    form: Form[W]
    only: Choice | None = None
    findings: list[Diagnostic] = field(default_factory=list)

    def entries(self) -> Iterator[W]:
        listed = self.document.value
        if listed is None:
            listed = []
        if not isinstance(listed, list):
            self._say("WCH001", "the file is not a list of entries", self.document.at())
            return
        seen: dict[GVK, Location] = {}
        for index, entry in enumerate(listed):
            if not isinstance(entry, Mapping):
                self._say("WCH001", "an entry has no keys", self.document.at(index))
                continue
            if self.only is not None and not self.only(frozenset(str(k).lower() for k in entry)):
                continue
            watch = self._entry(index, entry)
            if watch is None:
                continue
            if watch.gvk in seen:
                self.findings.append(repeated(watch))
                continue
            seen[watch.gvk] = watch.at
            yield watch

    def _entry(self, index: int, entry: Mapping[str, Any]) -> W | None:
        before = len(self._errors())
        known = {name.lower(): name for name in self.form.fields}
        keys: dict[str, str] = {}
        for key in entry:
            name = known.get(str(key).lower())
            if name is None:
                self._unknown(index, str(key))
            else:
                keys[name] = key
        found: dict[str, Any] = {}
        for name, key in keys.items():
            if entry[key] is None:
                continue
            try:
                found[name] = self.form.fields[name](entry[key], self.environment)
            except ValueError as error:
                self._say("WCH004", f"`{key}` {error}", self.document.at(index, key))
        texts = {name: found.pop(name, "") for name in ("group", "version", "kind")}
        for names in self.form.required:
            if all(name not in keys or entry[keys[name]] in (None, "") for name in names):
                listed = " and no ".join(f"`{name}`" for name in names)
                self._say("WCH003", f"an entry has no {listed}", self.document.at(index))
        if len(self._errors()) > before:
            return None
        return self.form.make(GVK(**texts), self.document.at(index), found)

    def _errors(self) -> list[Diagnostic]:
        return [one for one in self.findings if one.severity is Severity.ERROR]

    def _unknown(self, index: int, key: str) -> None:
        near = difflib.get_close_matches(key, self.form.fields, n=1)
        hint = f"did you mean `{near[0]}`?" if near else ""
        self._say("WCH002", f"`{key}` is not read", self.document.at_key(index, key), hint)

    def _say(self, code: str, message: str, at: Location, hint: str = "") -> None:
        self.findings.append(findings.create(code, message, at=at, hint=hint))


def repeated(watch: Watch) -> Diagnostic:
    """Return the error for a second entry for a kind."""
    return findings.create(
        "WCH005",
        f"`{watch.gvk.kind}` of `{watch.gvk.api_version}` is listed more than once",
        at=watch.at,
        hint="keep one entry for each kind",
    )


def text(value: Any, _: Mapping[str, str]) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise ValueError("must be a string")
    return value


def truth(value: Any, _: Mapping[str, str]) -> bool:
    """Return a boolean."""
    if not isinstance(value, bool):
        raise ValueError("must be `true` or `false`")
    return value


def period(value: Any, _: Mapping[str, str]) -> float | None:
    """Return a duration in seconds; None: that of the process."""
    if not isinstance(value, str):
        raise ValueError("must be a duration such as `1m30s`, as a string")
    try:
        found = durations.parse(value)
    except ValueError:
        raise ValueError(f"must be a duration such as `1m30s`, not `{value:.80}`") from None
    if found < 0:
        raise ValueError("must not be negative")
    return found or None


def selector(value: Any, _: Mapping[str, str]) -> LabelSelector | None:
    """Return a label selector; None: all objects."""
    if not isinstance(value, Mapping) or set(value) - {"matchLabels", "matchExpressions"}:
        raise ValueError("must have `matchLabels` or `matchExpressions`, and nothing else")
    try:
        return LabelSelector.parse(value) if value else None
    except InputError as error:
        raise ValueError(f"is not a label selector: {error}") from None


def count(value: Any, _: Mapping[str, str]) -> int:
    """Return an integer above 0."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("must be a number above 0")
    return value


KIND_FIELDS = (
    Field("group", text, "", "", "API group of the kind; empty for kinds such as Secret"),
    Field("version", text, "", "required", "API version of the kind"),
    Field("kind", text, "", "required", "the kind whose objects are reconciled"),
)
"""The keys that name the kind of an entry."""


def readers(fields: Sequence[Field]) -> dict[str, Read]:
    """Return the readers of keys, including those of the kind."""
    return {one.key: one.read for one in (*KIND_FIELDS, *fields)}


def attributes(fields: Sequence[Field], found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values by attribute name instead of by key."""
    return {one.attribute: found[one.key] for one in fields if one.key in found}
