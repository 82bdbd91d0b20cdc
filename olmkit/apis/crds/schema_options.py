"""The settings of a project that decide how its schemas are built."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.base.diagnostics import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The settings of a project. `max_description` is in bytes; 0 drops descriptions.

    `preserve_unknown_fields` is written to the CRD unchanged, for CRDs that were v1beta1 before.
    `is_strict`: schemas that an API server would refuse are errors. They are not for Go sources,
    because the reference generator writes them, and patches of an overlay can fix them.
    """

    allow_dangerous_types: bool = False
    embedded_object_meta: bool = False
    infer_defaults: bool = True
    max_description: int | None = None
    preserve_unknown_fields: bool | None = None
    is_strict: bool = False

    @property
    def severity(self) -> Severity:
        """Return the severity of a problem for which an API server would refuse a schema."""
        return Severity.ERROR if self.is_strict else Severity.WARNING
