"""`olmkit create api`."""

from __future__ import annotations

from typing import Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame.app import App, command
from olmkit.cli.project import scaffolding
from olmkit.cli.project.scaffolding import dry_run_option, kind_options
from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.api import ApiRequest, DeployImage


@command(
    name="api",
    project=True,
    example="""
    olmkit create api --group cache --version v1alpha1 --kind Memcached
    olmkit create api --group cache --version v1alpha1 --kind Memcached \\
    --image docker.io/library/memcached:1.6 --image-container-port 11211
    olmkit create api --group apps --version v1 --kind Deployment --no-resource
    olmkit create api --group cert-manager --version v1 --kind Certificate \\
    --no-resource --external-api-domain io
    """,
)
@kind_options
@click.option(
    "--namespaced/--cluster-scoped", default=True, help="Scope of the kind.", show_default=True
)
@click.option("--resource/--no-resource", default=True, help="Create the types.", show_default=True)
@click.option(
    "--controller/--no-controller", default=True, help="Create the reconciler.", show_default=True
)
@click.option(
    "--image", default=None, help="Image of the pods; creates a reconciler that deploys it."
)
@click.option(
    "--image-container-command",
    default="",
    help="Command of the container, arguments separated by commas.",
)
@click.option(
    "--image-container-port", type=int, default=0, help="Port that the container listens on."
)
@click.option("--run-as-user", type=int, default=None, help="User ID of the pods; not 0.")
@dry_run_option
def create(
    app: App,
    *,
    image: str | None,
    image_container_command: str,
    image_container_port: int,
    run_as_user: int | None,
    dry_run: bool,
    **given: Any,
) -> None:
    """Add a kind: its types, sample, roles and reconciler.

    With `--no-resource`, the kind can be external; its reconciler then works with plain manifests.
    A kind of Kubernetes needs only its group (`apps`, `batch`, `core`, `networking`), a kind of
    another operator its group and `--external-api-domain`.
    """
    deploy = None
    if image is not None:
        deploy = DeployImage(
            image=image,
            command=tuple(word for word in image_container_command.split(",") if word),
            port=image_container_port,
            user=run_as_user,
        )
    elif image_container_command or image_container_port or run_as_user is not None:
        raise ConfigurationError("command, port and user belong to an image: `--image …`")
    request = ApiRequest(deploy=deploy, **given)
    result = project.create_api(app.project, request, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run)
