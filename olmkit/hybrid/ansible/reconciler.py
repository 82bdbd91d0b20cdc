"""Reconcile objects of one kind by running a role or a playbook in a separate process.

Events are read to the end of the run, also after the play has requested the next run: its later
failures count, and its status is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olmkit.base.diagnostics import OlmkitError
from olmkit.base.go import durations
from olmkit.edges.cluster.run_proxy import RunProxy
from olmkit.edges.programs.ansible import runs
from olmkit.edges.programs.ansible.runs import Run, RunContent, RunError, Runner
from olmkit.hybrid import masks
from olmkit.hybrid.ansible import run_events, run_variables
from olmkit.hybrid.ansible import status as ansible_status
from olmkit.hybrid.ansible.run_access import RunAccess, WatchKind
from olmkit.hybrid.ansible.run_events import Event, Outcome
from olmkit.hybrid.ansible.status import Status
from olmkit.hybrid.ansible.watches import AnsibleWatch
from olmkit.kube import finalizers, objects
from olmkit.kube.api import NotFound
from olmkit.kube.objects import Manifest
from olmkit.runtime.client import Client, retry_on_conflict
from olmkit.runtime.events import WARNING, EventRecorder
from olmkit.runtime.work.reconcile import Request, Result

_LOG = logging.getLogger(__name__)
_PREFIX = "ansible.sdk.operatorframework.io/"
_MOST_VERBOSE = 7
_NOTHING, _TASKS = "nothing", "tasks"
_OUTPUT = 2000  # events whose output is logged together
_SAID = 20  # lines of an incomplete run


class FailedRunError(OlmkitError):
    """The run failed; the object is retried with back-off."""


Observe = Callable[[bool, float], None]
"""Receives each run: whether it succeeded, and its seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSettings:
    """The settings of all runs of a kind; times in seconds.

    `folder` is for the output of runs; `log_events` is `tasks`, `everything` or `nothing`.
    `logs_output`: after a run, its whole output is logged in one line.
    """

    folder: Path
    period: float = 36_000.0
    timeout: float = 0.0
    verbosity: int = 2
    log_events: str = _TASKS
    logs_output: bool = False
    sets_owner: bool = True
    arguments: Sequence[str] = ()


@dataclass(slots=True, kw_only=True)
class AnsibleReconciler:
    """`content` is that of the entry, `finalizing` that of its finalizer.

    `now` returns the time in the format of conditions, `clock` returns seconds.
    """

    watch: AnsibleWatch
    content: RunContent
    finalizing: RunContent
    runner: Runner
    proxy: RunProxy
    client: Client
    settings: RunSettings
    now: Callable[[], str]
    clock: Callable[[], float]
    recorder: EventRecorder | None = None
    watch_kind: WatchKind | None = None
    observe: Observe | None = None
    _count: Any = field(default_factory=lambda: itertools.count(1), init=False)

    async def reconcile(self, request: Request) -> Result:
        """Reconcile one object; raises errors after they are in the status."""
        owner = await self.client.get(self.watch.gvk, request)
        if owner is None:
            runs.forget(self._folder(request))
            return Result()
        if not self._is_selected(owner):
            return Result()
        is_deleted = finalizers.is_being_deleted(owner)
        finalizer = self.watch.finalizer
        has_finalizer = finalizer is not None and finalizers.contains(owner, finalizer.name)
        if is_deleted and not has_finalizer:
            return Result()
        if finalizer is not None and not is_deleted and not has_finalizer:
            changed = _copy(owner)
            finalizers.add(changed, finalizer.name)
            owner = await self.client.patch(owner, changed, locked=True)
        try:
            period = self._period(owner)
            arguments = self._numbers(owner)
        except ValueError as error:
            await self._report_not_run(request, str(error))
            raise FailedRunError(str(error)) from None
        if self.watch.manages_status:
            await self._report(request, lambda it: ansible_status.started(it, now=self.now()))
        outcome = await self._run(owner, arguments, is_deleted=is_deleted)
        return await self._finished(request, owner, outcome, period, is_deleted=is_deleted)

    async def differences(self, request: Request) -> list[str]:
        """Return the changes of a run in check mode as lines without secrets."""
        owner = await self.client.get(self.watch.gvk, request)
        if owner is None or not self._is_selected(owner):
            return []
        is_deleted = finalizers.is_being_deleted(owner)
        found: list[str] = []
        access = self._access(owner, is_check=True)

        def take(event: Event) -> None:
            found.extend(run_events.differences(event))

        outcome = await self._play(
            owner,
            access,
            self._numbers(owner),
            take,
            is_deleted=is_deleted,
            more=("--check", "--diff"),
        )
        if not outcome.is_success:
            found += [f"error: {one}" for one in outcome.failures]
        return [run_events.hidden(one, access.secrets) for one in found]

    # One run

    async def _run(self, owner: Manifest, numbers: tuple[int, int], *, is_deleted: bool) -> Outcome:
        """Run to the end; return the outcome without secrets."""
        access = self._access(owner)
        begun = self.clock()
        facts = {"object": f"{objects.namespace(owner)}/{objects.name(owner)}".lstrip("/")}

        output: list[str] = []

        def take(event: Event) -> None:
            self._log(event, facts, access.secrets)
            if self.settings.logs_output and event.output:
                output.append(event.output)
                del output[:-_OUTPUT]

        outcome = await self._play(owner, access, numbers, take, is_deleted=is_deleted)
        if output:
            text = run_events.hidden("\n".join(output), access.secrets)
            _LOG.info("output of a run", extra=facts | {"output": text})
        outcome.failures = [run_events.hidden(one, access.secrets) for one in outcome.failures]
        if self.observe is not None:
            self.observe(outcome.is_success, self.clock() - begun)
        return outcome

    async def _play(
        self,
        owner: Manifest,
        access: RunAccess,
        numbers: tuple[int, int],
        handle: Callable[[Event], None],
        *,
        is_deleted: bool,
        more: Sequence[str] = (),
    ) -> Outcome:
        outcome = Outcome()
        output: list[str] = []

        def line(data: bytes) -> None:
            event = run_events.parse(data)
            if event is None:
                output.append(data.decode(errors="replace")[:400])
                del output[:-_SAID]
                return
            outcome.take(event)
            handle(event)

        verbosity, keep = numbers
        try:
            variables, trusted = self._variables(owner, is_deleted=is_deleted)
        except RecursionError:
            outcome.failures.append("the object is nested too deeply for the variables of a run")
            return outcome
        try:
            with (
                self.proxy.grant(access) as server,
                runs.temporary_folder(self.settings.folder.parent) as temporary,
            ):
                run = Run(
                    content=self.finalizing if is_deleted else self.content,
                    folder=self._folder(Request(objects.name(owner), objects.namespace(owner))),
                    temporary=temporary,
                    ident=str(next(self._count)),
                    variables=variables,
                    trusted=trusted,
                    server=server,
                    namespace=objects.namespace(owner),
                    verbosity=verbosity,
                    keep=keep,
                    timeout=self._timeout,
                    arguments=(*self.settings.arguments, *more),
                )
                await self._run_process(run, line, outcome, access)
        except OSError as error:  # such as a full disk
            words = (error.strerror or str(error)).lower()
            outcome.is_finished = False
            outcome.failures.append(f"cannot write the files of the run: {words}")
        if not outcome.is_finished and not outcome.failures:
            words = " ".join(_from_error(output)).strip()
            outcome.failures.append(f"the run ended without a result: {words}".rstrip(": "))
        return outcome

    async def _run_process(
        self, run: Run, line: Callable[[bytes], None], outcome: Outcome, access: RunAccess
    ) -> None:
        """Run the process, and mask the secrets in the files that it leaves."""
        try:
            await self.runner.run(run, line)
        except RunError as error:
            outcome.is_finished = False
            outcome.failures.append(error.message)
        finally:
            # In a thread, because a run may leave much output.
            masking = asyncio.to_thread(runs.mask, run, _masks(access.secrets))
            await asyncio.shield(masking)

    async def _finished(
        self,
        request: Request,
        owner: Manifest,
        outcome: Outcome,
        period: float,
        *,
        is_deleted: bool,
    ) -> Result:
        message = "\n".join(outcome.failures)
        result = outcome.result() if outcome.is_finished else None
        if outcome.is_success and is_deleted:
            await self._release(request)
            return Result()
        if not outcome.is_success and await self._is_gone(request, owner):
            _LOG.info("the object was deleted during its run", extra={"error": message})
            return Result()
        if self.watch.manages_status:

            def change(status: Status) -> None:
                if outcome.is_success:
                    ansible_status.succeeded(status, outcome.result(), now=self.now())
                else:
                    ansible_status.failed(status, message, result, now=self.now())

            await self._report(request, change)
        if not outcome.is_success:
            if self.recorder is not None:
                self.recorder.event(owner, WARNING, "RunFailed", "Run", message[:1000])
            raise FailedRunError(message)
        after = outcome.requeue_after
        return Result(requeue_after=period if after is None else after)

    async def _is_gone(self, request: Request, owner: Manifest) -> bool:
        """Return whether the object of a run is gone; a new one with its name has its own runs."""
        found = await self.client.get(self.watch.gvk, request, fresh=True)
        if found is None:
            runs.forget(self._folder(request))
        return found is None or _uid(found) != _uid(owner)

    async def _release(self, request: Request) -> None:
        """Remove the finalizer from an object whose last run succeeded."""
        finalizer = self.watch.finalizer

        async def work() -> None:
            owner = await self.client.get(self.watch.gvk, request, fresh=True)
            if owner is None or finalizer is None:
                return
            changed = _copy(owner)
            finalizers.remove(changed, finalizer.name)
            await self.client.patch(owner, changed, locked=True)

        with contextlib.suppress(NotFound):  # it was deleted meanwhile
            await retry_on_conflict(work)
        runs.forget(self._folder(request))

    async def _report_not_run(self, request: Request, message: str) -> None:
        await self._report(request, lambda it: ansible_status.not_run(it, message, now=self.now()))

    async def _report(self, request: Request, change: Callable[[Status], None]) -> None:
        """Change the conditions; fields that the play wrote to the status meanwhile are kept."""

        async def work() -> None:
            owner = await self.client.get(self.watch.gvk, request, fresh=True)
            if owner is None:
                return
            status = ansible_status.of(owner)
            change(status)
            if status != owner.get("status"):
                changed = {**owner, "status": status}
                await self.client.patch(owner, changed, subresource="status", locked=True)

        with contextlib.suppress(NotFound):  # it was deleted meanwhile
            await retry_on_conflict(work)

    # Settings of a run

    def _access(self, owner: Manifest, *, is_check: bool = False) -> RunAccess:
        return RunAccess(
            owner=owner,
            sets_owner=self.settings.sets_owner,
            is_check=is_check,
            watch_kind=self.watch_kind if self.watch.watches_dependents else None,
            unwatched=self.watch.blacklist,
        )

    def _variables(self, owner: Manifest, *, is_deleted: bool) -> tuple[bytes, bytes]:
        finalizer = self.watch.finalizer
        found = run_variables.object_variables(owner, snake_case_names=self.watch.has_snake_case)
        trusted = dict(self.watch.variables)
        if is_deleted and finalizer is not None:
            trusted |= finalizer.variables
        if self.watch.is_unsafe:
            for name in run_variables.find_reserved(found):
                del found[name]
                facts = {"object": objects.name(owner), "variable": name}
                _LOG.warning("a field of the spec has a name of Ansible's own", extra=facts)
        return run_variables.files(found, trusted, is_unsafe=self.watch.is_unsafe)

    @property
    def _timeout(self) -> float:
        return self.watch.timeout if self.watch.timeout is not None else self.settings.timeout

    def _folder(self, request: Request) -> Path:
        gvk = self.watch.gvk
        steps = (gvk.group, gvk.version, gvk.kind, request.namespace, request.name)
        return self.settings.folder.joinpath(*(one or "_" for one in steps))

    def _period(self, owner: Manifest) -> float:
        """Return the seconds until the next run; `ValueError` for an invalid annotation."""
        value = objects.annotations_of(owner).get(f"{_PREFIX}reconcile-period")
        if value is not None:
            return max(0.0, durations.parse(value))
        return self.watch.reconcile_period or self.settings.period

    def _numbers(self, owner: Manifest) -> tuple[int, int]:
        """Return verbosity and the number of kept runs; raises `ValueError`."""
        annotations = objects.annotations_of(owner)
        verbosity = _number(annotations, "verbosity", self.settings.verbosity)
        keep = _number(annotations, "max-runner-artifacts", self.watch.max_artifacts)
        return min(verbosity, _MOST_VERBOSE), keep

    def _is_selected(self, owner: Manifest) -> bool:
        selector = self.watch.selector
        return selector is None or selector.matches(objects.labels_of(owner))

    def _log(self, event: Event, facts: Mapping[str, str], secrets: Sequence[str]) -> None:
        if self.settings.log_events == _NOTHING:
            return
        found = run_events.facts(event)
        if self.settings.log_events != _TASKS and event.output:
            found = found | {"output": event.output}
        shown = {key: run_events.hidden(value, secrets) for key, value in found.items() if value}
        if not shown:
            return
        is_begin = event.type == "playbook_on_task_start"
        level = logging.ERROR if event.is_failure else logging.INFO
        if is_begin and self.settings.log_events == _TASKS:
            level = logging.DEBUG  # its result is also a line
        _LOG.log(level, "ansible", extra={**facts, "event": event.type, **shown})


def _number(annotations: Mapping[str, str], name: str, otherwise: int) -> int:
    value = annotations.get(_PREFIX + name)
    if value is None:
        return otherwise
    if not (value.isascii() and value.isdigit()):
        raise ValueError(f"the annotation `{_PREFIX}{name}` is not a number: `{value:.80}`")
    return int(value)


def _from_error(lines: Sequence[str]) -> Sequence[str]:
    """Return the output of a run from its first error on, or all of it."""
    for index, line in enumerate(lines):
        if line.startswith(("[ERROR]", "ERROR!")):
            return lines[index:]
    return lines


def _masks(secrets: Sequence[str]) -> dict[bytes, bytes]:
    found: dict[bytes, bytes] = {}
    for one in secrets:
        for text in (one, json.dumps(one)[1:-1]):
            found[text.encode()] = masks.MASK.encode()
    return found


def _uid(manifest: Manifest) -> Any:
    return objects.metadata(manifest).get("uid")


def _copy(manifest: Manifest) -> Manifest:
    metadata = dict(objects.metadata(manifest))
    if "finalizers" in metadata:
        metadata["finalizers"] = list(metadata["finalizers"])
    return {**manifest, "metadata": metadata}
