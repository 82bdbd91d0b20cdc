"""The context of a command: its terminal, its output format, its project folder.

`command` creates a click command with the common options and passes an `App` as the first argument.
A command's function parses, builds, calls one job, and hands the result to `App.emit`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import click

from olmkit.base.diagnostics import Diagnostic, Severity
from olmkit.cli.frame import options
from olmkit.cli.frame import output as render
from olmkit.cli.frame.exits import Exit
from olmkit.cli.frame.terminal import Terminal

T = TypeVar("T")

# Showing a line of a larger file would take more memory than the work itself.
MAX_SHOWN_FILE: Final = 16 * 1024 * 1024


@dataclass(slots=True, kw_only=True)
class App:
    """One run of one command.

    `request`: what a job may refuse. The result then has these facts and the reason, in the form of
    `olmkit why`.
    """

    command: str
    terminal: Terminal
    output: str = "text"
    project: Path = Path()
    debug: bool = False
    verbose: int = 0
    request: dict[str, Any] | None = None

    @property
    def is_json(self) -> bool:
        return self.output == "json"

    def emit(
        self,
        result: Any,
        *,
        text: str | Callable[[], str] = "",
        diagnostics: Sequence[Diagnostic] = (),
    ) -> None:
        """Write the result to stdout; in text form, findings are first written to stderr."""
        if self.is_json:
            self.terminal.result(render.envelope(self.command, result, diagnostics), exact=True)
            return
        self.report(diagnostics)
        self.terminal.result(text if isinstance(text, str) else text())

    def told(self, text: str, *, is_result: bool) -> str:
        """Return the text about the changes; empty in quiet mode, unless it is the result."""
        return text if is_result or not self.terminal.quiet else ""

    def report(self, diagnostics: Sequence[Diagnostic]) -> None:
        """Show findings on stderr; in quiet mode, no notes."""
        if self.terminal.quiet:
            diagnostics = [one for one in diagnostics if one.severity is not Severity.INFO]
        if diagnostics:
            words = render.text(diagnostics, self.sources, color=self.terminal.color_err)
            self.terminal.say(words)

    def sources(self, path: str) -> bytes | None:
        """Return the bytes of a finding's file, to print its lines.

        Return None if the file does not exist or is too large.
        """
        try:
            file = Path(path)
            if not file.is_file() or file.stat().st_size > MAX_SHOWN_FILE:
                return None
            return file.read_bytes()
        except (OSError, ValueError):
            return None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a job that uses the network; SIGTERM ends it like an interrupt.

        So unfinished work is undone: child processes end and temporary files are removed.
        """
        import asyncio
        import contextlib
        import signal

        async def interruptible() -> T:
            # Signals are delivered only to the main thread, which alone can handle them.
            with contextlib.suppress(ValueError, RuntimeError):
                asyncio.get_running_loop().add_signal_handler(
                    signal.SIGTERM, os.kill, os.getpid(), signal.SIGINT
                )
            return await work

        before = signal.getsignal(signal.SIGTERM)
        try:
            return asyncio.run(interruptible())
        finally:
            with contextlib.suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGTERM, before)

    def exit(self, code: Exit) -> NoReturn:
        raise SystemExit(int(code))


def command(
    *, output: bool = True, project: bool = False, example: str = "", **settings: Any
) -> Callable[[Callable[..., Any]], click.Command]:
    """Return a click command whose function takes an `App` first.

    `output`: it has `-o/--output text|json`; pass False if the command has an `-o` with another
    meaning. `project`: it has `-C/--project`. `example`: command lines that the help shows, one per
    line.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        @click.pass_context
        def run(context: click.Context, /, **arguments: Any) -> Any:
            app = App(
                command=context.command_path.removeprefix("olmkit").strip(),
                terminal=Terminal(
                    color=arguments.pop("color"),
                    quiet=arguments.pop("quiet"),
                    motion=arguments.get("output") != "json" if output else True,
                    environment=os.environ,
                ),
                output=arguments.pop("output") if output else "text",
                project=arguments.pop("project") if project else Path(),
                debug=arguments.pop("debug"),
                verbose=arguments.pop("verbose"),
            )
            context.find_root().obj = app
            app.terminal.wait(f"`{app.command}`")
            end_details = _details(app)
            try:
                return function(app, **arguments)
            finally:
                end_details()
                app.terminal.end_wait()

        return _with_common_options(
            run, output=output, project=project, example=example, **settings
        )

    return decorate


def _details(app: App) -> Callable[[], None]:
    """Print the details of `-v` until the returned function is called."""
    if not app.verbose:
        return lambda: None
    from olmkit.cli.frame import details  # logging: imported only with `-v`

    return details.show(app.terminal, app.verbose)


class Command(click.Command):
    """A command whose help is a sentence, an example, then the options."""

    def __init__(self, *arguments: Any, example: str = "", **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.example = example

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse like click, but an empty argument or value of an option is an error.

        It usually comes from an unset variable. As a path it would mean the current folder, and
        as an option that it was not passed.
        """
        given, _, _ = self.make_parser(ctx).parse_args(list(args))
        for parameter in () if ctx.resilient_parsing else self.params:
            value = given.get(parameter.name or "")
            if value == "" or (isinstance(value, tuple | list) and "" in value):
                raise click.BadParameter("it is empty", ctx, parameter)
        return super().parse_args(ctx, args)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        if self.example:
            with formatter.section("Example"):
                for line in self.example.strip().splitlines():
                    formatter.write(f"  {line.strip()}\n")


def _with_common_options(
    run: Callable[..., Any], *, output: bool, project: bool, example: str, **settings: Any
) -> click.Command:
    added = [
        click.option(
            "-q",
            "--quiet",
            is_flag=True,
            envvar="OLMKIT_QUIET",
            help="Print only results, warnings and errors.",
        ),
        click.option(
            "-v",
            "--verbose",
            count=True,
            envvar="OLMKIT_VERBOSE",
            help="Print each request to stderr; repeat for messages of libraries.",
        ),
        click.option("--debug", is_flag=True, envvar="OLMKIT_DEBUG", help="Show tracebacks."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            envvar="OLMKIT_COLOR",
            help="When to use colors.",
        ),
    ]
    if project:
        added.insert(
            0,
            click.option(
                "-C",
                "--project",
                type=click.Path(path_type=Path),
                default=Path(),
                envvar="OLMKIT_PROJECT",
                help="Directory of the project, instead of the current one.",
            ),
        )
    if output:
        added.insert(
            0,
            click.option(
                "-o",
                "--output",
                type=click.Choice(["text", "json"]),
                default="text",
                show_default=True,
                envvar="OLMKIT_OUTPUT",
                help="Output format of the result.",
            ),
        )
    settings.setdefault("context_settings", {"help_option_names": ["-h", "--help"]})
    made = click.command(cls=Command, example=example, **settings)
    return made(options.add(run, added))
