"""The program of a Helm operator: flags of the original, faults before anything runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.hybrid import __main__ as program
from olmkit.hybrid import process


def test_faults_are_said_with_line_and_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "watches.yaml"
    words = [f"--watches-file={file}", "--once"]
    assert process.main(words, {}) == 2
    assert f"error: `{file}` does not exist" in capsys.readouterr().err
    file.write_text("- version: v1\n  kind: K\n  chart: c\n  reconcilePeriod: 5\n  extra: 1\n")
    assert process.main(words, {}) == 2
    said = capsys.readouterr().err
    assert f"warning[WCH002]: {file}:5:3: `extra` is not read" in said
    assert f"error[WCH004]: {file}:4:20: `reconcilePeriod` must be a duration" in said
    file.write_text("- version: v1\n  kind: K\n  chart: c\n")
    assert process.main(words, {}) == 2
    assert "is not a chart" in capsys.readouterr().err
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "Chart.yaml").write_text("name: c\n")
    assert process.main([*words, f"--helm={tmp_path}/helm"], {}) == 2
    assert "name it with `--helm`" in capsys.readouterr().err
    assert process.main([f"--watches-file={file}", "--check"], {}) == 2
    assert "`--check` needs `--once`" in capsys.readouterr().err


def test_the_flags_of_the_original_are_accepted(tmp_path: Path) -> None:
    words = (
        "--leader-elect --leader-election-id=demo --metrics-bind-address=:8443 --metrics-secure "
        "--metrics-require-rbac --health-probe-bind-address=:8081 --zap-log-level=error "
        "--zap-devel --zap-encoder=json --enable-http2=false --reconcile-period=5m "
        f"--max-concurrent-reconciles=2 --suppress-override-values --watches-file={tmp_path}/none"
    )
    assert process.main(words.split(), {}) == 2
    given = process.parse_flags(words.split())
    assert (given.workers, given.log_level, given.own.reconcile_period) == (2, "error", 300)
    assert given.own.leader_election_id == "demo"
    assert process.parse_flags(["--max-concurrent-reconciles=1"]).workers == 1
    assert 1 <= process.parse_flags([]).workers <= 4


def test_run_is_the_command_of_the_original(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert program.main(["helm", "run", f"--watches-file={tmp_path}/none"]) == 2
    assert "does not exist" in capsys.readouterr().err
    assert program.main(["other"]) == 2
    assert "usage:" in capsys.readouterr().err
