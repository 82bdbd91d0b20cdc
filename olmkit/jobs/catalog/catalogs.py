"""Create, validate and read catalogs.

A catalog comes from a folder or an image. Folders are read file by file, so that a check of a large
one needs little memory. Before a catalog is listed or drawn, it is validated with the rules that
OLM itself depends on, as `opm` does.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from olmkit.base import diagnostics as judgement
from olmkit.base.diagnostics import Diagnostic, InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.catalog import model
from olmkit.catalog.blobs import fbc, icons, outline_reader
from olmkit.catalog.blobs.blob import Blob
from olmkit.catalog.blobs.fbc import Form
from olmkit.catalog.model import Catalog
from olmkit.edges import disk, paths, workers
from olmkit.jobs import validation
from olmkit.jobs.catalog import local
from olmkit.jobs.catalog.local import MAX_CATALOG_FILE as MAX_CATALOG_FILE
from olmkit.jobs.validation import Pulled, ValidationResult
from olmkit.rules import engine
from olmkit.rules.engine import CATALOG, Rule

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access

# Consoles load icons with every list of packages; typical icons have a few KB.
MAX_ICON: Final = 1024 * 1024
MAX_DESCRIPTION: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class ValidateOptions:
    """The rules to run: those of the profile or the selected ones, without the ignored ones."""

    profile: str = "default"
    select: Sequence[str] = ()
    ignore: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InitOptions:
    """The options of `catalog init`; `icon` and `description` are files."""

    package: str
    default_channel: str = ""
    icon: Path | None = None
    description: Path | None = None


def init(options: InitOptions, form: Form) -> bytes:
    """Return the text of a new `olm.package`. Raises `InputError` if the icon is not an image."""
    value: dict[str, Any] = {
        "schema": "olm.package",
        "name": options.package,
        "defaultChannel": options.default_channel,
    }
    if options.icon is not None:
        data = disk.read_file(options.icon, limit=MAX_ICON)
        media_type = icons.detect(data)
        if not media_type:
            raise InputError(
                f"`{options.icon}` is not an image of a known type",
                hint="use a PNG, JPEG, GIF or SVG file",
            )
        value["icon"] = {"base64data": base64.b64encode(data).decode(), "mediatype": media_type}
    if options.description is not None:
        text = disk.read_file(options.description, limit=MAX_DESCRIPTION)
        value["description"] = text.decode("utf-8", "replace")
    return fbc.dump_blob(Blob.of(value), form)


async def pull(references: Sequence[str], access: Access) -> Pulled:
    """Fetch the references that are images or catalogs of the cluster; return files or errors."""
    from olmkit.edges.images import transports
    from olmkit.jobs.catalog import cluster_catalog

    async def read(reference: str) -> Tree:
        if cluster_catalog.is_in_cluster(reference):
            return await cluster_catalog.fetch(reference, access)
        return (await transports.read_catalog_tree(reference, access)).tree

    return await validation.pull(references, read)


def validate(
    references: Sequence[str],
    options: ValidateOptions,
    *,
    pulled: Pulled | None = None,
) -> tuple[ValidationResult, ...]:
    """Check each catalog; the results are in the order of the references.

    Raises `ConfigurationError` for an unknown rule or profile, before any work.
    """
    profile = engine.profile(options.profile)
    rules = engine.choose(profile, select=options.select, ignore=options.ignore, subject=CATALOG)
    trees = pulled or {}
    return tuple(
        workers.map_all(
            lambda reference: _check(reference, trees.get(reference), rules), references
        )
    )


def _check(
    reference: str, tree: Tree | OlmkitError | None, rules: Sequence[Rule]
) -> ValidationResult:
    if isinstance(tree, OlmkitError):
        return ValidationResult(reference=reference, error=tree)
    try:
        _, found = _read(_files(reference, tree), rules)
    except OlmkitError as error:
        return ValidationResult(reference=reference, error=error)
    return ValidationResult(
        reference=reference, diagnostics=judgement.prefix_paths(reference, found)
    )


def read(
    reference: str, *, tree: Tree | None = None, folder: str | None = None, valid: bool = True
) -> Catalog:
    """Return the model of a catalog, by default only if it has no errors.

    `folder` contains the files of `tree` if `reference` is one of them. Raises `InputError` with
    all errors of the catalog.
    """
    catalog, found = _read(_files(reference, tree), needed_rules() if valid else ())
    errors = [one for one in found if judgement.has_errors((one,))]
    if catalog is None or errors:
        raise InputError(
            f"the catalog `{reference}` is not valid",
            diagnostics=judgement.prefix_paths(reference if folder is None else folder, errors),
        )
    return catalog


def require_servable(reference: str, catalog: Catalog) -> None:
    """Raise `InputError` if the server of catalogs refuses this one, so that its pod crashes."""
    errors = engine.run(catalog, needed_rules())
    if judgement.has_errors(errors):
        raise InputError(
            f"the cluster cannot serve the catalog `{reference}`: `opm` refuses it",
            hint="correct the catalog, and push it again",
            diagnostics=judgement.prefix_paths(reference, errors),
        )


def needed_rules() -> Sequence[Rule]:
    """Return the rules whose violations make `opm` reject a catalog."""
    return [rule for rule in engine.rules(CATALOG) if rule.suite == engine.DEFAULT_SUITE]


def _files(reference: str, tree: Tree | None) -> Tree:
    if tree is not None:
        return tree
    folder = Path(reference)
    # A catalog may have folders of any name, but `opm` reads no annotations in it either.
    annotations = folder / "metadata/annotations.yaml"
    if paths.is_folder(folder / "manifests") and paths.is_file(annotations):
        raise InputError(
            f"`{reference}` is a bundle, not a catalog",
            hint=f"validate it with `olmkit bundle validate {reference}`, or add it to a catalog "
            f"with `olmkit catalog add CATALOG {reference}`",
        )
    return local.tree(folder)


def _read(tree: Tree, rules: Sequence[Rule]) -> tuple[Catalog | None, tuple[Diagnostic, ...]]:
    """Return the model and the findings; without a model if a blob cannot be read."""
    notes: list[Diagnostic] = []
    faults: list[Diagnostic] = []
    catalog = model.build(outline_reader.load(tree, report=notes.append, faults=faults))
    if faults:
        # Rules would report missing blobs too.
        return None, tuple(sorted((*notes, *faults), key=Diagnostic.sort_key))
    found = engine.run(catalog, rules)
    return catalog, tuple(sorted((*notes, *found), key=Diagnostic.sort_key))
