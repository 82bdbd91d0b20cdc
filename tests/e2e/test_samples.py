"""The tests of the samples with a real API server, their style, and their types."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

PLUGIN = {"PYTEST_PLUGINS": "olmkit.testing.pytest_plugin"}
SAMPLES = ("backups-operator", "couchdb-users-operator", "from-kopf/after", "guides")


def run(place: Path, *words: str, **more: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *words],
        cwd=place,
        env=os.environ
        | PLUGIN
        | {"PYTHONPATH": str(place), "MYPYPATH": f"{place}:{place}/tests"}
        | more,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("sample", SAMPLES)
def test_all_tests_pass_and_none_is_skipped(sample: str, root: Path, assets: Path) -> None:
    said = run(
        root / "samples" / sample,
        *("pytest", "-q", "-p", "no:cacheprovider"),
        KUBEBUILDER_ASSETS=str(assets),
    )
    assert " passed" in said
    assert "skipped" not in said


@pytest.fixture(scope="module")
def types_cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What mypy knows of olmkit and of its libraries, which the samples share."""
    return str(tmp_path_factory.mktemp("types"))


@pytest.mark.parametrize("sample", SAMPLES)
def test_types_of_the_tests_are_also_checked(sample: str, root: Path, types_cache: str) -> None:
    place = root / "samples" / sample
    tests = sorted(str(path) for path in (place / "tests").glob("*.py"))
    run(place, "mypy", "--strict", "--cache-dir", types_cache, *tests)


SITE = """
from olmkit.runtime import Client, Request
from olmkit.testing import ApiServer, ControlPlane, RunOperator, Until

from site_operator import DEPLOYMENT, OPERATOR, Site


async def test_a_site_is_served(
    each_server: ApiServer | ControlPlane,
    kube_client: Client,
    kube_namespace: str,
    run_operator: RunOperator,
    until: Until,
) -> None:
    await run_operator(OPERATOR, environment={"WATCH_NAMESPACE": kube_namespace})
    key = Request("home", kube_namespace)
    metadata = {"name": "home", "namespace": kube_namespace}
    site = Site.from_manifest({"metadata": metadata, "spec": {"page": "<h1>Hi</h1>"}})
    site = await kube_client.create(site)

    async def deployment() -> object:
        return await kube_client.get(DEPLOYMENT, key)

    await until(deployment)
    status = {"replicas": 1, "readyReplicas": 1}
    await kube_client.merge_patch(DEPLOYMENT, key, {"status": status}, subresource="status")

    async def is_reported() -> bool:
        found = await kube_client.require(Site, key)
        return found.status is not None and found.status.ready_replicas == 1

    await until(is_reported)
    await kube_client.delete(DEPLOYMENT, key)
    await until(deployment)
"""


def test_the_operator_in_60_lines_works_on_both_servers(
    root: Path, tmp_path: Path, assets: Path, types_cache: str
) -> None:
    page = (root / "docs/how-to/operator-in-60-lines.md").read_text()
    code = re.search(r"`site_operator.py`:\n\n```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert code is not None
    (tmp_path / "site_operator.py").write_text(code[1])
    (tmp_path / "test_site.py").write_text(SITE)
    (tmp_path / "PROJECT").write_text(
        'domain: example.com\nlayout: [python.olmkit.dev/v1]\nprojectName: sites\nversion: "3"\n'
    )
    (tmp_path / "pyproject.toml").write_text('[tool.olmkit]\nsources = ["."]\n')
    run(tmp_path, "olmkit", "generate", "crd")
    run(tmp_path, "mypy", "--strict", "--cache-dir", types_cache, "test_site.py")
    said = run(
        tmp_path,
        *("pytest", "-q", "-p", "no:cacheprovider"),
        KUBEBUILDER_ASSETS=str(assets),
    )
    assert "2 passed" in said
