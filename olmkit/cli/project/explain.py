"""`olmkit explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem

from olmkit.cli.frame.app import App, command

if TYPE_CHECKING:
    from olmkit.base.findings import Code


def _complete(_: click.Context, __: click.Parameter, word: str) -> list[CompletionItem]:
    from olmkit.rules import codes

    return [
        CompletionItem(code, help=one.name)
        for code, one in codes.register().items()
        if code.startswith(word.upper())
    ]


@command(
    example="""
    olmkit explain CSV012
    olmkit explain missing-owned-crd
    olmkit explain
    """,
)
@click.argument("code", required=False, shell_complete=_complete)
def explain(app: App, *, code: str | None) -> None:
    """Explain the code of a finding; without a code, list all codes."""
    from olmkit.rules import codes

    if code is not None:
        found = codes.find(code)
        app.emit(_data(found), text=lambda: codes.page(found))
        return
    known = codes.register().values()
    width = max(len(one.name) for one in known)
    lines = [f"{one.code}  {one.name:<{width}}  {one.severity}\n" for one in known]
    app.emit([_data(one) for one in known], text=lambda: "".join(lines))


def _data(one: Code) -> dict[str, str]:
    return {
        "code": one.code,
        "name": one.name,
        "severity": one.severity.value,
        "source": one.source,
        "doc": one.doc,
    }
