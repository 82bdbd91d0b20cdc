"""Starts the Jobs of each `Backup`, and removes old ones: read, decide, act.

The decisions are in `decisions` and `schedule`. A Job is started once and never changed,
so it is created and not applied. Its name contains the time of the schedule: if the
operator ends between the creation and the write of the status, the next pass finds the
same Job and does not start a second one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from olmkit.runtime import (
    NORMAL,
    WARNING,
    AlreadyExists,
    Children,
    Client,
    EventRecorder,
    Manifest,
    NotFound,
    Propagation,
    Request,
    Result,
    objects,
    owners,
)

from backups_operator import decisions
from backups_operator.api.v1alpha1.backup import Backup, BackupStatus
from backups_operator.decisions import JOB, Runs
from backups_operator.schedule import Due, InvalidSchedule, Schedule, due

_LOG = logging.getLogger(__name__)

# +kubebuilder:rbac:groups=backup.example.com,resources=backups,verbs=get;list;watch
# +kubebuilder:rbac:groups=backup.example.com,resources=backups/status,verbs=update
# +kubebuilder:rbac:groups=backup.example.com,resources=backups/finalizers,verbs=update
# +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch;create;delete
# +kubebuilder:rbac:groups=core,resources=persistentvolumeclaims,verbs=get;list;watch;create;patch
# +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch


def utc_now() -> datetime:
    return datetime.now(UTC)


class BackupReconciler:
    """Does what is due now for one Backup; `now` returns the time in UTC."""

    def __init__(
        self,
        client: Client,
        recorder: EventRecorder,
        *,
        now: Callable[[], datetime] = utc_now,
    ) -> None:
        self._client = client
        self._recorder = recorder
        self._children = Children(client, recorder=recorder)
        self._now = now

    async def reconcile(self, request: Request) -> Result:
        """Compare the actual with the desired state, and act. This must be idempotent."""
        # Fresh: the status has the time until which the schedule is processed.
        backup = await self._client.get(Backup, request, fresh=True)
        if backup is None or backup.metadata.deletion_timestamp:
            return Result()  # its dependents are deleted with it
        now = self._now()
        try:
            schedule = Schedule.parse(backup.spec.schedule, backup.spec.time_zone)
        except InvalidSchedule as error:
            status = decisions.status_of_problem(backup, "InvalidSchedule", str(error), now)
            await self._write(backup, status)
            return Result()  # until the spec changes
        family = await self._children.apply(backup, [decisions.volume_for(backup)])
        family.check()
        return await self._follow(backup, schedule, now)

    async def _follow(self, backup: Backup, schedule: Schedule, now: datetime) -> Result:
        """Start what is due, delete old Jobs, and update the status."""
        jobs = await self._jobs(backup)
        deadline = timedelta(seconds=backup.spec.starting_deadline_seconds)
        what = due(schedule, since=decisions.done_until(backup), now=now, deadline=deadline)
        what = self._without_missed(backup, what)
        started = None
        if what.start is not None and _is_there(backup, what.start, jobs):
            started = what.start  # the last pass ended before it wrote the status
        elif what.start is not None:
            jobs = await self._make_room(backup, jobs)
            if backup.spec.concurrency_policy == "Allow" or not Runs.of(jobs).active:
                jobs.append(await self._start(backup, what.start))
                started = what.start
        runs = Runs.of(jobs)
        for job in runs.unwanted(backup):
            await self._delete(job)
        status = decisions.status_from(backup, runs, now, due=what, started=started)
        await self._write(backup, status)
        # If a backup waits for the end of another one, the event of that Job triggers a pass.
        return Result(requeue_after=max(1.0, (what.next - now).total_seconds()))

    def _without_missed(self, backup: Backup, what: Due) -> Due:
        """A suspended schedule skips its times; a backup that is too late is reported."""
        if backup.spec.suspend and what.start is not None:
            return Due(start=None, missed=what.start, next=what.next)
        if what.missed is not None and not backup.spec.suspend:
            self._recorder.event(
                backup,
                WARNING,
                "MissedSchedule",
                "Start",
                f"the backup of {decisions.moment(what.missed)} was not started in time",
            )
        return what

    async def _jobs(self, backup: Backup) -> list[Manifest]:
        """Return the Jobs that this Backup controls."""
        found = await self._client.list(
            JOB,
            namespace=backup.metadata.namespace,
            labels={decisions.BACKUP: decisions.labels_for(backup)[decisions.BACKUP]},
        )
        owner = backup.to_manifest()
        return [job for job in found if owners.is_controlled_by(job, owner)]

    async def _make_room(self, backup: Backup, jobs: list[Manifest]) -> list[Manifest]:
        """Return the Jobs that stay when a new one is due."""
        if backup.spec.concurrency_policy != "Replace":
            return jobs
        for job in Runs.of(jobs).active:
            await self._delete(job)
            note = f"stopped {objects.name(job)}: the next backup is due"
            self._recorder.event(backup, WARNING, "Replaced", "Stop", note)
        ended = Runs.of(jobs)
        return [*ended.successful, *ended.failed]

    async def _start(self, backup: Backup, at: datetime) -> Manifest:
        """Create the Job of a time, or return the existing one that the cache did not have."""
        wanted = decisions.job_for(backup, at)
        owner = backup.to_manifest()
        owners.set_controller_reference(owner, wanted)
        try:
            job = await self._client.create(wanted)
        except AlreadyExists:
            key = Request(objects.name(wanted), objects.namespace(wanted))
            there = await self._client.direct.get(JOB, key)
            if there is None or not owners.is_controlled_by(there, owner):
                raise
            return there
        _LOG.info("started", extra={"backup": backup.metadata.name, "job": objects.name(job)})
        note = f"started {objects.name(job)}"
        self._recorder.event(backup, NORMAL, "Started", "Start", note, related=job)
        return job

    async def _delete(self, job: Manifest) -> None:
        """Delete a Job and, after it, its pods."""
        await self._client.delete(
            JOB,
            Request(objects.name(job), objects.namespace(job)),
            uid=str(objects.metadata(job).get("uid", "")),
            propagation=Propagation.BACKGROUND,
        )

    async def _write(self, backup: Backup, status: BackupStatus) -> None:
        changed = backup.model_copy(update={"status": status})
        try:
            await self._client.update_status(changed)
        except NotFound:
            return  # it was deleted in the meantime


def _is_there(backup: Backup, at: datetime, jobs: list[Manifest]) -> bool:
    return decisions.job_name(backup, at) in map(objects.name, jobs)
