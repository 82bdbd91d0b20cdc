"""The kind `Backup`.

`olmkit generate` reads this file as text: the CRD, the descriptors in the CSV and
their texts come from the classes, their docstrings and the marker comments.
"""

from typing import ClassVar, Literal

from olmkit.runtime import (
    GVK,
    Condition,
    CustomResource,
    Int32,
    Int64,
    Model,
    Quantity,
    Time,
)
from pydantic import Field


class BackupSpec(Model):
    """BackupSpec defines the desired state of Backup."""

    # +kubebuilder:validation:MinLength=1
    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Schedule"
    schedule: str
    """When backups start, in cron syntax, such as `0 3 * * *`."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Time zone"
    time_zone: str = "UTC"
    """The time zone of the schedule, by its name in the IANA database."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Suspended",xDescriptors={"urn:alm:descriptor:com.tectonic.ui:booleanSwitch"}
    suspend: bool = False
    """Start no more backups; what runs is not stopped, and nothing is caught up later."""

    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Concurrency policy"
    concurrency_policy: Literal["Allow", "Forbid", "Replace"] = "Forbid"
    """What happens when a backup is due while another one runs."""

    # +kubebuilder:validation:Minimum=10
    starting_deadline_seconds: Int64 = 3600
    """How late a backup may start, for example after the operator was down."""

    # +kubebuilder:validation:Minimum=1
    # +operator-sdk:csv:customresourcedefinitions:type=spec,displayName="Backups to keep"
    keep: Int32 = 7
    """How many successful backups are kept."""

    # +kubebuilder:validation:Minimum=0
    keep_failed: Int32 = 1
    """How many failed Jobs are kept."""

    storage: Quantity = "1Gi"
    """The size of the volume that holds the backups."""

    # +kubebuilder:validation:MinLength=1
    image: str
    """The image that makes a backup."""

    # +listType=atomic
    # +kubebuilder:validation:MinItems=1
    command: list[str]
    """The command that makes a backup. It gets `BACKUP_NAME`, `BACKUP_DIR` and `BACKUP_KEEP`."""


class BackupStatus(Model):
    """BackupStatus defines the observed state of Backup."""

    # +listType=map
    # +listMapKey=type
    # +operator-sdk:csv:customresourcedefinitions:type=status,displayName="Conditions",xDescriptors={"urn:alm:descriptor:io.kubernetes.conditions"}
    conditions: list[Condition] = Field(default_factory=list)
    """`Ready`: backups will start. `Successful`: the newest finished backup succeeded."""

    observed_generation: Int64 = 0
    """The generation of the spec that this status describes."""

    # +listType=set
    active: list[str] = Field(default_factory=list)
    """The Jobs that run."""

    last_schedule_time: Time | None = None
    """The newest time of the schedule at which a backup was started."""

    last_missed_time: Time | None = None
    """The newest time of the schedule at which none was started: too late, or suspended."""

    last_successful_time: Time | None = None
    """When the newest successful backup ended."""

    next_schedule_time: Time | None = None
    """The next time of the schedule."""


# +kubebuilder:subresource:status
# +kubebuilder:printcolumn:name="Schedule",type=string,JSONPath=".spec.schedule"
# +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=".spec.suspend"
# +kubebuilder:printcolumn:name="Last success",type=date,JSONPath=".status.lastSuccessfulTime"
# +operator-sdk:csv:customresourcedefinitions:displayName="Backup",resources={{Job,v1,},{PersistentVolumeClaim,v1,}}
class Backup(CustomResource):
    """Backup starts a Job at each time of a schedule, and keeps the last ones."""

    gvk: ClassVar[GVK] = GVK(group="backup.example.com", version="v1alpha1", kind="Backup")

    spec: BackupSpec
    """What is wanted."""

    status: BackupStatus | None = None
    """What there is."""
