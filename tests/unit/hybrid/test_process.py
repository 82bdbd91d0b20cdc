"""The program of a Helm operator: flags of the original, errors before it runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olmkit.edges.programs import processes
from olmkit.hybrid import __main__ as program
from olmkit.hybrid import process
from olmkit.hybrid.ansible import program as ansible_program
from olmkit.hybrid.helm import program as helm_program


def test_errors_have_line_and_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "watches.yaml"
    words = [f"--watches-file={file}", "--once"]
    assert process.main(helm_program.PROGRAM, words, {}) == 2
    assert f"error: `{file}` does not exist" in capsys.readouterr().err
    file.write_text("- version: v1\n  kind: K\n  chart: c\n  reconcilePeriod: 5\n  extra: 1\n")
    assert process.main(helm_program.PROGRAM, words, {}) == 2
    said = capsys.readouterr().err
    assert f"warning[WCH002]: {file}:5:3: `extra` is not read" in said
    assert f"error[WCH004]: {file}:4:20: `reconcilePeriod` must be a duration" in said
    file.write_text("- version: v1\n  kind: K\n  chart: c\n")
    assert process.main(helm_program.PROGRAM, words, {}) == 2
    assert "is not a chart" in capsys.readouterr().err
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "Chart.yaml").write_text("name: c\n")
    assert process.main(helm_program.PROGRAM, [*words, f"--helm={tmp_path}/helm"], {}) == 2
    assert "name it with `--helm`" in capsys.readouterr().err
    assert process.main(helm_program.PROGRAM, [f"--watches-file={file}", "--check"], {}) == 2
    assert "`--check` needs `--once`" in capsys.readouterr().err


def test_the_flags_of_the_original_are_accepted(tmp_path: Path) -> None:
    words = (
        "--leader-elect --leader-election-id=demo --metrics-bind-address=:8443 --metrics-secure "
        "--metrics-require-rbac --health-probe-bind-address=:8081 --zap-log-level=error "
        "--zap-devel --zap-encoder=json --enable-http2=false --reconcile-period=5m "
        f"--max-concurrent-reconciles=2 --suppress-override-values --watches-file={tmp_path}/none"
    )
    assert process.main(helm_program.PROGRAM, words.split(), {}) == 2
    given = process.parse_flags(helm_program.PROGRAM, words.split())
    assert (given.workers, given.log_level, given.own.reconcile_period) == (2, "error", 300)
    assert given.own.leader_election_id == "demo"
    assert process.parse_flags(helm_program.PROGRAM, ["--max-concurrent-reconciles=1"]).workers == 1
    assert 1 <= process.parse_flags(helm_program.PROGRAM, []).workers <= processes.processors()


def test_the_memory_limit_and_the_processors_decide_the_number_of_workers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "processors", lambda: 16)
    for limit, count in ((None, 16), (128 << 20, 1), (512 << 20, 5), (8 << 30, 16)):
        monkeypatch.setattr(processes, "memory_limit", lambda limit=limit: limit)
        assert process.workers(own=64, each=80) == count


def test_run_is_a_command_as_in_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["helm", "run", f"--watches-file={tmp_path}/none"]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert program.main(["other"]) == 2
    assert "usage:" in capsys.readouterr().err


def test_an_ansible_operator_reports_missing_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def said(*more: str, **environment: str) -> str:
        words = [f"--watches-file={file}", "--once", *more]
        assert process.main(ansible_program.PROGRAM, words, environment) == 2
        return capsys.readouterr().err

    file = tmp_path / "watches.yaml"
    entry = "- version: v1\n  kind: Cache\n  group: a.b\n"
    file.write_text(entry)
    assert "error[WCH003]" in said()
    file.write_text(entry + "  role: gone\n")
    assert f"{file}:1:3: the role `gone` does not exist" in said()
    file.write_text(entry + "  playbook: gone.yml\n")
    assert "the playbook `gone.yml` does not exist" in said()
    (tmp_path / "roles" / "there").mkdir(parents=True)
    file.write_text(entry + "  role: there\n")
    assert "`WORKER_CACHE_A_B` is not a number from 1: `x`" in said(WORKER_CACHE_A_B="x")
    assert "`--ansible-args` cannot be read" in said(
        "--ansible-args='\"", KUBECONFIG=_config(tmp_path)
    )
    (tmp_path / "other" / "elsewhere").mkdir(parents=True)
    file.write_text(entry + "  role: elsewhere\n")
    roles = f"--ansible-roles-path={tmp_path / 'other'}"
    assert "is not a number" in said(roles, ANSIBLE_VERBOSITY_CACHE_A_B="-1")


def _config(folder: Path) -> str:
    file = folder / "kubeconfig"
    cluster = {"name": "a", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "a", "context": {"cluster": "a", "user": "a"}}
    user = {"name": "a", "user": {}}
    value = {"clusters": [cluster], "contexts": [context], "users": [user], "current-context": "a"}
    file.write_text(json.dumps(value))
    return str(file)


def test_the_flags_of_ansible_operator_are_accepted() -> None:
    words = (
        "--leader-elect --leader-election-id=demo --health-probe-bind-address=:6789 "
        "--metrics-bind-address=:8443 --metrics-secure --metrics-require-rbac --proxy-port=8888 "
        "--ansible-verbosity=4 --ansible-log-events=Everything --inject-owner-ref=false "
        "--graceful-shutdown-timeout=30s --zap-log-level=debug --reconcile-period=1m "
        "--leader-elect-lease-duration=1m --leader-elect-renew-deadline 45s"
    )
    given = process.parse_flags(ansible_program.PROGRAM, words.split())
    assert (given.lease_duration, given.renew_deadline, given.log_level) == (60, 45, "debug")
    assert (given.own.reconcile_period, given.own.ansible_verbosity) == (60, 4)
    assert (given.own.ansible_log_events, given.own.inject_owner_ref) == ("everything", False)
    assert process.parse_flags(ansible_program.PROGRAM, []).own.reconcile_period == 36_000


def test_old_names_of_flags_are_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--metrics-addr=:9", "--enable-leader-election", "--zap-log-level", "error"]
    given = process.parse_flags(ansible_program.PROGRAM, words)
    assert (given.metrics_address, given.leader_elect, given.log_level) == (":9", True, "error")
    with pytest.raises(SystemExit):
        process.parse_flags(ansible_program.PROGRAM, ["--leader-elect-lease-duration", "soon"])
    assert "`soon` is not a duration" in capsys.readouterr().err
