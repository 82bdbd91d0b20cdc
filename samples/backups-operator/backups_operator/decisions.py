"""The decisions of the operator: the desired objects, and the contents of the status.

Functions of values; tests need no cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from olmkit.runtime import GVK, Condition, Manifest, conditions, names, objects

from backups_operator.api.v1alpha1.backup import Backup, BackupStatus
from backups_operator.schedule import Due

JOB = GVK(group="batch", version="v1", kind="Job")
VOLUME = GVK(group="", version="v1", kind="PersistentVolumeClaim")

BACKUP = "backup.example.com/backup"
"""Label of a Job with the name of its Backup, shortened."""
SCHEDULED_AT = "backup.example.com/scheduled-at"

READY, SUCCESSFUL = "Ready", "Successful"


@dataclass(frozen=True, slots=True)
class Runs:
    """The Jobs of one Backup; completed ones are newest first."""

    active: tuple[Manifest, ...]
    successful: tuple[Manifest, ...]
    failed: tuple[Manifest, ...]

    @classmethod
    def of(cls, jobs: Iterable[Manifest]) -> Runs:
        found = sorted(jobs, key=_order, reverse=True)
        return cls(
            active=tuple(one for one in found if not _ended(one)),
            successful=tuple(one for one in found if _ended(one) == "Complete"),
            failed=tuple(one for one in found if _ended(one) == "Failed"),
        )

    def unwanted(self, backup: Backup) -> tuple[Manifest, ...]:
        """Return the Jobs above the numbers to keep."""
        return self.successful[backup.spec.keep :] + self.failed[backup.spec.keep_failed :]


def job_name(backup: Backup, at: datetime) -> str:
    """Return the same name for the same time, so that a backup never starts twice."""
    return f"{names.shortened(backup.metadata.name, 52)}-{int(at.timestamp()) // 60}"


def labels_for(backup: Backup) -> dict[str, str]:
    return {
        BACKUP: names.shortened(backup.metadata.name),
        "app.kubernetes.io/managed-by": "backups-operator",
    }


def volume_for(backup: Backup) -> Manifest:
    """Return the volume to which all backups are written."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": backup.metadata.name, "labels": labels_for(backup)},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": backup.spec.storage}},
        },
    }


def job_for(backup: Backup, at: datetime) -> Manifest:
    """Return the Job of one time of the schedule."""
    name = job_name(backup, at)
    environment = {
        "BACKUP_NAME": at.strftime("%Y%m%d-%H%M"),
        "BACKUP_DIR": "/backups",
        "BACKUP_KEEP": str(backup.spec.keep),
    }
    container = {
        "name": "backup",
        "image": backup.spec.image,
        "command": backup.spec.command,
        "env": [{"name": key, "value": value} for key, value in environment.items()],
        "volumeMounts": [{"name": "backups", "mountPath": "/backups"}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    claim = {"claimName": backup.metadata.name}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": backup.metadata.namespace,
            "labels": labels_for(backup),
            "annotations": {SCHEDULED_AT: moment(at)},
        },
        "spec": {
            "backoffLimit": 2,
            "template": {
                "metadata": {"labels": labels_for(backup)},
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [container],
                    "volumes": [{"name": "backups", "persistentVolumeClaim": claim}],
                    "securityContext": {
                        "runAsNonRoot": True,
                        "seccompProfile": {"type": "RuntimeDefault"},
                    },
                },
            },
        },
    }


def done_until(backup: Backup) -> datetime:
    """Return until when the times of the schedule are processed."""
    status = backup.status or BackupStatus()
    known = [status.last_schedule_time, status.last_missed_time, backup.metadata.creation_timestamp]
    return max((parse(one) for one in known if one), default=datetime.fromtimestamp(0, UTC))


def status_from(
    backup: Backup, runs: Runs, now: datetime, *, due: Due, started: datetime | None
) -> BackupStatus:
    """Return the new status of a Backup with a valid schedule."""
    old = backup.status or BackupStatus()
    if backup.spec.suspend:
        ready = _condition(backup, READY, "False", "Suspended", "no more backups are started")
    else:
        ready = _condition(backup, READY, "True", "Scheduled", f"`{backup.spec.schedule}`")
    ended = _ended_at(runs.successful[0]) if runs.successful else None
    return BackupStatus(
        conditions=_said(old, [ready, _success(backup, runs)], now),
        observed_generation=backup.metadata.generation,
        active=sorted(objects.name(one) for one in runs.active),
        last_schedule_time=moment(started) if started else old.last_schedule_time,
        last_missed_time=moment(due.missed) if due.missed else old.last_missed_time,
        last_successful_time=ended or old.last_successful_time,
        next_schedule_time=None if backup.spec.suspend else moment(due.next),
    )


def status_of_problem(backup: Backup, reason: str, message: str, now: datetime) -> BackupStatus:
    """Return the status of a Backup that cannot be scheduled; that of its Jobs is kept."""
    old = backup.status or BackupStatus()
    said = _said(old, [_condition(backup, READY, "False", reason, message)], now)
    changed = {
        "conditions": said,
        "observed_generation": backup.metadata.generation,
        "next_schedule_time": None,
    }
    return old.model_copy(update=changed)


def moment(at: datetime) -> str:
    """Format as RFC 3339 in whole seconds."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse(text: str) -> datetime:
    """Parse RFC 3339."""
    return datetime.fromisoformat(text)


def _success(backup: Backup, runs: Runs) -> conditions.Condition:
    ended = Runs.of((*runs.successful[:1], *runs.failed[:1]))
    good, bad = ended.successful, ended.failed
    if not good and not bad:
        return _condition(backup, SUCCESSFUL, "Unknown", "NoBackupYet", "no backup has ended yet")
    if bad and (not good or _order(bad[0]) > _order(good[0])):
        message = f"the Job {objects.name(bad[0])} failed"
        return _condition(backup, SUCCESSFUL, "False", "BackupFailed", message)
    message = f"the Job {objects.name(good[0])} is complete"
    return _condition(backup, SUCCESSFUL, "True", "BackupComplete", message)


def _condition(
    backup: Backup, kind: str, status: str, reason: str, message: str
) -> conditions.Condition:
    generation = backup.metadata.generation
    return conditions.condition(kind, status, reason, message, observed_generation=generation)


def _said(old: BackupStatus, new: Sequence[conditions.Condition], now: datetime) -> list[Condition]:
    """Return the conditions with the new ones; an unchanged one keeps its time."""
    found = [one.model_dump(by_alias=True, exclude_unset=True) for one in old.conditions]
    for one in new:
        conditions.set_condition(found, one, now=moment(now))
    return [Condition.model_validate(one) for one in found]


def _ended(job: Manifest) -> str:
    """Return `Complete` or `Failed`, or an empty string while the Job runs."""
    said = objects.sequence(objects.mapping(job.get("status")).get("conditions"))
    for kind in ("Complete", "Failed"):
        if conditions.is_true(said, kind):
            return kind
    return ""


def _ended_at(job: Manifest) -> str | None:
    return objects.text(objects.mapping(job.get("status")).get("completionTime")) or None


def _order(job: Manifest) -> tuple[str, str]:
    """Sort Jobs in the order of the schedule."""
    return objects.annotations_of(job).get(SCHEDULED_AT, ""), objects.name(job)
