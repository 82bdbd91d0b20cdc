"""The same tests on two OLMs: a double of OLM v1, and with `--e2e` the real controllers.

The double runs with the API server double and a registry on loopback: catalogs and bundles
are real images on both sides, and olmkit is called as a library. The real side is catalogd 1.11.0
and operator-controller 1.2.0. A test that passes on both compares them, down to the messages of
the conditions. Where the double differs from release 1.2.0:

- it grants a service account everything once any ClusterRoleBinding names it, and it does not
  compare a CRD with the one before it: `test_broken` and `test_refusals` try both on the real side;
- of a bundle it creates the Deployments, service accounts and CRDs, and no roles or Services;
- its API server has no schema of ClusterExtensions. What the schema refuses, olmkit refuses first;
- an image that cannot be pulled is one with `nowhere` in its name;
- it retries at once, while the controller waits longer each time.

Features that release 1.2.0 does not have are only tested on the double of
`tests/unit/jobs/cluster_v1/test_extension.py`:

- a ClusterExtension without a service account (release 1.11.0 ignores the field);
- webhooks (release 1.3.0 installs them), and the reasons `Blocked` for a range that only a later
  release reports;
- success that a test sets without a catalog, and a cluster with only OLM v1: the shared one
  has both versions.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from olmkit.base.diagnostics import InputError, OlmkitError
from olmkit.base.versions import Version
from olmkit.catalog.graph import upgrades
from olmkit.catalog.graph.upgrades import UpgradeQuery
from olmkit.edges.cluster import kubeconfig
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import wait
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v1 import install, upgrade, why
from olmkit.jobs.cluster_v1.install import ExtensionOptions
from olmkit.kube import objects
from olmkit.kube.api import Conflict, Resource
from olmkit.kube.objects import GVK, mapping
from olmkit.olm import kinds
from olmkit.olm.explain.explanation import Explanation
from olmkit.olm.resolver import v1 as resolver
from olmkit.olm.resolver.v1 import ClusterCatalog
from olmkit.olm.v1 import catalogs as cluster_catalogs
from olmkit.olm.v1 import extension as v1
from olmkit.olm.v1 import version_range
from olmkit.olm.v1.state import OWNER_LABEL
from olmkit.testing.apiserver.server import ApiServer

Manifest = dict[str, Any]
ACCESS = Access(plain_http=True)
ACCOUNT = "installer"
BINDING = ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding")
_SYSTEM = "olmv1-system"
_QUICK = Timeouts(seconds=40, interval=0.02, believed=0.2)
_PATIENT = Timeouts(seconds=180, interval=0.3, believed=3)
_KINDS = (
    (v1.GROUP, "ClusterExtension", ""),
    (v1.GROUP, "ClusterCatalog", ""),
    ("", "Namespace", ""),
    ("", "ServiceAccount", "namespaced"),
    ("", "Pod", "namespaced"),
    ("", "Event", "namespaced"),
    ("apps", "Deployment", "namespaced"),
    ("coordination.k8s.io", "Lease", "namespaced"),
    ("apiextensions.k8s.io", "CustomResourceDefinition", ""),
    ("rbac.authorization.k8s.io", "ClusterRole", ""),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", ""),
    ("rbac.authorization.k8s.io", "Role", "namespaced"),
    ("rbac.authorization.k8s.io", "RoleBinding", "namespaced"),
)


def _resource(group: str, kind: str, scope: str) -> Resource:
    return Resource(
        gvk=GVK(group=group, version="v1", kind=kind),
        plural=f"{kind.lower()}s",
        namespaced=bool(scope),
        subresources=frozenset({"status"}),
    )


@dataclass(kw_only=True)
class Double:
    """A small catalogd and operator-controller for an API server double."""

    server: ApiServer
    served: dict[str, Any] = field(default_factory=dict)  # by the name of the ClusterCatalog

    async def run(self) -> None:
        while True:
            for one in self.server.all("clustercatalogs"):
                await self._serve(one)
            for one in self.server.all("clusterextensions"):
                await self._reconcile(one)
            self._collect()
            await asyncio.sleep(0.02)

    def _collect(self) -> None:
        """Finish foreground deletions of objects without dependents."""
        if not any(one.resource.plural == "toys" for one in self.server.collections.values()):
            return
        for one in self.server.all("toys"):
            if one["metadata"].get("finalizers") == ["foregroundDeletion"]:
                self.server.remove("toys", objects.name(one), objects.namespace(one))

    def allows(self, spec: Any) -> bool:
        """Return whether a service account has the permission in a SubjectAccessReview."""
        _, _, user = str(spec.get("user")).partition("system:serviceaccount:")
        place, _, name = user.partition(":")
        return any(
            (one.get("namespace"), one.get("name")) == (place, name)
            for binding in self.server.all("clusterrolebindings")
            for one in binding["subjects"]
        )

    async def _serve(self, catalog: Manifest) -> None:
        name, seen = objects.name(catalog), catalog["metadata"].get("generation", 1)
        if kinds.status(catalog).get("observed") == seen:
            return
        image = cluster_catalogs.image(catalog)
        progress = {"type": "Progressing", "status": "True", "observedGeneration": seen}
        is_on = not cluster_catalogs.is_disabled(catalog)
        self.served.pop(name, None)
        try:
            read = (await cluster_bundle.read_catalog(image, ACCESS)) if is_on else None
        except OlmkitError as error:
            message = f"source catalog content: error creating image source: {error.message}"
            progress |= {"reason": "Retrying", "message": message}
            seen = 0
        else:
            progress |= {"reason": "Succeeded", "message": "Successfully unpacked"}
            self.served[name] = read
        serving = {"type": "Serving", "status": str(self.served.get(name) is not None)}
        base = f"https://catalogd-service.{_SYSTEM}.svc/catalogs/{name}"
        status = {"conditions": [serving, progress], "urls": {"base": base}, "observed": seen}
        if not self._is_present("clustercatalogs", catalog):
            return
        catalog["metadata"].setdefault("labels", {})[v1.CATALOG_NAME_LABEL] = name
        self.server.put("clustercatalogs", catalog | {"status": status})

        async def answer(_: web.Request) -> web.Response:
            tree = await cluster_bundle.transports.read_catalog_tree(image, ACCESS)
            return web.Response(body=b"".join(one.data for one in tree.tree.values()))

        path = f"/api/v1/namespaces/{_SYSTEM}/services/https:catalogd-service:443/proxy"
        self.server.handlers[f"{path}/catalogs/{name}/api/v1/all"] = answer

    async def _reconcile(self, one: Manifest) -> None:
        before = v1.installed_bundle(one)
        message, bundle = "desired state reached", before
        reason = "Succeeded"
        try:
            bundle = await self._applied(one, before)
        except _RefusedError as refused:
            reason, message = "Retrying", refused.message
        if not self._is_present("clusterextensions", one):
            return
        seen = {"observedGeneration": one["metadata"].get("generation", 1)}
        is_done = bool(bundle[0])
        status: Manifest = {
            "conditions": [
                {"type": "Progressing", "status": "True", "reason": reason, "message": message,
                 **seen},
                {"type": "Installed", "status": str(is_done),
                 "reason": "Succeeded" if is_done else "Failed", **seen},
            ]
        }  # fmt: skip
        if is_done:
            status["install"] = {"bundle": {"name": bundle[0], "version": bundle[1]}}
        if one.get("status") != status:
            self.server.put("clusterextensions", one | {"status": status})

    def _is_present(self, plural: str, one: Manifest) -> bool:
        """Return whether the object has not changed while something was read."""
        there = self.server.get(plural, objects.name(one), "") or {"metadata": {}}
        return bool(there["metadata"].get("resourceVersion") == one["metadata"]["resourceVersion"])

    async def _applied(self, one: Manifest, before: tuple[str, str]) -> tuple[str, str]:
        """Return name and version of the bundle whose objects exist."""
        place = str(one["spec"]["namespace"])
        account = objects.mapping(one["spec"].get("serviceAccount")).get("name")
        if self.server.get("serviceaccounts", str(account), place) is None:
            raise _RefusedError("installation cannot proceed due to missing ServiceAccount")
        chosen = self._resolved(one, before)
        version = str(chosen.version.version) if chosen.version else ""
        now = (chosen.name, version)
        try:
            found = await cluster_bundle.read_bundle(chosen.image, ACCESS)
        except OlmkitError as error:
            raise _RefusedError(f"error creating image source: {error.message}", now) from error
        _check(found.preview, now)
        if not self._is_present("clusterextensions", one):
            return before
        self._create(one, found.manifests, now)
        return now

    def _resolved(self, one: Manifest, before: tuple[str, str]) -> Any:
        request = v1.request_of(one)
        version, package = str(request.get("version") or ""), str(request["packageName"])
        read = cluster_catalogs.selected_catalogs(self.server.all("clustercatalogs"), request)
        shelves = []
        for shelf in read:
            name = objects.name(shelf)
            if self.served.get(name) is None:
                raise _RefusedError(
                    f'error walking catalogs: error getting package "{package}" from catalog '
                    f'"{name}": catalog "{name}" is not being served'
                )
            priority = cluster_catalogs.priority(shelf)
            catalog = self.served[name].catalog
            shelves.append(ClusterCatalog(name=name, priority=priority, catalog=catalog))
        query = UpgradeQuery(
            channels=request.get("channels", ()),
            range=version_range.parse(version) if version else None,
            installed=upgrades.start_of({}, before[0], Version.read(before[1]))
            if before[0] else None,
            is_free=request.get("upgradeConstraintPolicy") == "SelfCertified",
        )  # fmt: skip
        try:
            return resolver.resolve(shelves, package, query, version=version).bundle
        except InputError as error:
            raise _RefusedError(error.message) from error

    def _create(self, one: Manifest, manifests: Any, now: tuple[str, str]) -> None:
        owner, place = objects.name(one), str(one["spec"]["namespace"])
        reference = {"apiVersion": v1.API, "kind": "ClusterExtension", "name": owner,
                     "uid": one["metadata"]["uid"]}  # fmt: skip
        made = []
        for manifest in manifests:
            if objects.kind(manifest) == "CustomResourceDefinition":
                made.append(("customresourcedefinitions", manifest, ""))
            if objects.kind(manifest) == "ClusterServiceVersion":
                install = manifest["spec"]["install"]["spec"]
                for found in install.get("clusterPermissions", ()):
                    body = {"apiVersion": "v1", "kind": "ServiceAccount",
                            "metadata": {"name": found["serviceAccountName"]}}  # fmt: skip
                    made.append(("serviceaccounts", body, place))
                for found in install["deployments"]:
                    body = {"apiVersion": "apps/v1", "kind": "Deployment",
                            "metadata": {"name": found["name"]}, "spec": found["spec"]}  # fmt: skip
                    made.append(("deployments", body, place))
        for plural, body, where in made:
            there = self.server.get(plural, objects.name(body), where)
            if there is not None and objects.labels_of(there).get(OWNER_LABEL) != owner:
                raise _RefusedError(
                    f"{objects.kind(body)} '{objects.name(body)}' already exists in namespace "
                    f"'{where}' and cannot be managed by operator-controller", now
                )  # fmt: skip
        for plural, body, where in made:
            metadata = {"name": objects.name(body), "labels": {OWNER_LABEL: owner},
                        "ownerReferences": [reference]}  # fmt: skip
            if where:
                metadata["namespace"] = where
            status = self._run(body, where) if plural == "deployments" else {}
            is_crd = plural == "customresourcedefinitions"
            if is_crd and self.server.get(plural, objects.name(body), "") is None:
                self.server.install(body)
            self.server.put(plural, {**body, "metadata": metadata, "status": status})

    def _run(self, deployment: Manifest, place: str) -> Manifest:
        """The status of a Deployment, with that of the pod if it does not start."""
        template = deployment["spec"]["template"]
        containers = template["spec"]["containers"]
        images = [one["image"] for one in containers]
        lost = next((image for image in images if "nowhere" in image), "")
        name = f"{objects.name(deployment)}-pod"
        if lost:
            waiting = {"reason": "ErrImagePull", "message": "not found"}
            self.server.put("pods", {
                "apiVersion": "v1", "kind": "Pod",
                "metadata": {"name": name, "namespace": place,
                             "labels": template["metadata"]["labels"]},
                "status": {"phase": "Pending", "containerStatuses": [
                    {"name": "manager", "image": lost, "state": {"waiting": waiting}}]},
            })  # fmt: skip
        elif self.server.get("pods", name, place) is not None:
            self.server.remove("pods", name, place)
        return {"conditions": [{"type": "Available", "status": str(not lost)}],
                "observedGeneration": 9, "availableReplicas": int(not lost)}  # fmt: skip


class _RefusedError(Exception):
    """What the controller reports in `Progressing`, for a bundle if one was resolved."""

    def __init__(self, message: str, of: tuple[str, str] | None = None) -> None:
        bundle = f' for resolved bundle "{of[0]}" with version "{of[1]}"' if of else ""
        self.message = message + bundle
        super().__init__(self.message)


def _check(preview: Any, now: tuple[str, str]) -> None:
    if "AllNamespaces" not in preview.modes:
        modes = " ".join(sorted(preview.modes))
        raise _RefusedError(
            f"supported install modes [{modes}] do not support targeting all namespaces", now
        )
    if preview.webhooks:
        raise _RefusedError("webhookDefinitions are not supported", now)


@dataclass(kw_only=True)
class Stage:
    """One of the two OLMs, a shop with packages, and a namespace."""

    reader: ClusterObjects
    shop: Any
    namespace: str
    is_double: bool

    @property
    def name(self) -> str:
        return str(self.shop.name)

    @property
    def timeouts(self) -> Timeouts:
        return _QUICK if self.is_double else _PATIENT

    @property
    def patience(self) -> list[Timeouts]:
        """For failures, one after the other: a test cannot know how soon a pod fails."""
        first = 2 if self.is_double else 30
        return [replace(self.timeouts, seconds=first * times) for times in (1, 4, 16)]

    async def serve(self, *toys: Any, tag: str = "v1", name: str = "") -> str:
        """Build the toys, and wait until a ClusterCatalog of them is served; return its name."""
        return await self.show(name or self.name, await self.build(*toys, tag=tag))

    async def show(self, name: str, image: str) -> str:
        """Create a ClusterCatalog of the image, and wait until it is served."""
        request = v1.ExtensionRequest(
            package=self.name, namespace="", catalog=name, catalog_image=image, catalog_priority=0
        )
        body = v1.cluster_catalog(request)
        body["metadata"].pop("labels")
        await self.reader.create(body)
        await self.until(lambda one: kinds.condition(one, "Serving"), v1.CLUSTER_CATALOG, name)
        return name

    async def build(self, *toys: Any, tag: str = "v1") -> str:
        return str(await asyncio.to_thread(self.shop.build, *toys, tag=tag))

    async def account(self, namespace: str = "", *, bound: bool = True) -> None:
        """Create a namespace with a service account, which has all permissions if it is bound."""
        namespace = namespace or self.namespace
        place = {"namespace": namespace, "name": ACCOUNT}
        made: list[Manifest] = [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place},
        ]
        api = "rbac.authorization.k8s.io"
        role = {"apiGroup": api, "kind": "ClusterRole", "name": "cluster-admin"}
        if bound:
            made.append({"apiVersion": f"{api}/v1", "kind": "ClusterRoleBinding",
                         "metadata": {"name": f"{self.name}-{namespace}"}, "roleRef": role,
                         "subjects": [{"kind": "ServiceAccount", **place}]})  # fmt: skip
        for one in made:
            with contextlib.suppress(OlmkitError):
                await self.reader.create(one)

    def options(self, **more: Any) -> ExtensionOptions:
        more = {"package": self.name, "namespace": self.namespace,
                "service_account": ACCOUNT} | more  # fmt: skip
        return ExtensionOptions(**more)

    async def install(self, **more: Any) -> Explanation:
        made = await install.plan(self.reader, self.options(**more), ACCESS)
        timeouts = self.timeouts
        return await install.carry_out(
            self.reader, made, report=[].append, timeouts=timeouts, created=[]
        )

    async def upgrade(self, version: str = "", timeouts: Timeouts | None = None) -> Explanation:
        made = await upgrade.plan(self.reader, self.name, version, ACCESS)
        timeouts = timeouts or self.timeouts
        return await upgrade.carry_out(self.reader, made, report=[].append, timeouts=timeouts)

    async def why(self, name: str = "") -> Explanation:
        return await why.why(self.reader, name or self.name)

    def wanted(self, name: str = "", place: str = "", **catalog: Any) -> Manifest:
        """Return a ClusterExtension as a user writes it, including what `install` would refuse."""
        selector = {"matchLabels": {v1.CATALOG_NAME_LABEL: self.name}}
        request = {"packageName": self.name, "selector": selector, **catalog}
        return {
            "apiVersion": v1.API,
            "kind": "ClusterExtension",
            "metadata": {"name": name or self.name},
            "spec": {
                "namespace": place or self.namespace,
                "serviceAccount": {"name": ACCOUNT},
                "source": {"sourceType": "Catalog", "catalog": request},
            },
        }

    async def apply(self, name: str = "", place: str = "", **catalog: Any) -> None:
        """Write it, whether it exists or not; retry if the controller wrote in between."""
        made = self.wanted(name, place, **catalog)
        resource = await self.reader.cluster.resource(*v1.CLUSTER_EXTENSION)
        for _ in range(20):
            there = await self.reader.find(v1.CLUSTER_EXTENSION, objects.name(made))
            if there is None:
                await self.reader.create(made)
                return
            made["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
            with contextlib.suppress(Conflict):
                await self.reader.cluster.replace(resource, made)
                return
        raise AssertionError(f"`{objects.name(made)}` changes all the time")

    async def reports(self, reason: str, message: str, name: str = "") -> None:
        """Wait until `Progressing` has that reason and message for the current generation.

        A message that begins with `…` only needs to have this end.
        """
        seen: tuple[Any, ...] = ()

        def is_so(one: Manifest) -> bool:
            nonlocal seen
            condition = mapping(kinds.any_condition(one, "Progressing"))
            seen = (condition.get("reason"), str(condition.get("message")))
            is_present = condition.get("observedGeneration") == one["metadata"]["generation"]
            is_said = seen[1] == message or (
                message.startswith("…") and seen[1].endswith(message.removeprefix("…"))
            )
            return is_present and seen[0] == reason and is_said

        with contextlib.suppress(TimeoutError):
            await self.until(is_so, v1.CLUSTER_EXTENSION, name or self.name)
            return
        assert seen == (reason, message)

    async def remove(self, kind: tuple[str, str], name: str = "") -> None:
        """Delete an object of the cluster, and wait until it is gone."""
        name = name or self.name
        await self.reader.delete(await self.reader.find(kind, name))
        gone = [{"apiVersion": kind[0], "kind": kind[1], "metadata": {"name": name}}]
        left = await wait.wait_until_deleted(
            self.reader, gone, report=wait.silent, timeouts=self.timeouts
        )
        assert not left

    async def until(self, holds: Callable[[Manifest], Any], *which: Any) -> Manifest:
        """Return the object as soon as the condition is true."""
        async with asyncio.timeout(self.timeouts.seconds):
            while True:
                found = await self.reader.find(*which)
                if found is not None and holds(found):
                    return found
                await asyncio.sleep(self.timeouts.interval)

    async def until_gone(self, kind: tuple[str, str], name: str) -> None:
        """Wait until its finalizers are done."""
        async with asyncio.timeout(self.timeouts.seconds):
            while await self.reader.find(kind, name):  # noqa: ASYNC110
                await asyncio.sleep(self.timeouts.interval)

    async def written(self) -> str:
        """Return all that olmkit writes for this package, to compare it with a later state."""
        found = [
            (objects.kind(one), objects.name(one), one.get("spec"))
            for kind in (v1.CLUSTER_EXTENSION, v1.CLUSTER_CATALOG, kinds.NAMESPACE)
            for one in await self.reader.list(kind)
            if self.name in objects.name(one) or self.namespace in objects.name(one)
        ]
        return json.dumps(found)


@dataclass(kw_only=True)
class Place:
    """The cluster of a Shop: the address of its registry."""

    registry: str


@asynccontextmanager
async def _double_stage(registry: str, shop: Any) -> AsyncIterator[Stage]:
    server = ApiServer.of(_resource(*kind) for kind in _KINDS)
    server.collects_garbage = True
    double = Double(server=server)
    server.allows = double.allows
    server.put("namespaces", {"apiVersion": "v1", "kind": "Namespace",
                              "metadata": {"name": _SYSTEM}})  # fmt: skip
    schema = {"properties": {"spec": {"required": ["serviceAccount"]}}}
    server.put("customresourcedefinitions", {
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": v1.CRD_NAME},
        "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]},
    })  # fmt: skip
    container = {"name": "manager", "image": f"{registry}/operator-controller:v1.2.0"}
    server.put("deployments", {
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "operator-controller-controller-manager", "namespace": _SYSTEM},
        "spec": {"replicas": 1, "template": {"spec": {"containers": [container]}}},
        "status": {"conditions": [{"type": "Available", "status": "True"}],
                   "observedGeneration": 9, "availableReplicas": 1},
    })  # fmt: skip
    async with asyncio.timeout(60), server.serving():
        working = asyncio.ensure_future(double.run())
        try:
            async with HttpCluster(ClusterConfig(server=server.url)) as http:
                yield Stage(reader=ClusterObjects(http), shop=shop, namespace="apps",
                            is_double=True)  # fmt: skip
            if working.done():
                working.result()
        finally:
            working.cancel()


@asynccontextmanager
async def _real_stage(cluster: Any, shop: Any) -> AsyncIterator[Stage]:
    config = kubeconfig.load(paths=[cluster.kubeconfig], context="")
    namespace = f"t-{uuid.uuid4().hex[:6]}"
    async with HttpCluster(config) as http:
        reader = ClusterObjects(http)
        stage = Stage(reader=reader, shop=shop, namespace=namespace, is_double=False)
        try:
            yield stage
        finally:
            for kind in (v1.CLUSTER_EXTENSION, v1.CLUSTER_CATALOG, kinds.CRD, BINDING):
                for one in await reader.list(kind):
                    is_ours = shop.name in objects.name(one)
                    if is_ours and "deletionTimestamp" not in one["metadata"]:
                        await reader.delete(one)
            for one in await reader.list(kinds.NAMESPACE):
                if objects.name(one).startswith(namespace):
                    await reader.delete(one)


Scenario = Callable[[Stage], Awaitable[None]]


@pytest.fixture(params=["double", pytest.param("real", marks=pytest.mark.e2e)])
def on_either_side(
    request: pytest.FixtureRequest, shop_of: Callable[..., Any], tmp_path: Path
) -> Callable[[Scenario], None]:
    """Run a coroutine with one of the two."""
    is_double = request.param == "double"

    async def whole(scenario: Scenario) -> None:
        if is_double:
            registry = request.getfixturevalue("registry").host
            shop = shop_of(Place(registry=registry), tmp_path)
            stage = _double_stage(registry, shop)
        else:
            cluster = request.getfixturevalue("olm_v1")
            stage = _real_stage(cluster, shop_of(cluster, tmp_path))
        async with stage as ready:
            await scenario(ready)

    return lambda scenario: asyncio.run(whole(scenario))
