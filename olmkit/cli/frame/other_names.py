"""Suggestions for commands that do not exist.

They are names from opm, operator-sdk and other command lines, the same name in another group, and
similar names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

KNOWN: Final[Mapping[str, str]] = {
    "add api": "create api",
    "add controller": "create api",
    "add crd": "create api",
    "add webhook": "create webhook",
    "alpha": "catalog",
    "alpha bundle": "bundle",
    "alpha bundle extract": "bundle unpack",
    "alpha convert-template": "catalog convert",
    "alpha diff": "catalog filter",
    "alpha generate": "catalog build",
    "alpha generate dockerfile": "catalog build",
    "alpha list": "catalog list",
    "alpha render-graph": "catalog graph",
    "alpha render-template": "catalog render-template",
    "alpha render-template basic": "catalog template basic",
    "alpha render-template composite": "catalog template composite",
    "alpha render-template semver": "catalog template semver",
    "alpha render-template substitutes": "catalog template substitutes",
    "alpha render-veneer": "catalog render-template",
    "alpha veneer": "catalog render-template",
    "apply": "deploy",
    "approve": "upgrade",
    "build": "image build",
    "bundle create": "bundle generate",
    "bundle init": "bundle generate",
    "bundle install": "install --bundle",
    "bundle list": "catalog list bundles",
    "bundle run": "install --bundle",
    "bundle score": "bundle scorecard",
    "bundle test": "bundle scorecard",
    "bundle upgrade": "upgrade --bundle",
    "catalog convert-template": "catalog convert",
    "catalog create": "catalog init",
    "catalog deps": "catalog resolve",
    "catalog dockerfile": "catalog build",
    "catalog generate": "catalog build",
    "catalog ls": "catalog list packages",
    "catalog migrate": "catalog render --directory",
    "catalog pull": "catalog render --directory",
    "catalog render-graph": "catalog graph",
    "catalog run": "catalog serve",
    "catalog search": "catalog list packages",
    "catalog show": "catalog list",
    "catalog sources": "status",
    "catalog update": "catalog add",
    "catalog upgrade": "catalog path",
    "cleanup": "uninstall",
    "config": "edit",
    "controller-gen": "generate",
    "convert-template": "catalog convert",
    "create bundle": "bundle generate",
    "create catalog": "catalog init",
    "create controller": "create api",
    "create crd": "create api",
    "create kind": "create api",
    "create operator": "init",
    "create project": "init",
    "create resource": "create api",
    "delete": "uninstall",
    "describe": "status",
    "events": "why",
    "generate bundle": "bundle generate",
    "generate dockerfile": "catalog build",
    "generate kustomize": "generate",
    "generate packagemanifests": "bundle generate",
    "get": "status",
    "get packagemanifests": "catalog list packages",
    "get packages": "catalog list packages",
    "help": "--help",
    "hub run": "hub serve",
    "hub start": "hub serve",
    "image list": "catalog images",
    "image load": "image copy",
    "image pull": "image copy",
    "image save": "image copy",
    "image tag": "image copy",
    "index": "catalog",
    "index add": "catalog add",
    "index deprecatetruncate": "catalog filter",
    "index export": "catalog render",
    "index prune": "catalog filter",
    "index prune-stranded": "catalog render",
    "index rm": "catalog filter",
    "kustomize": "render",
    "kustomize build": "render",
    "kustomize edit": "edit",
    "list": "catalog list",
    "logs": "why",
    "ls": "status",
    "migrate": "catalog render --directory",
    "new": "init",
    "oc-mirror": "image mirror",
    "olm down": "olm uninstall",
    "olm up": "olm install",
    "operator-sdk": "--help",
    "opm": "catalog",
    "opm generate": "catalog build",
    "opm init": "catalog init",
    "opm render": "catalog render",
    "opm validate": "catalog validate",
    "pkgman-to-bundle": "bundle convert",
    "publish": "submit",
    "registry": "catalog",
    "registry add": "catalog add",
    "registry deprecatetruncate": "catalog filter",
    "registry mirror": "image mirror",
    "registry prune": "catalog filter",
    "registry prune-stranded": "catalog render",
    "registry rm": "catalog filter",
    "registry serve": "catalog serve",
    "remove": "uninstall",
    "render-graph": "catalog graph",
    "render-template": "catalog render-template",
    "rm": "uninstall",
    "rules": "explain",
    "run bundle": "install --bundle",
    "run bundle-upgrade": "upgrade --bundle",
    "run packagemanifests": "bundle convert",
    "search": "catalog list packages",
    "serve": "catalog serve",
    "version": "--version",
}
"""Arguments after `olmkit`, and the equivalent command."""

OPTIONS: Final[Mapping[tuple[str, str], str]] = {
    (
        "status",
        "--all-namespaces",
    ): "omit it: the command covers all namespaces, unless `-n` names one",
    ("olm install", "--olm"): "omit it: the command installs OLM v0; OLM v1 has its own installer",
    ("olm uninstall", "--olm"): "omit it: the command removes OLM v0",
    ("olm status", "--olm"): "omit it: the command shows OLM v0 and v1",
    ("catalog check", "--previous"): "did you mean `--against`?",
    ("status", "--olm"): "omit it: the command shows the operators of OLM v0 and v1",
    ("status", "--watch"): "run the command again; `install` and `upgrade` wait themselves",
    ("upgrade", "--approve"): "omit it: the command approves the InstallPlans on the upgrade path",
    ("upgrade", "--version"): "did you mean `--to`?",
    ("uninstall", "--force"): "did you mean `--yes` or `--remove-finalizers`?",
    ("install", "--wait"): "omit it: the command waits until the operator runs, up to `--timeout`",
    ("install", "--index-image"): "did you mean `--catalog`?",
    ("install", "--install-mode"): "did you mean `--mode`?",
}
"""Commands with an option of another command line, and the hint for it."""

# Catalogs of the cluster, and the variables that select the cluster.
_IN_CLUSTER: Final = ("catalogsource:", "clustercatalog:")
_OF_CLUSTER: Final = {"--context": "OLMKIT_CONTEXT", "--kubeconfig": "OLMKIT_KUBECONFIG"}
_SHORT: Final[Mapping[str, str]] = {"-A": "--all-namespaces", "-w": "--watch"}

SAME: Final[Mapping[str, tuple[str, ...]]] = {
    "check": ("validate",),
    "cat": ("render",),
    "delete": ("filter",),
    "describe": ("show",),
    "dump": ("render",),
    "export": ("render",),
    "extract": ("unpack",),
    "get": ("status",),
    "info": ("show",),
    "inspect": ("show",),
    "lint": ("validate", "check"),
    "ls": ("list",),
    "new": ("init",),
    "prune": ("filter",),
    "pull": ("unpack",),
    "query": ("list",),
    "remove": ("filter",),
    "rm": ("filter",),
    "run": ("serve",),
    "start": ("serve",),
    "validate": ("check",),
    "verify": ("validate", "check"),
    "view": ("show",),
}
"""Verbs of other command lines, and the equivalent verb in a group of olmkit."""

# Programs whose command lines users type after `olmkit` by habit: their commands have our names.
_PROGRAMS: Final = ("kubebuilder", "olmkit", "operator-sdk", "opm")
_MOST: Final = 3  # maximum number of useful suggestions


def suggestions(prefix: str, arguments: Sequence[str], paths: Sequence[str]) -> Sequence[str]:
    """Return the probably intended commands, the most likely first.

    `prefix` is the group with a space after it, `arguments` the arguments after it, `paths` all
    commands.
    """
    import difflib

    if not prefix and arguments[0] == "help" and command_of(arguments[1:], paths):
        return (f"{command_of(arguments[1:], paths)} --help",)
    known = _find_known(prefix, arguments, paths)
    if known:
        return (known,)
    if not prefix and arguments[0] in _PROGRAMS:
        ours = _find_known("", arguments[1:], paths) or command_of(arguments[1:], paths)
        return (ours,) if ours else suggestions("", arguments[1:], paths)
    same = [path for verb in SAME.get(arguments[0], ()) if (path := prefix + verb) in paths]
    if prefix and same:
        return same[:1]
    here = sorted(
        {path.removeprefix(prefix).split(" ")[0] for path in _find_by_prefix(prefix, paths)}
    )
    likely = difflib.get_close_matches(arguments[0], here, n=1)
    verbs = (arguments[0], *(() if prefix else SAME.get(arguments[0], ())))
    named = next(filter(None, (_find_by_verb(verb, paths) for verb in verbs)), [])
    if likely and (prefix or not named):
        return (prefix + likely[0],)
    if prefix == "catalog list ":
        return (f"{prefix}packages {arguments[0]}",)
    return sorted(named, key=_order)[:_MOST]


def hint_for_option(command: str, option: str, arguments: Sequence[str] = ()) -> str:
    """Return the hint for an option of another command or command line; empty for others."""
    if option in _OF_CLUSTER and any(one.startswith(_IN_CLUSTER) for one in arguments):
        return f"set the variable `{_OF_CLUSTER[option]}` instead"
    return OPTIONS.get((command, _SHORT.get(option, option)), "")


def _find_known(prefix: str, arguments: Sequence[str], paths: Sequence[str]) -> str:
    """Return the command for the longest known name at the start, or an empty string."""
    for length in range(min(3, len(arguments)), 0, -1):
        typed = prefix + " ".join(arguments[:length])
        is_program = typed in _PROGRAMS and arguments[length:]
        if typed in KNOWN and not is_program:
            return _find_subcommand(KNOWN[typed], arguments[length:], paths)
    return ""


def _find_by_verb(verb: str, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path.rpartition(" ")[2] == verb]


def _find_subcommand(meant: str, rest: Sequence[str], paths: Sequence[str]) -> str:
    """Return the probable group with its command, if the next word names that too."""
    if not rest or meant.startswith("-"):
        return meant
    longer = command_of([*meant.split(), *rest], paths)
    return longer if longer.startswith(meant) else meant


def _order(path: str) -> tuple[int, str]:
    """Return the sort key: bundles before catalogs before the rest."""
    first = path.partition(" ")[0]
    groups = ("bundle", "catalog", "image")
    return (groups.index(first) if first in groups else len(groups), path)


def command_of(arguments: Sequence[str], paths: Sequence[str]) -> str:
    """Return the command or group, one of `paths`, at the start of a command line."""
    path = ""
    for word in arguments:
        longer = f"{path} {word}".strip()
        if longer not in paths and not any(one.startswith(f"{longer} ") for one in paths):
            break
        path = longer
    return path


def _find_by_prefix(prefix: str, paths: Sequence[str]) -> list[str]:
    return [path for path in paths if path.startswith(prefix)]
