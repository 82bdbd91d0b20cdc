"""Findings about the user's input, and errors that stop a job.

A `Diagnostic` is a finding with a place and a fix; an exception means that work cannot continue.
Both are values: nothing here prints or exits. `olmkit.cli.frame.output` formats them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from olmkit.base import texts


class Severity(StrEnum):
    """The severity of a finding, in descending order."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


_SEVERITY_ORDER = {severity: index for index, severity in enumerate(Severity)}


class Location(NamedTuple):
    """A place in the user's input. Lines and columns start at 1; columns are in characters.

    `end_column` is the first column after the place. `field` is the path inside the
    document (`spec.installModes[3].type`), and is the only place of live objects.
    """

    path: str
    line: int | None = None
    column: int | None = None
    end_line: int | None = None
    end_column: int | None = None
    field: str = ""

    def __str__(self) -> str:
        if self.line is None:
            return self.path
        if self.column is None:
            return f"{self.path}:{self.line}"
        return f"{self.path}:{self.line}:{self.column}"


class Fix(NamedTuple):
    """An unambiguous replacement of one range of text."""

    at: Location
    replacement: str


class Related(NamedTuple):
    """Another place that is related to a finding, with the reason."""

    at: Location
    message: str


def docs_page(code: str) -> str:
    """Return the URL of the page about a code, relative to the root of the repository.

    The installed program has the same text: `explain_command`.
    """
    return f"docs/reference/rules/{code.rstrip('0123456789').lower()}.md#{code.lower()}"


def explain_command(code: str) -> str:
    """Return the command that prints the page about a code, without a network."""
    return f"olmkit explain {code}"


class _DiagnosticFields(NamedTuple):
    rule: str
    name: str
    severity: Severity
    message: str
    at: Location | None = None
    subject: str = ""
    hint: str = ""
    fix: Fix | None = None
    related: tuple[Related, ...] = ()


class Diagnostic(_DiagnosticFields):
    """One finding: rule, place, and what to do.

    Values of the user's input in its messages are truncated to the maximum length.
    """

    __slots__ = ()

    def __new__(
        cls,
        rule: str,
        name: str,
        severity: Severity,
        message: str,
        at: Location | None = None,
        subject: str = "",
        hint: str = "",
        fix: Fix | None = None,
        related: tuple[Related, ...] = (),
    ) -> Diagnostic:
        return super().__new__(
            cls,
            rule,
            name,
            severity,
            texts.limit_message(message),
            at,
            texts.shorten(subject),
            texts.limit_hint(hint),
            fix,
            tuple(Related(one.at, texts.limit_message(one.message)) for one in related),
        )

    @property
    def docs(self) -> str:
        """Return the page of the rule, like `docs_page`."""
        return docs_page(self.rule)

    def sort_key(self) -> tuple[str, int, int, int, str, str]:
        """Return the sort key of findings: by place, then by severity, then by rule."""
        at = self.at
        return (
            at.path if at else "",
            (at.line or 0) if at else 0,
            (at.column or 0) if at else 0,
            _SEVERITY_ORDER[self.severity],
            self.rule,
            self.message,
        )


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Return whether one of the findings is an error; warnings do not count."""
    return any(found.severity is Severity.ERROR for found in diagnostics)


def prefix_paths(root: str, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings with paths that start with the user's path `root`."""
    return tuple(
        found._replace(
            at=_prefix_path(root, found.at) if found.at else None,
            fix=found.fix._replace(at=_prefix_path(root, found.fix.at)) if found.fix else None,
            related=tuple(
                other._replace(at=_prefix_path(root, other.at)) for other in found.related
            ),
        )
        for found in diagnostics
    )


def _prefix_path(root: str, at: Location) -> Location:
    if root in ("", "."):
        return at
    return at._replace(path=f"{root.rstrip('/')}/{at.path}" if at.path else root)


@dataclass(eq=False)
class OlmkitError(Exception):
    """The job cannot continue. It has a message and, if there are places, diagnostics.

    `cause` is a name for scripts, as in the output of `olmkit why`; empty for most errors.
    """

    message: str
    hint: str = ""
    diagnostics: Sequence[Diagnostic] = field(default=())
    cause: str = field(default="", kw_only=True)

    def __str__(self) -> str:
        return self.message


class InputError(OlmkitError):
    """The user's input is invalid: exit code 1."""

    @classmethod
    def of(cls, found: Diagnostic) -> InputError:
        """Return the error for a finding; its message starts with the place."""
        message = f"{found.at}: {found.message}" if found.at else found.message
        return cls(message, found.hint, (found,))


class ConfigurationError(OlmkitError):
    """Invalid usage, or an invalid configuration: exit code 2."""


@dataclass(eq=False)
class RemoteError(OlmkitError):
    """A registry, a cluster or the disk failed: exit code 3.

    `temporary`: a retry may help; retries depend only on this.
    """

    temporary: bool = False
