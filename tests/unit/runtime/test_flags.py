"""The flags of an operator's process."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from olmkit.runtime import flags
from olmkit.runtime.flags import Flags, ServingFiles
from olmkit.runtime.serve.webhook import CertificateFiles


def test_without_words_the_defaults_hold() -> None:
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
            "--webhook-bind-address=:3",
            "--webhook-cert-path=/w",
            "--webhook-cert-name=w.crt",
            "--webhook-cert-key=w.key",
            "--leader-elect",
            "--leader-election-namespace=n",
            "--leader-elect-lease-duration=4.5",
            "--leader-elect-renew-deadline=3",
            "--leader-elect-retry-period=1",
            "--enable-http2=true",
            "--max-concurrent-reconciles=7",
            "--log-level=debug",
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
        webhook_address=":3",
        webhook_files=ServingFiles(folder="/w", certificate="w.crt", key="w.key"),
        leader_elect=True,
        leader_namespace="n",
        lease_duration=4.5,
        renew_deadline=3.0,
        retry_period=1.0,
        workers=7,
        log_level="debug",
        own=given.own,
    )


def test_certificate_without_folder_has_no_files() -> None:
    assert ServingFiles().files is None
    assert ServingFiles(folder="/w").files == CertificateFiles(folder=Path("/w"))


def test_flags_of_the_author_are_next_to_the_usual_ones() -> None:
    def add(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--colour", default="red")

    assert flags.parse(["--colour=blue"], name="toy", add=add).own.colour == "blue"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--metrics-secure=perhaps", "neither true nor false"),
        ("--max-concurrent-reconciles=0", "not a number above 0"),
        ("--log-level=loud", "invalid choice"),
        ("--leader", "unrecognized arguments"),  # no guessing: a flag has one spelling
    ],
)
def test_word_that_makes_no_sense_ends_the_process_with_a_usage_message(
    word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        flags.parse([word], name="toy")
    assert caught.value.code == 2
    assert said in capsys.readouterr().err
