"""Explain why a container does not run: it cannot start, terminates, is killed, or is not ready.

A container that terminates repeatedly passes through three states: `terminated`, `waiting` with the
reason `CrashLoopBackOff`, and `running`. The verdict is the same in all of them, because it comes
from the run that ended last.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import Diagnosis, Readiness
from olmkit.olm.explain.workloads import images, missing, probes, templates
from olmkit.olm.explain.workloads.templates import TemplatePlace

_CONFIG = ("CreateContainerConfigError", "CreateContainerError", "RunContainerError",
           "PreCreateHookError", "PreStartHookError", "PostStartHookError")  # fmt: skip
_STARTS = ("StartError", "ContainerCannotRun")
_EXEC = re.compile(
    r'exec:? "(?P<program>[^"]+)":? (?:stat [^:]+: )?'
    r"(?P<why>[^:]+(?:: executable file not found[^:]*)?)"
)
# What controller-runtime, client-go and kooper print.
_LEASE_LOST = re.compile(r"leader(?:ship| election)? lost|failed to renew lease", re.IGNORECASE)
_ROOT = re.compile(
    r"container has runAsNonRoot and image (?:will run as root"
    r"|has non-numeric user \((?P<user>[^)]*)\))|container's runAsUser breaks non-root policy"
)
_GIVEN_UP = 5  # restarts after which waiting does not help: the back-off is then minutes long
_RESET = 600.0  # seconds after which the kubelet forgets earlier restarts
_SIGNALS = {6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE",
            15: "SIGTERM"}  # fmt: skip


def explain_container(
    snapshot: ClusterState, pod: Manifest, status: Mapping[str, Any], template: TemplatePlace
) -> Diagnosis | None:
    """Explain why the container does not run or is not ready; None if it does or is starting."""
    waiting = mapping(mapping(status.get("state")).get("waiting"))
    reason = text(waiting.get("reason"))
    if reason in images.REASONS:
        return images.explain_image(snapshot, pod, status, template)
    if reason in _CONFIG:
        return _explain_failed_start(pod, status, text(waiting.get("message")), template)
    ended = last_run(pod, status)
    if ended is not None and not _has_recovered(snapshot, status, ended):
        return _explain_last_run(snapshot, pod, status, ended, template)
    if "running" in mapping(status.get("state")) and status.get("ready") is not True:
        return _explain_not_ready(snapshot, pod, status, template)
    return None


def explain_restarts(
    snapshot: ClusterState, pod: Manifest, status: Mapping[str, Any], template: TemplatePlace
) -> Diagnosis | None:
    """Explain why a container that is now ready restarts repeatedly; None if it does not.

    This needs a snapshot with a timestamp.
    """
    ended = last_run(pod, status)
    if ended is None or kinds.number(status.get("restartCount")) < 2 or not snapshot.moment:
        return None
    if _has_recovered(snapshot, status, ended):
        return None
    return _explain_last_run(snapshot, pod, status, ended, template)


def last_run(pod: Manifest, status: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the state `terminated` of the last run, if it terminated unexpectedly."""
    state = mapping(status.get("state"))
    current = mapping(state.get("terminated"))
    before = mapping(mapping(status.get("lastState")).get("terminated"))
    found = current or before
    if not found:
        return None
    if found.get("exitCode") != 0:
        return found
    # A container that must not exit has also failed if it exits without an error.
    name = text(status.get("name"))
    runs_on = any(
        mapping(one).get("name") == name for one in objects.sequence(_spec(pod).get("containers"))
    )
    always = _spec(pod).get("restartPolicy", "Always") == "Always"
    return found if runs_on and always else None


def needs_previous_log(pod: Manifest, status: Mapping[str, Any]) -> bool | None:
    """Return whether the run before the current one has the useful log; None if neither has."""
    if last_run(pod, status) is None:
        return None
    return "terminated" not in mapping(status.get("state"))


def _explain_last_run(
    snapshot: ClusterState,
    pod: Manifest,
    status: Mapping[str, Any],
    ended: Mapping[str, Any],
    template: TemplatePlace,
) -> Diagnosis:
    name = text(status.get("name"))
    reason = text(ended.get("message"))
    if ended.get("reason") in _STARTS or (_EXEC.search(reason) and ended.get("exitCode") == 128):
        return _explain_failed_start(pod, status, reason, template)
    if ended.get("reason") == "OOMKilled":
        return _explain_out_of_memory(snapshot, pod, status, template)
    kind = probes.find_killing_probe(snapshot, pod, name, ended)
    if kind:
        return _explain_killed(snapshot, pod, status, kind, template)
    return _explain_crash(snapshot, pod, status, ended)


def _explain_failed_start(
    pod: Manifest, status: Mapping[str, Any], message: str, template: TemplatePlace
) -> Diagnosis:
    name, namespace = text(status.get("name")), objects.namespace(pod)
    place = f"container `{name}` of pod `{objects.name(pod)}`"
    link = explanation.link(pod, _state(status))
    lacking = missing.find_in_environment(message, pod, name)
    if lacking is not None:
        return Diagnosis(
            cause="container-cannot-start",
            message=f"{place} cannot start: {lacking.message(namespace)}",
            hint=lacking.hint(namespace, template, missing.expected_key(pod, lacking)),
            links=(link,),
        )
    root = _ROOT.search(message)
    if root is not None:
        return _explain_root_user(pod, status, root["user"] or "", link, template)
    program = _EXEC.search(message)
    if program is not None:
        why = program["why"].removesuffix(": unknown")
        absent = "no such file" in why or "not found" in why
        return Diagnosis(
            cause="container-cannot-start",
            message=f"{place} cannot start: "
            + (
                f"its image has no program `{program['program']}`"
                if absent
                else f"`{program['program']}` cannot be executed: {why}"
            ),
            hint=template.change(f"correct `command` of container `{name}`")
            + ", or build the image with that program",
            links=(link,),
            readiness=Readiness.BLOCKED,
        )
    return Diagnosis(
        cause="container-cannot-start",
        message=f"{place} cannot start: {explanation.first_line(message) or 'no reason is given'}",
        hint=f"see its events: `kubectl describe pod -n {namespace} {objects.name(pod)}`",
        links=(link,),
    )


def _explain_root_user(
    pod: Manifest,
    status: Mapping[str, Any],
    user: str,
    link: explanation.ChainLink,
    template: TemplatePlace,
) -> Diagnosis:
    name = text(status.get("name"))
    why = (
        f"the user `{user}` of its image is a name, which may be root"
        if user
        else "its user is root"
    )
    return Diagnosis(
        cause="container-cannot-start",
        message=f"container `{name}` of pod `{objects.name(pod)}` cannot start: `runAsNonRoot` "
        f"is set, and {why}",
        hint=template.change(f"set `securityContext.runAsUser` of container `{name}` to a number "
                             "above 0")
        + ", or build the image with such a `USER`",
        links=(link,),
        readiness=Readiness.BLOCKED,
    )  # fmt: skip


def _explain_out_of_memory(
    snapshot: ClusterState, pod: Manifest, status: Mapping[str, Any], template: TemplatePlace
) -> Diagnosis:
    name = text(status.get("name"))
    limit = templates.limit(pod, name, "memory")
    if limit:
        how = f"it uses more memory than its limit `{limit}`"
    elif templates.container(pod, name):
        how = "the node runs out of memory, and the container has no memory limit"
    else:
        how = "it uses more memory than it may"
    advice = template.change(
        f"raise `resources.limits.memory` of container `{name}`"
        if limit
        else f"set `resources.requests.memory` of container `{name}`",
        "resources",
    )
    return Diagnosis(
        cause="container-crashes",
        message=f"container `{name}` of pod `{objects.name(pod)}` is killed: {how}",
        hint=advice,
        links=(explanation.link(pod, _state(status)),),
        log=_log(snapshot, pod, name),
        readiness=_readiness(status),
    )


def _explain_killed(
    snapshot: ClusterState,
    pod: Manifest,
    status: Mapping[str, Any],
    kind: str,
    template: TemplatePlace,
) -> Diagnosis:
    """Explain a container that the kubelet restarts because its liveness or startup probe fails."""
    name = text(status.get("name"))
    answer = probes.find_answer(snapshot, pod, name, kind)
    what = probes.describe_probe(pod, name, kind)
    why = probes.explain_answer(pod, name, kind, answer)
    reason = ": ".join(part for part in (what, why) if part)
    return Diagnosis(
        cause="probe-fails",
        message=f"container `{name}` of pod `{objects.name(pod)}` keeps being restarted, "
        f"because its {kind} probe fails{f': {reason}' if reason else ''}",
        hint=probes.hint(pod, status, kind, answer, template),
        links=(explanation.link(pod, _state(status)),),
        log=_log(snapshot, pod, name),
        readiness=_readiness(status),
    )


def _explain_crash(
    snapshot: ClusterState, pod: Manifest, status: Mapping[str, Any], ended: Mapping[str, Any]
) -> Diagnosis:
    name, code = text(status.get("name")), ended.get("exitCode")
    log = _log(snapshot, pod, name)
    reason = _find_cause_line(pod, name, text(ended.get("message")), log)
    signal = _SIGNALS.get(code - 128) if isinstance(code, int) else None
    how = f"with exit code {code}" + (f" ({signal})" if signal else "")
    if code == 0:
        how = "by itself with exit code 0, but it must keep running"
    hint = f"read its log: `{templates.log_command(pod, status)}`"
    if "exec format error" in reason:
        hint = "publish the image for the architecture of the node"
    elif _LEASE_LOST.search(reason):
        hint = (
            "check the load of the API server, of etcd and of the node: the operator could not "
            f"renew its lease in time, and ended; {hint}"
        )
    return Diagnosis(
        cause="container-crashes",
        message=f"container `{name}` of pod `{objects.name(pod)}` ends {how}"
        f"{f': {reason}' if reason else ''}",
        hint=hint,
        links=(explanation.link(pod, _state(status)),),
        log=log,
        readiness=_readiness(status),
    )


def _explain_not_ready(
    snapshot: ClusterState, pod: Manifest, status: Mapping[str, Any], template: TemplatePlace
) -> Diagnosis | None:
    """Explain why a running container is not ready: the failing probe, if a probe has failed."""
    name = text(status.get("name"))
    kind, answer = probes.find_failed_probe(snapshot, pod, name)
    if not kind:
        return None
    what = probes.describe_probe(pod, name, kind)
    why = probes.explain_answer(pod, name, kind, answer)
    reason = ": ".join(part for part in (what, why) if part)
    return Diagnosis(
        cause="probe-fails",
        message=f"container `{name}` of pod `{objects.name(pod)}` runs but does not become ready, "
        f"because its {kind} probe fails: {reason}",
        hint=probes.hint(pod, status, kind, answer, template),
        links=(explanation.link(pod, f"{kinds.phase(pod)}, not ready"),),
    )


def _has_recovered(
    snapshot: ClusterState, status: Mapping[str, Any], ended: Mapping[str, Any]
) -> bool:
    """Return whether the current run has lasted longer than a run that will also fail."""
    running = mapping(mapping(status.get("state")).get("running"))
    start = explanation.moment(running.get("startedAt"))
    now = explanation.moment(snapshot.moment) or _newest_event_time(snapshot)
    if start is None or now is None:
        return False
    begin, end = (
        explanation.moment(ended.get("startedAt")),
        explanation.moment(ended.get("finishedAt")),
    )
    lasted = (end - begin).total_seconds() if begin and end else 0.0
    return (now - start).total_seconds() > min(max(2 * lasted, 60.0), _RESET)


def _newest_event_time(snapshot: ClusterState) -> datetime | None:
    """Return the time of the newest event, for a snapshot that does not know its own."""
    times = (explanation.moment(event.get("lastTimestamp")) for event in snapshot.events)
    return max((one for one in times if one is not None), default=None)


def _readiness(status: Mapping[str, Any]) -> Readiness:
    """Return BLOCKED after many restarts: waiting does not help, since the count only grows."""
    restarts = kinds.number(status.get("restartCount"))
    return Readiness.BLOCKED if restarts >= _GIVEN_UP else Readiness.STUCK


def _state(status: Mapping[str, Any]) -> str:
    state = mapping(status.get("state"))
    reason = text(mapping(state.get("waiting")).get("reason"))
    if not reason:
        reason = "ended" if "terminated" in state else "running again"
    restarts = kinds.number(status.get("restartCount"))
    plural = "" if restarts == 1 else "s"
    return f"container `{text(status.get('name'))}`: {reason}, {restarts} restart{plural}"


def _find_cause_line(pod: Manifest, name: str, message: str, log: str) -> str:
    """Return the line that best explains why a container ended: of its message, else of its log.

    A program writes its message itself, with the cause first; with `FallbackToLogsOnError` the
    message is the end of the log.
    """
    lines = [line.strip() for line in message.split("\n") if line.strip()]
    policy = templates.container(pod, name).get("terminationMessagePolicy")
    if lines and policy != "FallbackToLogsOnError":
        return explanation.first_line(lines[0])
    lines = lines or [line.strip() for line in log.split("\n") if line.strip()]
    return explanation.first_line(lines[-1]) if lines else ""


def _log(snapshot: ClusterState, pod: Manifest, name: str) -> str:
    return snapshot.logs.get(f"{objects.namespace(pod)}/{objects.name(pod)}/{name}", "")


def _spec(pod: Manifest) -> Mapping[str, Any]:
    return objects.pod_spec(pod)
