"""OLM v1's ClusterExtensions, with a small API server and a small controller.

The tests that also pass on the real controllers are in `tests/e2e/cluster/v1/contract`, with a
fuller double; its `conftest` lists the differences. The controller here differs more, so that a
test can set up states that no release of OLM v1 reports at once:

- no service account is required, as in release 1.11.0, whose controller ignores the field; the
  CRD of release 1.2.0 requires it. `test_older_releases_require_a_service_account` sets that up;
- it reports success without a catalog, an image of a bundle or a Deployment, which no release
  does: the tests set up what exists;
- it reports `Blocked` for a range, which the API server refuses first when the CRD is the
  real one, in both releases.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.edges.cluster.client import HttpCluster
from olmkit.edges.cluster.kubeconfig import ClusterConfig
from olmkit.edges.cluster.objects import ClusterObjects
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.catalog import cluster_catalog
from olmkit.jobs.cluster import read as cluster_read
from olmkit.jobs.cluster import status
from olmkit.jobs.cluster.operator_removal import NothingToRemoveError
from olmkit.jobs.cluster.wait import Timeouts
from olmkit.jobs.cluster_v0 import upgrade_plan
from olmkit.jobs.cluster_v1 import extension_choice, install, uninstall, upgrade, why
from olmkit.jobs.cluster_v1.extension_choice import ExtensionChoice, NotOfferedError
from olmkit.jobs.cluster_v1.install import ExtensionOptions
from olmkit.kube.api import ClusterError, Forbidden, Resource
from olmkit.kube.objects import GVK
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.v1.state import OWNER_LABEL
from olmkit.testing.apiserver.server import ApiServer

GROUP = "olm.operatorframework.io"
QUICK = Timeouts(seconds=5, interval=0.02, believed=0.1)


def resource(group: str, kind: str, plural: str, *, namespaced: bool = False) -> Resource:
    gvk = GVK(group=group, version="v1", kind=kind)
    return Resource(
        gvk=gvk, plural=plural, namespaced=namespaced, subresources=frozenset({"status"})
    )


KINDS = (
    resource(GROUP, "ClusterExtension", "clusterextensions"),
    resource(GROUP, "ClusterCatalog", "clustercatalogs"),
    resource("", "Namespace", "namespaces"),
    resource("apiextensions.k8s.io", "CustomResourceDefinition", "customresourcedefinitions"),
    resource("apps", "Deployment", "deployments", namespaced=True),
    resource("", "Pod", "pods", namespaced=True),
    resource("coordination.k8s.io", "Lease", "leases", namespaced=True),
    resource("", "ServiceAccount", "serviceaccounts", namespaced=True),
    resource("", "Event", "events", namespaced=True),
    resource("example.com", "Toy", "toys", namespaced=True),
)

Scenario = Callable[[ClusterObjects, ApiServer, dict[str, str]], Awaitable[None]]


V0 = tuple(
    Resource(
        gvk=GVK(group="operators.coreos.com", version="v1alpha1", kind=kind),
        plural=plural,
        namespaced=True,
        subresources=frozenset(),
    )
    for kind, plural in (("Subscription", "subscriptions"), ("CatalogSource", "catalogsources"))
)


def run(scenario: Scenario, *more: Resource) -> None:
    """`says` is the controller's answer: `reason` and `message`; success without them."""

    async def whole() -> None:
        server = ApiServer.of((*KINDS, *more))
        server.collects_garbage = True
        server.put("clustercatalogs", {
            "apiVersion": f"{GROUP}/v1", "kind": "ClusterCatalog", "metadata": {"name": "shelf"},
        })  # fmt: skip
        says: dict[str, str] = {}

        async def controller() -> None:
            while True:
                for one in server.all("clusterextensions"):
                    _act(server, one, says)
                for one in server.all("toys"):  # as the garbage collector does
                    if one["metadata"].get("finalizers") == ["foregroundDeletion"]:
                        server.remove("toys", one["metadata"]["name"], "apps")
                await asyncio.sleep(0.01)

        async with asyncio.timeout(30), server.serving():
            working = asyncio.ensure_future(controller())
            try:
                async with HttpCluster(ClusterConfig(server=server.url)) as http:
                    await scenario(ClusterObjects(http), server, says)
            finally:
                working.cancel()

    asyncio.run(whole())


def _act(server: ApiServer, one: dict[str, Any], says: dict[str, str]) -> None:
    reason = says.get("reason", "Succeeded")
    seen = {"observedGeneration": one["metadata"].get("generation", 1)}
    done = reason == "Succeeded"
    status: dict[str, Any] = {
        "conditions": [
            {"type": "Progressing", "status": "True", "reason": reason,
             "message": says.get("message", ""), **seen},
            {"type": "Installed", "status": str(done), "reason": reason, **seen},
        ]
    }  # fmt: skip
    if done:
        status["install"] = {"bundle": {"name": "cache.v1", "version": "1.0.0"}}
    if one.get("status") != status:
        server.put("clusterextensions", one | {"status": status})


OPTIONS = ExtensionOptions(package="cache", namespace="apps", version="1.x")


async def installed(reader: ClusterObjects, options: ExtensionOptions = OPTIONS) -> Any:
    made = await install.plan(reader, options, Access())
    return await install.carry_out(reader, made, report=[].append, timeouts=QUICK, created=[])


def test_an_extension_is_created_waited_for_changed_and_removed() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        assert (await installed(reader)).is_ready
        assert server.get("namespaces", "apps", "")
        with pytest.raises(InputError, match="already") as refused:
            await installed(reader)
        assert refused.value.cause == "already-installed"
        assert refused.value.hint.startswith("run `olmkit upgrade cache --olm v1` to wait")
        for version, channel, words in (
            ("2.0.0", "", "--to 2.0.0"),
            (">=2 <3", "fast,b c", "--to '>=2 <3' --channel 'fast,b c'"),
        ):
            with pytest.raises(InputError, match="already") as refused:
                await installed(reader, replace(OPTIONS, version=version, channel=channel))
            command = f"olmkit upgrade cache --olm v1 {words}"
            assert refused.value.hint == f"to change its version, run `{command}`"
        assert (await why.why(reader, "cache")).version == "1.0.0"

        writes = len(server.writes())
        made = await upgrade.plan(reader, "cache", "2.x", Access())
        assert made.before == "cache.v1"
        assert made.desired["spec"]["source"]["catalog"]["version"] == "2.x"
        assert [verb for verb, _ in server.writes()[writes:]] == ["PATCH"]  # checked, not written
        unchanged = server.get("clusterextensions", "cache", "")
        assert unchanged is not None
        assert unchanged["spec"]["source"]["catalog"]["version"] == "1.x"
        assert made.offer.notes[0] == "the requested range changes from `1.x` to `2.x`"
        found = await upgrade.carry_out(reader, made, report=[].append, timeouts=QUICK)
        assert found.is_ready
        there = server.get("clusterextensions", "cache", "")
        assert there is not None
        assert there["spec"]["source"]["catalog"]["version"] == "2.x"

        gone = await uninstall.plan(reader, "cache", delete_operands=False)
        done = await uninstall.carry_out(reader, gone, report=[].append, timeouts=QUICK)
        assert (done.gone, done.left) == (gone.all, ())
        assert server.all("clusterextensions") == []

    run(scenario)


def _deployment(server: ApiServer, *, available: bool) -> None:
    server.put("deployments", {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "cache", "namespace": "apps", "labels": {OWNER_LABEL: "cache"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "cache"}}},
        "status": {"conditions": [{"type": "Available", "status": str(available)}],
                   "observedGeneration": 9, "availableReplicas": int(available)},
    })  # fmt: skip


def test_an_installed_extension_is_not_ready_before_the_deployments_are_available() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        _deployment(server, available=False)
        server.put("pods", {
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "cache-1", "namespace": "apps", "labels": {"app": "cache"}},
            "status": {"phase": "Pending", "containerStatuses": [
                {"name": "manager", "image": "cache:1",
                 "state": {"waiting": {"reason": "ErrImagePull", "message": "not found"}}}]},
        })  # fmt: skip
        quick = Timeouts(seconds=0.5, interval=0.02, believed=0.1)
        made = await install.plan(reader, OPTIONS, Access())
        found = await install.carry_out(reader, made, report=[].append, timeouts=quick, created=[])

        assert (found.cause, found.is_ready) == ("image-cannot-be-pulled", False)
        assert (await why.why(reader, "cache")).cause == "image-cannot-be-pulled"
        (row,) = (await status.status(reader)).operators
        assert row.explanation.cause == "image-cannot-be-pulled"
        _deployment(server, available=True)
        assert (await why.why(reader, "cache")).is_ready

    run(scenario)


def test_an_upgrade_waits_for_the_expected_bundle() -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer, __: dict[str, str]) -> None:
        await installed(reader)
        made = await upgrade.plan(reader, "cache", "", Access())
        expected = replace(made, offer=ExtensionChoice(csv="cache.v2"))
        quick = Timeouts(seconds=0.3, interval=0.02, believed=0.1)
        found = await upgrade.carry_out(reader, expected, report=[].append, timeouts=quick)

        assert (found.cause, found.readiness) == ("waiting", Readiness.WAITING)
        assert "installed `cache.v1` and not yet `cache.v2`" in found.message

    run(scenario)


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "toys.example.com", "labels": {OWNER_LABEL: "cache"}},
    "spec": {"group": "example.com", "names": {"kind": "Toy", "plural": "toys"},
             "versions": [{"name": "v1", "served": True}]},
}  # fmt: skip


def _toy(server: ApiServer, *finalizers: str) -> None:
    metadata = {"name": "a", "namespace": "apps", "finalizers": list(finalizers)}
    server.put("toys", {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": metadata})


def test_the_lease_of_the_operator_is_removed_last() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        _deployment(server, available=True)
        for name, holder in (("own", "cache-6848fb47f7-xdsmr_1"), ("other", "queue-1-abcde")):
            server.put("leases", {
                "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": name, "namespace": "apps"}, "spec": {"holderIdentity": holder},
            })  # fmt: skip
        made = await uninstall.plan(reader, "cache", delete_operands=False)
        assert [one["metadata"]["name"] for one in made.all] == ["cache", "cache", "own"]
        assert "kubectl delete namespace apps" in made.stays[0]
        server.put("namespaces", {"metadata": {"name": "apps"}})  # created by another tool
        assert (await uninstall.plan(reader, "cache", delete_operands=False)).stays == ()

    run(scenario)


def test_objects_for_one_extension_stay_when_another_of_its_package_is_removed() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        second = {"metadata": {"name": "second"}, "spec": {"namespace": "apps", "source": {
            "catalog": {"packageName": "cache"}}}}  # fmt: skip
        server.put("clusterextensions", {"apiVersion": f"{GROUP}/v1",
                                         "kind": "ClusterExtension", **second})  # fmt: skip
        for owner in ("cache", "second"):
            labels = {"app.kubernetes.io/managed-by": "olmkit", "app.kubernetes.io/part-of": owner}
            server.put("serviceaccounts", {"apiVersion": "v1", "kind": "ServiceAccount", "metadata":
                       {"name": f"{owner}-a", "namespace": "apps", "labels": labels}})  # fmt: skip
            server.put("clustercatalogs", {"apiVersion": f"{GROUP}/v1", "kind": "ClusterCatalog",
                       "metadata": {"name": f"{owner}-c", "labels": labels}})  # fmt: skip
        for owner in ("cache", "second"):
            made = await uninstall.plan(reader, owner, delete_operands=False)
            names = [one["metadata"]["name"] for one in made.ours]
            assert names == [f"{owner}-c", f"{owner}-a"]
        rows = (await status.status(reader, package="cache")).operators
        assert [(row.name, row.package) for row in rows] == [("cache", "cache"),
                                                             ("second", "cache")]  # fmt: skip

    run(scenario)


def test_custom_resources_are_removed_first_and_only_on_request() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        server.put("customresourcedefinitions", CRD)
        _toy(server)
        made = await uninstall.plan(reader, "cache", delete_operands=False)
        with pytest.raises(InputError, match="1 object of them exists") as refused:
            uninstall.require_complete(made)
        assert refused.value.cause == "operands-exist"

        made = await uninstall.plan(reader, "cache", delete_operands=True)
        uninstall.require_complete(made)
        assert [one["kind"] for one in made.all] == [
            "Toy", "ClusterExtension", "CustomResourceDefinition",
        ]  # fmt: skip
        said: list[str] = []
        quick = Timeouts(seconds=0.2, interval=0.02)
        done = await uninstall.carry_out(reader, made, report=said.append, timeouts=quick)
        # No garbage collector runs here, so the CRD stays, and that is reported.
        assert [one["kind"] for one in done.gone] == ["Toy", "ClusterExtension"]
        assert [one["kind"] for one in done.left] == ["CustomResourceDefinition"]
        assert said[:2] == ["deleting Toy apps/a", "deleting ClusterExtension cache"]

    run(scenario)


def test_an_object_whose_operator_is_gone_keeps_the_extension_until_finalizers_are_removed() -> (
    None
):
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        server.put("customresourcedefinitions", CRD)
        _toy(server, "example.com/hold")
        quick = Timeouts(seconds=0.2, interval=0.02)
        made = await uninstall.plan(reader, "cache", delete_operands=True)
        done = await uninstall.carry_out(reader, made, report=[].append, timeouts=quick)
        assert [one["kind"] for one in done.left] == ["Toy"]
        assert "`example.com/hold`" in done.hint
        assert server.get("clusterextensions", "cache", "")

        server.remove("clusterextensions", "cache", "")
        made = await uninstall.plan(reader, "cache", delete_operands=True)
        assert made.extension is None
        soon = Timeouts(seconds=2, interval=0.02, believed=0.1)
        done = await uninstall.carry_out(
            reader, made, remove_finalizers=True, report=[].append, timeouts=soon
        )
        assert [one["kind"] for one in done.gone] == ["Toy"]
        assert server.all("toys") == []

    run(scenario)


class NothingConverts(ClusterObjects):
    """The API of a cluster without the conversion webhook of the toys."""

    async def list(
        self, kind: Any, namespace: str = "", *, labels: str = "", fields: str = ""
    ) -> Any:
        if kind[1] == "Toy":
            crd = await self.find(("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
                                  CRD["metadata"]["name"])  # fmt: skip
            if crd is not None and crd["spec"]["conversion"]["strategy"] == "Webhook":
                raise ClusterError("conversion webhook for example.com/v1, Kind=Toy failed: no",
                                   code=500, temporary=True)  # fmt: skip
        return await super().list(kind, namespace, labels=labels, fields=fields)


def test_a_missing_conversion_webhook_does_not_block_an_uninstall() -> None:
    service = {"name": "gone", "namespace": "apps"}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {"service": service}}}

    async def scenario(plain: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        reader = NothingConverts(plain.cluster)
        await installed(reader)
        crd = {**CRD, "spec": {**CRD["spec"], "conversion": conversion}}
        server.put("customresourcedefinitions", crd)
        _toy(server)
        made = await uninstall.plan(reader, "cache", delete_operands=False)
        with pytest.raises(InputError, match="is not known: nothing converts them"):
            uninstall.require_complete(made)

        made = await uninstall.plan(reader, "cache", delete_operands=True)
        uninstall.require_complete(made)
        said: list[str] = []
        quick = Timeouts(seconds=1, interval=0.02)
        done = await uninstall.carry_out(reader, made, report=said.append, timeouts=quick)
        assert [one["kind"] for one in done.gone] == ["ClusterExtension", "Toy"]
        assert [one["kind"] for one in done.left] == ["CustomResourceDefinition"]  # no collector
        steps = ("deleting ClusterExtension", "switching off the conversion", "deleting Toy")
        order = [next(i for i, line in enumerate(said) if step in line) for step in steps]
        assert order == sorted(order)

    run(scenario, resource("", "Service", "services", namespaced=True))


def test_a_failed_install_is_removed_on_request() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, says: dict[str, str]) -> None:
        says["reason"] = "Blocked"
        made = await install.plan(reader, OPTIONS, Access())
        said: list[str] = []
        created: list[dict[str, Any]] = []
        found = await install.carry_out(
            reader, made, report=[].append, timeouts=QUICK, created=created, undone=said.append
        )

        assert not found.is_ready
        assert said == ["reverted ClusterExtension cache", "reverted Namespace apps"]
        assert (created, server.all("clusterextensions")) == ([], [])

    run(scenario)


def test_status_shows_extensions_in_a_cluster_without_olm_v0() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        server.put("clustercatalogs", {
            "apiVersion": f"{GROUP}/v1", "kind": "ClusterCatalog", "metadata": {"name": "shelf"},
            "spec": {"source": {"image": {"ref": "i:1"}}},
        })  # fmt: skip

        found = await status.status(reader)

        row = found.operators[0]
        assert (row.olm, row.package, row.installed) == ("v1", "cache", "cache.v1")
        assert row.explanation.is_ready
        assert [(one.name, one.state) for one in found.catalogs] == [("shelf", "not served")]
        shelf = server.get("clustercatalogs", "shelf", "") or {}
        conditions = [{"type": "Serving", "status": "True"}]
        for reason, state in (("Succeeded", "SERVING"), ("Retrying", "outdated")):
            last = {"type": "Progressing", "status": "True", "reason": reason}
            seen = {"observedGeneration": shelf["metadata"].get("generation", 1)}
            status_of = {"conditions": [*conditions, last | seen]}
            server.put("clustercatalogs", shelf | {"status": status_of})
            found = await status.status(reader)
            (row_of,) = found.catalogs
            assert row_of.state == state
            said = ["the catalog `shelf` still serves its previous content"]
            assert [one.partition(",")[0] for one in found.notes] == said * (state == "outdated")
        assert (await status.status(reader, package="other")).operators == ()

    run(scenario)


def test_a_package_is_installed_once() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        other = {"metadata": {"name": "other"}, "spec": {"source": {"catalog": {
            "packageName": "cache"}}}}  # fmt: skip
        server.put("clusterextensions", {"apiVersion": f"{GROUP}/v1",
                                         "kind": "ClusterExtension", **other})  # fmt: skip
        with pytest.raises(InputError, match="`other` requests the package `cache` already"):
            await installed(reader)
        assert (await why.why(reader, "cache")).chain[0].subject == "ClusterExtension other"

    run(scenario)


def test_a_range_that_the_api_server_refuses_is_refused_before_the_request() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        for version in ("1.2 - 2.0", "01.0.0"):
            options = ExtensionOptions(package="cache", namespace="apps", version=version)
            with pytest.raises(InputError, match="cannot be requested of OLM v1"):
                await installed(reader, options)
            with pytest.raises(InputError, match="cannot be requested of OLM v1"):
                await upgrade.plan(reader, "cache", version, Access())
        assert server.writes() == []

    run(scenario)


def test_a_bundle_that_cannot_be_read_is_the_reason_for_unknown_permissions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def choose(*_: Any) -> ExtensionChoice:
        unread = "the bundle `r/cache:v1` cannot be read from here: denied"
        return ExtensionChoice(csv="cache.v1", notes=("x",), unread=unread, hint="log in first")

    async def scenario(reader: ClusterObjects, _: ApiServer, __: dict[str, str]) -> None:
        monkeypatch.setattr(extension_choice, "choose_for_install", choose)
        with pytest.raises(InputError) as raised:
            await installed(reader, replace(OPTIONS, create_service_account=True))
        assert raised.value.message == (
            "the permissions that `cache` needs are not known, because the bundle `r/cache:v1` "
            "cannot be read from here: denied"
        )
        assert raised.value.hint == (
            "log in first; or pass an existing service account with `--service-account`. If the "
            "image is in a mirror, name the mirror in `registries.conf`"
        )

    run(scenario)


def test_an_upgrade_changes_the_channel_and_keeps_the_range() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        made = await upgrade.plan(reader, "cache", "", Access(), channel="fast")
        assert made.offer.notes[:2] == (
            "the channel changes to `fast`",
            "the requested range `1.x` stays; `--to` changes it",
        )
        said: list[str] = []
        found = await upgrade.carry_out(reader, made, report=said.append, timeouts=QUICK)
        assert found.is_ready
        assert said[0] == "requested channel fast"
        there = server.get("clusterextensions", "cache", "")
        assert there is not None
        asked = there["spec"]["source"]["catalog"]
        assert (asked["channels"], asked["version"]) == (["fast"], "1.x")

        made = await upgrade.plan(reader, "cache", "", Access(), channel="slow")
        assert made.offer.notes[0] == "the channel changes from `fast` to `slow`"
        made = await upgrade.plan(reader, "cache", "", Access(), channel="fast,slow")
        assert made.offer.notes[0] == "the channel changes from `fast` to `fast`, `slow`"
        catalog = made.desired["spec"]["source"]["catalog"]
        assert catalog["channels"] == ["fast", "slow"]

    run(scenario)


def test_a_channel_without_a_version_of_the_range_has_a_hint_for_the_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def refuse(*_: Any, **__: Any) -> ExtensionChoice:
        raise NotOfferedError("no version fits", hint="run `x`")

    async def scenario(reader: ClusterObjects, _: ApiServer, __: dict[str, str]) -> None:
        await installed(reader)
        monkeypatch.setattr(extension_choice, "choose_for_upgrade", refuse)
        for version, hint in (
            ("", "`--to` changes the requested range `1.x`; run `x`"),
            ("2.x", "run `x`"),
        ):
            with pytest.raises(NotOfferedError) as raised:
                await upgrade.plan(reader, "cache", version, Access(), channel="fast")
            assert raised.value.hint == hint

    run(scenario)


def test_without_a_version_an_upgrade_keeps_the_range() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        made = await upgrade.plan(reader, "cache", "", Access())
        assert made.offer.notes[0] == "the requested range `1.x` stays; `--to` changes it"
        writes = len(server.writes())
        found = await upgrade.carry_out(reader, made, report=[].append, timeouts=QUICK)
        assert (found.is_ready, len(server.writes())) == (True, writes)

    run(scenario)


def test_status_shows_what_it_can_list_and_notes_the_rest() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        hidden = {"subscriptions", "catalogsources"}
        server.denies = lambda access: access.resource in hidden
        found = await status.status(reader)
        assert [row.package for row in found.operators] == ["cache"]
        assert len(found.notes) == 2
        assert "subscriptions" in found.notes[0]

        server.denies = lambda _: True
        with pytest.raises(Forbidden):
            await status.status(reader)

    run(scenario, *V0)


def test_catalogs_that_cannot_be_listed_are_not_reported_as_absent() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, says: dict[str, str]) -> None:
        nothing = 'no bundles found for package "cache"'
        server.put("clusterextensions", {
            "apiVersion": f"{GROUP}/v1", "kind": "ClusterExtension", "metadata": {"name": "cache"},
            "spec": {"namespace": "apps", "source": {"catalog": {"packageName": "cache"}}},
        })  # fmt: skip
        says |= {"reason": "Retrying", "message": nothing}
        await asyncio.sleep(0.1)

        async def causes() -> tuple[str, str]:
            (row,) = (await status.status(reader)).operators
            return (await why.why(reader, "cache")).cause, row.explanation.cause

        assert await causes() == ("catalog-not-ready",) * 2
        server.denies = lambda access: access.resource == "clustercatalogs"
        assert await causes() == ("catalogs-not-listable",) * 2
        # The one that the selector names is still readable.
        server.denies = lambda access: access.resource == "clustercatalogs" and access.verb != "get"
        labels = {"olm.operatorframework.io/metadata.name": "shelf"}
        selector = {"selector": {"matchLabels": labels}}
        await reader.merge(server.all("clusterextensions")[0],
                           {"spec": {"source": {"catalog": selector}}})  # fmt: skip
        await asyncio.sleep(0.1)
        assert await causes() == ("catalog-not-ready",) * 2
        server.denies = lambda _: False
        server.remove("clustercatalogs", "shelf", "")
        assert await causes() == ("no-such-catalog",) * 2

    run(scenario)


def test_deployments_that_cannot_be_listed_are_the_cause_of_status_and_why() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        await installed(reader)
        server.denies = lambda access: access.resource == "deployments"
        (row,) = (await status.status(reader)).operators
        assert row.explanation.cause == "deployments-not-listable"
        assert (row.installed, row.explanation.version) == ("cache.v1", "1.0.0")
        assert (await why.why(reader, "cache")).cause == "deployments-not-listable"

    run(scenario)


def test_commands_of_v0_report_a_cluster_with_only_olm_v1() -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer, __: dict[str, str]) -> None:
        with pytest.raises(InputError, match="OLM v1 only") as refused:
            await cluster_read.require_olm(reader)
        assert "--olm v1" in refused.value.hint

    run(scenario)


def test_why_of_v0_names_the_extension_that_requests_the_package() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        server.put("clusterextensions", {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ClusterExtension",
            "metadata": {"name": "other"},
            "spec": {"source": {"catalog": {"packageName": "cache"}}},
        })  # fmt: skip
        for name in ("cache", "other"):
            found = await cluster_read.why(reader, name, "apps")
            assert found.cause == "not-installed"
            assert "a ClusterExtension of OLM v1 does" in found.message
            assert found.hint == f"`olmkit why {name} --olm v1` explains that"
        found = await cluster_read.why(reader, "third", "apps")
        assert found.hint == "install it: `olmkit install third -n apps`"

    run(scenario, *V0)


def test_upgrade_and_uninstall_of_v0_name_the_extension_that_requests_the_package() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        server.put("clusterextensions", {
            "apiVersion": f"{GROUP}/v1",
            "kind": "ClusterExtension",
            "metadata": {"name": "other"},
            "spec": {"source": {"catalog": {"packageName": "cache"}}},
        })  # fmt: skip
        state = ClusterState(namespace="apps")
        for command in ("olmkit upgrade", "olmkit uninstall"):
            with pytest.raises(InputError, match="a ClusterExtension of OLM v1 does") as refused:
                await cluster_read.require_not_of_v1(reader, state, "cache", command=command)
            assert refused.value.hint == f"run `{command} cache --olm v1`"
        await cluster_read.require_not_of_v1(reader, state, "third", command="olmkit upgrade")
        with pytest.raises(InputError, match="a ClusterExtension of OLM v1 does"):
            await upgrade_plan.require_installed(reader, state, "cache")
        with pytest.raises(InputError, match="nothing requests `third`"):
            await upgrade_plan.require_installed(reader, state, "third")

    run(scenario, *V0)


def test_commands_of_v1_name_the_subscription_of_the_package() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        server.put("subscriptions", {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "Subscription",
            "metadata": {"name": "any", "namespace": "team"},
            "spec": {"name": "cache"},
        })  # fmt: skip
        said = "no ClusterExtension requests `cache`, and a Subscription of OLM v0 in namespace "
        found = await why.why(reader, "cache")
        assert (found.cause, found.message) == ("not-installed", f"{said}`team` does")
        assert found.hint == "run `olmkit why cache -n team`"
        with pytest.raises(InputError, match="a Subscription of OLM v0") as refused:
            await upgrade.plan(reader, "cache", "", Access())
        assert refused.value.hint == "run `olmkit upgrade cache -n team`"
        with pytest.raises(InputError, match="a Subscription of OLM v0") as refused:
            await uninstall.plan(reader, "cache", delete_operands=False)
        assert refused.value.hint == "run `olmkit uninstall cache -n team`"
        found = await why.why(reader, "third")
        assert found.hint == "install it: `olmkit install third --olm v1`"

    run(scenario, *V0)


def test_commands_of_v1_suggest_a_similar_name() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        server.put("clusterextensions", {
            "apiVersion": "olm.operatorframework.io/v1",
            "kind": "ClusterExtension",
            "metadata": {"name": "kettle"},
            "spec": {"source": {"catalog": {"packageName": "teapot"}}},
        })  # fmt: skip
        for typed, meant in (("kettel", "kettle"), ("tea-pot", "teapot")):
            assert (await why.why(reader, typed)).hint == f"did you mean `{meant}`?"
            with pytest.raises(InputError) as refused:
                await upgrade.plan(reader, typed, "", Access())
            assert refused.value.hint == f"did you mean `{meant}`?"
            with pytest.raises(InputError) as refused:
                await uninstall.plan(reader, typed, delete_operands=False)
            assert refused.value.hint == f"did you mean `{meant}`?"

    run(scenario, *V0)


@pytest.mark.parametrize(("duration", "minutes"), [("15m", 15), ("1h30m", 90), ("2h", 120)])
def test_a_poll_interval_is_in_minutes(duration: str, minutes: int) -> None:
    assert install.poll_minutes(duration) == minutes


@pytest.mark.parametrize("duration", ["", "90s", "0m", "1.5h", "m", "h5m", "15", "5m1"])
def test_an_invalid_poll_interval_is_refused(duration: str) -> None:
    with pytest.raises(ConfigurationError, match="whole minutes"):
        install.poll_minutes(duration)


def test_only_a_catalog_from_an_image_is_polled() -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer, __: dict[str, str]) -> None:
        options = replace(OPTIONS, catalog="shelf", poll_minutes=5)
        with pytest.raises(ConfigurationError, match="named by its image"):
            await install.plan(reader, options, Access())

    run(scenario)


def test_a_state_that_needs_action_ends_the_wait() -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer, says: dict[str, str]) -> None:
        says |= {"reason": "Blocked", "message": 'desired version range "x" is invalid: …'}
        found = await installed(reader)

        assert (found.readiness, found.cause) == (Readiness.BLOCKED, "bad-range")

    run(scenario)


def test_older_releases_require_a_service_account(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: Any) -> ExtensionChoice:
        raise NotOfferedError("no version fits")

    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        schema = {"properties": {"spec": {"required": ["serviceAccount"]}}}
        server.put("customresourcedefinitions", {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"clusterextensions.{GROUP}"},
            "spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]},
        })  # fmt: skip
        with pytest.raises(InputError, match="service account"):
            await installed(reader)
        with monkeypatch.context() as patched:
            patched.setattr(extension_choice, "choose_for_install", refuse)
            with pytest.raises(NotOfferedError, match="no version fits"):
                await installed(reader)
        options = ExtensionOptions(package="cache", namespace="apps", service_account="installer")
        writes = len(server.writes())
        with pytest.raises(InputError, match="`installer` does not exist in namespace `apps`"):
            await installed(reader, options)
        assert len(server.writes()) == writes
        metadata = {"name": "installer", "namespace": "apps"}
        server.put("serviceaccounts", {"metadata": metadata})
        assert (await installed(reader, options)).is_ready

    run(scenario)


def test_an_upgrade_needs_the_service_account_if_the_release_requires_it() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
               "metadata": {"name": f"clusterextensions.{GROUP}"}}  # fmt: skip
        metadata = {"name": "installer", "namespace": "apps"}
        server.put("serviceaccounts", {"metadata": metadata})
        options = replace(OPTIONS, service_account="installer")
        await installed(reader, options)
        server.remove("serviceaccounts", "installer", "apps")

        needs = {"properties": {"spec": {"required": ["serviceAccount"]}}}
        schema = {"openAPIV3Schema": needs}
        server.put("customresourcedefinitions", crd | {"spec": {"versions": [{"schema": schema}]}})
        with pytest.raises(InputError, match="`installer` does not exist in namespace") as refused:
            await upgrade.plan(reader, "cache", "2.x", Access())
        assert "kubectl create serviceaccount installer -n apps" in refused.value.hint

        server.put("customresourcedefinitions", crd | {"spec": {"versions": [{"schema": {}}]}})
        made = await upgrade.plan(reader, "cache", "2.x", Access())
        assert made.version == "2.x"
        other = replace(options, package="queue", service_account="nowhere")
        notes = (await install.plan(reader, other, Access())).offer.notes
        assert notes[0] == "this release of OLM v1 ignores the service account `nowhere`"

    run(scenario)


def test_a_missing_extension_is_reported() -> None:
    async def scenario(reader: ClusterObjects, _: ApiServer, __: dict[str, str]) -> None:
        assert (await why.why(reader, "cache")).cause == "not-installed"
        with pytest.raises(InputError, match="no ClusterExtension"):
            await uninstall.plan(reader, "cache", delete_operands=True)
        with pytest.raises(InputError, match="no ClusterExtension"):
            await upgrade.plan(reader, "cache", "", Access())
        with pytest.raises(InputError, match="the ClusterCatalog `other` does not exist"):
            await cluster_catalog.read(reader, "other")

    run(scenario)


def test_what_an_interrupted_uninstall_left_is_removed_by_the_next_one() -> None:
    async def scenario(reader: ClusterObjects, server: ApiServer, _: dict[str, str]) -> None:
        labels = {"app.kubernetes.io/managed-by": "olmkit", "app.kubernetes.io/part-of": "cache"}
        metadata = {"name": "cache-installer", "namespace": "apps", "labels": labels}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        server.put("serviceaccounts", account)
        made = await uninstall.plan(reader, "cache", delete_operands=False)
        assert [one["metadata"]["name"] for one in made.all] == ["cache-installer"]
        done = await uninstall.carry_out(reader, made, report=[].append, timeouts=QUICK)
        assert [one["kind"] for one in done.gone] == ["ServiceAccount"]
        with pytest.raises(NothingToRemoveError, match="no ClusterExtension requests `cache`"):
            await uninstall.plan(reader, "cache", delete_operands=False)

    run(scenario)
