"""The methods of the client that are not about whole objects, on both servers."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from olmkit.kube.api import (
    ClusterError,
    Conflict,
    EventType,
    Forbidden,
    Invalid,
    NoSuchKind,
    NotFound,
    Propagation,
    TooManyRequests,
)
from olmkit.kube.objects import GVK, Manifest
from olmkit.runtime.client import Client
from olmkit.runtime.kinds import CustomResource, Model
from olmkit.runtime.work.reconcile import Request

if TYPE_CHECKING:
    from conftest import World

MAP = GVK("", "v1", "ConfigMap")
POD = GVK("", "v1", "Pod")
DEPLOYMENT = GVK("apps", "v1", "Deployment")
WIDGET = GVK("tests.example.com", "v1", "Widget")
LABELS = {"app": "a"}


class WidgetSpec(Model):
    colour: str = "green"
    size: int | None = None


class Widget(CustomResource):
    gvk: ClassVar[GVK] = WIDGET
    spec: WidgetSpec


def client_of(world: World) -> Client:
    return Client(world.cluster, None, field_manager="me").within(world.namespace)


def deployment_spec(replicas: int = 1) -> Manifest:
    containers = [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]
    return {
        "replicas": replicas,
        "selector": {"matchLabels": LABELS},
        "template": {"metadata": {"labels": LABELS}, "spec": {"containers": containers}},
    }


async def make_pod(world: World, name: str = "p", *, node: str = "", **status: Any) -> Manifest:
    if not world.is_double:
        await world.ask(
            "POST", world.path("serviceaccounts"), world.manifest("serviceaccounts", "default")
        )
    spec: Manifest = {"containers": [{"name": "c", "image": "c"}]}
    if node:
        spec["nodeName"] = node
    made = await world.make("pods", name, metadata={"labels": LABELS}, spec=spec)
    if status:
        answer = await world.patch("pods", name, {"status": status}, sub="status")
        assert answer.status == 200, answer.body
    return made


RUNNING: Manifest = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


async def test_scale_is_read_and_written(world: World) -> None:
    client = client_of(world)
    await world.make("deployments", "d", spec=deployment_spec(2))
    key = Request("d", world.namespace)
    found = await client.scale_of(DEPLOYMENT, key)
    assert found is not None
    assert (found.replicas, found.current, found.selector) == (2, 0, "app=a")
    made = await client.scale(DEPLOYMENT, Request("d"), 5)
    assert made.replicas == 5
    assert (await client.require(DEPLOYMENT, key))["spec"]["replicas"] == 5
    with pytest.raises(Conflict):
        await client.scale(DEPLOYMENT, key, 6, resource_version=found.resource_version)
    assert await client.scale_of(DEPLOYMENT, Request("other")) is None
    await world.make("widgets", "w", spec={"colour": "green", "size": 1})
    assert (await client.scale(Widget, Request("w"), 3)).replicas == 3
    assert (await client.require(Widget, Request("w", world.namespace))).spec.size == 3


async def test_status_is_read_and_written_by_every_patch(world: World) -> None:
    client = client_of(world)
    await world.make("deployments", "d", spec=deployment_spec())
    key = Request("d", world.namespace)
    await client.merge_patch(DEPLOYMENT, key, {"status": {"replicas": 1}}, subresource="status")
    operation = {"op": "replace", "path": "/status/replicas", "value": 2}
    await client.json_patch(DEPLOYMENT, key, [operation], subresource="status")
    made = await client.strategic_patch(
        DEPLOYMENT, key, {"status": {"observedGeneration": 1}}, subresource="status"
    )
    assert made["status"]["replicas"] == 2
    assert made["status"]["observedGeneration"] == 1
    found = await client.get(DEPLOYMENT, key, subresource="status")
    assert found is not None
    assert found["status"] == made["status"]


async def test_patches_have_the_effect_of_their_type(world: World) -> None:
    client = client_of(world)
    await world.make("deployments", "d", spec=deployment_spec())
    change = {"spec": {"template": {"spec": {"containers": [{"name": "b", "image": "new"}]}}}}
    made = await client.strategic_patch(DEPLOYMENT, Request("d"), change)
    containers = made["spec"]["template"]["spec"]["containers"]
    assert sorted((one["name"], one["image"]) for one in containers) == [("a", "a"), ("b", "new")]
    made = await client.merge_patch(DEPLOYMENT, Request("d"), change)
    containers = made["spec"]["template"]["spec"]["containers"]
    assert [one["name"] for one in containers] == ["b"]
    operations = [
        {"op": "test", "path": "/spec/replicas", "value": 1},
        {"op": "replace", "path": "/spec/replicas", "value": 2},
    ]
    made = await client.json_patch(DEPLOYMENT, Request("d"), operations)
    assert made["spec"]["replicas"] == 2
    with pytest.raises(ClusterError) as raised:
        await client.json_patch(DEPLOYMENT, Request("d"), operations)
    assert raised.value.code == 422
    await world.make("widgets", "w")
    typed = await client.merge_patch(Widget, Request("w"), {"spec": {"colour": "red"}})
    assert typed.spec.colour == "red"
    with pytest.raises(ClusterError) as raised:
        await client.strategic_patch(Widget, Request("w"), {"spec": {"colour": "red"}})
    assert raised.value.code == 415


@pytest.mark.parametrize("plural", ["configmaps", "widgets"])
@pytest.mark.parametrize("kind", ["json", "merge", "strategic"])
async def test_patches_have_preconditions(world: World, plural: str, kind: str) -> None:
    if (plural, kind) == ("widgets", "strategic"):
        return  # no server patches custom kinds with it
    client = client_of(world)
    made = await world.make(plural, "o")
    metadata = made["metadata"]
    gvk = MAP if plural == "configmaps" else WIDGET
    body: Any = {"metadata": {"labels": {"a": "b"}}}
    if kind == "json":
        body = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
    patch = getattr(client, f"{kind}_patch")
    wrong = "00000000-0000-0000-0000-000000000000"
    with pytest.raises(Conflict):
        await patch(gvk, Request("o"), body, uid=wrong)
    with pytest.raises(Conflict):
        await patch(gvk, Request("o"), body, resource_version="1")
    changed = await patch(
        gvk,
        Request("o"),
        body,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
    assert changed["metadata"]["labels"] == {"a": "b"}
    rehearsed = client.rehearsal
    other = await rehearsed.merge_patch(gvk, Request("o"), {"metadata": {"labels": {"a": "c"}}})
    assert other["metadata"]["labels"] == {"a": "c"}
    assert (await world.read(plural, "o"))["metadata"]["labels"] == {"a": "b"}


async def test_deletions_have_preconditions_and_a_policy_for_dependents(
    world: World,
) -> None:
    client = client_of(world)
    made = await world.make("configmaps", "o")
    version = made["metadata"]["resourceVersion"]
    await client.merge_patch(MAP, Request("o"), {"data": {"a": "b"}})
    with pytest.raises(Conflict):
        await client.delete(MAP, Request("o"), resource_version=version)
    with pytest.raises(Conflict):
        await client.delete(MAP, Request("o"), uid="00000000-0000-0000-0000-000000000000")
    await client.delete(MAP, Request("o"), propagation=Propagation.ORPHAN)
    held = await world.read("configmaps", "o")
    assert held["metadata"]["finalizers"] == ["orphan"]


async def test_a_pod_on_a_node_gets_its_grace_period(world: World) -> None:
    client = client_of(world)
    await make_pod(world, "free")
    await client.delete(POD, Request("free"))
    assert await client.get(POD, Request("free", world.namespace)) is None
    await make_pod(world, "bound", node="some")
    await client.delete(POD, Request("bound"), grace=60)
    found = await world.read("pods", "bound")
    assert found["metadata"]["deletionGracePeriodSeconds"] == 60
    await client.delete(POD, Request("bound"), grace=5)
    found = await world.read("pods", "bound")
    assert found["metadata"]["deletionGracePeriodSeconds"] == 5
    await client.delete(POD, Request("bound"), grace=0)
    assert await client.get(POD, Request("bound", world.namespace)) is None


async def test_a_budget_decides_about_evictions(world: World) -> None:
    client = client_of(world)
    made = await make_pod(world, **RUNNING)
    budget = {"selector": {"matchLabels": LABELS}, "minAvailable": 1}
    await world.make("poddisruptionbudgets", "b", spec=budget)
    status = {
        "observedGeneration": 1,
        "disruptionsAllowed": 0,
        "currentHealthy": 1,
        "desiredHealthy": 1,
        "expectedPods": 1,
    }
    await world.patch("poddisruptionbudgets", "b", {"status": status}, sub="status")
    with pytest.raises(TooManyRequests, match="disruption budget") as raised:
        await client.evict(Request("p"))
    assert raised.value.causes[0].reason == "DisruptionBudget"
    await world.patch(
        "poddisruptionbudgets", "b", {"status": {"disruptionsAllowed": 1}}, sub="status"
    )
    await client.rehearsal.evict(Request("p"))
    assert await client.get(POD, Request("p", world.namespace)) is not None
    await client.evict(Request("p"), uid=made["metadata"]["uid"], grace=0)
    assert await client.get(POD, Request("p", world.namespace)) is None
    left = await world.read("poddisruptionbudgets", "b")
    assert left["status"]["disruptionsAllowed"] == 0
    await client.evict(Request("p"))
    with pytest.raises(NotFound):
        await client.evict(Request("p"), missing_ok=False)
    await make_pod(world, "pending")  # no budget selects it
    with pytest.raises(Conflict):
        await client.evict(Request("pending"), uid="00000000-0000-0000-0000-000000000000")
    await client.evict(Request("pending"))
    assert await client.get(POD, Request("pending", world.namespace)) is None


async def test_a_service_account_gets_a_token(world: World) -> None:
    client = client_of(world)
    await world.make("serviceaccounts", "a")
    token = await client.token(Request("a"), audiences=["x"], lifetime=700)
    assert token.value.count(".") == 2
    assert token.expires.endswith("Z")
    assert token.value not in repr(token)
    with pytest.raises(Invalid, match="less than 10 minutes"):
        await client.token(Request("a"), lifetime=5)
    with pytest.raises(NotFound):
        await client.token(Request("b"))


async def test_unknown_fields_are_refused_if_the_client_is_strict(world: World) -> None:
    client = client_of(world)
    manifest = world.manifest("widgets", "w", spec={"colour": "green", "colours": 1})
    with pytest.raises(ClusterError, match=r'unknown field "spec\.colours"'):
        await client.strict.create(manifest)
    for applying in (client, client.strict):
        with pytest.raises(
            ClusterError, match=r"Widget\): \.spec\.colours: field not declared in schema"
        ) as raised:
            await applying.apply(manifest)
        assert raised.value.code == 500
    await client.create(manifest)
    with pytest.raises(ClusterError, match=r'unknown field "spec\.other"'):
        await client.strict.merge_patch(WIDGET, Request("w"), {"spec": {"other": 1}})


async def test_a_request_can_impersonate_another_user(world: World) -> None:
    who = GVK("authentication.k8s.io", "v1", "SelfSubjectReview")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    client = Client(world.cluster, None, field_manager="me")
    other = client.impersonating(
        "jane", groups=["dev"], uid="7", extra={"Example.com/team": ["a b"]}
    )
    answer = await other.create(review)
    user = answer["status"]["userInfo"]
    assert (user["username"], user["uid"]) == ("jane", "7")
    assert user["groups"] == ["dev", "system:authenticated"]
    assert user["extra"] == {"example.com/team": ["a b"]}
    mine = (await client.create(review))["status"]["userInfo"]
    assert mine["username"] != "jane"
    assert await client.cluster.resource(who.api_version, who.kind)
    if not world.is_double:
        with pytest.raises(Forbidden, match='User "jane" cannot list'):
            await other.list(MAP, namespace=world.namespace)


async def test_a_collection_has_pages(world: World) -> None:
    client = client_of(world)
    for number in range(5):
        await world.make("widgets", f"w{number}", metadata={"labels": {"odd": str(number % 2)}})
    sizes = [len(page) async for page in client.pages(WIDGET, size=2)]
    assert sizes == [2, 2, 1]
    names = [one.metadata.name async for page in client.pages(Widget, size=2) for one in page]
    assert names == [f"w{number}" for number in range(5)]
    odd = [one async for page in client.pages(Widget, labels="odd=1", size=1) for one in page]
    assert len(odd) == 2
    assert [page async for page in client.pages(MAP, labels="none=here")] == [[]]


async def test_pages_continue_after_their_first_state_was_compacted(world: World) -> None:
    client = client_of(world)
    for name in "abcd":
        await world.make("configmaps", name)
    seen = []
    async for page in client.pages(MAP, size=2):
        if not seen:
            await world.ask("DELETE", world.path("configmaps", "c"))
            await world.make("configmaps", "e")
            world.server.compact()
        seen += [one["metadata"]["name"] for one in page]
    assert seen == ["a", "b", "d", "e"]


async def test_a_watch_shows_existing_objects_and_changes(world: World) -> None:
    client = client_of(world)
    await world.make("widgets", "a")
    seen = []
    async with asyncio.timeout(30), contextlib.aclosing(client.watch(Widget)) as changes:
        async for change in changes:
            found = change.object
            seen.append((change.type, found.metadata.name, found.spec.colour))
            match len(seen):
                case 1:
                    await world.make("widgets", "b")
                case 2:
                    await world.patch("widgets", "a", {"spec": {"colour": "red"}})
                case 3:
                    await world.ask("DELETE", world.path("widgets", "b"))
                case _:
                    break
    assert seen == [
        (EventType.ADDED, "a", "green"),
        (EventType.ADDED, "b", "green"),
        (EventType.MODIFIED, "a", "red"),
        (EventType.DELETED, "b", "green"),
    ]


async def test_a_watch_of_an_unknown_kind_is_an_error(world: World) -> None:
    with pytest.raises(NoSuchKind):
        async for _ in client_of(world).watch(GVK("tests.example.com", "v1", "Nothing")):
            pass


async def test_a_wait_needs_a_condition_of_the_current_generation(world: World) -> None:
    client = client_of(world)
    key = Request("d", world.namespace)
    await world.make("deployments", "d", spec=deployment_spec())
    await client.scale(DEPLOYMENT, key, 2)

    async def report(observed: int) -> None:
        condition = {"type": "Available", "status": "True", "reason": "R", "message": "m"}
        status = {"conditions": [condition], "observedGeneration": observed}
        await client.merge_patch(DEPLOYMENT, key, {"status": status}, subresource="status")

    await report(1)
    with pytest.raises(TimeoutError, match=r"not `Available` within 0.5 s: Available=True"):
        await client.wait_for(DEPLOYMENT, key, "Available", within=0.5)
    waiting = asyncio.create_task(client.wait_for(DEPLOYMENT, key, "Available", within=20))
    await asyncio.sleep(0.1)
    await report(2)
    assert (await waiting)["status"]["observedGeneration"] == 2


async def test_a_wait_ends_when_an_object_appears_or_disappears(world: World) -> None:
    client = client_of(world)
    key = Request("w", world.namespace)
    with pytest.raises(TimeoutError, match="the object does not exist"):
        await client.wait_for(Widget, key, "Ready", within=0.3)
    coming = asyncio.create_task(
        client.wait_for(Widget, key, lambda one: one is not None, within=20)
    )
    await asyncio.sleep(0.1)
    await world.make("widgets", "w")
    found = await coming
    assert found is not None
    assert found.spec.colour == "green"
    going = asyncio.create_task(client.wait_for(WIDGET, key, lambda one: one is None, within=20))
    await asyncio.sleep(0.1)
    await client.delete(WIDGET, key)
    assert await going is None
