"""`DatabaseUser` objects, their Secrets and a database; on the double and a real API server."""

from __future__ import annotations

import asyncio
import base64
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from olmkit.runtime import Client, Manager, Request
from olmkit.testing import ApiServer, ControlPlane, rbac, running, until
from small_couchdb import SmallCouchDB

from couchdb_users_operator import wiring
from couchdb_users_operator.api.v1alpha1.databaseuser import DatabaseUser
from couchdb_users_operator.decisions import SECRET

NUMBERS = itertools.count()
CONFIG = Path(__file__).parent.parent / "config"
ACCOUNT = {"COUCHDB_USER": "operator", "COUCHDB_PASSWORD": "of-the-operator"}


@dataclass
class Stage:
    """One user, its Secret, the database, and the running operator."""

    client: Client
    database: SmallCouchDB
    name: str

    @property
    def key(self) -> Request:
        return Request(self.name, "default")

    @property
    def id(self) -> str:
        return f"org.couchdb.user:{self.name}"

    @property
    def document(self) -> dict[str, Any] | None:
        return self.database.users.get(self.id)

    async def create(self, **spec: Any) -> None:
        manifest = {
            "apiVersion": DatabaseUser.gvk.api_version,
            "kind": "DatabaseUser",
            "metadata": {"name": self.name, "namespace": "default"},
            "spec": {"name": self.name, "password": {"name": self.name}, **spec},
        }
        await self.client.create(DatabaseUser.from_manifest(manifest))

    async def set_password(self, password: str) -> None:
        await self.client.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": self.name, "namespace": "default"},
                "data": {"password": base64.b64encode(password.encode()).decode()},
            }
        )

    async def change(self, **spec: Any) -> None:
        old = await self.client.require(DatabaseUser, self.key)
        new = old.model_copy(update={"spec": old.spec.model_copy(update=spec)})
        await self.client.patch(old, new)

    async def until_ready_is(self, status: str, reason: str) -> None:
        async def is_so() -> bool:
            found = await self.client.get(DatabaseUser, self.key)
            said = found.status.conditions if found and found.status else []
            return any((one.status, one.reason) == (status, reason) for one in said)

        await until(is_so)


Scenario = Callable[[Stage], Awaitable[None]]
Play = Callable[[Scenario], Awaitable[None]]


@pytest.fixture
def run_scenario(each_server: ApiServer | ControlPlane, kube_client: Client) -> Play:
    """Runs a test on the double and on a real server."""
    del each_server  # the client is one of them
    return lambda scenario: run(kube_client, scenario)


async def run(client: Client, scenario: Scenario) -> None:
    """Run a test with the whole operator; at its end the operator and its session end."""
    database = SmallCouchDB("operator", "of-the-operator")
    async with database.serving():
        manager = Manager(client.cluster, name="couchdb-users", cache_settings=wiring.CACHE)
        wiring.add_controllers(manager, {"COUCHDB_URL": database.url, **ACCOUNT})
        async with running(manager):
            stage = Stage(client, database, f"user-{next(NUMBERS)}")
            await scenario(stage)
            await client.delete(DatabaseUser, stage.key)
            await until(lambda: is_gone(stage))
        assert database.sessions == set()
        assert database.logins >= 1


async def is_gone(stage: Stage) -> bool:
    return await stage.client.get(DatabaseUser, stage.key) is None


async def test_a_user_is_created_changed_and_deleted(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.set_password("first")
        await stage.create(roles=["reader"])
        await stage.until_ready_is("True", "AsWanted")
        assert stage.document is not None
        assert stage.document["roles"] == ["reader"]
        assert stage.database.passwords[stage.id] == "first"

        await stage.change(roles=["writer", "reader"])
        await until(lambda: has_roles(stage, ["reader", "writer"]))
        assert stage.database.writes == 2

        await stage.client.delete(DatabaseUser, stage.key)
        await until(lambda: is_gone(stage))
        assert stage.document is None

    await run_scenario(scenario)


async def has_roles(stage: Stage, roles: list[str]) -> bool:
    return stage.document is not None and stage.document["roles"] == roles


async def test_a_later_or_changed_password_is_set(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.create()
        await stage.until_ready_is("False", "NoPassword")
        assert stage.document is None
        await stage.set_password("first")
        await stage.until_ready_is("True", "AsWanted")
        await stage.set_password("second")

        async def is_second() -> bool:
            return stage.database.passwords[stage.id] == "second"

        await until(is_second)

    await run_scenario(scenario)


async def test_a_user_of_another_owner_is_neither_changed_nor_deleted(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        theirs = {"_id": stage.id, "_rev": "1-a", "name": stage.name, "roles": []}
        stage.database.users[stage.id] = dict(theirs)
        await stage.set_password("first")
        await stage.create(roles=["reader"])
        await stage.until_ready_is("False", "NameTaken")
        await stage.client.delete(DatabaseUser, stage.key)
        await until(lambda: is_gone(stage))
        assert stage.document == theirs

    await run_scenario(scenario)


async def test_a_role_of_the_database_is_refused(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.set_password("first")
        await stage.create(roles=["_admin"])
        await stage.until_ready_is("False", "InvalidRole")
        assert stage.document is None

    await run_scenario(scenario)


async def test_an_expired_session_is_opened_again(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.set_password("first")
        await stage.create()
        await stage.until_ready_is("True", "AsWanted")
        stage.database.sessions.clear()
        await stage.change(roles=["reader"])
        await until(lambda: has_roles(stage, ["reader"]))
        assert stage.database.logins == 2

    await run_scenario(scenario)


async def test_an_unreachable_database_is_reported_and_retried(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.set_password("first")
        stage.database.is_down = True
        await stage.create()
        await stage.until_ready_is("False", "DatabaseUnavailable")
        stage.database.is_down = False
        await stage.until_ready_is("True", "AsWanted")

    await run_scenario(scenario)


async def test_an_object_waits_until_its_user_is_deleted(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.set_password("first")
        await stage.create()
        await stage.until_ready_is("True", "AsWanted")
        stage.database.is_down = True
        await stage.client.delete(DatabaseUser, stage.key)
        await asyncio.sleep(0.3)
        assert not await is_gone(stage)
        assert stage.document is not None
        stage.database.is_down = False
        await until(lambda: is_gone(stage))
        assert stage.document is None

    await run_scenario(scenario)


async def test_used_permissions_are_those_of_the_role(
    api_server: ApiServer, kube_client: Client
) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.set_password("first")
        await stage.create()
        await stage.until_ready_is("True", "AsWanted")
        secret = await stage.client.get(SECRET, stage.key)
        assert secret is not None

    await run(kube_client, scenario)
    report = rbac.compare(api_server.accesses, rbac.read([CONFIG / "rbac/role.yaml"]))
    of_the_test = {"create databaseusers", "delete databaseusers", "patch secrets"}
    assert {f"{one.verb} {one.resource}" for one in report.missing} <= of_the_test
