"""The origin of each field of a CSV: the base, a default, a manifest or an option."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from olmkit.base.diagnostics import Location
from olmkit.bundle.model import BundleObject, ClusterServiceVersion

BASE = "base CSV"
_DEFAULT = "default"
# The values of these fields in the base are replaced, or are reported in parts.
_COMPUTED = frozenset(
    {
        ("metadata", "annotations"),
        ("spec", "customresourcedefinitions"),
        ("spec", "install"),
        ("spec", "relatedImages"),
        ("spec", "webhookdefinitions"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The origin of a field of the CSV."""

    field: str
    source: str
    at: Location | None = None


@dataclass(slots=True)
class Origins:
    """The origins of all fields, in the order in which they were set."""

    found: list[Origin] = field(default_factory=list)

    def add(self, path: str, source: str, resource: BundleObject | None = None) -> None:
        """Add the origin of a field that is not the base; several objects may form one field."""
        at = resource.at() if resource is not None else None
        self.found = [
            origin
            for origin in self.found
            if origin.field != path or origin.source not in (BASE, _DEFAULT)
        ]
        self.found.append(Origin(field=path, source=source, at=at))

    def add_base(self, base: ClusterServiceVersion) -> None:
        """Add the fields of the base, except those that are computed."""
        keys: list[tuple[str, ...]] = [("metadata", key) for key in base.metadata]
        keys += [("metadata", "annotations", key) for key in base.annotations]
        keys += [("spec", key) for key in base.spec]
        for path in keys:
            if path not in _COMPUTED:
                self.found.append(Origin(field=".".join(path), source=BASE, at=base.at_key(*path)))

    def add_defaults(self, keys: Iterable[str]) -> None:
        """Add the fields of `spec` that have default values."""
        self.found.extend(Origin(field=f"spec.{key}", source=_DEFAULT) for key in keys)
