"""`olmkit render`."""

from __future__ import annotations

import click

from olmkit.base.diagnostics import Diagnostic
from olmkit.cli.frame.app import App, command
from olmkit.jobs.project import overlay as job


@command(
    name="render",
    project=True,
    example="""
    olmkit render
    olmkit render config/crd | kubectl apply -f -
    """,
)
@click.argument("overlay", default=job.DEFAULT, metavar="[OVERLAY]")
def render(app: App, *, overlay: str) -> None:
    """Print the manifests of an overlay, as `kustomize build` does.

    OVERLAY is a directory with a kustomization, relative to the project. Default:
    `config/default`. Features of kustomize that olmkit does not support are errors with a place.
    """
    findings: list[Diagnostic] = []
    rendered = job.render(app.project, overlay, findings=findings)
    if app.is_json:
        app.emit({"objects": [document.value for document in rendered]}, diagnostics=findings)
    else:
        app.report(findings)
        app.terminal.result_bytes(job.stream(rendered))
