"""The common program of operators with a `watches.yaml`.

It accepts the flags of the operators that such projects were written for, so that their manifests
need no change. Flags without a meaning here are accepted without effect.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError, Severity
from olmkit.base.go import durations
from olmkit.edges import disk, paths
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.programs import processes
from olmkit.hybrid import entries
from olmkit.hybrid.entries import Reading, Watch
from olmkit.kube import conditions
from olmkit.kube.api import Cluster
from olmkit.kube.objects import GVK
from olmkit.runtime import process
from olmkit.runtime.client import Client
from olmkit.runtime.flags import Flags
from olmkit.runtime.manager import Manager
from olmkit.runtime.process import Operator
from olmkit.runtime.watch.scope import parse_namespaces
from olmkit.runtime.work.reconcile import Request, Result

W = TypeVar("W", bound=Watch)
_FAILED = "ReleaseFailed"


class EntryReconciler(Protocol):
    """The reconciler of one entry."""

    @property
    def watch(self) -> Watch:
        """Return the entry."""

    async def reconcile(self, request: Request) -> Result:
        """Reconcile one object."""

    async def differences(self, request: Request) -> list[str]:
        """Return the changes of a dry run as lines without secrets."""


class Described(Protocol):
    """The operator that the flags and files describe."""

    def add_controllers(self, manager: Manager) -> None:
        """Add the controllers to a manager."""

    def reconcilers(self, client: Client) -> Iterable[EntryReconciler]:
        """Return a reconciler for each entry."""

    def close(self) -> None:
        """End remaining processes after the manager has ended."""

    def working(self) -> AbstractAsyncContextManager[None]:
        """Return a context in which reconcilers can work without a manager."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """The parts that differ between Helm and Ansible operators.

    `describe` gets flags, environment and a private folder; it raises `ConfigurationError` and
    `InputError`. `period`, in seconds, is the interval between reconciles of an object; None if it
    depends on the entry. `around`: the operator in whose process the controllers work.
    """

    name: str
    workers: int
    period: float | None
    add_flags: Callable[[argparse.ArgumentParser], None]
    describe: Callable[[Flags, Mapping[str, str], Path], Awaitable[Described]]
    shutdown: float = 8.0
    around: Operator | None = None


def main(
    program: Program, arguments: Sequence[str], environment: Mapping[str, str] | None = None
) -> int:
    """Run the operator, or reconcile once with `--once`; return the exit code.

    With `--once`: 0, or 1 if `--check` found a difference or a reconcile failed. 2 for an error in
    the flags or in `watches.yaml`, or without the program that runs the entries.
    """
    found = dict(os.environ if environment is None else environment)
    given = parse_flags(program, arguments)
    with paths.operator_folder() as home:
        try:
            if given.own.check and not given.own.once:
                raise ConfigurationError("`--check` needs `--once`")
            described = asyncio.run(_described(program, given, found, home))
            if given.own.once:
                return asyncio.run(_once(program, described, given, found))
        except (ConfigurationError, InputError) as error:
            _tell(error)
            return 2
        except OlmkitError as error:
            _tell(error)
            return 3
        except KeyboardInterrupt:
            return process.INTERRUPTED

        operator = _operator(program, described.add_controllers)
        if program.around is None:
            operator = replace(operator, lock=given.own.leader_election_id)
        try:
            return process.main(operator, arguments, found)
        finally:
            described.close()


async def _described(
    program: Program, flags: Flags, environment: Mapping[str, str], home: Path
) -> Described:
    return await program.describe(flags, environment, home)


def parse_flags(program: Program, arguments: Sequence[str]) -> Flags:
    """Return the flags of a command line, including those of the original operators."""
    return process.parse_flags(_operator(program, _none), arguments)


def _operator(program: Program, add: Callable[[Manager], None]) -> Operator:
    """Return the operator for the runtime; `add` adds the controllers of the entries."""
    around = program.around

    def add_controllers(manager: Manager, flags: Flags, environment: Mapping[str, str]) -> None:
        if around is not None:
            around.add_controllers(manager, flags, environment)
        add(manager)

    if around is not None:
        return replace(around, add_controllers=add_controllers, add_flags=_adder(program))
    return Operator(
        name=program.name,
        lock=program.name,
        add_controllers=add_controllers,
        add_flags=_adder(program),
        workers=program.workers,
        graceful_shutdown_timeout=program.shutdown,
    )


def read_watches(
    read: Callable[..., Reading[W]], file: Path, environment: Mapping[str, str]
) -> tuple[W, ...]:
    """Read the entries of a file and print warnings."""
    data = disk.read_if_there(file)
    if data is None:
        raise ConfigurationError(
            f"`{file}` does not exist", hint="name the file with `--watches-file`"
        )
    reading = read(data, environment, path=str(file))
    errors = [one for one in reading.findings if one.severity is Severity.ERROR]
    for one in reading.findings:
        if one.severity is not Severity.ERROR:
            say(f"warning[{one.rule}]: {one.at}: {one.message}", one.hint)
    if errors:
        raise InputError(errors[0].message, diagnostics=errors)
    return reading.entries


def workers(*, own: int, each: int) -> int:
    """Return how many objects are reconciled in parallel by default.

    The number of processors, as in the original operators, as far as the memory limit of the
    container allows: `own` is what the operator needs, `each` what a run needs, in MiB.
    """
    limit = processes.memory_limit()
    count = processes.processors()
    return count if limit is None else max(1, min(count, ((limit >> 20) - own) // each))


def duration(text: str) -> float:
    """Return a flag's duration in seconds."""
    try:
        return durations.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def say(text: str, hint: str = "") -> None:
    """Print a line to standard error, with its hint."""
    print(text, *([f"hint: {hint}"] if hint else []), sep="\n", file=sys.stderr)  # noqa: T201


def _none(_: Manager) -> None:
    """Add nothing: flags are parsed before there are controllers."""


def _adder(program: Program) -> Callable[[argparse.ArgumentParser], None]:
    def add_flags(parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("--watches-file", type=Path, default=Path(entries.FILE), metavar="FILE")
        add(
            "--reconcile-period",
            type=duration,
            default=program.period,
            metavar="DURATION",
            help="how often each object is looked at; an entry or an annotation may say another",
        )
        add("--once", action="store_true", help="one pass over all objects, then end")
        add(
            "--check",
            action="store_true",
            help="with --once: show what would change, change nothing",
        )
        program.add_flags(parser)
        if program.around is not None:
            if program.around.add_flags is not None:
                program.around.add_flags(parser)
            return
        add("--leader-election-id", default=program.name, metavar="NAME", help="name of the lease")
        add(
            "--metrics-require-rbac",
            nargs="?",
            help="accepted, without effect: RBAC is required",
        )

    return add_flags


async def _once(
    program: Program, operator: Described, flags: Flags, environment: Mapping[str, str]
) -> int:
    """Check all objects one by one; return exit code 0 only if none differs or failed."""
    # The result is on standard output; at the default level, only warnings are added to it.
    process.log_as(replace(flags, log_level="warning") if flags.log_level == "info" else flags)
    files = [flags.kubeconfig] if flags.kubeconfig else []
    config = kubeconfig.load(paths=files, environment=environment)
    code = 0
    agent = process.user_agent(program.name)
    async with HttpCluster(config, user_agent=agent) as cluster, operator.working():
        client = Client(cluster, None, field_manager=program.name)
        for reconciler in operator.reconcilers(client):
            gvk = reconciler.watch.gvk
            for request in await _requests(cluster, client, gvk, environment):
                lines: list[str] = []
                try:
                    if flags.own.check:
                        lines = await reconciler.differences(request)
                    else:
                        await reconciler.reconcile(request)
                        lines = await _failures(client, gvk, request)
                except OlmkitError as error:
                    lines = [f"error: {error}"]
                if lines:
                    code = 1
                    print(f"{gvk.kind} {request}:", *lines, sep="\n  ")  # noqa: T201 - the result
    return code


async def _failures(client: Client, gvk: GVK, request: Request) -> list[str]:
    """Return the failure of a release, which its reconciler retries and does not raise."""
    found = await client.get(gvk, request)
    listed = ((found or {}).get("status") or {}).get("conditions") or []
    if not conditions.is_true(listed, _FAILED):
        return []
    failed = conditions.find(listed, _FAILED) or {}
    return [f"error: {failed.get('message')}"]


async def _requests(
    cluster: Cluster, client: Client, gvk: GVK, environment: Mapping[str, str]
) -> list[Request]:
    resource = await cluster.resource(gvk.api_version, gvk.kind)
    chosen = parse_namespaces(environment.get("WATCH_NAMESPACE"))
    namespaces = chosen if chosen and resource.namespaced else ("",)
    found = []
    for namespace in namespaces:
        for one in await client.list(gvk, namespace=namespace):
            metadata = one["metadata"]
            found.append(Request(metadata["name"], metadata.get("namespace") or ""))
    return sorted(found, key=str)


def _tell(error: OlmkitError) -> None:
    if not error.diagnostics:
        say(f"error: {error.message}", error.hint)
    for one in error.diagnostics:
        say(f"error[{one.rule}]: {one.at}: {one.message}", one.hint)
