"""Common options of the hub commands: the catalog in clusters, and pulled bundles."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import option_checks
from olmkit.cli.frame.cluster_options import namespace_name

_LIBRARIES = ("jinja2", "markdown_it", "nh3")


def require_libraries() -> None:
    """Raise `ConfigurationError` if the libraries of the pages are not installed."""
    import importlib.util

    missing = [name for name in _LIBRARIES if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the libraries of the hub are not installed: `{'`, `'.join(missing)}`",
            hint="install `olmkit[hub]`",
        )


def source_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets them as `source`."""

    @click.option(
        "--catalog-name",
        default="",
        metavar="NAME",
        callback=option_checks.object_names,
        help="Name of the catalog in clusters, for the installation instructions. Default: the "
        "last part of REF.",
    )
    @click.option(
        "--catalog-namespace",
        default="",
        metavar="NAME",
        callback=namespace_name,
        help="Namespace of the CatalogSource. Default: `olm`, or `openshift-marketplace`.",
    )
    @click.option(
        "--catalog-image",
        default="",
        metavar="IMAGE",
        callback=option_checks.image_reference,
        help="Image of the catalog: the instructions create it. Default: REF if it is an image.",
    )
    @click.option(
        "--bundles",
        type=click.Choice(["heads", "all"]),
        default=None,
        help="Pull the bundle images of channel heads, or of all versions, where the catalog has "
        "no manifests: for permissions, CRDs and workloads. Default: no image is pulled.",
    )
    @functools.wraps(run)
    def with_source(
        *arguments: Any,
        catalog_name: str,
        catalog_namespace: str,
        catalog_image: str,
        bundles: str | None,
        **options: Any,
    ) -> Any:
        from olmkit.jobs.hub.options import BundleImages, SourceOptions

        source = SourceOptions(
            catalog_name=catalog_name,
            catalog_namespace=catalog_namespace,
            catalog_image=catalog_image,
            bundles=BundleImages(bundles or "none"),
        )
        return run(*arguments, source=source, **options)

    return with_source
