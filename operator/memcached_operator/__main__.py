"""The process: `python -m memcached_operator`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from memcached_operator import decisions, webhooks, wiring
from memcached_operator.reconciler import Settings
from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.edges import kubeconfig
from olmkit.edges.cluster import HttpCluster
from olmkit.edges.kubeconfig import ClusterConfig
from olmkit.runtime import certificates, metrics_server, probes, serving, webhook
from olmkit.runtime import manager as managers
from olmkit.runtime.cache import parse_namespaces
from olmkit.runtime.leader import ElectionSettings, ThreadedElector
from olmkit.runtime.manager import Group, LeadershipLost, Manager
from olmkit.runtime.metrics import Registry, RestClientMetrics
from olmkit.runtime.operator_condition import OperatorCondition
from olmkit.runtime.webhook import CertificateFiles, WebhookServer

NAME = "memcached-operator"
LOCK = "86f835c3.example.com"
_GRACE = 8.0  # within the 10 s that the pod has to end
_LOG = logging.getLogger(__name__)


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"`{text}` is neither true nor false")
    return text.lower() == "true"


def arguments(words: Sequence[str]) -> argparse.Namespace:
    """The flags that a scaffolded operator has; `--flag` alone means true, as in Go."""
    parser = argparse.ArgumentParser(
        prog=NAME, description="Keeps a Deployment and a Service for each Memcached."
    )

    def text(flag: str, default: str, metavar: str, words: str) -> None:
        parser.add_argument(flag, default=default, metavar=metavar, help=words)

    def switch(flag: str, words: str, *, default: bool = False) -> None:
        parser.add_argument(
            flag, type=_truth, nargs="?", const=True, default=default, metavar="BOOL", help=words
        )

    def seconds(flag: str, default: float, words: str) -> None:
        parser.add_argument(flag, type=float, default=default, metavar="SECONDS", help=words)

    parser.add_argument("--kubeconfig", type=Path, help="instead of the pod's service account")
    text("--health-probe-bind-address", ":8081", "HOST:PORT", "where probes answer; 0: nowhere")
    text("--metrics-bind-address", "0", "HOST:PORT", "where metrics are served; 0: nowhere")
    switch("--metrics-secure", "serve metrics over TLS, to whom RBAC allows", default=True)
    text("--metrics-cert-path", "", "FOLDER", "the metrics' certificate; none: self-signed")
    text("--metrics-cert-name", "tls.crt", "FILE", "name of the certificate")
    text("--metrics-cert-key", "tls.key", "FILE", "name of its key")
    text("--webhook-bind-address", f":{webhook.PORT}", "HOST:PORT", "where webhooks answer")
    text("--webhook-cert-path", "", "FOLDER", "the webhooks' certificate; where OLM mounts it")
    text("--webhook-cert-name", "tls.crt", "FILE", "name of the certificate")
    text("--webhook-cert-key", "tls.key", "FILE", "name of its key")
    switch("--leader-elect", "let one of several replicas work")
    text("--leader-election-namespace", "", "NAME", "where the lease lies; the pod's own")
    seconds("--leader-elect-lease-duration", 15.0, "how long a silent leader is respected")
    seconds("--leader-elect-renew-deadline", 10.0, "how long a leader tries to stay it")
    seconds("--leader-elect-retry-period", 2.0, "pause between tries")
    switch("--enable-http2", "accepted, without effect: HTTP/1.1 is spoken")
    parser.add_argument("--max-concurrent-reconciles", type=int, default=2, metavar="N")
    parser.add_argument(
        "--log-level", default="info", choices=("debug", "info", "warning", "error")
    )
    return parser.parse_args(words)


def settings(environment: Mapping[str, str]) -> Settings:
    """What the environment says about the pods."""
    user = environment.get("MEMCACHED_RUN_AS_USER", str(decisions.USER))
    if user and not (user.isascii() and user.isdigit()):
        raise ConfigurationError(f"`MEMCACHED_RUN_AS_USER` is no number: `{user}`")
    return Settings(image=environment.get("MEMCACHED_IMAGE", ""), user=int(user) if user else None)


def webhook_files(
    given: argparse.Namespace, environment: Mapping[str, str]
) -> CertificateFiles | None:
    """Where the webhooks' certificate lies; None when there is none, and so no webhooks.

    A folder that is asked for must hold one; the usual one need not, as when the operator
    runs outside a cluster.
    """
    if environment.get("ENABLE_WEBHOOKS") == "false":
        return None
    folder = given.webhook_cert_path
    files = CertificateFiles(
        folder=Path(folder) if folder else webhook.default_files(environment).folder,
        certificate=given.webhook_cert_name,
        key=given.webhook_cert_key,
    )
    return files if folder or files.exist else None


def add_webhooks(
    manager: Manager, given: argparse.Namespace, environment: Mapping[str, str]
) -> WebhookServer | None:
    """The webhooks, where they have an address and a certificate."""
    address = serving.parse_address(given.webhook_bind_address)
    files = webhook_files(given, environment)
    if address is None or files is None:
        _LOG.info("webhooks are not served: they have no address or no certificate")
        return None
    server = WebhookServer(address, files, registry=manager.registry)
    webhooks.add_to(server)
    manager.add(server, Group.WEBHOOKS)
    return server


def add_servers(
    manager: Manager, given: argparse.Namespace, hooks: WebhookServer | None = None
) -> None:
    """Probes and metrics, where the flags want them."""
    address = serving.parse_address(given.health_probe_bind_address)
    if address is not None:
        live = {"ping": probes.ping, "watches": probes.watches_kept(manager.cache)}
        # Nothing here waits for lists: they may need a conversion, which reaches only a
        # pod that is ready.
        ready = {"ping": probes.ping, "manager": probes.manager_ready(manager)}
        if hooks is not None:
            ready["webhook"] = hooks.started()
        manager.add(probes.server(address, live=live, ready=ready), Group.SERVERS)
    address = serving.parse_address(given.metrics_bind_address)
    if address is None:
        return
    if not given.metrics_secure:
        manager.add(metrics_server.server(address, manager.registry), Group.SERVERS)
        return
    pair: tuple[Path | None, Path | None] = (None, None)
    if given.metrics_cert_path:
        folder = Path(given.metrics_cert_path)
        pair = (folder / given.metrics_cert_name, folder / given.metrics_cert_key)
    tls = certificates.context(*pair)
    if pair[0] is not None and pair[1] is not None:
        manager.add(certificates.Reloader(tls, pair[0], pair[1]), Group.SERVERS)
    access = metrics_server.Access(manager.cluster)
    manager.add(
        metrics_server.server(address, manager.registry, tls=tls, access=access), Group.SERVERS
    )


def elector(
    config: ClusterConfig, given: argparse.Namespace, registry: Registry
) -> ThreadedElector | None:
    """Who says whether this replica works; None when it always does."""
    if not given.leader_elect:
        return None
    status = registry.gauge(
        "leader_election_master_status", "1 while this process leads", ("name",)
    ).child(LOCK)
    in_pod = config.namespace if kubeconfig.SERVICE_ACCOUNT.is_dir() else ""
    return ThreadedElector(
        lambda: HttpCluster(config, user_agent=NAME),
        ElectionSettings(
            name=LOCK,
            namespace=given.leader_election_namespace or in_pod,
            lease_duration=given.leader_elect_lease_duration,
            renew_deadline=given.leader_elect_renew_deadline,
            retry_period=given.leader_elect_retry_period,
        ),
        on_change=lambda leads: status.set(float(leads)),
    )


async def run(given: argparse.Namespace, environment: Mapping[str, str]) -> None:
    """Work until a signal says stop."""
    paths = [given.kubeconfig] if given.kubeconfig else []
    config = kubeconfig.load(paths=paths, environment=environment)
    namespaces = parse_namespaces(environment.get("WATCH_NAMESPACE"))
    registry = Registry()
    observer = RestClientMetrics(registry).observe
    async with HttpCluster(config, user_agent=NAME, observer=observer) as cluster:
        manager = Manager(
            cluster,
            name=NAME,
            cache_settings=wiring.CACHE.watching(namespaces),
            registry=registry,
            elector=elector(config, given, registry),
            graceful_shutdown_timeout=_GRACE,
        )
        add_servers(manager, given, add_webhooks(manager, given, environment))
        wiring.add_controller(
            manager, settings=settings(environment), workers=given.max_concurrent_reconciles
        )
        told = OperatorCondition.of(
            manager.client, environment, namespace=config.namespace, now=wiring.now
        )
        if told is not None:
            manager.add(told.upgradeable)
        managers.stop_on_signals(manager)
        await manager.run()


def main() -> int:
    given = arguments(sys.argv[1:])
    logging.basicConfig(
        level=given.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s %(message)s"
    )
    try:
        asyncio.run(run(given, os.environ))
    except (OlmkitError, LeadershipLost) as error:
        _LOG.error("%s", error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
