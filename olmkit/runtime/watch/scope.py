"""What a cache keeps: of which namespaces, which objects, in which form.

Settings go from broad to narrow: for all kinds, for a namespace, for a kind, for a
namespace of a kind. The narrower one wins, field by field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube.objects import GVK
from olmkit.runtime.durations import Duration, seconds
from olmkit.runtime.watch.reflector import Transform

ALL_NAMESPACES = ""
"""As a key among namespaces: everything else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which objects are kept, and in which form; None inherits from the broader setting."""

    label_selector: str | None = None
    field_selector: str | None = None
    transform: Transform | None = None

    def over(self, broader: Scope) -> Scope:
        """The more specific setting takes precedence, field by field."""
        return Scope(
            label_selector=broader.label_selector
            if self.label_selector is None
            else self.label_selector,
            field_selector=broader.field_selector
            if self.field_selector is None
            else self.field_selector,
            transform=broader.transform if self.transform is None else self.transform,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KindScope:
    """The scope of one kind; None takes the cache's own setting."""

    scope: Scope = Scope()
    namespaces: Mapping[str, Scope] | None = None
    resync: Duration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """What a cache keeps. Without namespaces it keeps all of them.

    `resync`: the time, give or take a tenth, after which every object is delivered again
    as an update that changes nothing; it repairs mistakes of reconcilers, and costs the
    server nothing. 0 is never.
    `streaming` requests that servers send what is there as the beginning of a watch, which costs
    them, and this process, less memory than a list; who cannot is listed.
    `start_on_read` False makes reading a kind that is not watched an error, instead of
    watching it from then on.
    `watch_seconds`: how long a watch is requested for, between the two numbers at random, so
    that many processes do not begin theirs again at once.
    """

    namespaces: Mapping[str, Scope] = field(default_factory=dict)
    scope: Scope = Scope()
    kinds: Mapping[GVK, KindScope] = field(default_factory=dict)
    watch_seconds: tuple[int, int] = (300, 600)
    streaming: bool = False
    resync: Duration = 0.0
    start_on_read: bool = True

    def __post_init__(self) -> None:
        for kind in self.kinds:
            check_gvk(kind, "kinds")
        for one in (self.resync, *(kind.resync for kind in self.kinds.values())):
            if one is not None:
                seconds(one, "resync")

    def watching(self, namespaces: Iterable[str]) -> CacheSettings:
        """The same settings for these namespaces; none means all of them.

        `settings.watching(parse_namespaces(os.environ.get("WATCH_NAMESPACE")))` watches
        what OLM's install mode says.
        """
        chosen = {name: self.namespaces.get(name, Scope()) for name in namespaces}
        return replace(self, namespaces=chosen)

    def resync_of(self, gvk: GVK) -> float:
        """Seconds between two resyncs of a kind; 0 is never."""
        own = self.kinds.get(gvk, KindScope()).resync
        return seconds(self.resync if own is None else own, "resync")

    def parts(self, gvk: GVK, *, namespaced: bool) -> dict[str, Scope]:
        """The collections to watch for a kind: namespace (empty: all) → scope."""
        kind = self.kinds.get(gvk, KindScope())
        scope = kind.scope.over(self.scope)
        if not namespaced:
            if kind.namespaces:
                raise ConfigurationError(f"`{gvk.kind}` has no namespaces to restrict it to")
            return {ALL_NAMESPACES: scope}
        if kind.namespaces is not None:
            chosen = {
                name: own.over(kind.scope).over(self.namespaces.get(name, Scope())).over(self.scope)
                for name, own in kind.namespaces.items()
            }
        else:
            chosen = {
                name: kind.scope.over(own).over(self.scope) for name, own in self.namespaces.items()
            }
        if not chosen:
            chosen = {ALL_NAMESPACES: scope}
        return _exclude_named(_narrowed(chosen))


_TERM_END = re.compile(r"(?<!\\),")
_NAMESPACE = re.compile(r"metadata\.namespace==?(?P<name>[^=].*)")


def _narrowed(parts: dict[str, Scope]) -> dict[str, Scope]:
    """A field selector that names a namespace is requested there; a Role is enough for it."""
    scope = parts.get(ALL_NAMESPACES)
    if scope is None or len(parts) > 1 or not scope.field_selector:
        return parts
    terms = _TERM_END.split(scope.field_selector)
    for term in terms:
        if found := _NAMESPACE.fullmatch(term):
            rest = ",".join(other for other in terms if other != term)
            return {found["name"]: replace(scope, field_selector=rest)}
    return parts


def _exclude_named(parts: dict[str, Scope]) -> dict[str, Scope]:
    """Where "all" is next to named namespaces, it means all others."""
    rest = parts.get(ALL_NAMESPACES)
    if rest is None or len(parts) == 1:
        return parts
    excluded = [f"metadata.namespace!={name}" for name in sorted(parts) if name]
    selector = ",".join([*([rest.field_selector] if rest.field_selector else []), *excluded])
    return parts | {ALL_NAMESPACES: replace(rest, field_selector=selector)}


def check_gvk(kind: object, where: str) -> None:
    """Raises `TypeError` for what would never be found: a class, for example."""
    if not isinstance(kind, GVK):
        name = getattr(kind, "__name__", repr(kind))
        hint = f": pass `{name}.gvk`" if hasattr(kind, "gvk") else ""
        raise TypeError(f"`{where}` takes each kind as its `GVK`, not as `{name}`{hint}")


def parse_namespaces(text: str | None) -> tuple[str, ...]:
    """Namespaces as OLM's target list gives them: comma separated; none means all."""
    return tuple(sorted({part.strip() for part in (text or "").split(",") if part.strip()}))
