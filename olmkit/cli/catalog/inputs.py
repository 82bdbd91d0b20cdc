"""Read the catalogs of a command: local folders, or images that are pulled first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olmkit.base.diagnostics import OlmkitError
from olmkit.cli.frame.app import App

if TYPE_CHECKING:
    from olmkit.catalog.model import Catalog
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.validation import Pulled


def pull_images(app: App, references: Sequence[str], access: Access) -> Pulled:
    """Return the files of those catalogs that are images."""
    from olmkit.jobs import validation
    from olmkit.jobs.catalog import catalogs as job

    return {} if validation.are_folders(references) else app.run(job.pull(references, access))


def read(app: App, reference: str, access: Access, *, valid: bool = True) -> Catalog:
    """Return the model of one catalog; raises if it cannot be read, or is not `valid`."""
    from olmkit.jobs.catalog import catalogs as job

    tree = pull_images(app, (reference,), access).get(reference)
    if isinstance(tree, OlmkitError):
        raise tree
    return job.read(reference, tree=tree, valid=valid)
