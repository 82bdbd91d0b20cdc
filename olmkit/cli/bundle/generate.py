"""`olmkit bundle generate`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, Severity
from olmkit.cli.frame import app as frame
from olmkit.cli.frame import output
from olmkit.cli.frame.app import App
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.registry_options import registry_options, source_date

if TYPE_CHECKING:
    from olmkit.bundle.generation.origins import Origin
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.bundle.generate import BundleGenerateResult

# The tag of an image that has a version, such as that which `init` writes.
_VERSION_TAG = re.compile(r"v\d+\.\d+\.\d+\S*")


@frame.command(
    project=True,
    example="""
    olmkit bundle generate --version 0.1.0
    kustomize build config/manifests | olmkit bundle generate --version 0.1.0 --input -
    """,
)
@click.option(
    "--version",
    default="",
    help="Version of the bundle. Default: the version of the base CSV, or of the existing bundle "
    "if that is newer.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="DIR|FILE|-",
    help="Rendered manifests, or a directory with a kustomization; `-` reads stdin. Repeatable. "
    "Default: `config/manifests` of the project.",
)
@click.option(
    "--channels",
    default="",
    help="Channels, separated by commas. Default: those of the existing bundle, or `alpha`.",
)
@click.option(
    "--default-channel", default="", help="Default channel, for users who do not name one."
)
@click.option(
    "--package", default="", help="Name of the package. Default: `projectName` in the PROJECT file."
)
@click.option(
    "--extra-service-accounts",
    multiple=True,
    metavar="NAMES",
    help="Additional service accounts whose permissions go into the CSV.",
)
@click.option(
    "--output-dir",
    default="bundle",
    show_default=True,
    help="Directory of the bundle, relative to the project.",
)
@click.option(
    "--image-digests", is_flag=True, help="Pin every image to the digest in its registry."
)
@click.option(
    "--known-digests",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Pin every image to its digest in FILE, which maps images to digests. With "
    "--image-digests, the registries provide the missing ones.",
)
@click.option("--manifests", is_flag=True, help="Write only the manifests and keep the metadata.")
@click.option(
    "--metadata",
    is_flag=True,
    help="Write only the metadata and the Containerfile; keep the manifests.",
)
@click.option("--dry-run", is_flag=True, help="Show what would change without writing anything.")
@click.option(
    "--check", is_flag=True, help="Like --dry-run, with exit code 1 if something would change."
)
@click.option("--explain", is_flag=True, help="Show where each field of the CSV comes from.")
@registry_options
def generate(
    app: App,
    *,
    version: str,
    inputs: tuple[str, ...],
    channels: str,
    default_channel: str,
    package: str,
    extra_service_accounts: tuple[str, ...],
    output_dir: str,
    manifests: bool,
    metadata: bool,
    dry_run: bool,
    check: bool,
    explain: bool,
    image_digests: bool,
    known_digests: Path | None,
    access: Access,
) -> None:
    """Write the bundle of a project from its manifests and base CSV."""
    from olmkit.jobs.bundle import bundle_input
    from olmkit.jobs.bundle import generate as job
    from olmkit.jobs.bundle import image_digests as digest_jobs
    from olmkit.jobs.bundle.generate import BundleGenerateOptions, BundlePart

    asked = {BundlePart.MANIFESTS: manifests, BundlePart.METADATA: metadata}
    options = BundleGenerateOptions(
        parts=frozenset(part for part in BundlePart if asked[part]) or frozenset(BundlePart),
        inputs=inputs,
        stdin=_stdin() if bundle_input.STDIN in inputs else None,
        version=version,
        channels=channels,
        default_channel=default_channel,
        package=package,
        extra_service_accounts=tuple(
            name for names in extra_service_accounts for name in names.split(",") if name
        ),
        output=output_dir,
        created_at=_source_date(),
    )
    prepared = job.prepare(app.project, options)
    digests = None
    if image_digests or known_digests:
        names = prepared.images_to_pin()
        digests = app.run(
            digest_jobs.pins(names, known=known_digests, ask=image_digests, access=access)
        )
    result = job.write(prepared, digests=digests, dry_run=dry_run or check)
    app.emit(
        _json(result, explain=explain),
        text=lambda: app.told(
            _text(result, dry_run=dry_run or check, explain=explain),
            is_result=dry_run or check or explain,
        ),
        diagnostics=_visible_findings(app, result.diagnostics),
    )
    if check and result.changes:
        app.exit(Exit.NO)


def _stdin() -> bytes:
    from olmkit.jobs.bundle import bundle_input

    data = sys.stdin.buffer.read(bundle_input.MAX_INPUT_SIZE + 1)
    if len(data) > bundle_input.MAX_INPUT_SIZE:
        raise ConfigurationError(
            f"the input is larger than {bundle_input.MAX_INPUT_SIZE // 1024 // 1024} MB",
            hint="pipe the manifests of one operator",
        )
    return data


def _source_date() -> str:
    """Return the time of `SOURCE_DATE_EPOCH` in RFC 3339; empty if it is not set."""
    import datetime

    if not os.environ.get("SOURCE_DATE_EPOCH"):
        return ""
    moment = datetime.datetime.fromtimestamp(source_date(), datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _visible_findings(app: App, diagnostics: Sequence[Diagnostic]) -> Sequence[Diagnostic]:
    """Return findings; notes only on request, since most projects have one on a Namespace."""
    if app.is_json or app.verbose:
        return diagnostics
    return [found for found in diagnostics if found.severity is not Severity.INFO]


def _json(result: BundleGenerateResult, *, explain: bool) -> dict[str, object]:
    value: dict[str, object] = {
        "package": result.package,
        "version": result.version,
        "directory": result.output,
        "changes": output.changes_json(result.changes),
    }
    if result.image:
        value["image"] = result.image
    if explain:
        value["origins"] = [
            {"field": origin.field, "source": origin.source}
            | ({"at": output.location_json(origin.at)} if origin.at else {})
            for origin in result.origins
        ]
    return value


def _text(result: BundleGenerateResult, *, dry_run: bool, explain: bool) -> str:
    parts = [_origins_text(result.origins)] if explain else []
    changes = output.changes_text(result.changes, dry_run=dry_run)
    parts.append(changes or f"`{result.output}` is up to date")
    if result.image:
        parts.append(_contents(result))
    return "\n".join(parts)


def _contents(result: BundleGenerateResult) -> str:
    """Return version and image, and how to change a placeholder or an image of another version."""
    line = f"version {result.version}, image {result.image}"
    if "/" not in result.image:
        name = f"REGISTRY/{result.package}:v{result.version}"
        return f"{line}, a placeholder; to name yours: olmkit edit --image {name}"
    repository, _, tag = result.image.rpartition(":")
    if "@" in result.image or not _VERSION_TAG.fullmatch(tag) or tag[1:] == result.version:
        return line
    return f"{line}; to change the tag: olmkit edit --image {repository}:v{result.version}"


def _origins_text(origins: Sequence[Origin]) -> str:
    """Return a line for each source: the field, its source and the place."""
    width = max((len(origin.field) for origin in origins), default=0)
    lines = [
        f"{origin.field:<{width}}  {origin.source}" + (f"  {origin.at}" if origin.at else "")
        for origin in sorted(origins, key=lambda origin: origin.field)
    ]
    return "\n".join([*lines, ""])
