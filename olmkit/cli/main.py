"""The program: a table of commands, and the end of every error.

A command's module is imported when the command is named, so that `--help` and
every small command stay quick. The table holds the one-line summaries, which a
test holds against the commands' own words.
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
from typing import NamedTuple, NoReturn

import click

from olmkit import __version__
from olmkit.base.diagnostics import OlmkitError
from olmkit.cli.frame.exits import Exit, exit_code


class CommandEntry(NamedTuple):
    """Where a command lives (`module:attribute`), and its summary."""

    target: str
    summary: str


GROUPS: Mapping[str, str] = {
    "bundle": "Generate, validate, compare and publish bundles.",
    "catalog": "Build, validate, inspect and serve catalogs.",
    "hub": "Show what catalogs contain, as web pages.",
    "image": "Build, inspect and copy images.",
    "olm": "Inspect, install or remove OLM itself.",
    "catalog list": "List the contents of a catalog.",
    "catalog template": "Render catalog templates of one kind.",
    "create": "Add a kind or a webhook to a project.",
    "submit": "Check and prepare submissions to the repositories of catalogs.",
}

COMMANDS: Mapping[str, CommandEntry] = {
    "hub build": CommandEntry(
        "olmkit.cli.hub.build:build", "Build web pages that show what catalogs contain."
    ),
    "hub serve": CommandEntry(
        "olmkit.cli.hub.serve:serve", "Serve web pages that show what catalogs or a bundle contain."
    ),
    "image build": CommandEntry(
        "olmkit.cli.image.build:build",
        "Build the image of an operator, without a container engine.",
    ),
    "image copy": CommandEntry(
        "olmkit.cli.image.copy:copy", "Copy an image to another location, with all its digests."
    ),
    "image inspect": CommandEntry(
        "olmkit.cli.image.inspect:inspect",
        "Show the platforms, labels and layers of an image.",
    ),
    "image mirror": CommandEntry(
        "olmkit.cli.image.mirror:mirror",
        "Copy a catalog and all images that it needs to a registry or a directory.",
    ),
    "image push": CommandEntry("olmkit.cli.image.push:push", "Push an image to a registry."),
    "image sign": CommandEntry(
        "olmkit.cli.image.sign:sign", "Sign images with a private key, as cosign does."
    ),
    "image verify": CommandEntry(
        "olmkit.cli.image.verify:verify", "Verify the signatures of images with public keys."
    ),
    "bundle build": CommandEntry(
        "olmkit.cli.bundle.build:build", "Build the images of bundles, without a container engine."
    ),
    "bundle push": CommandEntry(
        "olmkit.cli.bundle.push:push", "Push the image of a bundle to a registry."
    ),
    "bundle scorecard": CommandEntry(
        "olmkit.cli.bundle.scorecard:scorecard",
        "Run the scorecard tests of a bundle: a directory or an image.",
    ),
    "catalog add": CommandEntry("olmkit.cli.catalog.add:add", "Add a new version to a catalog."),
    "catalog build": CommandEntry(
        "olmkit.cli.catalog.build:build",
        "Build the image of a catalog, without a container engine.",
    ),
    "catalog push": CommandEntry(
        "olmkit.cli.catalog.push:push", "Push the image of a catalog to a registry."
    ),
    "bundle generate": CommandEntry(
        "olmkit.cli.bundle.generate:generate",
        "Write the bundle of a project from its manifests and base CSV.",
    ),
    "explain": CommandEntry(
        "olmkit.cli.project.explain:explain",
        "Explain the code of a finding; without a code, list all codes.",
    ),
    "bundle diff": CommandEntry(
        "olmkit.cli.bundle.diff:diff",
        "Show what changes between two bundles, and what blocks an upgrade.",
    ),
    "bundle show": CommandEntry(
        "olmkit.cli.bundle.show:show",
        "Show what a bundle contains: APIs, permissions, images, upgrade edges.",
    ),
    "bundle convert": CommandEntry(
        "olmkit.cli.bundle.convert:convert",
        "Convert package manifests, the format before bundles, to bundles.",
    ),
    "bundle unpack": CommandEntry(
        "olmkit.cli.bundle.unpack:unpack", "Write the files of a bundle image into a directory."
    ),
    "bundle validate": CommandEntry(
        "olmkit.cli.bundle.validate:validate", "Validate bundles: directories or images."
    ),
    "catalog check": CommandEntry(
        "olmkit.cli.catalog.check:check",
        "Check that every installed version can still upgrade.",
    ),
    "catalog deploy": CommandEntry(
        "olmkit.cli.catalog.deploy:deploy",
        "Deploy a server for a catalog that several pods share, and wait until it runs.",
    ),
    "catalog diff": CommandEntry(
        "olmkit.cli.catalog.diff:diff",
        "Show the differences between two catalogs: graph, images, deprecations.",
    ),
    "catalog filter": CommandEntry(
        "olmkit.cli.catalog.filter:filter_",
        "Write a part of a catalog: selected packages, channels and versions.",
    ),
    "catalog graph": CommandEntry(
        "olmkit.cli.catalog.graph:draw", "Show the upgrade graphs of a catalog, or of one package."
    ),
    "catalog images": CommandEntry(
        "olmkit.cli.catalog.images:images",
        "List the images that a catalog, or a part of it, needs.",
    ),
    "catalog init": CommandEntry(
        "olmkit.cli.catalog.init:init", "Write the `olm.package` blob of a new package."
    ),
    "catalog list bundles": CommandEntry(
        "olmkit.cli.catalog.list:bundles", "List the bundles of a catalog, or of one package."
    ),
    "catalog list channels": CommandEntry(
        "olmkit.cli.catalog.list:channels", "List the channels of a catalog, or of one package."
    ),
    "catalog list packages": CommandEntry(
        "olmkit.cli.catalog.list:packages", "List the packages of a catalog."
    ),
    "catalog manifests": CommandEntry(
        "olmkit.cli.catalog.manifests:manifests",
        "Print the manifests of a server for a catalog that several pods share.",
    ),
    "catalog path": CommandEntry(
        "olmkit.cli.catalog.path:path",
        "Show the upgrade path that OLM takes from an installed version.",
    ),
    "catalog resolve": CommandEntry(
        "olmkit.cli.catalog.resolve:resolve",
        "Show what OLM would install, with dependencies and reasons.",
    ),
    "catalog validate": CommandEntry(
        "olmkit.cli.catalog.validate:validate", "Validate catalogs: directories or images."
    ),
    "catalog render": CommandEntry(
        "olmkit.cli.catalog.render:render",
        "Write bundles and catalogs as one stream of catalog blobs.",
    ),
    "catalog convert": CommandEntry(
        "olmkit.cli.catalog.convert:convert",
        "Write the template of a catalog, the reverse of `render-template`.",
    ),
    "catalog render-template": CommandEntry(
        "olmkit.cli.catalog.template:render_template",
        "Render a catalog template; its `schema` says which kind it is.",
    ),
    "catalog template basic": CommandEntry(
        "olmkit.cli.catalog.template:basic",
        "Render a basic template: blobs, and images in place of bundles.",
    ),
    "catalog template composite": CommandEntry(
        "olmkit.cli.catalog.template:composite",
        "Render a composite template: components into the directories of several catalogs.",
    ),
    "catalog template semver": CommandEntry(
        "olmkit.cli.catalog.template:semver",
        "Render a semver template: channels and edges from versions.",
    ),
    "catalog template substitutes": CommandEntry(
        "olmkit.cli.catalog.template:substitutes",
        "Render a substitutes template: rebuilt bundles replace others.",
    ),
    "catalog serve": CommandEntry(
        "olmkit.cli.catalog.serve:serve",
        "Serve catalogs to OLM v0 over gRPC, and to OLM v1 over HTTP.",
    ),
    "submit prepare": CommandEntry(
        "olmkit.cli.submission.prepare:prepare",
        "Write the next version of an operator into a checkout of a repository of catalogs.",
    ),
    "submit check": CommandEntry(
        "olmkit.cli.submission.check:check",
        "Check a checkout of a repository of operators before a pull request.",
    ),
    "completion": CommandEntry(
        "olmkit.cli.completion:completion", "Print the completion script for a shell."
    ),
    "create api": CommandEntry(
        "olmkit.cli.project.create_api:create",
        "Add a kind: its types, sample, roles and reconciler.",
    ),
    "create webhook": CommandEntry(
        "olmkit.cli.project.create_webhook:create",
        "Add webhooks to a kind: defaulting, validation, conversion.",
    ),
    "edit": CommandEntry(
        "olmkit.cli.project.edit:edit",
        "Change what was chosen when a project was created: scope, image, overlays, workflows.",
    ),
    "init": CommandEntry(
        "olmkit.cli.project.init:init",
        "Create a project for an operator in Python, or with Helm charts or Ansible.",
    ),
    "doctor": CommandEntry(
        "olmkit.cli.doctor:doctor",
        "Show what this machine has for olmkit, what is missing, and how to get it.",
    ),
    "render": CommandEntry(
        "olmkit.cli.project.render:render",
        "Print the manifests of an overlay, as `kustomize build` does.",
    ),
    "deploy": CommandEntry(
        "olmkit.cli.cluster.deploy:deploy",
        "Deploy the operator without OLM, and wait until it runs.",
    ),
    "undeploy": CommandEntry(
        "olmkit.cli.cluster.undeploy:undeploy", "Delete what `olmkit deploy` applied."
    ),
    "install": CommandEntry(
        "olmkit.cli.cluster.install:install",
        "Install an operator through OLM, and wait until it runs.",
    ),
    "olm install": CommandEntry(
        "olmkit.cli.cluster.olm:install",
        "Install OLM v0 from its manifests, and wait until it runs.",
    ),
    "olm status": CommandEntry(
        "olmkit.cli.cluster.olm:status", "Show whether OLM is installed and running."
    ),
    "olm uninstall": CommandEntry(
        "olmkit.cli.cluster.olm:uninstall",
        "Remove OLM v0, using the manifests that installed it.",
    ),
    "status": CommandEntry(
        "olmkit.cli.cluster.status:status",
        "Show the operators that OLM has installed, and their state.",
    ),
    "uninstall": CommandEntry(
        "olmkit.cli.cluster.uninstall:uninstall",
        "Remove an operator, and everything that olmkit created for it.",
    ),
    "upgrade": CommandEntry(
        "olmkit.cli.cluster.upgrade:upgrade",
        "Upgrade an operator, and wait until the new version runs.",
    ),
    "why": CommandEntry(
        "olmkit.cli.cluster.why:why", "Explain why an operator is not installed or upgraded."
    ),
    "generate": CommandEntry(
        "olmkit.cli.project.generate:generate",
        "Write CRDs, roles, webhooks and the base CSV from types and markers.",
    ),
    "run": CommandEntry(
        "olmkit.cli.project.run:run",
        "Run the operator of the project on this machine, against a cluster.",
    ),
}

# How the help of olmkit itself is divided; what no section names is in the last.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Project": ("init", "create", "edit", "generate", "render", "run"),
    "Bundles, catalogs, images": ("bundle", "catalog", "image"),
    "Cluster": ("install", "upgrade", "uninstall", "status", "why", "deploy", "undeploy", "olm"),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports them when they are requested."""

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
        """As click does; without arguments the help is the answer, and not an error."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help())
            ctx.exit()
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with a suggestion for a name that does not exist."""
        if args[0].startswith("-") or (
            self.get_command(ctx, args[0]) and not _is_of_operator_sdk(self.prefix, args)
        ):
            return super().resolve_command(ctx, args)
        from olmkit.cli.frame import other_names

        meant = other_names.suggestion(self.prefix, args, [*COMMANDS, *GROUPS])
        line = " ".join(("olmkit", meant))
        suggested = f" Did you mean `{line}`?" if meant else ""
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


# Commands of ours that are groups of operator-sdk, and the names in them.
_GROUPS_OF_OPERATOR_SDK: Mapping[str, tuple[str, ...]] = {
    "generate": ("bundle", "kustomize", "packagemanifests"),
    "run": ("bundle", "bundle-upgrade", "packagemanifests"),
}


def _is_of_operator_sdk(prefix: str, args: list[str]) -> bool:
    """Whether a command line is one of operator-sdk, and not of our command with the same name."""
    return not prefix and args[1:2] != [] and args[1] in _GROUPS_OF_OPERATOR_SDK.get(args[0], ())


# Longer names of files are cut where they are quoted.
_SHOWN_NAME = 200
# New objects before the next search for cycles. Python's 2,000 mean some fifty searches while a
# command is imported, in which there is nothing to find.
_FEW_SEARCHES = 100_000

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
    gc.set_threshold(_FEW_SEARCHES, *gc.get_threshold()[1:])
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)
    code = run(list(sys.argv[1:] if arguments is None else arguments))
    gc.freeze()  # all that is left goes with the process: the interpreter's end need not search it
    raise SystemExit(int(code))


def _end(number: int, _frame: object) -> NoReturn:
    """End as after Ctrl-C: temporary files go, and what has begun is taken apart."""
    raise SystemExit(128 + number)


def run(arguments: list[str]) -> int:
    """Run one command; the exit code. Nothing escapes but what stops the interpreter."""
    _prepare_streams()
    try:
        return _flushed(_run(arguments))
    except KeyboardInterrupt:
        return _interrupted()
    except BrokenPipeError:
        # The reader of our output has enough: not an error of ours.
        _drop_output()
        return Exit.DONE
    except OSError as error:
        return _unwritable(error)


def _run(arguments: list[str]) -> int:
    context: click.Context | None = None
    try:
        with root.make_context("olmkit", arguments) as context:
            try:
                root.invoke(context)
            except OlmkitError as error:
                return _refuse(error, context)
        return Exit.DONE
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.Abort:
        return _interrupted()
    except click.ClickException as error:
        return _misused(error, arguments)
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is None or context is None:
            raise
        return _refuse(_disk_error(error), context)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else Exit.NO
    except Exception as error:  # the one place where a fault of ours ends
        return _fault(error, arguments, context)


def _prepare_streams() -> None:
    """Give a stream that was closed before we started a place where words vanish.

    Else the next file that is opened would take its number. Results are UTF-8 in every locale,
    since other programs read them; names that are not, come out as they went in.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")


def _flushed(code: int) -> int:
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
    except OSError as error:
        return _unwritable(error)
    return code


def _unwritable(error: OSError) -> int:
    """The result could not be written: the disk that stdout leads to is full, say."""
    _drop_output()
    _tell(f"error: cannot write the result: {(error.strerror or str(error)).lower()}")
    return Exit.WORLD


def _drop_output() -> None:
    """Let what was not written vanish, or the interpreter would try again at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(words: str) -> None:
    """Say something on stderr; when it cannot be written, the exit code must be enough."""
    with contextlib.suppress(OSError):
        sys.stderr.write(words + "\n")


def _disk_error(error: OSError) -> OlmkitError:
    """The message of an unexpected error of the disk."""
    import errno

    from olmkit.base.diagnostics import ConfigurationError, RemoteError

    name = os.fsdecode(error.filename) if isinstance(error.filename, bytes | str) else "a file"
    if error.errno == errno.ENAMETOOLONG:
        return ConfigurationError(f"`{_shortened(name)}` is too long for the name of a file")
    return RemoteError(
        f"cannot access `{name}`: {(error.strerror or str(error)).lower()}", temporary=False
    )


def _shortened(name: str) -> str:
    return name if len(name) <= _SHOWN_NAME else name[:_SHOWN_NAME] + "…"


def _refuse(error: OlmkitError, context: click.Context) -> int:
    from olmkit.cli.frame import output
    from olmkit.cli.frame.app import App
    from olmkit.cli.frame.terminal import Terminal

    obj = context.find_root().obj
    app = obj if isinstance(obj, App) else App(command="", terminal=Terminal())
    if app.debug:
        _print_traceback(error)
    if app.is_json:
        words = output.envelope(app.command, None, error.diagnostics, error)
        app.terminal.result(words, exact=True)
    else:
        app.terminal.say(output.error_text(error, app.sources, color=app.terminal.color_err))
    return exit_code(error)


def _misused(error: click.ClickException, arguments: Sequence[str]) -> int:
    context: click.Context | None = getattr(error, "ctx", None)
    if _wants_json(context, arguments):
        from olmkit.base.diagnostics import ConfigurationError
        from olmkit.cli.frame import output

        command = context.command_path.removeprefix("olmkit").strip() if context else ""
        misuse = ConfigurationError(error.format_message())
        sys.stdout.write(output.envelope(command, None, error=misuse) + "\n")
    else:
        _tell(misuse_text(error.format_message(), context.command_path if context else "olmkit"))
    return Exit.USAGE


def misuse_text(message: str, command: str) -> str:
    """A message of click in the form that all errors have; a question in it is the hint."""
    said, _, meant = message.partition(" Did you mean ")
    said = re.sub(r"'([^'`]+)'", r"`\1`", said.rstrip(".").replace("\n", " "))
    # "Invalid value for X: Directory `a` does not exist": one sentence.
    said = re.sub(r": ([A-Z])(?=[a-z]+ )", lambda match: f": {match[1].lower()}", said, count=1)
    meant = re.sub(r"'([^'`]+)'", r"`\1`", meant)
    hint = f"did you mean {meant}" if meant else f"`{command} --help` shows the usage"
    return f"error: {said[:1].lower()}{said[1:]}\nhint: {hint}"


def _wants_json(context: click.Context | None, arguments: Sequence[str]) -> bool:
    """Whether a command line that cannot be parsed requests JSON.

    Commands whose `-o` is the form of what they make say their errors in words.
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


def _interrupted() -> int:
    _tell("interrupted")
    return Exit.INTERRUPTED


def _fault(error: Exception, arguments: Sequence[str], context: click.Context | None) -> int:
    if "--debug" in arguments or os.environ.get("OLMKIT_DEBUG"):
        _print_traceback(error)
    message = f"a fault in olmkit {__version__}: {type(error).__name__}: {error}"
    hint = "run the command again with `--debug` and report what it prints"
    app = context.obj if context is not None else None
    if app is not None and app.is_json:
        from olmkit.cli.frame import output

        words = output.envelope(app.command, None, error=OlmkitError(message, hint))
        sys.stdout.write(words + "\n")
    else:
        _tell(f"error: {message}\nhint: {hint}")
    return Exit.FAULT
