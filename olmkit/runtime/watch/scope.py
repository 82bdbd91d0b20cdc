"""The scope of a cache: which namespaces and objects it holds, and in which form.

Settings apply to all kinds, to a namespace, to a kind, or to a namespace of a kind. For each field,
the most specific setting takes precedence.
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
"""As a key of namespaces: all other namespaces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which objects are cached, and in which form; None inherits the broader setting."""

    label_selector: str | None = None
    field_selector: str | None = None
    transform: Transform | None = None

    def over(self, broader: Scope) -> Scope:
        """Merge with a broader scope; fields that are set here take precedence."""
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
    """The scope of one kind; None inherits the setting of the cache."""

    scope: Scope = Scope()
    namespaces: Mapping[str, Scope] | None = None
    resync: Duration | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheSettings:
    """The settings of a cache. Without namespaces it watches all namespaces.

    `resync`: the interval, plus or minus 10 %, after which every object is delivered again as an
    update without changes. It reconciles objects again for which a reconciler missed something, and
    causes no requests. 0 turns it off. `streaming` requests streaming lists, which need less memory
    than a list in the server and in this process; servers without support get a list. With
    `start_on_read=False`, reading a kind that is not watched is an error; otherwise the read starts
    a watch. `watch_seconds`: the range of the random timeout of each watch, so that many processes
    do not restart their watches at the same time.
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
        """Return the same settings for these namespaces; an empty list means all namespaces.

        `settings.watching(parse_namespaces(os.environ.get("WATCH_NAMESPACE")))` watches the target
        namespaces that OLM sets.
        """
        chosen = {name: self.namespaces.get(name, Scope()) for name in namespaces}
        return replace(self, namespaces=chosen)

    def resync_of(self, gvk: GVK) -> float:
        """Return the seconds between two resyncs of a kind; 0 means never."""
        own = self.kinds.get(gvk, KindScope()).resync
        return seconds(self.resync if own is None else own, "resync")

    def parts(self, gvk: GVK, *, namespaced: bool) -> dict[str, Scope]:
        """Return the collections to watch for a kind: namespace (empty: all) → scope."""
        kind = self.kinds.get(gvk, KindScope())
        scope = kind.scope.over(self.scope)
        if not namespaced:
            if kind.namespaces:
                raise ConfigurationError(f"`{gvk.kind}` is cluster-scoped: remove its namespaces")
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
    """Watch only the namespace that a field selector names, for which a Role is enough."""
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
    """Exclude the named namespaces from the part for all other namespaces."""
    rest = parts.get(ALL_NAMESPACES)
    if rest is None or len(parts) == 1:
        return parts
    excluded = [f"metadata.namespace!={name}" for name in sorted(parts) if name]
    selector = ",".join([*([rest.field_selector] if rest.field_selector else []), *excluded])
    return parts | {ALL_NAMESPACES: replace(rest, field_selector=selector)}


def check_gvk(kind: object, where: str) -> None:
    """Raise `TypeError` if `kind` is not a `GVK`, for example a class, which would never match."""
    if not isinstance(kind, GVK):
        name = getattr(kind, "__name__", repr(kind))
        hint = f": pass `{name}.gvk`" if hasattr(kind, "gvk") else ""
        raise TypeError(f"`{where}` needs each kind as a `GVK`, not `{name}`{hint}")


def parse_namespaces(text: str | None) -> tuple[str, ...]:
    """Parse OLM's comma-separated list of target namespaces; an empty list means all."""
    return tuple(sorted({part.strip() for part in (text or "").split(",") if part.strip()}))
