"""Findings about types and markers, collected; their codes are in `olmkit.base.findings`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, Fix, Location, Related, Severity


@dataclass(slots=True)
class Findings:
    """Collects findings, so that all errors of a file are reported."""

    items: list[Diagnostic] = field(default_factory=list)
    apart: Mapping[str, list[Diagnostic]] = field(default_factory=dict)
    """Codes whose findings are added to another list, for callers that decide later about them."""

    def setting_apart(self, codes: Iterable[str], others: list[Diagnostic]) -> Findings:
        """Return the same findings, except those of `codes`, which are added to `others`."""
        return Findings(self.items, {**self.apart, **dict.fromkeys(codes, others)})

    def __iter__(self) -> Iterator[Diagnostic]:
        return iter(self.items)

    def add(
        self,
        code: str,
        message: str,
        at: Location | None,
        *,
        hint: str = "",
        fix: Fix | None = None,
        related: tuple[Related, ...] = (),
        severity: Severity | None = None,
    ) -> None:
        """Add a finding with its rule's severity, unless `severity` is given."""
        found = findings.create(code, message, at=at, hint=hint, fix=fix, related=related)
        if severity:
            found = found._replace(severity=severity)
        # A type that is used twice is processed twice; its errors are reported once.
        items = self.apart.get(code, self.items)
        if found not in items:
            items.append(found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self.items, key=Diagnostic.sort_key))
