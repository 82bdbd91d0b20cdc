"""Short calls: a common task in one line of a script, with the defaults of the command line.

A call that needs a registry runs its own event loop, so it cannot be used inside one; there, await
the job. Without `access`, the credentials and proxies of this process are used for registries.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from olmkit.base.diagnostics import Diagnostic
from olmkit.edges.images import access_settings
from olmkit.edges.images.access_settings import Access
from olmkit.jobs import validation
from olmkit.jobs.validation import Pulled, ValidationResult

if TYPE_CHECKING:
    from olmkit.catalog.blobs.fbc import Form
    from olmkit.jobs.bundle.generate import BundleGenerateResult
    from olmkit.jobs.image.publish import Published
    from olmkit.jobs.project.generate import GenerateResult


def generate(project: str | Path = ".", *, dry_run: bool = False) -> GenerateResult:
    """Write CRDs, roles, webhooks and the base CSV of a project from its types and markers.

    With `dry_run`, nothing is written. Raises `InputError` if the sources have errors, and
    `ConfigurationError` if there is no project.
    """
    from olmkit.jobs.project import generate as job

    options = job.GenerateOptions(environment=access_settings.of_process().environment)
    return job.generate(Path(project), options, dry_run=dry_run)


def generate_bundle(
    project: str | Path = ".", *, version: str = "", channels: str = "", dry_run: bool = False
) -> BundleGenerateResult:
    """Write the bundle of a project from its manifests and its base CSV.

    The default `version` is that of the project. With `dry_run`, nothing is written. Raises
    `InputError` if the manifests do not form a bundle.
    """
    from olmkit.jobs.bundle import generate as job

    options = job.BundleGenerateOptions(version=version, channels=channels)
    return job.generate(Path(project), options, dry_run=dry_run)


def validate_bundle(
    reference: str | Path,
    *,
    profile: str = "default",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    access: Access | None = None,
) -> tuple[Diagnostic, ...]:
    """Check a bundle in a folder or an image, and return the findings.

    `select` and `ignore` take codes, names and families of rules. Raises `InputError` if the bundle
    cannot be read, `RemoteError` if its image cannot be pulled, and `ConfigurationError` for an
    unknown rule or profile.
    """
    from olmkit.jobs.bundle import validate as job

    options = job.CheckOptions(profile=profile, select=select, ignore=ignore)
    pulled = _pull(job.pull, str(reference), access)
    return _findings(job.validate_bundles([str(reference)], options, pulled=pulled))


def validate_catalog(
    reference: str | Path,
    *,
    profile: str = "default",
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    access: Access | None = None,
) -> tuple[Diagnostic, ...]:
    """Check a catalog in a folder or an image, and return the findings.

    Arguments and errors are those of `validate_bundle`.
    """
    from olmkit.jobs.catalog import catalogs as job

    options = job.ValidateOptions(profile=profile, select=select, ignore=ignore)
    pulled = _pull(job.pull, str(reference), access)
    return _findings(job.validate([str(reference)], options, pulled=pulled))


def render_catalog(
    *references: str | Path, image: str = "", form: Form = "yaml", access: Access | None = None
) -> bytes:
    """Render bundles and catalogs as one stream of catalog blobs, in YAML or JSON.

    `image` is the image of bundles in folders; `{package}`, `{name}` and `{version}` in it are
    replaced. Raises `InputError` with all findings if a reference cannot be rendered.
    """
    from olmkit.catalog.blobs import fbc
    from olmkit.jobs.catalog import render as job

    options = job.RenderOptions(image=image, access=access or access_settings.of_process())
    rendered = asyncio.run(job.render_all([str(one) for one in references], options))
    return fbc.dump(rendered.blobs, form)


def push_bundle(source: str | Path, target: str, *, access: Access | None = None) -> Published:
    """Push a bundle, a folder or an image, to `target`. Raises `RemoteError` if that fails."""
    from olmkit.jobs.image import publish as job

    return asyncio.run(job.push_bundle(str(source), target, access or access_settings.of_process()))


def push_catalog(source: str | Path, target: str, *, access: Access | None = None) -> Published:
    """Push a catalog, a folder or an image, to `target`. Raises `RemoteError` if that fails."""
    from olmkit.jobs.image import publish as job

    return asyncio.run(
        job.push_catalog(str(source), target, access or access_settings.of_process())
    )


def push_image(source: str, target: str, *, access: Access | None = None) -> Published:
    """Push an image, such as one in a layout (`oci:FOLDER:TAG`), to `target`.

    The result has the pinned reference. Raises `RemoteError` if that fails.
    """
    from olmkit.jobs.image import publish as job

    return asyncio.run(job.push_image(source, target, access or access_settings.of_process()))


def _pull(
    pull: Callable[[Sequence[str], Access], Awaitable[Pulled]],
    reference: str,
    access: Access | None,
) -> Pulled:
    if validation.are_folders([reference]):
        return {}

    async def pulling() -> Pulled:
        return await pull([reference], access or access_settings.of_process())

    return asyncio.run(pulling())


def _findings(results: Sequence[ValidationResult]) -> tuple[Diagnostic, ...]:
    (result,) = results
    if result.error is not None:
        raise result.error
    return result.diagnostics
