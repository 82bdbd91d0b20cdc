"""Every manifest that a page prints is accepted by a real API server with the CRDs of OLM."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.hub.builds import all_pages
from olmkit.hub.builds.all_pages import Source
from olmkit.hub.package.installs import Where
from olmkit.hub.pages.instructions import Variant
from olmkit.hub.pages.operator_page import OperatorPage
from olmkit.jobs.catalog import catalogs
from olmkit.jobs.hub import sources
from olmkit.jobs.hub.options import SourceOptions
from olmkit.kube import objects
from olmkit.kube.api import NoSuchKind, NotFound
from olmkit.testing.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

# These exist in a cluster with OLM.
PLACES = ("operators", "openshift-operators", "olm", "openshift-marketplace")
NAMES = ("clusterextensions.olm.operatorframework.io", "clustercatalogs.olm.operatorframework.io")
PATIENCE = 300  # seconds until a busy API server serves a new kind
EACH = 3  # versions of a package: the head, and some of the others
BUNDLES = 40
IMAGES = ("", "quay.io/example/catalog:latest", "quay.io/example/catalog@sha256:" + "0" * 64)


def documents_of(text: str) -> list[dict[str, Any]]:
    return [one.value for one in documents.load_all(text.encode(), "manifests") if one.value]


def variants(pages: Mapping[str, Any]) -> Iterator[tuple[str, Variant]]:
    """The instructions of some versions of each package, with the path of their page."""
    found: dict[str, list[OperatorPage]] = {}
    for path, page in pages.items():
        if isinstance(page, OperatorPage) and path == page.href:
            found.setdefault(page.package, []).append(page)
    for listed in found.values():
        step = max(1, (len(listed) - 1) // (EACH - 1))
        for page in {one.href: one for one in (*listed[::step], listed[-1])}.values():
            for variant in page.install.variants:
                yield page.href, variant


@pytest.fixture(scope="module")
def printed(root: Path, cases: Path) -> list[tuple[str, Variant]]:
    """Return the manifests on the pages of shared catalogs, the shipped one and shared bundles."""
    made = []
    folders = [root / "catalog", *sorted((cases / "catalogs").iterdir())]
    for number, folder in enumerate(folders):
        catalog = catalogs.read(str(folder), valid=False)
        where = Where(name="shared", image=IMAGES[number % len(IMAGES)])
        site = all_pages.build_site([Source(name="shared", catalog=catalog, where=where)],
                                     title="shared")  # fmt: skip
        made += list(variants(site.pages))
    bundles = sorted(one for one in (cases / "bundles").glob("*/*") if one.is_dir())
    for folder in bundles[:: max(1, len(bundles) // BUNDLES)]:
        try:
            (source,) = asyncio.run(sources.read([], SourceOptions(), Access(), bundle=folder))
        except Exception:  # noqa: S112 - many of these bundles are broken on purpose
            continue
        made += list(variants(all_pages.build_site([source], title="one").pages))
    return made


@pytest.fixture(scope="module")
def olm(apiserver: ControlPlane, built_program: Any) -> ControlPlane:
    """An API server with the CRDs of OLM v0 and of the newest OLM v1."""
    files = sorted((Path(built_program("olm")).parent / "crds").glob("*.yaml"))
    crds = [one for file in files for one in documents_of(file.read_text())]
    newest = Path(built_program("catalogd")).parent / "standard.yaml"
    crds += [one for one in documents_of(newest.read_text()) if objects.name(one) in NAMES]
    assert len(crds) == len(files) + len(NAMES)
    namespaces = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in PLACES
    ]
    asyncio.run(_apply(apiserver, [*crds, *namespaces]))
    return apiserver


async def _apply(server: ControlPlane, listed: list[dict[str, Any]]) -> None:
    async with HttpCluster(kubeconfig.load(paths=[server.kubeconfig])) as cluster:
        reader = ClusterObjects(cluster)
        for one in listed:
            await reader.apply(one)


async def _refusals(server: ControlPlane, found: list[tuple[str, Variant]]) -> list[str]:
    """Return what the API server refuses. Namespaces are created; everything else is a dry run."""
    refused = []
    there: set[str] = set()
    seen: set[str] = set()
    async with HttpCluster(kubeconfig.load(paths=[server.kubeconfig])) as cluster:
        reader = ClusterObjects(cluster)
        for path, variant in found:
            if variant.yaml in seen:
                continue
            seen.add(variant.yaml)
            for one in documents_of(variant.yaml):
                is_place = objects.kind(one) == "Namespace"
                if is_place and objects.name(one) in there:
                    continue
                try:
                    await _accepted(reader, one, dry_run=not is_place)
                except Exception as error:
                    refused.append(f"{path} {variant.title}: {objects.kind(one)}: {error}")
                if is_place:
                    there.add(objects.name(one))
    return refused


async def _accepted(reader: ClusterObjects, manifest: dict[str, Any], *, dry_run: bool) -> None:
    """Assert that the object is accepted, once the API server serves its kind."""
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                await reader.apply(manifest, dry_run=dry_run)
                return
            except NoSuchKind:
                pass
            except NotFound as error:
                if error.reason:  # something else is missing, such as a namespace
                    raise
            await asyncio.sleep(0.5)


def test_all_manifests_are_accepted(olm: ControlPlane, printed: list[tuple[str, Variant]]) -> None:
    found = [one for one in printed if one[1].yaml and one[1].olm != "v1-account"]
    assert {one.olm for _, one in found} == {"v0", "v1"}
    assert {one.mode for _, one in found} >= {"AllNamespaces", "OwnNamespace", "SingleNamespace"}
    assert asyncio.run(_refusals(olm, found)) == []


def test_manifests_with_an_account_are_accepted_by_an_older_olm_v1(
    olm: ControlPlane, printed: list[tuple[str, Variant]], built_program: Any
) -> None:
    folder = Path(built_program("operator-controller")).parent / "config/crd/bases"
    (file,) = folder.glob("*clusterextensions.yaml")
    asyncio.run(_apply(olm, documents_of(file.read_text())))
    without = [one for one in printed if one[1].olm == "v1" and one[1].yaml][:1]

    # The CRD of these releases requires the account, so the test detects a missing one.
    limit = time.monotonic() + PATIENCE
    while "serviceAccount" not in str(asyncio.run(_refusals(olm, without))):
        assert time.monotonic() < limit, "the API server does not use the older CRD"
    found = [one for one in printed if one[1].olm == "v1-account"]
    assert found
    assert asyncio.run(_refusals(olm, found)) == []
