"""Why the API server refuses an object; the messages are Kubernetes' own."""

from __future__ import annotations

import time

import pytest

from olmkit.olm.explain import bundle_objects, refusals
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.explain.refusals import Context
from olmkit.olm.explain.workloads.templates import TemplatePlace

FORBIDDEN = 'Error creating: pods "cache-7d9f-x7k2p" is forbidden: '
POD = 'Pod "cache-7d9f-x7k2p" is invalid: spec.containers[0].resources.requests: '
CALL = 'failed calling webhook "w.example.com": failed to call webhook: '
POST = 'Post "https://hooks.tools.svc:443/x?timeout=10s": '
HERE = Context(namespace="apps", template=TemplatePlace("the bundle's Deployment", "cache"))


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (FORBIDDEN + "exceeded quota: small, requested: pods=1, used: pods=2, limited: pods=2",
         "ResourceQuota `small` of namespace `apps` is used up: requested pods=1",
         "`kubectl edit resourcequota -n apps small`"),
        (FORBIDDEN + "failed quota: small: must specify limits.cpu for: manager; limits.memory "
         "for: manager", "requires limits.cpu for: manager; limits.memory",
         "`spec.config.resources` of Subscription `cache`"),
        (FORBIDDEN + "maximum memory usage per Container is 64Mi, but limit is 128Mi",
         "has the maximum 64Mi of memory for each Container, and the limit is 128Mi",
         "lower `resources.limits.memory`"),
        (FORBIDDEN + "minimum cpu usage per Container is 100m, but request is 10m",
         "has the minimum 100m of cpu for each Container, and the request is 10m",
         "raise `resources.requests.cpu`"),
        (FORBIDDEN + "maximum memory usage per Container is 64Mi.  No limit is specified",
         "and no limit is set", "set `resources.limits.memory`"),
        (POD + 'Invalid value: "64Mi": must be less than or equal to memory limit of 32Mi',
         "a container requests 64Mi of memory, more than its limit of 32Mi",
         "a LimitRange of the namespace sets it: `kubectl get limitrange -n apps -o yaml`"),
        (FORBIDDEN + "error looking up service account apps/robot: serviceaccount \"robot\" not "
         "found", "service account `robot` does not exist in namespace `apps`",
         "`kubectl create serviceaccount robot -n apps`"),
        (FORBIDDEN + "no PriorityClass with name urgent was found",
         "PriorityClass `urgent` does not exist",
         "`kubectl create priorityclass urgent --value=1000`"),
        ('admission webhook "p.example.com" denied the request: no latest tag',
         "admission webhook `p.example.com` denies it: no latest tag", "follow its policy"),
        (CALL + POST + "dial tcp 10.0.0.1:443: connect: connection refused",
         "cannot call admission webhook `w.example.com`: dial tcp",
         "Service `hooks` in namespace `tools`"),
        (CALL + POST + 'no endpoints available for service "hooks"',
         "Service `hooks` in namespace `tools` has no pod that is ready",
         "`kubectl get pods -n tools`"),
        (CALL + POST + 'service "hooks" not found',
         "Service `hooks` in namespace `tools` does not exist", "when its operator is gone"),
        (CALL + POST + "tls: failed to verify certificate: x509: certificate has expired",
         "its certificate is not accepted", "renew the certificate of the webhook's server"),
        (CALL + POST + "tls: failed to verify certificate: x509: certificate signed by unknown "
         "authority",
         "its certificate is not accepted", "renew the `caBundle` of webhook `w.example.com`"),
        (CALL + POST + "tls: failed to verify certificate: x509: certificate is valid for a, not b",
         "its certificate is not accepted", "for the name of its Service"),
    ],
)  # fmt: skip
def test_each_refusal_has_its_fix(words: str, said: str, hint: str) -> None:
    found = refusals.explain_refusal(words, HERE)
    assert found.is_known
    assert said in found.message
    assert hint in found.hint
    assert "x7k2p" not in found.message


@pytest.mark.parametrize(
    ("rules", "lower"),
    [
        (("allowPrivilegeEscalation != false (container \"manager\" must set securityContext."
         "allowPrivilegeEscalation=false), seccompProfile (pod or container \"manager\" must set "
         "securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"),
         "baseline"),
        ("host namespaces (hostNetwork=true), runAsNonRoot != true (pod must set it)",
         "privileged"),
    ],
)  # fmt: skip
def test_pod_security_lists_the_violations_and_the_required_level(rules: str, lower: str) -> None:
    found = refusals.explain_refusal(
        f'{FORBIDDEN}violates PodSecurity "restricted:latest": {rules}', HERE
    )
    assert len(found.details) == 2
    assert "the Pod Security level `restricted`" in found.message
    assert f"pod-security.kubernetes.io/enforce={lower} --overwrite`" in found.hint


def test_an_unknown_refusal_is_quoted_without_the_name_of_the_attempt() -> None:
    found = refusals.explain_refusal(FORBIDDEN + "of the moon", HERE)
    assert (found.message, found.is_known) == ("of the moon", False)


@pytest.mark.parametrize(
    "words",
    [
        'violates PodSecurity "restricted:latest": ' + "a (b(c)" * 3000,
        "exceeded quota: x, requested: " + ", used: " * 4000,
        "A" * 40000 + ' "x"',
    ],
)
def test_a_hostile_message_is_read_fast(words: str) -> None:
    begin = time.process_time()
    refusals.explain_refusal(words, HERE)
    bundle_objects.explain_plan_message(words, "apps", Readiness.STUCK)
    assert time.process_time() - begin < 2


def test_the_name_of_a_pod_that_changes_with_each_attempt_is_omitted() -> None:
    words = 'Error creating: Pod "cache-7d9f-x7k2p" is invalid: spec.hostNetwork: Invalid value'
    assert refusals.explain_refusal(words, HERE).message == "spec.hostNetwork: Invalid value"
