"""Credentials from the files and helpers of Docker and Podman."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, OlmkitError, RemoteError
from olmkit.edges.images.registries import credentials
from olmkit.edges.images.registries.credentials import RegistryCredentials
from tests.processes import wait_for_end


def find(name: str, home: Path, authfile: str | None = None, **environment: str) -> Any:
    return asyncio.run(
        credentials.find(name, environment={"HOME": str(home), **environment}, authfile=authfile)
    )


def auth(user: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_dockers_file_takes_precedence_over_podmans(tmp_path: Path) -> None:
    write(tmp_path / ".docker/config.json", {"auths": {"quay.io": auth("docker", "1")}})
    write(
        tmp_path / ".config/containers/auth.json",
        {"auths": {"quay.io": auth("podman", "2"), "ghcr.io": auth("podman", "3:4")}},
    )
    assert find("quay.io/a/b", tmp_path).username == "docker"
    found = find("ghcr.io/a/b", tmp_path)
    assert (found.username, found.password) == ("podman", "3:4")
    assert found.basic == "Basic " + auth("podman", "3:4")["auth"]
    assert find("other.io/a", tmp_path) is None


def test_a_named_file_is_the_only_one(tmp_path: Path) -> None:
    write(tmp_path / ".docker/config.json", {"auths": {"quay.io": auth("docker", "1")}})
    named = write(tmp_path / "named.json", {"auths": {"quay.io": auth("named", "1")}})
    other = write(tmp_path / "other.json", {"auths": {}})
    assert find("quay.io/a", tmp_path, str(named)).username == "named"
    assert find("quay.io/a", tmp_path, REGISTRY_AUTH_FILE=str(named)).username == "named"
    assert find("quay.io/a", tmp_path, str(other)) is None
    with pytest.raises(ConfigurationError, match="does not exist"):
        find("quay.io/a", tmp_path, str(tmp_path / "absent.json"))


@pytest.mark.parametrize("variable", ["DOCKER_CONFIG", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"])
def test_directories_in_the_environment_are_searched(tmp_path: Path, variable: str) -> None:
    name = "config.json" if variable == "DOCKER_CONFIG" else "containers/auth.json"
    write(tmp_path / "dir" / name, {"auths": {"quay.io": auth("there", "1")}})
    found = find("quay.io/a", tmp_path, **{variable: str(tmp_path / "dir")})
    assert found.username == "there"


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("https://quay.io", "quay.io/a/b"),
        ("https://quay.io/v2/", "quay.io/a/b"),
        ("https://index.docker.io/v1/", "docker.io/library/x"),
        ("docker.io", "docker.io/library/x"),
        ("quay.io/a", "quay.io/a/b"),
        ("localhost:5000", "localhost:5000/a"),
    ],
)
def test_keys_of_old_formats_are_read(tmp_path: Path, key: str, name: str) -> None:
    write(tmp_path / ".docker/config.json", {"auths": {key: auth("u", "p")}})
    assert find(name, tmp_path).username == "u"


def test_a_more_specific_key_takes_precedence(tmp_path: Path) -> None:
    auths = {"quay.io": auth("wide", "1"), "quay.io/a": auth("narrow", "2")}
    write(tmp_path / ".docker/config.json", {"auths": auths})
    assert find("quay.io/a/b", tmp_path).username == "narrow"
    assert find("quay.io/ab", tmp_path).username == "wide"


def test_tokens_and_plain_fields_are_read(tmp_path: Path) -> None:
    auths = {
        "one.io": {"identitytoken": "idt"},
        "two.io": {"registrytoken": "regt"},
        "three.io": {"username": "u", "password": "p"},
        "four.io": {},
    }
    write(tmp_path / ".docker/config.json", {"auths": auths})
    assert find("one.io/a", tmp_path) == RegistryCredentials(identity_token="idt")
    assert find("two.io/a", tmp_path) == RegistryCredentials(registry_token="regt")
    assert find("three.io/a", tmp_path) == RegistryCredentials(username="u", password="p")
    assert find("four.io/a", tmp_path) is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"auths": {"quay.io": {"auth": "hunter2', "is not JSON"),
        ("[]", "is not a JSON object"),
        ('{"auths": {"quay.io": {"auth": "aHVudGVyMg=="}}}', "is damaged"),
        ('{"auths": {"quay.io": {"auth": "!hunter2!"}}}', "is damaged"),
    ],
)
def test_a_damaged_file_is_reported_without_its_secrets(
    tmp_path: Path, content: str, message: str
) -> None:
    write(tmp_path / ".docker/config.json", content)
    with pytest.raises(ConfigurationError, match=message) as caught:
        find("quay.io/a", tmp_path)
    assert "hunter2" not in caught.value.message + caught.value.hint


def helper(folder: Path, name: str, script: str) -> str:
    path = write(folder / f"docker-credential-{name}", f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"{folder}:/usr/bin:/bin"


def test_a_helper_is_run_as_docker_runs_it(tmp_path: Path) -> None:
    script = 'read server; [ "$1" = get ] && printf \'{"Username":"%s","Secret":"s"}\' "$server"'
    path = helper(tmp_path, "test", script)
    value = {"credsStore": "test", "auths": {"quay.io": {}}}
    write(tmp_path / ".docker/config.json", value)
    assert find("quay.io/a", tmp_path, PATH=path).username == "quay.io"
    hub = find("docker.io/library/x", tmp_path, PATH=path)
    assert hub.username == "https://index.docker.io/v1/"


def test_the_helper_of_a_registry_takes_precedence_over_the_general_one(tmp_path: Path) -> None:
    path = helper(tmp_path, "one", 'echo \'{"Username":"<token>","Secret":"idt"}\'')
    helper(tmp_path, "all", "exit 1")
    value = {"credsStore": "all", "credHelpers": {"quay.io": "one"}}
    write(tmp_path / ".docker/config.json", value)
    assert find("quay.io/a", tmp_path, PATH=path) == RegistryCredentials(identity_token="idt")


def test_the_file_is_used_if_a_helper_has_no_credentials(tmp_path: Path) -> None:
    path = helper(tmp_path, "test", "echo credentials not found in native keychain; exit 1")
    value = {"credsStore": "test", "auths": {"quay.io": auth("file", "1")}}
    write(tmp_path / ".docker/config.json", value)
    assert find("quay.io/a", tmp_path, PATH=path).username == "file"


@pytest.mark.parametrize(
    ("script", "error", "message"),
    [
        ("exit 3", RemoteError, "failed"),
        ("echo hunter2", RemoteError, "other than credentials"),
        ("exec yes hunter2", RemoteError, "writes more than 1048576 bytes"),
        ("exec 0<&-; echo hunter2", RemoteError, "other than credentials"),
        (None, ConfigurationError, "cannot be run"),
    ],
)
def test_a_failing_helper_is_reported(
    tmp_path: Path, script: str | None, error: type[OlmkitError], message: str
) -> None:
    path = "/usr/bin:/bin" if script is None else helper(tmp_path, "test", script)
    write(tmp_path / ".docker/config.json", {"credsStore": "test"})
    with pytest.raises(error, match=message) as caught:
        find("quay.io/a", tmp_path, PATH=path)
    assert "hunter2" not in caught.value.message


def test_a_helper_that_is_ended_leaves_no_process(tmp_path: Path) -> None:
    script = 'sleep 600 & echo $! >"$HOME/child"; exec yes hunter2'
    path = helper(tmp_path, "test", script)
    write(tmp_path / ".docker/config.json", {"credsStore": "test"})
    with pytest.raises(RemoteError, match="writes more than 1048576 bytes"):
        find("quay.io/a", tmp_path, PATH=path)
    wait_for_end(int((tmp_path / "child").read_text()))


def test_the_name_of_a_helper_cannot_contain_a_path(tmp_path: Path) -> None:
    write(tmp_path / ".docker/config.json", {"credsStore": "../evil"})
    with pytest.raises(ConfigurationError, match="not valid"):
        find("quay.io/a", tmp_path, PATH="/usr/bin")


def test_secrets_are_not_in_the_representation_of_values() -> None:
    shown = repr(RegistryCredentials(username="u", password="hunter2", identity_token="hunter3"))
    assert "hunter" not in shown
