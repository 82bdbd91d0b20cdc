"""What was probably meant by the name of a command that does not exist.

Names that users of opm, operator-sdk and other command lines know, the same name in another
group, and names that are nearly right.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

KNOWN: Final[Mapping[str, str]] = {
    "alpha": "catalog",
    "alpha bundle": "bundle",
    "alpha bundle build": "bundle build",
    "alpha bundle extract": "bundle unpack",
    "alpha bundle generate": "bundle generate",
    "alpha bundle unpack": "bundle unpack",
    "alpha bundle validate": "bundle validate",
    "alpha convert-template": "catalog convert",
    "alpha diff": "catalog filter",
    "alpha generate": "catalog build",
    "alpha generate dockerfile": "catalog build",
    "alpha list": "catalog list",
    "alpha render-graph": "catalog graph",
    "alpha render-template": "catalog render-template",
    "alpha render-veneer": "catalog render-template",
    "alpha veneer": "catalog render-template",
    "build": "image build",
    "bundle create": "bundle generate",
    "bundle install": "install --bundle",
    "bundle run": "install --bundle",
    "bundle upgrade": "upgrade --bundle",
    "catalog convert-template": "catalog convert",
    "catalog deps": "catalog resolve",
    "catalog dockerfile": "catalog build",
    "catalog generate": "catalog build",
    "catalog ls": "catalog list",
    "catalog migrate": "catalog render --directory",
    "catalog prune": "catalog filter",
    "catalog render-graph": "catalog graph",
    "catalog run": "catalog serve",
    "cleanup": "uninstall",
    "convert-template": "catalog convert",
    "delete": "uninstall",
    "generate bundle": "bundle generate",
    "generate dockerfile": "catalog build",
    "generate kustomize": "generate",
    "generate packagemanifests": "bundle generate",
    "help": "--help",
    "index": "catalog",
    "index add": "catalog add",
    "index deprecatetruncate": "catalog filter",
    "index export": "catalog render",
    "index prune": "catalog filter",
    "index prune-stranded": "catalog render",
    "index rm": "catalog filter",
    "list": "catalog list",
    "ls": "status",
    "migrate": "catalog render --directory",
    "new": "init",
    "opm": "catalog",
    "pkgman-to-bundle": "bundle convert",
    "registry": "catalog",
    "registry add": "catalog add",
    "registry deprecatetruncate": "catalog filter",
    "registry mirror": "image mirror",
    "registry prune": "catalog filter",
    "registry prune-stranded": "catalog render",
    "registry rm": "catalog filter",
    "registry serve": "catalog serve",
    "render-graph": "catalog graph",
    "render-template": "catalog render-template",
    "run bundle": "install --bundle",
    "run bundle-upgrade": "upgrade --bundle",
    "run packagemanifests": "bundle convert",
    "serve": "catalog serve",
    "version": "--version",
}
"""What is typed after `olmkit`, and what does the same."""


def suggestion(prefix: str, words: Sequence[str], paths: Sequence[str]) -> str:
    """The rest of the command line after `olmkit` that was probably meant, or an empty text.

    `prefix` is the group with a space behind it, `words` what follows it, `paths` all commands.
    """
    import difflib

    for length in range(min(3, len(words)), 0, -1):
        typed = prefix + " ".join(words[:length])
        if typed in KNOWN:
            return KNOWN[typed]
    here = sorted({path.removeprefix(prefix).split(" ")[0] for path in _below(prefix, paths)})
    near = difflib.get_close_matches(words[0], here, n=1)
    if near:
        return prefix + near[0]
    if prefix == "catalog list ":
        return f"{prefix}packages {words[0]}"
    others = [path for path in paths if path.rpartition(" ")[2] == words[0]]
    return others[0] if others else ""


def command_of(words: Sequence[str], paths: Sequence[str]) -> str:
    """The command or group, one of `paths`, that the first words of a command line name."""
    path = ""
    for word in words:
        longer = f"{path} {word}".strip()
        if longer not in paths and not any(one.startswith(f"{longer} ") for one in paths):
            break
        path = longer
    return path


def _below(prefix: str, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path.startswith(prefix)]
