"""`olmkit create webhook`."""

from __future__ import annotations

from typing import Any

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.project import scaffolding
from olmkit.cli.project.scaffolding import dry_run_option, kind_options


@command(
    name="webhook",
    project=True,
    example="""
    olmkit create webhook --group cache --version v1alpha1 --kind Memcached --validation
    olmkit create webhook --group cache --version v1 --kind Memcached --conversion
    olmkit create webhook --group core --version v1 --kind Pod --defaulting
    """,
)
@kind_options
@click.option("--defaulting", is_flag=True, help="Create a webhook that sets default values.")
@click.option(
    "--validation",
    "--programmatic-validation",
    "validation",
    is_flag=True,
    help="Create a webhook that rejects objects or warns about them.",
)
@click.option(
    "--conversion",
    is_flag=True,
    help="Create a webhook that converts to --version, the hub, and back.",
)
@click.option(
    "--spoke",
    "spokes",
    multiple=True,
    help="Version that is converted to the hub; repeatable. Default: all other versions.",
)
@dry_run_option
def create(app: App, *, spokes: tuple[str, ...], dry_run: bool, **given: Any) -> None:
    """Add webhooks to a kind: defaulting, validation, conversion.

    Defaulting and validation also support external kinds; their webhooks receive plain manifests.
    A kind of Kubernetes needs only its group (`apps`, `core`), a kind of another operator its group
    and `--external-api-domain`.
    """
    from olmkit.jobs.project import scaffold as project
    from olmkit.project.scaffold.webhook import WebhookRequest

    listed = tuple(part for spoke in spokes for part in spoke.split(",") if part)
    request = WebhookRequest(spokes=listed, **given)
    result = project.create_webhook(app.project, request, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run)
