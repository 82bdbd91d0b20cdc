"""The output of `bundle build`, `bundle push` and the same commands for catalogs."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from olmkit.cli import main
from olmkit.testing.registry import RegistryServer, free_port

PREFIX = "operators.operatorframework.io.bundle."
# `secret`, hashed by `htpasswd -nbBC 5`.
USERS = {"tester": "$2y$05$hPy5QSEVEARTonm7ymJ9LeOhlGVL9sx5nYGT8.NLBHL2c/q3FZmM."}
CATALOG = """schema: olm.package
name: memcached
defaultChannel: alpha
---
schema: olm.channel
package: memcached
name: alpha
entries:
- name: memcached.v0.1.0
---
schema: olm.bundle
package: memcached
name: memcached.v0.1.0
image: registry.example.com/memcached-bundle:v0.1.0
properties:
- type: olm.package
  value:
    packageName: memcached
    version: 0.1.0
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    annotations = tmp_path / "bundle/metadata/annotations.yaml"
    annotations.parent.mkdir(parents=True)
    annotations.write_text(f"annotations:\n  {PREFIX}package.v1: memcached\n")
    (tmp_path / "bundle/manifests").mkdir()
    (tmp_path / "bundle/manifests/csv.yaml").write_text(
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
        "spec: {version: 0.1.0}\n"
    )
    (tmp_path / "catalog").mkdir()
    (tmp_path / "catalog/catalog.yaml").write_text(CATALOG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("DOCKER_CONFIG", "REGISTRY_AUTH_FILE", "XDG_RUNTIME_DIR", "SOURCE_DATE_EPOCH"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def token_registry(
    tmp_path_factory: pytest.TempPathFactory, registry: RegistryServer
) -> Iterator[RegistryServer]:
    del registry  # The fixture skips the test if there is no program.
    with RegistryServer(folder=tmp_path_factory.mktemp("guarded"), users=USERS) as server:
        yield server


def test_build_prints_the_pinned_reference_and_nothing_else(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main.run(["bundle", "build"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("oci:dist/oci@sha256:")
    assert out.count("\n") == 1
    assert err == ""
    assert main.run(["catalog", "build"]) == 0
    assert capsys.readouterr().out.startswith("oci:dist/oci@sha256:")


def test_push_prints_each_piece_on_stderr(
    capsys: pytest.CaptureFixture[str], registry: RegistryServer
) -> None:
    name = f"{registry.host}/cli/bundle:v1"
    assert main.run(["bundle", "build", "-t", name, "--push"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{registry.host}/cli/bundle@sha256:")
    assert err.count("sent: blob") == 5
    assert err.count("sent: manifest") == 4
    assert main.run(["bundle", "push"]) == 0
    again, err = capsys.readouterr()
    assert again == out
    assert err.startswith("already there: index")


def test_json_has_all_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["catalog", "build", "-o", "json", "--platform", "linux/amd64"]) == 0
    value = json.loads(capsys.readouterr().out)
    result = value["result"]
    assert value["command"] == "catalog build"
    assert result["platforms"] == ["linux/amd64"]
    assert result["reference"] == f"oci:dist/oci@{result['digest']}"
    assert {piece["outcome"] for piece in result["pieces"]} == {"sent"}


def test_source_date_is_in_the_image(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main.run(["bundle", "build"]) == 0
    plain = capsys.readouterr().out
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert main.run(["bundle", "build"]) == 0
    assert capsys.readouterr().out != plain
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    assert main.run(["bundle", "build"]) == 2
    assert "`SOURCE_DATE_EPOCH` is not a time" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["bundle", "build", "-t", "Bad Image"], 2, "`Bad Image` is not an image reference"),
        (["bundle", "build", "absent"], 2, "`olmkit bundle generate` creates one"),
        (["catalog", "build", "absent"], 2, "`olmkit catalog add` creates one"),
        (["bundle", "build", "catalog"], 1, "is not a bundle"),
        (["bundle", "build", "--push"], 2, "there is no registry to push to"),
        (["bundle", "build", "--platform", "amd64"], 2, "`amd64` is not a platform"),
        (["bundle", "push", "a", "b", "c"], 2, "more than two references"),
        (["bundle", "push", "localhost:1/a:b"], 2, "there is no image in `dist/oci`"),
        (["bundle", "push", "nothing", "localhost:1/a:b"], 2, "neither a folder nor an image"),
        (["bundle", "push", "oci:absent", "localhost:1/a:b"], 2, "no `index.json`"),
        (["catalog", "push", "bundle", "localhost:1/a:b"], 1, "missing root schema field"),
    ],
)
def test_invalid_arguments_are_refused_with_an_error(
    capsys: pytest.CaptureFixture[str], words: list[str], code: int, message: str
) -> None:
    assert main.run(words) == code
    out, err = capsys.readouterr()
    assert message in err
    assert out == ""
    assert "Traceback" not in err


def test_an_unreachable_registry_is_exit_code_3(
    capsys: pytest.CaptureFixture[str],
) -> None:
    host = f"127.0.0.1:{free_port()}"
    assert main.run(["bundle", "push", "bundle", f"{host}/a:b"]) == 3
    assert f"cannot reach `{host}`: connection refused" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["-vv"], ["--debug"], ["-o", "json"]])
def test_a_wrong_password_is_reported_and_never_shown(
    capsys: pytest.CaptureFixture[str],
    token_registry: RegistryServer,
    project: Path,
    words: list[str],
) -> None:
    authfile = project / "auth.json"
    auth = base64.b64encode(b"tester:hunter2hunter2").decode()
    authfile.write_text(json.dumps({"auths": {token_registry.host: {"auth": auth}}}))
    name = f"{token_registry.host}/a/b:v1"
    push = ["bundle", "push", "bundle", name, "--authfile", str(authfile), *words]
    assert main.run(push) == 3
    out, err = capsys.readouterr()
    assert "does not accept the credentials" in out + err
    assert "hunter2" not in out + err
    assert auth not in out + err


def test_the_right_password_comes_from_dockers_file(
    capsys: pytest.CaptureFixture[str], token_registry: RegistryServer, project: Path
) -> None:
    auth = base64.b64encode(b"tester:secret").decode()
    (project / "home/.docker").mkdir(parents=True)
    (project / "home/.docker/config.json").write_text(
        json.dumps({"auths": {token_registry.host: {"auth": auth}}})
    )
    assert main.run(["catalog", "push", "catalog", f"{token_registry.host}/a/c:v1"]) == 0
    assert capsys.readouterr().out.startswith(f"{token_registry.host}/a/c@sha256:")
