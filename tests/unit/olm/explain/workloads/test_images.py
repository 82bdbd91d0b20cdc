"""Why an image cannot be pulled; the messages are those of containerd and of the kubelet."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.explain.workloads import images
from olmkit.olm.explain.workloads.templates import TemplatePlace

IMAGE = "registry.example.com/cache:1"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("not found", "push the image, or correct its name"),
        ("failed with status code [manifests 1]: 401 Unauthorized", "docker-registry"),
        ("failed to authorize: 403 Forbidden", "--docker-server=registry.example.com"),
        ("pull access denied, repository does not exist or may require authorization",
         "docker-registry"),
        ("toomanyrequests: limit", "wait until the registry's limit is over"),
        ("dial tcp: lookup registry.example.com: no such host", "correct the host"),
        ("dial tcp: lookup registry.example.com on 10.0.0.2:53: server misbehaving", "DNS"),
        ("x509: certificate signed by unknown authority", "trust the certificate of"),
        (
            "x509: certificate has expired or is not yet valid: current time A is after B",
            "renew the certificate of `registry.example.com`, which has expired",
        ),
        (
            "x509: certificate has expired or is not yet valid: current time A is before B",
            "correct the clock of the nodes or of `registry.example.com`",
        ),
        (
            "x509: certificate is valid for a.example.com, not registry.example.com",
            "let `registry.example.com` have a certificate for that name",
        ),
        ("http: server gave HTTP response to HTTPS client", "plain HTTP"),
        ("tls: first record does not look like a TLS handshake", "plain HTTP"),
        ("no match for platform in manifest", "architecture of the nodes"),
        ("dial tcp 10.0.0.1:443: connect: connection refused", "check that `registry.example.com`"),
        ("unexpected EOF", "check that the nodes reach"),
    ],
)  # fmt: skip
def test_each_answer_has_its_fix(words: str, hint: str) -> None:
    assert hint in images.hint(words, IMAGE, "apps")


def test_the_default_registry_is_named_for_a_short_name() -> None:
    assert "--docker-server=docker.io" in images.hint("401", "library/cache", "apps")


def container(reason: str, message: str, *events: str, **spec: Any) -> Any:
    pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": "apps"}, "spec": spec}
    status = {"name": "manager", "image": IMAGE,
              "state": {"waiting": {"reason": reason, "message": message}}}  # fmt: skip
    about = {"kind": "Pod", "name": "p", "namespace": "apps"}
    made = tuple({"involvedObject": about, "message": one} for one in events)
    seen = ClusterState(namespace="apps", events=made)
    return images.explain_image(seen, pod, status, TemplatePlace("the bundle's Deployment"))


def test_a_missing_pull_secret_is_named() -> None:
    found = container(
        "ImagePullBackOff", "",
        "Unable to retrieve some image pull secrets (login); attempting to pull the image",
        f'Failed to pull image "{IMAGE}": failed: "{IMAGE}": 401 Unauthorized',
        imagePullSecrets=[{"name": "login"}, {"name": "present"}],
    )  # fmt: skip
    assert "401 Unauthorized; Secret `login` of `imagePullSecrets` does not exist" in found.message
    assert "`kubectl create secret docker-registry login -n apps" in found.hint


def test_an_invalid_name_and_a_policy_that_forbids_pulling_are_reported() -> None:
    words = (
        f'Failed to apply default image tag "{IMAGE}": couldn\'t parse image name "{IMAGE}": bad'
    )
    found = container("InvalidImageName", words)
    assert found.message == f"`{IMAGE}` is not the name of an image: bad"
    assert found.readiness is Readiness.BLOCKED
    found = container("ErrImageNeverPull", "")
    assert "`imagePullPolicy: Never` of container `manager`" in found.message
