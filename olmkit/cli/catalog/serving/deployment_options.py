"""The options of the commands that deploy a catalog server, which define its objects."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame import options

if TYPE_CHECKING:
    from olmkit.kube.objects import Manifest

    _MinutesBase = click.ParamType[int]
else:
    _MinutesBase = click.ParamType  # generic only in newer releases of click

Objects = Callable[[str], "tuple[Manifest, ...]"]
"""The objects in a namespace."""

_LONGEST_POLL = 525_600
_V0_ONLY = (
    *("replicas", "max_replicas", "cpu", "memory", "drain", "display_name", "secrets"),
    *("further", "http_port", "metrics_port", "tls_secret"),
)
_OPTIONS = {"secrets": "--pull-secret", "further": "--also"}


class _Minutes(_MinutesBase):
    """A number of minutes, or a duration in whole minutes as `install --poll` takes it."""

    name = "minutes"

    def convert(self, value: Any, *_: object) -> int:
        from olmkit.jobs.cluster_v1.install import poll_minutes

        written = str(value)
        minutes = int(written) if re.fullmatch(r"[0-9]{1,6}", written) else 0
        return minutes if 0 < minutes <= _LONGEST_POLL else poll_minutes(written)


_SERVER_OPTIONS = (
    click.option("--name", required=True, metavar="NAME", help="Name of all objects."),
    click.option(
        "--olm",
        type=click.Choice(["v0", "v1"]),
        default="v0",
        show_default=True,
        envvar="OLMKIT_OLM",
        help="A server with a CatalogSource (v0), or a ClusterCatalog (v1).",
    ),
    click.option("--replicas", type=click.IntRange(1, 100), help="Number of pods. [default: 2]"),
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
        help="How long a terminating pod still accepts calls; values above 0 need "
        "Kubernetes 1.30. [default: 5]",
    ),
    click.option("--display-name", metavar="TEXT", help="Display name of the catalog."),
    click.option(
        "--priority",
        type=click.IntRange(-(2**31), 2**31 - 1),
        default=0,
        help="Priority of the catalog; the highest is preferred.",
    ),
    click.option(
        "--poll",
        type=_Minutes(),
        metavar="MINUTES",
        help="How often catalogd looks for a new image of the tag, such as `15` or `15m`; only "
        "with OLM v1.",
    ),
    click.option(
        "--pull-secret",
        "secrets",
        multiple=True,
        metavar="NAME",
        help="Pull secret for the images; repeatable.",
    ),
    click.option(
        "--also",
        "further",
        multiple=True,
        metavar="NAME=IMAGE",
        help="Another catalog that the same pods serve on the next ports, with a "
        "CatalogSource called NAME; repeatable.",
    ),
    click.option(
        "--http-port",
        type=click.IntRange(1024, 65535),
        help="Port of the HTTP API of `olmkit catalog serve`; each further catalog has "
        "the next one.",
    ),
    click.option(
        "--metrics-port",
        type=click.IntRange(1024, 65535),
        help="Port of `/metrics` for Prometheus; can be that of `--http-port`.",
    ),
    click.option(
        "--tls-secret",
        metavar="NAME",
        help="Secret of type `kubernetes.io/tls` for the HTTP API and metrics.",
    ),
)


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

    return options.add(click.argument("image", metavar="IMAGE")(gathered), _SERVER_OPTIONS)


def _refuse_unused(chosen: dict[str, Any]) -> None:
    if chosen["olm"] == "v0":
        if chosen["poll"] is not None:
            raise click.UsageError("`--poll` is only for OLM v1.")
        return
    for name in _V0_ONLY:
        if chosen[name] not in (None, ()):
            option = _OPTIONS.get(name, f"--{name.replace('_', '-')}")
            raise click.UsageError(f"`{option}` is only for OLM v0.")


def _objects(image: str, namespace: str, chosen: dict[str, Any]) -> tuple[Manifest, ...]:
    from olmkit.olm import catalog_deployment
    from olmkit.olm.catalog_deployment import CatalogDeployment, FurtherCatalog

    if chosen["olm"] == "v1":
        made = catalog_deployment.cluster_catalog(
            chosen["name"], image, priority=chosen["priority"], poll_minutes=chosen["poll"] or 0
        )
        return (made,)
    replicas = chosen["replicas"] or 2
    given = {name: chosen[name] for name in _V0_ONLY if chosen[name] is not None}
    given |= {
        "further": tuple(
            FurtherCatalog(name=name, image=image) for name, image in map(_pair, chosen["further"])
        ),
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


def _pair(text: str) -> tuple[str, str]:
    name, sign, image = text.partition("=")
    if not (name and sign and image):
        raise click.UsageError(f"`--also {text}` is not `NAME=IMAGE`.")
    return name, image
