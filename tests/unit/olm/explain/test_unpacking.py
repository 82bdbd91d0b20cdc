"""The unpack Jobs of a namespace, if several namespaces use one catalog."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.olm import cluster_state
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import unpacking
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.explain.installs import explain

Manifest = dict[str, Any]
GOOD, BAD = "registry.example.com/good:1", "registry.example.com/bad:1"
UNPACKING = {"type": "BundleUnpacking", "status": "True"}
FAILED = {
    "type": "BundleUnpackFailed",
    "status": "True",
    "reason": "BundleUnpackFailed",
    "message": "Bundle unpacking failed - DeadlineExceeded: Job was active too long",
}


def subscription(package: str, *conditions: Manifest, namespace: str = "apps") -> Manifest:
    metadata = {
        "name": package,
        "namespace": namespace,
        "creationTimestamp": "2026-01-01T10:00:00Z",
    }
    spec = {"name": package, "source": "shelf", "sourceNamespace": "olm"}
    return {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "Subscription",
        "metadata": metadata,
        "spec": spec,
        "status": {"conditions": list(conditions)},
    }


def job(image: str, *conditions: str, created: str = "2026-01-01T10:00:05Z") -> Manifest:
    name = image.partition("/")[2].replace(":", "-")
    pull = {"name": "pull", "image": image}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": "olm",
            "labels": {"operatorframework.io/bundle-unpack-ref": name},
            "creationTimestamp": created,
        },
        "spec": {"template": {"spec": {"initContainers": [pull]}}},
        "status": {
            "conditions": [
                {"type": one, "status": "True", "reason": "DeadlineExceeded"} for one in conditions
            ]
        },
    }


def pod_without_image(image: str) -> Manifest:
    waiting = {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}
    status = {"name": "pull", "image": image, "state": {"waiting": waiting}}
    name = image.partition("/")[2].replace(":", "-")
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"{name}-x", "namespace": "olm", "labels": {"job-name": name}},
        "status": {"phase": "Pending", "initContainerStatuses": [status]},
    }


def state_with(*here: Manifest, elsewhere: tuple[Manifest, ...] = (), **parts: Any) -> ClusterState:
    group = {"kind": "OperatorGroup", "metadata": {"name": "g", "namespace": "apps"}}
    return ClusterState(
        namespace="apps",
        groups=(group,),
        subscriptions=here,
        elsewhere=elsewhere,
        pods=(pod_without_image(BAD),),
        **parts,
    )


def test_the_job_of_another_namespaces_package_is_not_the_cause() -> None:
    other = subscription("bad", UNPACKING, namespace="theirs")
    state = state_with(
        subscription("good", UNPACKING),
        elsewhere=(other,),
        jobs=(job(BAD), job(GOOD)),
        packages={GOOD: "good", BAD: "bad"},
    )

    found = explain(state, "good")

    assert (found.cause, found.readiness) == ("unpacking", Readiness.WAITING)
    assert found.message == f"the bundle `{GOOD}` is being unpacked"
    assert [link.subject for link in found.chain[1:]] == ["Job olm/good-1"]


def test_if_the_job_is_ambiguous_no_job_is_named() -> None:
    other = subscription("bad", UNPACKING, namespace="theirs")
    state = state_with(
        subscription("good", UNPACKING), elsewhere=(other,), jobs=(job(BAD), job(GOOD))
    )

    found = explain(state, "good")

    assert unpacking.is_doubtful(state)
    assert (found.cause, found.readiness) == ("unpacking", Readiness.WAITING)
    assert "which of the 2 unpack Jobs in namespace `olm` does it" in found.message
    assert len(found.chain) == 1


def test_the_only_namespace_that_waits_has_the_job() -> None:
    settled = subscription("bad", namespace="theirs")
    settled["status"]["installPlanRef"] = {"name": "install-x"}
    state = state_with(subscription("good", UNPACKING), elsewhere=(settled,), jobs=(job(BAD),))

    found = explain(state, "good")

    assert not unpacking.is_doubtful(state)
    assert found.cause == "bundle-cannot-be-unpacked"


def test_a_job_from_before_the_subscription_is_uncertain() -> None:
    old = job(BAD, created="2026-01-01T09:00:00Z")
    state = state_with(subscription("good", UNPACKING), jobs=(old,))

    assert unpacking.is_doubtful(state)
    assert explain(state, "good").readiness is Readiness.WAITING


def test_another_subscription_of_the_same_namespace_blocks_all_of_it() -> None:
    state = state_with(
        subscription("good", UNPACKING),
        subscription("bad", UNPACKING),
        jobs=(job(GOOD), job(BAD)),
        packages={GOOD: "good", BAD: "bad"},
    )

    found = explain(state, "good")

    assert found.cause == "bundle-cannot-be-unpacked"
    assert found.message.startswith("the bundle of `bad` cannot be unpacked: ")
    assert found.message.endswith("OLM installs nothing in the namespace until it is")


@pytest.mark.parametrize("conditions", [(), ("Failed",)])
def test_a_failed_job_is_only_named_if_the_subscription_reports_it(
    conditions: tuple[str, ...],
) -> None:
    ended = job(BAD, "Failed")

    waiting = explain(state_with(subscription("good", UNPACKING), jobs=(ended,)), "good")
    failed = explain(
        state_with(subscription("good", FAILED), jobs=(job(BAD, *conditions),)), "good"
    )

    assert waiting.readiness is Readiness.WAITING
    assert failed.readiness is Readiness.BLOCKED


def test_the_failure_of_another_namespace_is_not_listed_with_this_one() -> None:
    other = subscription("bad", FAILED, namespace="theirs")
    state = state_with(
        subscription("good", FAILED),
        elsewhere=(other,),
        jobs=(job(BAD, "Failed"), job(GOOD, "Failed")),
    )

    known = explain(replace(state, packages={GOOD: "good", BAD: "bad"}), "good")
    unknown = explain(state, "good")

    assert [link.subject for link in known.chain[1:]] == ["Job olm/good-1"]
    assert (unknown.cause, unknown.chain[1:]) == ("unpack-time-out", ())


def test_the_owner_of_unpacked_bundles_is_kept_in_the_file() -> None:
    other = subscription("bad", UNPACKING, namespace="theirs")
    state = state_with(
        subscription("good", UNPACKING),
        elsewhere=(other,),
        jobs=(job(BAD), job(GOOD)),
        packages={GOOD: "good", BAD: "bad"},
    )

    again = cluster_state.from_objects(cluster_state.objects_of(state), "apps")

    assert again.packages == state.packages
    assert explain(again, "good") == explain(state, "good")
    bare = cluster_state.from_objects(cluster_state.objects_of(replace(state, packages={})), "apps")
    assert unpacking.is_doubtful(bare)
