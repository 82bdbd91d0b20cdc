"""`olmkit image inspect`."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import click

from olmkit.cli.frame.app import App, command
from olmkit.cli.frame.push_output import size_text
from olmkit.cli.frame.registry_options import PlatformType, registry_options
from olmkit.cli.frame.terminal import one_line

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.jobs.image.copy import ImageFacts
    from olmkit.oci.content import Platform


@command(
    example="""
    olmkit image inspect quay.io/example/memcached-operator-bundle:v0.1.0
    olmkit image inspect oci:dist/oci -o json
    """
)
@click.argument("reference", metavar="REF")
@click.option(
    "--platform",
    type=PlatformType(),
    metavar="OS/ARCH",
    help="Platform of the image to show, if REF is an index.",
)
@registry_options
def inspect(app: App, *, reference: str, platform: Platform | None, access: Access) -> None:
    """Show the platforms, labels and layers of an image.

    REF is an image in a registry, a layout, an archive or a Docker engine.
    """
    from olmkit.jobs.image import copy as job

    facts = app.run(job.inspect(reference, replace(access, platform=platform)))
    app.emit(_json(facts), text=lambda: _text(facts))


def _json(facts: ImageFacts) -> dict[str, object]:
    value = asdict(facts)
    value["mediaType"] = value.pop("media_type")
    value["layers"] = [
        {"digest": layer.digest, "mediaType": layer.media_type, "size": layer.size}
        for layer in facts.layers
    ]
    return value


def _text(facts: ImageFacts) -> str:
    rows = [
        ("reference", facts.reference),
        ("type", facts.media_type),
        ("platforms", ", ".join(facts.platforms)),
        ("shown", facts.platform),
        ("created", facts.created),
    ]
    rows += [
        (f"layer {number}", f"{layer.digest}  {size_text(layer.size)}  {layer.media_type}")
        for number, layer in enumerate(facts.layers, 1)
    ]
    rows += [("run", f"{key}={value}") for key, value in sorted(facts.run.items())]
    rows += [("label", f"{key}={value}") for key, value in sorted(facts.labels.items())]
    rows += [("annotation", f"{key}={value}") for key, value in sorted(facts.annotations.items())]
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {one_line(value)}" for name, value in rows if value)
