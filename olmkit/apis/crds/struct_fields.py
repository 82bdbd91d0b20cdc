"""The fields of a model: its own, those of its base classes, and which of them are required."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.apis.findings import Findings
from olmkit.apis.markers.table import VALIDATION
from olmkit.apis.model import Field, Named, Sources, Struct
from olmkit.base.diagnostics import Related

_REQUIRED = (VALIDATION + "Required", "required", "k8s:required")
_OPTIONAL = (VALIDATION + "Optional", "optional", "k8s:optional")
_ROOT_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


@dataclass(frozen=True, slots=True)
class StructFields:
    """Finds the fields of the models of one project."""

    sources: Sources
    findings: Findings

    def owners(self, name: Named) -> dict[str, Named]:
        """Return for each field of a model, by its JSON name, the class that declares it."""
        return {
            one.json_name: ancestor.name
            for ancestor in reversed(self.sources.lineage(name))
            for one in ancestor.fields
        }

    def check_overridden(self, struct: Struct, base: Named) -> None:
        """Check that a redeclared field keeps its JSON name, else it would be two fields."""
        lineage = self.sources.lineage(base)
        before = {one.name: one for ancestor in reversed(lineage) for one in ancestor.fields}
        for one in struct.fields:
            first = before.get(one.name, one)
            if first.json_name != one.json_name:
                self.findings.add(
                    "API017",
                    f"`{one.name}` is `{one.json_name}` here and `{first.json_name}` in a base "
                    "class",
                    one.at,
                    hint="give both the same alias",
                    related=(Related(first.at, "first declared here"),),
                )

    def own(self, struct: Struct, *, is_root: bool) -> Iterator[Field]:
        """Yield the fields that a model declares; a second one of a name is a finding."""
        seen: dict[str, Field] = {}
        for one in struct.fields:
            if one.is_inline:
                yield one
                continue
            if is_root and not struct.declares_metadata and one.json_name in _ROOT_FIELDS:
                continue
            if one.json_name in seen:
                self.findings.add(
                    "API017",
                    f"the fields `{seen[one.json_name].name}` and `{one.name}` are both "
                    f"`{one.json_name}` in JSON",
                    one.at,
                    hint="give one of them an alias",
                    related=(Related(seen[one.json_name].at, "first here"),),
                )
                continue
            seen[one.json_name] = one
            yield one

    def is_required(self, struct: Struct, one: Field) -> bool:
        """Return whether a field is required; markers take precedence over a default."""
        names = {marker.name for marker in one.markers}
        for optional, required in zip(
            (_OPTIONAL[:1], _OPTIONAL[1:]), (_REQUIRED[:1], _REQUIRED[1:]), strict=True
        ):
            if names.intersection(optional):
                return False
            if names.intersection(required):
                return True
        package = self.sources.package_of.get(struct.name)
        if package and package.optional_by_default:
            return False
        return not one.is_optional
