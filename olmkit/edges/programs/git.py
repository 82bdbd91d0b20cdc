"""Read a checkout with git: the files that differ from a base, the folders of a commit."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from olmkit.base.diagnostics import ConfigurationError, RemoteError

_TIMEOUT: Final = 120.0  # seconds; a diff of the largest public repository takes two


def merge_base(repository: Path, base: str) -> str:
    """Return the commit at which `HEAD` and `base` diverged.

    Raises `ConfigurationError` if `repository` is not a checkout, or has no such commit.
    """
    words = ["merge-base", "--end-of-options", base, "HEAD"]
    return _git(repository, words, f"git does not know `{base}`").decode().strip()


def changed_files(repository: Path, commit: str) -> tuple[tuple[str, str], ...]:
    """Yield status (`A`, `M`, `D`) and path of each difference between a commit and `HEAD`."""
    words = ["diff", "--name-status", "--no-renames", "--no-ext-diff", "--relative", "-z"]
    data = _git(repository, [*words, commit, "HEAD", "--"], "git cannot compare the commits")
    parts = data.decode("utf-8", "surrogateescape").split("\0")
    pairs = zip(parts[0::2], parts[1::2], strict=False)
    return tuple((status[:1].replace("T", "M"), path) for status, path in pairs)


def folders(repository: Path, commit: str, folder: str) -> tuple[str, ...]:
    """Return the folders directly below a folder at a commit; none if there is no such folder."""
    words = ["ls-tree", "-d", "--name-only", "-z", commit, "--", f"{folder}/"]
    data = _git(repository, words, f"git cannot list `{folder}`")
    names = data.decode("utf-8", "surrogateescape").split("\0")
    return tuple(name.rpartition("/")[2] for name in names if name)


def _git(repository: Path, arguments: Sequence[str], message: str) -> bytes:
    command = ["git", "-C", str(repository), "-c", "core.quotePath=false", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 - git itself
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=_TIMEOUT, check=False
        )
    except FileNotFoundError:
        raise ConfigurationError("`git` is not installed", hint="install git") from None
    except subprocess.TimeoutExpired:
        raise RemoteError(f"git did not answer within {_TIMEOUT:.0f} s") from None
    if done.returncode:
        reason = " ".join(done.stderr.decode("utf-8", "replace").split())[:300]
        raise ConfigurationError(
            f"{message}: {reason}", hint=f"check that `{repository}` is a checkout with that branch"
        )
    return done.stdout
