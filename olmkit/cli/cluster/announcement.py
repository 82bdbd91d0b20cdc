"""The announcement before a change: the bundle, its permissions and the namespaces."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from olmkit.cli.frame.app import App

if TYPE_CHECKING:
    from olmkit.olm.preview import Preview


def show(
    app: App,
    title: str,
    brings: Preview | None,
    targets: Iterable[str],
    notes: Iterable[str] = (),
    before: Preview | None = None,
) -> None:
    """Show the title, the bundle if it is known, and further notes.

    `before` is the replaced version.
    """
    from olmkit.olm import preview

    lines = [title]
    if brings is not None:
        lines += preview.lines(brings, targets, before)
    lines += [f"note: {note}" for note in notes]
    for line in lines:
        app.terminal.note(line)


def permissions(brings: Preview | None) -> list[dict[str, str]]:
    """Return the permissions for `--output json`."""
    return [
        {"account": grant.account, "scope": grant.scope, "rule": str(grant)}
        for grant in (brings.grants if brings else ())
    ]
