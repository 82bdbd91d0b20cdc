"""Explain why bundles are not unpacked, from OLM's unpack Jobs.

OLM unpacks a bundle with a Job in the namespace of the catalog, and does not record which
Subscription needs it. Several namespaces can use one catalog. A Job counts only if this namespace
may wait for it: a Subscription here names the package of its bundle, or there is no other
explanation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import explanation
from olmkit.olm.explain.explanation import ChainLink, Diagnosis, FaultOrigin, Readiness
from olmkit.olm.explain.workloads import images, pods

# The meaning of `BundleUnpackFailed` without a failed Job, by its reason: cause, message, hint, and
# whether OLM tries again.
_ENDS = {
    "ErrorPreventedUnpacking": (
        "bundle-cannot-be-unpacked",
        "OLM cannot read the bundle",
        "correct the bundle, and publish it as a new version",
        Readiness.BLOCKED,
    ),
    "EnsureInstallPlanFailed": (
        "install-plan-failed",
        "OLM cannot create the InstallPlan",
        "",
        Readiness.STUCK,
    ),
}

# The last line of OLM's program that copies a bundle, when the image does not have one.
_NO_BUNDLE = re.compile(r"lstat (?P<path>/(?:metadata|manifests)\S*): no such file")
_POD_PREFIX = 57


@dataclass(frozen=True, slots=True)
class Jobs:
    """The unpack Jobs of a namespace. `is_clear`: they are unambiguous."""

    found: tuple[Manifest, ...]
    is_clear: bool = True


def explain_unpacking(snapshot: ClusterState, subscription: Manifest) -> Diagnosis | None:
    """Explain the state of unpacking, which takes precedence over a failed resolution."""
    failed = kinds.condition(subscription, "BundleUnpackFailed")
    if failed is None and kinds.condition(subscription, "BundleUnpacking") is None:
        return None
    ends = _ENDS.get(text(mapping(failed).get("reason")))
    if ends is not None:
        cause, what, hint, readiness = ends
        return Diagnosis(
            cause=cause,
            message=f"{what}: {explanation.first_line(text(mapping(failed).get('message')))}",
            hint=hint,
            readiness=readiness,
        )
    jobs = find_jobs(snapshot, subscription)
    if jobs.is_clear:
        blamed = _explain_worst_job(
            snapshot, subscription, jobs.found, has_failed=failed is not None
        )
        if blamed is not None:
            return blamed
    if failed is not None:
        return _explain_ended_unpacking(
            snapshot, text(failed.get("message")), jobs.found if jobs.is_clear else ()
        )
    if not jobs.is_clear:
        places = sorted({objects.namespace(job) for job in jobs.found})
        listed = ", ".join(f"`{place}`" for place in places)
        return Diagnosis(
            cause="unpacking",
            message="the bundle is being unpacked; it is not known which of the "
            f"{len(jobs.found)} unpack Jobs in namespace {listed} does it",
            readiness=Readiness.WAITING,
        )
    for job in jobs.found:
        return Diagnosis(
            cause="unpacking",
            message=f"{_describe_bundle(snapshot, subscription, job)} is being unpacked",
            links=(_link(job),),
            readiness=Readiness.WAITING,
        )
    return Diagnosis(
        cause="unpacking", message="the bundle is being unpacked", readiness=Readiness.WAITING
    )


def find_jobs(snapshot: ClusterState, subscription: Manifest) -> Jobs:
    """Return the incomplete Jobs that unpack bundles for the namespace of a Subscription."""
    failed = kinds.condition(subscription, "BundleUnpackFailed")
    listed = [
        job for job in find_unfinished_jobs(snapshot) if _is_job_with_state(job, failed is not None)
    ]
    asked = {kinds.subscription_key(one).package for one in snapshot.subscriptions}
    own = [job for job in listed if snapshot.packages.get(image(job)) in asked]
    if own:
        return Jobs(tuple(own))
    asked_elsewhere = {kinds.subscription_key(one).package for one in snapshot.elsewhere}
    # A package that no Subscription names can be a dependency.
    rest = [job for job in listed if snapshot.packages.get(image(job)) not in asked_elsewhere]
    return Jobs(tuple(rest), is_clear=not any(_is_doubtful(snapshot, one) for one in rest))


def find_unfinished_jobs(snapshot: ClusterState) -> Iterator[Manifest]:
    """Yield all visible unpack Jobs that are not complete."""
    for job in snapshot.jobs:
        if kinds.UNPACK_LABEL in objects.labels_of(job) and not kinds.condition(job, "Complete"):
            yield job


def is_doubtful(snapshot: ClusterState) -> bool:
    """Return whether a Job may belong to another namespace or a deleted Subscription."""
    return any(
        image(job) not in snapshot.packages and _is_doubtful(snapshot, job)
        for job in find_unfinished_jobs(snapshot)
    )


def image(job: Manifest) -> str:
    """Return the bundle image that a Job unpacks."""
    template = mapping(mapping(kinds.spec(job).get("template")).get("spec"))
    for container in sequence(template.get("initContainers")):
        if isinstance(container, dict) and container.get("name") == "pull":
            return text(container.get("image"))
    return objects.name(job)


def _is_job_with_state(job: Manifest, has_failed: bool) -> bool:
    """Return whether a Job matches the condition: a failed one only with `BundleUnpackFailed`."""
    return has_failed or kinds.condition(job, "Failed") is None


def _is_doubtful(snapshot: ClusterState, job: Manifest) -> bool:
    place, made = objects.namespace(job), _creation_time(job)
    rivals = [
        one
        for one in snapshot.elsewhere
        if kinds.subscription_key(one).catalog_namespace == place and _is_moving(one)
    ]
    since = [_creation_time(one) for one in snapshot.subscriptions]
    return bool(rivals) or bool(made and all(since) and since and made < min(since))


def _is_moving(subscription: Manifest) -> bool:
    """Return whether OLM may be unpacking for a Subscription: it reports so, or has no plan yet."""
    return (
        kinds.condition(subscription, "BundleUnpacking") is not None
        or kinds.condition(subscription, "BundleUnpackFailed") is not None
        or not kinds.plan_name(subscription)
    )


def _creation_time(manifest: Manifest) -> str:
    return text(objects.metadata(manifest).get("creationTimestamp"))


def _explain_worst_job(
    snapshot: ClusterState, subscription: Manifest, jobs: Sequence[Manifest], *, has_failed: bool
) -> Diagnosis | None:
    """Explain the first of the Jobs that has stopped."""
    for job in jobs:
        labels = {"job-name": objects.name(job)}
        below = pods.explain_worst_pod(snapshot, snapshot.pods_of(objects.namespace(job), labels))
        below = below or pods.explain_refused_pods(snapshot, job)
        if below is None or below.readiness is Readiness.WAITING:
            continue
        below = _explain_bundle_image(job, below)
        package = snapshot.packages.get(image(job), "")
        other = package and package != kinds.subscription_key(subscription).package
        whose = f"the bundle of `{package}`" if other else "the bundle"
        also = "; OLM installs nothing in the namespace until it is" if other else ""
        return Diagnosis(
            cause="bundle-cannot-be-unpacked",
            message=f"{whose} cannot be unpacked: {below.message}{also}",
            hint=below.hint,
            links=(_link(job), *below.links),
            log=below.log,
            readiness=Readiness.BLOCKED if has_failed else Readiness.STUCK,
            origin=below.origin,
        )
    return None


def _explain_bundle_image(job: Manifest, below: Diagnosis) -> Diagnosis:
    """Explain a failed unpack pod, for example for an image without bundle metadata."""
    below = images.use_catalog_secrets(below)
    missing = _NO_BUNDLE.search(below.log)
    if below.cause != "container-crashes" or missing is None:
        return below
    return replace(
        below,
        message=f"the image `{image(job)}` is not a bundle image: it has no `{missing['path']}`",
        hint="let the catalog name the image of a bundle; `olmkit bundle build` builds one",
        readiness=Readiness.STUCK,
    )


def _explain_ended_unpacking(
    snapshot: ClusterState, message: str, jobs: Sequence[Manifest]
) -> Diagnosis:
    late = "DeadlineExceeded" in message
    failed = [job for job in jobs if kinds.condition(job, "Failed") is not None]
    # The pods of an expired Job are gone; their events remain for an hour.
    pulls = [(job, found) for job in failed if (found := _explain_pull(snapshot, job)) is not None]
    why, hint = "", "check that the bundle's image can be pulled in the catalog's namespace"
    if pulls:
        job, (reason, hint) = pulls[0]
        hint = hint.replace(images.POD_SECRETS, images.CATALOG_SECRETS)
        why = f": the image `{image(job)}` cannot be pulled: "
        why += reason.removeprefix(f"{image(job)}: ")
    return Diagnosis(
        cause="unpack-time-out" if late else "bundle-cannot-be-unpacked",
        message=f"unpacking the bundle took longer than allowed{why}"
        if late
        else f"the bundle cannot be unpacked: {explanation.first_line(message)}",
        hint=f"{hint}; OLM tries again after some minutes",
        links=tuple(explanation.link(job, f"unpacks {image(job)}: failed") for job in failed),
        readiness=Readiness.BLOCKED,
        origin=FaultOrigin.WORLD,
    )


def _explain_pull(snapshot: ClusterState, job: Manifest) -> tuple[str, str] | None:
    # Kubernetes truncates names of pods before the random part, to at most 63 characters.
    prefix = objects.name(job)[:_POD_PREFIX]
    return images.explain_deleted_pods(snapshot, objects.namespace(job), prefix, image(job))


def _describe_bundle(snapshot: ClusterState, subscription: Manifest, job: Manifest) -> str:
    package = snapshot.packages.get(image(job), "")
    other = package and package != kinds.subscription_key(subscription).package
    return f"the bundle `{image(job)}`" + (f" of `{package}`" if other else "")


def _link(job: Manifest) -> ChainLink:
    ended = kinds.condition(job, "Failed")
    state = text(ended.get("reason")) if ended is not None else "running"
    return explanation.link(job, f"unpacks {image(job)}: {state}")
