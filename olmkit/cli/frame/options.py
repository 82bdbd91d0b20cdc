"""Add groups of options to commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click

Run = Callable[..., Any]


def add(run: Run, options: Sequence[Callable[[Run], Run]]) -> Run:
    """Return `run` with the options; the help shows them in the given order."""
    for option in reversed(options):
        run = option(run)
    return run


def form_option(run: Run) -> Run:
    """Add `-o yaml|json`, the format of catalog blobs; the function gets it as `form`."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(["yaml", "json"]),
        default="yaml",
        show_default=True,
        help="Output format of the blobs.",
    )(run)
