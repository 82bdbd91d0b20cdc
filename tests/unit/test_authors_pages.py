"""The code on the pages for authors of operators runs unchanged."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Resource
from olmkit.runtime import Manager, Request
from olmkit.testing import ApiServer

FILE = re.compile(
    r"Save it as\s+`([a-z_]+\.py)`:\n\n```python\n(.*?)^```", re.DOTALL | re.MULTILINE
)
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)
HOW_TO = "docs/how-to/operator-in-60-lines.md"


def _files(page: Path) -> dict[str, str]:
    """Return the files that a page tells its reader to save."""
    return dict(FILE.findall(page.read_text()))


def test_the_operator_in_60_lines_has_no_more(root: Path) -> None:
    operator = _files(root / HOW_TO)["site_operator.py"]
    assert len([line for line in operator.splitlines() if line.strip()]) <= 60


@pytest.mark.parametrize("page", [HOW_TO, "docs/how-to/webhooks.md"])
def test_code_of_the_page_passes_its_own_tests(page: str, root: Path, tmp_path: Path) -> None:
    for name, text in _files(root / page).items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", [HOW_TO, "docs/how-to/webhooks.md"])
def test_code_of_the_page_is_typed(page: str, root: Path, tmp_path: Path) -> None:
    files = _files(root / page)
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", *files],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_operator_in_60_lines_is_all_that_a_project_needs(
    root: Path, reader_of: Callable[[Path], Any]
) -> None:
    reader = reader_of(root / HOW_TO)
    (reader.folder / "site_operator.py").write_text(_files(root / HOW_TO)["site_operator.py"])
    typed = re.findall(r"^\$ (.+)$", (root / HOW_TO).read_text(), re.MULTILINE)
    begin = next(at for at, line in enumerate(typed) if line.startswith("olmkit init"))
    end = next(
        at for at, line in enumerate(typed) if line.startswith("kubectl")
    )  # the part of a cluster
    said = reader.run("\n".join(typed[begin:end]))
    assert "created config/crd/bases/web.example.com_sites.yaml" in said


def _names(page: Path) -> dict[str, Any]:
    """Return the names that the code of a page defines, without the code for kopf."""
    found: dict[str, Any] = {"__name__": page.stem.replace("-", "_")}
    for _, text in BLOCK.findall(page.read_text()):
        code = compile(textwrap.dedent(text), str(page), "exec", dont_inherit=True)
        if "import kopf" not in text:
            exec(code, found)  # noqa: S102 - the code under test
    return found


def _play(
    server: ApiServer,
    add: Callable[[Manager], None],
    scenario: Callable[[Manager], Awaitable[None]],
) -> None:
    """Run `story` with a manager that has the controllers of `add`."""

    async def steps() -> None:
        async with asyncio.timeout(30), server.serving():
            async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                manager = Manager(cluster, name="example")
                add(manager)
                running = asyncio.create_task(manager.run())
                await scenario(manager)
                manager.stop()
                await running

    asyncio.run(steps())


async def _until(holds: Callable[[], Any]) -> Any:
    while not (found := holds()):  # noqa: ASYNC110 - nothing signals the change
        await asyncio.sleep(0.01)
    return found


def test_the_operator_from_kopf_keeps_and_removes_external_objects(
    root: Path,
) -> None:
    page = _names(root / "docs/explanation/from-kopf.md")
    outside: dict[str, int] = {}

    class Store:
        async def ensure(self, name: str, size: int) -> str:
            outside[name] = size
            return f"store/{name}"

        async def remove(self, name: str) -> None:
            del outside[name]

    bucket = Resource(gvk=page["BUCKET"], plural="buckets", subresources=frozenset({"status"}))
    server = ApiServer.of([bucket])
    metadata = {"name": "b", "finalizers": [page["OLD"]]}

    async def scenario(manager: Manager) -> None:
        server.put("buckets", {"metadata": metadata, "spec": {"size": 3}})
        await _until(lambda: "status" in (server.get("buckets", "b") or {}))
        found = server.get("buckets", "b")
        assert found is not None
        assert found["status"] == {"address": "store/b"}
        assert outside == {"b": 3}
        await page["let_go_of_kopf"](manager.client, found)
        await manager.client.delete(page["BUCKET"], Request("b", "default"))
        await _until(lambda: server.get("buckets", "b") is None)
        assert outside == {}

    _play(server, lambda manager: page["add_controllers"](manager, Store()), scenario)


def test_the_reconciler_from_controller_runtime_stops_writing(root: Path) -> None:
    page = _names(root / "docs/explanation/from-controller-runtime.md")
    status = frozenset({"status"})
    site = Resource(gvk=page["SITE"], plural="sites", subresources=status)
    server = ApiServer.of([site, Resource(gvk=page["CONFIG_MAP"], plural="configmaps")])

    async def scenario(_: Manager) -> None:
        server.put("sites", {"metadata": {"name": "s"}, "spec": {"page": "hello"}})
        found = await _until(lambda: (server.get("sites", "s") or {}).get("status"))
        assert [one["type"] for one in found["conditions"]] == ["Available"]
        made = server.get("configmaps", "s")
        assert made is not None
        server.put("configmaps", made | {"data": {"index.html": "by hand"}})
        await _until(
            lambda: (server.get("configmaps", "s") or {})["data"] == {"index.html": "hello"}
        )
        assert (server.get("sites", "s") or {})["status"] == found

    _play(server, page["setup_with_manager"], scenario)


def test_the_statements_of_the_runtime_page_about_the_queue_are_true(root: Path) -> None:
    assert "example" in _names(root / "docs/explanation/runtime.md")
