"""Check index databases before rendering; databases that `opm` rejects are rejected."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from olmkit.base import diagnostics as judgement
from olmkit.base.diagnostics import Diagnostic, InputError, Location
from olmkit.catalog import model
from olmkit.catalog.database import conversion
from olmkit.catalog.database.conversion import ConvertedDatabase
from olmkit.edges import index_database
from olmkit.rules import engine
from olmkit.rules.engine import CATALOG

# The rules that the reference checks when it converts a database to a catalog. Its other rules,
# such as those about image references, apply only to file-based catalogs.
_RULES: Final = frozenset(
    {
        "FBC010",
        "FBC013",
        "FBC014",
        "FBC015",
        "FBC016",
        "FBC033",
        "FBC034",
        "FBC041",
        "FBC043",
        "GRF001",
        "GRF002",
        "GRF003",
        "GRF004",
        "GRF005",
        "GRF006",
        "GRF007",
    }
)


def convert_database(source: Path | bytes, name: str) -> ConvertedDatabase:
    """Return the catalog in a database. Raises `InputError` if it is not valid."""
    made = conversion.convert(index_database.read(source, name), name)
    blobs = (*made.blobs, *(bundle.blob() for bundle in made.bundles))
    rules = [rule for rule in engine.rules(CATALOG) if rule.code in _RULES]
    found = engine.run(model.from_blobs(blobs), rules)
    errors = tuple(_with_file(one, name) for one in found if judgement.has_errors((one,)))
    if errors:
        raise InputError(
            f"the index database `{name}` does not hold a valid catalog",
            diagnostics=(*made.diagnostics, *errors),
        )
    return made


def _with_file(found: Diagnostic, name: str) -> Diagnostic:
    return found._replace(at=Location(path=name), related=())
