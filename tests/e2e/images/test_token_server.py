"""A docker-registry that requires tokens, and a small token server, as large registries have.

skopeo sends the same requests with the same credentials, for comparison.
"""

from __future__ import annotations

import base64
import datetime
import http.server
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from olmkit.testing.registry import RegistryServer

pytestmark = pytest.mark.e2e

PASSWORD = "correct-horse-battery"
WRONG = "hunter2hunter2"
SERVICE = "tests"


@dataclass(eq=False)
class TokenServer:
    """Returns tokens for the requested scope and the right password; the first are expired."""

    stale: int = 0
    asked: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
        now = datetime.datetime.now(datetime.UTC)
        self._certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(self._key.public_key())
            .serial_number(1)
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    @property
    def certificate(self) -> bytes:
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def answer(self, query: dict[str, list[str]], authorization: str) -> dict[str, Any] | None:
        """Return the response to a request, or None if the password is wrong."""
        self.asked += query.get("scope", [""])
        expected = base64.b64encode(f"tester:{PASSWORD}".encode()).decode()
        if authorization != f"Basic {expected}":
            return None
        scopes = [scope.split(":") for scope in query.get("scope", [])]
        access = [
            {"type": kind, "name": name, "actions": actions.split(",")}
            for kind, name, actions in scopes
        ]
        self.tokens.append(self._token(access, is_stale=len(self.tokens) < self.stale))
        return {"token": self.tokens[-1], "expires_in": 300}

    def _token(self, access: list[dict[str, Any]], *, is_stale: bool) -> str:
        now = int(time.time())
        certificate = self._certificate.public_bytes(serialization.Encoding.DER)
        head = {"typ": "JWT", "alg": "ES256", "x5c": [base64.b64encode(certificate).decode()]}
        claims = {
            "iss": "tests",
            "sub": "tester",
            "aud": SERVICE,
            "exp": now + (-600 if is_stale else 300),
            "nbf": now - 3600,
            "iat": now - 3600,
            "jti": str(len(self.tokens)),
            "access": access,
        }
        text = f"{_encoded(json.dumps(head).encode())}.{_encoded(json.dumps(claims).encode())}"
        r, s = decode_dss_signature(self._key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{text}.{_encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@pytest.fixture
def tokens() -> TokenServer:
    return TokenServer()


@pytest.fixture
def token_registry(tokens: TokenServer, tmp_path: Path) -> Iterator[RegistryServer]:
    """A registry that trusts the token server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            found = tokens.answer(query, self.headers.get("Authorization", ""))
            body = json.dumps(found or {"details": "who are you"}).encode()
            self.send_response(200 if found else 401)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    (tmp_path / "ca.pem").write_bytes(tokens.certificate)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            words = {
                "realm": f"http://127.0.0.1:{server.server_port}/token",
                "service": SERVICE,
                "issuer": "tests",
                "rootcertbundle": str(tmp_path / "ca.pem"),
            }
            with RegistryServer(folder=tmp_path / "registry", token=words) as registry:
                yield registry
        finally:
            server.shutdown()
            thread.join()


@dataclass(frozen=True)
class CompletedCommand:
    code: int
    out: str
    err: str


@pytest.fixture
def typed(
    root: Path, tmp_path: Path, token_registry: RegistryServer
) -> Callable[..., CompletedCommand]:
    """Run olmkit with some credentials, and the most verbose output."""

    def run(password: str, *words: str) -> CompletedCommand:
        authfile = tmp_path / "auth.json"
        pair = base64.b64encode(f"tester:{password}".encode()).decode()
        authfile.write_text(json.dumps({"auths": {token_registry.host: {"auth": pair}}}))
        done = subprocess.run(
            [sys.executable, "-m", "olmkit", *words, "-vv", "--debug", "--authfile", authfile],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env=os.environ,
        )
        for secret in (password, pair):
            assert secret not in done.stdout + done.stderr
        return CompletedCommand(done.returncode, done.stdout.strip(), done.stderr)

    (tmp_path / "bundle").symlink_to(root / "bundle" / "0.0.2")
    return run


def test_images_are_pushed_and_pulled_with_tokens(
    token_registry: RegistryServer,
    tokens: TokenServer,
    typed: Callable[..., CompletedCommand],
    skopeo: Callable[..., bytes],
    tmp_path: Path,
) -> None:
    target = f"{token_registry.host}/team/bundle:v1"
    pushed = typed(PASSWORD, "bundle", "build", "bundle", "-t", target, "--push")
    assert pushed.code == 0, pushed.err
    assert {"repository:team/bundle:pull,push"} <= set(tokens.asked)
    other = f"{token_registry.host}/other/bundle:v1"
    copied = typed(PASSWORD, "image", "copy", pushed.out, other)
    assert copied.code == 0, copied.err
    assert "mounted: blob" in copied.err, "with a token for both repositories"
    told = json.loads(
        skopeo(
            *("inspect", "--tls-verify=false", f"--authfile={tmp_path}/auth.json"),
            f"docker://{other}",
        )
    )
    assert copied.out.endswith(told["Digest"])
    for token in tokens.tokens:
        assert token not in pushed.err + copied.err


def test_an_expired_token_is_replaced(
    token_registry: RegistryServer, tokens: TokenServer, typed: Callable[..., CompletedCommand]
) -> None:
    tokens.stale = 1
    done = typed(
        PASSWORD, "bundle", "build", "bundle", "-t", f"{token_registry.host}/a/b:v1", "--push"
    )
    assert done.code == 0, done.err
    assert len(tokens.tokens) > 1


def test_a_wrong_password_is_reported(
    token_registry: RegistryServer, typed: Callable[..., CompletedCommand]
) -> None:
    done = typed(
        WRONG, "bundle", "build", "bundle", "-t", f"{token_registry.host}/a/b:v1", "--push"
    )
    assert done.code == 3
    assert "does not accept the credentials" in done.err
    done = typed(WRONG, "image", "inspect", f"{token_registry.host}/a/b:v1")
    assert done.code == 3
    assert "does not accept the credentials" in done.err
