"""Certificates that a process generates for itself."""

from __future__ import annotations

import datetime
import subprocess
import sys

import pytest
from cryptography import x509

from olmkit.base.diagnostics import ConfigurationError
from olmkit.runtime.serve import self_signed


def test_the_certificate_has_the_requested_names() -> None:
    made, key = self_signed.make(("a.example", "b.example"), ("10.0.0.1", "::1"))
    certificate = x509.load_pem_x509_certificate(made)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["a.example", "b.example"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.1", "::1"]
    assert b"BEGIN PRIVATE KEY" in key


def test_the_certificate_is_valid_for_a_year_from_an_hour_ago() -> None:
    certificate = x509.load_pem_x509_certificate(self_signed.make()[0])
    length = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert length == datetime.timedelta(days=365, hours=1)


def test_the_child_process_generates_a_new_pair_each_time() -> None:
    first, second = self_signed.make_apart(), self_signed.make_apart()
    assert first[0].startswith(b"-----BEGIN CERTIFICATE-----")
    assert first[1].startswith(b"-----BEGIN PRIVATE KEY-----")
    assert first[1] != second[1]


def test_the_output_of_the_child_process_is_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise subprocess.CalledProcessError(1, [sys.executable], stderr=b"no entropy\n")

    monkeypatch.setattr(subprocess, "run", fail)
    with pytest.raises(ConfigurationError, match="no entropy"):
        self_signed.make_apart()


def test_the_error_for_a_missing_library_names_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(ConfigurationError, match="cryptography") as caught:
        self_signed.make()
    assert "olmkit-runtime[certificates]" in (caught.value.hint or "")
