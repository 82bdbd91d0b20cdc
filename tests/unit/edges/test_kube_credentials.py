from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.kube_credentials import ExecCredentials, TokenFileCredentials
from olmkit.testing import clock

V1 = "client.authentication.k8s.io/v1"


def _plugin(folder: Path, status: Any, *, code: int = 0, **settings: Any) -> ExecCredentials:
    """A plug-in that counts its calls and shows what it was told."""
    answer = {"apiVersion": V1, "kind": "ExecCredential", "status": status}
    script = folder / "plugin"
    script.write_text(
        "#!/bin/sh\n"
        f'echo x >> "{folder}/calls"\n'
        f'printf "%s" "$KUBERNETES_EXEC_INFO$EXTRA" > "{folder}/told"\n'
        f"cat <<'EOF'\n{json.dumps(answer)}\nEOF\nexit {code}\n"
    )
    script.chmod(0o755)
    return ExecCredentials(
        {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never", **settings},
        folder=folder,
        cluster={"server": "https://x"},
        user="u",
    )


def _calls(folder: Path) -> int:
    return (folder / "calls").read_text().count("x")


def test_a_token_file_is_read_again_after_a_minute_and_when_it_was_refused(tmp_path: Path) -> None:
    async def story() -> None:
        path = tmp_path / "token"
        path.write_text("one")
        credentials = TokenFileCredentials(path)
        assert await credentials.authorization() == "Bearer one"
        path.write_text("two")
        assert await credentials.authorization() == "Bearer one"
        await asyncio.sleep(61)
        assert await credentials.authorization() == "Bearer two"
        path.write_text("three")
        assert credentials.refused()
        assert await credentials.authorization() == "Bearer three"
        path.unlink()
        await asyncio.sleep(61)
        assert await credentials.authorization() == "Bearer three"

    clock.run(story())


def test_a_plugin_is_asked_once_until_its_answer_expires_or_is_refused(tmp_path: Path) -> None:
    async def story() -> None:
        credentials = _plugin(
            tmp_path,
            {"token": "t", "expirationTimestamp": "2999-01-01T00:00:00Z"},
            provideClusterInfo=True,
            env=[{"name": "EXTRA", "value": "more"}],
        )
        assert await credentials.authorization() == "Bearer t"
        assert await credentials.authorization() == "Bearer t"
        assert _calls(tmp_path) == 1
        assert credentials.refused()
        await credentials.authorization()
        assert _calls(tmp_path) == 2

    asyncio.run(story())
    told = (tmp_path / "told").read_text()
    assert told.endswith("more")
    info = json.loads(told.removesuffix("more"))
    assert info["spec"] == {"interactive": False, "cluster": {"server": "https://x"}}


def test_an_answer_that_has_expired_is_asked_for_again(tmp_path: Path) -> None:
    async def story() -> None:
        status = {"token": "t", "expirationTimestamp": "2001-01-01T00:00:00Z"}
        credentials = _plugin(tmp_path, status)
        await credentials.authorization()
        await credentials.authorization()
        assert _calls(tmp_path) == 2

    asyncio.run(story())


def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "C", "clientKeyData": "K"}
    credentials = _plugin(tmp_path, status)
    assert asyncio.run(credentials.authorization()) is None
    assert credentials.certificate() == (b"C", b"K")


@pytest.mark.parametrize(
    ("status", "code", "kind", "words"),
    [
        ({}, 0, ConfigurationError, "neither a token nor a certificate"),
        ("x", 0, ConfigurationError, "printed no ExecCredential"),
        ({"token": "t", "expirationTimestamp": "soon"}, 0, ConfigurationError, "no time"),
        ({"token": "t"}, 3, RemoteError, "ended with code 3"),
    ],
)
def test_a_plugin_that_fails_is_named(
    tmp_path: Path, status: Any, code: int, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        asyncio.run(_plugin(tmp_path, status, code=code).authorization())


def test_a_plugin_that_is_not_there_tells_how_to_install_it(tmp_path: Path) -> None:
    credentials = ExecCredentials(
        {"apiVersion": V1, "command": "no-such-plugin", "installHint": "apt install it"},
        folder=tmp_path,
        cluster={},
        user="u",
    )
    with pytest.raises(ConfigurationError, match="cannot run `no-such-plugin`") as raised:
        asyncio.run(credentials.authorization())
    assert raised.value.hint == "apt install it"
