from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.cluster import kubeconfig
from olmkit.runtime.serve import self_signed


def _write(path: Path, **parts: Any) -> Path:
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", **parts}))
    return path


def _config(path: Path, user: dict[str, Any] | None = None, **cluster: Any) -> Path:
    return _write(
        path,
        **{"current-context": "c"},
        clusters=[{"name": "k", "cluster": {"server": "https://api.example.com:6443/", **cluster}}],
        users=[{"name": "u", "user": user or {}}],
        contexts=[{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "n"}}],
    )


def _authorization(config: kubeconfig.ClusterConfig) -> str | None:
    return asyncio.run(config.credentials.authorization())


def test_the_current_context_has_server_namespace_and_user(tmp_path: Path) -> None:
    found = kubeconfig.load(paths=[_config(tmp_path / "k", {"token": "t"})])
    assert (found.server, found.namespace, found.name) == ("https://api.example.com:6443", "n", "k")
    assert _authorization(found) == "Bearer t"


def test_a_json_file_does_not_need_the_yaml_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _config(tmp_path / "k", {"token": "t"})
    with monkeypatch.context() as patched:
        patched.setattr(documents, "load", None)
        assert _authorization(kubeconfig.load(paths=[path])) == "Bearer t"
    for text in (
        (
            "current-context: c\ncontexts:\n- name: c\n  context: {cluster: k, user: u}\n"
            "clusters:\n- name: k\n  cluster: {server: 'https://a:1'}\n"
        ),
        (
            "{current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}], "
            "clusters: [{name: k, cluster: {server: 'https://a:1'}}]}"
        ),
    ):
        path.write_text(
            text + "users: []\n" if text.startswith("c") else text[:-1] + ", users: []}"
        )
        with pytest.raises(ConfigurationError, match="no user `u`"):
            kubeconfig.load(paths=[path])


def test_the_first_of_several_files_with_a_name_takes_precedence(tmp_path: Path) -> None:
    first = _write(tmp_path / "1", users=[{"name": "u", "user": {"token": "first"}}])
    second = _config(tmp_path / "2", {"token": "second"})
    found = kubeconfig.load(environment={"KUBECONFIG": f"{first}:{tmp_path / 'gone'}:{second}"})
    assert found.server == "https://api.example.com:6443"
    assert _authorization(found) == "Bearer first"


def test_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"CA")
    (tmp_path / "token").write_text("from-file\n")
    path = _config(tmp_path / "k", {"tokenFile": "token"}, **{"certificate-authority": "ca.crt"})
    found = kubeconfig.load(paths=[path])
    assert found.ca == b"CA"
    assert _authorization(found) == "Bearer from-file"


def test_data_is_base64_and_name_and_password_are_supported(tmp_path: Path) -> None:
    data = base64.b64encode(b"CA").decode()
    user = {"username": "a", "password": "b"}
    path = _config(tmp_path / "k", user, **{"certificate-authority-data": data})
    found = kubeconfig.load(paths=[path])
    assert found.ca == b"CA"
    assert _authorization(found) == "Basic " + base64.b64encode(b"a:b").decode()


def test_impersonation_is_sent_in_headers(tmp_path: Path) -> None:
    user: dict[str, Any]
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"scope": ["x"]}}
    user["as-user-extra"] |= {"example.com/rôle": ["y", 1]}
    found = kubeconfig.load(paths=[_config(tmp_path / "k", user)])
    assert list(found.headers) == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-scope", "x"),
        ("Impersonate-Extra-example.com%2Fr%C3%B4le", "y"),
        ("Impersonate-Extra-example.com%2Fr%C3%B4le", "1"),
    ]


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    for name, text in (("token", "t"), ("ca.crt", "CA"), ("namespace", "mine\n")):
        (tmp_path / name).write_text(text)
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    found = kubeconfig.load(environment=environment, service_account=tmp_path)
    assert (found.server, found.namespace) == ("https://[fd00::1]:443", "mine")
    assert _authorization(found) == "Bearer t"


@pytest.mark.parametrize(
    ("user", "cluster", "words"),
    [
        ({"auth-provider": {"name": "gcp"}}, {}, "auth provider"),
        ({"exec": {"apiVersion": "v9", "command": "x"}}, {}, "uses `v9`"),
        ({}, {"server": "api.example.com"}, "no `server` URL"),
        ({}, {"certificate-authority": "gone.crt"}, "does not exist"),
    ],
)
def test_an_invalid_kubeconfig_is_reported(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        kubeconfig.load(paths=[_config(tmp_path / "k", user, **cluster)])


def test_the_error_without_a_cluster_has_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no cluster is configured") as raised:
        kubeconfig.load(environment={"HOME": str(tmp_path)}, service_account=tmp_path)
    assert "KUBECONFIG" in raised.value.hint
    with pytest.raises(ConfigurationError, match="no kubeconfig at"):
        kubeconfig.load(environment={"KUBECONFIG": str(tmp_path / "gone")})


def test_an_unknown_context_lists_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has no context `x`") as raised:
        kubeconfig.load(paths=[_config(tmp_path / "k")], context="x")
    assert "`c`" in raised.value.hint


def test_an_invalid_certificate_is_reported(tmp_path: Path) -> None:
    data = base64.b64encode(b"not a certificate").decode()
    path = _config(tmp_path / "k", **{"certificate-authority-data": data})
    with pytest.raises(ConfigurationError, match="not a PEM certificate"):
        kubeconfig.load(paths=[path]).ssl_context()


@pytest.mark.parametrize(
    ("user", "cluster", "words"),
    [
        (
            {"as-groups": "system:masters"},
            {},
            "`as-groups` of a user in the kubeconfig is not a list",
        ),
        ({"as-user-extra": {"a": 5}}, {}, "`a` of a user in the kubeconfig is not a list"),
        ({"client-certificate": "a\0b"}, {}, "is not a path"),
        ({}, {"server": "https://["}, "has no `server` URL"),
        ({}, {"server": "https://a:99999"}, "has no `server` URL"),
        ({}, {"proxy-url": "socks5://a:1"}, "not a URL of an HTTP proxy"),
        ({}, {"certificate-authority-data": "!!!"}, "is not base64"),
        ({}, {"insecure-skip-tls-verify": "false"}, "must be `true` or `false`"),
    ],
)
def test_values_of_wrong_types_are_reported(
    tmp_path: Path, user: dict[str, Any], cluster: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        kubeconfig.load(paths=[_config(tmp_path / "k", user, **cluster)])


def test_a_token_file_takes_precedence_over_a_token(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("renewed")
    path = _config(tmp_path / "k", {"token": "old", "tokenFile": "t"})
    assert _authorization(kubeconfig.load(paths=[path])) == "Bearer renewed"


def test_an_empty_authority_is_not_the_systems_authority(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_bytes(b"")
    path = _config(tmp_path / "k", {}, **{"certificate-authority": "ca.crt"})
    with pytest.raises(ConfigurationError, match="not a PEM certificate"):
        kubeconfig.load(paths=[path]).ssl_context()


def test_a_key_with_a_password_is_refused_without_a_prompt(tmp_path: Path) -> None:
    made = ec.generate_private_key(ec.SECP256R1())
    locked = made.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(b"secret"),
    )
    user = {"client-certificate": "tls.crt", "client-key": "tls.key"}
    certificate, _ = self_signed.make_apart()
    (tmp_path / "tls.crt").write_bytes(certificate)
    (tmp_path / "tls.key").write_bytes(locked)
    with pytest.raises(ConfigurationError, match="do not match"):
        kubeconfig.load(paths=[_config(tmp_path / "k", user)]).ssl_context()
