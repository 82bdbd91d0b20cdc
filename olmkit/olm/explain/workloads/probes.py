"""Explain a failed probe from its definition and the response that the kubelet got.

The kubelet reports each failure as an event `Unhealthy` of the pod, and reports `Killing` if a
liveness or startup probe has failed too often.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm.cluster_state import ClusterState, event_time
from olmkit.olm.explain import explanation
from olmkit.olm.explain.workloads import templates
from olmkit.olm.explain.workloads.templates import TemplatePlace

_UNHEALTHY = re.compile(
    r"(?P<kind>Liveness|Readiness|Startup) probe (?:failed|errored(?: and resulted in \w+ state)?)"
    r": ?(?P<answer>.*)",
    re.DOTALL,
)
_KILLED = re.compile(r"Container (?P<container>\S+) failed (?P<kind>liveness|startup) probe")
_STATUS = re.compile(r"HTTP probe failed with statuscode: (?P<code>\d+)")
_STOPPED = (0, 137, 143)  # after SIGTERM: by itself, by SIGKILL, by SIGTERM
_TIMES_OUT = ("context deadline exceeded", "i/o timeout", "Client.Timeout exceeded", "timed out")


def find_failed_probe(snapshot: ClusterState, pod: Manifest, container: str) -> tuple[str, str]:
    """Return the kind of the last failed probe, such as `readiness`, and its response.

    Two empty strings if no probe of the container has failed.
    """
    for event in reversed(list(snapshot.events_of(pod))):
        if event.get("reason") != "Unhealthy" or _container(event) not in ("", container):
            continue
        found = _UNHEALTHY.match(text(event.get("message")))
        if found is not None:
            return found["kind"].lower(), found["answer"]
    return "", ""


def find_killing_probe(
    snapshot: ClusterState, pod: Manifest, container: str, ended: Mapping[str, Any]
) -> str:
    """Return `liveness` or `startup` if such a probe ended this run of a container, else empty.

    `ended` is the state `terminated` of the run. The kubelet limits its events, so the last one may
    belong to an earlier run. The exit code must therefore be that of a stopped program.
    """
    started, is_stopped = text(ended.get("startedAt")), ended.get("exitCode") in _STOPPED
    for event in reversed(list(snapshot.events_of(pod))):
        found = _KILLED.search(text(event.get("message")))
        if event.get("reason") != "Killing" or found is None or found["container"] != container:
            continue
        if is_stopped or event_time(event) >= started:
            return found["kind"]
    kind, _ = find_failed_probe(snapshot, pod, container)
    return kind if is_stopped and kind in ("liveness", "startup") else ""


def find_answer(snapshot: ClusterState, pod: Manifest, container: str, kind: str) -> str:
    """Return the last response to a probe of that kind; empty if no event has it."""
    for event in reversed(list(snapshot.events_of(pod))):
        found = _UNHEALTHY.match(text(event.get("message")))
        if (
            event.get("reason") == "Unhealthy"
            and _container(event) in ("", container)
            and found is not None
            and found["kind"].lower() == kind
        ):
            return found["answer"]
    return ""


def describe_probe(pod: Manifest, container: str, kind: str) -> str:
    """Return a description of the probe, such as `GET /healthz on port 8081`, or empty."""
    spec = templates.container(pod, container)
    probe = mapping(spec.get(f"{kind}Probe"))
    http, tcp, grpc = (mapping(probe.get(name)) for name in ("httpGet", "tcpSocket", "grpc"))
    if http:
        scheme = "" if text(http.get("scheme")) in ("", "HTTP") else " over HTTPS"
        return f"`GET {text(http.get('path')) or '/'}` on port {_port(spec, http)}{scheme}"
    if tcp:
        return f"a TCP connection to port {_port(spec, tcp)}"
    if grpc:
        service = text(grpc.get("service"))
        return (
            f"the gRPC health check{f' `{service}`' if service else ''} on port {_port(spec, grpc)}"
        )
    command = [text(word) for word in sequence(mapping(probe.get("exec")).get("command"))]
    return f"the command `{explanation.first_line(shlex.join(command), 80)}`" if command else ""


def explain_answer(pod: Manifest, container: str, kind: str, answer: str) -> str:
    """Describe the response to a probe in one clause."""
    spec = templates.container(pod, container)
    probe = mapping(spec.get(f"{kind}Probe"))
    status = _STATUS.search(answer)
    if status is not None:
        return f"the response has status {status['code']}"
    if "connection refused" in answer:
        return "nothing listens on that port"
    if "server gave HTTP response to HTTPS client" in answer:
        return "the container answers without TLS"
    if "malformed HTTP" in answer or ("EOF" in answer and mapping(probe.get("httpGet"))):
        return "the container does not answer in plain HTTP"
    if any(part in answer for part in _TIMES_OUT):
        seconds = probe.get("timeoutSeconds", 1)
        return f"no answer within {seconds} second{'' if seconds == 1 else 's'}"
    words = explanation.first_line(answer)
    return f"it ends with `{words}`" if words and mapping(probe.get("exec")) else words


def hint(
    pod: Manifest, status: Mapping[str, Any], kind: str, answer: str, template: TemplatePlace
) -> str:
    """Return what to do about a failing probe; `status` is that of the container."""
    name = text(status.get("name"))
    field = f"`{kind}Probe` of container `{name}`"
    log = f"`{templates.log_command(pod, status)}` prints its log"
    spec = templates.container(pod, name)
    probe = mapping(spec.get(f"{kind}Probe"))
    found = _STATUS.search(answer)
    if found is not None and found["code"] in ("404", "405"):
        first = template.change(f"serve that path, or correct {field}")
    elif found is not None and found["code"] in ("401", "403"):
        first = template.change(f"serve that path without a login, or correct {field}")
    elif "connection refused" in answer:
        first = template.change(
            f"let the program listen on that port on all addresses, or correct {field}"
        )
    elif "HTTP response to HTTPS client" in answer or "malformed HTTP" in answer:
        first = template.change(f"correct `scheme` of {field}")
    elif any(part in answer for part in _TIMES_OUT):
        first = template.change(f"raise `timeoutSeconds` of {field}")
    elif mapping(probe.get("exec")):
        first = template.change(f"fix what the command reports, or correct {field}")
    else:
        first = "fix what makes the probe fail"
    if kind == "startup":
        first = f"{first}; `failureThreshold` times `periodSeconds` is the time to start"
    return f"{first}; {log}"


def _container(event: Manifest) -> str:
    path = text(mapping(event.get("involvedObject")).get("fieldPath"))
    found = re.search(r"ontainers\{(?P<name>[^}]*)\}", path)
    return found["name"] if found else ""


def _port(spec: Mapping[str, Any], handler: Mapping[str, Any]) -> str:
    port = handler.get("port")
    for one in sequence(spec.get("ports")):
        if isinstance(one, Mapping) and isinstance(port, str) and one.get("name") == port:
            return f"{objects.scalar_text(one.get('containerPort'))} (`{port}`)"
    return f"`{port}`" if isinstance(port, str) else objects.scalar_text(port)
