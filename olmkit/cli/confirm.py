"""Asking before something is destroyed: yes by flag, by answer, or not at all."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.app import App
from olmkit.cli.render import plural


def confirm(app: App, subjects: Sequence[str], *, yes: bool) -> None:
    """Go on only when the user wants these objects deleted.

    Raises `ConfigurationError` when there is nobody to ask.
    """
    if yes:
        return
    for subject in subjects:
        app.terminal.say(f"will delete {subject}")
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "this deletes objects, and there is nobody to ask", hint="say `--yes`"
        )
    if not click.confirm(f"delete {plural(len(subjects), 'object')}?", err=True):
        raise click.Abort
