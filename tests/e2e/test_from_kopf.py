"""The operator on the page about moving from kopf, before and after: both do the same."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from olmkit.kube.api import NoSuchKind, NotFound
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime import Client, Request
from olmkit.testing import ControlPlane, client_for, load_manifest
from olmkit.testing.control_plane import Programs

pytestmark = pytest.mark.e2e

BUCKET = GVK(group="storage.example.com", version="v1", kind="Bucket")
KOPF = "kopf.zalando.org/"


class Store:
    """The store outside the cluster: its contents and its address."""

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        sizes = self.sizes

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                sizes[self.path[1:]] = body["size"]
                self._say({"address": f"store{self.path}"})

            def do_DELETE(self) -> None:
                sizes.pop(self.path[1:], None)
                self._say({})

            def _say(self, said: dict[str, str]) -> None:
                data = json.dumps(said).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def store() -> Iterator[Store]:
    made = Store()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


@pytest.fixture(scope="module")
def plane(
    root: Path, tmp_path_factory: pytest.TempPathFactory, control_plane_programs: Programs
) -> Iterator[ControlPlane]:
    """An API server with the kind Bucket."""
    folder = tmp_path_factory.mktemp("kopf")
    crds = root / "samples/from-kopf/after/config/crd/bases"

    async def install(client: Client) -> None:
        for path in sorted(crds.glob("*.yaml")):
            await client.apply(load_manifest(path))

        async def is_served() -> bool:
            try:
                await client.list(BUCKET)
            except (NoSuchKind, NotFound):
                return False
            return True

        await until(is_served)

    with ControlPlane(folder=folder, programs=control_plane_programs) as made:
        run_scenario(made, install)
        yield made


def run_scenario(plane: ControlPlane, scenario: Callable[[Client], Awaitable[None]]) -> None:
    async def steps() -> None:
        async with asyncio.timeout(120), client_for(plane) as client:
            await scenario(client)

    asyncio.run(steps())


@contextlib.contextmanager
def running(which: str, plane: ControlPlane, store: Store, root: Path) -> Iterator[None]:
    """One of the two operators, from its start to its end."""
    samples = root / "samples/from-kopf"
    words = {
        "before": ["kopf", "run", str(samples / "before/handlers.py"), "-n", "default"],
        "after": ["buckets_operator", "--health-probe-bind-address=0"],
    }[which]
    log = plane.folder / f"{which}-{time.monotonic_ns()}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            env=os.environ
            | {"KUBECONFIG": str(plane.kubeconfig), "STORE_URL": store.url}
            | {"PYTHONPATH": str(samples / "after"), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=out,
            stderr=out,
        )
    try:
        yield
    except TimeoutError as error:
        raise AssertionError(log.read_text(errors="replace")[-4000:]) from error
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def bucket(name: str, size: int) -> Manifest:
    return {
        "apiVersion": BUCKET.api_version,
        "kind": BUCKET.kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": size},
    }


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    while not await holds():  # noqa: ASYNC110 - nothing signals the change
        await asyncio.sleep(0.1)


async def settled(client: Client, name: str) -> Manifest:
    """Return the bucket, once its status matches its spec."""
    found: Manifest = {}

    async def is_settled() -> bool:
        nonlocal found
        found = await client.get(BUCKET, Request(name, "default")) or {}
        status = found.get("status") or {}
        generation = found.get("metadata", {}).get("generation")
        return bool(status) and status.get("observedGeneration") == generation

    await until(is_settled)
    return found


async def gone(client: Client, name: str) -> None:
    async def is_gone() -> bool:
        return await client.get(BUCKET, Request(name, "default")) is None

    await until(is_gone)


def outcome(which: str, plane: ControlPlane, store: Store, root: Path) -> list[Any]:
    """Return the visible state after creation, a change, a restart and a deletion."""
    seen: list[Any] = []

    async def look(client: Client) -> None:
        found = await settled(client, "b")
        seen.append((found["spec"], found["status"], dict(store.sizes)))

    async def first(client: Client) -> None:
        await client.create(bucket("b", 3))
        await look(client)
        found = await client.require(BUCKET, Request("b", "default"))
        await client.patch(found, {**found, "spec": {"size": 5}})
        await look(client)

    async def second(client: Client) -> None:
        await look(client)
        await client.delete(BUCKET, Request("b", "default"))
        await gone(client, "b")
        seen.append(dict(store.sizes))

    with running(which, plane, store, root):
        run_scenario(plane, first)

    async def change(client: Client) -> None:
        found = await client.require(BUCKET, Request("b", "default"))
        await client.patch(found, {**found, "spec": {"size": 8}})

    run_scenario(plane, change)
    with running(which, plane, store, root):
        run_scenario(plane, second)
    return seen


def test_both_operators_do_the_same(plane: ControlPlane, store: Store, root: Path) -> None:
    before = outcome("before", plane, store, root)
    after = outcome("after", plane, store, root)
    assert after == before
    assert before[0] == (
        {"size": 3},
        {"address": "store/default.b", "observedGeneration": 1},
        {"default.b": 3},
    )
    assert before[-1] == {}


def test_objects_of_kopf_are_taken_over(plane: ControlPlane, store: Store, root: Path) -> None:
    async def with_kopf(client: Client) -> None:
        for name in ("stays", "goes"):
            await client.create(bucket(name, 2))
            found = await settled(client, name)
            assert any(one.startswith(KOPF) for one in found["metadata"]["finalizers"])

    async def with_none(client: Client) -> None:
        await client.delete(BUCKET, Request("goes", "default"))

    async def with_olmkit(client: Client) -> None:
        await gone(client, "goes")

        async def is_free() -> bool:
            return KOPF not in json.dumps(
                await client.get(BUCKET, Request("stays", "default")) or KOPF
            )

        await until(is_free)
        assert store.sizes == {"default.stays": 2}
        await client.delete(BUCKET, Request("stays", "default"))
        await gone(client, "stays")
        assert store.sizes == {}

    with running("before", plane, store, root):
        run_scenario(plane, with_kopf)
    run_scenario(plane, with_none)
    with running("after", plane, store, root):
        run_scenario(plane, with_olmkit)
