"""The pytest plugin, in pytest runs of small projects."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

PLUGIN = "olmkit.testing.pytest_plugin"
QUIET = ("-p", "no:cacheprovider")
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: things, singular: thing, kind: Thing}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer, maximum: 3}}}
"""
HEAD = """
from __future__ import annotations

import asyncio
from typing import Any

import pytest
from olmkit.runtime import GVK, Client, ControllerBuilder, Invalid, Manager, Request, Result
from olmkit.testing import ApiServer, ControlPlane

MAP = GVK("", "v1", "ConfigMap")


def thing(namespace: str, size: int) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": namespace}
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata,
            "spec": {"size": size}}


def config_map(namespace: str) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


class Labeller:
    def __init__(self, client: Client) -> None:
        self.client = client

    async def reconcile(self, request: Request) -> Result:
        if await self.client.get(MAP, request) is not None:
            found = config_map(request.namespace)
            found["metadata"] |= {"name": request.name, "labels": {"seen": "true"}}
            await self.client.apply(found)
        return Result()


def add(manager: Manager) -> None:
    manager.add_controller(ControllerBuilder().watches_for(MAP).build(Labeller(manager.client)))
"""
STORY = """
async def test_label(kube_client, kube_namespace, run_manager, until, each_server):
    await run_manager(add)
    await kube_client.create(config_map(kube_namespace))

    async def labels():
        found = await kube_client.require(MAP, Request("one", kube_namespace))
        return found["metadata"]["labels"]

    assert await until(labels) == {"seen": "true"}


async def test_kind_of_the_project(kube_client, kube_namespace, each_server):
    await kube_client.create(thing(kube_namespace, 3))
    with pytest.raises(Invalid):
        await kube_client.create(thing(kube_namespace, 4))
"""

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def project(tmp_path: Path) -> Run:
    """Run pytest on one test module of a project with a CRD."""
    bases = tmp_path / "config/crd/bases"
    bases.mkdir(parents=True)
    (bases / "things.yaml").write_text(CRD)
    (tmp_path / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")

    def run(code: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "test_it.py").write_text(HEAD + textwrap.dedent(code))
        kept = {name: value for name, value in os.environ.items() if name != "CI"}
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-rs", *QUIET, "-p", PLUGIN, *words],
            cwd=tmp_path,
            env=kept | variables,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_pytest_finds_the_plugin(root: Path) -> None:
    points = tomllib.loads((root / "runtime/pyproject.toml").read_text())["project"]["entry-points"]
    assert points["pytest11"] == {PLUGIN: PLUGIN}


def test_olmkit_does_not_import_pytest() -> None:
    code = (
        "import sys, olmkit.testing as t\n"
        "[getattr(t, name) for name in t.__all__]\n"
        "sys.exit('pytest' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_plugin_imports_nothing_before_it_is_used() -> None:
    code = f"import sys, {PLUGIN}\nsys.exit('aiohttp' in sys.modules or 'msgspec' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_example_tests_pass_on_the_double(project: Run) -> None:
    done = project(STORY, "--control-plane=off")
    assert "2 passed, 2 skipped" in done.stdout, done.stdout + done.stderr
    assert "`--control-plane=off` is set" in done.stdout


@pytest.mark.e2e
@pytest.mark.usefixtures("control_plane_programs")
def test_example_tests_pass_on_a_real_server(project: Run) -> None:
    done = project(STORY, "--control-plane=required")
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_a_test_without_a_named_server_has_the_double(project: Run) -> None:
    done = project(
        """
        async def test_writes(kube_client, api_server):
            await kube_client.create(config_map("default"))
            assert len(api_server.writes()) == 1
            assert isinstance(api_server, ApiServer)
        """
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_missing_programs_skip_or_fail_with_a_hint(project: Run, tmp_path: Path) -> None:
    code = "def test_real(control_plane): ...\n"
    empty = {"PATH": "", "HOME": str(tmp_path), "KUBEBUILDER_ASSETS": ""}
    empty |= {"OLMKIT_CACHE": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)}
    skipped = project(code, **empty)
    assert "1 skipped" in skipped.stdout, skipped.stdout
    assert "`make envtest` of a project downloads them" in skipped.stdout
    for done in (
        project(code, "--control-plane=required", **empty),
        project(code, CI="1", **empty),
    ):
        assert done.returncode == 1
        assert "kube-apiserver and etcd are not installed" in done.stdout


def test_a_coroutine_only_needs_the_fixture_of_a_server(project: Run) -> None:
    done = project(
        """
        async def test_each(each_server):
            await asyncio.sleep(0)

        @pytest.mark.usefixtures("api_server")
        async def test_double():
            await asyncio.sleep(0)

        @pytest.fixture(scope="session")
        def control_plane():
            return "instead of a real one"

        async def test_real(control_plane):
            await asyncio.sleep(0)
        """
    )
    assert "4 passed" in done.stdout, done.stdout + done.stderr


def test_a_failing_manager_ends_the_wait(project: Run) -> None:
    done = project(
        """
        async def fails():
            raise RuntimeError("broken on purpose")

        async def test_waits(run_manager, until):
            await run_manager(lambda manager: manager.add(fails))
            await until(lambda: False, seconds=60)
        """
    )
    assert done.returncode == 1
    assert "broken on purpose" in done.stdout


def test_the_last_seen_state_is_in_the_message(project: Run) -> None:
    done = project(
        """
        async def test_waits(until):
            await until(lambda: [], seconds=0.1, what="three pods")

        async def test_looks(until):
            await until(lambda: {}["status"], seconds=0.1)
        """
    )
    assert "not true after 0.1 s: three pods; last: []" in done.stdout
    assert "KeyError('status')" in done.stdout


def test_a_mark_of_another_plugin_is_explained(project: Run) -> None:
    done = project(
        """
        @pytest.mark.asyncio
        async def test_waits(until): ...
        """,
        "-W",
        "ignore",
    )
    assert "remove the mark" in done.stdout, done.stdout


def test_other_coroutine_tests_are_left_to_other_plugins(project: Run) -> None:
    done = project("async def test_waits(): ...\n", "-W", "ignore")
    assert "async def functions are not natively supported" in done.stdout


def test_a_test_that_does_not_end_is_cancelled(project: Run) -> None:
    done = project(
        "async def test_waits(until): await asyncio.sleep(99)\n", "-o", "olmkit_timeout=0.2"
    )
    assert "TimeoutError" in done.stdout


def test_an_unknown_kind_names_the_directories_of_crds(project: Run) -> None:
    done = project(
        """
        async def test_reads(kube_client):
            await kube_client.get(GVK("example.com", "v1", "Other"), Request("a", "default"))
        """
    )
    assert "CRDs found in `config`: `things.example.com`" in done.stdout, done.stdout
    done = project(
        """
        async def test_reads(kube_client):
            await kube_client.create(thing("default", 1))
        """,
        "-o",
        "olmkit_config=nowhere",
    )
    assert "CRDs found in `nowhere`: none" in done.stdout, done.stdout


@pytest.mark.parametrize("place", ["config/crd", "config", "crds"])
def test_crds_are_found_without_the_directory_of_the_scaffold(
    project: Run, tmp_path: Path, place: str
) -> None:
    (tmp_path / place).mkdir(exist_ok=True)
    (tmp_path / "config/crd/bases/things.yaml").rename(tmp_path / place / "things.yaml")
    (tmp_path / "config/crd/bases").rmdir()
    if place != "config/crd":
        (tmp_path / "config/crd").rmdir()
    code = """
    async def test_creates(kube_client):
        await kube_client.create(thing("default", 1))
    """
    folder = "crds" if place == "crds" else "config"
    done = project(code, "-o", f"olmkit_config={folder}")
    assert "1 passed" in done.stdout, done.stdout
