"""`olmkit bundle scorecard`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.cli.bundle import scorecard_forms
from olmkit.cli.frame import app as frame
from olmkit.cli.frame import option_checks, option_values
from olmkit.cli.frame import output as output_forms
from olmkit.cli.frame.app import App
from olmkit.cli.frame.cluster_options import DurationType, Target, cluster_options
from olmkit.cli.frame.exits import Exit, exit_code
from olmkit.cli.frame.registry_options import registry_options

if TYPE_CHECKING:
    from olmkit.bundle.scorecard.results import ScorecardOutcome
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.bundle.scorecard import Scorecard, ScorecardRun
    from olmkit.jobs.validation import Pulled

_FORMS = {
    "text": scorecard_forms.text,
    "json": scorecard_forms.as_json,
    "xunit": scorecard_forms.xunit,
}


@frame.command(
    output=False,
    example="""
    olmkit bundle scorecard bundle/
    olmkit bundle scorecard bundle/ --list --selector 'suite in (basic, olm)'
    olmkit bundle scorecard quay.io/example/memcached-operator-bundle:v0.0.1 -o xunit -w 5m
    """,
)
@click.argument("reference", metavar="REF")
@click.option(
    "-o",
    "--output",
    type=click.Choice(tuple(_FORMS)),
    default="text",
    show_default=True,
    envvar="OLMKIT_SCORECARD_OUTPUT",
    help="Output format of the results, as operator-sdk writes it.",
)
@click.option(
    "-l",
    "--selector",
    default="",
    metavar="SELECTOR",
    help="Label selector of the tests, such as `suite=olm,test!=olm-status-descriptors-test`.",
)
@click.option(
    "-L", "--list", "list_", is_flag=True, help="List the selected tests without running them."
)
@click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Configuration, instead of the one in the bundle.",
)
@click.option(
    "--in-cluster",
    is_flag=True,
    help="Run the built-in tests as pods, too, instead of in this process.",
)
@click.option(
    "-w",
    "--wait-time",
    type=DurationType(),
    default="30s",
    show_default=True,
    metavar="DURATION",
    help="How long to wait for all tests in total.",
)
@click.option(
    "-s",
    "--service-account",
    default="default",
    show_default=True,
    metavar="NAME",
    callback=option_checks.object_names,
    help="Service account of the pods; that of the configuration takes precedence.",
)
@click.option(
    "--pod-security",
    type=click.Choice(["legacy", "restricted"]),
    default="legacy",
    show_default=True,
    help="Security context of the pods: none, or one for namespaces with `restricted` pods.",
)
@click.option(
    "-x", "--skip-cleanup", is_flag=True, help="Keep the pods and the ConfigMap after the tests."
)
@click.option(
    "-t",
    "--test-output",
    type=click.Path(path_type=Path),
    default=Path("test-output"),
    show_default=True,
    metavar="DIR",
    help="Directory for the files that tests store.",
)
@click.option(
    "-b",
    "--storage-image",
    default=option_values.STORAGE_IMAGE,
    metavar="IMAGE",
    callback=option_checks.image_reference,
    help="Image that keeps stored files until they are fetched; it needs `sh` and `tar`. "
    "Default: that of operator-sdk.",
)
@click.option(
    "-u",
    "--untar-image",
    default=option_values.UNTAR_IMAGE,
    metavar="IMAGE",
    callback=option_checks.image_reference,
    help="Image that unpacks the bundle in the pod; it needs `tar`. Default: that of operator-sdk.",
)
@cluster_options
@registry_options
def scorecard(
    app: App,
    *,
    reference: str,
    output: str,
    selector: str,
    list_: bool,
    config: Path | None,
    target: Target,
    access: Access,
    **words: Any,
) -> None:
    """Run the scorecard tests of a bundle: a directory or an image.

    The built-in tests of operator-sdk run at once in this process. Other tests are images: they
    run as pods in a cluster, which get the bundle in a ConfigMap.
    """
    from olmkit.jobs import validation
    from olmkit.jobs.bundle import scorecard as job
    from olmkit.jobs.bundle import validate as check

    pulled: Pulled = {}
    if not validation.are_folders((reference,)):
        pulled = app.run(check.pull((reference,), access))
    card = job.load(job.read_tree(reference, pulled), reference, config=config, selector=selector)
    app.report(card.configuration.findings)
    if list_:
        app.terminal.result(_FORMS[output](card.listed()))
        return
    run = app.run(_run(app, card, target, words))
    app.terminal.result(_FORMS[output](run.outcomes))
    if run.problem is not None:
        _end(app, run.problem)
    _summarize(app, run.outcomes)
    if not run.passed:
        app.exit(Exit.NO)


async def _run(app: App, card: Scorecard, target: Target, options: dict[str, Any]) -> ScorecardRun:
    from olmkit.bundle.scorecard.pods import PodSettings
    from olmkit.jobs.bundle import scorecard as job

    seconds, in_cluster = options["wait_time"], options["in_cluster"]
    wanted = card.of_pods(all_in_pods=in_cluster)
    if not wanted:
        return await job.run(card, seconds=seconds)
    from olmkit.jobs.cluster.scorecard import PodRun, PodTests

    settings = PodSettings(
        namespace="",
        service_account=card.configuration.service_account or options["service_account"],
        untar_image=options["untar_image"],
        storage_image=options["storage_image"],
        restricted=options["pod_security"] == "restricted",
    )
    async with contextlib.AsyncExitStack() as stack:
        try:
            reader, namespace = await stack.enter_async_context(target.open())
        except ConfigurationError as error:
            raise _without_cluster(error, len(wanted), len(card.tests)) from error
        how = PodRun(
            settings=settings._replace(namespace=namespace),
            output=options["test_output"],
            keep=options["skip_cleanup"],
        )
        tests = output_forms.plural(len(wanted), "test")
        app.terminal.note(f"running {tests} as pods in namespace `{namespace}`")
        return await job.run(card, PodTests(reader, how), all_in_pods=in_cluster, seconds=seconds)


def _without_cluster(error: ConfigurationError, wanted: int, count: int) -> ConfigurationError:
    needs = "needs" if wanted == 1 else "need"
    return ConfigurationError(
        f"{wanted} of {output_forms.plural(count, 'test')} {needs} a cluster: {error.message}",
        hint="name a kubeconfig with `--kubeconfig`, or select the built-in tests with "
        "`--selector 'suite in (basic, olm)'`",
    )


def _summarize(app: App, outcomes: tuple[ScorecardOutcome, ...]) -> None:
    if outcomes:
        failed = sum(not one.passed for one in outcomes)
        count = output_forms.plural(len(outcomes), "test")
        app.terminal.note(f"{failed} of {count} failed" if failed else f"{count} passed")


def _end(app: App, error: OlmkitError) -> None:
    """Report an error after the results: on stderr, so that stdout has only one document."""
    app.terminal.say(output_forms.error_text(error, color=app.terminal.color_err))
    app.exit(Exit(exit_code(error)))
