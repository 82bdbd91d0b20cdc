"""Installing, upgrading and uninstalling, with a small API server and a small OLM."""

from __future__ import annotations

import asyncio
import base64
import functools
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from aiohttp import web

from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError
from olmkit.base.tree import Tree
from olmkit.catalog import model
from olmkit.catalog.blobs.blob import Blob
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import catalogs as catalog_job
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import offered, status
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import wait as cluster_wait
from olmkit.jobs.cluster.bundle import FoundCatalogImage, NamedBundle
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v0 import fit, install, uninstall, uninstall_plan, upgrade, upgrade_plan
from olmkit.jobs.cluster_v0.install_choice import InstallChoice, InstallOptions
from olmkit.jobs.cluster_v0.uninstall_plan import UninstallOptions
from olmkit.jobs.cluster_v0.upgrade_plan import UpgradeOptions, UpgradePlan
from olmkit.kube.api import ClusterError, Forbidden, Resource
from olmkit.kube.objects import GVK
from olmkit.olm import install_objects
from olmkit.olm.explain.explanation import Explanation, Readiness
from olmkit.olm.install_objects import SubscribedCatalog
from olmkit.olm.kinds import SubscriptionKey
from olmkit.olm.preview import Preview, preview_csv
from olmkit.testing.apiserver.server import ApiServer

Manifest = dict[str, Any]
OLM = "operators.coreos.com"
QUICK = Timeouts(seconds=5, interval=0.02, believed=0.1, settled=0.1)


def resource(
    group: str, version: str, kind: str, plural: str, *, cluster: bool = False
) -> Resource:
    gvk = GVK(group=group, version=version, kind=kind)
    subresources = frozenset({"status"})
    return Resource(gvk=gvk, plural=plural, namespaced=not cluster, subresources=subresources)


KINDS = (
    resource(OLM, "v1alpha1", "Subscription", "subscriptions"),
    resource(OLM, "v1alpha1", "InstallPlan", "installplans"),
    resource(OLM, "v1alpha1", "ClusterServiceVersion", "clusterserviceversions"),
    resource(OLM, "v1alpha1", "CatalogSource", "catalogsources"),
    resource(OLM, "v1", "OperatorGroup", "operatorgroups"),
    resource("", "v1", "Namespace", "namespaces", cluster=True),
    resource("", "v1", "Pod", "pods"),
    resource("", "v1", "Service", "services"),
    resource("", "v1", "ConfigMap", "configmaps"),
    resource("", "v1", "Event", "events"),
    resource("batch", "v1", "Job", "jobs"),
    resource("apps", "v1", "Deployment", "deployments"),
    resource("apiextensions.k8s.io", "v1", "CustomResourceDefinition",
             "customresourcedefinitions", cluster=True),
    resource("example.com", "v1", "Cache", "caches"),
    resource("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", cluster=True),
    resource("packages.operators.coreos.com", "v1", "PackageManifest", "packagemanifests"),
    resource(OLM, "v1", "Operator", "operators", cluster=True),
    resource(OLM, "v1", "OLMConfig", "olmconfigs", cluster=True),
    resource("coordination.k8s.io", "v1", "Lease", "leases"),
    resource("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews",
             cluster=True),
)  # fmt: skip


def new_object(kind: str, name: str, namespace: str = "apps", **fields: Any) -> Manifest:
    version = "v1" if kind == "OperatorGroup" else "v1alpha1"
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{OLM}/{version}", "kind": kind, "metadata": metadata, **fields}


class Olm:
    """Does what OLM does with a Subscription: plans, waits for approval, creates the CSV."""

    def __init__(self, server: ApiServer, *versions: str) -> None:
        self.server = server
        self.versions = list(versions)
        self.failing = ""
        self.leaves: set[str] = set()  # packages that it does not resolve
        self.also: list[str] = []  # packages that its plans also install
        self.holds = False  # another Subscription in the namespace has manual approval
        self.csv_spec: Manifest = {}

    def look(self) -> None:
        for one in self.server.all("subscriptions"):
            self._resolve(one)
        for pod in self.server.all("pods"):
            ready = [{"type": "Ready", "status": "True"}]
            if not pod.get("status"):
                self.server.put("pods", pod | {"status": {"conditions": ready}})

    def _resolve(self, one: Manifest) -> None:
        space, package = one["metadata"]["namespace"], one["spec"]["name"]
        if package in self.leaves:
            return
        state = one.get("status") or {}
        installed = state.get("installedCSV", "")
        names = [f"{package}.v{version}" for version in self.versions]
        ahead = names[names.index(installed) + 1 :] if installed in names else names
        if not installed and one["spec"].get("startingCSV"):
            ahead = [one["spec"]["startingCSV"]]
        target = ahead[:1]
        if not target:
            return
        plan = self.server.get("installplans", f"install-{target[0]}", space)
        if plan is None:
            manual = self.holds or one["spec"].get("installPlanApproval") == "Manual"
            plan = new_object("InstallPlan", f"install-{target[0]}", space)
            names = [*target, *self.also]
            plan["spec"] = {"clusterServiceVersionNames": names, "approved": not manual}
            plan["status"] = {"phase": "RequiresApproval" if manual else "Complete"}
            self.server.put("installplans", plan)
        state = state | {"currentCSV": target[0], "state": "UpgradePending",
                         "installPlanRef": {"name": f"install-{target[0]}"}}  # fmt: skip
        if plan["spec"]["approved"]:
            self.server.put("installplans", plan | {"status": {"phase": "Complete"}})
            if installed:
                self.server.remove("clusterserviceversions", installed, space)
            csv = new_object("ClusterServiceVersion", target[0], space)
            reason = {"phase": "Failed", "reason": self.failing, "message": "no"}
            csv["status"] = reason if self.failing else {"phase": "Succeeded"}
            owned = [{"name": "caches.example.com"}]
            csv["spec"] = {"customresourcedefinitions": {"owned": owned}, **self.csv_spec}
            self.server.put("clusterserviceversions", csv)
            state |= {"installedCSV": target[0], "state": "AtLatestKnown"}
        self.server.put("subscriptions", one | {"status": state})


@asynccontextmanager
async def cluster(*versions: str) -> AsyncIterator[tuple[ClusterObjects, ApiServer, Olm]]:
    server = ApiServer.of(KINDS)
    server.put("namespaces", {"apiVersion": "v1", "kind": "Namespace",
                              "metadata": {"name": "apps"}})  # fmt: skip
    server.put(
        "catalogsources",
        new_object(
            "CatalogSource",
            "shelf",
            spec={},
            status={"connectionState": {"lastObservedState": "READY"}},
        ),
    )
    olm = Olm(server, *versions)

    async def work() -> None:
        while True:
            olm.look()
            await asyncio.sleep(0.01)

    async with server.serving():
        working = asyncio.ensure_future(work())
        try:
            async with HttpCluster(ClusterConfig(server=server.url)) as http:
                yield ClusterObjects(http), server, olm
        finally:
            working.cancel()


def run(scenario: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with asyncio.timeout(30):
            await scenario()

    asyncio.run(whole())


async def installed(
    reader: ClusterObjects, report: Callable[[str], object] | None = None, **fields: Any
) -> Any:
    options = InstallOptions(
        **{"namespace": "apps", "package": "cache", "catalog": "shelf"} | fields
    )
    plan = await install.plan(reader, options, Access())
    return await install.carry_out(
        reader, plan, report=report or [].append, timeouts=QUICK, created=[]
    )


async def _denied(*_: Any) -> Any:
    raise RemoteError("denied")


def _offer(monkeypatch: pytest.MonkeyPatch, lines: list[str]) -> None:
    """Replace every image by this catalog, whose bundles cannot be read."""
    tree = Tree({"c.json": "\n".join(lines).encode()})
    image = FoundCatalogImage(
        catalog=catalog_job.read("c", tree=tree, valid=False), folder="", pinned=""
    )

    async def read(*_: Any) -> FoundCatalogImage:
        return image

    monkeypatch.setattr(cluster_bundle, "read_catalog", read)
    monkeypatch.setattr(cluster_bundle, "read_bundle", _denied)


@pytest.mark.parametrize(
    ("version", "skip_range", "words"),
    [
        ("1.0", "", 'error parsing bundle "cache.v1.0.0" version "1.0"'),
        ("", "", 'error parsing bundle "cache.v1.0.0" version ""'),
        ("1.0.0", "^1.0.0", 'invalid skipRange "^1.0.0"'),
    ],
)
def test_a_catalog_that_its_server_refuses_is_refused_before_a_write(
    monkeypatch: pytest.MonkeyPatch, version: str, skip_range: str, words: str
) -> None:
    own = {"type": "olm.package", "value": {"packageName": "cache", "version": version}}
    entry = {"name": "cache.v1.0.0", **({"skipRange": skip_range} if skip_range else {})}
    blobs: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": "cache", "defaultChannel": "c"},
        {"schema": "olm.channel", "name": "c", "package": "cache", "entries": [entry]},
        {"schema": "olm.bundle", "name": "cache.v1.0.0", "package": "cache", "image": "r/cache:v1",
         "properties": [own]},
    ]  # fmt: skip
    _offer(monkeypatch, [json.dumps(one) for one in blobs])

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            with pytest.raises(InputError) as refused:
                await installed(reader, catalog="quay.io/example/catalog:v1")
            assert refused.value.message.startswith("the cluster cannot serve the catalog")
            assert words in " ".join(one.message for one in refused.value.diagnostics)
            assert server.writes() == []

    run(scenario)


def test_a_request_that_olm_could_not_resolve_is_refused_with_the_facts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs = {"type": "olm.gvk.required", "value": {"group": "g", "version": "v1", "kind": "Db"}}
    own = {"type": "olm.package", "value": {"packageName": "cache", "version": "1.0.0"}}
    catalog = json.dumps({"schema": "olm.package", "name": "cache", "defaultChannel": "c"})
    lines = [catalog, *(json.dumps(one) for one in (
        {"schema": "olm.channel", "name": "c", "package": "cache",
         "entries": [{"name": "cache.v1.0.0"}]},
        {"schema": "olm.bundle", "name": "cache.v1.0.0", "package": "cache", "image": "r/cache:v1",
         "properties": [own, needs]},
    ))]  # fmt: skip
    _offer(monkeypatch, lines)

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.remove("catalogsources", "shelf", "apps")
            with pytest.raises(InputError) as refused:
                await installed(reader, catalog="quay.io/example/catalog:v1")
            assert "`cache.v1.0.0` needs the API `Db` (`g/v1`), which no catalog offers" in (
                refused.value.message
            )
            assert server.writes() == []
            server.put(
                "catalogsources", new_object("CatalogSource", "far", spec={"address": "a.svc:1"})
            )
            options = InstallOptions(
                namespace="apps", package="cache", catalog="quay.io/example/catalog:v1"
            )
            plan = await install.plan(reader, options, Access())
            assert "cannot be read from here: `apps/far`" in plan.notes[-1]

    run(scenario)


_UNCHECKED = (
    "its permissions cannot be shown, and its dependencies and conflicts with the cluster cannot "
    "be checked, in advance"
)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"address": "shelf.olm.svc:50051"}, "the catalog `shelf` cannot be read from here"),
        ({"image": "r.example/s:1"}, "`r.example/s:1` cannot be read from here: denied"),
    ],
    ids=["address", "image"],
)
def test_an_install_says_that_it_could_not_check_an_unreadable_catalog(
    monkeypatch: pytest.MonkeyPatch, spec: Manifest, words: str
) -> None:
    monkeypatch.setattr(cluster_bundle, "read_catalog", _denied)

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.put("catalogsources", new_object("CatalogSource", "shelf", spec=spec))
            options = InstallOptions(namespace="apps", package="cache", catalog="shelf")
            assert (await install.plan(reader, options, Access())).notes == (
                f"{words}, so {_UNCHECKED}",
            )

            failed = {"type": "ResolutionFailed", "status": "True", "message": "constraints not "
                      "satisfiable: no operators found in package db in the catalog referenced by "
                      "subscription db, subscription db exists"}  # fmt: skip
            server.put("subscriptions", new_object(
                "Subscription", "db", spec={"name": "db", "source": "shelf"},
                status={"conditions": [failed]},
            ))  # fmt: skip
            notes = (await install.plan(reader, options, Access())).notes
            assert notes[-1] == (
                "OLM cannot resolve namespace `apps`, and installs nothing else in it: the catalog "
                "`shelf` has no package `db`"
            )

    run(scenario)


def test_a_bundle_that_cannot_be_read_is_not_checked_and_the_plan_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"type": "olm.package", "value": {"packageName": "cache", "version": "1.0.0"}}
    blobs: list[dict[str, Any]] = [
        {"schema": "olm.package", "name": "cache", "defaultChannel": "c"},
        {"schema": "olm.channel", "name": "c", "package": "cache",
         "entries": [{"name": "cache.v1.0.0"}]},
        {"schema": "olm.bundle", "name": "cache.v1.0.0", "package": "cache", "image": "r/cache:v1",
         "properties": [own]},
    ]  # fmt: skip
    _offer(monkeypatch, [json.dumps(one) for one in blobs])

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, _, __):
            options = InstallOptions(namespace="apps", package="cache", catalog="r.example/shelf:1")
            (note,) = (await install.plan(reader, options, Access())).notes
            assert note == (
                "the bundle `r/cache:v1` cannot be read from here: denied, so conflicts of "
                "`cache.v1.0.0` with the cluster cannot be checked in advance"
            )

    run(scenario)


def test_an_install_creates_missing_objects_and_waits() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            said: list[str] = []
            found = await installed(reader, said.append)

            assert found.is_ready
            assert server.get("subscriptions", "cache", "apps")
            assert server.get("operatorgroups", "cache-group", "apps")
            assert "created Subscription apps/cache" in said
            rows = (await status.status(reader)).operators
            assert [(row.package, row.installed) for row in rows] == [("cache", "cache.v1.0.0")]

    run(scenario)


@pytest.mark.parametrize(
    ("name", "ours", "since", "targets", "stays"),
    [
        ("a-group", True, "2000-01-01T00:00:00Z", [], ["a-group"]),
        ("z-group", True, "2000-01-01T00:00:00Z", [], ["z-group"]),
        ("z-group", False, "2999-01-01T00:00:00Z", [], ["z-group"]),
        ("z-group", True, "2999-01-01T00:00:00Z", [], ["cache-group", "z-group"]),
        ("a-group", True, "2000-01-01T00:00:00Z", ["apps"], ["a-group", "cache-group"]),
    ],
    ids=["earlier", "earlier-by-time", "of-others", "later", "other-namespaces"],
)
def test_of_two_groups_that_are_created_at_once_the_first_is_kept(
    name: str, ours: bool, since: str, targets: list[str], stays: list[str]
) -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            options = InstallOptions(namespace="apps", package="cache", catalog="shelf")
            plan = await install.plan(reader, options, Access())
            other = new_object("OperatorGroup", name, spec={"targetNamespaces": targets})
            other["metadata"]["creationTimestamp"] = since
            other["metadata"]["labels"] = dict(install_objects.OURS) if ours else {}
            server.put("operatorgroups", other)
            created: list[Manifest] = []
            said: list[str] = []
            found = await install.carry_out(
                reader, plan, report=said.append, timeouts=QUICK, created=created
            )

            names = sorted(one["metadata"]["name"] for one in server.all("operatorgroups"))
            assert names == stays
            assert found.is_ready == (len(stays) == 1)
            assert any(one["kind"] == "OperatorGroup" for one in created) == (len(stays) == 2)

    run(scenario)


def test_namespaces_to_watch_that_do_not_exist_are_named_before_a_write() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            group = new_object("OperatorGroup", "own", spec={"targetNamespaces": ["gone"]})
            server.put("operatorgroups", group)
            with pytest.raises(InputError, match="would watch nothing: the namespace `gone`"):
                await installed(reader)
            assert server.writes() == []

            server.put("operatorgroups", group | {"spec": {"targetNamespaces": ["apps", "gone"]}})
            options = InstallOptions(namespace="apps", package="cache", catalog="shelf")
            plan = await install.plan(reader, options, Access())
            words = "the namespace `gone`, which OperatorGroup `own` names, does not exist"
            assert plan.notes[-1] == words
            found = await installed(reader)
            assert (found.is_ready, found.cause) == (True, "target-namespace-missing")

            server.denies = lambda access: access.resource == "namespaces"
            (row,) = (await status.status(reader)).operators
            assert row.explanation.cause == "healthy"  # whether it exists is not known

            server.denies = lambda _: False
            server.put("namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                      "metadata": {"name": "gone"}})  # fmt: skip
            (row,) = (await status.status(reader)).operators
            assert row.explanation.cause == "healthy"

    run(scenario)


def test_a_group_that_blocks_olm_is_removed_with_its_package() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            other = new_object("OperatorGroup", "z-group", spec={})
            other["metadata"]["labels"] = {**install_objects.OURS, install_objects.PART_OF: "z"}
            server.put("operatorgroups", other)
            server.put("subscriptions", new_object("Subscription", "z", spec={"name": "z"}))
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            groups = [one for one in plan.all if one["kind"] == "OperatorGroup"]
            assert [one["metadata"]["name"] for one in groups] == ["cache-group"]

    run(scenario)


@pytest.mark.parametrize("requested", [False, True], ids=["alone", "next-to-another"])
def test_a_dependency_that_is_kept_is_named(requested: bool) -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            spec = {"name": "db", "channel": "a", "source": "shelf", "sourceNamespace": "apps"}
            server.put("subscriptions", new_object("Subscription", "db-a-shelf-apps", spec=spec))
            if requested:
                server.put("subscriptions", new_object("Subscription", "z", spec={"name": "z"}))
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            named = [one for one in plan.stays if "dependency" in one]
            said = (
                "the operator db, which OLM installed as a dependency: "
                "`olmkit uninstall db -n apps` removes it"
            )
            assert named == ([] if requested else [said])

    run(scenario)


def test_a_catalog_of_olmkit_is_removed_with_the_last_operator_from_it() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            ours = {**install_objects.OURS, install_objects.PART_OF: "cache"}
            catalog = new_object("CatalogSource", "cache-catalog", spec={"address": "a:1"})
            catalog["metadata"]["labels"] = ours
            server.put("catalogsources", catalog)
            source = {"source": "cache-catalog", "sourceNamespace": "apps"}
            cache = next(iter(server.all("subscriptions")))
            server.put("subscriptions", cache | {"spec": {"name": "cache", **source}})
            db = new_object("Subscription", "db", spec={"name": "db", **source})
            server.put("subscriptions", db)

            async def planned(package: str) -> tuple[bool, str]:
                plan = await uninstall_plan.plan(
                    reader, UninstallOptions(namespace="apps", package=package)
                )
                goes = any(one["kind"] == "CatalogSource" for one in plan.all)
                return goes, next((one for one in plan.stays if "CatalogSource" in one), "")

            said = "the CatalogSource apps/cache-catalog: Subscription apps/db uses it"
            assert await planned("cache") == (False, said)
            await reader.delete(cache)
            assert await planned("db") == (True, "")

    run(scenario)


def test_progress_at_the_time_limit_is_reported_as_slow_and_not_as_stuck() -> None:
    waiting = Explanation(readiness=Readiness.WAITING, cause="unpacking", message="it is unpacked")
    late = cluster_wait.time_limit_reached(waiting, 5)
    assert (late.readiness, late.message) == (Readiness.WAITING, "it is unpacked (after 5 s)")
    assert late.hint.startswith("nothing has failed so far: pass a longer `--timeout`")

    blocked = replace(waiting, readiness=Readiness.BLOCKED, hint="push it")
    late = cluster_wait.time_limit_reached(blocked, 5)
    assert (late.readiness, late.hint) == (Readiness.STUCK, "push it")


def test_the_plan_of_an_upgrade_reports_that_the_installed_version_does_not_run() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            csv = next(iter(server.all("clusterserviceversions")))
            status = {"phase": "Failed", "reason": "X", "message": "no way"}
            server.put("clusterserviceversions", csv | {"status": status})
            options = UpgradeOptions(namespace="apps", package="cache")
            plan = await upgrade_plan.plan(reader, options, Access())
            assert plan.notes[0] == (
                "`cache.v1.0.0` itself is not ready: `cache.v1.0.0` is Failed: no way"
            )

    run(scenario)


def test_dependencies_are_in_the_plan_and_affect_the_install_mode(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    needs = {
        "type": "olm.package.required",
        "value": {"packageName": "db", "versionRange": "<2.0.0"},
    }
    blobs: list[Manifest] = []
    for package in ("cache", "db"):
        own = {"type": "olm.package", "value": {"packageName": package, "version": "1.0.0"}}
        name = f"{package}.v1.0.0"
        blobs += [
            {"schema": "olm.package", "name": package, "defaultChannel": "a"},
            {"schema": "olm.channel", "package": package, "name": "a", "entries": [{"name": name}]},
            {"schema": "olm.bundle", "package": package, "name": name, "image": "",
             "properties": [own, *([needs] if package == "cache" else [])]},
        ]  # fmt: skip
    content = model.from_blobs(map(Blob.of, blobs))

    def preview(name: str, *modes: str) -> Preview:
        return Preview(csv=name, version="1.0.0", modes=modes, grants=())

    async def brought(_: object, package: str, name: str, __: object) -> Preview:
        assert package == "db"
        return preview(name, "OwnNamespace")

    async def choose(*_: object) -> InstallChoice:
        return InstallChoice(
            package="cache",
            catalog=SubscribedCatalog(name="shelf", namespace="apps"),
            channel="a",
            csv="cache.v1.0.0",
            preview=preview("cache.v1.0.0", "OwnNamespace", "AllNamespaces"),
            content=content,
        )

    monkeypatch.setattr(cluster_bundle, "preview_bundle", brought)
    monkeypatch.setattr(install.install_choice, "choose", choose)

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, _, __):
            options = InstallOptions(namespace="new", package="cache", catalog="shelf")
            plan = await install.plan(reader, options, Access())
            assert [one.csv for one in plan.dependencies] == ["db.v1.0.0"]
            assert plan.targets == ("new",)

    run(scenario)


def test_a_plan_for_the_next_version_is_removed_with_the_operator() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            for name, csv in (("next", "cache.v2.0.0"), ("other", "db.v2.0.0")):
                spec = {"clusterServiceVersionNames": [csv], "approved": False}
                status = {"phase": "RequiresApproval"}
                server.put(
                    "installplans", new_object("InstallPlan", name, spec=spec, status=status)
                )
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            assert [one["metadata"]["name"] for one in plan.plans] == ["next"]

    run(scenario)


def test_uninstall_names_operators_that_need_this_one() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            needs = {"type": "olm.package.required", "value": {"packageName": "cache"}}
            other = new_object("ClusterServiceVersion", "app.v1.0.0", spec={})
            noted = json.dumps({"properties": [needs]})
            other["metadata"]["annotations"] = {"operatorframework.io/properties": noted}
            server.put("clusterserviceversions", other)
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            assert (
                "the ClusterServiceVersion apps/app.v1.0.0, which needs cache: OLM may install it "
                "again"
            ) in plan.stays

    run(scenario)


def test_a_plan_for_several_operators_is_named_by_upgrade_and_uninstall() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            names = ["cache.v2.0.0", "db.v1.0.0"]
            spec = {"clusterServiceVersionNames": names, "approved": False}
            status = {"phase": "RequiresApproval"}
            server.put("installplans", new_object("InstallPlan", "both", spec=spec, status=status))
            one = next(iter(server.all("subscriptions")))
            chosen = {"currentCSV": "cache.v2.0.0", "installPlanRef": {"name": "both"}}
            server.put("subscriptions", one | {"status": one["status"] | chosen})

            options = UpgradeOptions(namespace="apps", package="cache")
            found = await upgrade_plan.plan(reader, options, Access())
            also = "approving the InstallPlan `both` also installs `db.v1.0.0`"
            assert also in found.notes
            removal = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            assert removal.stays[-1] == (
                "the InstallPlan apps/both for db.v1.0.0, which waits for approval and would "
                "install cache.v2.0.0 too: delete it, and OLM creates another without cache.v2.0.0"
            )

    run(scenario)


def test_a_dry_run_writes_nothing() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            options = InstallOptions(namespace="new", package="cache", catalog="shelf")
            plan = await install.plan(reader, options, Access())

            kinds = [one["kind"] for one in plan.objects]
            assert kinds == ["Namespace", "OperatorGroup", "Subscription"]
            assert server.writes() == []

    run(scenario)


def test_a_version_is_approved_and_kept() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0", "2.0.0") as (reader, server, _):
            said: list[str] = []
            found = await installed(reader, said.append, version="1.0.0")

            assert found.is_ready
            approvals = [line for line in said if line.startswith("approving")]
            assert approvals == ["approving install-cache.v1.0.0: cache.v1.0.0"]
            subscription = server.get("subscriptions", "cache", "apps")
            assert subscription is not None
            assert subscription["spec"]["installPlanApproval"] == "Manual"
            assert subscription["status"]["installedCSV"] == "cache.v1.0.0"

    run(scenario)


def test_an_upgrade_to_the_installed_version_approves_nothing() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0", "2.0.0") as (reader, server, olm):
            await installed(reader, version="1.0.0")
            olm.look()
            options = UpgradeOptions(namespace="apps", package="cache", to="1.0.0")
            done = await upgrade.upgrade(
                reader, options, Access(),
                announce=[].append, report=[].append, timeouts=QUICK,
            )  # fmt: skip

            assert (done.before, done.hops) == ("cache.v1.0.0", ())
            assert done.explanation.is_ready
            waiting = server.get("installplans", "install-cache.v2.0.0", "apps")
            assert waiting is not None
            assert waiting["spec"]["approved"] is False

    run(scenario)


@pytest.mark.parametrize("pending", ["", "db.v2.0.0"])
def test_with_another_operator_with_manual_approval_the_first_plan_is_approved(
    pending: str,
) -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            neighbor = new_object("Subscription", "db", spec={
                "name": "db", "source": "shelf", "sourceNamespace": "apps",
                "installPlanApproval": "Manual",
            })  # fmt: skip
            neighbor["status"] = {"installedCSV": "db.v1.0.0", "currentCSV": pending}
            olm.leaves = {"db"}
            olm.also = [pending] if pending else []
            olm.holds = True
            server.put("subscriptions", neighbor)
            options = InstallOptions(namespace="apps", package="cache", catalog="shelf")
            plan = await install.plan(reader, options, Access())
            assert plan.notes[-1] == (
                "namespace `apps` has Subscriptions with manual approval, so OLM also waits for "
                "the approval of later upgrades of `cache`: `db`"
            )
            said: list[str] = []
            found = await install.carry_out(
                reader, plan, report=said.append, timeouts=QUICK, created=[]
            )
            assert found.is_ready == (not pending)
            refusal = "not approving install-cache.v1.0.0: it also installs db.v2.0.0"
            assert said.count(refusal) == (1 if pending else 0)

    run(scenario)


def test_an_upgrade_goes_hop_by_hop_to_its_target() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0", "2.0.0", "3.0.0", "4.0.0") as (reader, server, _):
            await installed(reader, version="1.0.0")
            options = UpgradeOptions(namespace="apps", package="cache", to="3.0.0")
            announced: list[UpgradePlan] = []
            done = await upgrade.upgrade(
                reader, options, Access(),
                announce=announced.append, report=[].append, timeouts=QUICK,
            )  # fmt: skip

            assert [(plan.before, plan.hops) for plan in announced] == [
                ("cache.v1.0.0", ("cache.v2.0.0",)),
                ("cache.v2.0.0", ("cache.v3.0.0",)),
            ]
            assert done.hops == ("cache.v2.0.0", "cache.v3.0.0")
            assert done.explanation.is_ready
            subscription = server.get("subscriptions", "cache", "apps")
            assert subscription is not None
            assert subscription["status"]["installedCSV"] == "cache.v3.0.0"

    run(scenario)


def test_an_automatic_upgrade_is_reported_from_its_start() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, _, olm):
            await installed(reader)
            options = UpgradeOptions(namespace="apps", package="cache", to="2.0.0")
            announced: list[UpgradePlan] = []

            def publish(words: str) -> None:
                if words.startswith("waiting for OLM"):
                    olm.versions.append("2.0.0")
                    olm.look()

            done = await upgrade.upgrade(
                reader, options, Access(), announce=announced.append, report=publish,
                timeouts=QUICK,
            )  # fmt: skip

            assert [(plan.before, plan.hops) for plan in announced] == [
                ("cache.v1.0.0", ("cache.v2.0.0",))
            ]
            assert done.hops == ("cache.v2.0.0",)

    run(scenario)


def test_a_planned_upgrade_shows_its_path_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"cache.v{number}.0.0" for number in (1, 2, 3)]
    entries = [{"name": name, "replaces": below}
               for name, below in zip(names, ["", *names], strict=False)]  # fmt: skip
    shelf = model.from_blobs([
        Blob.of({"schema": "olm.package", "name": "cache", "defaultChannel": "stable"}),
        Blob.of({"schema": "olm.channel", "package": "cache", "name": "stable",
                 "entries": entries}),
        *(Blob.of({"schema": "olm.bundle", "package": "cache", "name": name, "image": "r/cache:v1",
                   "properties": [{"type": "olm.package", "value": {
                       "packageName": "cache", "version": name.removeprefix("cache.v")}}]})
          for name in names),
    ])  # fmt: skip
    monkeypatch.setattr(cluster_bundle, "read_bundle", _denied)

    async def read(*_: object) -> FoundCatalogImage:
        return FoundCatalogImage(catalog=shelf, folder="", pinned="")

    async def unread(*_: object) -> FoundCatalogImage:
        raise RemoteError("the registry is away")

    async def planned(reader: ClusterObjects, **fields: str) -> UpgradePlan:
        options = UpgradeOptions(namespace="apps", package="cache", **fields)  # type: ignore[arg-type]
        return await upgrade_plan.plan(reader, options, Access())

    async def scenario() -> None:
        async with cluster("1.0.0", "2.0.0") as (reader, server, olm):
            await installed(reader, version="1.0.0")
            olm.look()
            upcoming = server.get("installplans", "install-cache.v2.0.0", "apps")
            assert upcoming is not None
            rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
            permissions = [{"serviceAccountName": "cache", "rules": [rule]}]
            csv = new_object("ClusterServiceVersion", names[1], spec={
                "version": "2.0.0", "install": {"spec": {"permissions": permissions}}
            })  # fmt: skip
            step = {"kind": "ClusterServiceVersion", "name": names[1],
                    "manifest": json.dumps(csv)}  # fmt: skip
            status = {"plan": [{"resource": step}], "phase": "RequiresApproval"}
            server.put("installplans", upcoming | {"status": status})
            writes = len(server.writes())

            plan = await planned(reader)
            assert (plan.before, plan.hops) == (names[0], (names[1],))
            assert plan.brings is not None
            assert [str(grant) for grant in plan.brings.grants] == ["get: pods"]
            assert "later hops are not known" in plan.notes[0]

            packed = base64.b64encode(gzip.compress(json.dumps(csv).encode()))
            server.put("configmaps", new_object("ConfigMap", "unpacked", binaryData={
                "csv.yaml": base64.b64encode(packed).decode()
            }))  # fmt: skip
            reference = {"kind": "ConfigMap", "name": "unpacked", "namespace": "apps"}
            status = {"plan": [{"resource": step | {"manifest": json.dumps(reference)}}]}
            server.put("installplans", upcoming | {"status": status})
            assert (await planned(reader)).brings == plan.brings

            source = server.get("catalogsources", "shelf", "apps")
            assert source is not None
            server.put("catalogsources", source | {"spec": {"image": "a.example/shelf:1"}})
            monkeypatch.setattr(cluster_bundle, "read_catalog", read)
            assert (await planned(reader)).hops == tuple(names[1:])

            async def refuse(*_: object, **__: object) -> None:
                raise InputError("no way")

            with monkeypatch.context() as patched:
                patched.setattr(fit, "require", refuse)
                assert "`cache.v3.0.0` does not fit the cluster as it is now: no way" in (
                    (await planned(reader)).notes
                )
            assert (await planned(reader, to="2.0.0")).hops == (names[1],)
            assert (await planned(reader, to="1.0.0")).hops == ()
            with pytest.raises(InputError, match=r"no upgrade path leads from .* to `9\.0\.0`"):
                await planned(reader, to="9.0.0")
            with pytest.raises(InputError, match="was not created by olmkit"):
                await planned(reader, catalog="a.example/shelf:2")

            ours = source | {"spec": {"image": "a.example/shelf:1"}}
            ours["metadata"] = source["metadata"] | {"labels": install_objects.OURS}
            server.put("catalogsources", ours)
            assert (await planned(reader, catalog="a.example/shelf:2")).hops == tuple(names[1:])
            monkeypatch.setattr(cluster_bundle, "read_catalog", unread)
            with pytest.raises(RemoteError, match="away"):
                await planned(reader, catalog="a.example/shelf:2")
            assert len(server.writes()) == writes

    run(scenario)


def test_an_upgrade_that_olm_cannot_resolve_has_the_reason() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader, version="1.0.0")
            options = UpgradeOptions(namespace="apps", package="cache", to="2.0.0")
            said: list[str] = []

            async def upgraded() -> Any:
                return await upgrade.upgrade(
                    reader,
                    options,
                    Access(),
                    announce=[].append,
                    report=said.append,
                    timeouts=replace(QUICK, seconds=0.5),
                )

            with pytest.raises(InputError, match=r"no upgrade path leads from `cache\.v1\.0\.0`"):
                await upgraded()
            assert said == ["waiting for OLM to choose a version after `cache.v1.0.0`"]
            words = "bundle cache.v2.0.0 requires an operator with package: other"
            failed = {"type": "ResolutionFailed", "status": "True", "message": words}
            one = server.get("subscriptions", "cache", "apps")
            assert one is not None
            server.put("subscriptions", one | {"status": one["status"] | {"conditions": [failed]}})
            assert (await upgraded()).explanation.cause == "missing-dependency"

    run(scenario)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "nothing to install"),
        ({"package": "a", "bundle": "b"}, "nothing to install"),
        ({"bundle": "b", "version": "1.0.0"}, "has one version"),
    ],
)
def test_invalid_usage_is_refused(options: dict[str, str], words: str) -> None:
    async def scenario() -> None:
        async with cluster() as (reader, _, _):
            with pytest.raises(ConfigurationError, match=words):
                await install.plan(reader, InstallOptions(namespace="apps", **options), Access())

    run(scenario)


def test_a_namespace_with_two_groups_and_a_missing_catalog_are_refused() -> None:
    async def scenario() -> None:
        async with cluster() as (reader, server, _):
            with pytest.raises(InputError, match="no CatalogSource `other`"):
                await install.plan(
                    reader,
                    InstallOptions(namespace="apps", package="cache", catalog="other"),
                    Access(),
                )
            for name in ("a", "b"):
                server.put("operatorgroups", new_object("OperatorGroup", name, spec={}))
            with pytest.raises(InputError, match="several OperatorGroups"):
                await installed(reader)

    run(scenario)


def test_the_catalog_that_offers_the_package_is_found() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.put("catalogsources", new_object("CatalogSource", "other", "olm", spec={}))
            options = InstallOptions(namespace="apps", package="cache")
            with pytest.raises(InputError, match="several catalogs match"):
                await install.plan(reader, options, Access())

            offer = {"packageName": "cache", "catalogSource": "shelf",
                     "catalogSourceNamespace": "apps"}  # fmt: skip
            server.put("packagemanifests", {
                "apiVersion": "packages.operators.coreos.com/v1", "kind": "PackageManifest",
                "metadata": {"name": "cache", "namespace": "apps"}, "status": offer,
            })  # fmt: skip
            plan = await install.plan(reader, options, Access())

            assert plan.request.catalog.name == "shelf"
            with pytest.raises(InputError, match="no catalog offers the package `unknown`"):
                await install.plan(
                    reader, InstallOptions(namespace="apps", package="unknown"), Access()
                )

    run(scenario)


def test_without_package_manifests_only_catalogs_count_that_olm_uses_and_that_have_the_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _offer(monkeypatch, _two_channels())

    async def read(source: Manifest, _: Access) -> Any:
        if source["metadata"]["name"] == "unread":
            raise RemoteError("denied")
        packages = {"cache": 1} if source["metadata"]["name"] != "tools" else {"tool": 1}
        return SimpleNamespace(packages=packages)

    monkeypatch.setattr(offered, "read", read)

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            for name, namespace in (("mine", "other"), ("tools", "olm")):
                source = new_object("CatalogSource", name, namespace, spec={"image": "r/x:1"})
                server.put("catalogsources", source)
            options = InstallOptions(namespace="apps", package="cache")
            plan = await install.plan(reader, options, Access())
            assert plan.request.catalog.name == "shelf"

            with pytest.raises(InputError, match="no catalog offers the package `unknown`"):
                await install.plan(reader, replace(options, package="unknown"), Access())
            server.put("catalogsources", new_object("CatalogSource", "unread", "olm", spec={}))
            with pytest.raises(InputError, match="several catalogs match") as raised:
                await install.plan(reader, options, Access())
            assert "`apps/shelf`" in raised.value.message
            assert "`olm/unread`" in raised.value.message
            assert "mine" not in raised.value.message

    run(scenario)


def test_a_catalog_can_be_named_with_its_namespace() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            options = InstallOptions(namespace="apps", package="cache", catalog="apps/shelf")
            plan = await install.plan(reader, options, Access())
            spec = plan.objects[-1]["spec"]
            assert (spec["source"], spec["sourceNamespace"]) == ("shelf", "apps")
            assert server.writes() == []

    run(scenario)


def olm_program(*args: str) -> Manifest:
    container = {"name": "catalog-operator", "command": ["/bin/catalog"], "args": [*args]}
    template = {"spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "catalog-operator", "namespace": "olm"},
        "spec": {"replicas": 1, "template": template},
    }


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        ({"image": "r.example/shelf:v1"}, "pass `--catalog r.example/shelf:v1`, so that"),
        ({"address": "shelf.apps.svc:1"}, "pass the image of the catalog with `--catalog`"),
    ],
)
@pytest.mark.parametrize("args", [("--namespace", "shared"), ("-namespace=shared",)])
def test_a_catalog_that_olm_does_not_use_for_the_namespace_is_refused(
    spec: Manifest, hint: str, args: tuple[str, ...]
) -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.put("catalogsources", new_object("CatalogSource", "shelf", spec=spec))
            server.put("deployments", olm_program("--debug", *args))
            options = InstallOptions(namespace="new", package="cache", catalog="apps/shelf")
            with pytest.raises(InputError, match="OLM does not use the catalog") as raised:
                await install.plan(reader, options, Access())

            assert raised.value.message == (
                "OLM does not use the catalog `apps/shelf` for namespace `new`, only catalogs of "
                "that namespace and of `shared`"
            )
            assert raised.value.hint.startswith(hint)
            assert server.writes() == []

    run(scenario)


@pytest.mark.parametrize(
    ("place", "program", "is_noted"),
    [
        ("shared", olm_program("--namespace", "shared"), False),
        ("olm", None, False),
        ("olm", olm_program("--debug"), False),
        ("shared", None, True),
    ],
)
def test_a_catalog_of_another_namespace_is_noted_if_that_may_not_be_the_global_one(
    place: str, program: Manifest | None, is_noted: bool
) -> None:
    """Where OLM runs outside the cluster, the namespace of its global catalogs is not known."""

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.put("catalogsources", new_object("CatalogSource", "all", place, spec={}))
            if program is not None:
                server.put("deployments", program)
            options = InstallOptions(namespace="new", package="cache", catalog="all")

            plan = await install.plan(reader, options, Access())

            notes = [one for one in plan.notes if "of its namespace for global catalogs" in one]
            assert bool(notes) is is_noted
            if notes:
                assert notes[0].endswith("; if that is not `shared`, it does not find `shared/all`")

    run(scenario)


def _two_channels() -> list[str]:
    """Return a catalog whose channel `fast` goes from 1.0.0 to 2.0.0, and `c` to 1.5.0."""
    lines = [{"schema": "olm.package", "name": "cache", "defaultChannel": "c"}]
    for channel, newest in (("c", "1.5.0"), ("fast", "2.0.0")):
        entries = [
            {"name": "cache.v1.0.0"},
            {"name": f"cache.v{newest}", "replaces": "cache.v1.0.0"},
        ]
        fields: Manifest = {"name": channel, "package": "cache", "entries": entries}
        lines.append({"schema": "olm.channel", **fields})
    for version in ("1.0.0", "1.5.0", "2.0.0"):
        own = {"type": "olm.package", "value": {"packageName": "cache", "version": version}}
        fields = {"package": "cache", "image": "r/cache:v1", "properties": [own]}
        lines.append({"schema": "olm.bundle", "name": f"cache.v{version}", **fields})
    return [json.dumps(one) for one in lines]


def test_an_upgrade_changes_the_channel_and_leaves_what_waits_in_the_old_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _offer(monkeypatch, _two_channels())

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            assert (await installed(reader, channel="c", version="1.0.0")).is_ready
            shelf = server.get("catalogsources", "shelf", "apps") or {}
            server.put("catalogsources", shelf | {"spec": {"image": "quay.io/example/shelf:v1"}})
            olm.versions = ["1.0.0", "1.5.0"]
            while server.get("installplans", "install-cache.v1.5.0", "apps") is None:  # noqa: ASYNC110 - it is on the server
                await asyncio.sleep(0.01)

            options = UpgradeOptions(namespace="apps", package="cache", channel="fast")
            plan = await upgrade_plan.plan(reader, options, Access())
            assert (plan.hops, plan.left) == (("cache.v2.0.0",), "cache.v1.5.0")
            assert plan.notes[0] == "the channel changes from `c` to `fast`"
            unknown = replace(options, channel="slow")
            with pytest.raises(InputError, match="has no channel `slow`") as raised:
                await upgrade_plan.plan(reader, unknown, Access())
            assert raised.value.hint == "it has `c`, `fast`: choose one with `--channel`"

            olm.leaves = {"cache"}  # until it reads the changed Subscription

            def channel() -> str:
                return str((server.get("subscriptions", "cache", "apps") or {})["spec"]["channel"])

            async def follow() -> None:
                while channel() != "fast":  # noqa: ASYNC110 - it is on the server
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.1)
                olm.versions, olm.leaves = ["1.0.0", "2.0.0"], set()

            following = asyncio.ensure_future(follow())
            said: list[str] = []
            done = await upgrade.upgrade(
                reader,
                options,
                Access(),
                announce=lambda _: None,
                report=said.append,
                timeouts=replace(QUICK, seconds=5),
            )
            await following
            assert done.hops == ("cache.v2.0.0",)
            assert done.explanation.is_ready
            assert said[:2] == [
                "channel: c → fast",
                "deleting InstallPlan apps/install-cache.v1.5.0",
            ]

    run(scenario)


def test_an_older_version_is_not_an_upgrade() -> None:
    last = "cache.v1.10.0"
    key = SubscriptionKey("cache", "stable", "shelf", "apps")
    older = upgrade_plan.no_path_error(last, "1.9.0", end=last, key=key)
    assert older.hint == (
        "OLM does not downgrade: uninstall the operator, and install it with `--version`"
    )
    unknown = upgrade_plan.no_path_error("cache.v1.9.0", "v1.11.0", end=last, key=key)
    assert (unknown.message, unknown.hint) == (
        f"no upgrade path leads from `cache.v1.9.0` to `v1.11.0`: it ends at `{last}`",
        "run `olmkit catalog graph catalogsource:apps/shelf cache` to see the upgrade edges",
    )


def test_an_installed_version_is_not_installed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, _, _):
            await installed(reader)
            with pytest.raises(InputError, match="already requested") as raised:
                await installed(reader)
            assert "or `olmkit upgrade cache -n apps` to upgrade it" in raised.value.hint

            monkeypatch.setattr(upgrade_plan, "is_goal", lambda *_: False)
            with pytest.raises(InputError, match="already requested") as raised:
                await installed(reader, version="1.0.0")
            command = "olmkit upgrade cache -n apps --to 1.0.0"
            assert raised.value.hint == f"to change its version, run `{command}`"

    run(scenario)


def test_a_csv_without_subscription_is_named_before_it_blocks() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            orphan = new_object("ClusterServiceVersion", "cache.v0.9.0", spec={})
            orphan["metadata"]["labels"] = {f"{OLM}/cache.apps": ""}
            server.put("clusterserviceversions", orphan)

            with pytest.raises(InputError, match=r"cache\.v0\.9\.0"):
                await installed(reader)
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            assert [one["kind"] for one in plan.all] == ["ClusterServiceVersion"]

    run(scenario)


def test_a_state_that_needs_action_only_counts_after_a_while() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, _, olm):
            olm.failing = "InstallComponentFailedNoRetry"
            found = await installed(reader)

            assert (found.readiness, found.cause) == (Readiness.BLOCKED, "csv-invalid")

    run(scenario)


def test_an_operator_with_webhooks_is_ready_when_olm_stops_changing_it() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            olm.csv_spec = {"webhookdefinitions": [{"deploymentName": "manager"}]}
            well, pending = (
                "`cache.v1.0.0` is installed and healthy",
                "`cache.v1.0.0` is Pending: again",
            )
            said: list[str] = []

            def report(line: str) -> None:
                """Change the phase once after success, as OLM does for new certificates."""
                said.append(line)
                phase = {"phase": "Pending", "reason": "NeedsReinstall", "message": "again"}
                if line in (well, pending) and said.count(well) == 1:
                    (csv,) = server.all("clusterserviceversions")
                    status = phase if line == well else {"phase": "Succeeded"}
                    server.put("clusterserviceversions", csv | {"status": status})

            found = await installed(reader, report)

            assert found.is_ready
            assert said[-3:] == [well, pending, well]

    run(scenario)


def test_created_objects_are_removed_again() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.collects_garbage = True
            options = InstallOptions(namespace="new", package="cache", catalog="shelf")
            plan = await install.plan(reader, options, Access())
            created: list[dict[str, Any]] = []
            await install.carry_out(reader, plan, report=[].append, timeouts=QUICK, created=created)

            def report(line: str) -> None:
                if line == "deleting ClusterServiceVersion new/cache.v1.0.0":
                    server.put("operators", components(space="new"))

            await install.take_back(reader, created, report=report, timeouts=QUICK)

            assert server.all("operators") == []
            assert server.all("subscriptions") == []
            assert server.all("clusterserviceversions") == []
            assert server.get("namespaces", "new", "") is None
            assert server.get("catalogsources", "shelf", "apps"), "it existed before"

    run(scenario)


def test_a_subscription_that_another_client_deletes_ends_the_install() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            olm.leaves.add("cache")
            options = InstallOptions(namespace="apps", package="cache", catalog="shelf")
            plan = await install.plan(reader, options, Access())
            created: list[dict[str, Any]] = []

            def report(line: str) -> None:
                if line == "created Subscription apps/cache":
                    server.remove("subscriptions", "cache", "apps")

            found = await install.carry_out(
                reader, plan, report=report, timeouts=QUICK, created=created
            )

            assert found.cause == "subscription-deleted"
            assert found.message == (
                "the Subscription of `cache` was deleted during the installation"
            )
            assert "another client" in found.hint
            assert "Subscription" not in [one["kind"] for one in created]

    run(scenario)


@pytest.mark.parametrize("ending", ["succeeds", "fails", "is interrupted"])
@pytest.mark.parametrize("kept", [True, False])
def test_objects_of_a_failed_install_are_kept_or_removed(
    ending: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick = functools.partial(install.take_back, timeouts=QUICK)
    monkeypatch.setattr(install, "take_back", quick)

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            olm.failing = "" if ending == "succeeds" else "InvalidInstallModes"
            options = InstallOptions(namespace="apps", package="cache", catalog="shelf")
            plan = await install.plan(reader, options, Access())
            created: list[dict[str, Any]] = []
            said: list[str] = []
            is_made = asyncio.Event()

            def report(line: str) -> None:
                if line == "created Subscription apps/cache":
                    is_made.set()

            working = asyncio.ensure_future(install.carry_out(
                reader, plan, report=report, timeouts=QUICK, created=created,
                undone=None if kept else said.append,
            ))  # fmt: skip
            if ending == "is interrupted":
                await is_made.wait()
                working.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await working
            else:
                assert (await working).is_ready is (ending == "succeeds")

            stays = kept or ending == "succeeds"
            assert bool(created) is stays
            assert bool(server.all("subscriptions")) is stays
            assert ("reverted Subscription apps/cache" in said) is not stays

    run(scenario)


def test_a_bundle_gets_its_own_catalog(root: Path) -> None:
    async def scenario() -> None:
        async with cluster("0.0.1") as (reader, server, _):
            found = await installed(
                reader, package="", catalog="", bundle=str(root / "bundle/0.0.1")
            )

            assert found.is_ready
            subscription = server.get("subscriptions", "memcached-operator", "apps")
            assert subscription is not None
            name = subscription["spec"]["source"]
            catalog = server.get("catalogsources", name, "apps")
            config = server.get("configmaps", name, "apps")
            assert catalog is not None
            assert config is not None
            assert catalog["spec"]["address"] == f"{name}.apps.svc:50051"
            owner = config["metadata"]["ownerReferences"][0]
            assert owner["uid"] == catalog["metadata"]["uid"]

    run(scenario)


def test_an_upgrade_to_a_bundle_continues_from_its_catalog(root: Path) -> None:
    async def scenario() -> None:
        async with cluster("0.0.0", "0.0.1") as (reader, server, _):
            package = "memcached-operator"
            await installed(reader, package=package, version="0.0.0")
            options = UpgradeOptions(namespace="apps", bundle=str(root / "bundle/0.0.1"))
            writes = len(server.writes())
            plan = await upgrade.plan_bundle(reader, options, Access())

            assert (plan.plan.before, plan.plan.targets) == (f"{package}.v0.0.0", ("",))
            assert len(server.writes()) == writes
            done = await upgrade.to_bundle(reader, plan, options, report=[].append, timeouts=QUICK)
            assert (done.hops, done.explanation.is_ready) == ((f"{package}.v0.0.1",), True)
            with pytest.raises(InputError, match="is installed already"):
                await upgrade.plan_bundle(reader, options, Access())

    run(scenario)


def test_a_bundle_replaces_a_version_that_waits_for_approval(root: Path) -> None:
    async def scenario() -> None:
        async with cluster("0.0.0", "0.0.9") as (reader, server, olm):
            package = "memcached-operator"
            await installed(reader, package=package, version="0.0.0")
            olm.look()
            options = UpgradeOptions(namespace="apps", bundle=str(root / "bundle/0.0.1"))
            plan = await upgrade.plan_bundle(reader, options, Access())
            assert plan.plan.notes == (f"instead of {package}.v0.0.9, which waits for approval",)

            def report(line: str) -> None:
                if line == f"deleting InstallPlan apps/install-{package}.v0.0.9":
                    olm.versions[:] = ["0.0.0", "0.0.1"]

            done = await upgrade.to_bundle(reader, plan, options, report=report, timeouts=QUICK)

            assert (done.hops, done.explanation.is_ready) == ((f"{package}.v0.0.1",), True)
            assert server.get("installplans", f"install-{package}.v0.0.9", "apps") is None

    run(scenario)


def test_an_operator_that_watches_the_namespace_from_another_one_is_not_installed_again() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            copy = new_object("ClusterServiceVersion", "cache.v1.0.0", spec={})
            copy["metadata"]["labels"] = {"olm.copiedFrom": "home"}
            server.put("clusterserviceversions", copy)
            options = InstallOptions(
                namespace="apps", package="cache", catalog="shelf", version="1.0.0"
            )
            await install.plan(reader, options, Access())  # The copy is also about to be removed.

            server.put("clusterserviceversions", new_object("ClusterServiceVersion", "cache.v1.0.0",
                                                      "home", spec={}))  # fmt: skip
            with pytest.raises(InputError, match="installed in namespace `home`"):
                await install.plan(reader, options, Access())

    run(scenario)


def test_an_operator_that_watches_all_namespaces_is_not_installed_into_a_new_one() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            options = InstallOptions(
                namespace="apps", package="cache", catalog="shelf", version="1.0.0"
            )
            for targets in ("home", "home,else", None):
                twin = new_object("ClusterServiceVersion", "cache.v1.0.0", "home", spec={})
                noted = {} if targets is None else {"olm.targetNamespaces": targets}
                twin["metadata"]["annotations"] = noted
                server.put("clusterserviceversions", twin)
                await install.plan(reader, options, Access())

            for targets in ("", "home,apps"):
                twin["metadata"]["annotations"] = {"olm.targetNamespaces": targets}
                server.put("clusterserviceversions", twin)
                with pytest.raises(InputError, match="installed in namespace `home`"):
                    await install.plan(reader, options, Access())

            server.put("olmconfigs", {
                "apiVersion": f"{OLM}/v1", "kind": "OLMConfig", "metadata": {"name": "cluster"},
                "spec": {"features": {"disableCopiedCSVs": True}},
            })  # fmt: skip
            with pytest.raises(InputError, match="installed in namespace `home`"):
                await install.plan(reader, options, Access())  # it only supports all namespaces
            twin["metadata"]["annotations"] = {"olm.targetNamespaces": ""}
            server.put("clusterserviceversions", twin)
            await install.plan(reader, options, Access())

    run(scenario)


def test_uninstalling_keeps_objects_of_other_owners_and_custom_resources() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            server.put("customresourcedefinitions", {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "caches.example.com"},
                "spec": {"group": "example.com", "names": {"kind": "Cache"},
                         "versions": [{"name": "v1", "served": True}]},
            })  # fmt: skip
            server.put("caches", {"apiVersion": "example.com/v1", "kind": "Cache",
                                  "metadata": {"name": "mine", "namespace": "other"}})  # fmt: skip

            with pytest.raises(InputError, match="would be deleted with the CRDs"):
                await uninstall_plan.plan(
                    reader, UninstallOptions(namespace="apps", package="cache", delete_crds=True)
                )
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            assert [one["kind"] for one in plan.all] == [
                "Subscription",
                "ClusterServiceVersion",
                "OperatorGroup",
            ]
            assert len(plan.stays) == 2
            done = await uninstall.carry_out(reader, plan, report=[].append, timeouts=QUICK)

            assert done.left == ()
            assert server.all("subscriptions") == []
            assert server.get("catalogsources", "shelf", "apps")
            assert server.get("caches", "mine", "other")

    run(scenario)


@pytest.mark.parametrize("namespace", ["new", "apps"])
def test_the_namespace_that_install_created_is_kept_and_named(namespace: str) -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, _, __):
            options = InstallOptions(namespace=namespace, package="cache", catalog="shelf")
            new_object = await install.plan(reader, options, Access())
            await install.carry_out(
                reader, new_object, report=[].append, timeouts=QUICK, created=[]
            )
            gone = await uninstall_plan.plan(
                reader, UninstallOptions(namespace=namespace, package="cache")
            )
            said = [one for one in gone.stays if "kubectl delete namespace new" in one]
            assert len(said) == (namespace == "new")

    run(scenario)


def test_roles_that_olm_leaves_are_also_removed() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            labels = {"olm.owner": "cache.v1.0.0"}
            for name, more in (
                ("forgotten", {}),
                ("kept", {"olm.owner.namespace": "other"}),
                ("strange", {"olm.owner": "other.v1.0.0"}),
            ):
                server.put("clusterroles", {
                    "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                    "metadata": {"name": name, "labels": labels | more},
                })  # fmt: skip

            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            assert [one["metadata"]["name"] for one in plan.leftovers] == ["forgotten"]

            twin = new_object("ClusterServiceVersion", "cache.v1.0.0", "other")
            server.put("clusterserviceversions", twin)
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            assert plan.leftovers == ()

    run(scenario)


def test_an_unfinished_plan_is_removed_before_its_csv() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            for name, phase, *names in (
                ("install-now", "Installing", "cache.v1.0.0"),
                ("install-both", "Installing", "cache.v1.0.0", "other.v1.0.0"),
                ("install-done", "Complete", "cache.v1.0.0"),
            ):
                spec = {"clusterServiceVersionNames": names}
                server.put("installplans", new_object("InstallPlan", name, spec=spec,
                                                status={"phase": phase}))  # fmt: skip

            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )

            order = [one["metadata"]["name"] for one in plan.all]
            assert order[:3] == ["cache", "install-now", "cache.v1.0.0"]
            assert not {"install-both", "install-done"} & set(order)

    run(scenario)


def test_a_new_object_with_the_name_of_a_removed_one_is_another_object() -> None:
    async def scenario() -> None:
        async with cluster() as (reader, server, _):
            server.put("subscriptions", new_object("Subscription", "cache"))
            old = new_object("Subscription", "cache")
            short = replace(QUICK, seconds=0.2)
            for uid, left in ((None, 1), ("of-one-that-is-gone", 0)):
                old["metadata"]["uid"] = uid
                found = await cluster_wait.wait_until_deleted(
                    reader, (old,), report=[].append, timeouts=short
                )
                assert len(found) == left

    run(scenario)


def components(*kinds: str, space: str = "apps") -> Manifest:
    """OLM's list of objects that belong to the package `cache` in a namespace."""
    return {
        "apiVersion": f"{OLM}/v1",
        "kind": "Operator",
        "metadata": {"name": f"cache.{space}"},
        "status": {"components": {"refs": [{"kind": kind} for kind in kinds]}},
    }


def test_objects_that_olm_creates_during_the_removal_are_also_removed() -> None:
    properties = {"properties": [{"type": "olm.package", "value": {"packageName": "cache"}}]}
    late = new_object("ClusterServiceVersion", "called-otherwise", spec={
        "customresourcedefinitions": {"owned": [{"name": "caches.example.com"}]},
    })  # fmt: skip
    late["metadata"]["annotations"] = {"operatorframework.io/properties": json.dumps(properties)}
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
           "metadata": {"name": "caches.example.com"},
           "spec": {"group": "example.com", "names": {"kind": "Cache"}}}  # fmt: skip

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            server.put("operators", components())
            options = UninstallOptions(namespace="apps", package="cache", delete_crds=True)
            plan = await uninstall_plan.plan(reader, options)
            said: list[str] = []

            def report(line: str) -> None:
                said.append(line)
                if line == "deleting Operator cache.apps" and said.count(line) == 1:
                    server.put("clusterserviceversions", late)
                    server.put("customresourcedefinitions", crd)
                if line == "deleting ClusterServiceVersion apps/called-otherwise":
                    server.put("operators", components())
                if line == "deleting CustomResourceDefinition caches.example.com":
                    server.put("clusterroles", {
                        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                        "metadata": {"name": "late", "labels": {"olm.owner": "called-otherwise"}},
                    })  # fmt: skip

            done = await uninstall.carry_out(reader, plan, report=report, timeouts=QUICK)

            assert done.left == ()
            names = [one["metadata"]["name"] for one in done.gone]
            assert names[-4:] == ["called-otherwise", "caches.example.com", "late", "cache.apps"]
            for plural in ("operators", "clusterserviceversions", "customresourcedefinitions"):
                assert server.all(plural) == []
            assert server.all("clusterroles") == []

    run(scenario)


@pytest.mark.parametrize("is_owned", [False, True])
def test_a_plan_of_two_operators_does_not_restore_olms_list(is_owned: bool) -> None:
    label = f"{OLM}/cache.apps"

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            await installed(reader)
            shared = new_object("InstallPlan", "install-both", status={"phase": "Complete"})
            shared["metadata"]["labels"] = {label: "", f"{OLM}/kettle.apps": ""}
            names = ["cache.v1.0.0", "kettle.v1"]
            if is_owned:  # OLM names each Subscription of the namespace as an owner.
                olm.leaves = {"kettle"}
                spec = {"name": "kettle", "source": "shelf", "sourceNamespace": "apps"}
                neighbor = new_object("Subscription", "kettle", spec=spec)
                neighbor["metadata"]["uid"] = "kettle-uid"
                server.put("subscriptions", neighbor)
                owner = {"apiVersion": f"{OLM}/v1alpha1", "kind": "Subscription",
                         "name": "kettle", "uid": "kettle-uid"}  # fmt: skip
                shared["metadata"]["ownerReferences"] = [owner]
                names = names[:1]
            shared["spec"] = {"clusterServiceVersionNames": names, "approved": True}
            server.put("installplans", shared)
            server.put("operators", components())
            options = UninstallOptions(namespace="apps", package="cache")
            plan = await uninstall_plan.plan(reader, options)
            said: list[str] = []

            async def olm() -> None:
                """Labels the parts of a Subscription, and lists the objects with the label."""
                while True:
                    found = server.get("installplans", "install-both", "apps")
                    assert found is not None
                    labels = found["metadata"].setdefault("labels", {})
                    asked = {one["spec"]["name"] for one in server.all("subscriptions")}
                    if "cache" in asked and label not in labels:
                        labels[label] = ""
                        server.put("installplans", found)
                    if label in labels and not server.all("operators"):
                        server.put("operators", components())
                    await asyncio.sleep(0.001)

            working = asyncio.ensure_future(olm())
            try:
                done = await uninstall.carry_out(reader, plan, report=said.append, timeouts=QUICK)
            finally:
                working.cancel()

            assert done.left == ()
            assert server.all("operators") == []
            found = server.get("installplans", "install-both", "apps")
            assert found is not None
            assert found["metadata"]["labels"] == {f"{OLM}/kettle.apps": ""}
            assert said.count("deleting Operator cache.apps") <= 3

    run(scenario)


def test_olms_list_is_kept_as_long_as_a_crd_is_on_it() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )

            def report(line: str) -> None:
                if line.startswith("deleting ClusterServiceVersion"):
                    server.put("operators", components("CustomResourceDefinition"))

            done = await uninstall.carry_out(reader, plan, report=report, timeouts=QUICK)

            assert done.left == ()
            assert [one["metadata"]["name"] for one in server.all("operators")] == ["cache.apps"]

    run(scenario)


def test_a_new_subscription_during_the_removal_keeps_the_operator() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            plan = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            (subscription,) = plan.subscriptions

            def report(line: str) -> None:
                if line.startswith("deleting ClusterServiceVersion"):
                    again = new_object("Subscription", "cache", spec=subscription["spec"])
                    server.put("subscriptions", again)

            done = await uninstall.carry_out(reader, plan, report=report, timeouts=QUICK)

            assert [one["kind"] for one in done.left] == ["Subscription"]
            assert len(server.all("subscriptions")) == 1

    run(scenario)


def test_roles_that_olm_creates_again_for_a_removed_group_are_removed() -> None:
    def role(name: str, group: str, namespace: str) -> Manifest:
        labels = {"olm.owner": group, "olm.owner.namespace": namespace,
                  "olm.owner.kind": "OperatorGroup"}  # fmt: skip
        return {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                "metadata": {"name": name, "labels": labels}}  # fmt: skip

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            new_object = await uninstall_plan.plan(
                reader, UninstallOptions(namespace="apps", package="cache")
            )
            (group,) = [one for one in new_object.all if one["kind"] == "OperatorGroup"]
            name = group["metadata"]["name"]
            server.put("clusterroles", role("forgotten", name, "apps"))
            server.put("clusterroles", role("of-others", name, "elsewhere"))

            done = await uninstall.carry_out(reader, new_object, report=[].append, timeouts=QUICK)

            assert "forgotten" in [one["metadata"]["name"] for one in done.gone]
            left = [one["metadata"]["name"] for one in server.all("clusterroles")]
            assert (done.left, left) == ((), ["of-others"])

    run(scenario)


def test_crds_are_kept_until_all_dependents_of_operands_are_gone() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            server.put("customresourcedefinitions", {
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "caches.example.com"},
                "spec": {"group": "example.com", "names": {"kind": "Cache"},
                         "versions": [{"name": "v1", "served": True}]},
            })  # fmt: skip
            server.put("caches", {"apiVersion": "example.com/v1", "kind": "Cache",
                                  "metadata": {"name": "mine", "namespace": "apps"}})  # fmt: skip
            options = UninstallOptions(
                namespace="apps", package="cache", delete_crds=True, delete_operands=True
            )
            plan = await uninstall_plan.plan(reader, options)
            assert [one["kind"] for one in plan.all][:2] == ["Cache", "Subscription"]

            # No garbage collector runs here at first.
            short = replace(QUICK, seconds=0.2)
            done = await uninstall.carry_out(reader, plan, report=[].append, timeouts=short)
            assert [one["kind"] for one in done.left] == ["Cache"]
            (held,) = server.all("caches")
            assert held["metadata"]["finalizers"] == ["foregroundDeletion"]
            assert server.all("customresourcedefinitions")
            assert server.all("subscriptions")

            server.remove("caches", "mine", "apps")
            plan = await uninstall_plan.plan(reader, options)
            done = await uninstall.carry_out(reader, plan, report=[].append, timeouts=QUICK)
            assert done.left == ()
            assert server.all("customresourcedefinitions") == []

    run(scenario)


def test_uninstall_works_with_permissions_in_one_namespace() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            server.denies = lambda access: access.namespace != "apps"
            options = UninstallOptions(namespace="apps", package="cache")
            plan = await uninstall_plan.plan(reader, options)
            assert plan.stays == ("the CRDs caches.example.com",)
            done = await uninstall.carry_out(reader, plan, report=[].append, timeouts=QUICK)

            assert done.left == ()
            assert server.all("subscriptions") == server.all("clusterserviceversions") == []

            server.denies = lambda _: False
            await installed(reader)
            server.denies = lambda access: access.namespace != "apps"
            with pytest.raises(Forbidden, match="customresourcedefinitions"):
                await uninstall_plan.plan(reader, replace(options, delete_crds=True))

    run(scenario)


def test_catalogs_that_cannot_be_listed_are_not_reported_as_absent() -> None:
    async def refused(reader: ClusterObjects, **words: str) -> InputError:
        options = InstallOptions(namespace="apps", package="cache", **words)
        with pytest.raises(InputError) as raised:
            await install.plan(reader, options, Access())
        return raised.value

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.remove("catalogsources", "shelf", "apps")
            assert (await refused(reader)).message == "the cluster has no CatalogSource"
            error = await refused(reader, catalog_namespace="olm")
            assert error.message == "namespace `olm` has no CatalogSource"

            server.denies = lambda access: access.namespace != "apps" and access.verb == "list"
            for words in ({}, {"catalog": "shelf"}):
                error = await refused(reader, **words)
                assert "in the namespaces where you may list them: `apps`" in error.message
                assert "in the whole cluster, or pass the image" in error.hint
            error = await refused(reader, catalog="shelf", catalog_namespace="olm")
            assert "`catalogsources.operators.coreos.com` in namespace `olm`" in error.hint
            error = await refused(reader, catalog="shelf", catalog_namespace="apps")
            assert error.message == "there is no CatalogSource `shelf`"
            server.denies = lambda access: access.resource == "catalogsources"
            error = await refused(reader)
            assert "are unknown, because you may not list them" in error.message

    run(scenario)


def test_why_does_not_report_a_catalog_that_cannot_be_listed_as_absent(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with cluster() as (reader, server, _):
            spec = {"name": "new", "source": "shelf", "sourceNamespace": "olm", "channel": "s"}
            server.put("subscriptions", new_object("Subscription", "new", "mine", spec=spec))
            server.put("operatorgroups", new_object("OperatorGroup", "g", "mine", spec={}))
            file = tmp_path / "objects.yaml"

            async def why() -> Explanation:
                found = await cluster_read.why(reader, "new", "mine", save=file)
                assert cluster_read.why_saved(file, "new", "mine") == found
                return found

            assert (await why()).cause == "no-such-catalog"
            server.denies = lambda access: access.namespace != "mine"
            found = await why()
            assert (found.cause, found.readiness) == ("waiting", Readiness.WAITING)
            assert "`shelf` in namespace `olm` exists and is ready is not known" in found.message
            assert (
                "`list` of `catalogsources.operators.coreos.com` in namespace `olm`" in found.hint
            )
            # Permission to list in the catalog's namespace is sufficient.
            server.denies = lambda access: access.namespace == ""
            assert (await why()).cause == "no-such-catalog"
            server.put("catalogsources", new_object("CatalogSource", "shelf", "olm", spec={}))
            assert (await why()).cause == "catalog-not-ready"

    run(scenario)


def test_nothing_to_uninstall_names_where_the_operator_is() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, _, _):
            await installed(reader)
            with pytest.raises(InputError) as raised:
                await uninstall_plan.plan(
                    reader, UninstallOptions(namespace="other", package="cache")
                )
            assert "`apps`" in raised.value.hint

    run(scenario)


def crd_of_caches(**spec: Any) -> Manifest:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "caches.example.com",
            "labels": {"operators.coreos.com/cache.apps": ""},
        },
        "spec": {
            "group": "example.com",
            "names": {"kind": "Cache"},
            "versions": [{"name": "v1", "served": True, "storage": True}],
            **spec,
        },
    }


def new_cache(name: str = "mine", **metadata: Any) -> Manifest:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Cache",
        "metadata": {"name": name, "namespace": "apps", **metadata},
    }


WEBHOOK = {
    "strategy": "Webhook",
    "webhook": {"clientConfig": {"service": {"name": "gone", "namespace": "apps"}}},
}
BOTH = UninstallOptions(namespace="apps", package="cache", delete_crds=True, delete_operands=True)


class NothingConverts(ClusterObjects):
    """The API of a cluster without the conversion webhook of the caches."""

    async def list(
        self, kind: Any, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Any:
        if kind[1] == "Cache":
            crd = await self.find(("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
                                  "caches.example.com")  # fmt: skip
            if crd is not None and crd["spec"].get("conversion", {}).get("strategy") == "Webhook":
                raise ClusterError("conversion webhook for example.com/v1, Kind=Cache failed: no",
                                   code=500, temporary=True)  # fmt: skip
        return await super().list(kind, namespace, labels=labels, fields=fields)


@pytest.mark.parametrize("there", [False, True])
def test_objects_that_only_this_command_can_read_are_deleted_without_conversion(
    there: bool,
) -> None:
    # A list in the storage version needs no conversion; that of the garbage collector does.
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.put("customresourcedefinitions", crd_of_caches(conversion=WEBHOOK))
            server.put("caches", new_cache())
            service = WEBHOOK["webhook"]["clientConfig"]["service"]
            if there:
                server.put("services", new_object("Service", service["name"], service["namespace"])
                           | {"apiVersion": "v1"})  # fmt: skip
            plan = await uninstall_plan.plan(reader, BOTH)
            assert plan.unread == ()
            said: list[str] = []
            short = replace(QUICK, seconds=0.3)
            done = await uninstall.carry_out(reader, plan, report=said.append, timeouts=short)

            off = "switching off the conversion of CustomResourceDefinition caches.example.com"
            assert (off in said) is not there
            if not there:
                assert said.index(off) < said.index("deleting Cache apps/mine")
            # No garbage collector runs here: the object waits for it.
            assert "waits until the cluster's garbage collector" in done.hint

    run(scenario)


def test_a_missing_conversion_webhook_does_not_block_an_uninstall() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (plain, server, _):
            reader = NothingConverts(plain.cluster)
            await installed(reader)
            server.put("customresourcedefinitions", crd_of_caches(conversion=WEBHOOK))
            server.put("caches", new_cache())

            for fields, other in (
                ({"delete_operands": True}, "--delete-crds"),
                ({"delete_crds": True}, "--delete-operands"),
            ):
                with pytest.raises(InputError, match="cannot be listed") as raised:
                    await uninstall_plan.plan(
                        reader, UninstallOptions(namespace="apps", package="cache", **fields)
                    )
                assert f"pass `{other}` too" in raised.value.hint
            bare = UninstallOptions(namespace="apps", package="cache")
            plan = await uninstall_plan.plan(reader, bare)
            assert "which cannot be listed: conversion webhook" in plan.stays[0]
            plan = await uninstall_plan.plan(reader, BOTH)
            assert plan.unlisted == (
                "all objects of caches.example.com, which nothing converts now",
            )
            said: list[str] = []
            done = await uninstall.carry_out(reader, plan, report=said.append, timeouts=QUICK)

            # No garbage collector runs here: the object waits for it.
            assert [one["kind"] for one in done.left] == ["Cache"]
            assert server.all("clusterserviceversions") == []
            steps = ("ClusterServiceVersion", "switching off", "deleting Cache")
            order = [next(i for i, line in enumerate(said) if step in line) for step in steps]
            assert order == sorted(order)
            server.remove("caches", "mine", "apps")
            plan = await uninstall_plan.plan(reader, BOTH)
            assert (await uninstall.carry_out(
                reader, plan, report=said.append, timeouts=QUICK)).left == ()  # fmt: skip
            assert server.all("customresourcedefinitions") == []

    run(scenario)


class _Unconverted:
    """A cluster whose API server cannot reach the conversion webhook when caches are listed."""

    def __init__(self, cluster: Any, error: ClusterError) -> None:
        self._cluster = cluster
        self._error = error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    async def list_page(self, resource: Resource, **fields: Any) -> Any:
        if resource.gvk.kind == "Cache":
            raise self._error
        return await self._cluster.list_page(resource, **fields)


AWAY = ClusterError(
    'conversion webhook for example.com/v1, Kind=Cache failed: Post "https://gone.apps.svc": '
    'service "gone" not found',
    code=500,
    temporary=True,
)


def test_a_missing_conversion_webhook_is_the_cause_in_why_and_status() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (plain, server, olm):
            owned = {"owned": [{"name": "caches.example.com", "kind": "Cache"}]}
            olm.csv_spec = {"customresourcedefinitions": owned}
            await installed(plain)
            reader = ClusterObjects(_Unconverted(plain.cluster, AWAY))  # type: ignore[arg-type]
            server.put("customresourcedefinitions", crd_of_caches())
            assert (await cluster_read.why(reader, "cache", "apps")).is_ready

            server.put("customresourcedefinitions", crd_of_caches(conversion=WEBHOOK))
            found = await cluster_read.why(reader, "cache", "apps")
            (row,) = (await status.status(reader, namespace="apps")).operators

            for one in (found, row.explanation):
                assert one.cause == "conversion-webhook-away"
                assert 'service "gone" not found' in one.message
            hidden = Forbidden("caches are not for you", code=403)
            reader = ClusterObjects(_Unconverted(plain.cluster, hidden))  # type: ignore[arg-type]
            assert (await cluster_read.why(reader, "cache", "apps")).is_ready

    run(scenario)


def test_an_upgrade_is_refused_if_olm_cannot_compare_its_crds_with_the_objects() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (plain, server, _):
            server.put("customresourcedefinitions", crd_of_caches(conversion=WEBHOOK))
            reader = ClusterObjects(_Unconverted(plain.cluster, AWAY))  # type: ignore[arg-type]
            seen = await cluster_read.snapshot(reader, "apps", logs=False)
            with pytest.raises(InputError, match="cannot check the objects") as raised:
                await fit.require(reader, seen, [crd_of_caches()])
            assert "correct the Service" in raised.value.hint
            await fit.require(reader, seen, [crd_of_caches(conversion=WEBHOOK)])

    run(scenario)


class NothingAdmits(ClusterObjects):
    """A cluster in which a validating webhook blocks all caches until its CSV is gone."""

    async def delete(self, manifest: Any, **fields: Any) -> bool:
        if manifest["kind"] == "Cache" and await self.list((f"{OLM}/v1alpha1",
                                                            "ClusterServiceVersion")):  # fmt: skip
            raise ClusterError("Internal error occurred: failed calling webhook \"v\": no",
                               code=500, temporary=True)  # fmt: skip
        fields.pop("propagation", None)
        return await super().delete(manifest, **fields)


def test_an_operator_with_a_failing_webhook_is_removed_before_its_objects() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (plain, server, _):
            reader = NothingAdmits(plain.cluster)
            await installed(reader)
            server.put("customresourcedefinitions", crd_of_caches())
            server.put("caches", new_cache())
            plan = await uninstall_plan.plan(reader, BOTH)
            said: list[str] = []
            done = await uninstall.carry_out(reader, plan, report=said.append, timeouts=QUICK)

            assert done.left == ()
            assert any("the operator is deleted before its objects" in line for line in said)
            kinds = [one["kind"] for one in done.gone]
            assert kinds.index("ClusterServiceVersion") < kinds.index("Cache")
            assert kinds.index("Cache") < kinds.index("CustomResourceDefinition")

    run(scenario)


def test_objects_that_a_plain_uninstall_left_can_be_removed_later() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.put("customresourcedefinitions", crd_of_caches())
            server.put("caches", new_cache())
            server.put("clusterroles", {"apiVersion": "rbac.authorization.k8s.io/v1",
                                        "kind": "ClusterRole",
                                        "metadata": {"name": "left"}})  # fmt: skip
            listed = components("CustomResourceDefinition")
            server.put("operators", listed)

            with pytest.raises(InputError, match="an earlier install left 1 object of") as said:
                await uninstall_plan.plan(reader, replace(BOTH, delete_crds=False,
                                                          delete_operands=False))  # fmt: skip
            assert "the Operator cache.apps" in said.value.message
            assert said.value.hint == "`--delete-crds --delete-operands` removes that too"

            refs = [{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
                     "name": "left"}]  # fmt: skip
            server.put("operators", listed | {"status": {"components": {"refs": refs}}})
            plan = await uninstall_plan.plan(reader, BOTH)
            names = [one["metadata"]["name"] for one in plan.all]
            assert names == ["mine", "left", "caches.example.com", "cache.apps"]

    run(scenario)


def test_crds_are_also_found_by_the_annotation_of_the_install() -> None:
    async def scenario() -> None:
        async with cluster() as (reader, server, _):
            for namespace, count in (("apps", 1), ("other", 0)):
                crd = crd_of_caches()
                note = "operatorframework.io/installed-alongside-0a"
                crd["metadata"] |= {"labels": {},
                                    "annotations": {note: f"{namespace}/cache.v1.0.0"}}  # fmt: skip
                server.put("customresourcedefinitions", crd)
                if count:
                    plan = await uninstall_plan.plan(reader, BOTH)
                    assert [one["kind"] for one in plan.all] == ["CustomResourceDefinition"]
                else:
                    with pytest.raises(InputError, match="nothing requests"):
                        await uninstall_plan.plan(reader, BOTH)

    run(scenario)


def test_a_crd_that_another_operator_needs_is_kept() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            server.put("customresourcedefinitions", crd_of_caches())
            server.put("caches", new_cache())
            for side in ("owned", "required"):
                names = {side: [{"name": "caches.example.com"}]}
                other = new_object("ClusterServiceVersion", "other.v1", "elsewhere",
                             spec={"customresourcedefinitions": names})  # fmt: skip
                server.put("clusterserviceversions", other)
                plan = await uninstall_plan.plan(reader, BOTH)

                assert not {"Cache", "CustomResourceDefinition"} & {one["kind"] for one in plan.all}
                (words,) = plan.stays
                assert words == (
                    "the CRD caches.example.com with its objects: "
                    "ClusterServiceVersion elsewhere/other.v1 needs it"
                )

    run(scenario)


def test_finalizers_that_no_operator_removes_are_named_and_removed_on_request() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            server.put("customresourcedefinitions", crd_of_caches())
            server.put("caches", new_cache(finalizers=["example.com/cleanup"]))
            short = replace(QUICK, seconds=0.3)
            plan = await uninstall_plan.plan(reader, BOTH)
            done = await uninstall.carry_out(reader, plan, report=[].append, timeouts=short)
            assert "removes the finalizer `example.com/cleanup`; `--remove-finalizers`" in done.hint

            plan = await uninstall_plan.plan(reader, replace(BOTH, remove_finalizers=True))
            said: list[str] = []
            await uninstall.carry_out(reader, plan, report=said.append, timeouts=QUICK)
            assert "removing example.com/cleanup of Cache apps/mine" in said
            (held,) = server.all("caches")
            assert held["metadata"]["finalizers"] == [
                "foregroundDeletion"
            ]  # Kubernetes' own finalizer

    run(scenario)


def test_uninstall_reports_why_the_operator_does_not_remove_its_finalizer() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader)
            server.put("customresourcedefinitions", crd_of_caches())
            server.put("caches", new_cache(finalizers=["example.com/cleanup"]))
            (csv,) = server.all("clusterserviceversions")
            failed = {"phase": "Failed", "reason": "ComponentUnhealthy", "message": "no pod runs"}
            server.put("clusterserviceversions", {**csv, "status": failed})
            short = replace(QUICK, seconds=0.3)
            plan = await uninstall_plan.plan(reader, BOTH)
            done = await uninstall.carry_out(reader, plan, report=[].append, timeouts=short)
            who, why, instead = done.hint.split("; ")
            assert who.endswith("waits until the operator removes the finalizer "
                                "`example.com/cleanup`")  # fmt: skip
            assert why.startswith("the operator is not ready: ")
            assert "no pod runs" in why
            assert instead == "`--remove-finalizers` does it instead"

    run(scenario)


def test_the_lease_of_the_operators_pods_is_removed_with_it() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            deployments = [{"name": "cache-manager"}]
            olm.csv_spec = {"install": {"spec": {"deployments": deployments}}}
            await installed(reader)
            for name, holder in (
                ("ours", "cache-manager-7f5d847cdf-2gmb2_1b6c"),
                ("other", "cache-manager-two-7f5d847cdf-2gmb2_1b6c"),
                ("strange", "cache-manager"),
            ):
                server.put("leases", {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                                      "metadata": {"name": name, "namespace": "apps"},
                                      "spec": {"holderIdentity": holder}})  # fmt: skip

            plan = await uninstall_plan.plan(reader, UninstallOptions(namespace="apps",
                                                                      package="cache"))  # fmt: skip

            assert [one["metadata"]["name"] for one in plan.leftovers] == ["ours"]

    run(scenario)


@pytest.mark.parametrize("phase", ["Pending", "Succeeded"])
def test_a_failed_upgrade_is_retried(phase: str) -> None:
    """An operator can run although its InstallPlan failed at another object."""

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            await installed(reader)
            options = UpgradeOptions(namespace="apps", package="cache", retry=True)

            async def upgraded() -> Any:
                return await upgrade.upgrade(
                    reader, options, Access(), announce=[].append, report=[].append,
                    timeouts=QUICK,
                )  # fmt: skip

            with pytest.raises(InputError, match="nothing to retry"):
                await upgraded()
            server.put("installplans", new_object("InstallPlan", "install-cache.v2.0.0",
                       spec={"clusterServiceVersionNames": ["cache.v2.0.0"], "approved": True},
                       status={"phase": "Failed"}))  # fmt: skip
            server.put("clusterserviceversions", new_object("ClusterServiceVersion", "cache.v2.0.0",
                       spec={"replaces": "cache.v1.0.0"}, status={"phase": phase}))  # fmt: skip
            one = server.get("subscriptions", "cache", "apps")
            assert one is not None
            failed = {"currentCSV": "cache.v2.0.0", "installedCSV": "cache.v2.0.0",
                      "installPlanRef": {"name": "install-cache.v2.0.0"}}  # fmt: skip
            olm.versions.append("2.0.0")
            server.put("subscriptions", one | {"status": one["status"] | failed})
            plan = server.get("installplans", "install-cache.v2.0.0", "apps")
            assert plan is not None
            server.put("installplans", plan | {"status": {"phase": "Installing"}})
            writes = len(server.writes())
            with pytest.raises(InputError, match="has not failed: OLM still tries it") as early:
                await upgraded()
            assert early.value.hint.startswith("correct the cause, and OLM continues by itself")
            assert len(server.writes()) == writes
            server.put("installplans", plan)

            done = await upgraded()

            assert (done.before, done.hops) == ("cache.v1.0.0", ("cache.v2.0.0",))
            assert done.explanation.is_ready
            assert [one["metadata"]["name"] for one in server.all("clusterserviceversions")] == [
                "cache.v2.0.0"
            ]

    run(scenario)


def test_a_refused_upgrade_explains_that_olm_does_not_wait_for_olmkit() -> None:
    refused = InputError("it does not fit", hint="change the OperatorGroup")
    automatic = new_object("Subscription", "cache", spec={"installPlanApproval": "Automatic"})
    for subscription in (automatic, new_object("Subscription", "cache", spec={})):
        found = upgrade_plan.as_olm_approves(refused, subscription)
        assert found.message == refused.message
        first, warning = found.hint.split("; ")
        assert first == refused.hint
        assert "`kubectl patch subscription cache -n apps " in warning

    manual = new_object("Subscription", "cache", spec={"installPlanApproval": "Manual"})
    assert upgrade_plan.as_olm_approves(refused, manual) is refused


def test_a_bundle_that_the_cluster_would_refuse_is_refused_before_its_plan_is_approved() -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            await installed(reader, manual=True)
            csv = new_object("ClusterServiceVersion", "cache.v2.0.0", spec={"installModes": []})
            resource = {"kind": "ClusterServiceVersion", "name": "cache.v2.0.0",
                        "manifest": json.dumps(csv)}  # fmt: skip
            plan = new_object("InstallPlan", "install-cache.v2.0.0",
                        spec={"clusterServiceVersionNames": ["cache.v2.0.0"], "approved": False},
                        status={"phase": "RequiresApproval",
                                "plan": [{"resource": resource}]})  # fmt: skip
            server.put("installplans", plan)
            olm.versions.append("2.0.0")

            with pytest.raises(InputError, match="does not support the install mode"):
                await upgrade.upgrade(
                    reader, UpgradeOptions(namespace="apps", package="cache"), Access(),
                    announce=[].append, report=[].append, timeouts=QUICK,
                )  # fmt: skip

            waiting = server.get("installplans", "install-cache.v2.0.0", "apps")
            assert waiting is not None
            assert waiting["spec"]["approved"] is False
            assert server.get("clusterserviceversions", "cache.v1.0.0", "apps")

    run(scenario)


@dataclass(frozen=True, kw_only=True)
class UnfitVersion:
    """A version that the cluster does not accept: its CSV, its other objects, and the refusal.

    `unresolved` is the refusal if OLM cannot even choose the version.
    """

    words: str
    spec: Manifest = field(default_factory=dict)
    also: tuple[Manifest, ...] = ()
    needs: tuple[Manifest, ...] = ()
    unresolved: str = ""

    @property
    def csv(self) -> Manifest:
        return new_object("ClusterServiceVersion", "cache.v2.0.0", spec={
            "replaces": "cache.v1.0.0", "version": "2.0.0",
            "installModes": [{"type": "OwnNamespace", "supported": True}], **self.spec,
        })  # fmt: skip

    @property
    def manifests(self) -> list[Manifest]:
        return [self.csv, *self.also]


UNFIT = {
    "dependencies": UnfitVersion(
        spec={"customresourcedefinitions": {
            "required": [{"name": "dbs.example.org", "version": "v1", "kind": "Db"}]}},
        needs=({"type": "olm.gvk.required",
                "value": {"group": "example.org", "version": "v1", "kind": "Db"}},),
        words="needs the CustomResourceDefinition `dbs.example.org`, which the cluster does not "
        "have",
        unresolved="needs the API `Db` (`example.org/v1`), which no catalog offers",
    ),
    "permissions": UnfitVersion(
        spec={"install": {"spec": {"clusterPermissions": [{
            "serviceAccountName": "cache",
            "rules": [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}],
        }]}}},
        words="the OperatorGroup's service account `apps/weak` may not get secrets in the whole "
        "cluster",
    ),
    "minKubeVersion": UnfitVersion(
        spec={"minKubeVersion": "1.99.0"},
        words="`cache.v2.0.0` needs Kubernetes 1.99.0, and the cluster has 1.36.2",
    ),
    "removed APIs": UnfitVersion(
        also=({"apiVersion": "policy/v1beta1", "kind": "PodSecurityPolicy",
               "metadata": {"name": "cache"}},),
        words="the bundle contains the PodSecurityPolicy `cache` of `policy/v1beta1`, which "
        "Kubernetes 1.25 removed",
    ),
}  # fmt: skip


def _refuse_secrets(spec: Mapping[str, Any]) -> bool:
    """Decide an access review: Secrets are forbidden, and roles with more than its own rights."""
    asked = spec["resourceAttributes"]
    return asked["resource"] != "secrets" and asked["verb"] != "escalate"


async def _installed_with_account(reader: ClusterObjects, server: ApiServer) -> None:
    """Install the first version with manual approval, as a service account without Secrets."""

    async def version(_: Any) -> web.Response:
        return web.json_response({"gitVersion": "v1.36.2+k3s1"})

    server.handlers["/version"] = version
    server.allows = _refuse_secrets
    spec = {"targetNamespaces": ["apps"], "serviceAccountName": "weak"}
    server.put("operatorgroups", new_object("OperatorGroup", "own", spec=spec))
    await installed(reader, manual=True)


async def _assert_refused(
    reader: ClusterObjects, server: ApiServer, words: str, **options: str
) -> InputError:
    """Assert that an upgrade is refused with this message, and that it changes nothing."""
    objects_of = [
        (kind, list(server.all(kind)))
        for kind in ("subscriptions", "installplans", "clusterserviceversions", "catalogsources")
    ]
    before = json.dumps(objects_of, sort_keys=True)
    done = len(server.writes())

    package = "" if "bundle" in options else "cache"
    asked = UpgradeOptions(namespace="apps", package=package, **options)  # type: ignore[arg-type]
    work = (
        upgrade.upgrade(
            reader, asked, Access(), announce=[].append, report=[].append, timeouts=QUICK
        )
        if package
        else upgrade.plan_bundle(reader, asked, Access())
    )
    with pytest.raises(InputError) as refused:
        await work

    assert words in refused.value.message
    writes = {path for _, path in server.writes()[done:]}
    assert writes <= {"/apis/authorization.k8s.io/v1/subjectaccessreviews"}
    after = [(kind, list(server.all(kind))) for kind, _ in objects_of]
    assert json.dumps(after, sort_keys=True) == before
    assert server.get("clusterserviceversions", "cache.v1.0.0", "apps")
    return refused.value


@pytest.mark.parametrize("unfit", UNFIT.values(), ids=UNFIT)
def test_an_upgrade_to_an_unfit_version_is_refused_before_its_plan_is_approved(
    unfit: UnfitVersion,
) -> None:
    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, olm):
            await _installed_with_account(reader, server)
            steps = [
                {"resource": {"kind": one["kind"], "name": one["metadata"]["name"],
                              "manifest": json.dumps(one)}}
                for one in unfit.manifests
            ]  # fmt: skip
            server.put("installplans", new_object("InstallPlan", "install-cache.v2.0.0",
                       spec={"clusterServiceVersionNames": ["cache.v2.0.0"], "approved": False},
                       status={"phase": "RequiresApproval", "plan": steps}))  # fmt: skip
            olm.versions.append("2.0.0")
            olm.look()

            await _assert_refused(reader, server, unfit.words)

            waiting = server.get("installplans", "install-cache.v2.0.0", "apps")
            assert waiting is not None
            assert waiting["spec"]["approved"] is False

    run(scenario)


def _two_versions(*needs: Manifest) -> list[str]:
    """Return the lines of a catalog; the second version has these further properties."""
    blobs: list[Manifest] = [
        {"schema": "olm.package", "name": "cache", "defaultChannel": "c"},
        {"schema": "olm.channel", "name": "c", "package": "cache", "entries": [
            {"name": "cache.v1.0.0"}, {"name": "cache.v2.0.0", "replaces": "cache.v1.0.0"}]},
    ]  # fmt: skip
    for version, requirements in (("1.0.0", ()), ("2.0.0", needs)):
        own = {"type": "olm.package", "value": {"packageName": "cache", "version": version}}
        bundle = {"name": f"cache.v{version}", "package": "cache", "image": f"r/cache:{version}"}
        blobs.append({"schema": "olm.bundle", **bundle, "properties": [own, *requirements]})
    return [json.dumps(one) for one in blobs]


@pytest.mark.parametrize("approval", ["Manual", "Automatic"])
def test_the_plan_of_an_upgrade_names_what_could_not_be_checked(
    monkeypatch: pytest.MonkeyPatch, approval: str
) -> None:
    async def planned(reader: ClusterObjects) -> tuple[str, ...]:
        options = UpgradeOptions(namespace="apps", package="cache")
        return (await upgrade_plan.plan(reader, options, Access())).notes

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await installed(reader, manual=approval == "Manual")
            source = server.get("catalogsources", "shelf", "apps")
            assert source is not None
            server.put("catalogsources", source | {"spec": {"image": "r.example/shelf:1"}})
            monkeypatch.setattr(cluster_bundle, "read_catalog", _denied)
            (note,) = await planned(reader)
            unchecked = "; approval is automatic, so OLM installs them unchecked"
            assert note == (
                "the catalog cannot be read from here, so later hops are not known: denied"
                f"{unchecked if approval == 'Automatic' else ''}"
            )

            _offer(monkeypatch, _two_versions())
            (note,) = await planned(reader)
            assert note == (
                "the bundle `r/cache:2.0.0` cannot be read from here: denied, so conflicts of "
                "`cache.v2.0.0` with the cluster cannot be checked in advance"
            )

    run(scenario)


@pytest.mark.parametrize("approval", ["Manual", "Automatic"])
@pytest.mark.parametrize("unfit", UNFIT.values(), ids=UNFIT)
def test_an_upgrade_to_an_unfit_version_of_the_catalog_is_refused_before_olm_chooses_it(
    monkeypatch: pytest.MonkeyPatch, unfit: UnfitVersion, approval: str
) -> None:
    _offer(monkeypatch, _two_versions(*unfit.needs))

    async def read_bundle(*_: Any) -> NamedBundle:
        return NamedBundle(rendered=cast("Any", None), channel="c", preview=preview_csv(unfit.csv),
                           manifests=tuple(unfit.manifests))  # fmt: skip

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await _installed_with_account(reader, server)
            one = server.get("subscriptions", "cache", "apps")
            source = server.get("catalogsources", "shelf", "apps")
            assert one is not None
            assert source is not None
            spec = one["spec"] | {"installPlanApproval": approval}
            server.put("subscriptions", one | {"spec": spec})
            server.put("catalogsources", source | {"spec": {"image": "r.example/shelf:1"}})
            monkeypatch.setattr(cluster_bundle, "read_bundle", read_bundle)

            words = unfit.unresolved or unfit.words
            refused = await _assert_refused(reader, server, words)

            # OLM would not choose a version that it cannot resolve.
            is_urgent = approval == "Automatic" and not unfit.unresolved
            assert ("`kubectl patch subscription cache -n apps" in refused.hint) is is_urgent
            source["metadata"] |= {"labels": dict(install_objects.OURS)}
            server.put("catalogsources", source)
            refused = await _assert_refused(reader, server, words, catalog="r.example/shelf:2")
            assert "kubectl patch" not in refused.hint
            assert [one["metadata"]["name"] for one in server.all("installplans")] == [
                "install-cache.v1.0.0"
            ]

    run(scenario)


@pytest.mark.parametrize("unfit", UNFIT.values(), ids=UNFIT)
def test_an_upgrade_to_an_unfit_bundle_is_refused_before_its_catalog_is_created(
    tmp_path: Path, unfit: UnfitVersion
) -> None:
    key = "operators.operatorframework.io.bundle"
    notes = {f"{key}.mediatype.v1": "registry+v1", f"{key}.manifests.v1": "manifests/",
             f"{key}.metadata.v1": "metadata/", f"{key}.package.v1": "cache",
             f"{key}.channels.v1": "c"}  # fmt: skip
    (tmp_path / "manifests").mkdir()
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata/annotations.yaml").write_text(json.dumps({"annotations": notes}))
    for number, one in enumerate(unfit.manifests):
        (tmp_path / f"manifests/{number}.yaml").write_text(json.dumps(one))

    async def scenario() -> None:
        async with cluster("1.0.0") as (reader, server, _):
            await _installed_with_account(reader, server)
            # Another catalog that cannot be read might offer what is missing.
            server.remove("catalogsources", "shelf", "apps")
            words = unfit.unresolved or unfit.words
            await _assert_refused(reader, server, words, bundle=str(tmp_path))

    run(scenario)


def test_a_cluster_without_olm_is_reported() -> None:
    async def scenario() -> None:
        server = ApiServer.of([KINDS[5]])
        async with server.serving(), HttpCluster(ClusterConfig(server=server.url)) as http:
            with pytest.raises(InputError, match="OLM is not installed") as raised:
                await status.status(ClusterObjects(http))
            assert "olmkit olm install" in raised.value.hint

    run(scenario)
