"""The options of every command that uses a cluster, collected in a `Target`.

The kubeconfig, context and namespace come from the flags, else from kubectl's variables, else from
the kubeconfig.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame import option_checks, option_values, options

if TYPE_CHECKING:
    from olmkit.edges.cluster.objects import ClusterObjects
    from olmkit.jobs.cluster.wait import Timeouts


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The cluster and namespace of a command."""

    kubeconfig: Path | None = None
    context: str = ""
    named_namespace: str = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[tuple[ClusterObjects, str]]:
        """Open the cluster's objects, and return them with the namespace."""
        from olmkit.edges.cluster import kubeconfig
        from olmkit.edges.cluster.client import HttpCluster
        from olmkit.edges.cluster.objects import ClusterObjects

        paths = [self.kubeconfig] if self.kubeconfig else []
        config = kubeconfig.load(paths=paths, context=self.context)
        async with HttpCluster(config) as cluster:
            yield ClusterObjects(cluster), self.named_namespace or config.namespace


def namespace_name(_: click.Context, parameter: click.Parameter, value: str) -> str:
    """Return the value of an option that names a namespace, or raise an error."""
    from olmkit.base import names

    if value and not names.is_label(value):
        raise click.BadParameter(f"`{value}` is not a valid namespace name.", param=parameter)
    return value


def cluster_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; its function gets them as `target`."""

    @functools.wraps(run)
    def gathered(*positional: Any, **arguments: Any) -> Any:
        target = Target(
            kubeconfig=arguments.pop("kubeconfig"),
            context=arguments.pop("context"),
            named_namespace=arguments.pop("namespace"),
        )
        return run(*positional, target=target, **arguments)

    added = [
        click.option(
            "-n",
            "--namespace",
            default="",
            metavar="NAME",
            envvar="OLMKIT_NAMESPACE",
            callback=namespace_name,
            help="Namespace, instead of the one in the kubeconfig.",
        ),
        click.option(
            "--kubeconfig",
            type=click.Path(path_type=Path),
            metavar="FILE",
            envvar="OLMKIT_KUBECONFIG",
            help="Path of the kubeconfig, instead of `KUBECONFIG` or `~/.kube/config`.",
        ),
        click.option(
            "--context",
            default="",
            metavar="NAME",
            envvar="OLMKIT_CONTEXT",
            help="Context in the kubeconfig, instead of the current one.",
        ),
    ]
    return options.add(gathered, added)


def timeout_option(default: str = "10m") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add `--timeout`, which the function gets as `timeouts`."""

    def decorate(run: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(run)
        def gathered(*positional: Any, **arguments: Any) -> Any:
            from olmkit.jobs.cluster.wait import Timeouts

            timeouts: Timeouts = Timeouts(seconds=arguments.pop("timeout"))
            return run(*positional, timeouts=timeouts, **arguments)

        return click.option(
            "--timeout",
            type=DurationType(),
            default=default,
            show_default=True,
            metavar="DURATION",
            envvar="OLMKIT_TIMEOUT",
            help="How long to wait, such as `90s` or `5m`.",
        )(gathered)

    return decorate


def olm_option(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--olm`, the generation of OLM; the function gets it as `olm`."""
    return click.option(
        "--olm",
        type=click.Choice(["v0", "v1"]),
        default="v0",
        show_default=True,
        envvar="OLMKIT_OLM",
        help="Subscriptions (v0) or ClusterExtensions (v1).",
    )(run)


def own_catalog_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a bundle's catalog server: `catalog_server` and `secrets`."""
    added = [
        click.option(
            "--catalog-server",
            default=option_values.CATALOG_SERVER,
            show_default=True,
            metavar="IMAGE",
            envvar="OLMKIT_CATALOG_SERVER",
            callback=option_checks.image_reference,
            help="Image with `opm` that serves the catalog of a single bundle.",
        ),
        click.option(
            "--pull-secret",
            "secrets",
            multiple=True,
            metavar="NAME",
            callback=option_checks.object_names,
            help="Pull secret for the images of the catalog and the bundle; repeatable.",
        ),
    ]
    return options.add(run, added)


if TYPE_CHECKING:
    _DurationBase = click.ParamType[float]
else:
    _DurationBase = click.ParamType  # generic only in newer releases of click


class DurationType(_DurationBase):
    """A duration on the command line: `90s`, `5m`, `1h`, or whole seconds."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, int | float):
            return float(value)
        text = str(value)
        unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:], 0)
        number = text[:-1] if unit else text
        if not number.isascii() or not number.isdigit():
            self.fail(f"`{text}` is not a duration; write `90s`, `5m` or `1h`.", param, ctx)
        return float(number) * (unit or 1)
