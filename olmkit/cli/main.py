"""The main program: the groups of commands, and the handling of errors.

The module of a command is imported only when the command is used, so that small commands are fast.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from typing import NoReturn

import click

from olmkit import __version__
from olmkit.base.diagnostics import OlmkitError
from olmkit.cli.frame.exits import Exit, exit_code
from olmkit.cli.table import COMMANDS, EPILOG, GROUPS, MAX_WIDTH, SECTIONS, SUMMARY


class LazyGroup(click.Group):
    """A group that imports its commands on request."""

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
        left = self.list_commands(ctx)
        width = max(map(len, left), default=0)
        for title, names in ({} if self.prefix else SECTIONS).items():
            self._write_section(formatter, title, names, width)
            left = [name for name in left if name not in names]
        self._write_section(formatter, "Other" if not self.prefix else "Commands", left, width)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse like click; without arguments, print the help without an error."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve like click, with a suggestion for an unknown name."""
        if args[0].startswith("-") or (
            self.get_command(ctx, args[0]) and not _is_of_a_reference(self.prefix, args)
        ):
            return super().resolve_command(ctx, args)
        from olmkit.cli.frame import other_names

        suggestion = other_names.suggestions(self.prefix, args, [*COMMANDS, *GROUPS])
        lines = " or ".join("`" + " ".join(("olmkit", line)) + "`" for line in suggestion)
        suggested = f" Did you mean {lines}?" if suggestion else ""
        typed = " ".join(args[:2]) if self.get_command(ctx, args[0]) else args[0]
        raise click.UsageError(f"No such command '{typed}'.{suggested}", ctx)

    def _write_section(
        self, formatter: click.HelpFormatter, title: str, names: Sequence[str], width: int
    ) -> None:
        if names:
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), self._summary(name)) for name in names])

    def _paths(self) -> list[str]:
        return [path for path in (*COMMANDS, *GROUPS) if path.startswith(self.prefix)]

    def _summary(self, name: str) -> str:
        path = self.prefix + name
        return COMMANDS[path].summary if path in COMMANDS else GROUPS.get(path, "")


# Commands that are groups of operator-sdk or opm, and the names in them.
_GROUPS_OF_REFERENCES: Mapping[str, tuple[str, ...]] = {
    "generate": ("bundle", "dockerfile", "kustomize", "packagemanifests"),
    "run": ("bundle", "bundle-upgrade", "packagemanifests"),
}


def _is_of_a_reference(prefix: str, args: list[str]) -> bool:
    """Return whether the arguments are those of operator-sdk or opm, not of olmkit."""
    return not prefix and args[1:2] != [] and args[1] in _GROUPS_OF_REFERENCES.get(args[0], ())


# New objects before the next search for cycles. Python's default of 2,000 causes some fifty
# searches while a command is imported, which find nothing.
_FEW_SEARCHES = 100_000

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": MAX_WIDTH}

root = LazyGroup(
    name="olmkit",
    help=SUMMARY,
    epilog=EPILOG,
    no_args_is_help=True,
    context_settings=_CONTEXT,
)
root = click.version_option(
    __version__, "--version", prog_name="olmkit", message="%(prog)s %(version)s"
)(root)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the program and exit with the exit code of the error."""
    if "_OLMKIT_COMPLETE" in os.environ:
        root.main(prog_name="olmkit", complete_var="_OLMKIT_COMPLETE")
    gc.set_threshold(_FEW_SEARCHES, *gc.get_threshold()[1:])
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)
    code = run(list(sys.argv[1:] if arguments is None else arguments))
    gc.freeze()  # the process ends: the interpreter need not collect the remaining objects
    raise SystemExit(int(code))


def _end(number: int, _frame: object) -> NoReturn:
    """End as after Ctrl-C: temporary files are removed, and unfinished work is cleaned up."""
    raise SystemExit(128 + number)


def run(arguments: list[str]) -> int:
    """Run one command; return the exit code. Only exceptions that stop the interpreter escape."""
    _prepare_streams()
    try:
        return _flush(_run(arguments))
    except KeyboardInterrupt:
        return _report_interrupt()
    except BrokenPipeError:
        # The reader of the output has closed the pipe: not an error of olmkit.
        _drop_output()
        return Exit.DONE
    except OSError as error:
        return _unwritable(error)


def _run(arguments: list[str]) -> int:
    context: click.Context | None = None
    try:
        with root.make_context("olmkit", list(arguments)) as context:  # click empties it
            try:
                root.invoke(context)
            except OlmkitError as error:
                return _report_error(error, context)
        return Exit.DONE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        return _report_interrupt()
    except click.ClickException as error:
        return _report_misuse(error, arguments)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None or context is None:
            raise
        return _report_error(_disk_error(error), context)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else Exit.NO
    except Exception as error:  # the only place that handles a bug in olmkit
        return _report_fault(error, arguments, context)


def _prepare_streams() -> None:
    """Open a null device for each stream that was closed before the start.

    Otherwise the next opened file would get its number. Results are UTF-8 in every locale, because
    other programs read them; names that are not UTF-8 are printed unchanged.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def _flush(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        return _unwritable(error)
    return code


def _unwritable(error: OSError) -> int:
    """Report that the result cannot be written, for example to a full disk."""
    _drop_output()
    _print_error(f"error: cannot write the result: {(error.strerror or str(error)).lower()}")
    return Exit.WORLD


def _drop_output() -> None:
    """Discard the output that was not written, or the interpreter would retry at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_error(message: str) -> None:
    """Print an error to stderr; if that fails, there is only the exit code."""
    with contextlib.suppress(OSError):
        sys.stderr.write(message + "\n")


def _disk_error(error: OSError) -> OlmkitError:
    """Return the message of an unexpected error of the disk."""
    import errno

    from olmkit.base.diagnostics import ConfigurationError, RemoteError

    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes | str) else "a file"
    if error.errno == errno.ENAMETOOLONG:
        return ConfigurationError(f"`{name}` is too long for the name of a file")
    return RemoteError(
        f"cannot access `{name}`: {(error.strerror or str(error)).lower()}", temporary=False
    )


def _report_error(error: OlmkitError, context: click.Context) -> int:
    from olmkit.cli.frame import output
    from olmkit.cli.frame.app import App
    from olmkit.cli.frame.terminal import Terminal

    obj = context.find_root().obj
    app = obj if isinstance(obj, App) else App(command="", terminal=Terminal())
    if app.debug:
        _print_traceback(error)
    if app.is_json:
        result = None
        if app.request is not None:
            from olmkit.cli.frame import install_status

            result = install_status.refusal(error, app.request)
        words = output.envelope(app.command, result, error.diagnostics, error)
        app.terminal.result(words, exact=True)
    else:
        app.terminal.say(output.error_text(error, app.sources, color=app.terminal.color_err))
    return exit_code(error)


def _report_misuse(error: click.ClickException, arguments: Sequence[str]) -> int:
    from olmkit.cli.frame import other_names

    context: click.Context | None = getattr(error, "ctx", None)
    named = other_names.command_of(arguments, [*COMMANDS, *GROUPS])
    command = context.command_path if context else f"olmkit {named}".strip()
    hint = _place_of_option(error, arguments) if command == "olmkit" else ""
    if isinstance(error, click.NoSuchOption):
        hint = hint or other_names.hint_for_option(named, error.option_name, arguments)
    if named in ("install", "upgrade", "uninstall", "why") and re.search(_EXTRA, error.message):
        hint = hint or "run the command once for each package"
    hint = hint or _flag_of_value(error, named, arguments) or _in_another_group(error, named)
    hint = hint or _after_dashes(error, command)
    message, hint = misuse(error.format_message(), command, hint)
    if _wants_json(context, arguments):
        from olmkit.base.diagnostics import ConfigurationError
        from olmkit.cli.frame import output

        path = command.removeprefix("olmkit").strip()
        value = output.envelope(path, None, error=ConfigurationError(message, hint))
        sys.stdout.write(value + "\n")
    else:
        _print_error(f"error: {message}\nhint: {hint}")
    return Exit.USAGE


def _flag_of_value(error: click.ClickException, path: str, arguments: Sequence[str]) -> str:
    """Return the hint for `--flag=false`, as kubebuilder's users type it; empty for others."""
    if path not in COMMANDS or not isinstance(error, click.BadOptionUsage):
        return ""
    module, _, attribute = COMMANDS[path].target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    for flag in command.params:
        if not isinstance(flag, click.Option) or error.option_name not in flag.opts:
            continue
        if not flag.is_flag:
            return ""
        is_off = f"{error.option_name}=false" in arguments
        name = next(iter(flag.secondary_opts), "") if is_off else error.option_name
        return f"write `{name}`" if name else f"omit `{error.option_name}`"
    return ""


def _in_another_group(error: click.ClickException, path: str) -> str:
    """Return the hint for an option that the command of the same name in a group has.

    Without one, it names the only other command with the option.
    """
    if path not in COMMANDS or not isinstance(error, click.NoSuchOption) or error.possibilities:
        return ""
    last = path.rpartition(" ")[2]
    owners = [other for other in COMMANDS if other != path and _has_option(other, error)]
    namesakes = [other for other in owners if other.rpartition(" ")[2] == last]
    if not namesakes and len(owners) != 1:
        return ""
    suggestion = " ".join(("olmkit", (namesakes or owners)[0], error.option_name))
    return f"did you mean `{suggestion}`?"


def _after_dashes(error: click.ClickException, command: str) -> str:
    """Return the hint for an option of the program that a command starts, such as an operator."""
    context: click.Context | None = getattr(error, "ctx", None)
    if not isinstance(error, click.NoSuchOption) or context is None:
        return ""
    if not any(one.type is click.UNPROCESSED for one in context.command.params):
        return ""
    suggestion = " or ".join(f"`{one}`" for one in sorted(error.possibilities or ()))
    line = f"{command} -- {error.option_name}"
    follow = f"options of the operator follow `--`: `{line}`"
    return f"did you mean {suggestion}? Otherwise, {follow}" if suggestion else follow


def _has_option(path: str, error: click.NoSuchOption) -> bool:
    module, _, attribute = COMMANDS[path].target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    return any(error.option_name in (*one.opts, *one.secondary_opts) for one in command.params)


def _place_of_option(error: click.ClickException, arguments: Sequence[str]) -> str:
    """Return the hint for an option before the command that has it; empty for any other."""
    from olmkit.cli.frame import other_names

    names = [*COMMANDS, *GROUPS]
    starts = (i for i, word in enumerate(arguments) if other_names.command_of([word], names))
    start = next(starts, 0)
    path = other_names.command_of(arguments[start:], names)
    if start == 0 or path not in COMMANDS or not isinstance(error, click.NoSuchOption):
        return ""
    module, _, attribute = COMMANDS[path].target.partition(":")
    command: click.Command = getattr(importlib.import_module(module), attribute)
    if not any(error.option_name in one.opts for one in command.params):
        return ""
    line = " ".join(("olmkit", path, error.option_name))
    return f"options follow the command: `{line}`"


# The form of several suggestions in click's releases.
_EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)$", re.DOTALL)
_SEVERAL = re.compile(r"\.? \((?:Did you mean one of|Possible options): (.*?)\??\)$")


def misuse(message: str, command: str, hint: str = "") -> tuple[str, str]:
    """Convert a message of click to a message and a hint in the usual form.

    A question in the message is the hint.
    """
    from olmkit.base import texts

    message = re.sub(_EXTRA, r"unexpected argument `\1`", message)
    message = re.sub(r"\s+", " ", message)
    said, _, suggestion = re.sub(_SEVERAL, r" Did you mean \1?", message).partition(
        " Did you mean "
    )
    said = re.sub(r"'([^'`]+)'", r"`\1`", said.rstrip(".").replace("\n", " "))
    # "Invalid value for X: Directory `a` does not exist": one sentence.
    said = re.sub(r": ([A-Z])(?=[a-z]+ )", lambda match: f": {match[1].lower()}", said, count=1)
    # `--help` is similar to any short option.
    if "--h" not in said:
        suggestion = re.sub(r", '--help'|'--help'(?:, |\?)", "", suggestion)
    suggestion = re.sub(r"'([^'`]+)'", r"`\1`", suggestion.replace("', '", "' or '"))
    if not hint:
        hint = f"did you mean {suggestion}" if suggestion else f"`{command} --help` shows the usage"
    said = texts.bounded_error(f"{said[:1].lower()}{said[1:]}")
    return said, texts.limit_hint(hint)


def _wants_json(context: click.Context | None, arguments: Sequence[str]) -> bool:
    """Return whether a command line that cannot be parsed requests JSON.

    Commands whose `-o` is the format of their files print errors as text.
    """
    if context is not None and not isinstance(context.command, click.Group):
        own = next((o for o in context.command.params if o.name == "output"), None)
        if own is None or "json" not in getattr(own.type, "choices", ()):
            return False
    words = list(arguments[: _end_of_options(arguments)])
    for index, word in enumerate(words):
        if word in ("-o", "--output"):
            return words[index + 1 : index + 2] == ["json"]
        if word.startswith(("--output=", "-o")):
            return word in ("--output=json", "-ojson")
    return os.environ.get("OLMKIT_OUTPUT") == "json"


def _end_of_options(arguments: Sequence[str]) -> int:
    return list(arguments).index("--") if "--" in arguments else len(arguments)


def _print_traceback(error: Exception) -> None:
    import traceback

    with contextlib.suppress(OSError):
        traceback.print_exception(error)


def _report_interrupt() -> int:
    _print_error("interrupted")
    return Exit.INTERRUPTED


def _report_fault(error: Exception, arguments: Sequence[str], context: click.Context | None) -> int:
    if "--debug" in arguments or os.environ.get("OLMKIT_DEBUG"):
        _print_traceback(error)
    message = f"a bug in olmkit {__version__}: {type(error).__name__}: {error}"
    hint = "run the command again with `--debug` and report what it prints"
    app = context.obj if context is not None else None
    if app is not None and app.is_json:
        from olmkit.cli.frame import output

        words = output.envelope(app.command, None, error=OlmkitError(message, hint))
        sys.stdout.write(words + "\n")
    else:
        _print_error(f"error: {message}\nhint: {hint}")
    return Exit.FAULT
