"""The result of `explain`: the state of an install, and the reasons.

The chain leads from the request down to the cause: Subscription,
InstallPlan, Job or CSV, Deployment, Pod. The message is the cause in one line.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest

UNSEEN = "if it lasts, check that OLM runs: `olmkit olm status`"
"""What to do about an object that OLM has not processed."""


class Readiness(StrEnum):
    """Whether to wait.

    READY: nothing to wait for. WAITING: it makes progress. STUCK: it may still recover, but a user
    should look. BLOCKED: nothing changes until a user acts.
    """

    READY = "ready"
    WAITING = "waiting"
    STUCK = "stuck"
    BLOCKED = "blocked"


class FaultOrigin(StrEnum):
    """Whether the input or the environment is the cause."""

    MATERIAL = "material"
    WORLD = "world"


@dataclass(frozen=True, slots=True)
class ChainLink:
    """One object of the chain, and its state. `subject` is `Kind namespace/name`."""

    subject: str
    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """`cause` is a name for scripts; `log` are the last lines of a container.

    `details` are further lines about the cause, such as each missing permission. `version` is the
    installed version, or empty.
    """

    readiness: Readiness
    cause: str
    message: str
    hint: str = ""
    chain: tuple[ChainLink, ...] = ()
    log: str = ""
    details: tuple[str, ...] = ()
    origin: FaultOrigin = FaultOrigin.MATERIAL
    version: str = ""

    @property
    def is_ready(self) -> bool:
        return self.readiness is Readiness.READY


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The diagnosis of one object, before it is part of a chain."""

    cause: str
    message: str
    hint: str = ""
    links: tuple[ChainLink, ...] = ()
    log: str = ""
    details: tuple[str, ...] = ()
    readiness: Readiness = Readiness.STUCK
    origin: FaultOrigin = FaultOrigin.MATERIAL

    def below(self, *links: ChainLink) -> Explanation:
        """Return the finding as an explanation, with the objects above it."""
        return Explanation(
            readiness=self.readiness,
            cause=self.cause,
            message=self.message,
            hint=self.hint,
            chain=(*links, *self.links),
            log=self.log,
            details=self.details,
            origin=self.origin,
        )

    def under(self, top: ChainLink) -> Diagnosis:
        """Return the explanation with one more object above it."""
        return replace(self, links=(top, *self.links))


def link(manifest: Manifest, state: str) -> ChainLink:
    """Return an object as a link of the chain: `Kind namespace/name`, and its state."""
    return ChainLink(subject(manifest), state)


def subject(manifest: Manifest) -> str:
    """Return `Kind namespace/name`."""
    namespace = objects.namespace(manifest)
    place = f"{namespace}/" if namespace else ""
    return f"{objects.kind(manifest)} {place}{objects.name(manifest)}"


def moment(value: Any) -> datetime | None:
    """Parse an RFC 3339 time of an object; None if it is invalid or has no time zone."""
    try:
        found = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo is not None else None


def first_line(message: str, limit: int = 300) -> str:
    """Return the first line of a program's message, truncated to a readable length."""
    line = message.strip().split("\n", 1)[0].strip()
    return line if len(line) <= limit else line[:limit].rstrip() + " …"
