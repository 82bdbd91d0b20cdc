"""CSVs that OLM repeatedly installs, and webhooks without a Deployment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.olm import cluster_state
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import csvs
from olmkit.olm.explain.explanation import Readiness

Manifest = dict[str, Any]
WORDS = 'install strategy failed: Deployment.apps "d" is invalid: spec: Required'
REFUSED = {"phase": "Failed", "reason": "InstallComponentFailed", "message": WORDS}
WRITTEN = {"phase": "Installing", "reason": "InstallSucceeded"}
AGAIN = {"phase": "Pending", "reason": "NeedsReinstall", "message": "calculated install is bad"}


def csv(phase: str, *conditions: Manifest, reason: str = "", **spec: Any) -> Manifest:
    install = {"spec": {"deployments": [{"name": "d"}]}}
    return {
        "kind": "ClusterServiceVersion",
        "metadata": {"name": "cache.v1.0.0", "namespace": "apps"},
        "spec": {"install": install, **spec},
        "status": {"phase": phase, "reason": reason, "conditions": list(conditions)},
    }


def available(since: str = "2026-01-01T10:00:00Z") -> Manifest:
    condition = {"type": "Available", "status": "True", "lastTransitionTime": since}
    return {"kind": "Deployment", "metadata": {"name": "d", "namespace": "apps"},
            "status": {"conditions": [condition]}}  # fmt: skip


SEEN = ClusterState(namespace="apps", deployments=(available(),))


@pytest.mark.parametrize("phase", ["Pending", "InstallReady"])
def test_a_refused_deployment_is_the_cause_in_all_phases(phase: str) -> None:
    found = csvs.explain_csv(SEEN, csv(phase, REFUSED, AGAIN))
    assert found is not None
    assert found.cause == "csv-failed"
    assert "the API server refuses Deployment `d`: spec: Required" in found.message


@pytest.mark.parametrize("later", [WRITTEN, {"phase": "Succeeded"}])
def test_the_cause_ends_when_the_deployments_are_written(later: Manifest) -> None:
    found = csvs.explain_csv(SEEN, csv("InstallReady", REFUSED, later))
    assert found is None or found.cause != "csv-failed"


@pytest.mark.parametrize("phase", ["Pending", "InstallReady", "Installing", "Failed"])
@pytest.mark.parametrize(
    "spec",
    [
        {"webhookdefinitions": [{"generateName": "w.example.com", "deploymentName": "gone"}]},
        {"apiservicedefinitions": {"owned": [{"name": "w.example.com", "deploymentName": "gone"}]}},
    ],
)
def test_a_deployment_that_the_bundle_does_not_have_blocks(phase: str, spec: Manifest) -> None:
    found = csvs.explain_csv(SEEN, csv(phase, AGAIN, **spec))
    assert found is not None
    assert (found.cause, found.readiness) == ("csv-invalid", Readiness.BLOCKED)
    assert "`w.example.com` of `cache.v1.0.0` names the Deployment `gone`" in found.message


@pytest.mark.parametrize("phase", ["Pending", "InstallReady", "Failed"])
def test_a_conversion_webhook_that_olm_refuses_blocks_in_every_phase(phase: str) -> None:
    hook = {"type": "ConversionWebhook", "generateName": "c.kb.io", "conversionCRDs": ["a.b.c"]}
    modes = [{"type": "OwnNamespace", "supported": True}]
    found = csvs.explain_csv(SEEN, csv(phase, AGAIN, webhookdefinitions=[hook], installModes=modes))
    assert found is not None
    assert (found.cause, found.readiness) == ("csv-invalid", Readiness.BLOCKED)
    assert "conversion webhook `c.kb.io`, and supports `OwnNamespace`" in found.message


def test_an_object_that_olm_cannot_install_twice_is_the_cause_and_not_the_pods() -> None:
    refusal = {"type": "ReplicaFailure", "status": "True", "message": "no quota"}
    deployment = {"kind": "Deployment", "metadata": {"name": "d", "namespace": "apps"},
                  "status": {"conditions": [refusal]}}  # fmt: skip
    seen = ClusterState(namespace="apps", deployments=(deployment,))
    found = csvs.explain_csv(seen, csv("InstallReady", REFUSED, AGAIN, REFUSED, AGAIN))
    assert found is not None
    assert found.cause == "csv-failed"
    once = csvs.explain_csv(seen, csv("InstallReady", REFUSED, AGAIN))
    assert once is not None
    assert once.cause != "csv-failed"


@pytest.mark.parametrize("phase", ["Pending", "InstallReady", "Installing"])
def test_a_csv_that_is_repeatedly_installed_is_not_waited_for_indefinitely(phase: str) -> None:
    found = csvs.explain_csv(SEEN, csv(phase, AGAIN, AGAIN, AGAIN))
    assert found is not None
    assert found.readiness is Readiness.STUCK
    assert "OLM keeps reinstalling `cache.v1.0.0`: calculated install is bad" in found.message
    once = csvs.explain_csv(SEEN, csv(phase, AGAIN))
    assert once is None or once.readiness is Readiness.WAITING


@pytest.mark.parametrize(
    ("moment", "readiness"),
    [("2026-01-01T10:00:10Z", "waiting"), ("2026-01-01T10:01:00Z", "stuck"), ("", "waiting")],
)
def test_a_webhook_service_without_pods_is_waited_for_at_first(moment: str, readiness: str) -> None:
    hooks = [{"generateName": "a.example.com", "deploymentName": "d"},
             {"generateName": "b.example.com", "deploymentName": "d",
              "type": "ConversionWebhook"}]  # fmt: skip
    labels = {"kubernetes.io/service-name": "d-service"}
    empty = {"kind": "EndpointSlice", "metadata": {"name": "s", "labels": labels}}
    seen = ClusterState(namespace="apps", deployments=(available(),), slices=(empty,),
                        moment=moment)  # fmt: skip

    found = csvs.explain_succeeded_csv(seen, csv("Succeeded", webhookdefinitions=hooks))

    assert found is not None
    assert (found.cause, found.readiness) == ("webhook-away", readiness)
    assert "`d-service` of the webhooks `a.example.com`, `b.example.com`" in found.message
    assert "`kubectl get pods -n apps --show-labels`" in found.hint


@pytest.mark.parametrize(
    ("moment", "is_expired"),
    [
        ("2026-05-02T11:59:59Z", False),
        ("2026-05-02T12:00:00Z", True),
        ("", False),
    ],
)
def test_a_certificate_that_olm_has_not_renewed_in_time_is_expired(
    moment: str, is_expired: bool
) -> None:
    """OLM renews it a day before it expires."""
    hooks = [{"generateName": "a.example.com", "deploymentName": "d.x"}]
    found = csv("Succeeded", webhookdefinitions=hooks)
    found["status"]["certsRotateAt"] = "2026-05-01T12:00:00Z"
    seen = ClusterState(namespace="apps", moment=moment)

    ailing = csvs.explain_succeeded_csv(seen, found)

    assert (ailing is not None) is is_expired
    if ailing is not None:
        assert (ailing.cause, ailing.readiness) == ("webhook-certificate-expired", Readiness.STUCK)
        assert ailing.message == (
            "the certificate of the webhooks `a.example.com` has expired: OLM has not renewed it "
            "since 2026-05-01"
        )
        assert ailing.hint.endswith("`kubectl delete secret -n apps d-x-service-cert`")
        found["spec"].pop("webhookdefinitions")
        assert csvs.explain_succeeded_csv(seen, found) is None


@pytest.mark.parametrize(
    ("copied", "elsewhere", "other"),
    [
        (["a.example.com"], "", ": `other.v1` of namespace `far`"),
        (["b.example.com"], "", ""),
        ([], "db", ""),
        ([], "cache", ": `cache.v1` of namespace `near`"),
    ],
)
def test_the_operator_that_already_provides_the_apis_is_named(
    copied: list[str], elsewhere: str, other: str
) -> None:
    owned = {"owned": [{"name": "a.example.com"}]}
    found = csv("Failed", reason="InterOperatorGroupOwnerConflict", customresourcedefinitions=owned)
    name = found["metadata"]["name"]
    copy = {
        "metadata": {"name": "other.v1", "namespace": "apps", "labels": {"olm.copiedFrom": "far"}},
        "spec": {"customresourcedefinitions": {"owned": [{"name": one} for one in copied]}},
    }
    asking = {"spec": {"name": "cache"}, "status": {"currentCSV": name}}
    also = {
        "metadata": {"name": "x", "namespace": "near"},
        "spec": {"name": elsewhere},
        "status": {"installedCSV": f"{elsewhere}.v1"},
    }
    seen = ClusterState(
        namespace="apps", csvs=(copy, found), subscriptions=(asking,), elsewhere=(also,)
    )

    ailing = csvs.explain_csv(seen, found)

    assert ailing is not None
    assert ailing.message == (
        f"another operator that watches the same namespaces already provides the APIs of `{name}`"
        f"{other}"
    )


def test_an_expired_certificate_is_that_of_apis_too_and_names_a_stopped_olm() -> None:
    hooks = [{"generateName": "a.example.com", "deploymentName": "d"}]
    api = {"group": "metrics.example.com", "version": "v1", "kind": "M", "deploymentName": "e"}
    found = csv("Succeeded", webhookdefinitions=hooks, apiservicedefinitions={"owned": [api]})
    found["status"]["certsRotateAt"] = "2026-05-01T12:00:00Z"
    olm = {
        "kind": "Deployment",
        "metadata": {"name": "olm-operator", "namespace": "olm"},
        "spec": {"replicas": 0},
    }
    seen = ClusterState(namespace="apps", moment="2026-06-01T12:00:00Z", system=(olm,))

    ailing = csvs.explain_succeeded_csv(seen, found)

    assert ailing is not None
    assert ailing.message == (
        "the certificate of the webhooks `a.example.com` and of the APIs `v1.metrics.example.com` "
        "has expired: OLM has not renewed it since 2026-05-01, because OLM does not run: the "
        "Deployment `olm-operator` is scaled to 0"
    )
    assert ailing.hint == (
        "run `kubectl scale deployment olm-operator -n olm --replicas=1`; after that, OLM renews a "
        "deleted certificate: `kubectl delete secret -n apps d-service-cert e-service-cert`"
    )


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ('service "gone" not found', "correct the Service in `spec.conversion.webhook"),
        ("certificate signed by unknown authority", "renew `caBundle`"),
        ("x509: certificate has expired or is not yet valid", "which has expired, and its"),
        ("connect: connection refused", "read the logs of the operator's pods"),
    ],
)
def test_objects_that_cannot_be_converted_are_a_cause_after_success(said: str, hint: str) -> None:
    owned = {"owned": [{"name": "a.example.com"}, {"name": "b.example.com"}]}
    away = f"conversion webhook for example.com/v1, Kind=B failed: {said}"
    seen = ClusterState(namespace="apps", deployments=(available(),),
                        moment="2026-01-01T10:01:00Z",
                        unconverted={"b.example.com": away})  # fmt: skip

    found = csvs.explain_succeeded_csv(seen, csv("Succeeded", customresourcedefinitions=owned))

    assert found is not None
    assert (found.cause, found.readiness) == ("conversion-webhook-away", "stuck")
    why = "the objects of `b.example.com` cannot be read, because nothing converts them"
    assert found.message == f"{why}: {said}"
    assert hint in found.hint
    assert csvs.explain_succeeded_csv(replace(seen, unconverted={}), csv("Succeeded")) is None


@pytest.mark.parametrize(
    ("owned", "phase", "message", "readiness", "hint"),
    [
        ("own.example.com", "Installing", "OLM has not yet created", Readiness.WAITING, ""),
        (
            "own.example.com",
            "Complete",
            "`own.example.com`, which `cache.v1.0.0` brings",
            Readiness.STUCK,
            "wait, as OLM looks again; if it was deleted, uninstall the operator",
        ),
        (
            "other.example.com",
            "Installing",
            "`cache.v1.0.0` needs the CustomResourceDefinition `own.example.com`: CRD is not",
            Readiness.STUCK,
            "install the operator that provides it",
        ),
    ],
)
def test_a_crd_of_the_bundle_needs_no_other_operator(
    owned: str, phase: str, message: str, readiness: Readiness, hint: str
) -> None:
    plan = {
        "kind": "InstallPlan",
        "metadata": {"name": "install-x", "namespace": "apps"},
        "spec": {"clusterServiceVersionNames": ["cache.v1.0.0"]},
        "status": {"phase": phase},
    }
    pending = csv("Pending", customresourcedefinitions={"owned": [{"name": owned}]})
    pending["status"]["requirementStatus"] = [
        {
            "kind": "CustomResourceDefinition",
            "name": "own.example.com",
            "status": "NotPresent",
            "message": "CRD is not present",
        }
    ]
    found = csvs.explain_csv(ClusterState(namespace="apps", plans=(plan,)), pending)
    assert found is not None
    assert (found.cause, found.readiness) == ("missing-api", readiness)
    assert message in found.message
    assert found.hint.startswith(hint)


@pytest.mark.parametrize(
    ("phase", "message"),
    [
        ("Installing", "OLM has not yet updated the CustomResourceDefinition `a` for"),
        (
            "Complete",
            "the CustomResourceDefinition `a` is not yet that of `cache.v1.0.0`: CRD inst",
        ),
    ],
)
def test_a_crd_of_the_previous_version_exists(phase: str, message: str) -> None:
    plan = {
        "kind": "InstallPlan",
        "metadata": {"name": "install-x", "namespace": "apps"},
        "spec": {"clusterServiceVersionNames": ["cache.v1.0.0"]},
        "status": {"phase": phase},
    }
    pending = csv("Pending", customresourcedefinitions={"owned": [{"name": "a"}]})
    unmet = {"kind": "CustomResourceDefinition", "name": "a", "status": "PresentNotSatisfied"}
    said = "CRD installed alongside other CSV(s): cache.v0.9.0"
    pending["status"]["requirementStatus"] = [{**unmet, "message": said}]
    found = csvs.explain_csv(ClusterState(namespace="apps", plans=(plan,)), pending)
    assert found is not None
    assert found.message.startswith(message)


@pytest.mark.parametrize("phase", ["Failed", "Pending", "Installing"])
@pytest.mark.parametrize("is_available", [True, False])
def test_a_deployment_that_is_available_again_is_waited_for(
    phase: str, *, is_available: bool
) -> None:
    waits = csv(phase)
    waits["status"]["message"] = (
        'installing: waiting for deployment d to become ready: deployment "d" not available: '
        "Deployment does not have minimum availability."
    )
    seen = ClusterState(namespace="apps", deployments=(available(),) if is_available else ())

    found = csvs.explain_csv(seen, waits)

    assert found is not None
    said = "the Deployment `d` of `cache.v1.0.0` is available; OLM has not recorded it yet"
    assert (found.message == said) is is_available
    if is_available:
        assert found.readiness is Readiness.WAITING


@pytest.mark.parametrize(
    ("phase", "cause", "owner", "readiness"),
    [
        (
            "Replacing",
            "service-account",
            "`cache` of `cache.v1.0.0` belongs to `cache.v0.9.0`, which OLM replaces",
            Readiness.WAITING,
        ),
        ("", "service-account", "`cache` of `cache.v1.0.0` belongs to another", Readiness.STUCK),
        ("Failed", "old-version-failed", "waits for `cache.v0.9.0`", Readiness.STUCK),
    ],
)
def test_a_service_account_of_the_version_before_is_waited_for(
    phase: str, cause: str, owner: str, readiness: Readiness
) -> None:
    pending = csv("Pending", replaces="cache.v0.9.0")
    pending["status"]["requirementStatus"] = [
        {
            "kind": "ServiceAccount",
            "name": "cache",
            "status": "PresentNotSatisfied",
            "message": "Service account is owned by another ClusterServiceVersion",
        }
    ]
    old = {"metadata": {"name": "cache.v0.9.0", "namespace": "apps"}, "status": {"phase": phase}}
    seen = ClusterState(namespace="apps", csvs=(old,) if phase else ())

    found = csvs.explain_csv(seen, pending)

    assert found is not None
    assert (found.cause, found.readiness) == (cause, readiness)
    assert owner in found.message


@pytest.mark.parametrize("role", ["owned", "required"])
def test_a_crd_that_is_not_served_yet_is_waited_for(role: str) -> None:
    pending = csv("Pending", customresourcedefinitions={role: [{"name": "a"}]})
    pending["status"]["requirementStatus"] = [
        {
            "kind": "CustomResourceDefinition",
            "name": "a",
            "status": "PresentNotAvailable",
            "message": "CRD is present but the Established condition is False (not available)",
        }
    ]

    found = csvs.explain_csv(ClusterState(namespace="apps"), pending)

    assert found is not None
    assert (found.cause, found.readiness) == ("missing-api", Readiness.WAITING)
    assert found.message == (
        "the API server does not yet serve the CustomResourceDefinition `a` that `cache.v1.0.0` "
        "needs"
    )


@pytest.mark.parametrize("phase", ["Succeeded", "Pending"])
def test_a_crd_that_is_being_deleted_is_the_cause_in_any_phase(phase: str) -> None:
    owned = {"owned": [{"name": "a.example.com"}, {"name": "b.example.com"}]}
    words = "CustomResource deletion is in progress"
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "b.example.com", "deletionTimestamp": "2026-01-01T10:00:00Z"},
        "status": {
            "conditions": [{"type": "Terminating", "status": "True", "message": words}],
        },
    }
    seen = ClusterState(namespace="apps", deployments=(available(),), ending_crds=(crd,))
    saved = cluster_state.from_objects(cluster_state.objects_of(seen), "apps")
    ask = csvs.explain_succeeded_csv if phase == "Succeeded" else csvs.explain_csv
    for state in (seen, saved):
        found = ask(state, csv(phase, customresourcedefinitions=owned))
        assert found is not None
        assert found.cause == "crd-ending"
        assert found.message == (
            "the CustomResourceDefinition `b.example.com` is being deleted, and all objects of its "
            f"kind with it: {words}"
        )
        assert "`olmkit uninstall " in found.hint
    other = {**crd, "metadata": {**crd["metadata"], "name": "c.example.com"}}
    seen = replace(seen, ending_crds=(other,))
    assert (
        csvs.explain_succeeded_csv(seen, csv("Succeeded", customresourcedefinitions=owned)) is None
    )
