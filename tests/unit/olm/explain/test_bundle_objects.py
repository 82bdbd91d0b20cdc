"""Objects of a bundle that the API server refuses; the messages are from real InstallPlans."""

from __future__ import annotations

import pytest

from olmkit.olm.explain import bundle_objects
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.explain.workloads.templates import TemplatePlace


@pytest.mark.parametrize(
    ("words", "said", "hint"),
    [
        (('error updating configmap: fixed: ConfigMap "fixed" is invalid: data: Forbidden: field '
         "is immutable when `immutable` is set"), "differs from the bundle's in a field",
         "`kubectl delete configmap fixed -n apps`"),
        (('error updating unstructured object low: PriorityClass.scheduling.k8s.io "low" is '
         "invalid: value: Forbidden: may not be changed in an update."), "PriorityClass `low`",
         "`kubectl delete priorityclass.scheduling.k8s.io low`"),
        (('error updating service: web: Service "web" is invalid: spec.ports[0].nodePort: Invalid '
         "value: 30999: provided port is already allocated"), "requests the node port 30999",
         "remove `nodePort`"),
        (('error creating unstructured object a: PodDisruptionBudget.policy "a" is invalid: '
         "spec: Invalid value: 1"), "refuses PodDisruptionBudget `a` of the bundle: spec: Invalid",
         "publish it as a new version"),
        ('error updating service: web: admission webhook "p.example.com" denied the request: no',
         "refuses `web` of the bundle: admission webhook `p.example.com` denies it: no",
         "follow its policy in the bundle"),
        (('error creating unstructured object web: services "web" is forbidden: exceeded quota: q, '
         "requested: services=1, used: services=1, limited: services=1"), "ResourceQuota `q`",
         "`kubectl edit resourcequota -n apps q`"),
    ],
)  # fmt: skip
def test_each_refusal_of_an_install_plan_has_its_fix(words: str, said: str, hint: str) -> None:
    found = bundle_objects.explain_plan_message(words, "apps", Readiness.BLOCKED)
    assert found is not None
    assert found.cause == "object-refused"
    assert said in found.message
    assert hint in found.hint


def test_other_failures_are_not_refusals() -> None:
    assert (
        bundle_objects.explain_plan_message("etcdserver: timeout", "apps", Readiness.STUCK) is None
    )


WORDS = ('install strategy failed: Deployment.apps "cache" is invalid: spec.template.spec.'
         'containers[0].resources.requests: Invalid value: "1Gi": must be less')  # fmt: skip


def test_the_configuration_of_the_subscription_is_only_named_if_there_is_one() -> None:
    template = TemplatePlace("the bundle's Deployment", "cache")
    _, hint = bundle_objects.explain_strategy_message(WORDS, template, ("resources",))
    assert hint == "correct `spec.config.resources` of Subscription `cache`"
    said, hint = bundle_objects.explain_strategy_message(WORDS, template, ())
    assert hint == "correct the bundle, and publish it as a new version"
    assert said.startswith("the API server refuses Deployment `cache`: spec.template")
