"""`olmkit create webhook`."""

from __future__ import annotations

from typing import Any

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.project import scaffolding
from olmkit.cli.project.scaffolding import dry_run_option, kind_options
from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.webhook import WebhookRequest


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
@click.option("--defaulting", is_flag=True, help="Fill in what an object leaves open.")
@click.option(
    "--validation",
    "--programmatic-validation",
    "validation",
    is_flag=True,
    help="Refuse objects, or warn of them.",
)
@click.option("--conversion", is_flag=True, help="Convert to --version, the hub, and back.")
@click.option(
    "--spoke",
    "spokes",
    multiple=True,
    help="A version that is converted to the hub; else all others. May be repeated.",
)
@dry_run_option
def create(app: App, *, spokes: tuple[str, ...], dry_run: bool, **given: Any) -> None:
    """Add webhooks to a kind: defaulting, validation, conversion.

    Defaulting and validation may be of a kind that others define, whose webhooks get plain
    manifests: one of Kubernetes by its group (`apps`, `core` for pods and the like), one of
    another operator by its group and `--external-api-domain`.
    """
    listed = tuple(part for spoke in spokes for part in spoke.split(",") if part)
    request = WebhookRequest(spokes=listed, **given)
    result = project.create_webhook(app.project, request, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run)
