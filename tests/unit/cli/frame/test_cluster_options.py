"""The options of cluster commands, and the values that they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import click
import pytest

from olmkit.cli import main
from olmkit.cli.frame.cluster_options import DurationType
from olmkit.jobs.cluster import status
from olmkit.jobs.cluster.status import CatalogRow, OperatorsStatus


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("5m", 300), ("1h", 3600), ("7", 7)])
def test_durations_are_read(text: str, seconds: float) -> None:
    assert DurationType().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "m", "5 m", "-1s", "1.5m", "²s"])
def test_other_strings_are_not_durations(text: str) -> None:
    with pytest.raises(click.BadParameter):
        DurationType().convert(text, None, None)


def unreachable(folder: Path) -> list[str]:
    """A kubeconfig with an unreachable server."""
    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    (folder / "config").write_text(json.dumps(config))
    return ["--kubeconfig", str(folder / "config")]


@pytest.mark.parametrize(
    "words",
    [
        ["install", "cache"],
        ["install", "cache", "--olm", "v1"],
        ["upgrade", "cache"],
        ["uninstall", "cache"],
        ["status"],
        ["why", "cache"],
        ["olm", "status"],
    ],
    ids=" ".join,
)
def test_an_unreachable_server_is_exit_code_3(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*words, *unreachable(tmp_path)]) == 3
    assert "cannot reach the API server at `127.0.0.1:1`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["upgrade"],
        ["upgrade", "a", "--bundle", "b"],
        ["install", "a", "--olm", "v1", "--mode", "OwnNamespace"],
        ["install", "--olm", "v1"],
        ["upgrade", "a", "--olm", "v1", "--catalog", "c"],
        ["install", "a", "--timeout", "soon"],
        ["why", "a", "--from", "nowhere.yaml", "--olm", "v2"],
        ["why", "a", "--from", "nowhere.yaml", "--olm", "v1"],
        ["why", "a", "--from", "nowhere.yaml", "--save", "here.yaml"],
        ["install"],
        ["install", "./bundle"],
        ["install", "a", "--mode", "OwnNamespaces"],
        ["install", "a", "--mode", "SingleNamespace=Apps"],
        ["install", "a", "--catalog", "quay.io/Example/catalog:v1"],
        ["install", "a", "--catalog", "quay.io/example/catalog:v1", "--olm", "v1", "--channel", "x",
         "--approval", "manual"],
        ["install", "A b", "--olm", "v1"],
        ["install", "a", "--catalog-address", "shelf"],
        ["install", "a", "--catalog", "quay.io/example/catalog:v1", "--poll", "often"],
        ["install", "a", "--catalog", "shelf", "--poll", "15m"],
        ["install", "a", "--catalog-namespace", "OLM"],
        ["install", "--bundle", "b", "--catalog-server", "quay.io/opm:v1:v2"],
        ["install", "a", "--service-account", "installer"],
        ["install", "a", "--create-service-account"],
        ["uninstall", "a", "-n", "Apps"],
        ["status", "-n", "a/b"],
        ["install", "a", "--olm", "v1", "--service-account", "A b"],
        ["install", "a", "--pull-secret", "A b"],
        ["install", "a", "--catalog-server", "quay.io/Opm:v1"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_invalid_usage_ends_with_2(words: list[str], tmp_path: Path) -> None:
    assert main.run([*words, *unreachable(tmp_path)]) == 2


@pytest.mark.parametrize(
    "words",
    [["upgrade", "a", "--to", "newest"], ["install", "a", "--version", "one"]],
    ids=" ".join,
)
def test_an_invalid_range_of_olm_v1_is_reported_before_a_request_to_the_cluster(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run([*words, "--olm", "v1", *unreachable(tmp_path)]) == 2
    assert (
        f"error: invalid value for `{words[2]}`: `{words[3]}` cannot be requested of OLM v1"
        in capsys.readouterr().err
    )


def test_a_missing_kubeconfig_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    assert main.run(["status"]) == 2
    assert "`--kubeconfig`" in capsys.readouterr().err


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"[1, 2", b"a: 1\n---\n- 3\n", b""])
def test_a_file_without_objects_is_accepted(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "objects.yaml"
    file.write_bytes(data)

    assert main.run(["why", "cache", "--from", str(file)]) == 1


def test_values_of_a_cluster_in_a_table_cannot_move_the_cursor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = (CatalogRow(namespace="olm", name="shelf", source="a\x1b[2Jb", state="READY"),
            CatalogRow(namespace="", name="other", source="i:1", state="READY"))  # fmt: skip

    async def found(*_: object, **__: object) -> OperatorsStatus:
        return OperatorsStatus(operators=(), catalogs=rows)

    monkeypatch.setattr(status, "status", found)

    assert main.run(["status", *unreachable(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "NAMESPACE  CATALOG  STATE  SOURCE",
        "olm        shelf    READY  a\\u001b[2Jb",
        "-          other    READY  i:1",
    ]
