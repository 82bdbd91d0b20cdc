"""`olmkit create webhook`."""

from __future__ import annotations

import click

from olmkit.cli import scaffolding
from olmkit.cli.app import App, command
from olmkit.jobs import project
from olmkit.project.scaffold_webhook import WebhookRequest


@command(
    name="webhook",
    project=True,
    example="""
    olmkit create webhook --group cache --version v1alpha1 --kind Memcached --validation
    olmkit create webhook --group cache --version v1 --kind Memcached --conversion
    """,
)
@click.option("--group", default="", help="Group, without the project's domain.")
@click.option("--version", required=True, help="Version; with --conversion, that of the hub.")
@click.option("--kind", required=True, help="Kind, in camel case.")
@click.option("--defaulting", is_flag=True, help="Fill in what an object leaves open.")
@click.option(
    "--validation",
    "--programmatic-validation",
    "validation",
    is_flag=True,
    help="Refuse objects, or warn of them.",
)
@click.option("--conversion", is_flag=True, help="Convert between the versions of the kind.")
@click.option(
    "--spoke",
    "spokes",
    multiple=True,
    help="A version that is converted to the hub; else all others. May be repeated.",
)
@click.option("--force", is_flag=True, help="Write files anew that are there already.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
def create(
    app: App,
    *,
    group: str,
    version: str,
    kind: str,
    defaulting: bool,
    validation: bool,
    conversion: bool,
    spokes: tuple[str, ...],
    force: bool,
    dry_run: bool,
) -> None:
    """Add webhooks to a kind: defaulting, validation, conversion."""
    request = WebhookRequest(
        group=group,
        version=version,
        kind=kind,
        defaulting=defaulting,
        validation=validation,
        conversion=conversion,
        spokes=tuple(part for spoke in spokes for part in spoke.split(",") if part),
        force=force,
    )
    result = project.create_webhook(app.project, request, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run)
