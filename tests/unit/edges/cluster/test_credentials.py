from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, RemoteError
from olmkit.edges.cluster import credentials as kube_credentials
from olmkit.edges.cluster.credentials import ExecCredentials, TokenFileCredentials
from olmkit.testing import clock

V1 = "client.authentication.k8s.io/v1"


def _plugin(folder: Path, status: Any, *, code: int = 0, **settings: Any) -> ExecCredentials:
    """A plug-in that counts its calls and shows its input."""
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


def test_a_token_file_is_read_again_after_a_minute_and_after_a_refusal(tmp_path: Path) -> None:
    async def scenario() -> None:
        path = tmp_path / "token"
        path.write_text("one")
        credentials = TokenFileCredentials(path)
        assert await credentials.authorization() == "Bearer one"
        path.write_text("two")
        assert await credentials.authorization() == "Bearer one"
        await asyncio.sleep(61)
        assert await credentials.authorization() == "Bearer two"
        path.write_text("three")
        assert credentials.refused("Bearer two")
        assert await credentials.authorization() == "Bearer three"
        path.write_text("four")
        assert credentials.refused("Bearer two"), "another request was also refused with it"
        assert await credentials.authorization() == "Bearer three"
        path.write_text("")
        await asyncio.sleep(61)
        assert await credentials.authorization() == "Bearer three", "it is being written"
        path.unlink()
        await asyncio.sleep(61)
        assert await credentials.authorization() == "Bearer three"

    clock.run(scenario())


def test_a_plugin_runs_once_until_its_token_expires_or_is_refused(tmp_path: Path) -> None:
    async def scenario() -> None:
        credentials = _plugin(
            tmp_path,
            {"token": "t", "expirationTimestamp": "2999-01-01T00:00:00Z"},
            provideClusterInfo=True,
            env=[{"name": "EXTRA", "value": "more"}],
        )
        assert await credentials.authorization() == "Bearer t"
        assert await credentials.authorization() == "Bearer t"
        assert _calls(tmp_path) == 1
        assert credentials.refused("Bearer an older one")
        await credentials.authorization()
        assert _calls(tmp_path) == 1
        assert credentials.refused("Bearer t")
        await credentials.authorization()
        assert _calls(tmp_path) == 2

    asyncio.run(scenario())
    told = (tmp_path / "told").read_text()
    assert told.endswith("more")
    info = json.loads(told.removesuffix("more"))
    assert info["spec"] == {"interactive": False, "cluster": {"server": "https://x"}}


def test_an_expired_token_is_requested_again(tmp_path: Path) -> None:
    async def scenario() -> None:
        status = {"token": "t", "expirationTimestamp": "2001-01-01T00:00:00Z"}
        credentials = _plugin(tmp_path, status)
        await credentials.authorization()
        await credentials.authorization()
        assert _calls(tmp_path) == 2

    asyncio.run(scenario())


def test_a_plugin_can_return_a_certificate(tmp_path: Path) -> None:
    status = {"clientCertificateData": "C", "clientKeyData": "K"}
    credentials = _plugin(tmp_path, status)
    assert asyncio.run(credentials.authorization()) is None
    assert credentials.certificate() == (b"C", b"K")


@pytest.mark.parametrize(
    ("status", "code", "kind", "words"),
    [
        ({}, 0, ConfigurationError, "neither a token nor a certificate"),
        ("x", 0, ConfigurationError, "printed no ExecCredential"),
        ({"token": "t", "expirationTimestamp": "soon"}, 0, ConfigurationError, "not a time"),
        ({"token": "t"}, 3, RemoteError, "ended with code 3"),
    ],
)
def test_a_plugin_that_fails_is_named(
    tmp_path: Path, status: Any, code: int, kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        asyncio.run(_plugin(tmp_path, status, code=code).authorization())


def test_a_plugin_that_prints_endless_nesting_is_named(tmp_path: Path) -> None:
    credentials = _plugin(tmp_path, {"token": "t"})
    script = tmp_path / "plugin"
    script.write_text("#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' '['\n")
    with pytest.raises(ConfigurationError, match="printed no ExecCredential"):
        asyncio.run(credentials.authorization())


def test_a_missing_plugin_has_its_install_hint(tmp_path: Path) -> None:
    credentials = ExecCredentials(
        {"apiVersion": V1, "command": "no-such-plugin", "installHint": "apt install it"},
        folder=tmp_path,
        cluster={},
        user="u",
    )
    with pytest.raises(ConfigurationError, match="cannot run `no-such-plugin`") as raised:
        asyncio.run(credentials.authorization())
    assert raised.value.hint == "apt install it"


def test_a_token_file_without_a_token_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("\n")
    with pytest.raises(ConfigurationError, match="there is no token in"):
        asyncio.run(TokenFileCredentials(path).authorization())


@pytest.mark.parametrize("settings", [{"args": 5}, {"args": "x"}, {"env": True}], ids=str)
def test_settings_of_a_plugin_that_are_not_lists_are_named(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match="is not a list"):
        asyncio.run(_plugin(tmp_path, {"token": "t"}, **settings).authorization())


@pytest.mark.parametrize("settings", [{"args": ["\0"]}, {"env": [{"name": "=", "value": "x"}]}])
def test_values_that_no_program_can_receive_are_an_error_of_the_kubeconfig(
    tmp_path: Path, settings: dict[str, Any]
) -> None:
    with pytest.raises(ConfigurationError, match="cannot run"):
        asyncio.run(_plugin(tmp_path, {"token": "t"}, **settings).authorization())


def _hanging(folder: Path) -> ExecCredentials:
    """A plug-in that starts a program and hangs."""
    script = folder / "plugin"
    lines = ("#!/bin/sh", "sleep 1000 &", 'echo "$! $$" > new', "mv new ids", "wait", "")
    script.write_text("\n".join((lines[0], f'cd "{folder}"', *lines[1:])))
    script.chmod(0o755)
    return ExecCredentials(
        {"apiVersion": V1, "command": "./plugin", "interactiveMode": "Never"},
        folder=folder,
        cluster={},
        user="u",
    )


async def _started(folder: Path) -> list[int]:
    async with asyncio.timeout(60):
        while not (folder / "ids").exists():  # noqa: ASYNC110 - a program writes it
            await asyncio.sleep(0.01)
    return list(map(int, (folder / "ids").read_text().split()))


async def _ended(numbers: list[int]) -> None:
    def lives(number: int) -> bool:
        try:
            words = Path(f"/proc/{number}/stat").read_text()
        except OSError:
            return False
        return words.rpartition(")")[2].split()[0] != "Z"

    async with asyncio.timeout(20):
        while any(map(lives, numbers)):  # noqa: ASYNC110 - programs
            await asyncio.sleep(0.01)


def test_no_process_of_a_plugin_remains_when_its_token_is_no_longer_needed(tmp_path: Path) -> None:
    async def scenario() -> None:
        asking = asyncio.create_task(_hanging(tmp_path).authorization())
        numbers = await _started(tmp_path)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await _ended(numbers)

    asyncio.run(scenario())


def test_no_process_of_a_plugin_that_is_starting_remains(tmp_path: Path) -> None:
    async def scenario() -> None:
        asking = asyncio.create_task(_hanging(tmp_path).authorization())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.sleep(0.3)
        if (tmp_path / "ids").exists():
            await _ended(await _started(tmp_path))

    asyncio.run(scenario())


def test_a_stalled_plugin_is_ended_with_its_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_credentials, "_EXEC_TIMEOUT", 5.0)

    async def scenario() -> None:
        with pytest.raises(RemoteError, match="returned no credentials"):
            await _hanging(tmp_path).authorization()
        await _ended(await _started(tmp_path))

    asyncio.run(scenario())


def test_two_loops_can_use_one_plugin_at_the_same_time(tmp_path: Path) -> None:
    """As the leader election does, which has its own thread and loop."""
    credentials = _plugin(tmp_path, {"token": "t", "expirationTimestamp": "2001-01-01T00:00:00Z"})

    async def many() -> list[str | None]:
        return list(await asyncio.gather(*(credentials.authorization() for _ in range(8))))

    with ThreadPoolExecutor(3) as threads:
        found = list(threads.map(lambda _: asyncio.run(many()), range(3)))
    assert found == [["Bearer t"] * 8] * 3
