"""Failing probes: their definition, and the meaning of the answer."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm.explain.workloads import probes
from olmkit.olm.explain.workloads.templates import TemplatePlace

STATUS = {"name": "manager", "state": {"running": {}}, "lastState": {}}


def pod(probe: Any) -> Any:
    container = {"name": "manager", "readinessProbe": probe}
    return {"kind": "Pod", "metadata": {"name": "p", "namespace": "apps"},
            "spec": {"containers": [container]}}  # fmt: skip


GET = {"httpGet": {"path": "/readyz", "port": 8081}}


@pytest.mark.parametrize(
    ("probe", "said"),
    [
        (GET, "`GET /readyz` on port 8081"),
        ({"httpGet": {"port": 8443, "scheme": "HTTPS"}}, "`GET /` on port 8443 over HTTPS"),
        ({"httpGet": {"port": "web"}}, "`GET /` on port `web`"),
        ({"tcpSocket": {"port": 9443}}, "a TCP connection to port 9443"),
        ({"grpc": {"port": 9090, "service": "s"}}, "the gRPC health check `s` on port 9090"),
        ({"exec": {"command": ["cat", "/etc/a b"]}}, "the command `cat '/etc/a b'`"),
        ({}, ""),
    ],
)
def test_a_probe_is_described(probe: Any, said: str) -> None:
    assert probes.describe_probe(pod(probe), "manager", "readiness") == said


@pytest.mark.parametrize(
    ("probe", "answer", "said", "hint"),
    [
        (GET, "HTTP probe failed with statuscode: 404", "the response has status 404",
         "serve that path, or correct `readinessProbe` of container `manager`"),
        (GET, "HTTP probe failed with statuscode: 401", "status 401", "without a login"),
        (GET, "HTTP probe failed with statuscode: 500", "status 500",
         "fix what makes the probe fail"),
        (GET, 'Get "http://10.0.0.1/": dial tcp 10.0.0.1:8081: connect: connection refused',
         "nothing listens on that port", "on all addresses"),
        (GET | {"timeoutSeconds": 3}, "context deadline exceeded (Client.Timeout exceeded)",
         "no answer within 3 seconds", "raise `timeoutSeconds`"),
        (GET, "http: server gave HTTP response to HTTPS client", "answers without TLS",
         "correct `scheme`"),
        (GET, "malformed HTTP response", "does not answer in plain HTTP", "correct `scheme`"),
        ({"exec": {"command": ["x"]}}, "no leader\nmore", "it ends with `no leader`",
         "fix what the command reports"),
    ],
)  # fmt: skip
def test_each_answer_has_its_fix(probe: Any, answer: str, said: str, hint: str) -> None:
    of = pod(probe)
    assert said in probes.explain_answer(of, "manager", "readiness", answer)
    found = probes.hint(of, STATUS, "readiness", answer, TemplatePlace("the bundle's Deployment"))
    assert hint in found
    assert found.endswith("`kubectl logs -n apps p -c manager` prints its log")
