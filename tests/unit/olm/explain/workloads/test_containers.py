"""Containers that repeatedly end: one cause in all of their phases."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.olm import cluster_state
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Diagnosis, Explanation, Readiness
from olmkit.olm.explain.installs import explain
from olmkit.olm.explain.workloads import containers
from olmkit.olm.explain.workloads.templates import TemplatePlace

Manifest = dict[str, Any]
ENDED = {"exitCode": 3, "startedAt": "2026-01-01T10:00:00Z", "finishedAt": "2026-01-01T10:00:05Z",
         "containerID": "containerd://1", "reason": "Error"}  # fmt: skip
RUNS = {"running": {"startedAt": "2026-01-01T10:01:00Z"}}
WAITS = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off"}}


def pod(*, policy: str = "Always", **container: Any) -> Manifest:
    spec = {"restartPolicy": policy, "containers": [{"name": "manager", **container}]}
    return {"kind": "Pod", "metadata": {"name": "p", "namespace": "apps"}, "spec": spec,
            "status": {"phase": "Running"}}  # fmt: skip


def status(state: Manifest, last: Manifest | None = None, restarts: int = 2) -> Manifest:
    return {"name": "manager", "image": "x:1", "restartCount": restarts, "ready": False,
            "state": state, "lastState": {} if last is None else {"terminated": last}}  # fmt: skip


def event(reason: str, message: str, time: str = "2026-01-01T10:00:04Z") -> Manifest:
    about = {"kind": "Pod", "name": "p", "namespace": "apps",
             "fieldPath": "spec.containers{manager}"}  # fmt: skip
    return {"kind": "Event", "involvedObject": about, "reason": reason, "message": message,
            "lastTimestamp": time}  # fmt: skip


def explained(state: Manifest, of: Manifest | None = None, **fields: Any) -> Diagnosis | None:
    seen = ClusterState(namespace="apps", **fields)
    return containers.explain_container(
        seen, of or pod(), state, TemplatePlace("the bundle's Deployment")
    )


def required(state: Manifest, of: Manifest | None = None, **fields: Any) -> Diagnosis:
    found = explained(state, of, **fields)
    assert found is not None
    return found


def test_the_cause_is_the_same_in_all_phases_of_a_crash_loop() -> None:
    phases = [status({"terminated": ENDED}), status(WAITS, ENDED), status(RUNS, ENDED)]
    found = [required(phase, moment="2026-01-01T10:01:20Z") for phase in phases]
    assert {(one.cause, one.message, one.readiness) for one in found} == {
        ("container-crashes", "container `manager` of pod `p` ends with exit code 3",
         Readiness.STUCK)
    }  # fmt: skip


@pytest.mark.parametrize(("restarts", "expected"), [(0, "stuck"), (4, "stuck"), (5, "blocked")])
def test_a_container_that_has_ended_often_is_a_failure(restarts: int, expected: str) -> None:
    assert required(status(WAITS, ENDED, restarts)).readiness == expected


@pytest.mark.parametrize(
    ("moment", "is_crashing"),
    [("2026-01-01T10:01:59Z", True), ("2026-01-01T10:02:01Z", False)],
)
def test_a_run_that_lasts_long_enough_ends_the_cause(moment: str, *, is_crashing: bool) -> None:
    """A run of twice the time of the last one, but at least a minute."""
    assert (explained(status(RUNS, ENDED), moment=moment) is not None) is is_crashing


def test_a_container_that_is_ready_now_can_still_be_crashing() -> None:
    seen = ClusterState(namespace="apps", moment="2026-01-01T10:01:10Z")
    ready = status(RUNS, ENDED) | {"ready": True}
    assert containers.explain_restarts(seen, pod(), ready, TemplatePlace()) is not None
    assert (
        containers.explain_restarts(seen, pod(), ready | {"restartCount": 1}, TemplatePlace())
        is None
    )
    unknown = ClusterState(namespace="apps")
    assert containers.explain_restarts(unknown, pod(), ready, TemplatePlace()) is None


@pytest.mark.parametrize(
    ("state", "policy", "is_previous"),
    [
        (status({"terminated": ENDED}), "Always", False),  # its first run: there is no earlier one
        (status({"terminated": ENDED}, ENDED), "Always", True),
        (status(WAITS, ENDED), "Always", True),
        (status(RUNS, ENDED), "Always", True),
        (status({"terminated": ENDED}), "Never", False),  # a Job's pod
        (status({"terminated": ENDED}, ENDED), "Never", False),
    ],
)
def test_the_previous_log_is_only_suggested_for_a_run_that_the_kubelet_has(
    state: Manifest, policy: str, *, is_previous: bool
) -> None:
    hint = required(state, pod(policy=policy), moment="2026-01-01T10:01:10Z").hint
    previous = "--previous " if is_previous else ""
    assert hint == f"read its log: `kubectl logs {previous}-n apps p -c manager`"


@pytest.mark.parametrize(
    ("message", "policy", "said"),
    [
        ("no database\ngoodbye\n", "File", "no database"),
        ("starting\nno database\n", "FallbackToLogsOnError", "no database"),
        ("", "File", "end of the log"),
    ],
)
def test_the_line_with_the_reason_is_quoted(message: str, policy: str, said: str) -> None:
    of = pod(terminationMessagePolicy=policy)
    logs = {"apps/p/manager": "begin\nend of the log\n"}
    found = required(status(WAITS, ENDED | {"message": message}), of, logs=logs)
    assert found.message.endswith(f"exit code 3: {said}")


@pytest.mark.parametrize(
    ("code", "how"),
    [(139, "with exit code 139 (SIGSEGV)"), (137, "with exit code 137 (SIGKILL)"),
     (0, "by itself with exit code 0, but it must keep running")],
)  # fmt: skip
def test_exit_codes_are_explained(code: int, how: str) -> None:
    assert how in required(status(WAITS, ENDED | {"exitCode": code})).message


def test_a_job_and_an_init_container_can_end_without_an_error() -> None:
    done = status({"terminated": ENDED | {"exitCode": 0}})
    assert explained(done, pod(policy="Never")) is None
    assert explained(done | {"name": "migrate"}) is None


def test_a_program_for_another_architecture_is_named() -> None:
    logs = {"apps/p/manager": "exec /manager: exec format error\n"}
    hint = required(status(WAITS, ENDED), logs=logs).hint
    assert hint == "publish the image for the architecture of the node"


@pytest.mark.parametrize(
    "line",
    [
        "error executing: leadership lost",
        'problem running manager {"error": "leader election lost"}',
        "failed to renew lease apps/cache: timed out waiting for the condition",
    ],
)
def test_an_operator_that_loses_its_lease_points_to_the_api_server(line: str) -> None:
    found = required(status(WAITS, ENDED), logs={"apps/p/manager": f"started\n{line}\n"})

    assert found.hint.startswith("check the load of the API server, of etcd and of the node: ")
    assert "kubectl logs --previous" in found.hint


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ('runc create failed: exec: "/manager": stat /manager: no such file or directory: unknown',
         "its image has no program `/manager`"),
        ('runc create failed: exec: "manager": executable file not found in $PATH: unknown',
         "its image has no program `manager`"),
        ('runc create failed: exec: "/etc": permission denied: unknown',
         "`/etc` cannot be executed: permission denied"),
    ],
)  # fmt: skip
def test_a_start_error_is_the_same_before_and_in_the_back_off(message: str, said: str) -> None:
    failed = ENDED | {"exitCode": 128, "reason": "StartError", "message": message}
    waits = {"waiting": {"reason": "RunContainerError", "message": message}}
    for state in (status(waits), status(WAITS, failed), status({"terminated": failed})):
        found = required(state)
        assert (found.cause, found.readiness) == ("container-cannot-start", Readiness.BLOCKED)
        assert found.message.endswith(said)
        assert "`command` of container `manager` in the bundle's Deployment" in found.hint


def test_the_memory_limit_is_named_with_the_field_to_change() -> None:
    of = pod(resources={"limits": {"memory": "64Mi"}})
    killed = status(WAITS, ENDED | {"exitCode": 137, "reason": "OOMKilled"})
    found = containers.explain_container(
        ClusterState(namespace="apps"),
        of,
        killed,
        TemplatePlace("the bundle's Deployment", "cache"),
    )
    assert found is not None
    assert found.message.endswith("is killed: it uses more memory than its limit `64Mi`")
    assert found.hint.endswith("or set `spec.config.resources` of Subscription `cache`")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("container has runAsNonRoot and image will run as root (pod: x)", "its user is root"),
        ("container has runAsNonRoot and image has non-numeric user (app), cannot verify",
         "the user `app` of its image is a name, which may be root"),
        ("container's runAsUser breaks non-root policy (pod: x)", "its user is root"),
    ],
)  # fmt: skip
def test_running_as_root_is_refused(words: str, said: str) -> None:
    waits = {"waiting": {"reason": "CreateContainerConfigError", "message": words}}
    found = required(status(waits))
    assert said in found.message
    assert found.readiness is Readiness.BLOCKED


@pytest.mark.parametrize("kind", ["liveness", "startup"])
@pytest.mark.parametrize("code", [0, 1, 137, 143])
def test_a_container_that_a_probe_ends_has_the_probe_as_cause(kind: str, code: int) -> None:
    get = {"httpGet": {"path": "/healthz", "port": "probes"}}
    of = pod(ports=[{"name": "probes", "containerPort": 8081}], **{f"{kind}Probe": get})
    events = (
        event("Unhealthy", f"{kind.title()} probe failed: HTTP probe failed with statuscode: 500"),
        event("Killing", f"Container manager failed {kind} probe, will be restarted"),
    )
    found = required(status(WAITS, ENDED | {"exitCode": code}), of, events=events)
    assert found.cause == "probe-fails"
    assert (
        f"because its {kind} probe fails: `GET /healthz` on port 8081 (`probes`)" in found.message
    )
    assert "the response has status 500" in found.message


def test_a_later_crash_is_not_attributed_to_an_earlier_probe() -> None:
    killing = event("Killing", "Container manager failed liveness probe, will be restarted",
                    "2026-01-01T09:00:00Z")  # fmt: skip
    assert required(status(WAITS, ENDED), events=(killing,)).cause == "container-crashes"
    # The kubelet limits its events: the time of the last one can be old.
    stopped = status(WAITS, ENDED | {"exitCode": 143})
    assert required(stopped, events=(killing,)).cause == "probe-fails"


PHASES = (("crash-log-message", "crash-pending"), ("liveness", "liveness-pending"),
          ("config-resources", "config-resources-again"),
          ("webhook-deployment", "webhook-deployment-again"),
          ("first-crash", "crash-while-ready"))  # fmt: skip


def recorded(root: Path, case: str) -> Explanation:
    folder = root / "tests/golden/why" / case
    _, package, _, namespace, *_ = (folder / "command").read_text().split()
    file = folder / "input/objects.yaml"
    found = [part.value for part in documents.load_all(file.read_bytes(), str(file))]
    return explain(cluster_state.from_objects(copy.deepcopy(found), namespace), package)


@pytest.mark.parametrize(("one", "other"), PHASES)
def test_two_states_of_a_real_cluster_have_one_cause(root: Path, one: str, other: str) -> None:
    first, second = recorded(root, one), recorded(root, other)
    assert first.cause == second.cause
    # The pod of `first-crash` has another name later; everything else is equal.
    assert first.message.split(" of pod ")[0] == second.message.split(" of pod ")[0]
    assert not {first.readiness, second.readiness} & {Readiness.WAITING, Readiness.READY}
