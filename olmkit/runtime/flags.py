"""The flags that an operator's process has, with the names that operators in Go have.

Deployments, dashboards and people know these names: kubebuilder's scaffolds have
had them for years. Arguments are read as Go reads them: `-flag` is `--flag`, truth values and
durations have Go's forms, and the flags of zap set the log. An author adds flags of an own with
`Operator.add_flags`.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from olmkit.base.go import durations
from olmkit.runtime import logs
from olmkit.runtime.serve import webhook
from olmkit.runtime.serve.webhook import CertificateFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingFiles:
    """A certificate as flags name it; without a folder, its default place."""

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
    debug_address: str = "0"
    webhook_address: str = f":{webhook.PORT}"
    webhook_files: ServingFiles = ServingFiles()
    leader_elect: bool = False
    leader_namespace: str = ""
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    workers: int = 1
    log_level: str = "info"
    log_format: str = "text"
    log_time: str = "iso8601"
    log_tracebacks: bool = True
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
    parser = _parser(name, description, workers, add)
    given = parser.parse_args(_as_in_go(words, parser))
    is_developed = given.zap_devel
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
        debug_address=given.debug_bind_address,
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
        log_level=given.log_level or ("debug" if is_developed else "info"),
        log_format=given.log_format or ("json" if is_developed is False else "text"),
        log_time=given.log_time,
        log_tracebacks=given.log_tracebacks,
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

    def text(flag: str, default: str, metavar: str, words: str, *old: str) -> None:
        parser.add_argument(flag, *old, default=default, metavar=metavar, help=words)

    def switch(flag: str, words: str, *old: str, default: bool = False) -> None:
        parser.add_argument(
            flag,
            *old,
            type=_truth,
            nargs="?",
            const=True,
            default=default,
            metavar="BOOL",
            help=words,
        )

    def seconds(flag: str, default: float, words: str) -> None:
        parser.add_argument(flag, type=_seconds, default=default, metavar="SECONDS", help=words)

    def files(prefix: str, words: str) -> None:
        text(f"--{prefix}-cert-path", "", "FOLDER", words)
        text(f"--{prefix}-cert-name", "tls.crt", "FILE", "name of the certificate")
        text(f"--{prefix}-cert-key", "tls.key", "FILE", "name of its key")

    parser.add_argument("--kubeconfig", type=Path, help="instead of the pod's service account")
    text("--health-probe-bind-address", ":8081", "HOST:PORT", "where probes answer; 0: nowhere")
    seconds("--watch-patience", 300.0, "how long a watch may be lost before /healthz fails")
    text(
        "--metrics-bind-address",
        "0",
        "HOST:PORT",
        "where metrics are served; 0: nowhere",
        "--metrics-addr",
    )
    switch("--metrics-secure", "serve metrics over TLS, to whom RBAC allows", default=True)
    files("metrics", "the metrics' certificate; none: self-signed")
    text(
        "--debug-bind-address",
        "0",
        "HOST:PORT",
        "where tasks and profiles are served, a loopback address; 0: nowhere",
    )
    text("--webhook-bind-address", f":{webhook.PORT}", "HOST:PORT", "where webhooks answer")
    files("webhook", "the webhooks' certificate; none: where OLM mounts it")
    switch("--leader-elect", "let one of several replicas work", "--enable-leader-election")
    text(
        "--leader-election-namespace",
        "",
        "NAME",
        "namespace of the lease; default: that of the pod",
    )
    seconds("--leader-elect-lease-duration", 15.0, "how long a silent leader is respected")
    seconds("--leader-elect-renew-deadline", 10.0, "how long a leader tries to renew its lease")
    seconds("--leader-elect-retry-period", 2.0, "pause between tries")
    parser.add_argument(
        "--enable-http2",
        type=_without_http2,
        nargs="?",
        const="true",
        metavar="BOOL",
        help="only false is accepted: the servers use HTTP/1.1",
    )
    parser.add_argument(
        "--max-concurrent-reconciles", type=_count, default=workers, metavar="N", help="workers"
    )
    _add_log_flags(parser, switch)
    if add is not None:
        add(parser)
    return parser


def _add_log_flags(parser: argparse.ArgumentParser, switch: Callable[..., None]) -> None:
    parser.add_argument("--log-level", choices=logs.LEVELS, help="default: info")
    parser.add_argument("--log-format", choices=logs.FORMATS, help="default: text")
    parser.add_argument(
        "--log-time", choices=logs.TIMES, default="iso8601", help="default: iso8601"
    )
    switch("--log-tracebacks", "where the program failed, behind errors", default=True)
    zap = parser.add_argument_group("flags of operators in Go, for the same settings")

    def alias(flag: str, setting: str, read: Callable[[str], object], metavar: str) -> None:
        zap.add_argument(
            flag,
            dest=setting,
            type=read,
            default=argparse.SUPPRESS,
            metavar=metavar,
            help=f"--{setting.replace('_', '-')}",
        )

    alias("--zap-log-level", "log_level", _zap_level, "LEVEL")
    alias("--zap-encoder", "log_format", _zap_encoder, "console|json")
    alias("--zap-time-encoding", "log_time", _zap_time, "FORM")
    alias("--zap-stacktrace-level", "log_tracebacks", _zap_stacktraces, "LEVEL")
    zap.add_argument(
        "--zap-devel",
        type=_truth,
        nargs="?",
        const=True,
        metavar="BOOL",
        help="true: debug and text, false: info and json, unless another flag says it",
    )


_WORD = re.compile(r"-(?P<flag>[A-Za-z][\w-]+)(?P<value>=.*)?", re.DOTALL)


def _as_in_go(words: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """The words with two dashes where one is in front of a flag that the parser knows."""
    known = {flag for action in parser._actions for flag in action.option_strings}  # noqa: SLF001
    found: list[str] = []
    for place, word in enumerate(words):
        if word == "--":
            return [*found, *words[place:]]
        given = _WORD.fullmatch(word)
        is_known = given is not None and f"--{given['flag']}" in known
        found.append(f"-{word}" if is_known else word)
    return found


def _truth(text: str) -> bool:
    """As Go's `strconv.ParseBool` reads it, and in any case of letters."""
    value = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    if text.lower() not in value:
        raise argparse.ArgumentTypeError(f"`{text}` is neither true nor false")
    return value[text.lower()]


def _seconds(text: str) -> float:
    """A number of seconds, or a duration of Go such as `1m30s`."""
    try:
        return float(text) if _NUMBER.fullmatch(text) else durations.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")
_ZAP_LEVELS = {"debug": "debug", "info": "info", "warn": "warning", "error": "error"}
_ZAP_LEVELS |= {"panic": "error", "dpanic": "error", "fatal": "error"}


def _zap_level(text: str) -> str:
    """A level of zap, or its number: 0 is info, and any above it debug."""
    if text.isascii() and text.isdigit():
        return "debug" if int(text[:9]) else "info"
    found = _ZAP_LEVELS.get(text.lower())
    if found is None:
        raise argparse.ArgumentTypeError(
            f"`{text}` is not debug, info, warn, error, panic or a number"
        )
    return found


def _zap_encoder(text: str) -> str:
    found = {"console": "text", "json": "json"}.get(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"`{text}` is not console or json")
    return found


def _zap_time(text: str) -> str:
    if text.lower() not in logs.TIMES:
        raise argparse.ArgumentTypeError(f"`{text}` is not one of {', '.join(logs.TIMES)}")
    return text.lower()


def _zap_stacktraces(text: str) -> bool:
    """Whether an error has a traceback; zap's levels above error leave it out."""
    level = text.lower()
    if level not in _ZAP_LEVELS:
        raise argparse.ArgumentTypeError(f"`{text}` is not info, warn, error or panic")
    return level not in ("panic", "dpanic", "fatal")


def _without_http2(text: str) -> bool:
    if _truth(text):
        raise argparse.ArgumentTypeError("HTTP/2 is not served: leave the flag out")
    return False


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above 0")
    return int(text)
