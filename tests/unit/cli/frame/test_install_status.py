"""The status of an operator in words, in JSON and as an exit code."""

from __future__ import annotations

import asyncio
import io
import json
from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError, RemoteError
from olmkit.cli import main
from olmkit.cli.frame import install_status
from olmkit.cli.frame.app import App
from olmkit.cli.frame.terminal import Terminal
from olmkit.olm.explain.explanation import ChainLink, Explanation, FaultOrigin, Readiness

STUCK = Explanation(
    readiness=Readiness.STUCK,
    cause="container-crashes",
    message="container `manager` ends",
    hint="read its log",
    chain=(ChainLink("Subscription a/b", "no state yet"), ChainLink("InstallPlan a/i", "Complete"),
           ChainLink("Pod a/p", "CrashLoopBackOff")),
    log="one\ntwo\n",
)  # fmt: skip


def test_the_cause_comes_first_and_then_the_steps_to_it() -> None:
    assert install_status.text(STUCK).split("\n") == [
        "stuck: container `manager` ends",
        "  Subscription a/b: no state yet",
        "  ╰─ InstallPlan a/i: Complete",
        "     ╰─ Pod a/p: CrashLoopBackOff",
        "  its last log lines:",
        "  | one",
        "  | two",
        "hint: read its log",
    ]


@pytest.mark.parametrize("created", [[], [{"kind": "Subscription"}]])
def test_objects_that_remain_after_a_failed_install_are_reported(
    created: list[dict[str, str]],
) -> None:
    err = io.StringIO()
    app = App(command="install", terminal=Terminal(out=io.StringIO(), err=err))

    with install_status.note_leftovers(app, created, "olmkit uninstall a"):
        pass
    with (
        pytest.raises(SystemExit),
        install_status.note_leftovers(app, created, "olmkit uninstall a"),
    ):
        install_status.show(app, STUCK)

    told = "the created objects remain; `olmkit uninstall a` removes them\n"
    assert err.getvalue() == (told if created else "")


def test_values_of_a_cluster_cannot_move_the_cursor() -> None:
    evil = Explanation(readiness=Readiness.STUCK, cause="x", message="a\x1b[2Jb", log="\x07")

    assert "\x1b" not in install_status.text(evil)
    assert "\x07" not in install_status.text(evil)


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (Explanation(readiness=Readiness.READY, cause="healthy", message="m"), None),
        (STUCK, 1),
        (
            Explanation(
                readiness=Readiness.BLOCKED, cause="x", message="m", origin=FaultOrigin.WORLD
            ),
            3,
        ),
    ],
)
def test_the_exit_code_depends_on_the_cause(found: Explanation, code: int | None) -> None:
    out = io.StringIO()
    app = App(command="why", terminal=Terminal(out=out, err=io.StringIO()), output="json")

    if code is None:
        install_status.show(app, found)
    else:
        with pytest.raises(SystemExit) as raised:
            install_status.show(app, found)
        assert raised.value.code == code

    assert json.loads(out.getvalue())["result"]["cause"] == found.cause


def test_an_interruption_names_the_command_that_waits_again() -> None:
    err = io.StringIO()
    app = App(command="install", terminal=Terminal(out=io.StringIO(), err=err))
    for error in (KeyboardInterrupt, asyncio.CancelledError):
        with pytest.raises(error), install_status.note_interruption(app, "OLM continues"):
            raise error
    assert err.getvalue() == "OLM continues\n" * 2

    err.truncate(0)
    err.seek(0)
    resume = ("Thing", "olmkit upgrade a")
    for kind in ("Namespace", "Thing"):
        with (
            pytest.raises(KeyboardInterrupt),
            install_status.note_leftovers(app, [{"kind": kind}], "olmkit uninstall a", resume),
        ):
            raise KeyboardInterrupt
    remain = "the created objects remain; `olmkit uninstall a` removes them\n"
    again = "OLM continues; `olmkit upgrade a` waits until the operator is ready\n"
    assert err.getvalue() == f"{remain}{remain}{again}"


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (InputError("no", hint="do", cause="no-such-package"), "no-such-package"),
        (InputError("no", hint="do"), "refused"),
        (RemoteError("no", hint="do", cause="catalog-not-ready"), "catalog-not-ready"),
        (RemoteError("no", hint="do"), None),
        (ConfigurationError("no", hint="do"), None),
    ],
)
def test_a_refused_request_has_the_form_of_why(error: OlmkitError, cause: str | None) -> None:
    found = install_status.refusal(error, {"package": "a"})
    if cause is None:
        assert found is None
        return
    explained = Explanation(
        readiness=Readiness.BLOCKED, cause=cause, message="no", hint="do", version=""
    )
    assert found == {"package": "a", **install_status.value(explained)}


def test_the_result_of_a_refused_install_has_its_cause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def refuse(*_: object) -> None:
        raise InputError("there is one", cause="already-installed")

    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    monkeypatch.setattr("olmkit.jobs.cluster_v1.install.plan", refuse)
    words = ["install", "a", "--olm", "v1", "--kubeconfig", str(tmp_path / "config")]
    assert main.run([*words, "-o", "json"]) == 1
    value = json.loads(capsys.readouterr().out)
    assert value["error"] == {"message": "there is one"}
    assert value["result"] == {
        "package": "a",
        "standing": "blocked",
        "cause": "already-installed",
        "message": "there is one",
        "hint": None,
        "version": None,
        "chain": [],
        "log": None,
        "details": [],
    }
