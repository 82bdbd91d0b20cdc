"""The system's authorities are loaded for the first TLS connection and are still used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from olmkit.runtime.serve import self_signed

# Connects to its own server, so that the authorities of this process do not matter.
_PROGRAM = """
import asyncio, ssl, sys

from aiohttp_first import aiohttp

from olmkit.base.diagnostics import OlmkitError
from olmkit.edges.network.server_library import web
from olmkit.edges.network.web import Web, WebOptions


async def hello(request):
    return web.Response(text="hello")


async def main():
    contexts = aiohttp.connector._SSL_CONTEXT_VERIFIED, aiohttp.connector._SSL_CONTEXT_UNVERIFIED
    print("read at import:", [type(one) is ssl.SSLContext for one in contexts])
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(*sys.argv[1:3])
    application = web.Application()
    application.router.add_get("/", hello)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=server).start()
    url = f"https://localhost:{runner.addresses[0][1]}/"
    try:
        async with Web(WebOptions()) as client, client.send("GET", url) as reply:
            print("ours:", (await reply.read(100)).decode())
    except OlmkitError as error:
        print("ours:", error.message.split(":")[0])
    try:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            print("the library's:", await response.text())
    except aiohttp.ClientError as error:
        print("the library's:", type(error).__name__)
    await runner.cleanup()
    print("new contexts:", type(ssl.create_default_context()) is ssl.SSLContext)


asyncio.run(main())
"""


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    certificate, key = self_signed.make()
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(key)
    return tmp_path / "tls.crt", tmp_path / "tls.key"


def run(pair: tuple[Path, Path], authorities: Path, first: str) -> list[str]:
    words = [sys.executable, "-c", _PROGRAM.replace("from aiohttp_first import aiohttp", first)]
    done = subprocess.run(
        [*words, *map(str, pair)],
        env={**os.environ, "SSL_CERT_FILE": str(authorities), "SSL_CERT_DIR": os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


OURS = "from olmkit.edges.network.http_library import aiohttp"


def test_authorities_of_the_system_are_used_although_they_are_loaded_late(
    pair: tuple[Path, Path],
) -> None:
    assert run(pair, pair[0], OURS) == [
        "read at import: [False, False]",
        "ours: hello",
        "the library's: hello",
        "new contexts: True",
    ]


def test_an_unknown_authority_is_refused(pair: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "none.crt").write_text("")
    refused = run(pair, tmp_path / "none.crt", OURS)
    assert refused[1].startswith("ours: ")
    assert refused[1] != "ours: hello"
    assert refused[2] == "the library's: ClientConnectorCertificateError"


def test_a_process_that_imported_the_library_first_is_unchanged(
    pair: tuple[Path, Path],
) -> None:
    assert run(pair, pair[0], "import aiohttp") == [
        "read at import: [True, True]",
        "ours: hello",
        "the library's: hello",
        "new contexts: True",
    ]


def test_a_class_of_another_library_is_unchanged() -> None:
    """The library truststore has a class around the system's."""
    program = """
import ssl

Real = ssl.SSLContext

class Other:
    def __init__(self, *given):
        vars(self)["real"] = Real(*given)
    def __getattr__(self, name):
        return getattr(self.real, name)
    def __setattr__(self, name, value):
        # The setters of the class in Python look for the name that is now ours.
        setter = next((vars(one)[name] for one in Real.__mro__[1:] if name in vars(one)), None)
        setattr(self.real, name, value) if setter is None else setter.__set__(self.real, value)
    def load_default_certs(self, purpose=ssl.Purpose.SERVER_AUTH):
        self.real.load_default_certs(purpose)
    def set_default_verify_paths(self):
        self.real.set_default_verify_paths()

before = dict(vars(Other))
ssl.SSLContext = Other
from olmkit.edges.network.http_library import aiohttp
assert dict(vars(Other)) == before
assert type(aiohttp.connector._SSL_CONTEXT_UNVERIFIED) is Other
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
