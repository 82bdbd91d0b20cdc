"""`olmkit doctor`: what is present, missing or broken."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig, NoClusterError
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs import doctor
from olmkit.jobs.doctor import MachineCheck, State
from olmkit.testing import ApiServer


@asynccontextmanager
async def no_cluster() -> AsyncIterator[tuple[ClusterObjects, str]]:
    raise NoClusterError("no cluster is configured", hint="name a kubeconfig")
    yield


def examine(
    folder: Path, environment: dict[str, str], cluster: object = None
) -> dict[str, MachineCheck]:
    opened = cluster or no_cluster()
    access = Access(environment=environment)
    found = asyncio.run(doctor.examine(folder, access, opened))  # type: ignore[arg-type]
    return {one.subject: one for one in found}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path


def test_an_empty_machine_lacks_much_and_nothing_is_broken(home: Path) -> None:
    found = examine(home, {"HOME": str(home)})
    assert not [one for one in found.values() if one.state is State.BROKEN]
    assert found["cluster"].state is State.MISSING
    assert found["registries"].state is State.MISSING
    assert found["project"].state is State.MISSING
    assert all(one.hint for one in found.values() if one.state is not State.OK)


def test_a_python_project_without_an_operator_is_not_broken(home: Path) -> None:
    (home / "pyproject.toml").write_text('[project]\nname = "site"\n')
    assert examine(home, {"HOME": str(home)})["project"].state is State.MISSING


def test_registries_are_named_without_secrets(home: Path) -> None:
    file = home / "auth.json"
    file.write_text(
        json.dumps(
            {
                "auths": {"https://quay.io/v1/": {"auth": "c2VjcmV0OnNlY3JldA=="}},
                "credHelpers": {"gcr.io": "gcloud"},
            }
        )
    )
    found = examine(home, {"HOME": str(home), "REGISTRY_AUTH_FILE": str(file)})["registries"]
    assert found.detail == f"credentials for gcr.io, quay.io (`{file}`)"
    file.write_text(json.dumps({"credsStore": "desktop"}))
    found = examine(home, {"HOME": str(home), "REGISTRY_AUTH_FILE": str(file)})["registries"]
    assert found.detail == f"credentials for all by a helper (`{file}`)"


def test_an_invalid_file_of_credentials_is_broken(home: Path) -> None:
    file = home / "auth.json"
    file.write_text("{")
    found = examine(home, {"REGISTRY_AUTH_FILE": str(file)})["registries"]
    assert (found.state, found.detail) == (
        State.BROKEN,
        f"the file with credentials `{file}` is not JSON",
    )


def test_a_project_is_named_with_its_kinds(home: Path) -> None:
    (home / "PROJECT").write_text(
        "domain: example.com\nlayout: [python.olmkit/v1]\nprojectName: pond\nversion: '3'\n"
    )
    found = examine(home, {})["project"]
    assert (found.state, found.detail) == (State.OK, "pond (python): no kinds yet")
    (home / "PROJECT").write_text("layout: [\n")
    assert examine(home, {})["project"].state is State.BROKEN


def test_a_lock_file_without_a_required_package_is_broken(home: Path) -> None:
    (home / "PROJECT").write_text("projectName: pond\nversion: '3'\n")
    (home / "pyproject.toml").write_text('[project]\nname = "pond"\ndependencies = ["a", "b"]\n')
    (home / "requirements.lock").write_text("a==1 --hash=sha256:00\n")
    found = examine(home, {})["project"]
    assert (found.state, found.detail) == (
        State.BROKEN,
        "`requirements.lock` lacks `b`, which `pyproject.toml` requires",
    )
    (home / "requirements.lock").write_text("a==1 --hash=sha256:00\nb==2 --hash=sha256:11\n")
    assert examine(home, {})["project"].state is State.OK


def test_named_assets_take_precedence(home: Path) -> None:
    (home / "etcd").write_text("")
    found = examine(home, {"KUBEBUILDER_ASSETS": str(home)})
    assert found["etcd"].detail == str(home / "etcd")
    assert found["kube-apiserver"].state is State.MISSING


def test_a_cluster_without_olm_lacks_it(home: Path) -> None:
    async def scenario() -> dict[str, MachineCheck]:
        async with ApiServer.of([]).serving() as server:

            @asynccontextmanager
            async def opened() -> AsyncIterator[tuple[ClusterObjects, str]]:
                async with HttpCluster(ClusterConfig(server=server.url)) as cluster:
                    yield ClusterObjects(cluster), "default"

            found = await doctor.examine(home, Access(environment={}), opened())
            return {one.subject: one for one in found}

    found = asyncio.run(scenario())
    assert found["cluster"].state is State.OK
    assert found["cluster"].detail.startswith("Kubernetes v1.")
    assert (found["OLM"].state, found["OLM"].hint) == (State.MISSING, "`olmkit olm install`")


def test_a_server_that_does_not_answer_is_broken(home: Path) -> None:
    @asynccontextmanager
    async def silent() -> AsyncIterator[tuple[ClusterObjects, str]]:
        raise TimeoutError
        yield

    assert examine(home, {}, silent())["cluster"].state is State.BROKEN
