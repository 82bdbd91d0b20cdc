"""The flags that an operator's process has, with the names that operators in Go have.

Deployments, dashboards and people know these names: kubebuilder's scaffolds have
had them for years. An author adds flags of an own with `Operator.add_flags`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.runtime.serve import webhook
from olmkit.runtime.serve.webhook import CertificateFiles

_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingFiles:
    """A certificate as flags name it; without a folder, where it lies otherwise."""

    folder: str = ""
    certificate: str = "tls.crt"
    key: str = "tls.key"

    @property
    def files(self) -> CertificateFiles | None:
        """The files of the folder; None when no folder was given."""
        if not self.folder:
            return None
        return CertificateFiles(
            folder=Path(self.folder), certificate=self.certificate, key=self.key
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """What was typed, or the defaults. Times in seconds; addresses as `HOST:PORT`, 0: none."""

    kubeconfig: Path | None = None
    health_address: str = ":8081"
    watch_patience: float = 300.0
    metrics_address: str = "0"
    metrics_secure: bool = True
    metrics_files: ServingFiles = ServingFiles()
    webhook_address: str = f":{webhook.PORT}"
    webhook_files: ServingFiles = ServingFiles()
    leader_elect: bool = False
    leader_namespace: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    workers: int = 1
    log_level: str = "info"
    own: argparse.Namespace = field(default_factory=argparse.Namespace)
    """Everything as argparse gives it, the author's own flags among it."""


def parse(
    words: Sequence[str],
    *,
    name: str,
    description: str = "",
    workers: int = 1,
    add: Callable[[argparse.ArgumentParser], None] | None = None,
) -> Flags:
    """The flags of a command line; `--flag` alone means true, as in Go.

    Ends the process with code 2 and a usage message for what it does not know, and with
    code 0 after `--help`.
    """
    given = _parser(name, description, workers, add).parse_args(words)
    return Flags(
        kubeconfig=given.kubeconfig,
        health_address=given.health_probe_bind_address,
        watch_patience=given.watch_patience,
        metrics_address=given.metrics_bind_address,
        metrics_secure=given.metrics_secure,
        metrics_files=ServingFiles(
            folder=given.metrics_cert_path,
            certificate=given.metrics_cert_name,
            key=given.metrics_cert_key,
        ),
        webhook_address=given.webhook_bind_address,
        webhook_files=ServingFiles(
            folder=given.webhook_cert_path,
            certificate=given.webhook_cert_name,
            key=given.webhook_cert_key,
        ),
        leader_elect=given.leader_elect,
        leader_namespace=given.leader_election_namespace,
        lease_duration=given.leader_elect_lease_duration,
        renew_deadline=given.leader_elect_renew_deadline,
        retry_period=given.leader_elect_retry_period,
        workers=given.max_concurrent_reconciles,
        log_level=given.log_level,
        own=given,
    )


def _parser(
    name: str,
    description: str,
    workers: int,
    add: Callable[[argparse.ArgumentParser], None] | None,
) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=name, description=description or f"The operator {name}.", allow_abbrev=False
    )

    def text(flag: str, default: str, metavar: str, words: str) -> None:
        parser.add_argument(flag, default=default, metavar=metavar, help=words)

    def switch(flag: str, words: str, *, default: bool = False) -> None:
        parser.add_argument(
            flag, type=_truth, nargs="?", const=True, default=default, metavar="BOOL", help=words
        )

    def seconds(flag: str, default: float, words: str) -> None:
        parser.add_argument(flag, type=float, default=default, metavar="SECONDS", help=words)

    def files(prefix: str, words: str) -> None:
        text(f"--{prefix}-cert-path", "", "FOLDER", words)
        text(f"--{prefix}-cert-name", "tls.crt", "FILE", "name of the certificate")
        text(f"--{prefix}-cert-key", "tls.key", "FILE", "name of its key")

    parser.add_argument("--kubeconfig", type=Path, help="instead of the pod's service account")
    text("--health-probe-bind-address", ":8081", "HOST:PORT", "where probes answer; 0: nowhere")
    seconds("--watch-patience", 300.0, "how long a watch may be lost before /healthz fails")
    text("--metrics-bind-address", "0", "HOST:PORT", "where metrics are served; 0: nowhere")
    switch("--metrics-secure", "serve metrics over TLS, to whom RBAC allows", default=True)
    files("metrics", "the metrics' certificate; none: self-signed")
    text("--webhook-bind-address", f":{webhook.PORT}", "HOST:PORT", "where webhooks answer")
    files("webhook", "the webhooks' certificate; none: where OLM mounts it")
    switch("--leader-elect", "let one of several replicas work")
    text(
        "--leader-election-namespace",
        "",
        "NAME",
        "namespace of the lease; default: that of the pod",
    )
    seconds("--leader-elect-lease-duration", 15.0, "how long a silent leader is respected")
    seconds("--leader-elect-renew-deadline", 10.0, "how long a leader tries to renew its lease")
    seconds("--leader-elect-retry-period", 2.0, "pause between tries")
    switch("--enable-http2", "accepted, without effect: HTTP/1.1 is used")
    parser.add_argument(
        "--max-concurrent-reconciles", type=_count, default=workers, metavar="N", help="workers"
    )
    parser.add_argument("--log-level", default="info", choices=_LEVELS)
    if add is not None:
        add(parser)
    return parser


def _truth(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"`{text}` is neither true nor false")
    return text.lower() == "true"


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above 0")
    return int(text)
