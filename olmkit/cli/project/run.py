"""`olmkit run`."""

from __future__ import annotations

import os

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.cluster_options import Target, cluster_options


@command(
    output=False,
    project=True,
    example="""
    olmkit run
    olmkit run -n staging --context kind-dev
    olmkit run -- --log-level debug
    olmkit run -- --once --check
    olmkit run --samples -- --once
    """,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--no-check", is_flag=True, help="Skip the check that the cluster has the CRDs.")
@click.option(
    "--samples",
    is_flag=True,
    help="Use an API server of this machine with the CRDs and samples of the project, instead of a "
    "cluster.",
)
@cluster_options
def run(
    app: App, *, arguments: tuple[str, ...], no_check: bool, samples: bool, target: Target
) -> None:
    """Run the operator of the project on this machine, against a cluster.

    ARGUMENTS after `--` are passed to the operator. It gets the environment variables of the
    manager Deployment in `config/manager`; your own environment takes precedence. With `-n`, it
    watches only that namespace (`WATCH_NAMESPACE`). Signals are passed on, and the exit code is
    that of the operator.

    In a Helm project (layout `helm.sdk.operatorframework.io/v1`), the charts of `watches.yaml` are
    run with the helm program on the path; `-- --once --check` shows what would change.

    `--samples -- --once` is a test of a Helm or an Ansible project without a cluster. The server
    rejects what the roles in `config/rbac` do not grant. It starts no pods, and reports workloads
    as ready. At the end, the command lists the created objects.
    """
    from olmkit.jobs.project import run as run_job
    from olmkit.jobs.project.run import RunOptions

    if samples and (target.kubeconfig or target.context):
        raise click.UsageError("`--samples` cannot be used with `--kubeconfig` or `--context`")
    options = RunOptions(
        project=app.project,
        kubeconfig=target.kubeconfig,
        context=target.context,
        namespace=target.named_namespace,
        arguments=arguments,
        on_samples=samples,
    )
    ready = run_job.prepare(options, os.environ)
    app.report(ready.findings)
    if not no_check:
        app.run(run_job.check(ready))
    server = ready.cluster.server if ready.cluster else "the samples"
    app.terminal.say(f"running `{' '.join(ready.plan.command)}` against `{server}`")
    raise SystemExit(run_job.run(ready, context=target.context))
