"""`olmkit render`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.base.diagnostics import ConfigurationError, Diagnostic
from olmkit.cli.frame import option_values, output
from olmkit.cli.frame.app import App, command
from olmkit.cli.project.scaffolding import dry_run_option

if TYPE_CHECKING:
    from olmkit.kube.objects import Manifest


@command(
    name="render",
    project=True,
    example="""
    olmkit render
    olmkit render config/crd | kubectl apply -f -
    olmkit render --image quay.io/example/memcached-operator:v0.1.0 --output-file dist/install.yaml
    olmkit render --chart dist/chart
    """,
)
@click.argument("overlay", default=option_values.OVERLAY, metavar="[OVERLAY]")
@click.option("--image", default="", metavar="REF", help="Image of the operator.")
@click.option(
    "--output-file",
    "file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the manifests to this file, relative to the project.",
)
@click.option(
    "--chart",
    "chart",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write a Helm chart to this directory instead, relative to the project.",
)
@click.option(
    "--chart-version",
    default="",
    metavar="VERSION",
    help="Version of the chart. Default: the version in the tag of the image.",
)
@dry_run_option
def render(
    app: App,
    *,
    overlay: str,
    image: str,
    file: Path | None,
    chart: Path | None,
    chart_version: str,
    dry_run: bool,
) -> None:
    """Print the manifests of an overlay, as `kustomize build` does.

    OVERLAY is a directory with a kustomization, relative to the project. Default:
    `config/default`. Features of kustomize that olmkit does not support are errors with a place.

    With `--chart`, the namespace, the image, the replicas, the resources and the placement of the
    operator become values of a Helm chart. A file of the chart whose first line you delete is
    yours: it is not overwritten.
    """
    from olmkit.jobs.project import overlay as job

    if file is not None and chart is not None:
        raise ConfigurationError("`--output-file` and `--chart` exclude each other")
    if chart_version and chart is None:
        raise ConfigurationError("`--chart-version` needs `--chart`")
    if dry_run and file is None and chart is None:
        raise ConfigurationError("`--dry-run` needs `--output-file` or `--chart`")
    findings: list[Diagnostic] = []
    rendered = job.render(app.project, overlay, findings=findings)
    found = job.with_image(rendered, image)
    if chart is not None:
        from olmkit.jobs.project import generate
        from olmkit.project.chart import ChartRequest

        request = ChartRequest(name=generate.load_project(app.project).name, version=chart_version)
        changes = job.write_chart(app.project, chart, found, request, dry_run=dry_run)
    elif file is not None:
        changes = job.write_stream(app.project, file, found, dry_run=dry_run)
    else:
        _print(app, found, findings)
        return
    app.emit(
        {"changes": output.changes_json(changes)},
        text=lambda: app.told(
            output.changes_text(changes, dry_run=dry_run) or "nothing to change",
            is_result=dry_run,
        ),
        diagnostics=findings,
    )


def _print(app: App, found: tuple[Manifest, ...], findings: list[Diagnostic]) -> None:
    from olmkit.jobs.project import overlay as job

    if app.is_json:
        app.emit({"objects": list(found)}, diagnostics=findings)
    else:
        app.report(findings)
        app.terminal.result_bytes(job.stream(found))
