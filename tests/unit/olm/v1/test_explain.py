"""The status of ClusterExtensions: conditions and messages of a real operator-controller."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain.explanation import Explanation, FaultOrigin, Readiness
from olmkit.olm.explain.workloads import refused_requests
from olmkit.olm.v1 import catalogs, state
from olmkit.olm.v1.explain import explain
from olmkit.olm.v1.state import CONTROLLERS, OWNER_LABEL, ExtensionState

Manifest = dict[str, Any]
API = "olm.operatorframework.io/v1"
RESOLVED = ' for resolved bundle "cache.v1.1.0" with version "1.1.0"'


def extension(
    reason: str,
    message: str = "",
    *,
    bundle: str = "",
    generation: int = 1,
    seen: int = 1,
    name: str = "cache",
    **request: Any,
) -> Manifest:
    conditions = [
        {"type": "Progressing", "status": "True", "reason": reason, "message": message,
         "observedGeneration": seen},
        {"type": "Installed", "status": "True" if bundle else "False", "reason": "x"},
    ]  # fmt: skip
    status: Manifest = {"conditions": conditions}
    if bundle:
        status["install"] = {"bundle": {"name": bundle, "version": bundle.partition(".v")[2]}}
    return {
        "apiVersion": API,
        "kind": "ClusterExtension",
        "metadata": {"name": name, "generation": generation},
        "spec": {
            "namespace": "apps",
            "serviceAccount": {"name": "installer"},
            "source": {"sourceType": "Catalog", "catalog": {"packageName": "cache", **request}},
        },
        "status": status,
    }


def catalog(serving: str, reason: str, message: str = "", name: str = "shelf") -> Manifest:
    conditions = [
        {"type": "Serving", "status": serving, "reason": reason},
        {"type": "Progressing", "status": "True", "reason": "Retrying", "message": message},
    ]
    return {
        "apiVersion": API,
        "kind": "ClusterCatalog",
        "metadata": {"name": name},
        "spec": {"source": {"image": {"ref": "registry.example/shelf:1"}}},
        "status": {"conditions": conditions},
    }


def explained(found: Manifest | None, *shelves: Manifest, **parts: Any) -> Explanation:
    return explain(ExtensionState(name="cache", extension=found, catalogs=shelves, **parts))


def deployment(name: str = "cache", *, available: bool = True, owner: str = "cache") -> Manifest:
    condition = {"type": "Available", "status": str(available)}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "apps", "labels": {OWNER_LABEL: owner}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}},
        "status": {"conditions": [condition], "availableReplicas": int(available)},
    }


def pod(name: str = "cache") -> Manifest:
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "not found"}}
    containers = [{"name": "manager", "image": "cache:1", "state": waiting}]
    metadata = {"name": name, "namespace": "apps", "labels": {"app": name}}
    return {
        "kind": "Pod",
        "metadata": metadata,
        "status": {"phase": "Pending", "containerStatuses": containers},
    }


def test_an_installed_extension_is_only_ready_when_the_deployments_are_available() -> None:
    done = extension("Succeeded", bundle="cache.v1.0.0")
    well = ClusterState(namespace="apps", deployments=(deployment(),))
    ailing = ClusterState(
        namespace="apps", deployments=(deployment(available=False),), pods=(pod(),)
    )
    external = ClusterState(
        namespace="apps", deployments=(deployment(available=False, owner="other"),), pods=(pod(),)
    )

    assert explained(done).is_ready
    assert explained(done, here=well).is_ready
    assert explained(done, here=external).is_ready
    found = explained(done, here=ailing)
    assert (found.cause, found.readiness) == ("image-cannot-be-pulled", Readiness.STUCK)
    assert [link.subject for link in found.chain] == [
        "ClusterExtension cache", "Deployment apps/cache", "Pod apps/cache",
    ]  # fmt: skip


def test_an_earlier_generation_and_another_bundle_are_not_ready() -> None:
    done = extension("Succeeded", bundle="cache.v1.0.0")
    old = extension("Succeeded", bundle="cache.v1.0.0", generation=2)
    state = ExtensionState(name="cache", extension=done)

    assert explained(old).readiness is Readiness.WAITING
    assert explained(extension("RollingOut")).readiness is Readiness.WAITING
    assert explained(None).cause == "not-installed"
    assert explain(state, target="cache.v1.0.0").is_ready
    assert explain(state, target="cache.v2.0.0").readiness is Readiness.WAITING


@pytest.mark.parametrize(
    ("message", "cause", "says"),
    [
        ('no bundles found for package "cache"', "no-such-package", "`cache`"),
        ('no bundles found for package "cache" matching version "9.x"', "no-such-version", "9.x"),
        (
            (
                'error upgrading from currently installed version "1.0.0": no bundles found for '
                'package "cache" matching version "9.x"'
            ),
            "no-way",
            "from version 1.0.0",
        ),
        (
            'found bundles for package "cache" in multiple catalogs with the same priority [a b]',
            "several-catalogs",
            "`a`, `b`",
        ),
        (
            (
                'validating bundle "cache.v1": bundle "cache.v1" has a dependency declared via '
                'property "olm.gvk.required" which is currently not supported'
            ),
            "dependencies-not-supported",
            "olm.gvk.required",
        ),
        ('desired version range "x y" is invalid: …', "bad-range", "`x y`"),
        (
            (
                'validating upgrade for CRD "caches.example.com" failed: '
                "CustomResourceDefinition caches.example.com failed upgrade safety validation. "
                '"ChangeValidator" validation failed: version "v1", field "^.spec": new required '
                "fields [size] added" + RESOLVED
            ),
            "crd-upgrade-unsafe",
            '`caches.example.com` would break objects: version "v1", field "^.spec": new required',
        ),
        (
            "webhookDefinitions are not supported" + RESOLVED,
            "webhooks-not-supported",
            "does not install bundles with webhooks",
        ),
        (
            (
                "supported install modes [OwnNamespace SingleNamespace] do not support targeting "
                "all namespaces" + RESOLVED
            ),
            "install-mode-not-supported",
            "`OwnNamespace`, `SingleNamespace`",
        ),
        ("apiServiceDefintions are not supported" + RESOLVED, "api-services-not-supported", ""),
        (
            "bundle contains unsupported resource: Name: all, Kind: NetworkPolicy" + RESOLVED,
            "kind-not-supported",
            "`NetworkPolicy`",
        ),
        (
            (
                "Unable to continue with install: could not get information about the resource "
                'ServiceAccount "cache" in namespace "apps": serviceaccounts "cache" is '
                'forbidden: User "system:serviceaccount:apps:installer" cannot get resource '
                '"serviceaccounts" in API group "" in the namespace "apps"' + RESOLVED
            ),
            "service-account-forbidden",
            '`apps/installer` cannot get resource "serviceaccounts"',
        ),
        (
            "error creating image source: reading manifest v1 in r.example/b: manifest unknown"
            + RESOLVED,
            "bundle-cannot-be-unpacked",
            "manifest unknown",
        ),
        ("installation cannot proceed due to missing ServiceAccount", "service-account", "`apps`"),
        ("something new", "extension-fails", "something new"),
    ],
)
def test_a_message_has_a_cause_with_names(message: str, cause: str, says: str) -> None:
    shelf = catalog("True", "Available")
    found = explained(extension("Retrying", message), shelf)

    assert found.cause == cause
    assert says in found.message
    assert found.readiness in (Readiness.STUCK, Readiness.BLOCKED)
    assert explained(extension("Blocked", message), shelf).readiness is Readiness.BLOCKED
    assert found.message.count("resolved bundle") == 0


@pytest.mark.parametrize(
    ("reason", "hint"),
    [
        ("manifest unknown", "push the image, or correct the catalog that names it"),
        ("x509: certificate signed by unknown authority", "check that operator-controller can"),
    ],
)
def test_only_an_image_that_the_registry_does_not_have_must_be_pushed(
    reason: str, hint: str
) -> None:
    message = f"error creating image source: reading manifest v1 in r.example/b: {reason}"
    assert explained(extension("Retrying", message + RESOLVED)).hint.startswith(hint)


def test_all_missing_permissions_are_listed() -> None:
    message = (
        'roles is forbidden: user "system:serviceaccount:apps:installer" (groups=["a"]) is '
        "attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:["example.com"], Resources:["caches"], Verbs:["get" "list"]}\n'
        '{NonResourceURLs:["/metrics"], Verbs:["get"]}\n'
        '{APIGroups:[""], Resources:["secrets"], ResourceNames:["a"], Verbs:["*"]}' + RESOLVED
    )
    found = explained(extension("Retrying", message))

    assert found.cause == "service-account-forbidden"
    assert "lacks 3 permissions" in found.message
    assert found.details == (
        "get, list: caches.example.com", "get: /metrics", "*: secrets named a",
    )  # fmt: skip


def test_every_breaking_change_of_a_crd_is_listed() -> None:
    message = (
        "CustomResourceDefinition caches.example.com failed upgrade safety validation. "
        '"NoExistingFieldRemoved" validation failed: crd/caches.example.com version/v1 field/^.a '
        'may not be removed\n"ChangeValidator" validation failed: version "v1", field "^.b": '
        "maximum changed\nCustomResourceDefinition caches.example.com failed upgrade safety "
        'validation. calculating schema diff for CRD version "v1"'
    )
    found = explained(extension("Retrying", message, bundle="cache.v1.0.0"))

    assert found.details == (
        "crd/caches.example.com version/v1 field/^.a may not be removed",
        'version "v1", field "^.b": maximum changed',
    )
    assert ", and 1 more" in found.message
    assert "`olmkit upgrade cache --olm v1 --to 1.0.0` returns" in found.hint


@pytest.mark.parametrize(
    ("labels", "says", "hint"),
    [
        ({OWNER_LABEL: "other"}, "belongs to ClusterExtension `other`", "uninstall `other` first"),
        ({}, "was not created by OLM v1", "uninstall what created it"),
    ],
)
def test_a_collision_names_the_owner(labels: dict[str, str], says: str, hint: str) -> None:
    name = "caches.example.com"
    message = (
        f"CustomResourceDefinition '{name}' already exists in namespace '' and cannot be managed "
        "by operator-controller" + RESOLVED
    )
    there = {"kind": "CustomResourceDefinition", "metadata": {"name": name, "labels": labels}}
    found = explained(extension("Retrying", message), around=(there,))

    assert (found.cause, found.readiness) == ("crd-owned-elsewhere", Readiness.BLOCKED)
    assert says in found.message
    assert hint in found.hint


def test_a_missing_namespace_is_the_reason_for_a_missing_account() -> None:
    message = "installation cannot proceed due to missing ServiceAccount"
    system = {"kind": "Namespace", "metadata": {"name": "olmv1-system"}}
    found = explained(extension("Retrying", message), around=(system,))

    assert (found.cause, "`apps`" in found.message) == ("namespace-missing", True)


def test_an_unserved_catalog_is_named_with_its_own_reason() -> None:
    ailing = catalog("False", "Unavailable", "reading manifest 1: manifest unknown")
    message = (
        'error walking catalogs: error getting package "cache" from catalog "shelf": '
        'catalog "shelf" is not being served'
    )
    found = explained(
        extension("Retrying", message), catalog("True", "Available", name="a"), ailing
    )

    assert (found.cause, found.origin) == ("catalog-not-ready", FaultOrigin.WORLD)
    assert (
        "the catalog `shelf` is not served: reading manifest 1: manifest unknown" in found.message
    )
    assert "every catalog" in found.message
    assert "push the image `registry.example/shelf:1`" in found.hint
    selected = extension("Retrying", message, selector={"matchLabels": {
        "olm.operatorframework.io/metadata.name": "shelf"}})  # fmt: skip
    assert "every catalog" not in explained(selected, ailing).message


def test_a_catalog_only_explains_a_missing_package_if_it_is_read() -> None:
    ailing = catalog("False", "Unavailable", "pull: not found")
    nothing = 'no bundles found for package "cache"'
    other = {"matchLabels": {"olm.operatorframework.io/metadata.name": "other"}}

    assert explained(extension("Retrying", nothing), ailing).cause == "catalog-not-ready"
    elsewhere = extension("Retrying", nothing, selector=other)
    assert explained(elsewhere, ailing).cause == "no-such-catalog"
    well = catalog("True", "Available", name="other")
    assert explained(elsewhere, ailing, well).cause == "no-such-package"
    off = catalog("False", "UserSpecifiedUnavailable", name="other")
    off["spec"]["availabilityMode"] = "Unavailable"
    assert explained(elsewhere, ailing, off).cause == "catalog-switched-off"


NOT_FOUND = 'no bundles found for package "cache"'


@pytest.mark.parametrize("rest", ["", ' matching version "9.x"'])
@pytest.mark.parametrize(
    "before", ["", 'error upgrading from currently installed version "1.0.0": ']
)
def test_a_cluster_without_catalogs_is_the_reason_for_a_missing_package(
    before: str, rest: str
) -> None:
    found = explained(extension("Retrying", f"{before}{NOT_FOUND}{rest}"))

    assert found.cause == "no-such-catalog"
    assert found.message == "the cluster has no ClusterCatalog that could have the package `cache`"
    assert "`olmkit catalog deploy IMAGE --name NAME --olm v1`" in found.hint
    named = {"matchLabels": {"olm.operatorframework.io/metadata.name": "other"}}
    found = explained(extension("Retrying", f"{before}{NOT_FOUND}{rest}", selector=named))
    assert "no ClusterCatalog `other` exists" in found.message


def test_catalogs_that_cannot_be_listed_are_not_reported_as_absent() -> None:
    before = 'error upgrading from currently installed version "1.0.0": '
    for said, says in (
        (NOT_FOUND, "found no bundle of the package `cache`;"),
        (f'{NOT_FOUND} matching version "9.x"', '`cache` matching version "9.x";'),
        (f'{before}{NOT_FOUND} in channels [a]', "`cache` from version 1.0.0 in channels [a];"),
    ):  # fmt: skip
        hidden = ExtensionState(
            name="cache", extension=extension("Retrying", said), are_catalogs_known=False
        )
        found = explain(hidden)
        assert (found.cause, found.readiness) == ("catalogs-not-listable", Readiness.STUCK)
        assert says in found.message
        assert "you may not list ClusterCatalogs" in found.message
        assert "`list` of `clustercatalogs.olm.operatorframework.io`" in found.hint
        # A file of the objects also contains that.
        assert explain(state.from_objects(state.objects_of(hidden), "cache")) == found


def test_deployments_that_cannot_be_listed_are_not_reported_as_available() -> None:
    hidden = ExtensionState(
        name="cache",
        extension=extension("Succeeded", bundle="cache.v1.0.0"),
        are_deployments_known=False,
    )
    found = explain(hidden)
    assert (found.cause, found.readiness) == ("deployments-not-listable", Readiness.READY)
    assert "whether its Deployments are available is not known" in found.message
    assert "`list` of `deployments.apps`" in found.hint
    # A file of the objects also contains that.
    assert explain(state.from_objects(state.objects_of(hidden), "cache")) == found


def test_disabled_catalogs_are_named() -> None:
    off = catalog("True", "Available", name="off")  # catalogd has not processed the change
    off["spec"]["availabilityMode"] = "Unavailable"
    nothing = 'no bundles found for package "cache"'
    before = f'error upgrading from currently installed version "1.0.0": {nothing}'
    well = catalog("True", "Available", name="other")

    assert explained(extension("Retrying", nothing), off).cause == "catalog-switched-off"
    for message, cause in ((nothing, "no-such-package"), (before, "no-way")):
        found = explained(extension("Retrying", message), off, well)
        assert (found.cause, "the catalog `off` is disabled" in found.hint) == (cause, True)
    named = {"matchLabels": {"olm.operatorframework.io/metadata.name": "other"}}
    found = explained(extension("Retrying", nothing, selector=named), off, well)
    assert "switched off" not in found.hint


def test_a_catalog_that_was_enabled_again_has_its_own_reason() -> None:
    """`Serving` keeps its old reason if the image cannot be read then."""
    found = catalogs.explain_catalog(
        catalog("False", "UserSpecifiedUnavailable", "manifest unknown")
    )
    assert found is not None
    assert found.cause == "catalog-not-ready"
    assert "manifest unknown" in found.message


def test_a_blocked_catalog_is_not_retried() -> None:
    ailing = catalog("False", "Unavailable", "no such ref")
    tried = catalogs.explain_catalog(ailing)
    ailing["status"]["conditions"][1]["reason"] = "Blocked"
    blocked = catalogs.explain_catalog(ailing)

    assert tried is not None
    assert blocked is not None
    assert (tried.readiness, blocked.readiness) == (Readiness.STUCK, Readiness.BLOCKED)
    assert catalogs.explain_catalog(catalog("True", "Available")) is None


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ({}, "ab"),
        ({"matchLabels": {"tier": "1"}}, "a"),
        ({"matchExpressions": [{"key": "tier", "operator": "In", "values": ["1", "2"]}]}, "ab"),
        ({"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["1"]}]}, "b"),
        ({"matchExpressions": [{"key": "x", "operator": "Exists"}]}, ""),
        ({"matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]}, "ab"),
        ({"matchLabels": {"olm.operatorframework.io/metadata.name": "b"}}, "b"),
    ],
)
def test_a_selector_selects_by_label(selector: Manifest, names: str) -> None:
    shelves = [catalog("True", "Available", name=name) for name in "abc"]
    for tier, shelf in zip("12", shelves[:2], strict=True):
        shelf["metadata"]["labels"] = {"tier": tier}
    shelves[2]["spec"]["availabilityMode"] = "Unavailable"

    found = catalogs.selected_catalogs(shelves, {"selector": selector})

    assert "".join(one["metadata"]["name"] for one in found) == names


@pytest.mark.parametrize(
    ("priorities", "lowest"), [((), -1), ((5,), -1), ((0, -400), -401), ((-(2**31),), -(2**31))]
)
def test_a_new_catalog_gets_a_lower_priority_than_all_others(
    priorities: tuple[int, ...], lowest: int
) -> None:
    there = [{"spec": {"priority": priority}} for priority in priorities]

    assert catalogs.lowest_priority(there) == lowest


def test_without_progress_olm_is_reported_as_not_running() -> None:
    controller = deployment("operator-controller-controller-manager", available=False)
    controller["metadata"]["namespace"] = "olmv1-system"
    system = ClusterState(namespace="olmv1-system", deployments=(controller,))
    old = extension("Succeeded", bundle="cache.v1.0.0", generation=2)

    assert explained(old, system=system).cause == "controller-not-running"
    controller["status"]["conditions"][0]["status"] = "True"
    controller["spec"]["replicas"] = 0
    found = explained(old, system=system)
    assert (found.cause, "scaled to 0" in found.message) == ("controller-not-running", True)
    old["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    old["metadata"]["finalizers"] = ["olm.operatorframework.io/cleanup"]
    assert explained(old, system=system).cause == "controller-not-running"
    assert "`olm.operatorframework.io/cleanup`" in explained(old).message


def test_a_message_is_outdated_if_the_controller_does_not_run() -> None:
    gone = deployment("operator-controller-controller-manager")
    gone["metadata"]["namespace"] = "olmv1-system"
    gone["spec"]["replicas"] = 0
    system = ClusterState(namespace="olmv1-system", deployments=(gone,))
    old = extension("Retrying", 'no bundles found for package "cache"')
    assert explained(old, system=system).cause == "controller-not-running"

    gone["metadata"]["name"] = "catalogd-controller-manager"
    assert explained(old, catalog("True", "Available"), system=system).cause == "no-such-package"
    unread = extension("Retrying", "error walking catalogs: error getting package \"cache\" from "
                       'catalog "shelf": dial tcp: connection refused')  # fmt: skip
    assert explained(unread).cause == "catalog-not-ready"
    assert explained(unread, system=system).cause == "controller-not-running"


@pytest.mark.parametrize("replicas", [1, 2, None])
def test_a_controller_that_runs_explains_nothing(replicas: int | None) -> None:
    runs = deployment("operator-controller-controller-manager")
    runs["metadata"]["namespace"] = "olmv1-system"
    runs["spec"] |= {"replicas": replicas}
    if replicas is None:
        del runs["spec"]["replicas"]  # the API server's default is 1
    system = ClusterState(namespace="olmv1-system", deployments=(runs,))

    found = explained(
        extension("Retrying", 'no bundles found for package "cache"'),
        catalog("True", "Available"),
        system=system,
    )

    assert found.cause == "no-such-package"


def test_a_stopped_controller_has_its_own_hint_or_that_of_its_deployment() -> None:
    name = "operator-controller-controller-manager"
    stopped, its_pod = deployment(name, available=False), pod(name)
    for one in (stopped, its_pod):
        one["metadata"]["namespace"] = "olmv1-system"
    system = ClusterState(namespace="olmv1-system", deployments=(stopped,))
    old = extension("Succeeded", bundle="cache.v1.0.0", generation=2)

    assert explained(old, system=system).hint == (
        f"check the Deployment `{name}` in namespace `olmv1-system`"
    )
    with_pod = replace(system, pods=(its_pod,))
    assert explained(old, system=with_pod).hint == "push the image, or correct its name"


def test_the_second_controller_is_looked_at_if_the_first_one_runs() -> None:
    first = deployment(CONTROLLERS[0])
    second = deployment(CONTROLLERS[1])
    for one in (first, second):
        one["metadata"]["namespace"] = "olmv1-system"
    second["spec"]["replicas"] = 0
    system = ClusterState(namespace="olmv1-system", deployments=(first, second))
    old = extension("Succeeded", bundle="cache.v1.0.0", generation=2)

    found = explained(old, system=system)

    assert found.cause == "controller-not-running"
    assert f"`{CONTROLLERS[1]}` is scaled to 0" in found.message


def test_deprecated_content_is_reported() -> None:
    old = extension("Succeeded", bundle="cache.v1.0.0")
    old["status"]["conditions"].append(
        {"type": "Deprecated", "status": "True", "reason": "Deprecated", "message": "use v2"}
    )

    assert explained(old).hint == "deprecated: use v2"


def test_an_extension_is_found_by_its_name_and_by_its_package() -> None:
    one, two = extension("Succeeded", name="one"), extension("Succeeded", name="two")

    assert state.choose_extension([one, two], "two") is two
    assert state.choose_extension([one], "cache") is one
    assert state.choose_extension([one], "other") is None
    with pytest.raises(InputError, match="`one`, `two`"):
        state.choose_extension([one, two], "cache")


def test_a_state_in_a_file_is_read_back() -> None:
    message = "installation cannot proceed due to missing ServiceAccount"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "olmv1-system"}}
    controller = deployment("operator-controller-controller-manager")
    controller["metadata"]["namespace"] = "olmv1-system"
    before = ExtensionState(
        name="cache",
        extension=extension("Retrying", message),
        catalogs=(catalog("True", "Available"),),
        here=ClusterState(namespace="apps", deployments=(deployment(),), pods=(pod(),)),
        system=ClusterState(namespace="olmv1-system", deployments=(controller,)),
        around=(namespace,),
    )
    after = state.from_objects(list(state.objects_of(before)), "cache")

    assert explain(after) == explain(before)
    assert (after.here.pods, after.system.deployments) == (before.here.pods, (controller,))


def test_a_refused_request_in_the_log_of_a_ready_operator_is_reported() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "cache-1", "namespace": "apps", "labels": {"app": "cache"}},
        "status": {"containerStatuses": [{"name": "manager", "state": {"running": {}}}]},
    }
    line = (
        'leases.coordination.k8s.io "cache" is forbidden: User "system:serviceaccount:apps:cache" '
        'cannot get resource "leases" in API group "coordination.k8s.io" in the namespace "apps"'
    )
    here = ClusterState(
        namespace="apps",
        deployments=(deployment(), deployment("theirs", owner="theirs")),
        pods=(pod,),
        logs={"apps/cache-1/manager": line},
    )
    found = explained(extension("Succeeded", bundle="cache.v1.0.0"), here=here)
    assert found.is_ready
    assert found.message.endswith("healthy, but the API server refuses some of its requests")
    (detail,) = found.details
    assert detail.startswith("the log of `cache-1` has a refused request: the ServiceAccount")
    assert detail.endswith(
        "`cache` cannot get `leases.coordination.k8s.io` in the namespace `apps`"
    )
    assert found.hint == refused_requests.HINT


def test_each_change_of_several_crds_is_reported_with_its_crd() -> None:
    failed = 'failed upgrade safety validation. "ServedVersionValidator" validation failed: '
    message = "\n".join(
        f'validating upgrade for CRD "{name}" failed: CustomResourceDefinition {name} {failed}{why}'
        for name, why in (
            ("rays.example.com", 'calculating schema diff between CRD versions "v1" and "v2"'),
            ("jobs.example.com", 'version "v1", field "^.spec.groups" has unknown change'),
            ("queues.example.com", 'version "v1", field "^.spec.size" has unknown change'),
        )
    )
    found = explained(extension("Retrying", message + RESOLVED, bundle="cache.v1.0.0"))
    assert found.message == (
        "the new CustomResourceDefinition `jobs.example.com` would break objects: "
        'version "v1", field "^.spec.groups" has unknown change, and 1 more'
    )
    assert found.details == (
        'jobs.example.com: version "v1", field "^.spec.groups" has unknown change',
        'queues.example.com: version "v1", field "^.spec.size" has unknown change',
    )


def test_the_name_of_a_catalog_is_not_that_of_an_operator() -> None:
    served = catalog("True", "Available")
    served["status"]["conditions"][1]["reason"] = "Succeeded"
    found = explain(ExtensionState(name="shelf", catalogs=(served,)))
    assert found.cause == "not-installed"
    assert found.message == (
        "`shelf` is a ClusterCatalog, and no ClusterExtension requests a package of this name; "
        "catalogd serves it"
    )
    assert found.hint == (
        "run `olmkit catalog list packages clustercatalog:shelf` to see its packages, and "
        "`olmkit status` to see which operators are installed"
    )
    broken = catalog("False", "Unavailable", "no such image")
    found = explain(ExtensionState(name="shelf", catalogs=(broken,)))
    assert found.message.endswith("; the catalog `shelf` is not served: no such image")
    assert "install" not in found.hint
    other = explain(ExtensionState(name="cache", catalogs=(broken,)))
    assert other.hint == "install it: `olmkit install cache --olm v1`"
