"""The program of an Ansible operator: `python -m olmkit.hybrid ansible`."""

from __future__ import annotations

import argparse
import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.connection import Connection
from olmkit.edges.cluster.run_proxy import RunProxy
from olmkit.edges.programs.ansible import installed, syntax
from olmkit.edges.programs.ansible.runs import RunContent
from olmkit.hybrid import process
from olmkit.hybrid.ansible import play_metrics
from olmkit.hybrid.ansible import watches as ansible_watches
from olmkit.hybrid.ansible.controllers import AnsibleEntry, AnsibleOperator
from olmkit.hybrid.ansible.reconciler import RunSettings
from olmkit.hybrid.ansible.watches import AnsibleWatch
from olmkit.hybrid.process import Program
from olmkit.kube.objects import GVK
from olmkit.runtime import process as runtime
from olmkit.runtime.flags import Flags

_NAME = "ansible-operator"
_PERIOD = 36_000.0  # seconds
_MOST_VERBOSE = 7
_OWN, _EACH = 96, 100  # MiB: the operator with the process that forks, and a run


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that only an Ansible operator has."""
    add = parser.add_argument
    add("--ansible-verbosity", type=int, choices=range(8), default=2, metavar="N")
    add("--ansible-roles-path", default="", metavar="FOLDERS", help="where roles are looked up")
    add("--ansible-collections-path", default="", metavar="FOLDERS", help="the same of collections")
    add("--ansible-args", default="", metavar="WORDS", help="more arguments of ansible-playbook")
    add(
        "--ansible-log-events",
        choices=("tasks", "everything", "nothing"),
        default="tasks",
        type=str.lower,
        help="what is logged of a run",
    )
    add(
        "--inject-owner-ref",
        type=_truth,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="whether what a run creates belongs to the object",
    )
    add(
        "--runner",
        choices=("fork", "ansible-runner"),
        default="fork",
        help="what starts runs: a process with Ansible imported, or ansible-runner for each",
    )
    add(
        "--run-timeout",
        type=process.duration,
        default=0.0,
        metavar="DURATION",
        help="time limit of a run; 0: none; an entry may say another",
    )
    add(
        "--play-metrics-port",
        type=int,
        choices=range(65536),
        default=play_metrics.PORT,
        metavar="PORT",
        help="where plays report metrics, on loopback; 0: nowhere",
    )
    add(
        "--syntax-check",
        action="store_true",
        help="first check the syntax of all roles and playbooks, also those of finalizers",
    )
    add("--proxy-port", type=int, help="accepted, without effect: the system chooses a port")
    add("--graceful-shutdown-timeout", type=process.duration, help=argparse.SUPPRESS)
    add("--leader-elect-resource-lock", help=argparse.SUPPRESS)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0", "t", "f"):
        raise argparse.ArgumentTypeError(f"`{text}` is neither `true` nor `false`")
    return text.lower() in ("true", "1", "t")


async def _build_operator(
    flags: Flags, environment: Mapping[str, str], home: Path
) -> AnsibleOperator:
    listed = process.read_watches(ansible_watches.read, flags.own.watches_file, environment)
    return await build_operator(listed, flags, environment, home)


async def build_operator(
    listed: Sequence[AnsibleWatch], flags: Flags, environment: Mapping[str, str], home: Path
) -> AnsibleOperator:
    """Return the operator of these entries; raise `ConfigurationError` without role or Ansible."""
    file: Path = flags.own.watches_file
    variables = dict(environment)
    for name in ("roles", "collections"):
        if configured := getattr(flags.own, f"ansible_{name}_path"):
            variables[f"ANSIBLE_{name.upper()}_PATH"] = configured
    variables["ANSIBLE_COLLECTIONS_PATH"] = installed.collections_path(file.parent, variables)
    entries = [_entry(one, file.parent, variables, flags) for one in listed]
    variables["ANSIBLE_ROLES_PATH"] = installed.roles_path(file.parent, variables)
    if flags.own.syntax_check:
        contents = [part for one in entries for part in (one.content, one.finalizing)]
        await syntax.check(contents, variables, home / "syntax")
    port = flags.own.play_metrics_port
    if port:
        variables["OLMKIT_PLAY_METRICS"] = f"http://127.0.0.1:{port}{play_metrics.PATH}"
    runner = await installed.runner(variables, flags.own.runner, home / "fork-server")
    files = [flags.kubeconfig] if flags.kubeconfig else []
    config = kubeconfig.load(paths=files, environment=environment)
    return AnsibleOperator(
        entries=entries,
        runner=runner,
        proxy=RunProxy(Connection(config, user_agent=runtime.user_agent(_NAME))),
        settings=RunSettings(
            folder=home / "runner",
            period=_PERIOD if flags.own.reconcile_period is None else flags.own.reconcile_period,
            timeout=flags.own.run_timeout,
            log_events=flags.own.ansible_log_events,
            logs_output=environment.get("ANSIBLE_DEBUG_LOGS", "").lower() in ("true", "1", "t"),
            sets_owner=flags.own.inject_owner_ref,
            arguments=_split_words(flags.own.ansible_args),
        ),
        now=runtime.timestamp,
        clock=time.monotonic,
        metrics_port=port,
    )


def _entry(
    watch: AnsibleWatch, folder: Path, environment: Mapping[str, str], flags: Flags
) -> AnsibleEntry:
    def find(role: str, playbook: str) -> RunContent:
        try:
            return installed.content(
                role=role, playbook=playbook, folder=folder, environment=environment
            )
        except ConfigurationError as error:
            raise ConfigurationError(f"{watch.at}: {error.message}", hint=error.hint) from None

    content = find(watch.role, watch.playbook)
    last = watch.finalizer
    has_own = last is not None and bool(last.role or last.playbook)
    finalizing = find(last.role, last.playbook) if last is not None and has_own else content
    return AnsibleEntry(
        watch=watch,
        content=content,
        finalizing=finalizing,
        workers=_number(
            environment,
            watch.gvk,
            ("MAX_CONCURRENT_RECONCILES", "WORKER"),
            flags.workers,
            minimum=1,
        ),
        verbosity=min(
            _MOST_VERBOSE,
            _number(
                environment,
                watch.gvk,
                ("ANSIBLE_VERBOSITY",),
                flags.own.ansible_verbosity,
                minimum=0,
            ),
        ),
    )


def _number(
    environment: Mapping[str, str],
    gvk: GVK,
    names: tuple[str, ...],
    otherwise: int,
    *,
    minimum: int,
) -> int:
    """Return the number of a kind in a variable such as `WORKER_MEMCACHED_CACHE_EXAMPLE_COM`."""
    for name in names:
        variable = f"{name}_{gvk.kind}_{gvk.group}".upper().replace(".", "_")
        configured = environment.get(variable)
        if configured is None:
            continue
        if not (configured.isascii() and configured.isdigit()) or int(configured) < minimum:
            raise ConfigurationError(
                f"`{variable}` is not a number from {minimum}: `{configured:.80}`"
            )
        return int(configured)
    return otherwise


def _split_words(text: str) -> tuple[str, ...]:
    """Split into shell words; one pair of single quotes around them is dropped."""
    if len(text) > 1 and text[0] == text[-1] == "'":
        text = text[1:-1]
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigurationError(f"`--ansible-args` cannot be read: {error}") from None


PROGRAM = Program(
    name=_NAME,
    workers=process.workers(own=_OWN, each=_EACH),
    period=_PERIOD,
    add_flags=add_flags,
    describe=_build_operator,
    shutdown=12.0,
)
