"""`olmkit run`."""

from __future__ import annotations

import os

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options
from olmkit.jobs.project import run as run_job
from olmkit.jobs.project.run import RunOptions


@command(
    output=False,
    project=True,
    example="""
    olmkit run
    olmkit run -n staging --context kind-dev
    olmkit run -- --log-level debug
    """,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--no-check", is_flag=True, help="Start without asking the cluster for the kinds.")
@cluster_options
def run(app: App, *, arguments: tuple[str, ...], no_check: bool, target: Target) -> None:
    """Run the project's operator on this machine, against a cluster.

    ARGUMENTS, after `--`, go to the operator. It gets the variables that the manager's Deployment
    in `config/manager` gives it; those of your own environment win. With `-n` it watches that
    namespace alone (`WATCH_NAMESPACE`). Signals are passed on, and its exit code is this
    command's.
    """
    options = RunOptions(
        project=app.project,
        kubeconfig=target.kubeconfig,
        context=target.context,
        namespace=target.named_namespace,
        arguments=arguments,
    )
    ready = run_job.prepare(options, os.environ)
    if not no_check:
        app.run(run_job.check(ready))
    app.terminal.say(f"running `{' '.join(ready.plan.command)}` against `{ready.cluster.server}`")
    raise SystemExit(run_job.run(ready, context=target.context))
