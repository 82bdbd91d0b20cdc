"""The resources of an overlay while it is built: their identities, and lookups.

A resource records every name and namespace it had, because patches, replacements and references may
use any of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.base.documents import Document
from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest

RULE = "PRJ120"
PIPE_HINT = "pipe the output of `kustomize build` into `--input -`"


def refusal(message: str, at: Location | None, hint: str = "") -> InputError:
    """Return the error for an overlay that cannot be built, with its place."""
    found = findings.create(RULE, message, at=at, hint=hint)
    return InputError(message, hint, (found,))


def idle_patch(at: Location) -> Diagnostic:
    """Return the finding for a patch without a matching target, which kustomize ignores."""
    return findings.create(
        "PRJ121",
        "the `target` of the patch matches no resource, so it changes nothing",
        at=at,
        hint="correct the target, or remove the patch",
    )


@dataclass(frozen=True, slots=True)
class Identity:
    """A current or former identity of a resource: kind, name and namespace."""

    name: str
    namespace: str
    kind: str = ""


@dataclass(slots=True, eq=False)
class Resource:
    """One object; `value` changes while the overlay is built."""

    value: Manifest
    document: Document
    past: list[Identity] = field(default_factory=list)
    prefixes: tuple[str, ...] = ()
    suffixes: tuple[str, ...] = ()
    needs_hash: bool = False

    @property
    def gvk(self) -> GVK:
        return objects.gvk(self.value)

    @property
    def name(self) -> str:
        return objects.name(self.value)

    @property
    def namespace(self) -> str:
        return objects.namespace(self.value)

    @property
    def now(self) -> Identity:
        return Identity(self.name, self.namespace, self.gvk.kind)

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Return every name and namespace it had, oldest first, and the current one."""
        return (*self.past, self.now)

    @property
    def original(self) -> Identity:
        return self.identities[0]

    @property
    def is_namespaced(self) -> bool:
        return not objects.is_cluster_scoped(self.gvk)

    def metadata(self) -> dict[str, Any]:
        """Return the metadata for changes."""
        metadata = self.value.setdefault("metadata", {})
        return metadata if isinstance(metadata, dict) else {}

    def remember(self) -> None:
        """Record the current identity, after each step of an overlay."""
        if self.now not in self.past:
            self.past.append(self.now)

    def rename(self, *, name: str | None = None, namespace: str | None = None) -> None:
        """Change name or namespace and record the old ones."""
        old = self.now
        new = Identity(
            old.name if name is None else name,
            old.namespace if namespace is None else namespace,
            old.kind,
        )
        if new == old:
            return
        if old not in self.past:
            self.past.append(old)
        if name is not None:
            self.metadata()["name"] = name
        if namespace is not None:
            self.metadata()["namespace"] = namespace

    def finished(self) -> Document:
        """Return the object as a document with the places of its file."""
        return self.document.derived(self.value)

    def __str__(self) -> str:
        return f"{self.gvk.kind} `{self.name}`"


def require_unique(resources: Iterable[Resource], at: Callable[[Resource], Location]) -> None:
    """Raise `InputError` if two resources are the same object, in the same version."""
    seen: dict[tuple[GVK, Identity], Resource] = {}
    for resource in resources:
        key = (resource.gvk, resource.now)
        other = seen.setdefault(key, resource)
        if other is not resource:
            raise refusal(
                f"{resource} occurs twice: also {other.document.at()}",
                at(resource),
                hint="keep one of the two",
            )


_TARGET_KEYS = frozenset(
    {"group", "version", "kind", "name", "namespace", "labelSelector", "annotationSelector"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selector:
    """The selector of a patch or a replacement; empty fields match any resource.

    Fields are regular expressions that match as a whole or, if `exact`, strings that must be equal.
    """

    group: str = ""
    version: str = ""
    kind: str = ""
    name: str = ""
    namespace: str = ""
    label_selector: str = ""
    annotation_selector: str = ""
    exact: bool = False

    @classmethod
    def parse(cls, value: Any, at: Location, *, exact: bool = False) -> Selector:
        given = objects.mapping(value)
        unknown = sorted(set(given) - _TARGET_KEYS - {"fieldPath", "options"})
        if unknown:
            raise refusal(f"`{unknown[0]}` does not select resources", at)
        texts = {key: str(given.get(key) or "") for key in _TARGET_KEYS}
        if not exact:
            for text in texts.values():
                try:
                    re.compile(text)
                except re.error as error:
                    raise refusal(f"`{text}` is not a regular expression: {error}", at) from None
        return cls(
            group=texts["group"],
            version=texts["version"],
            kind=texts["kind"],
            name=texts["name"],
            namespace=texts["namespace"],
            label_selector=texts["labelSelector"],
            annotation_selector=texts["annotationSelector"],
            exact=exact,
        )

    def __str__(self) -> str:
        return f"{self.kind or 'any kind'} `{self.name or '*'}`"

    def matches(self, resource: Resource) -> bool:
        """Return whether the resource matches, by any name and namespace that it had."""
        api = resource.gvk
        if not (
            self._is(self.group, api.group)
            and self._is(self.version, api.version)
            and self._is(self.kind, api.kind)
        ):
            return False
        if not any(
            self._is(self.name, identity.name) and self._is(self.namespace, identity.namespace)
            for identity in resource.identities
        ):
            return False
        return _selects(self.label_selector, objects.labels_of(resource.value)) and _selects(
            self.annotation_selector, objects.annotations_of(resource.value)
        )

    def _is(self, expected: str, found: str) -> bool:
        if not expected:
            return True
        return expected == found if self.exact else re.fullmatch(expected, found) is not None


def _selects(selector: str, values: Mapping[str, str]) -> bool:
    """Return whether a label selector in Kubernetes' syntax selects these labels."""
    return all(_meets(term.strip(), values) for term in _terms(selector))


def _terms(selector: str) -> Iterator[str]:
    depth, start = 0, 0
    for index, char in enumerate(selector):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            yield selector[start:index]
            start = index + 1
    if selector[start:].strip():
        yield selector[start:]


_IN = re.compile(r"(\S+)\s+(in|notin)\s*\(([^)]*)\)")


def _meets(term: str, values: Mapping[str, str]) -> bool:
    found = _IN.fullmatch(term)
    if found:
        among = values.get(found[1]) in {item.strip() for item in found[3].split(",")}
        return among if found[2] == "in" else not among
    for operator, equal in (("!=", False), ("==", True), ("=", True)):
        key, separator, wanted = term.partition(operator)
        if separator:
            return (values.get(key.strip()) == wanted.strip()) is equal
    if term.startswith("!"):
        return term[1:].strip() not in values
    return term in values


def same_namespace(first: str, second: str) -> bool:
    """Return whether two resources are in the same namespace, by default `default`."""
    return (first or "default") == (second or "default")
