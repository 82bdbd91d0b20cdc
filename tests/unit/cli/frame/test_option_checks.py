"""Values of options that can be judged without any input: exit code 2, and the option's name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.cli import main
from olmkit.cli.frame import option_checks

ROOT = Path(__file__).parents[4]
CATALOG = str(ROOT / "catalog")


@pytest.mark.parametrize(
    ("words", "option"),
    [
        (["catalog", "resolve", CATALOG, "-i", "a@abc", "--olm", "v1"], "--install"),
        (["catalog", "path", CATALOG, "memcached-operator", "--from", "0.0.1", "--to", "abc",
          "--olm", "v1"], "--to"),
        (["catalog", "list", "bundles", CATALOG, "--version", ">="], "--version"),
        (["catalog", "path", CATALOG, "a", "--from", "1", "--cluster-version", "abc"],
         "--cluster-version"),
        (["catalog", "resolve", CATALOG, "-i", "a", "--cluster-version", "abc"],
         "--cluster-version"),
        (["install", "a", "--olm", "v1", "--poll", "90s"], "--poll"),
        (["image", "mirror", CATALOG, "oci:usb", "--catalog-namespace", "A b"],
         "--catalog-namespace"),
        (["hub", "build", CATALOG, "--catalog-name", "A b"], "--catalog-name"),
        (["hub", "build", CATALOG, "--catalog-namespace", "a.b"], "--catalog-namespace"),
        (["hub", "build", CATALOG, "--catalog-image", "a/B:c"], "--catalog-image"),
        (["bundle", "scorecard", ".", "--service-account", "A b"], "--service-account"),
        (["bundle", "scorecard", ".", "--untar-image", "a/B:c"], "--untar-image"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", ["text", "json"])
def test_an_invalid_value_is_invalid_usage(
    words: list[str],
    option: str,
    form: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    is_json = form == "json" and words[1] != "scorecard"  # its formats are operator-sdk's
    assert main.run([*words, *(["-o", "json"] if is_json else [])]) == 2
    said = capsys.readouterr()
    message = json.loads(said.out)["error"]["message"] if is_json else said.err
    assert "invalid value for" in message
    assert f"`{option}`" in message
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_bundle_is_a_goal_too(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["catalog", "path", CATALOG, "memcached-operator", "--from", "0.0.1", "--olm", "v1"]
    assert main.run([*words, "--to", "memcached-operator.v0.0.2"]) == 0
    assert "is reached in 1 hop" in capsys.readouterr().err


def test_the_error_of_a_value_keeps_its_hint() -> None:
    with (
        pytest.raises(ConfigurationError, match="invalid value for `--to`: bad") as found,
        option_checks.checked("--to"),
    ):
        raise InputError("bad", hint="better")
    assert found.value.hint == "better"
