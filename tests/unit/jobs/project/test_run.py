"""Running a project's operator against a small API server on loopback."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.jobs.project import run as run_job
from olmkit.jobs.project.run import RunOptions
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.testing.apiserver.server import ApiServer

TOY = Resource(gvk=GVK(group="toys.example.com", version="v1", kind="Toy"), plural="toys")

PROGRAM = """\
import json, os, signal, sys, time

seen = []
signal.signal(signal.SIGTERM, lambda number, _: seen.append(number))
names = ("IMAGE", "WATCH_NAMESPACE", "KUBECONFIG")
facts = {name: os.environ.get(name) for name in names}
files = (facts["KUBECONFIG"] or "").split(os.pathsep)
facts["first"] = open(files[0]).read() if files[0] else ""
print(json.dumps({"arguments": sys.argv[1:], "folder": os.getcwd(), **facts}), flush=True)
while "--stay" in sys.argv and not seen:
    time.sleep(0.01)
sys.exit(7 if seen else 3)
"""
MANAGER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: m}
spec:
  template:
    spec:
      containers:
      - name: manager
        env: [{name: IMAGE, value: "from-the-manifest:1"}]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for path, text in {
        "PROJECT": 'version: "3"\nlayout: [python.olmkit/v1]\nprojectName: toy\n'
        "domain: example.com\nresources:\n- {api: {crdVersion: v1, namespaced: true}, "
        "controller: true, group: toys, domain: example.com, version: v1, kind: Toy}\n",
        "pyproject.toml": '[project]\nname = "toy"\nversion = "1"\n',
        "toy/__init__.py": "",
        "toy/__main__.py": PROGRAM,
        "config/manager/manager.yaml": MANAGER,
        "config/manager/broken.yaml": "a: [",
    }.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@asynccontextmanager
async def served(folder: Path, *resources: Resource) -> AsyncIterator[Path]:
    """A kubeconfig of a server that has these kinds; its context `b` is not the current one."""
    async with ApiServer.of(resources).serving() as server:
        path = folder / "kubeconfig"
        contexts = [{"name": name, "context": {"cluster": "k", "user": "u"}} for name in "ab"]
        path.write_text(
            json.dumps(
                {
                    "current-context": "a",
                    "contexts": contexts,
                    "clusters": [{"name": "k", "cluster": {"server": server.url}}],
                    "users": [{"name": "u", "user": {}}],
                }
            )
        )
        yield path


async def olmkit(project: Path, *words: str, **environment: str) -> asyncio.subprocess.Process:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("OLMKIT_")}
    clean.pop("KUBECONFIG", None)
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "olmkit", "run", "-C", str(project), *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=clean | environment,
    )


def test_the_operator_gets_arguments_variables_and_the_cluster(
    project: Path, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(30), served(tmp_path, TOY) as config:
            process = await olmkit(
                *(project, "--kubeconfig", str(config), "-n", "here", "--", "--log", "-v")
            )
            out, err = await process.communicate()
            facts: dict[str, Any] = json.loads(out)
            assert facts["arguments"] == ["--log", "-v"]
            assert facts["folder"] == str(project)
            assert facts["IMAGE"] == "from-the-manifest:1"
            assert facts["WATCH_NAMESPACE"] == "here"
            assert facts["KUBECONFIG"] == str(config)
            assert process.returncode == 3, "the operator's exit code"
            assert b"-m toy --log -v` against `http://127.0.0.1:" in err

    asyncio.run(scenario())


def test_the_environment_of_the_caller_takes_precedence_and_the_context_is_passed(
    project: Path, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(30), served(tmp_path, TOY) as config:
            process = await olmkit(
                *(project, "--context", "b"),
                IMAGE="mine:2",
                WATCH_NAMESPACE="x",
                KUBECONFIG=str(config),
            )
            out, _ = await process.communicate()
            facts: dict[str, Any] = json.loads(out)
            assert (facts["IMAGE"], facts["WATCH_NAMESPACE"]) == ("mine:2", "x")
            assert facts["KUBECONFIG"].endswith(f":{config}")
            assert json.loads(facts["first"])["current-context"] == "b"

    asyncio.run(scenario())


def test_a_signal_reaches_the_operator_and_its_exit_code_is_returned(
    project: Path, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(30), served(tmp_path, TOY) as config:
            process = await olmkit(project, "--kubeconfig", str(config), "--", "--stay")
            assert process.stdout is not None
            await process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            await process.communicate()
            assert process.returncode == 7

    asyncio.run(scenario())


def test_a_kind_that_the_cluster_lacks_is_reported_before_the_operator_runs(
    project: Path, tmp_path: Path
) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(30), served(tmp_path) as config:
            process = await olmkit(project, "--kubeconfig", str(config))
            out, err = await process.communicate()
            assert (process.returncode, out) == (2, b"")
            assert b"the cluster does not serve `Toy` of `toys.example.com/v1`" in err
            assert b"kubectl apply -k config/crd" in err
            process = await olmkit(project, "--kubeconfig", str(config), "--no-check")
            await process.communicate()
            assert process.returncode == 3

    asyncio.run(scenario())


def test_an_unreachable_cluster_is_exit_code_3(project: Path, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with asyncio.timeout(30):
            async with served(tmp_path, TOY) as config:
                pass
            process = await olmkit(project, "--kubeconfig", str(config))
            _, err = await process.communicate()
            assert process.returncode == 3
            assert b"cannot reach the API server" in err

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("gone", "words"),
    [
        ("PROJECT", "there is no project here"),
        ("pyproject.toml", r"there is no `pyproject.toml` here"),
        ("toy/__main__.py", r"`toy` cannot be run: `toy/__main__.py` does not exist"),
    ],
)
def test_the_missing_part_of_a_project_is_named(project: Path, gone: str, words: str) -> None:
    (project / gone).unlink()
    with pytest.raises(ConfigurationError, match=words):
        run_job.prepare(RunOptions(project=project), {"HOME": "/nowhere"})


def test_a_missing_cluster_is_reported(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="no cluster is configured"):
        run_job.prepare(RunOptions(project=project), {"HOME": "/nowhere"})


def test_the_environment_of_the_project_is_preferred(project: Path, tmp_path: Path) -> None:
    python = project / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.touch()
    config = tmp_path / "config"
    config.write_text(
        "{current-context: c, contexts: [{name: c, context: {cluster: k}}], "
        "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:1'}}]}"
    )
    ready = run_job.prepare(RunOptions(project=project, kubeconfig=config), {})
    assert ready.plan.command == (str(python), "-m", "toy")
    assert ready.environment["PYTHONPATH"] == str(project)


@pytest.mark.parametrize("layout", ["helm.sdk.operatorframework.io/v1", "go.kubebuilder.io/v1"])
def test_a_helm_project_is_run_by_olmkit_itself(tmp_path: Path, layout: str) -> None:
    (tmp_path / "watches.yaml").write_text("[{kind: Toy, chart: toy}]")
    (tmp_path / "PROJECT").write_text(
        f'version: "3"\nlayout: [{layout}]\nprojectName: toy\n'
        "domain: example.com\nplugins: {}\nresources:\n- {api: {crdVersion: v1, namespaced: true}, "
        "domain: example.com, group: toys, version: v1, kind: Toy}\n"
    )
    (tmp_path / "config").write_text("{}")
    kubeconfig = tmp_path / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}
    context = {"name": "c", "context": {"cluster": "c", "user": "u"}}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [cluster],
        "contexts": [context],
        "users": [{"name": "u", "user": {}}],
    }
    kubeconfig.write_text(json.dumps(config))
    ready = run_job.prepare(
        RunOptions(project=tmp_path, kubeconfig=kubeconfig, arguments=("--once", "--check")), {}
    )
    command = (sys.executable, "-m", "olmkit.hybrid", "helm", "--once", "--check")
    assert ready.plan.command == command
    assert ready.kinds == (TOY.gvk,)


ANSIBLE = {
    "PROJECT": 'version: "3"\nlayout: [ansible.sdk.operatorframework.io/v1]\nprojectName: toy\n'
    "domain: example.com\nresources:\n- {api: {crdVersion: v1, namespaced: true}, "
    "domain: example.com, group: toys, version: v1, kind: Toy}\n",
    "watches.yaml": "[{group: toys.example.com, version: v1, kind: Toy, role: toy}]\n",
    "roles/toy/tasks/main.yml": "- name: Look\n  assert: {that: size == 2}\n",
    "config/samples/toy.yaml": "apiVersion: toys.example.com/v1\nkind: Toy\n"
    "metadata: {name: bear}\nspec: {size: 2}\n",
    "config/crd/bases/toys.yaml": json.dumps(
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": "toys.toys.example.com"},
            "spec": {
                "group": "toys.example.com",
                "names": {
                    "kind": "Toy",
                    "plural": "toys",
                    "singular": "toy",
                    "listKind": "ToyList",
                },
                "scope": "Namespaced",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "subresources": {"status": {}},
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "x-kubernetes-preserve-unknown-fields": True,
                            }
                        },
                    }
                ],
            },
        }
    ),
}


@pytest.mark.skipif(importlib.util.find_spec("ansible") is None, reason="needs the extra `ansible`")
def test_an_ansible_project_runs_on_its_samples_without_a_cluster(tmp_path: Path) -> None:
    for path, text in ANSIBLE.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    async def said(*words: str) -> tuple[int | None, str]:
        process = await olmkit(tmp_path, "--samples", *words, HOME=str(tmp_path))
        out, err = await process.communicate()
        return process.returncode, (out + err).decode()

    async def scenario() -> None:
        async with asyncio.timeout(120):
            assert (await said("--", "--once", "--syntax-check"))[0] == 0
            (tmp_path / "config/samples/toy.yaml").write_text(
                ANSIBLE["config/samples/toy.yaml"].replace("2", "3")
            )
            code, text = await said("--", "--once")
            assert code == 1
            assert "Toy default/bear:\n  error: Assertion failed" in text
            code, text = await said("--context", "here")
            assert (code, "`--samples` cannot be used" in text) == (2, True)

    asyncio.run(scenario())
