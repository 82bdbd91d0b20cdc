"""The command-line flags of an operator, with the same names as in operators written in Go.

Existing Deployments and documentation use these names, which come from kubebuilder's scaffolds.
Arguments are parsed as in Go: `-flag` is `--flag`, booleans and durations have Go's forms, and the
flags of zap configure logging. Authors add their flags with `Operator.add_flags`.
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
    """The files of a certificate, as set by flags; without a folder, the default path is used."""

    folder: str = ""
    certificate: str = "tls.crt"
    key: str = "tls.key"

    @property
    def files(self) -> CertificateFiles | None:
        """Return the files in the folder; None if no folder was given."""
        if not self.folder:
            return None
        return CertificateFiles(
            folder=Path(self.folder), certificate=self.certificate, key=self.key
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Flags:
    """The values of the flags. Times are in seconds, addresses are `HOST:PORT` or 0 for none."""

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
    """All parsed arguments from argparse, including the flags that the author added."""


def parse(
    arguments: Sequence[str],
    *,
    name: str,
    description: str = "",
    workers: int = 1,
    add: Callable[[argparse.ArgumentParser], None] | None = None,
) -> Flags:
    """Parse the flags of a command line; `--flag` alone means true, as in Go.

    Ends the process with exit code 2 and a usage message for an unknown flag, and with 0 after
    `--help`.
    """
    parser = _parser(name, description, workers, add)
    given = parser.parse_args(_as_in_go(arguments, parser))
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
    parser.add_argument("--kubeconfig", type=Path, help="replaces the pod's service account")
    _add_server_flags(parser)
    _add_leader_flags(parser)
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
    _add_log_flags(parser)
    if add is not None:
        add(parser)
    return parser


def _add_server_flags(parser: argparse.ArgumentParser) -> None:
    """Add the addresses of probes, metrics, debugging and webhooks, and their certificates."""

    def address(flag: str, default: str, text: str, *old: str) -> None:
        parser.add_argument(flag, *old, default=default, metavar="HOST:PORT", help=text)

    def files(prefix: str, words: str) -> None:
        for flag, default, metavar, text in (
            ("path", "", "FOLDER", words),
            ("name", "tls.crt", "FILE", "name of the certificate"),
            ("key", "tls.key", "FILE", "name of its key"),
        ):
            parser.add_argument(
                f"--{prefix}-cert-{flag}", default=default, metavar=metavar, help=text
            )

    address("--health-probe-bind-address", ":8081", "address of the probes; 0: none")
    _add_seconds(
        parser, "--watch-patience", 300.0, "how long a watch may fail before /healthz fails"
    )
    address("--metrics-bind-address", "0", "address of the metrics; 0: none", "--metrics-addr")
    _add_switch(
        parser,
        "--metrics-secure",
        "serve metrics over TLS, to users whom RBAC allows",
        default=True,
    )
    files("metrics", "folder of the metrics certificate; default: self-signed")
    address("--debug-bind-address", "0", "loopback address of tasks and profiles; 0: none")
    address("--webhook-bind-address", f":{webhook.PORT}", "address of the webhooks")
    files("webhook", "folder of the webhook certificate; default: where OLM mounts it")


def _add_leader_flags(parser: argparse.ArgumentParser) -> None:
    _add_switch(parser, "--leader-elect", "let only one replica work", "--enable-leader-election")
    parser.add_argument(
        "--leader-election-namespace",
        default="",
        metavar="NAME",
        help="namespace of the Lease; default: that of the pod",
    )
    for flag, default, words in (
        ("lease-duration", 15.0, "time until an unrenewed lease expires"),
        ("renew-deadline", 10.0, "how long a leader tries to renew its lease"),
        ("retry-period", 2.0, "pause between attempts to get or renew the lease"),
    ):
        _add_seconds(parser, f"--leader-elect-{flag}", default, words)


def _add_switch(
    parser: argparse.ArgumentParser, flag: str, help_text: str, *old: str, default: bool = False
) -> None:
    """Add a boolean flag; without a value, it means true."""
    parser.add_argument(
        flag,
        *old,
        type=_truth,
        nargs="?",
        const=True,
        default=default,
        metavar="BOOL",
        help=help_text,
    )


def _add_seconds(
    parser: argparse.ArgumentParser, flag: str, default: float, help_text: str
) -> None:
    parser.add_argument(flag, type=_seconds, default=default, metavar="SECONDS", help=help_text)


def _add_log_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--log-level", choices=logs.LEVELS, help="default: info")
    parser.add_argument("--log-format", choices=logs.FORMATS, help="default: text")
    parser.add_argument(
        "--log-time", choices=logs.TIMES, default="iso8601", help="default: iso8601"
    )
    _add_switch(parser, "--log-tracebacks", "log errors with their traceback", default=True)
    zap = parser.add_argument_group("flags of operators in Go for the same settings")

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
        help="true: level debug and text, false: info and JSON, unless another flag sets it",
    )


_WORD = re.compile(r"-(?P<flag>[A-Za-z][\w-]+)(?P<value>=.*)?", re.DOTALL)


def _as_in_go(arguments: Sequence[str], parser: argparse.ArgumentParser) -> list[str]:
    """Return the arguments with two dashes for each known flag that has one."""
    known = {flag for action in parser._actions for flag in action.option_strings}  # noqa: SLF001
    found: list[str] = []
    for place, word in enumerate(arguments):
        if word == "--":
            return [*found, *arguments[place:]]
        given = _WORD.fullmatch(word)
        is_known = given is not None and f"--{given['flag']}" in known
        found.append(f"-{word}" if is_known else word)
    return found


def _truth(text: str) -> bool:
    """Parse a boolean like Go's `strconv.ParseBool`, in any case."""
    value = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}
    if text.lower() not in value:
        raise argparse.ArgumentTypeError(f"`{text}` is neither true nor false")
    return value[text.lower()]


def _seconds(text: str) -> float:
    """Parse a number of seconds, or a Go duration such as `1m30s`."""
    try:
        return float(text) if _NUMBER.fullmatch(text) else durations.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


_NUMBER = re.compile(r"[0-9]+(\.[0-9]*)?|\.[0-9]+")
_ZAP_LEVELS = {"debug": "debug", "info": "info", "warn": "warning", "error": "error"}
_ZAP_LEVELS |= {"panic": "error", "dpanic": "error", "fatal": "error"}


def _zap_level(text: str) -> str:
    """Parse a level of zap or its number: 0 is info, any higher number is debug."""
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
    """Return whether errors are logged with a traceback: not for zap's levels above error."""
    level = text.lower()
    if level not in _ZAP_LEVELS:
        raise argparse.ArgumentTypeError(f"`{text}` is not info, warn, error or panic")
    return level not in ("panic", "dpanic", "fatal")


def _without_http2(text: str) -> bool:
    if _truth(text):
        raise argparse.ArgumentTypeError("HTTP/2 is not supported: remove the flag")
    return False


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise argparse.ArgumentTypeError(f"`{text}` is not a number above 0")
    return int(text)
