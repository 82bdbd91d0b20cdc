"""What the scaffolding commands share: how they tell what they did."""

from __future__ import annotations

from olmkit.cli import render
from olmkit.cli.app import App
from olmkit.jobs.project import ScaffoldResult


def emit(app: App, result: ScaffoldResult, *, dry_run: bool) -> None:
    """The files that were made or changed, and what only the author can do."""
    app.emit(
        {"changes": render.changes_json(result.changes)},
        text=lambda: render.changes_text(result.changes, dry_run=dry_run) or "nothing to change",
        diagnostics=result.diagnostics,
    )
