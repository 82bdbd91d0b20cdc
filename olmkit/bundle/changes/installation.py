"""Compare where bundles can be installed, what they need and what they run."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmkit.base.versions import Version
from olmkit.bundle.changes.change import GENERATIONS, V0, V1, Area, BundleChange, ChangeLevel
from olmkit.bundle.summary.summary import (
    ApiSummary,
    BundleSummary,
    PropertySummary,
    WebhookSummary,
    Workload,
)

_ALL = "AllNamespaces"


def compare_installation(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    """Yield the differences in the requirements of an install, from install modes to properties."""
    yield from _modes(old, new)
    yield from _kube_version(old, new)
    yield from _apis(old, new)
    yield from _workloads(old, new)
    yield from _webhooks(old, new)
    yield from _entries(old, new)


def _modes(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    for mode in sorted(set(old.install_modes) - set(new.install_modes)):
        yield BundleChange(
            area=Area.INSTALLATION,
            rule="install-mode-removed",
            message=f"no longer supports the install mode `{mode}`",
            level=ChangeLevel.BLOCKS,
            olm=GENERATIONS if mode == _ALL else (V0,),
            old=mode,
            hint="where the OperatorGroup needs this mode, the new version fails with "
            "`UnsupportedOperatorGroup`",
            otherwise=ChangeLevel.INFO,
        )
    for mode in sorted(set(new.install_modes) - set(old.install_modes)):
        yield BundleChange(
            area=Area.INSTALLATION,
            rule="install-mode-added",
            message=f"now supports the install mode `{mode}`",
            new=mode,
        )


def _kube_version(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    if old.min_kube_version == new.min_kube_version:
        return
    before, after = (Version.read(one.min_kube_version.removeprefix("v")) for one in (old, new))
    is_higher = after is not None and (before is None or after > before)
    yield BundleChange(
        area=Area.INSTALLATION,
        rule="min-kube-version-raised" if is_higher else "min-kube-version-lowered",
        message=f"the least version of Kubernetes changes from `{old.min_kube_version or 'any'}` "
        f"to `{new.min_kube_version or 'any'}`",
        level=ChangeLevel.WARNS if is_higher else ChangeLevel.INFO,
        olm=(V0,),
        old=old.min_kube_version,
        new=new.min_kube_version,
        hint="on an older cluster the new ClusterServiceVersion stays `Pending`"
        if is_higher
        else "",
    )


def _apis(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    for one in _find_missing(old.provided, new.provided):
        yield _api(one, "api-removed", "no longer provides", ChangeLevel.WARNS)
    for one in _find_missing(new.provided, old.provided):
        yield _api(one, "api-added", "now provides", ChangeLevel.INFO)
    for one in _find_missing(old.required, new.required):
        yield _api(one, "required-api-removed", "no longer needs", ChangeLevel.INFO)
    had_none = not old.required
    for one in _find_missing(new.required, old.required):
        yield BundleChange(
            area=Area.APIS,
            rule="required-api-added",
            message=f"now needs {_describe_api(one)}",
            level=ChangeLevel.BLOCKS if had_none else ChangeLevel.WARNS,
            olm=(V1,) if had_none else (V0,),
            subject=one.name,
            hint="OLM v1 does not resolve dependencies and refuses the bundle; OLM v0 upgrades "
            "only where a catalog has an operator that provides it",
        )


def _api(one: ApiSummary, rule: str, verb: str, level: ChangeLevel) -> BundleChange:
    return BundleChange(
        area=Area.APIS,
        rule=rule,
        message=f"{verb} {_describe_api(one)}",
        level=level,
        subject=one.name,
    )


def _describe_api(one: ApiSummary) -> str:
    group = f"{one.group}/" if one.group else ""
    served = " through an APIService" if one.is_api_service else ""
    return f"`{one.kind}` of `{group}{one.version}`{served}"


def _find_missing(some: Iterable[ApiSummary], others: Iterable[ApiSummary]) -> list[ApiSummary]:
    known = {(one.name, one.group, one.version, one.kind) for one in others}
    return [one for one in some if (one.name, one.group, one.version, one.kind) not in known]


def _workloads(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    olds = {one.name: one for one in old.workloads}
    news = {one.name: one for one in new.workloads}
    for name in olds:
        if name not in news:
            yield _workload(
                name, "deployment-removed", "the Deployment was removed: OLM deletes it"
            )
    for name, after in news.items():
        before = olds.get(name)
        if before is None:
            yield _workload(name, "deployment-added", "the Deployment is new")
        else:
            yield from _workload_changes(before, after)


def _workload_changes(before: Workload, after: Workload) -> Iterator[BundleChange]:
    name = after.name
    if before.selector != after.selector:
        yield _workload(
            name,
            "selector-changed",
            "the selector of the Deployment changes, which the API server refuses",
            ChangeLevel.BLOCKS,
            values=(before.selector, after.selector),
            hint="keep the labels of the selector, or give the Deployment a new name",
        )
    if before.replicas != after.replicas:
        yield _workload(
            name,
            "replicas-changed",
            f"the replicas change from {before.replicas} to {after.replicas}",
            ChangeLevel.INFO if after.replicas else ChangeLevel.WARNS,
            values=(before.replicas, after.replicas),
        )
    if before.account != after.account:
        yield _workload(
            name,
            "service-account-changed",
            f"the service account changes from `{before.account}` to `{after.account}`",
            values=(before.account, after.account),
        )
    if before.containers != after.containers:
        listed = ", ".join(f"`{one}`" for one in after.containers) or "none"
        yield _workload(
            name,
            "containers-changed",
            f"the containers are now {listed}",
            values=(list(before.containers), list(after.containers)),
        )


def _workload(
    name: str,
    rule: str,
    message: str,
    level: ChangeLevel = ChangeLevel.INFO,
    *,
    values: tuple[Any, Any] = (None, None),
    hint: str = "",
) -> BundleChange:
    return BundleChange(
        area=Area.WORKLOADS,
        rule=rule,
        message=message,
        level=level,
        subject=name,
        old=values[0],
        new=values[1],
        hint=hint,
    )


def _webhooks(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    olds = {(one.type, one.name): one for one in old.webhooks}
    news = {(one.type, one.name): one for one in new.webhooks}
    for key, before in olds.items():
        if key not in news:
            yield _webhook(before, "webhook-removed", f"the {_kind(before)} is gone")
    for key, after in news.items():
        known = olds.get(key)
        if known is None:
            yield _added_webhook(after)
        elif known != after:
            yield _webhook(
                after,
                "webhook-changed",
                f"the {_kind(after)} changes: {', '.join(_differing_fields(known, after))}",
            )


def _added_webhook(one: WebhookSummary) -> BundleChange:
    return BundleChange(
        area=Area.WEBHOOKS,
        rule="webhook-added",
        message=f"the {_kind(one)} is new"
        + (f", for {'; '.join(one.resources)}" if one.resources else ""),
        level=ChangeLevel.WARNS,
        subject=one.name,
        hint="requests fail while it does not answer, unless its `failurePolicy` is `Ignore`; "
        "OLM v1 needs cert-manager or OpenShift's service CA for its certificate",
    )


def _webhook(one: WebhookSummary, rule: str, message: str) -> BundleChange:
    return BundleChange(area=Area.WEBHOOKS, rule=rule, message=message, subject=one.name)


def _kind(one: WebhookSummary) -> str:
    kinds = {
        "ValidatingAdmissionWebhook": "validating webhook",
        "MutatingAdmissionWebhook": "mutating webhook",
        "ConversionWebhook": "conversion webhook",
    }
    return kinds.get(one.type, "webhook")


def _differing_fields(before: WebhookSummary, after: WebhookSummary) -> list[str]:
    names = ("deployment", "path", "crds", "resources", "failure_policy")
    shown = {"crds": "CRDs", "failure_policy": "failure policy"}
    return [
        shown.get(name, name) for name in names if getattr(before, name) != getattr(after, name)
    ]


def _entries(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    for noun, before, after in (
        ("dependency", old.dependencies, new.dependencies),
        ("property", old.properties, new.properties),
    ):
        known, now = (list(map(_text, one)) for one in (before, after))
        for one in before:
            if _text(one) not in now:
                yield _entry(one, noun, "removed", "gone", ChangeLevel.INFO)
        for one in after:
            if _text(one) not in known:
                needs = noun == "dependency" or one.type in _LIMITS
                yield _entry(
                    one, noun, "added", "new", ChangeLevel.WARNS if needs else ChangeLevel.INFO
                )


# Properties that limit where a bundle can be installed or upgraded.
_LIMITS = ("olm.constraint", "olm.maxOpenShiftVersion", "olm.gvk.required", "olm.package.required")


def _entry(
    one: PropertySummary, noun: str, verb: str, text: str, level: ChangeLevel
) -> BundleChange:
    return BundleChange(
        area=Area.DEPENDENCIES,
        rule=f"{noun}-{verb}",
        message=f"the {noun} `{one.type}` with the value {_short(one.value)} is {text}",
        level=level,
        subject=one.type,
        **{"new" if verb == "added" else "old": one.value},
    )


def _text(one: PropertySummary) -> str:
    return f"{one.type} {json.dumps(one.value, sort_keys=True, default=str)}"


def _short(value: Any) -> str:
    words = (
        ", ".join(f"{key}: {one}" for key, one in value.items())
        if isinstance(value, Mapping)
        else str(value)
    )
    return f"`{words}`" if len(words) <= 100 else f"`{words[:97]}…`"
