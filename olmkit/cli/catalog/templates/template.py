"""`olmkit catalog render-template`, and `olmkit catalog template` with a kind."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import option_values
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.options import add, form_option
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.catalog.blobs import fbc
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.catalog.templates.template import Kind


_Output = Literal["yaml", "json", "mermaid"]

_migrate_option = click.option(
    "--migrate",
    "--migrate-level",
    "level",
    type=click.Choice(option_values.MIGRATIONS),
    default=option_values.MIGRATIONS[0],
    show_default=True,
    help="Migration level of the bundles that are rendered from images.",
)


_output_option = click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["yaml", "json", "mermaid"]),
    default="yaml",
    show_default=True,
    help="Output format: blobs in YAML or JSON, or the upgrade graph for Mermaid.",
)


def _template_options(run: Callable[..., Any]) -> Callable[..., Any]:
    return add(run, (_output_option, _migrate_option, registry_options))


_release_option = click.option(
    "--opm-release",
    metavar="RELEASE",
    default="",
    help="Release of opm, such as 1.50, whose rules apply to semver templates. "
    "Default: those of the current release.",
)


@command(
    output=False,
    example="""
    olmkit catalog render-template catalog-templates/basic.yaml > catalog.yaml
    olmkit catalog render-template semver catalog-templates/semver.yaml -o json
    olmkit catalog render-template catalog-templates/v4.18.yaml --migrate all
    """,
)
@click.argument("words", metavar="[KIND] [FILE]", nargs=-1)
@_template_options
@_release_option
def render_template(
    app: App,
    *,
    words: tuple[str, ...],
    form: _Output,
    level: str,
    access: Access,
    opm_release: str,
) -> None:
    """Render a catalog template; its `schema` says which kind it is.

    KIND is `basic`, `semver` or `substitutes`. Without FILE, or with `-`, the template comes from
    the standard input. The bundles come from the images that the template names.
    """
    kind, reference = _kind_and_file(words)
    _render(app, reference, kind, form, level, access, opm_release)


@command(
    output=False,
    example="""
    olmkit catalog template basic catalog-templates/basic.yaml > catalog.yaml
    """,
)
@click.argument("reference", metavar="FILE", default=option_values.STDIN)
@_template_options
def basic(app: App, *, reference: str, form: _Output, level: str, access: Access) -> None:
    """Render a basic template: blobs, and images in place of bundles.

    Without FILE, or with `-`, the template comes from the standard input. It may also be a stream
    of blobs, its form in opm before 1.44.
    """
    from olmkit.jobs.catalog.templates.template import Kind

    _render(app, reference, Kind.BASIC, form, level, access)


@command(
    output=False,
    example="""
    olmkit catalog template semver catalog-templates/semver.yaml > catalog.yaml
    """,
)
@click.argument("reference", metavar="FILE", default=option_values.STDIN)
@_template_options
@_release_option
def semver(
    app: App, *, reference: str, form: _Output, level: str, access: Access, opm_release: str
) -> None:
    """Render a semver template: channels and edges from versions.

    Without FILE, or with `-`, the template comes from the standard input. Releases of opm from 1.37
    to 1.60 generate other edges, and those before 1.65 no icon and description of the package.
    """
    from olmkit.jobs.catalog.templates.template import Kind

    _render(app, reference, Kind.SEMVER, form, level, access, opm_release)


@command(
    output=False,
    example="""
    olmkit catalog template substitutes catalog-templates/substitutes.yaml > catalog.yaml
    """,
)
@click.argument("reference", metavar="FILE", default=option_values.STDIN)
@_template_options
def substitutes(app: App, *, reference: str, form: _Output, level: str, access: Access) -> None:
    """Render a substitutes template: rebuilt bundles replace others.

    Without FILE, or with `-`, the template comes from the standard input.
    """
    from olmkit.jobs.catalog.templates.template import Kind

    _render(app, reference, Kind.SUBSTITUTES, form, level, access)


@command(
    output=False,
    example="""
    olmkit catalog template composite -c composite.yaml -f catalogs.yaml
    olmkit catalog template composite -f https://example.com/catalogs.yaml --dry-run
    """,
)
@click.option(
    "-c",
    "--composite-config",
    "contribution",
    type=click.Path(path_type=Path),
    default=Path("composite.yaml"),
    show_default=True,
    help="File that lists the components (`olm.composite`).",
)
@click.option(
    "-f",
    "--catalog-config",
    "catalogs",
    metavar="FILE",
    default="catalogs.yaml",
    show_default=True,
    help="File or URL that lists the catalogs (`olm.composite.catalogs`).",
)
@click.option(
    "--validate/--no-validate",
    default=True,
    show_default=True,
    help="Refuse to write catalogs that have errors.",
)
@click.option(
    "--run-commands",
    is_flag=True,
    help="Run programs that components name (`olm.builder.custom`).",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be written without writing anything."
)
@form_option
@_migrate_option
@registry_options
@_release_option
def composite(
    app: App,
    *,
    contribution: Path,
    catalogs: str,
    form: fbc.Form,
    validate: bool,
    run_commands: bool,
    dry_run: bool,
    level: str,
    opm_release: str,
    access: Access,
) -> None:
    """Render a composite template: components into the directories of several catalogs.

    opm had this command up to release 1.43; `--opm-release 1.43 --migrate all` writes the bytes of
    that release. Inputs are searched in the current directory, then next to the composite file.
    Either all files are written or none.
    """
    from olmkit.catalog.bundles.migrate import Level
    from olmkit.catalog.templates.opm_release import CURRENT, OpmRelease
    from olmkit.cli.frame import output
    from olmkit.jobs.catalog.templates import composite as job
    from olmkit.jobs.catalog.templates.composite import CompositeOptions

    options = CompositeOptions(
        contribution=contribution,
        catalogs=catalogs,
        form=form,
        level=Level(level),
        release=OpmRelease.parse(opm_release) if opm_release else CURRENT,
        validate=validate,
        run_commands=run_commands,
        access=access,
    )
    found = app.run(job.render_composite(options, dry_run=dry_run))
    app.report(found.diagnostics)
    text = output.changes_text(found.changes, dry_run=dry_run) or "all catalogs are up to date"
    app.terminal.result(app.told(text, is_result=dry_run))


def _kind_and_file(arguments: tuple[str, ...]) -> tuple[Kind | None, str]:
    """Return the kind, if it is named, and the file."""
    from olmkit.jobs.catalog.templates import template as job
    from olmkit.jobs.catalog.templates.template import Kind

    kinds = [str(kind) for kind in Kind]
    match arguments:
        case ():
            return None, job.STDIN
        case (word,) if word != "composite":
            return (Kind(word), job.STDIN) if word in kinds else (None, word)
        case (kind, reference) if kind in kinds:
            return Kind(kind), reference
        case ("composite", *_):
            raise ConfigurationError(
                "a composite template is rendered into the directories of catalogs",
                hint="run `olmkit catalog template composite -c composite.yaml -f catalogs.yaml`",
            )
        case (kind, _):
            raise ConfigurationError(
                f"unknown kind of template `{kind}`", hint=f"use one of {', '.join(kinds)}"
            )
        case _:
            raise ConfigurationError(
                f"too many arguments: {len(arguments)}", hint="pass at most a kind and a file"
            )


def _render(
    app: App,
    reference: str,
    kind: Kind | None,
    form: _Output,
    level: str,
    access: Access,
    opm_release: str = "",
) -> None:
    from olmkit.catalog import model
    from olmkit.catalog.blobs import fbc
    from olmkit.catalog.bundles.migrate import Level
    from olmkit.catalog.graph import drawing
    from olmkit.catalog.templates.opm_release import CURRENT, OpmRelease
    from olmkit.edges import disk
    from olmkit.jobs.catalog.templates import template as job
    from olmkit.jobs.catalog.templates.template import TemplateOptions

    release = OpmRelease.parse(opm_release) if opm_release else CURRENT
    options = TemplateOptions(kind=kind, level=Level(level), access=access, release=release)
    stdin = _stdin() if reference == job.STDIN else None
    result = app.run(job.render_template(reference, options, stdin=stdin))
    app.report(result.diagnostics)
    if form == "mermaid":
        app.terminal.result(drawing.mermaid(model.from_blobs(result.blobs).chosen(), v0=True))
        return
    with disk.spool(fbc.pieces(result.blobs, form)) as text:
        app.terminal.result_stream(text)


def _stdin() -> bytes:
    from olmkit.jobs.catalog.templates import template as job

    data = sys.stdin.buffer.read(job.MAX_TEMPLATE + 1)
    if len(data) > job.MAX_TEMPLATE:
        raise ConfigurationError(
            f"the template is larger than the {job.MAX_TEMPLATE // 1024 // 1024} MB that are read",
            hint="write one template for each package",
        )
    return data
