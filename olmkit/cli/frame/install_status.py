"""The state of an operator as text, as JSON and as exit code.

The cause comes first, then the path to it from the request, then what to do.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.cli.frame.app import App
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.terminal import paint, printable

if TYPE_CHECKING:
    from olmkit.kube.objects import Manifest
    from olmkit.olm.explain.explanation import Explanation

# By the readiness in the explanation.
_COLORS = {"ready": "green", "waiting": "yellow", "stuck": "red", "blocked": "red"}


def text(found: Explanation, *, color: bool = False) -> str:
    """Return the explanation for people."""
    head = paint(str(found.readiness), _COLORS[found.readiness], "bold", on=color)
    lines = [f"{head}: {printable(found.message)}"]
    for depth, link in enumerate(found.chain):
        lead = "  " if depth == 0 else f"  {'   ' * (depth - 1)}╰─ "
        lines.append(f"{lead}{printable(link.subject)}: {printable(link.state)}")
    lines += [f"  - {printable(one)}" for one in found.details]
    if found.log:
        lines.append("  its last log lines:")
        lines += [f"  | {printable(line)}" for line in found.log.rstrip().split("\n")]
    if found.hint:
        lines.append(f"{paint('hint', 'cyan', on=color)}: {printable(found.hint)}")
    return "\n".join(lines)


def value(found: Explanation) -> dict[str, Any]:
    """Return the explanation as JSON."""
    return {
        "standing": str(found.readiness),
        "cause": found.cause,
        "message": found.message,
        "hint": found.hint or None,
        "version": found.version or None,
        "chain": [{"subject": link.subject, "state": link.state} for link in found.chain],
        "log": found.log or None,
        "details": list(found.details),
    }


def refusal(error: OlmkitError, request: dict[str, Any]) -> dict[str, Any] | None:
    """Return a request that a job refuses, and the reason, as JSON.

    None if the reason is invalid usage, or an error of the cluster or a registry.
    """
    from olmkit.olm.explain.explanation import Explanation, Readiness

    if not error.cause and not isinstance(error, InputError):
        return None
    found = Explanation(
        readiness=Readiness.BLOCKED,
        cause=error.cause or "refused",
        message=error.message,
        hint=error.hint,
    )
    return {**request, **value(found)}


@contextmanager
def show_progress(app: App, label: str) -> Iterator[Callable[[str], None]]:
    """Report changes while waiting: on a terminal in one changing line, else one line each."""
    with app.terminal.progress(label) as progress:

        def report(text: str) -> None:
            progress.advance(printable(text))

        yield report


@contextmanager
def note_leftovers(
    app: App, created: list[Manifest], removal: str, resume: tuple[str, str] = ("", "")
) -> Iterator[None]:
    """Report how to remove remaining objects after a failed install.

    `resume` is a kind, and the command that waits again if an object of the kind was created.
    """
    kind, command = resume
    try:
        yield
    except BaseException:
        if created:
            app.terminal.say(f"the created objects remain; `{removal}` removes them")
        if any(one.get("kind") == kind for one in created):
            app.terminal.say(f"OLM continues; `{command}` waits until the operator is ready")
        raise


@contextmanager
def note_interruption(app: App, message: str) -> Iterator[None]:
    """Report after an interruption what continues, and the command that waits for it."""
    import asyncio

    try:
        yield
    except (KeyboardInterrupt, asyncio.CancelledError):
        app.terminal.say(message)
        raise


async def carry_out(
    app: App,
    work: Callable[[Callable[[str], None], list[Manifest]], Awaitable[Explanation]],
    result: dict[str, Any],
    *,
    label: str,
    removal: str,
    resume: tuple[str, str] = ("", ""),
) -> None:
    """Show the progress of an install and its end; `removal` removes what a failure leaves.

    `work` gets a function that reports progress, and the list of objects that it has created.
    """
    created: list[Manifest] = []
    with note_leftovers(app, created, removal, resume):
        with show_progress(app, label) as report:
            found = await work(report, created)
        show(app, found, result)


def show(app: App, found: Explanation, result: dict[str, Any] | None = None) -> None:
    """Print it and, unless the operator is ready, exit with the code of its cause."""
    app.emit(
        {**(result or {}), **value(found)},
        text=lambda: text(found, color=app.terminal.color_out),
    )
    if not found.is_ready:
        exit_with(app, found)


def exit_with(app: App, found: Explanation) -> NoReturn:
    from olmkit.olm.explain.explanation import FaultOrigin

    app.exit(Exit.WORLD if found.origin is FaultOrigin.WORLD else Exit.NO)
