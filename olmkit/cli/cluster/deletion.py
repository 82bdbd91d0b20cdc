"""Confirm and report the deletion of objects, and list those that stay.

The confirmation is a flag or an answer. If objects remain after the time limit, the exit code shows
an error of the cluster.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame.app import App
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.output import plural

if TYPE_CHECKING:
    from olmkit.jobs.cluster.write import Removed
    from olmkit.kube.objects import Manifest

yes_option = click.option(
    "-y", "--yes", is_flag=True, envvar="OLMKIT_YES", help="Do not ask for confirmation."
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Show what would be deleted without deleting anything."
)

_NOTHING = "nothing to delete"


ignore_not_found_option = click.option(
    "--ignore-not-found",
    is_flag=True,
    help="Exit with code 0 if nothing is installed and nothing remains.",
)


@contextmanager
def ignoring_absence(app: App, package: str, *, is_ignored: bool) -> Iterator[None]:
    """If `is_ignored`, exit with code 0 if the job finds nothing to remove."""
    from olmkit.jobs.cluster.operator_removal import NothingToRemoveError

    try:
        yield
    except NothingToRemoveError as error:
        if not is_ignored:
            raise
        app.terminal.note(error.message)
        app.emit(_value([], [], (), {"package": package}, error.cause), text=_NOTHING)
        app.exit(Exit.DONE)


def confirm(app: App, found: Sequence[Manifest], *, also: Sequence[str] = (), yes: bool) -> None:
    """Continue only if the user confirms the deletion of these objects and `also`.

    Raises `ConfigurationError` without a terminal.
    """
    from olmkit.olm.explain.explanation import subject

    if yes or not (found or also):
        return
    for what in (*also, *map(subject, found)):
        app.terminal.say(f"will delete {what}")
    if not sys.stdin.isatty():
        raise ConfigurationError(
            "deleting objects requires confirmation, and no terminal is available",
            hint="pass `--yes`, or set `OLMKIT_YES=1`",
        )
    more = " and the others" if also else ""
    if not click.confirm(f"delete {plural(len(found), 'object')}{more}?", err=True):
        raise click.Abort


def show_plan(
    app: App,
    found: Sequence[Manifest],
    *,
    also: Sequence[str] = (),
    stays: Sequence[str] = (),
    **facts: Any,
) -> None:
    """Show what would be deleted, in the form of `show`."""
    from olmkit.olm.explain.explanation import subject

    names = [*also, *map(subject, found)]
    lines = [*names, *(f"kept: {one}" for one in stays)]
    app.emit(_value(names, [], stays, facts), text="\n".join(lines) or _NOTHING)


def show(app: App, done: Removed, *, stays: Sequence[str] = (), **facts: Any) -> None:
    """Show the deleted objects and those that `stays` names; `facts` are only for JSON.

    Exits with the code for external errors if some objects remain.
    """
    from olmkit.olm.explain.explanation import subject

    # Some objects are created again, and deleted again.
    deleted = list(dict.fromkeys(map(subject, done.gone)))
    left = [subject(one) for one in done.left]
    lines = [
        *(f"removed {one}" for one in deleted),
        *(f"still exists: {one}" for one in left),
        *(f"kept: {one}" for one in stays),
    ]
    value = _value(deleted, left, stays, facts, cause="objects-remain" if left else "")
    app.emit(value, text="\n".join(lines) or _NOTHING)
    if left:
        if done.hint:
            app.terminal.say(f"hint: {done.hint}")
        app.exit(Exit.WORLD)


def _value(
    removed: list[str],
    remaining: list[str],
    stays: Sequence[str],
    facts: dict[str, Any],
    cause: str = "",
) -> dict[str, Any]:
    return {
        **facts,
        "cause": cause or None,
        "removed": removed,
        "left": remaining,
        "stays": list(stays),
    }
