"""Rules about the CSV annotations by which catalogs sort operators: capabilities and categories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from olmkit.base.diagnostics import Fix
from olmkit.base.documents import Document
from olmkit.bundle.model import Bundle
from olmkit.rules import fixes
from olmkit.rules.engine import Facts, Finding, rule

CAPABILITIES = (
    "Basic Install",
    "Seamless Upgrades",
    "Full Lifecycle",
    "Deep Insights",
    "Auto Pilot",
)
CATEGORIES = frozenset(
    {
        "AI/Machine Learning",
        "Application Runtime",
        "Big Data",
        "Cloud Provider",
        "Database",
        "Developer Tools",
        "Integration & Delivery",
        "Logging & Tracing",
        "Modernization & Migration",
        "Monitoring",
        "Networking",
        "Observability",
        "OpenShift Optional",
        "Security",
        "Storage",
        "Streaming & Messaging",
    }
)


@rule("HUB020", "capability-level", suite="capabilities")
def capability_level(bundle: Bundle) -> Iterator[Finding]:
    """The capability level is not one of the five.

    Why: catalogs filter by it, and show no level for another value.

    Fix: write exactly `Basic Install`, `Seamless Upgrades`, `Full Lifecycle`,
    `Deep Insights` or `Auto Pilot`.
    """
    csv = bundle.csv
    level = csv.annotations.get("capabilities") if csv else None
    if csv is not None and level is not None and level not in CAPABILITIES:
        yield Finding(
            f"`{level}` is not a capability level",
            at=csv.at("metadata", "annotations", "capabilities"),
            hint=_nearest(level, CAPABILITIES),
            fix=_fix(csv.document, "capabilities", [level], CAPABILITIES),
        )


@rule("HUB021", "category", suite="categories")
def category(bundle: Bundle, facts: Facts) -> Iterator[Finding]:
    """A category is not a standard category.

    Why: catalogs filter by category, so users do not find the operator. You can replace the
    standard categories: set the environment variable `OPERATOR_BUNDLE_CATEGORIES` to a JSON
    file with the list `categories`.

    Fix: write standard categories, separated by commas, with the exact spelling.
    """
    csv = bundle.csv
    listed = csv.annotations.get("categories") if csv else None
    known = CATEGORIES if facts.categories is None else facts.categories
    kind = "standard" if facts.categories is None else "custom"
    names = [] if listed is None else listed.split(",")
    for name in names:
        if csv is not None and name.strip() not in known:
            yield Finding(
                f"`{name.strip()}` is not among the {kind} categories"
                if name.strip()
                else f"an empty entry is not among the {kind} categories",
                at=csv.at("metadata", "annotations", "categories"),
                hint=_nearest(name.strip(), tuple(sorted(known))),
                fix=_fix(csv.document, "categories", names, known),
            )


def _fix(document: Document, key: str, listed: list[str], known: Iterable[str]) -> Fix | None:
    """Return the names as spelled in the list, if only case and spaces differ."""
    folded = {name.lower(): name for name in known}
    right = [folded.get(name.strip().lower(), "") for name in listed]
    if not all(right):
        return None
    return fixes.replace_value(document, ("metadata", "annotations", key), ",".join(right))


def _nearest(word: str, known: tuple[str, ...]) -> str:
    import difflib

    folded = {name.lower(): name for name in known}
    near = difflib.get_close_matches(word.lower(), folded, n=1)
    if near:
        return f"write `{folded[near[0]]}`"
    return f"use one of {', '.join(f'`{name}`' for name in known)}"
