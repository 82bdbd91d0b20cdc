"""The question before objects are deleted, and the report afterward."""

from __future__ import annotations

import io
import json

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli.cluster import deletion
from olmkit.cli.frame.app import App
from olmkit.cli.frame.terminal import Terminal
from olmkit.jobs.cluster.operator_removal import NothingToRemoveError
from olmkit.jobs.cluster.write import Removed

CRD = {"kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"}}
POD = {"kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}


def an_app(output: str = "text") -> tuple[App, io.StringIO]:
    out = io.StringIO()
    terminal = Terminal(out=out, err=io.StringIO())
    return App(command="uninstall", terminal=terminal, output=output), out


def test_without_a_terminal_nothing_is_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())

    with pytest.raises(ConfigurationError, match="requires confirmation"):
        deletion.confirm(an_app()[0], [POD], yes=False)

    deletion.confirm(an_app()[0], [POD], yes=True)


def test_without_objects_there_is_no_question(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())
    app, out = an_app()

    deletion.confirm(app, [], yes=False)
    deletion.show(app, Removed(gone=()))
    deletion.show_plan(app, [])

    assert out.getvalue() == "nothing to delete\n" * 2


def test_deleted_objects_are_distinguished_from_objects_that_are_kept() -> None:
    app, out = an_app()

    deletion.show(app, Removed(gone=(POD,)), stays=["the CRDs"])

    assert out.getvalue() == "removed Pod n/p\nkept: the CRDs\n"


def test_a_dry_run_names_what_would_be_kept() -> None:
    app, out = an_app()

    deletion.show_plan(app, [POD], stays=["the CRDs"])

    assert out.getvalue() == "Pod n/p\nkept: the CRDs\n"


def test_an_object_that_is_not_deleted_is_exit_code_3() -> None:
    app, out = an_app("json")

    with pytest.raises(SystemExit) as ended:
        deletion.show(app, Removed(gone=(POD,), left=(CRD,)), package="toy")

    assert ended.value.code == 3
    assert json.loads(out.getvalue())["result"] == {
        "package": "toy",
        "cause": "objects-remain",
        "removed": ["Pod n/p"],
        "left": ["CustomResourceDefinition things.example.com"],
        "stays": [],
    }


def test_a_dry_run_has_the_same_format_as_the_deletion() -> None:
    app, out = an_app("json")

    deletion.show_plan(app, [POD], stays=["the CRDs"])

    value = json.loads(out.getvalue())["result"]
    assert value == {"cause": None, "removed": ["Pod n/p"], "left": [], "stays": ["the CRDs"]}


@pytest.mark.parametrize("is_ignored", [False, True])
def test_an_operator_that_does_not_exist_is_ignored_only_on_request(is_ignored: bool) -> None:
    app, out = an_app("json")

    with pytest.raises(SystemExit if is_ignored else NothingToRemoveError) as raised:
        with deletion.ignoring_absence(app, "cache", is_ignored=is_ignored):
            raise NothingToRemoveError("nothing requests `cache`")

    if isinstance(raised.value, SystemExit):
        assert raised.value.code == 0
        found = json.loads(out.getvalue())["result"]
        assert found == {"package": "cache", "cause": None, "removed": [], "left": [], "stays": []}
