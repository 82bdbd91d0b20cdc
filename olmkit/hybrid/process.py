"""The program of a Helm operator: `python -m olmkit.hybrid helm`.

It accepts the flags of helm-operator, so that the manifests of its projects need no change. Those
that mean nothing here are accepted without effect.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError, Severity
from olmkit.edges import disk, helm, paths
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.hybrid import durations, watches
from olmkit.hybrid.helm_operator import HelmOperator
from olmkit.hybrid.watches import HelmWatch
from olmkit.kube.api import Cluster
from olmkit.kube.objects import GVK
from olmkit.runtime import process
from olmkit.runtime.client import Client
from olmkit.runtime.flags import Flags
from olmkit.runtime.manager import Manager
from olmkit.runtime.process import Operator
from olmkit.runtime.watch.scope import parse_namespaces
from olmkit.runtime.work.reconcile import Request

_LOG = logging.getLogger(__name__)
_NAME = "helm-operator"
_MOST_WORKERS = 4  # each may run a helm of 80 MB
_WITHOUT_EFFECT = ("zap-devel", "zap-encoder", "zap-stacktrace-level", "zap-time-encoding")


def main(words: Sequence[str], environment: Mapping[str, str] | None = None) -> int:
    """Run the operator, or with `--once` one pass; the exit code.

    Of `--once`: 0, or 1 when `--check` found a difference or a pass failed. 2 for a fault in the
    flags, in `watches.yaml`, or without helm.
    """
    found = dict(os.environ if environment is None else environment)
    words = _translated(words)
    given = parse_flags(words)
    with paths.temporary_folder() as home:
        try:
            described = asyncio.run(_described(given, found, home))
            if given.own.once:
                return asyncio.run(_once(described, given, found))
        except (ConfigurationError, InputError) as error:
            _tell(error)
            return 2
        except OlmkitError as error:
            _tell(error)
            return 3

        def add_controllers(manager: Manager, _: Flags, __: Mapping[str, str]) -> None:
            described.add_controllers(manager)

        operator = Operator(
            name=_NAME,
            lock=given.own.leader_election_id,
            add_controllers=add_controllers,
            add_flags=_add_flags,
            workers=_default_workers(),
        )
        return process.main(operator, words, found)


def parse_flags(words: Sequence[str]) -> Flags:
    """The flags of a command line, those of helm-operator among them."""
    operator = Operator(
        name=_NAME,
        lock=_NAME,
        add_controllers=_none,
        add_flags=_add_flags,
        workers=_default_workers(),
    )
    return process.parse_flags(operator, _translated(words))


def _none(_: Manager, __: Flags, ___: Mapping[str, str]) -> None:
    """Flags are read before there are controllers."""


def _translated(words: Sequence[str]) -> list[str]:
    """The level of zap is that of our log."""
    found = []
    for word in words:
        name, equals, value = word.partition("=")
        if name == "--zap-log-level" and equals:
            level = {"0": "info", "panic": "error"}.get(value, value)
            word = f"--log-level={level if level in ('info', 'error', 'debug') else 'debug'}"
        found.append(word)
    return found


def _add_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--watches-file", type=Path, default=Path(watches.FILE), metavar="FILE")
    add(
        "--reconcile-period",
        type=_duration,
        default=60.0,
        metavar="DURATION",
        help="how often each object is looked at; an entry or an annotation may say another",
    )
    add("--helm", default="helm", metavar="PROGRAM", help="the helm program, version 3 or 4")
    add(
        "--suppress-override-values",
        action="store_true",
        help="mask the override values in events",
    )
    add("--once", action="store_true", help="one pass over all objects, then end")
    add("--check", action="store_true", help="with --once: show what would change, change nothing")
    add("--leader-election-id", default=_NAME, metavar="NAME", help="name of the lease")
    add("--metrics-require-rbac", nargs="?", help="accepted, without effect: RBAC is required")
    for name in _WITHOUT_EFFECT:
        add(f"--{name}", nargs="?", help=argparse.SUPPRESS)


def _duration(text: str) -> float:
    try:
        return durations.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


async def _described(given: Flags, environment: Mapping[str, str], home: Path) -> HelmOperator:
    """What flags, files and the helm program say; raises `ConfigurationError` and `InputError`."""
    if given.own.check and not given.own.once:
        raise ConfigurationError("`--check` needs `--once`")
    file: Path = given.own.watches_file
    data = disk.read_if_there(file)
    if data is None:
        raise ConfigurationError(
            f"`{file}` does not exist", hint="name the file with `--watches-file`"
        )
    reading = watches.read(data, environment, path=str(file))
    errors = [one for one in reading.findings if one.severity is Severity.ERROR]
    for one in reading.findings:
        if one.severity is not Severity.ERROR:
            _say(f"warning[{one.rule}]: {one.at}: {one.message}", one.hint)
    if errors:
        raise InputError(errors[0].message, diagnostics=errors)
    entries = [(one, helm.chart(_place(file, one))) for one in reading.entries]
    program = await helm.helm(
        given.own.helm, environment=environment, home=home, kubeconfig=given.kubeconfig
    )
    return HelmOperator(
        entries=entries,
        helm=program,
        now=process.timestamp,
        period=given.own.reconcile_period,
        workers=given.workers,
        hides_overrides=given.own.suppress_override_values,
    )


def _place(file: Path, watch: HelmWatch) -> Path:
    """Charts are named relative to the working directory, as in helm-operator."""
    return Path(watch.chart) if paths.exists(Path(watch.chart)) else file.parent / watch.chart


def _default_workers() -> int:
    return min(_MOST_WORKERS, os.cpu_count() or 1)


async def _once(operator: HelmOperator, given: Flags, environment: Mapping[str, str]) -> int:
    """One pass over all objects, one after the other; whether something differs or failed."""
    files = [given.kubeconfig] if given.kubeconfig else []
    config = kubeconfig.load(paths=files, environment=environment)
    code = 0
    async with HttpCluster(config, user_agent=process.user_agent(_NAME)) as cluster:
        client = Client(cluster, None, field_manager=_NAME)
        for reconciler in operator.reconcilers(client):
            gvk = reconciler.watch.gvk
            for request in await _requests(cluster, client, gvk, environment):
                lines: list[str] = []
                try:
                    if given.own.check:
                        lines = await reconciler.differences(request)
                    else:
                        await reconciler.reconcile(request)
                except OlmkitError as error:
                    lines = [f"error: {error}"]
                if lines:
                    code = 1
                    print(f"{gvk.kind} {request}:", *lines, sep="\n  ")  # noqa: T201 - the result
    return code


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
        _say(f"error: {error.message}", error.hint)
    for one in error.diagnostics:
        _say(f"error[{one.rule}]: {one.at}: {one.message}", one.hint)


def _say(text: str, hint: str) -> None:
    print(text, *([f"hint: {hint}"] if hint else []), sep="\n", file=sys.stderr)  # noqa: T201
