"""The process of an operator: the parts that every operator needs around its controllers.

An `Operator` describes the author's part; `main` reads flags and environment, adds probes, metrics,
webhooks and leader election, and runs until a signal stops it. For anything else, build a `Manager`
as `assemble` does.
"""

from __future__ import annotations

import argparse
import asyncio
import datetime
import gc
import importlib.metadata
import logging
import os
import platform
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from olmkit import __version__
from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.network import http_server
from olmkit.kube.api import Cluster
from olmkit.runtime import dump, flags, logs, traces
from olmkit.runtime import manager as managers
from olmkit.runtime.durations import Duration
from olmkit.runtime.flags import Flags
from olmkit.runtime.lead.leader import ElectionSettings, ThreadedElector
from olmkit.runtime.manager import Elector, Group, Manager
from olmkit.runtime.metrics import Registry, RestClientMetrics
from olmkit.runtime.operator_condition import OperatorCondition
from olmkit.runtime.serve import certificates, metrics_server, probes, webhook
from olmkit.runtime.serve.webhook import CertificateFiles, WebhookServer
from olmkit.runtime.traces import Traces
from olmkit.runtime.watch.cache import CacheSettings, parse_namespaces
from olmkit.runtime.work import controller as controllers
from olmkit.runtime.work.controller import Controller

_LOG = logging.getLogger(__name__)

_NESTING = 11_000
INTERRUPTED = 130  # the exit code of shells for SIGINT
_LAST_SECONDS = 2.0  # seconds after the manager has ended

AddControllers = Callable[[Manager, Flags, Mapping[str, str]], None]
"""Adds controllers to a manager; it gets the flags and the environment of the process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operator:
    """The author's part of the process.

    `name` is the field manager; `lock` is the name of the Lease for leader election, unique to this
    operator; `graceful_shutdown_timeout`, in seconds, should be less than the grace period of the
    pod. `traces` overrides the environment variables of OpenTelemetry.
    """

    name: str
    lock: str
    add_controllers: AddControllers
    add_webhooks: Callable[[WebhookServer], None] | None = None
    add_flags: Callable[[argparse.ArgumentParser], None] | None = None
    cache: CacheSettings = field(default_factory=CacheSettings)
    description: str = ""
    workers: int = 1
    graceful_shutdown_timeout: Duration = 8.0
    traces: Traces | None = None


def main(
    operator: Operator,
    arguments: Sequence[str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run the operator as a process, and return the exit code.

    The code is 1 after a fatal error, whose reason is in the log; the kubelet then restarts the
    container with back-off. Two seconds after the manager has ended, the process exits, even if a
    thread still hangs.
    """
    given = parse_flags(operator, sys.argv[1:] if arguments is None else arguments)
    log_as(given)
    # Objects may be nested ten thousand deep, and before Python 3.12 this limit holds for
    # decoding too: one such object would make a whole list unreadable.
    sys.setrecursionlimit(max(_NESTING, sys.getrecursionlimit()))
    # Imported modules stay in memory: a full garbage collection, which blocks the event loop, can
    # skip them.
    gc.freeze()
    last = threading.Timer(_LAST_SECONDS, _end_process)
    last.daemon = True

    async def whole() -> None:
        try:
            await run(operator, given, os.environ if environment is None else environment)
        except OlmkitError as error:
            _LOG.error("%s", error, extra={"hint": error.hint})
            raise
        finally:
            last.start()

    try:
        asyncio.run(whole())
    except OlmkitError:
        return 1
    except KeyboardInterrupt:  # while it starts, before the manager handles signals
        return INTERRUPTED
    finally:
        last.cancel()
    return 0


def log_as(flags: Flags) -> None:
    """Log to standard error as the flags say."""
    made = logs.handler(flags.log_format, time=flags.log_time, tracebacks=flags.log_tracebacks)
    logging.basicConfig(level=flags.log_level.upper(), handlers=[made])


def _end_process() -> None:
    _LOG.error("exiting: a thread or task of the process did not end")
    logging.shutdown()
    os._exit(1)


def parse_flags(operator: Operator, arguments: Sequence[str]) -> Flags:
    """Parse the flags of an operator's command line."""
    return flags.parse(
        arguments,
        name=operator.name,
        description=operator.description,
        workers=operator.workers,
        add=operator.add_flags,
    )


async def run(operator: Operator, flags: Flags, environment: Mapping[str, str]) -> None:
    """Run until a signal stops the operator; raise the error that ended it early."""
    paths = [flags.kubeconfig] if flags.kubeconfig else []
    config = kubeconfig.load(paths=paths, environment=environment)
    registry = Registry()
    observer = RestClientMetrics(registry).observe
    agent = user_agent(operator.name)
    seen = operator.traces or traces.from_environment(environment, service=operator.name)
    tracer = None if seen is None else seen.of_request
    facts = {"program": agent, "server": urlsplit(config.server).netloc, "traces": bool(seen)}
    _LOG.info("operator starts", extra=facts | {"python": platform.python_version()})
    try:
        async with HttpCluster(
            config, user_agent=agent, observer=observer, tracer=tracer
        ) as cluster:
            manager = assemble(
                operator,
                flags,
                environment,
                cluster=cluster,
                registry=registry,
                elector=elector(operator, config, flags, registry),
                namespace=config.namespace,
                seen=seen,
            )
            managers.stop_on_signals(manager)
            give_back = dump.on_signal(manager)
            try:
                await manager.run()
            finally:
                give_back()
    finally:
        if seen is not None:
            await seen.flush()


def assemble(
    operator: Operator,
    flags: Flags,
    environment: Mapping[str, str],
    *,
    cluster: Cluster,
    registry: Registry,
    elector: Elector | None = None,
    namespace: str = "",
    seen: Traces | None = None,
) -> Manager:
    """Return a manager with all its parts, not started; `namespace` is that of the pod."""
    manager = Manager(
        cluster,
        name=operator.name,
        cache_settings=operator.cache.watching(
            parse_namespaces(environment.get("WATCH_NAMESPACE"))
        ),
        registry=registry,
        elector=elector,
        graceful_shutdown_timeout=operator.graceful_shutdown_timeout,
        traces=seen,
    )
    hooks = _add_webhooks(operator, manager, flags, environment)
    _add_probes(manager, flags, hooks)
    _add_metrics(manager, flags)
    _add_debug(manager, flags)
    with controllers.noted() as built:
        operator.add_controllers(manager, flags, environment)
    _check_all_run(built, manager)
    operator_condition = OperatorCondition.of(
        manager.client, environment, namespace=namespace, now=timestamp
    )
    if operator_condition is not None:
        manager.add(operator_condition.upgradeable)
    return manager


def _check_all_run(built: Sequence[Controller], manager: Manager) -> None:
    """Raise `ConfigurationError` for a controller that was built and not added to the manager."""
    forgotten = [one.name for one in built if one not in manager.controllers]
    if forgotten:
        names = ", ".join(f"`{name}`" for name in forgotten)
        raise ConfigurationError(
            f"a controller was built but not added to the manager: {names}",
            hint="pass it to `manager.add_controller`",
        )


def elector(
    operator: Operator, config: ClusterConfig, flags: Flags, registry: Registry
) -> ThreadedElector | None:
    """Return the elector; None if leader election is off.

    Raises `ConfigurationError` if the namespace of the lease is unknown.
    """
    if not flags.leader_elect:
        return None
    status = registry.gauge(
        "leader_election_master_status", "1 while this process is leader", ("name",)
    ).labels(operator.lock)
    in_pod = config.namespace if kubeconfig.SERVICE_ACCOUNT.is_dir() else ""
    return ThreadedElector(
        lambda: HttpCluster(config, user_agent=user_agent(operator.name)),
        ElectionSettings(
            name=operator.lock,
            namespace=flags.leader_namespace or in_pod,
            lease_duration=flags.lease_duration,
            renew_deadline=flags.renew_deadline,
            retry_period=flags.retry_period,
        ),
        on_change=lambda leads: status.set(float(leads)),
    )


def webhook_files(flags: Flags, environment: Mapping[str, str]) -> CertificateFiles | None:
    """Return the files of the webhook certificate; None if no webhooks are served.

    A folder set by a flag must contain a certificate; the default folder may be missing, for
    example outside a cluster.
    """
    if environment.get("ENABLE_WEBHOOKS") == "false":
        return None
    asked = flags.webhook_files.files
    if asked is not None:
        return asked
    usual = webhook.default_files(environment)
    return usual if usual.exist else None


def user_agent(name: str) -> str:
    """Return the user agent for audit logs, with the version of the distribution `name`."""
    try:
        own = f"{name}/{importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        own = name
    return f"{own} olmkit/{__version__}"


def timestamp() -> str:
    """Return the time in the format of conditions: RFC 3339, UTC, whole seconds."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _add_webhooks(
    operator: Operator, manager: Manager, flags: Flags, environment: Mapping[str, str]
) -> WebhookServer | None:
    """Add the webhook server if it has an address and a certificate."""
    if operator.add_webhooks is None:
        return None
    address = http_server.parse_address(flags.webhook_address)
    files = webhook_files(flags, environment)
    if address is None or files is None:
        _LOG.info("webhooks are not served: they have no address or no certificate")
        return None
    server = WebhookServer(address, files, registry=manager.registry)
    operator.add_webhooks(server)
    manager.add(server, Group.WEBHOOKS)
    return server


def _add_probes(manager: Manager, flags: Flags, hooks: WebhookServer | None) -> None:
    address = http_server.parse_address(flags.health_address)
    if address is None:
        return
    kept = probes.watches_kept(manager.cache, patience=flags.watch_patience)
    live = {"ping": probes.ping, "watches": kept}
    # No check waits for lists: they may need a conversion, which reaches only a pod
    # that is ready.
    ready = {
        "ping": probes.ping,
        "manager": probes.manager_ready(manager),
        "watches": probes.watches_granted(manager.cache),
    }
    if hooks is not None:
        ready["webhook"] = hooks.started()
    manager.add(probes.server(address, live=live, ready=ready), Group.SERVERS)


def _add_debug(manager: Manager, flags: Flags) -> None:
    address = http_server.parse_address(flags.debug_address)
    if address is not None:
        from olmkit.runtime.serve import debug_server

        manager.add(debug_server.server(address, manager), Group.SERVERS)


def _add_metrics(manager: Manager, flags: Flags) -> None:
    address = http_server.parse_address(flags.metrics_address)
    if address is None:
        return
    if not flags.metrics_secure:
        manager.add(metrics_server.server(address, manager.registry), Group.SERVERS)
        return
    files = flags.metrics_files.files
    tls = certificates.context(*(files.paths if files else (None, None)))
    if files is not None:
        manager.add(
            certificates.Reloader(tls, *files.paths, registry=manager.registry), Group.SERVERS
        )
    access = metrics_server.AccessReviewer(manager.cluster)
    manager.add(
        metrics_server.server(address, manager.registry, tls=tls, access=access), Group.SERVERS
    )
