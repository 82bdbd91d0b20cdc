"""A catalog of catalogd that is read through the API server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from olmkit.base.diagnostics import InputError
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog
from olmkit.jobs.catalog import cluster_catalog
from olmkit.jobs.catalog import render as render_job
from olmkit.jobs.catalog.render import RenderOptions

API = "/apis/olm.operatorframework.io/v1"
SERVICE = "/api/v1/namespaces/olmv1-system/services/https:catalogd-service:443/proxy"
BLOBS = (
    {"schema": "olm.package", "name": "cache", "defaultChannel": "stable"},
    {"schema": "olm.channel", "package": "cache", "name": "stable",
     "entries": [{"name": "cache.v1.0.0"}]},
    {"schema": "olm.bundle", "package": "cache", "name": "cache.v1.0.0", "image": "cache:1",
     "properties": [{"type": "olm.package",
                     "value": {"packageName": "cache", "version": "1.0.0"}}]},
)  # fmt: skip
SERVING = {
    "conditions": [{"type": "Serving", "status": "True"}],
    "urls": {"base": "https://catalogd-service.olmv1-system.svc/catalogs/shelf"},
}


async def pulled(
    folder: Path,
    name: str,
    status: dict[str, Any],
    listed: tuple[str, ...] | None = ("shelf",),
    *,
    read: Callable[[str, Access], Awaitable[Any]] | None = None,
) -> Any:
    """Return what the commands for catalogs read from `clustercatalog:NAME`.

    `listed`: the names of the ClusterCatalogs, or None if listing is forbidden. `read` replaces the
    function that reads the reference.
    """
    resource = {"name": "clustercatalogs", "kind": "ClusterCatalog", "namespaced": False,
                "verbs": ["get", "list"]}  # fmt: skip
    answers = {
        API: {"kind": "APIResourceList", "groupVersion": "olm.operatorframework.io/v1",
              "resources": [resource]},
        f"{API}/clustercatalogs/shelf": {"kind": "ClusterCatalog",
                                         "metadata": {"name": "shelf"}, "status": status,
                                         "spec": {"source": {"image": {"ref": "r/shelf:v1"}}}},
    }  # fmt: skip

    async def answer(request: web.Request) -> web.Response:
        if request.path == f"{SERVICE}/catalogs/shelf/api/v1/all":
            return web.Response(text="\n".join(map(json.dumps, BLOBS)))
        if request.path == f"{API}/clustercatalogs":
            if listed is None:
                denied = {"kind": "Status", "reason": "Forbidden", "code": 403}
                return web.json_response(denied, status=403)
            items = [{"kind": "ClusterCatalog", "metadata": {"name": one}} for one in listed]
            return web.json_response({"kind": "ClusterCatalogList", "items": items})
        if request.path in answers:
            return web.json_response(answers[request.path])
        missing = {"kind": "Status", "reason": "NotFound", "code": 404}
        return web.json_response(missing, status=404)

    application = web.Application()
    application.router.add_get("/{path:.*}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        host, port = runner.addresses[0][:2]
        file = folder / "kubeconfig"
        file.write_text(json.dumps({
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://{host}:{port}"}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }))  # fmt: skip
        access = Access(environment={"OLMKIT_KUBECONFIG": str(file)})
        reference = f"clustercatalog:{name}"
        if read is not None:
            return await read(reference, access)
        return (await catalog.pull([reference], access))[reference]
    finally:
        await runner.cleanup()


def test_a_cluster_catalog_is_read_like_any_other(tmp_path: Path) -> None:
    tree = asyncio.run(pulled(tmp_path, "shelf", SERVING))

    found = catalog.read("clustercatalog:shelf", tree=tree)
    assert list(found.packages) == ["cache"]
    assert list(found.packages["cache"].bundles) == ["cache.v1.0.0"]


def test_the_commands_that_write_blobs_and_images_read_it_too(tmp_path: Path) -> None:
    async def render(reference: str, access: Access) -> Any:
        return await render_job.render_all([reference], RenderOptions(access=access))

    rendered = asyncio.run(pulled(tmp_path, "shelf", SERVING, read=render))
    assert [blob.name for blob in rendered.blobs] == ["cache", "stable", "cache.v1.0.0"]
    image = asyncio.run(pulled(tmp_path, "shelf", SERVING, read=cluster_catalog.image))
    assert image == "r/shelf:v1"
    assert asyncio.run(cluster_catalog.image("quay.io/a/b:v1", Access())) == "quay.io/a/b:v1"


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("other", SERVING, "the ClusterCatalog `other` does not exist"),
        ("shelf", {}, "`shelf` is not served"),
        ("shelf", SERVING | {"urls": None}, "`shelf` is not served by a Service: ``"),
        (
            "shelf",
            SERVING | {"urls": {"base": "http://[x"}},
            "not served by a Service: `http://[x`",
        ),
    ],
)
def test_an_unserved_cluster_catalog_is_reported(
    tmp_path: Path, name: str, status: dict[str, Any], words: str
) -> None:
    error = asyncio.run(pulled(tmp_path, name, status))

    assert isinstance(error, InputError)
    assert words in error.message


@pytest.mark.parametrize(
    ("listed", "hint"),
    [
        (("other", "shelf"), "did you mean `shelf`?"),
        (("b", "a"), "the cluster has `a`, `b`"),
        (
            (),
            "the cluster has none; create one from the image of a catalog: `olmkit catalog deploy",
        ),
        (tuple("abcdefghij"), "run `kubectl get clustercatalogs` to see all 10 of the cluster"),
        (None, "get permission to list ClusterCatalogs"),
    ],
    ids=["near", "few", "none", "many", "not-listable"],
)
def test_an_unknown_name_is_reported_with_the_existing_ones(
    tmp_path: Path, listed: tuple[str, ...] | None, hint: str
) -> None:
    error = asyncio.run(pulled(tmp_path, "shelfs", SERVING, listed))

    assert error.message == "the ClusterCatalog `shelfs` does not exist"
    assert hint in error.hint
