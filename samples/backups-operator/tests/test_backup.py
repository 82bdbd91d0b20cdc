"""`Backup` objects and their Jobs, on the API server double and on a real API server.

No controller of Jobs runs there: the tests set the result of each Job.
"""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from olmkit.runtime import Client, EventRecorder, Manifest, Request
from olmkit.testing import ApiServer, ControlPlane, rbac

from backups_operator.api.v1alpha1.backup import Backup, BackupSpec, BackupStatus
from backups_operator.decisions import JOB, VOLUME, moment, parse
from backups_operator.reconcilers.backup import BackupReconciler
from backups_operator.schedule import Schedule

NAMES = itertools.count()
CONFIG = Path(__file__).parent.parent / "config"


class Recorder(EventRecorder):
    """Records the reasons of events instead of sending them."""

    reasons: list[str]

    def event(self, regarding: Any, type: str, reason: str, *_: Any, **__: Any) -> None:
        self.reasons.append(reason)


@dataclass
class Stage:
    """One Backup, the reconciler, and a clock that a test sets."""

    client: Client
    name: str
    now: datetime
    events: list[str] = field(default_factory=list)

    @property
    def key(self) -> Request:
        return Request(self.name, "default")

    async def reconcile(self) -> float:
        """Run one pass; return the seconds until the next one."""
        recorder = Recorder(self.client.cluster, "test")
        recorder.reasons = self.events
        reconciler = BackupReconciler(self.client, recorder, now=lambda: self.now)
        result = await reconciler.reconcile(self.key)
        return result.requeue_after

    async def backup(self) -> Backup:
        return await self.client.require(Backup, self.key)

    async def status(self) -> BackupStatus:
        status = (await self.backup()).status
        assert status is not None
        return status

    async def condition(self, kind: str) -> tuple[str, str]:
        found = next(one for one in (await self.status()).conditions if one.type == kind)
        return found.status, found.reason

    async def change(self, **spec: Any) -> None:
        old = await self.backup()
        new = old.model_copy(update={"spec": old.spec.model_copy(update=spec)})
        await self.client.patch(old, new)

    async def jobs(self) -> list[str]:
        label = {"backup.example.com/backup": self.name}
        found = await self.client.list(JOB, namespace="default", labels=label)
        return sorted(one["metadata"]["name"] for one in found)

    async def end(self, job: str, *, kind: str = "Complete") -> None:
        """Write what the controller of Jobs writes when the pods of a Job have ended."""
        found = await self.client.require(JOB, Request(job, "default"))
        before = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[kind]
        said = [
            {"type": one, "status": "True", "reason": "Ended", "message": "ended"}
            | {"lastProbeTime": moment(self.now), "lastTransitionTime": moment(self.now)}
            for one in (before, kind)
        ]
        status: Manifest = {"startTime": moment(self.now), "conditions": said}
        if kind == "Complete":
            status |= {"completionTime": moment(self.now), "succeeded": 1}
        await self.client.replace({**found, "status": status}, subresource="status")


Play = Callable[..., Awaitable[None]]


@pytest.fixture
def run_scenario(each_server: ApiServer | ControlPlane, kube_client: Client) -> Play:
    """Runs a test about one Backup that is due at three each night, from its creation on."""

    async def run(scenario: Callable[[Stage], Awaitable[None]], **spec: Any) -> None:
        if isinstance(each_server, ApiServer):
            role = rbac.read([CONFIG / "rbac/role.yaml"])
            each_server.denies = rbac.forbids(role + OF_THE_TEST)
        name = f"nightly-{next(NAMES)}"
        given = {"schedule": "0 3 * * *", "image": "dump:1", "command": ["dump"], **spec}
        made = Backup.from_manifest(
            {
                "apiVersion": Backup.gvk.api_version,
                "kind": "Backup",
                "metadata": {"name": name, "namespace": "default"},
                "spec": given,
            }
        )
        created = (await kube_client.create(made)).metadata.creation_timestamp
        assert created is not None
        first = Schedule.parse("0 3 * * *", "UTC").next_after(parse(created))
        await scenario(Stage(kube_client, name, first - timedelta(hours=1)))

    return run


OF_THE_TEST = rbac.rules(
    [
        {
            "kind": "ClusterRole",
            "metadata": {"name": "test"},
            "rules": [
                {
                    "apiGroups": ["backup.example.com"],
                    "resources": ["backups"],
                    "verbs": ["create", "patch", "delete"],
                },
                {"apiGroups": ["batch"], "resources": ["jobs/status"], "verbs": ["update"]},
            ],
        }
    ]
)
NIGHT = timedelta(days=1)


async def test_a_backup_starts_at_its_time_and_only_once(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        assert await stage.reconcile() == 3600
        assert await stage.jobs() == []
        assert await stage.condition("Ready") == ("True", "Scheduled")
        assert await stage.condition("Successful") == ("Unknown", "NoBackupYet")
        volume = await stage.client.require(VOLUME, stage.key)
        assert volume["spec"]["resources"]["requests"] == {"storage": "1Gi"}

        stage.now += timedelta(hours=1)
        assert await stage.reconcile() == NIGHT.total_seconds()
        (job,) = await stage.jobs()
        await stage.reconcile()
        assert await stage.jobs() == [job]
        status = await stage.status()
        assert status.active == [job]
        assert status.last_schedule_time == moment(stage.now)

        await stage.end(job)
        await stage.reconcile()
        assert await stage.condition("Successful") == ("True", "BackupComplete")
        assert (await stage.status()).active == []
        assert (await stage.status()).last_successful_time == moment(stage.now)
        assert stage.events == ["Created", "Started"]

    await run_scenario(scenario)


async def test_the_newest_jobs_are_kept(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        made = []
        stage.now += timedelta(hours=1)
        for kind in ("Complete", "Failed", "Complete", "Failed", "Complete"):
            stage.now += NIGHT
            await stage.reconcile()
            made.append((await stage.status()).active[0])
            await stage.end(made[-1], kind=kind)
        await stage.reconcile()
        assert await stage.jobs() == sorted(made[2:])
        assert await stage.condition("Successful") == ("True", "BackupComplete")

    await run_scenario(scenario, keep=2, keepFailed=1)


async def test_a_failed_backup_is_reported(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        stage.now += timedelta(hours=1)
        await stage.reconcile()
        await stage.end((await stage.jobs())[0], kind="Failed")
        await stage.reconcile()
        assert await stage.condition("Successful") == ("False", "BackupFailed")
        assert (await stage.status()).last_successful_time is None

    await run_scenario(scenario)


async def test_after_downtime_one_backup_is_started(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        stage.now += 5 * NIGHT + timedelta(hours=1, minutes=59)
        await stage.reconcile()
        assert len(await stage.jobs()) == 1

    await run_scenario(scenario)


async def test_a_backup_that_is_too_late_is_missed_and_reported_once(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        stage.now += timedelta(hours=3)
        await stage.reconcile()
        await stage.reconcile()
        assert await stage.jobs() == []
        assert stage.events == ["Created", "MissedSchedule"]
        assert (await stage.status()).last_missed_time == moment(stage.now - timedelta(hours=2))

    await run_scenario(scenario)


async def test_a_suspended_schedule_starts_nothing_and_catches_up_on_nothing(
    run_scenario: Play,
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.now += timedelta(hours=1)
        await stage.reconcile()
        assert await stage.condition("Ready") == ("False", "Suspended")
        await stage.change(suspend=False)
        stage.now += timedelta(minutes=5)
        await stage.reconcile()
        assert await stage.jobs() == []
        assert await stage.condition("Ready") == ("True", "Scheduled")
        stage.now += NIGHT
        await stage.reconcile()
        assert len(await stage.jobs()) == 1

    await run_scenario(scenario, suspend=True)


@pytest.mark.parametrize(
    ("policy", "running", "started"), [("Allow", 2, 2), ("Forbid", 1, 1), ("Replace", 1, 2)]
)
async def test_a_backup_that_is_due_while_another_one_runs_follows_the_policy(
    run_scenario: Play, policy: str, running: int, started: int
) -> None:
    async def scenario(stage: Stage) -> None:
        stage.now += timedelta(hours=1)
        await stage.reconcile()
        first = (await stage.jobs())[0]
        stage.now += NIGHT
        await stage.reconcile()
        assert len((await stage.status()).active) == running
        assert stage.events.count("Started") == started
        if policy == "Forbid":
            await stage.end(first)
            stage.now += timedelta(minutes=30)
            await stage.reconcile()  # still in time
            assert stage.events.count("Started") == 2

    await run_scenario(scenario, concurrencyPolicy=policy)


async def test_a_crash_after_the_creation_of_a_job_starts_no_second_one(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.reconcile()
        before = await stage.backup()
        stage.now += timedelta(hours=1)
        await stage.reconcile()
        jobs = await stage.jobs()
        lost = await stage.backup()
        await stage.client.update_status(lost.model_copy(update={"status": before.status}))
        await stage.change(concurrency_policy="Allow")
        await stage.reconcile()
        assert await stage.jobs() == jobs
        assert (await stage.status()).last_schedule_time == moment(stage.now)

    await run_scenario(scenario)


async def test_an_invalid_schedule_is_reported_and_existing_jobs_stay(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        stage.now += timedelta(hours=1)
        await stage.reconcile()
        jobs = await stage.jobs()
        await stage.change(schedule="at three")
        assert await stage.reconcile() == 0
        assert await stage.condition("Ready") == ("False", "InvalidSchedule")
        assert await stage.jobs() == jobs
        assert (await stage.status()).active == jobs
        assert (await stage.status()).next_schedule_time is None

    await run_scenario(scenario)


async def test_a_deleted_object_needs_nothing(run_scenario: Play) -> None:
    async def scenario(stage: Stage) -> None:
        await stage.client.delete(Backup, stage.key)
        assert await stage.reconcile() == 0
        assert await stage.jobs() == []

    await run_scenario(scenario)


def test_defaults_of_the_types_are_those_of_the_crd(crds: list[Manifest]) -> None:
    (crd,) = crds
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    typed = BackupSpec(schedule="0 3 * * *", image="dump:1", command=["dump"])
    defaults = {
        name: one["default"] for name, one in schema["properties"].items() if "default" in one
    }
    assert defaults == typed.model_dump(
        by_alias=True, include=None, exclude={"schedule", "image", "command"}
    )
