"""`olmkit init`."""

from __future__ import annotations

from pathlib import Path

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import option_values
from olmkit.cli.frame.app import App, command
from olmkit.cli.project import scaffolding
from olmkit.cli.project.scaffolding import dry_run_option

_LANGUAGES = {
    option_values.LAYOUT: "python",
    "python/v1": "python",
    "python": "python",
    "helm": "helm",
    "helm/v1": "helm",
    "helm.sdk.operatorframework.io/v1": "helm",
    "ansible": "ansible",
    "ansible/v1": "ansible",
    "ansible.sdk.operatorframework.io/v1": "ansible",
}


@command(
    name="init",
    example="""
    olmkit init memcached-operator --domain example.com
    olmkit init nginx-operator --domain example.com --plugins helm
    olmkit init redis-operator --domain example.com --plugins ansible
    """,
)
@click.argument("folder", type=click.Path(path_type=Path), default=Path(), metavar="[DIR]")
@click.option(
    "--domain",
    default="example.com",
    show_default=True,
    help="Domain of the API groups: one that you own, since groups must not collide.",
)
@click.option(
    "--project-name", default="", help="Name of the project. Default: the name of the directory."
)
@click.option("--image", default="", help="Image of the operator. Default: `DOMAIN/NAME:v0.0.1`.")
@click.option(
    "--plugins",
    "--layout",
    "layout",
    default=option_values.LAYOUT,
    show_default=True,
    help="Project layout, as in kubebuilder and operator-sdk: that of Python, `helm` or `ansible`.",
)
@click.option("--multigroup", is_flag=True, help="Allow kinds of several API groups.")
@click.option(
    "--namespaced", is_flag=True, help="Create an operator that watches only its own namespace."
)
@click.option(
    "--ci",
    type=click.Choice((*option_values.CI_SERVICES, "none")),
    default=None,
    show_default="github",
    help="Service for which a workflow is written that checks, tests and builds the operator.",
)
@dry_run_option
def init(
    app: App,
    *,
    folder: Path,
    domain: str,
    project_name: str,
    image: str,
    layout: str,
    multigroup: bool,
    namespaced: bool,
    ci: str | None,
    dry_run: bool,
) -> None:
    """Create a project for an operator in Python, or with Helm charts or Ansible."""
    from olmkit.jobs.project import scaffold as project
    from olmkit.project.scaffold.project import InitRequest

    language = _LANGUAGES.get(layout)
    if language is None:
        raise ConfigurationError(
            f"the layout `{layout}` is not supported",
            hint=f"use `{option_values.LAYOUT}`, `helm` or `ansible`; olmkit still reads projects "
            "with other layouts",
        )
    request = InitRequest(
        domain=domain,
        name=project_name or folder.resolve().name.lower(),
        image=image,
        multigroup=multigroup,
        namespaced=namespaced,
        ci={"none": "", None: "github"}.get(ci, ci or ""),
    )
    result = project.init(folder, request, language=language, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run, following=_next_steps(folder, language))


def _next_steps(folder: Path, language: str) -> str:
    kind = "--group GROUP --version v1alpha1 --kind KIND"
    command = "olmkit create api " + ("--helm-chart CHART" if language == "helm" else kind)
    place = "" if folder == Path() else f"in `{folder}`, "
    return f"{place}add a kind with `{command}`"
