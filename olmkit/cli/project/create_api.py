"""`olmkit create api`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import ChangeKind
from olmkit.cli.frame import option_values
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.registry_options import registry_options
from olmkit.cli.project import scaffolding
from olmkit.cli.project.scaffolding import dry_run_option, free_kind_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.project.charts import ChartReference
    from olmkit.jobs.project.scaffold import ScaffoldResult
    from olmkit.project.scaffold.api import DeployImage

_OF_PYTHON = (
    *("resource", "controller", "image", "image_container_command", "image_container_port"),
    *("run_as_user", "external_domain", "external_path"),
)
_OF_WATCHED = (
    "helm_chart",
    "helm_chart_repo",
    "helm_chart_version",
    "generate_role",
    "generate_playbook",
)


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
    olmkit create api --helm-chart ./nginx
    olmkit create api --helm-chart oci://registry.example.com/charts/nginx:1.2.0
    olmkit create api --helm-chart nginx --helm-chart-repo https://charts.example.com
    olmkit create api --group cache --version v1alpha1 --kind Memcached --generate-role
    olmkit create api --plugins helm --helm-chart ./nginx
    """,
)
@free_kind_options
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
@click.option(
    "--plugins",
    "plugins",
    default="",
    metavar="PLUGIN",
    help="In a Python project, `helm` or `ansible`: the kind runs a chart, or a role or playbook.",
)
@click.option(
    "--helm-chart",
    default="",
    metavar="CHART",
    help="For a Helm kind, the chart: a directory, a packaged chart, its URL, `oci://…`, or a name "
    "in a chart repository. Default: a new minimal chart.",
)
@click.option(
    "--helm-chart-repo", default="", metavar="URL", help="Chart repository that has CHART."
)
@click.option(
    "--helm-chart-version",
    default="",
    help="Version of a chart in a registry or repository, if CHART does not name one. Default: the "
    "newest.",
)
@click.option("--generate-role", is_flag=True, help="For an Ansible kind, create a role.")
@click.option("--generate-playbook", is_flag=True, help="For an Ansible kind, create a playbook.")
@registry_options
@dry_run_option
def create(
    app: App,
    *,
    image: str | None,
    image_container_command: str,
    image_container_port: int,
    run_as_user: int | None,
    plugins: str,
    helm_chart: str,
    helm_chart_repo: str,
    helm_chart_version: str,
    generate_role: bool,
    generate_playbook: bool,
    access: Access,
    dry_run: bool,
    **given: Any,
) -> None:
    """Add a kind: its types, sample, roles and reconciler.

    With `--no-resource`, the kind can be external; its reconciler then works with plain manifests.
    A kind of Kubernetes needs only its group (`apps`, `batch`, `core`, `networking`), a kind of
    another operator its group and `--external-api-domain`.

    In a Helm project, or with `--plugins helm`: the chart, its entry in `watches.yaml`, the CRD
    with the chart's schema, and the rights that its templates need. In an Ansible project, or with
    `--plugins ansible`: a role or a playbook, the entry and an open CRD. There, version and, with
    a chart, group and kind have defaults.
    """
    from olmkit.jobs.project import scaffold as project
    from olmkit.jobs.project.scaffold import WatchedApi
    from olmkit.project.scaffold.api import ApiRequest

    opened = project.open_project(app.project)
    runner = _runner(plugins)
    if runner or opened.project.language in ("helm", "ansible"):
        _refuse(_OF_PYTHON, "it does not apply to Helm and Ansible kinds")
        wanted = WatchedApi(
            runner=runner,
            chart=_chart(helm_chart, helm_chart_repo, helm_chart_version),
            has_role=generate_role,
            has_playbook=generate_playbook,
            group=given["group"],
            version=given["version"] or "",
            kind=given["kind"] or "",
            plural=given["plural"],
            namespaced=given["namespaced"],
            force=given["force"],
        )
        made = project.create_watched_api(
            app.project, wanted, access, os.environ, opened=opened, dry_run=dry_run
        )
        following = "`make install run` creates the CRD in the cluster and starts the operator"
        scaffolding.emit(app, app.run(made), dry_run=dry_run, following=following)
        return
    _refuse(_OF_WATCHED, "pass `--plugins helm` or `--plugins ansible`")
    for name in ("version", "kind"):
        if not given[name]:
            raise click.UsageError(f"Missing option '--{name}'.")
    deploy = _deploy_image(image, image_container_command, image_container_port, run_as_user)
    request = ApiRequest(deploy=deploy, **given)
    result = project.create_api(app.project, request, opened=opened, dry_run=dry_run)
    scaffolding.emit(app, result, dry_run=dry_run, following=_next_steps(result))


def _deploy_image(
    image: str | None, command: str, port: int, user: int | None
) -> DeployImage | None:
    """Return the image that the reconciler deploys; None if no image was passed."""
    from olmkit.project.scaffold.api import DeployImage

    if image is not None:
        arguments = tuple(word for word in command.split(",") if word)
        return DeployImage(image=image, command=arguments, port=port, user=user)
    if command or port or user is not None:
        raise ConfigurationError("command, port and user require an image: `--image …`")
    return None


def _next_steps(result: ScaffoldResult) -> str:
    """Return the next steps: edit the types and the sample, if they are new."""
    made = sorted(one.path for one in result.changes if one.kind is ChangeKind.CREATE)
    types = [path for path in made if "/api/" in f"/{path}" and not path.endswith("__init__.py")]
    if not types:
        return ""
    samples = [path for path in made if "/samples/" in path and "kustomization" not in path]
    sample = f", and an object of it in `{samples[0]}`" if samples else ""
    return f"describe the kind in `{types[0]}`{sample}, then run `olmkit generate`"


def _chart(text: str, repository: str, version: str) -> ChartReference | None:
    if not text:
        if repository or version:
            raise ConfigurationError("no chart was passed", hint="pass `--helm-chart`")
        return None
    from olmkit.jobs.project.charts import ChartReference

    return ChartReference(text=text, repository=repository, version=version)


def _runner(plugins: str) -> str:
    """Return `helm` or `ansible` for a plugin's short or full name; empty: the project's own."""
    if plugins in ("", option_values.LAYOUT):
        return ""
    runner = plugins.partition(".")[0].partition("/")[0]
    if runner not in ("helm", "ansible"):
        raise ConfigurationError(
            f"the plugin `{plugins}` is not supported", hint="use `helm` or `ansible`"
        )
    return runner


def _refuse(names: tuple[str, ...], why: str) -> None:
    """Raise `ConfigurationError` for an option that was given and has no effect here."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name in names and context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise ConfigurationError(f"`{parameter.opts[0]}` has no effect here: {why}")
