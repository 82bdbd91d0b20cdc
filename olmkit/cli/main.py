"""The program: a table of commands, and the end of every error.

A command's module is imported when the command is named, so that `--help` and
every small command stay quick. The table holds the one-line summaries, which a
test holds against the commands' own words.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

import click

from olmkit import __version__
from olmkit.base.diagnostics import OlmkitError
from olmkit.cli.exits import Exit, exit_code


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a command lives (`module:attribute`), and its summary."""

    target: str
    summary: str


GROUPS: Mapping[str, str] = {
    "bundle": "Make, check and publish bundles.",
    "catalog": "Make, check, look at and serve catalogs.",
    "image": "Look at images and copy them.",
    "catalog list": "List what a catalog holds.",
}

COMMANDS: Mapping[str, Entry] = {
    "image copy": Entry(
        "olmkit.cli.image_copy:copy", "Copy an image to another place, digest for digest."
    ),
    "image inspect": Entry(
        "olmkit.cli.image_inspect:inspect",
        "Show what an image says of itself: platforms, labels, layers.",
    ),
    "bundle build": Entry(
        "olmkit.cli.bundle_build:build", "Build the image of a bundle, without an engine."
    ),
    "bundle push": Entry(
        "olmkit.cli.bundle_push:push", "Push the image of a bundle to a registry."
    ),
    "catalog add": Entry("olmkit.cli.catalog_add:add", "Put a new version into a catalog."),
    "catalog build": Entry(
        "olmkit.cli.catalog_build:build", "Build the image of a catalog, without an engine."
    ),
    "catalog push": Entry(
        "olmkit.cli.catalog_push:push", "Push the image of a catalog to a registry."
    ),
    "bundle generate": Entry(
        "olmkit.cli.bundle_generate:generate",
        "Write the bundle of a project from its manifests and base CSV.",
    ),
    "bundle validate": Entry(
        "olmkit.cli.bundle_validate:validate", "Check bundles: folders or images."
    ),
    "catalog graph": Entry(
        "olmkit.cli.catalog_graph:draw", "Show the upgrade graphs of a catalog, or of one package."
    ),
    "catalog init": Entry(
        "olmkit.cli.catalog_init:init", "Write the `olm.package` blob of a new package."
    ),
    "catalog list bundles": Entry(
        "olmkit.cli.catalog_list:bundles", "List the bundles of a catalog, or of one package."
    ),
    "catalog list channels": Entry(
        "olmkit.cli.catalog_list:channels", "List the channels of a catalog, or of one package."
    ),
    "catalog list packages": Entry(
        "olmkit.cli.catalog_list:packages", "List the packages of a catalog."
    ),
    "catalog validate": Entry(
        "olmkit.cli.catalog_validate:validate", "Check catalogs: folders or images."
    ),
    "catalog render": Entry(
        "olmkit.cli.catalog_render:render",
        "Write bundles and catalogs as one stream of catalog blobs.",
    ),
    "catalog serve": Entry(
        "olmkit.cli.catalog_serve:serve", "Serve a catalog to OLM v0 over gRPC."
    ),
    "completion": Entry(
        "olmkit.cli.completion:completion", "Print the completion script of a shell."
    ),
    "generate": Entry(
        "olmkit.cli.project:generate",
        "Write CRDs, roles, webhooks and the base CSV from types and markers.",
    ),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports them when they are asked for."""

    def __init__(self, prefix: str = "", **settings: object) -> None:
        super().__init__(**settings)  # type: ignore[arg-type]
        self.prefix = prefix

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        names = {path.removeprefix(self.prefix).split(" ")[0] for path in self._paths()}
        return sorted(names)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        path = self.prefix + cmd_name
        if path in COMMANDS:
            module, _, attribute = COMMANDS[path].target.partition(":")
            command: click.Command = getattr(importlib.import_module(module), attribute)
            return command
        if path in GROUPS or any(other.startswith(path + " ") for other in COMMANDS):
            return LazyGroup(
                prefix=path + " ",
                name=cmd_name,
                help=GROUPS.get(path, ""),
                no_args_is_help=True,
                context_settings=_CONTEXT,
            )
        return None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(name, self._summary(name)) for name in self.list_commands(ctx)]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a mistyped name."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near:
                raise
            raise click.UsageError(
                f"{error.message} Did you mean `{self.prefix}{near[0]}`?", ctx
            ) from None

    def _paths(self) -> list[str]:
        return [path for path in (*COMMANDS, *GROUPS) if path.startswith(self.prefix)]

    def _summary(self, name: str) -> str:
        path = self.prefix + name
        return COMMANDS[path].summary if path in COMMANDS else GROUPS.get(path, "")


_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

root = LazyGroup(
    name="olmkit",
    help="One tool for the whole life of a Kubernetes operator on OLM: from types to upgrades.",
    epilog="Each command has --help with an example.",
    no_args_is_help=True,
    context_settings=_CONTEXT,
)
root = click.version_option(
    __version__, "--version", prog_name="olmkit", message="%(prog)s %(version)s"
)(root)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and end it with the exit code that the cause demands."""
    if "_OLMKIT_COMPLETE" in os.environ:
        root.main(prog_name="olmkit", complete_var="_OLMKIT_COMPLETE")
    raise SystemExit(int(run(list(sys.argv[1:] if arguments is None else arguments))))


def run(arguments: list[str]) -> int:
    """Run one command; the exit code. Nothing escapes but `SystemExit`'s own codes."""
    try:
        with root.make_context("olmkit", arguments) as context:
            try:
                root.invoke(context)
            except OlmkitError as error:
                return _refuse(error, context)
        return _flush()
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        return _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    except click.ClickException as error:
        return _misused(error, arguments)
    except BrokenPipeError:
        # Whoever read our output has enough: not an error of ours.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.DONE
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else Exit.NO
    except Exception as error:  # the one place where a fault of ours ends
        return _fault(error, arguments)


def _flush() -> int:
    sys.stdout.flush()
    return Exit.DONE


def _refuse(error: OlmkitError, context: click.Context) -> int:
    from olmkit.cli import render
    from olmkit.cli.app import App
    from olmkit.cli.terminal import Terminal

    app = context.obj if isinstance(context.obj, App) else App(command="", terminal=Terminal())
    if app.debug:
        _print_traceback(error)
    if app.is_json:
        words = render.envelope(app.command, None, error.diagnostics, error)
        app.terminal.result(words)
    else:
        app.terminal.say(render.error_text(error, app.sources, color=app.terminal.color_err))
    return exit_code(error)


def _misused(error: click.ClickException, arguments: Sequence[str]) -> int:
    if "json" in arguments or "--output=json" in arguments or "-ojson" in arguments:
        from olmkit.base.diagnostics import ConfigurationError
        from olmkit.cli import render

        context = getattr(error, "ctx", None)
        command = context.command_path.removeprefix("olmkit").strip() if context else ""
        misuse = ConfigurationError(error.format_message())
        sys.stdout.write(render.envelope(command, None, error=misuse) + "\n")
    else:
        error.show()
    return Exit.USAGE


def _print_traceback(error: Exception) -> None:
    import traceback

    traceback.print_exception(error)


def _interrupted() -> int:
    sys.stderr.write("interrupted\n")
    return Exit.INTERRUPTED


def _fault(error: Exception, arguments: Sequence[str]) -> int:
    if "--debug" in arguments or os.environ.get("OLMKIT_DEBUG"):
        _print_traceback(error)
    sys.stderr.write(
        f"error: a fault in olmkit {__version__}: {type(error).__name__}: {error}\n"
        "hint: run the command again with `--debug` and report what it prints\n"
    )
    return Exit.FAULT
