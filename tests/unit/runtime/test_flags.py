"""The flags of an operator's process."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from olmkit.runtime import flags
from olmkit.runtime.flags import Flags, ServingFiles
from olmkit.runtime.serve.webhook import CertificateFiles


def test_without_arguments_the_defaults_apply() -> None:
    given = flags.parse([], name="toy")
    assert given == Flags(own=given.own)


def test_every_flag_of_a_scaffolded_deployment_is_known() -> None:
    given = flags.parse(
        [
            "--kubeconfig=k",
            "--health-probe-bind-address=:1",
            "--watch-patience=60",
            "--metrics-bind-address=:2",
            "--metrics-secure=false",
            "--metrics-cert-path=/m",
            "--metrics-cert-name=m.crt",
            "--metrics-cert-key=m.key",
            "--debug-bind-address=:4",
            "--webhook-bind-address=:3",
            "--webhook-cert-path=/w",
            "--webhook-cert-name=w.crt",
            "--webhook-cert-key=w.key",
            "--leader-elect",
            "--leader-election-namespace=n",
            "--leader-elect-lease-duration=4.5",
            "--leader-elect-renew-deadline=3",
            "--leader-elect-retry-period=1",
            "--enable-http2=false",
            "--max-concurrent-reconciles=7",
            "--log-level=debug",
            "--log-format=json",
            "--log-time=epoch",
            "--log-tracebacks=false",
        ],
        name="toy",
    )
    assert given == Flags(
        kubeconfig=Path("k"),
        health_address=":1",
        watch_patience=60.0,
        metrics_address=":2",
        metrics_secure=False,
        metrics_files=ServingFiles(folder="/m", certificate="m.crt", key="m.key"),
        debug_address=":4",
        webhook_address=":3",
        webhook_files=ServingFiles(folder="/w", certificate="w.crt", key="w.key"),
        leader_elect=True,
        leader_namespace="n",
        lease_duration=4.5,
        renew_deadline=3.0,
        retry_period=1.0,
        workers=7,
        log_level="debug",
        log_format="json",
        log_time="epoch",
        log_tracebacks=False,
        own=given.own,
    )


def test_a_certificate_without_a_directory_has_no_files() -> None:
    assert ServingFiles().files is None
    assert ServingFiles(folder="/w").files == CertificateFiles(folder=Path("/w"))


def test_custom_flags_are_added_to_the_usual_ones() -> None:
    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--colour", default="red")

    assert flags.parse(["--colour=blue"], name="toy", add=add).own.colour == "blue"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--metrics-secure=perhaps", "neither true nor false"),
        ("--max-concurrent-reconciles=0", "not a number above 0"),
        ("--log-level=loud", "invalid choice"),
        ("--zap-log-level=loud", "not debug, info, warn, error, panic or a number"),
        ("--zap-log-level=-1", "not debug, info"),
        ("--zap-encoder=xml", "not console or json"),
        ("--zap-time-encoding=roman", "is not one of iso8601"),
        ("--zap-stacktrace-level=loud", "is not info, warn, error or panic"),
        ("--leader-elect-retry-period=soon", "is not a duration such as `1m30s`"),
        ("--leader-elect-retry-period=-1", "is not a duration"),
        ("--leader-elect-retry-period=nan", "is not a duration"),
        ("--enable-http2", "HTTP/2 is not supported"),
        ("--enable-http2=true", "HTTP/2 is not supported"),
        ("--leader", "unrecognized arguments"),  # no guessing: a flag has one spelling
    ],
)
def test_an_invalid_argument_ends_the_process_with_a_usage_message(
    word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        flags.parse([word], name="toy")
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


def test_arguments_of_a_kubebuilder_deployment_start_an_operator() -> None:
    given = flags.parse(
        [
            "--leader-elect",
            "--metrics-bind-address=:8443",
            "--metrics-secure=1",
            "--health-probe-bind-address=:8081",
            "--metrics-cert-path=/tmp/k8s-metrics-server/metrics-certs",
            "--webhook-cert-path=/tmp/k8s-webhook-server/serving-certs",
            "--enable-http2=false",
            "--zap-log-level=2",
            "--zap-encoder=json",
            "--zap-stacktrace-level=panic",
            "--zap-time-encoding=rfc3339nano",
            "--zap-devel",
        ],
        name="toy",
    )
    assert (given.leader_elect, given.metrics_address, given.health_address) == (
        *(True, ":8443", ":8081"),
    )
    assert given.metrics_secure
    assert given.webhook_files.files is not None
    assert given.metrics_files.files is not None
    assert (given.log_level, given.log_format) == ("debug", "json")
    assert (given.log_time, given.log_tracebacks) == ("rfc3339nano", False)


@pytest.mark.parametrize(
    ("words", "level", "form"),
    [
        ([], "info", "text"),
        (["--zap-devel"], "debug", "text"),
        (["--zap-devel=true"], "debug", "text"),
        (["--zap-devel=false"], "info", "json"),
        (["--zap-devel=false", "--zap-encoder=console"], "info", "text"),
        (["--zap-log-level=error", "--zap-devel"], "error", "text"),
        (["--zap-log-level", "panic"], "error", "text"),
        (["--zap-log-level", "WARN"], "warning", "text"),
        (["--zap-log-level=0"], "info", "text"),
        (["--zap-log-level=99999999999999999999"], "debug", "text"),
        (["--log-level=error", "--zap-log-level=info"], "info", "text"),  # the last value applies
    ],
)
def test_flags_of_zap_configure_the_log(words: list[str], level: str, form: str) -> None:
    given = flags.parse(words, name="toy")
    assert (given.log_level, given.log_format) == (level, form)


def test_flags_have_the_forms_of_go() -> None:
    words = ["-leader-elect", "-leader-elect-lease-duration=1m", "-watch-patience", "1m30s"]
    given = flags.parse([*words, "-metrics-secure=F"], name="toy")
    assert (given.leader_elect, given.metrics_secure) == (True, False)
    assert (given.lease_duration, given.watch_patience) == (60.0, 90.0)
    given = flags.parse(["--metrics-addr=:9", "--enable-leader-election"], name="toy")
    assert (given.metrics_address, given.leader_elect) == (":9", True)
