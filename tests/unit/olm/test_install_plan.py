"""The contents of an InstallPlan."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from olmkit.olm import install_plan

CSV = {"kind": "ClusterServiceVersion", "metadata": {"name": "cache.v2.0.0"}}


def plan(manifest: str, generation: int = 1) -> dict[str, Any]:
    resource = {"kind": "ClusterServiceVersion", "name": "cache.v2.0.0", "manifest": manifest}
    return {
        "spec": {"clusterServiceVersionNames": ["cache.v2.0.0"], "generation": generation},
        "status": {"plan": [{"resolving": "cache.v2.0.0", "resource": resource}]},
    }


def packed(content: bytes) -> str:
    return base64.b64encode(base64.b64encode(gzip.compress(content))).decode()


def test_a_step_contains_the_csv() -> None:
    assert install_plan.step(plan(json.dumps(CSV)), "cache.v2.0.0") == CSV
    assert install_plan.step(plan("{"), "cache.v2.0.0") == {}
    assert install_plan.step(plan(json.dumps(CSV)), "cache.v3.0.0") == {}


def test_the_csv_of_an_unpacked_bundle_is_in_a_config_map() -> None:
    files = {
        "broken.yaml": "no base64",
        "strange.yaml": "é",
        "bomb.yaml": packed(b"\0" * (64 * 1024 * 1024)),
        "plain.yaml": base64.b64encode(base64.b64encode(b"not compressed")).decode(),
        "crd.yaml": packed(b"kind: CustomResourceDefinition\n"),
        "csv.yaml": packed(b"kind: ClusterServiceVersion\nmetadata:\n  name: cache.v2.0.0\n"),
    }
    assert install_plan.find_unpacked_csv({"binaryData": files}, "cache.v2.0.0") == CSV
    assert install_plan.find_unpacked_csv({"binaryData": files}, "cache.v3.0.0") == {}


def test_an_unreadable_file_is_omitted_and_repeated_ones_count_once() -> None:
    data = {"csv.yaml": packed(b"kind: ClusterServiceVersion\n"), "strange.yaml": "é"}
    assert list(install_plan.files({"binaryData": data})) == [{"kind": "ClusterServiceVersion"}]


def test_the_newest_plan_counts() -> None:
    older, newer = plan("", 1), plan("", 2)
    assert install_plan.find_for_csv((newer, older), "cache.v2.0.0") is newer
    assert install_plan.find_for_csv((newer, older), "cache.v3.0.0") is None
