"""`olmkit image build`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import push_output
from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.build_options import build_options, engine_option

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.image.publish import PublishOptions
    from olmkit.project.image_plan import ImagePlan


@command(
    project=True,
    example="""
    olmkit image build
    olmkit image build -t quay.io/example/memcached-operator:v0.1.0 --push
    olmkit image build --platform linux/amd64 --platform linux/arm64
    """,
)
@build_options(platforms_else="the platform of this machine")
@click.option(
    "--base",
    default="",
    metavar="REF",
    envvar="OLMKIT_IMAGE_BASE",
    help="Base image, from a registry, a layout or an engine.",
)
@click.option("--pull", is_flag=True, help="Pull the base image again, even if it is cached.")
@click.option(
    "--python",
    default="",
    metavar="VERSION",
    help="Python version of the base image, such as `3.13`, if the image does not declare it.",
)
@click.option(
    "--wheels",
    default="",
    metavar="FOLDER",
    envvar="OLMKIT_WHEELS",
    help="Install all packages from the wheels in this directory, not from the network.",
)
@click.option("--sbom", is_flag=True, help="Add a CycloneDX bill of materials to the image.")
@click.option(
    "--bytecode/--no-bytecode",
    default=None,
    help="Compile the Python code in the image, so that it starts faster. Default: if the Python "
    "version of the image is installed on this machine.",
)
@click.option(
    "--helm",
    default="",
    metavar="FILE",
    envvar="OLMKIT_HELM",
    help="With kinds of Helm, the helm program for the image; `{arch}` in FILE is the "
    "architecture. Default: the `helm` on `PATH`.",
)
@click.option(
    "--collections",
    default="",
    metavar="FOLDER",
    help="With kinds of Ansible, the directory with the collections of `requirements.yml`. "
    "Default: `collections`, if it exists.",
)
@click.option(
    "--collections-index",
    default="",
    metavar="INDEX",
    envvar="OLMKIT_COLLECTIONS_INDEX",
    help="Install the collections of `requirements.yml` from this index, with `ansible-galaxy`: "
    "a URL, or the name of a server in its settings.",
)
@engine_option("the Containerfile")
@click.option("--dry-run", is_flag=True, help="Show what would be built without building it.")
def build(
    app: App, *, options: PublishOptions, access: Access, engine: str, dry_run: bool, **given: Any
) -> None:
    """Build the image of an operator, without a container engine.

    The image consists of the base, a layer with packages and a layer with the code. It goes to the
    layout `dist/oci` and is identical on every machine. Prints the pinned reference.

    In a Helm or Ansible project, the packages are olmkit and what it needs, the code is what
    `watches.yaml` names, and between them is the helm program or the collections.
    """
    from olmkit.jobs.image import build as job
    from olmkit.jobs.image.build import ImageBuildOptions
    from olmkit.oci import reference as references

    wanted = ImageBuildOptions(publish=options, engine=engine, **given)
    if dry_run and engine:
        raise ConfigurationError(
            "`--dry-run` shows what is built without an engine",
            hint="leave `--dry-run` out, or `--engine`",
        )
    if dry_run:
        planned = job.plan(wanted)
        for name in filter(None, (planned.base, options.target)):
            references.parse_image(name)  # as the build does
        app.emit(_json(planned), text=_text(planned))
        return
    with push_output.show_progress(app) as report:
        made = app.run(job.build(wanted, access, report, app.terminal.note))
    push_output.show(app, made)


def _json(plan: ImagePlan) -> dict[str, object]:
    from olmkit.project import image_plan

    return {
        "base": plan.base,
        "python": plan.python or None,
        "platforms": [str(platform) for platform in plan.platforms],
        "packages": {
            "folder": image_plan.PACKAGES,
            "lock": plan.lock or None,
            "requirements": list(plan.application.requirements),
            "wheels": plan.wheels or None,
        },
        "code": {
            "folder": _code_folder(plan),
            "packages": list(plan.application.packages),
        },
        "entrypoint": list(plan.entrypoint),
        "environment": dict(image_plan.ENVIRONMENT),
        "user": plan.user,
        "labels": dict(image_plan.labels(plan.application)),
        "tag": image_plan.default_tag(plan.application),
    }


def _code_folder(plan: ImagePlan) -> str:
    from olmkit.project import image_plan

    return image_plan.CODE if plan.application.packages else plan.home


def _text(plan: ImagePlan) -> str:
    from olmkit.project import image_plan

    wanted = plan.application
    packages = plan.lock or ", ".join(wanted.requirements) or "none"
    lines = {
        "base": plan.base,
        "python": plan.python or "as declared by the base image",
        "platforms": ", ".join(map(str, plan.platforms)),
        "packages": f"{packages} in {image_plan.PACKAGES}",
        "code": f"{', '.join(wanted.packages)} in {image_plan.CODE}"
        if wanted.packages
        else f"the project's files in {plan.home}",
        "entrypoint": " ".join(plan.entrypoint),
        "user": plan.user,
        "tag": image_plan.default_tag(wanted),
    }
    if plan.wheels:
        lines["wheels"] = plan.wheels
    width = max(map(len, lines))
    return "\n".join(f"{key:<{width}}  {value}" for key, value in lines.items())
