"""The figures on the page that compares samples, counted again."""

from __future__ import annotations

import ast
import asyncio
import copy
import importlib
import io
import json
import os
import re
import sys
import tokenize
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from olmkit.jobs.project import generate, scaffold
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.project import InitRequest
from olmkit.runtime import GVK, Client, Request
from olmkit.testing import BUILT_IN, ApiServer, client_for, installing, running_operator, until
from olmkit.testing.loopback import serving

PAGE = "docs/explanation/samples-compared.md"
NO_CODE = {
    *(tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE),
    *(tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER),
}
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def lines_of(*paths: Path) -> int:
    """Return the lines of code without comments, docstrings and empty lines."""
    files = [file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py"))]
    return sum(_lines(file.read_text()) for file in files)


def _lines(text: str) -> int:
    rows: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            rows |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            first = node.body[0]
            rows -= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return len(rows)


def row(root: Path, words: str, column: int) -> int:
    """Return the number in a row of the page."""
    found = re.findall(
        rf"^\| {re.escape(words)} \|(.*)\|$", (root / PAGE).read_text(), re.MULTILINE
    )
    cells = [cell.strip() for line in found for cell in line.split("|")]
    number = re.match(r"\d+", cells[column])
    assert number is not None
    return int(number[0])


@pytest.fixture
def deploy_image(tmp_path: Path) -> Path:
    """The project of `olmkit create api --image`."""
    folder = tmp_path / "images-operator"
    scaffold.init(folder, InitRequest(domain="example.com", name="images-operator"))
    image = DeployImage(image="memcached:1.6")
    scaffold.create_api(
        folder, ApiRequest(group="cache", version="v1alpha1", kind="Memcached", deploy=image)
    )
    generate.generate(folder)
    return folder


def test_lines_of_code_are_counted(root: Path, deploy_image: Path) -> None:
    package = deploy_image / "images_operator"
    assert lines_of(package) == row(root, "lines: all", 1)
    assert lines_of(package / "api") == row(root, "lines: types", 1)
    assert lines_of(root / "operator/memcached_operator") == row(root, "lines: all", 2)
    assert lines_of(root / "operator/memcached_operator/api") == row(root, "lines: types", 2)
    kopf = root / "samples/from-kopf"
    assert lines_of(kopf / "before") == row(root, "lines", 0)
    assert lines_of(kopf / "after/buckets_operator") == row(root, "lines", 1)


async def wait_until_quiet(server: ApiServer, least: float = 1.0) -> None:
    """Wait until there was no request for a moment."""
    while True:
        before = len(server.requests)
        await asyncio.sleep(least)
        if len(server.requests) == before:
            return


async def writes(
    server: ApiServer, client: Client, body: dict[str, Any], least: float = 1.0
) -> tuple[int, int, int]:
    """Return an operator's own writes for a creation, a change and a deletion."""
    gvk = GVK(*body["apiVersion"].split("/"), body["kind"])
    key, counts = Request("one", "default"), []

    async def count(act: Callable[[], Any]) -> None:
        before = len(server.writes())
        await act()
        await wait_until_quiet(server, least)
        made = Counter(path for _, path in server.writes()[before:] if "/leases" not in path)
        counts.append(made.total() - 1)

    await count(lambda: client.create(body))
    old = await client.require(gvk, key)
    new = copy.deepcopy(old)
    new["spec"]["size"] = 4
    await count(lambda: client.patch(old, new))
    await count(lambda: client.delete(gvk, key))
    return counts[0], counts[1], counts[2]


def manifest(api_version: str, kind: str) -> dict[str, Any]:
    metadata = {"name": "one", "namespace": "default"}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": {"size": 3}}


MEMCACHED = manifest("cache.example.com/v1alpha1", "Memcached")
BUCKET = manifest("storage.example.com/v1", "Bucket")


@asynccontextmanager
async def world(config: Path) -> AsyncIterator[tuple[ApiServer, Client]]:
    server = ApiServer.of(BUILT_IN, crds=installing.crds(config))
    async with asyncio.timeout(60), server.serving(), client_for(server) as client:
        yield server, client


async def counted(project: Path, package: str, body: dict[str, Any], **variables: str) -> Any:
    sys.path.insert(0, str(project))
    try:
        operator = importlib.import_module(f"{package}.__main__").operator()
    finally:
        sys.path.remove(str(project))
    async with world(project / "config") as (server, client):
        async with running_operator(server, operator, environment=variables):
            return await writes(server, client, body)


def test_writes_of_the_memcached_operators_are_counted(root: Path, deploy_image: Path) -> None:
    image = {"MEMCACHED_IMAGE": "memcached:1.6"}
    for column, project, package in (
        (1, deploy_image, "images_operator"),
        (2, root / "operator", "memcached_operator"),
    ):
        created, changed, _ = asyncio.run(counted(project, package, MEMCACHED, **image))
        assert created == row(root, "writes: creation", column)
        assert changed == row(root, "writes: a change of the size", column)


async def store(request: web.Request) -> web.Response:
    return web.json_response({} if request.method == "DELETE" else {"address": "store/one"})


def test_writes_for_a_bucket_are_counted(root: Path) -> None:
    async def scenario() -> Any:
        async with serving(store) as host:
            project = root / "samples/from-kopf/after"
            url = f"http://{host}"
            return await counted(project, "buckets_operator", BUCKET, STORE_URL=url)

    found = asyncio.run(scenario())
    assert found == (
        row(root, "writes: creation", 4),
        row(root, "writes: a change", 1),
        row(root, "writes: deletion", 1),
    )


@pytest.mark.e2e  # kopf needs seconds to start and to end
def test_writes_of_kopf_for_a_bucket_are_counted(root: Path, tmp_path: Path) -> None:
    samples = root / "samples/from-kopf"

    async def scenario() -> Any:
        async with serving(store) as host, world(samples / "after/config") as (server, client):
            config = tmp_path / "kubeconfig"
            config.write_text(json.dumps(_kubeconfig(server.url)))
            words = ("kopf", "run", "--standalone", "-n", "default", samples / "before/handlers.py")
            kopf = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", *words),
                env=os.environ | {"KUBECONFIG": str(config), "STORE_URL": f"http://{host}"},
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                await until(lambda: any(path.endswith("/buckets") for _, path in server.requests))
                await asyncio.sleep(2)
                return await writes(server, client, BUCKET, 4)
            finally:
                kopf.terminate()
                await kopf.wait()

    created, changed, deleted = asyncio.run(scenario())
    assert created == row(root, "writes: creation", 3)
    assert changed == row(root, "writes: a change", 0)
    assert deleted == row(root, "writes: deletion", 0)


def _kubeconfig(url: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "double"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
