"""The catalog of a CatalogSource, read from its image or from its server."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError, OlmkitError, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog.model import Catalog
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalog_source
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.cluster import offered
from olmkit.kube.api import Resource
from olmkit.kube.objects import GVK
from olmkit.testing.apiserver.server import ApiServer

GROUP = "operators.coreos.com"
KIND = Resource(
    gvk=GVK(group=GROUP, version="v1alpha1", kind="CatalogSource"),
    plural="catalogsources",
    namespaced=True,
    subresources=frozenset({"status"}),
)
BLOBS = (
    {"schema": "olm.package", "name": "cache", "defaultChannel": "stable"},
    {"schema": "olm.channel", "package": "cache", "name": "stable",
     "entries": [{"name": "cache.v1.0.0"}]},
    {"schema": "olm.bundle", "package": "cache", "name": "cache.v1.0.0", "image": "cache:1",
     "properties": [{"type": "olm.package",
                     "value": {"packageName": "cache", "version": "1.0.0"}}]},
)  # fmt: skip
PACKAGE = {"name": "cache", "defaultChannelName": "stable"}
BUNDLE = {
    "csvName": "cache.v1.0.0",
    "packageName": "cache",
    "channelName": "stable",
    "bundlePath": "cache:1",
    "version": "1.0.0",
}


def read(
    name: str, *sources: tuple[str, dict[str, str]], denied: str = "", olm: bool = True
) -> Catalog:
    """Read the catalog of this name in a cluster with these CatalogSources.

    `denied`: a verb that the user may not use.
    """

    async def scenario() -> Catalog:
        server = ApiServer.of([KIND] if olm else [])
        for address, spec in sources:
            namespace, _, own = address.partition("/")
            metadata = {"name": own, "namespace": namespace}
            server.put(
                "catalogsources",
                {"apiVersion": f"{GROUP}/v1alpha1", "kind": "CatalogSource", "metadata": metadata,
                 "spec": spec},
            )  # fmt: skip
        server.denies = lambda access: access.verb == denied
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as http:
            tree = await catalog_source.read(ClusterObjects(http), name, Access())
        return catalog_job.read(name, tree=tree)

    return asyncio.run(scenario())


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The images that are read; each contains the catalog."""
    asked: list[str] = []

    async def tree(image: str, _: Access) -> Any:
        asked.append(image)
        return SimpleNamespace(tree=Tree({"c.json": "\n".join(map(json.dumps, BLOBS)).encode()}))

    monkeypatch.setattr(transports, "read_catalog_tree", tree)
    return asked


@pytest.mark.parametrize("name", ["shop", "olm/shop"])
def test_the_image_of_a_catalog_source_is_read(name: str, images: list[str]) -> None:
    found = read(name, ("olm/shop", {"image": "r/shop:v1"}), ("olm/other", {}))

    assert list(found.packages["cache"].bundles) == ["cache.v1.0.0"]
    assert images == ["r/shop:v1"]


def test_the_server_at_an_address_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async def listed(address: str) -> Any:
        assert address == "192.0.2.1:50051"
        return [PACKAGE], [BUNDLE]

    monkeypatch.setattr(offered, "list_address", listed)
    found = read("olm/shop", ("olm/shop", {"address": "192.0.2.1:50051", "image": "r/x:1"}))

    assert found.packages["cache"].default_channel == "stable"
    assert found.packages["cache"].bundles["cache.v1.0.0"].image == "cache:1"


@pytest.mark.usefixtures("images")
@pytest.mark.parametrize(
    ("name", "sources", "kind", "message", "hint"),
    [
        ("shp", ("olm/shop",), InputError, "the CatalogSource `shp` does not exist",
         "did you mean `catalogsource:olm/shop`?"),
        ("apps/shop", ("olm/shop",), InputError, "the CatalogSource `apps/shop` does not exist",
         "did you mean `catalogsource:olm/shop`?"),
        ("zoo", ("b/y", "a/x"), InputError, "the CatalogSource `zoo` does not exist",
         "the cluster has `a/x`, `b/y`"),
        ("zoo", (), InputError, "the CatalogSource `zoo` does not exist", "the cluster has none"),
        ("zoo", tuple(f"a/x{n}" for n in range(10)), InputError,
         "the CatalogSource `zoo` does not exist",
         "run `olmkit status` to see all 10 of the cluster"),
        ("shop", ("olm/shop", "apps/shop"), InputError, "several CatalogSources are called `shop`",
         "choose one: `catalogsource:apps/shop`, `catalogsource:olm/shop`"),
    ],
)  # fmt: skip
def test_a_name_that_does_not_identify_a_catalog_source_is_reported(
    name: str, sources: tuple[str, ...], kind: type[OlmkitError], message: str, hint: str
) -> None:
    with pytest.raises(kind) as raised:
        read(name, *((one, {"image": "r/shop:v1"}) for one in sources))

    assert (raised.value.message, raised.value.hint) == (message, hint)


def test_a_catalog_source_without_a_readable_catalog_is_reported() -> None:
    with pytest.raises(InputError, match="`shop` has neither an image nor an address"):
        read("shop", ("olm/shop", {"sourceType": "grpc"}))
    with pytest.raises(RemoteError, match="which can be reached only from the cluster") as raised:
        read("shop", ("olm/shop", {"address": "shop.olm.svc:50051"}))
    assert raised.value.hint == "name the image or the directory of the catalog instead"


@pytest.mark.usefixtures("images")
def test_a_user_who_may_not_list_catalog_sources_names_the_namespace() -> None:
    source = ("olm/shop", {"image": "r/shop:v1"})

    assert list(read("olm/shop", source, denied="list").packages) == ["cache"]
    with pytest.raises(InputError, match="you may not list the CatalogSources") as raised:
        read("shop", source, denied="list")
    assert raised.value.hint == "add its namespace: `catalogsource:NAMESPACE/shop`"
    with pytest.raises(InputError, match="`olm/shp` does not exist") as raised:
        read("olm/shp", source, denied="list")
    assert raised.value.hint == "correct the name or the namespace"


def test_a_cluster_without_olm_v0_has_no_catalog_sources() -> None:
    with pytest.raises(InputError, match="`shop` does not exist") as raised:
        read("shop", olm=False)
    assert "OLM v0, which provides them, is not installed" in raised.value.hint
