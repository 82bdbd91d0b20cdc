"""Certificates of servers."""

from __future__ import annotations

import socket
import ssl
import threading
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.runtime.metrics import Registry
from olmkit.runtime.serve import certificates, self_signed


def shake_hands(server: ssl.SSLContext, ca: bytes) -> str:
    """Return the name in the certificate, verified by its own CA."""
    here, there = socket.socketpair()

    def serve() -> None:
        with there, server.wrap_socket(there, server_side=True) as connection:
            connection.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    client = ssl.create_default_context(cadata=ca.decode())
    with here, client.wrap_socket(here, server_hostname="localhost") as connection:
        found = connection.getpeercert() or {}
        connection.send(b"x")
    thread.join()
    return str(found.get("subjectAltName"))


def write(folder: Path) -> tuple[Path, Path, bytes]:
    certificate, key = self_signed.make()
    (folder / "tls.crt").write_bytes(certificate)
    (folder / "tls.key").write_bytes(key)
    return folder / "tls.crt", folder / "tls.key", certificate


def test_a_generated_certificate_is_valid_for_localhost(tmp_path: Path) -> None:
    certificate, key, ca = write(tmp_path)
    names = shake_hands(certificates.context(certificate, key), ca)
    assert names == "(('DNS', 'localhost'), ('IP Address', '127.0.0.1'))"


def test_a_context_without_files_generates_a_certificate_and_leaves_no_file() -> None:
    assert certificates.context(None, None).minimum_version is ssl.TLSVersion.TLSv1_2


def test_files_that_are_not_a_pair_are_refused(tmp_path: Path) -> None:
    certificate, key, _ = write(tmp_path)
    key.write_text("no key")
    with pytest.raises(ConfigurationError, match="are not a certificate and its key"):
        certificates.context(certificate, key)
    with pytest.raises(ConfigurationError):
        certificates.context(tmp_path / "missing", key)


def test_renewed_files_are_used_and_invalid_ones_are_not(tmp_path: Path) -> None:
    certificate, key, _ = write(tmp_path)
    tls = certificates.context(certificate, key)
    registry = Registry()
    reloader = certificates.Reloader(tls, certificate, key, registry=registry)
    assert not reloader.check()
    _, _, renewed = write(tmp_path)
    assert reloader.check()
    shake_hands(tls, renewed)
    key.write_text("half written")
    assert not reloader.check()
    assert not reloader.check()
    assert "certwatcher_read_certificate_total 2.0\n" in registry.render()
    assert "certwatcher_read_certificate_errors_total 1.0\n" in registry.render()
    shake_hands(tls, renewed)
    key.unlink()
    assert not reloader.check()
