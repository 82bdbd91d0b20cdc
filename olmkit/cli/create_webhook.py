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
    olmkit create webhook --group core --version v1 --kind Pod --defaulting
    """,
)
@click.option("--group", default="", help="Group, without the project's domain.")
@click.option("--version", required=True, help="Version; with --conversion, that of the hub.")
@click.option("--kind", required=True, help="Kind, in camel case.")
@click.option("--plural", default="", help="Plural of a kind of others, if it is irregular.")
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
@click.option(
    "--external-api-domain", default=None, help="Domain after the group, for a kind of others."
)
@click.option(
    "--external-api-path", default="", help="Go package of its types, for the PROJECT file."
)
@click.option("--force", is_flag=True, help="Write files anew that are there already.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
def create(
    app: App,
    *,
    group: str,
    version: str,
    kind: str,
    plural: str,
    defaulting: bool,
    validation: bool,
    conversion: bool,
    spokes: tuple[str, ...],
    external_api_domain: str | None,
    external_api_path: str,
    force: bool,
    dry_run: bool,
) -> None:
    """Add webhooks to a kind: defaulting, validation, conversion.

    Defaulting and validation may be of a kind that others define, whose webhooks get plain
    manifests: one of Kubernetes by its group (`apps`, `core` for pods and the like), one of
    another operator by its group and `--external-api-domain`.
    """
    request = WebhookRequest(
        group=group,
        version=version,
        kind=kind,
        plural=plural,
        defaulting=defaulting,
        validation=validation,
        conversion=conversion,
        spokes=tuple(part for spoke in spokes for part in spoke.split(",") if part),
        external_domain=external_api_domain,
        external_path=external_api_path,
        force=force,
    )
    result = project.create_webhook(app.project, request, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run)
