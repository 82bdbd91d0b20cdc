"""`olmkit edit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import option_values
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.project import scaffolding
from olmkit.cli.project.scaffolding import dry_run_option

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access


@command(
    name="edit",
    project=True,
    example="""
    olmkit edit --multigroup
    olmkit edit --image quay.io/example/memcached-operator:v0.0.2
    olmkit edit --base docker.io/library/python:3.13-slim
    olmkit edit --prometheus --network-policy
    olmkit edit --ci gitlab
    """,
)
@click.option(
    "--multigroup/--no-multigroup", default=None, help="Allow kinds of several API groups."
)
@click.option(
    "--namespaced/--no-namespaced",
    default=None,
    help="Watch only the namespace of the operator, or all namespaces.",
)
@click.option("--image", default="", help="Image of the operator, with a tag or a digest.")
@click.option(
    "--base",
    default="",
    metavar="REF",
    help="Base image of the Containerfile, pinned by digest; a tag is looked up in its registry.",
)
@click.option(
    "--domain",
    default="",
    help="Domain of the API groups; can be changed only before the first kind is created.",
)
@click.option(
    "--prometheus/--no-prometheus",
    default=None,
    help="Include a ServiceMonitor, for clusters with a Prometheus operator.",
)
@click.option(
    "--network-policy/--no-network-policy",
    default=None,
    help="Let only namespaces labelled `metrics: enabled` read metrics.",
)
@click.option(
    "--scorecard/--no-scorecard",
    default=None,
    help="Include a scorecard configuration in the bundle; projects of kubebuilder have none.",
)
@click.option(
    "--ci",
    type=click.Choice(option_values.CI_SERVICES),
    help="Add a CI workflow for this service, if there is none.",
)
@registry_options
@dry_run_option
def edit(
    app: App,
    *,
    multigroup: bool | None,
    namespaced: bool | None,
    image: str,
    base: str,
    domain: str,
    prometheus: bool | None,
    network_policy: bool | None,
    scorecard: bool | None,
    ci: str | None,
    access: Access,
    dry_run: bool,
) -> None:
    """Change settings of an existing project: scope, image, overlays, workflows."""
    from olmkit.jobs.image import digest
    from olmkit.jobs.project import scaffold as project
    from olmkit.project.scaffold.edit import EditRequest

    request = EditRequest(
        multigroup=multigroup,
        namespaced=namespaced,
        image=image,
        base=app.run(digest.pin(base, access)) if base else "",
        domain=domain,
        prometheus=prometheus,
        network_policy=network_policy,
        scorecard=scorecard,
        ci=ci or "",
    )
    if request == EditRequest():
        raise ConfigurationError("nothing to edit", hint="pass at least one option")
    result = project.edit(app.project, request, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run)
