"""`olmkit submit prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame import app as frame
from olmkit.cli.frame import option_values
from olmkit.cli.frame import output as output_forms
from olmkit.cli.frame.app import App
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.submission.prepare import Prepared


@frame.command(
    example="""
    olmkit submit prepare --to operatorhub ~/community-operators --reviewer alex
    olmkit submit prepare --to openshift ~/community-operators-prod --ocp-versions v4.16
    olmkit submit prepare --to certified ~/certified-operators --bundle bundle/0.2.0 --dry-run
    """,
)
@click.argument("repository", metavar="REPO", type=click.Path(path_type=Path))
@click.option(
    "--to",
    "target",
    type=click.Choice(option_values.SUBMISSION_TARGETS),
    required=True,
    help="Pipeline that will check the pull request.",
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    default=Path("bundle"),
    show_default=True,
    metavar="DIR",
    help="Directory of the bundle.",
)
@click.option(
    "--reviewer",
    "reviewers",
    multiple=True,
    metavar="NAME",
    help="Account that may approve pull requests, for a new `ci.yaml`. Repeatable.",
)
@click.option(
    "--cert-project-id",
    "project",
    default="",
    metavar="ID",
    help="Certification project, for the new `ci.yaml` of a certified operator.",
)
@click.option(
    "--template",
    type=click.Choice(option_values.SUBMISSION_TEMPLATES),
    help="Create a file-based operator with a template of this kind.",
)
@click.option(
    "--catalog",
    "catalogs",
    multiple=True,
    metavar="NAME",
    help="Catalog of a new file-based operator. Repeatable. Default: all of the repository.",
)
@click.option(
    "--image",
    default="",
    metavar="IMAGE",
    help="Released image of the bundle: adds it to the templates, and renders the catalogs.",
)
@click.option(
    "--ocp-versions",
    "openshift",
    default="",
    metavar="RANGE",
    help="Set `com.redhat.openshift.versions`, such as `v4.16-v4.18`, in the submitted bundle. "
    "Default for OpenShift: its own, else those with the Kubernetes of `minKubeVersion` or later.",
)
@click.option(
    "--dry-run", is_flag=True, help="Show what would be written without writing anything."
)
@click.option("--diff", is_flag=True, help="Print what would change without writing anything.")
@registry_options
def prepare(
    app: App,
    *,
    repository: Path,
    target: str,
    bundle: Path,
    reviewers: tuple[str, ...],
    project: str,
    template: str | None,
    catalogs: tuple[str, ...],
    image: str,
    openshift: str,
    dry_run: bool,
    diff: bool,
    access: Access,
) -> None:
    """Write the next version of an operator into a checkout of a repository of catalogs.

    The version folder is written from the bundle, and `ci.yaml` when it is new. A file-based
    operator gets `release-config.yaml`, with which its pipeline adds the released bundle to the
    templates; with `--image`, templates and catalogs are written here.
    """
    from olmkit.catalog.templates.source import Kind
    from olmkit.jobs.submission import prepare as job
    from olmkit.jobs.submission.prepare import PrepareOptions
    from olmkit.submission.settings import Target

    options = PrepareOptions(
        bundle=bundle,
        target=Target(target),
        reviewers=reviewers,
        project=project,
        openshift=openshift,
        template=Kind(template) if template else None,
        catalogs=catalogs,
        image=image,
        access=access,
    )
    prepared = app.run(job.prepare(repository, options, dry_run=dry_run or diff))
    app.emit(
        {
            "package": prepared.package,
            "version": prepared.version,
            "to": str(prepared.target),
            "changes": output_forms.changes_json(prepared.changes),
        },
        text=lambda: app.told(
            _text(repository, prepared, diff=diff, dry_run=dry_run), is_result=dry_run or diff
        ),
        diagnostics=prepared.diagnostics,
    )
    if not (dry_run or diff):
        app.terminal.note(_next(repository, prepared, image))


def _text(repository: Path, prepared: Prepared, *, diff: bool, dry_run: bool) -> str:
    if diff:
        lines = (
            line
            for change in prepared.changes
            for line in output_forms.difference(str(repository), change)
        )
        return "".join(lines).rstrip("\n")
    return output_forms.changes_text(prepared.changes, dry_run=dry_run)


def _next(repository: Path, prepared: Prepared, image: str) -> str:
    """Return the next steps, in order."""
    check = f"olmkit submit check {repository} --to {prepared.target} --operator {prepared.package}"
    text = f"Check it with `{check}`, commit with `git commit --signoff`, and open a pull request"
    if prepared.is_file_based and not image:
        text += (
            "\nAfter the release, the pipeline adds the bundle to the templates of "
            "`release-config.yaml`"
        )
    return text
