"""The HTTP client: its errors, its secrets, its retries."""

from __future__ import annotations

import asyncio
import contextlib
import random
import ssl
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.edges.network import web
from olmkit.edges.network.web import SlowError, UnreachableError, Web, WebOptions

QUICK = WebOptions(first_wait=0.0, longest_wait=0.0, attempts=4)


def test_only_temporary_errors_are_retried() -> None:
    async def check() -> None:
        for error, expected in (
            (RemoteError("x", temporary=True), 4),
            (UnreachableError("x", temporary=True), 3),
            (SlowError("x", temporary=True), 2),
            (RemoteError("x"), 1),
            (InputError("x"), 1),
        ):
            tries = 0

            async def work(error: Exception = error) -> None:
                nonlocal tries
                tries += 1
                raise error

            async with Web(QUICK, source=random.Random(0)) as client:
                with pytest.raises(type(error)):
                    await client.retry(work)
            assert tries == expected

    asyncio.run(check())


def test_a_success_after_failures_is_a_success() -> None:
    async def check() -> None:
        left = [RemoteError("x", temporary=True)] * 3

        async def work() -> str:
            if left:
                raise left.pop()
            return "done"

        async with Web(QUICK) as client:
            assert await client.retry(work) == "done"

    asyncio.run(check())


def test_a_file_of_authorities_must_contain_some(tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    with pytest.raises(ConfigurationError, match="cannot read"):
        web.trusted(WebOptions(ca_file=str(path)))
    path.write_text("no certificate")
    with pytest.raises(ConfigurationError, match="holds no certificate"):
        web.trusted(WebOptions(ca_file=str(path)))


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("self-signed certificate", "name the authority that signed it with `--from-ca-file`"),
        ("certificate has expired", "renew the certificate of `r.example.com`"),
        (
            "certificate is not yet valid",
            "correct the clock of this machine or of `r.example.com`",
        ),
        (
            "Hostname mismatch, certificate is not valid for 'r.example.com'.",
            "use a name of the certificate, or let `r.example.com` have a certificate for",
        ),
    ],
)
def test_a_certificate_that_is_not_accepted_has_its_fix(reason: str, hint: str) -> None:
    cause = ssl.SSLCertVerificationError()
    cause.verify_message = reason

    found = web._certificate_error(cause, "r.example.com", "from-")  # noqa: SLF001 - the decision

    assert found.message == f"cannot trust the certificate of `r.example.com`: {reason.strip('.')}"
    assert found.hint.startswith(hint)


def test_an_unknown_host_is_reported() -> None:
    async def check() -> None:
        async with Web(QUICK) as client:
            with pytest.raises(RemoteError, match="there is no such host"):
                async with client.send("GET", "https://registry.invalid/v2/"):
                    pass

    asyncio.run(check())


def test_a_server_that_never_answers_the_tls_handshake_is_an_error() -> None:
    async def scenario() -> None:
        ended = asyncio.Event()

        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()  # until the client closes the connection
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
            ended.set()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        options = WebOptions(connect_timeout=0.05, attempts=1)
        async with server, Web(options) as client, asyncio.timeout(60):
            with pytest.raises(RemoteError, match="does not answer in time"):
                async with client.send("GET", f"https://127.0.0.1:{port}/v2/"):
                    pass
            await ended.wait()

    asyncio.run(scenario())
