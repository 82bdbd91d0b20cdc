"""The options of the commands that deploy a server of a catalog, gathered into its objects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from olmkit.cli.frame import options
from olmkit.kube.objects import Manifest
from olmkit.olm import catalog_deployment
from olmkit.olm.catalog_deployment import CatalogDeployment

Objects = Callable[[str], tuple[Manifest, ...]]
"""The objects in a namespace."""

_V0_ONLY = ("replicas", "max_replicas", "cpu", "memory", "drain", "display_name", "secrets")


def deployment_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; its function gets `image` and `objects_in`."""

    @functools.wraps(run)
    def gathered(*positional: Any, **given: Any) -> Any:
        names = ("name", "olm", "priority", "poll", *_V0_ONLY)
        chosen = {name: given.pop(name) for name in names}
        _refuse_unused(chosen)
        image = given["image"]

        def objects_in(namespace: str) -> tuple[Manifest, ...]:
            return _objects(image, namespace, chosen)

        return run(*positional, objects_in=objects_in, **given)

    return options.add(
        click.argument("image", metavar="IMAGE")(gathered),
        [
            click.option("--name", required=True, metavar="NAME", help="Name of all objects."),
            click.option(
                "--olm",
                type=click.Choice(["v0", "v1"]),
                default="v0",
                show_default=True,
                help="A server with a CatalogSource (v0), or a ClusterCatalog (v1).",
            ),
            click.option(
                "--replicas", type=click.IntRange(1, 100), help="Number of pods. [default: 2]"
            ),
            click.option(
                "--max-replicas",
                type=click.IntRange(1, 100),
                help="Number of pods under load; as many as `--replicas` for no autoscaler. "
                "[default: three times `--replicas`]",
            ),
            click.option("--cpu", metavar="QUANTITY", help="CPU request. [default: 50m]"),
            click.option("--memory", metavar="QUANTITY", help="Memory request. [default: 128Mi]"),
            click.option(
                "--drain",
                type=click.IntRange(0, 300),
                metavar="SECONDS",
                help="How long a pod that ends still takes calls; needs Kubernetes 1.30, or 0. "
                "[default: 5]",
            ),
            click.option("--display-name", metavar="TEXT", help="Name of the catalog for people."),
            click.option(
                "--priority",
                type=click.IntRange(-(2**31), 2**31 - 1),
                default=0,
                help="Priority of the catalog; the highest is preferred.",
            ),
            click.option(
                "--poll",
                type=click.IntRange(1, 525_600),
                metavar="MINUTES",
                help="How often catalogd looks for a new image of the tag; only with OLM v1.",
            ),
            click.option(
                "--pull-secret",
                "secrets",
                multiple=True,
                metavar="NAME",
                help="Pull secret for the image; repeatable.",
            ),
        ],
    )


def _refuse_unused(chosen: dict[str, Any]) -> None:
    if chosen["olm"] == "v0":
        if chosen["poll"] is not None:
            raise click.UsageError("`--poll` is only for OLM v1.")
        return
    for name in _V0_ONLY:
        if chosen[name] not in (None, ()):
            option = "--pull-secret" if name == "secrets" else f"--{name.replace('_', '-')}"
            raise click.UsageError(f"`{option}` is only for OLM v0.")


def _objects(image: str, namespace: str, chosen: dict[str, Any]) -> tuple[Manifest, ...]:
    if chosen["olm"] == "v1":
        made = catalog_deployment.cluster_catalog(
            chosen["name"], image, priority=chosen["priority"], poll_minutes=chosen["poll"] or 0
        )
        return (made,)
    replicas = chosen["replicas"] or 2
    given = {name: chosen[name] for name in _V0_ONLY if chosen[name] is not None}
    given |= {
        "replicas": replicas,
        "max_replicas": chosen["max_replicas"] or min(100, 3 * replicas),
    }
    wanted = CatalogDeployment(
        name=chosen["name"],
        namespace=namespace,
        image=image,
        priority=chosen["priority"],
        **given,
    )
    return catalog_deployment.served_objects(wanted)
