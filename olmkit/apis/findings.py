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
    """Codes whose findings go to another list, for those who decide later whether they matter."""

    def setting_apart(self, codes: Iterable[str], others: list[Diagnostic]) -> Findings:
        """Return the same findings, but for those of `codes`, which go to `others`."""
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
        """Add a finding, as grave as its rule says unless `severity` is given."""
        found = findings.create(code, message, at=at, hint=hint, fix=fix, related=related)
        if severity:
            found = found._replace(severity=severity)
        # A type that is used twice is looked at twice; its faults are reported once.
        items = self.apart.get(code, self.items)
        if found not in items:
            items.append(found)

    def sorted(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self.items, key=Diagnostic.sort_key))
