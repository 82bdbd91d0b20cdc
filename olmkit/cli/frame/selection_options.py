"""The options that select a part of a catalog: packages, channels and versions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.frame import options
from olmkit.cli.frame.app import App

if TYPE_CHECKING:
    from olmkit.jobs.catalog.mirroring.filter import Requested


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionOptions:
    """The values of the options; `read` parses them into a selection."""

    words: tuple[str, ...] = ()
    config: Path | None = None
    full: bool = False
    skip_dependencies: bool = False

    def read(self, reference: str, *, required: bool = False) -> Requested:
        """Return the selected parts of the catalog `reference`; nothing for all of it.

        Raises `ConfigurationError` when both kinds of options are given, or neither is although
        one is `required`.
        """
        from olmkit.jobs.catalog.mirroring import filter as job

        if self.words and self.config is not None:
            raise ConfigurationError(
                "`--package` and `--config` are both given",
                hint="pass either `--package` or `--config`",
            )
        if required and not self.words and self.config is None:
            raise ConfigurationError(
                "nothing to keep", hint="pass either `--package` or `--config`"
            )
        if self.full and not self.words:
            raise ConfigurationError(
                "`--full` is for packages that `--package` selects",
                hint="pass `--package`, or write `full: true` into the configuration file",
            )
        if self.skip_dependencies and self.config is None:
            raise ConfigurationError(
                "`--skip-deps` is for an include file of opm",
                hint="pass the file with `--config`, or omit `--skip-deps`: `--package` does "
                "not keep dependencies",
            )
        if self.config is not None:
            return job.read(self.config, reference, dependencies=not self.skip_dependencies)
        return job.parse(self.words, is_full=self.full)


def selection_options(run: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options to a command; its function gets them as `selection`."""

    @functools.wraps(run)
    def gathered(*positional: Any, **arguments: Any) -> Any:
        selection = SelectionOptions(
            words=arguments.pop("words"),
            config=arguments.pop("config"),
            full=arguments.pop("full"),
            skip_dependencies=arguments.pop("skip_dependencies"),
        )
        return run(*positional, selection=selection, **arguments)

    added = [
        click.option(
            "-p",
            "--package",
            "words",
            multiple=True,
            metavar="PACKAGE[:CHANNEL][@MIN-MAX]",
            help="Package to keep, with its channel and versions; repeatable.",
        ),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            help="ImageSetConfiguration, FilterConfiguration or include file of opm that lists "
            "what to keep.",
        ),
        click.option(
            "--full",
            is_flag=True,
            help="Keep all versions of packages without a range, instead of the heads.",
        ),
        click.option(
            "--skip-deps",
            "skip_dependencies",
            is_flag=True,
            help="Omit the dependencies of the bundles of an include file.",
        ),
    ]
    return options.add(gathered, added)


def note_extra(app: App, extra: Mapping[str, Sequence[str]]) -> None:
    """Report which bundles of each package are kept although no range contains them."""
    for package, names in sorted(extra.items()):
        listed = ", ".join(f"`{name}`" for name in names)
        app.terminal.note(f"kept of `{package}` although outside the range: {listed}")
