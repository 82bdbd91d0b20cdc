"""Exit codes, by cause."""

from __future__ import annotations

from enum import IntEnum

from olmkit.base.diagnostics import InputError, OlmkitError, RemoteError


class Exit(IntEnum):
    """The exit codes of the program."""

    DONE = 0
    NO = 1  # done, and the result is negative
    USAGE = 2  # invalid usage, or an invalid configuration
    WORLD = 3  # an error of a registry, a cluster, the network or the disk
    FAULT = 70  # a bug in olmkit (EX_SOFTWARE of sysexits)
    INTERRUPTED = 130


def exit_code(error: OlmkitError) -> Exit:
    match error:
        case RemoteError():
            return Exit.WORLD
        case InputError():
            return Exit.NO
        case _:
            return Exit.USAGE
