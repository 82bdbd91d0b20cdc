"""Checking whether a new state of a catalog leaves an installed version without an upgrade."""

from __future__ import annotations

from olmkit.base import diagnostics as judgement
from olmkit.catalog.model import Catalog
from olmkit.jobs.catalog.catalogs import ValidateOptions
from olmkit.jobs.validation import ValidationResult
from olmkit.rules import engine
from olmkit.rules.releases import Release


def check(
    reference: str, catalog: Catalog, old: Catalog | None, options: ValidateOptions
) -> ValidationResult:
    """What the rules say about the catalog that was read from `reference`, next to the `old` one.

    Raises `ConfigurationError` for an unknown rule.
    """
    rules = engine.choose(
        engine.profile(options.profile),
        select=options.select,
        ignore=options.ignore,
        subject=engine.RELEASE,
    )
    found = engine.run(Release(catalog, old), rules)
    return ValidationResult(reference=reference, diagnostics=judgement.below(reference, found))
