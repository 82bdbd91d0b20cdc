"""The page about external kinds: its commands and its code create an operator."""

from __future__ import annotations

import asyncio
import importlib
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from olmkit.cli import main
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.runtime.manager import Manager
from olmkit.testing.apiserver.server import ApiServer

PAGE = "docs/how-to/kinds-of-others.md"
KINDS = [
    Resource(gvk=GVK("apps", "v1", "Deployment"), plural="deployments"),
    Resource(gvk=GVK("", "v1", "Node"), plural="nodes", namespaced=False),
    Resource(gvk=GVK("cert-manager.io", "v1", "Certificate"), plural="certificates"),
]


def labels(server: ApiServer) -> dict[str, str]:
    found = server.get("deployments", "one") or {}
    return dict(found["metadata"].get("labels") or {})


async def labelled(wiring: Any) -> dict[str, str]:
    """Return the labels that the page's operator gives a Deployment."""
    async with asyncio.timeout(30), ApiServer.of(KINDS).serving() as server:
        async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
            manager = Manager(cluster, name="tagger")
            wiring.add_controllers(manager, {})
            running = asyncio.create_task(manager.run())
            server.put("nodes", {"metadata": {"name": "n", "namespace": ""}})
            server.put("deployments", {"metadata": {"name": "one"}, "spec": {}})
            while not labels(server):  # noqa: ASYNC110 - what changes is on the server
                await asyncio.sleep(0.01)
            manager.stop()
            await running
            return labels(server)


def test_commands_and_code_of_the_page_create_an_operator_that_works(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (root / PAGE).read_text()
    commands = "".join(re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE))
    [code] = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    for line in commands.replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        if words[0] == "cd":
            monkeypatch.chdir(tmp_path / words[1])
        else:
            assert main.run(words[1:]) == 0, line
    package = tmp_path / "tagger-operator/tagger_operator"
    (package / "reconcilers/deployment.py").write_text(code)
    monkeypatch.syspath_prepend(str(package.parent))
    try:
        wiring = importlib.import_module("tagger_operator.wiring")
        assert asyncio.run(labelled(wiring)) == {"example.com/team": "default"}
    finally:
        for name in [name for name in sys.modules if name.startswith("tagger_operator")]:
            del sys.modules[name]
    assert main.run(["generate"]) == 0
    role = (package.parent / "config/rbac/role.yaml").read_text()
    assert "- deployments\n  verbs:\n  - get\n  - list\n  - patch\n  - watch\n" in role
