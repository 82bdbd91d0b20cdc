"""The option `--annotation` of signatures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def _parse(_: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in value:
        key, separator, rest = text.partition("=")
        if not key or not separator:
            raise click.BadParameter(f"`{text}` is not KEY=VALUE", param=parameter)
        found[key] = rest
    return found


def annotation_option(help_text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add `-a/--annotation`; the function gets a mapping as `annotations`."""
    return click.option(
        "-a",
        "--annotation",
        "annotations",
        multiple=True,
        metavar="KEY=VALUE",
        callback=_parse,
        help=help_text,
    )
