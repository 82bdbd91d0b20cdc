"""The output of `olmkit status`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from olmkit.cli import main
from olmkit.jobs.cluster import status as job
from olmkit.jobs.cluster.status import OperatorRow, OperatorsStatus
from olmkit.olm.explain.explanation import Explanation, Readiness


@pytest.mark.parametrize(
    ("olm", "approval", "catalog"), [("v0", "Manual", "olm/shelf"), ("v1", None, None)]
)
def test_what_a_generation_does_not_have_is_null(
    olm: str,
    approval: str | None,
    catalog: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = OperatorRow(
        olm=olm,
        namespace="apps",
        name="cache",
        package="cache",
        channel="",
        catalog=catalog or "",
        approval=approval or "",
        installed="cache.v1.0.0",
        explanation=Explanation(
            readiness=Readiness.READY, cause="healthy", message="healthy", version="1.0.0"
        ),
    )

    async def found(*_: object, **__: object) -> OperatorsStatus:
        return OperatorsStatus(operators=(row,), catalogs=())

    config = {
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c"}}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    monkeypatch.setattr(job, "status", found)
    assert main.run(["status", "-o", "json", "--kubeconfig", str(tmp_path / "config")]) == 0
    (value,) = json.loads(capsys.readouterr().out)["result"]["operators"]
    assert (value["approval"], value["catalog"], value["version"]) == (approval, catalog, "1.0.0")
