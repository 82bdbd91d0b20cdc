"""A summary of a bundle: identity, contents and requirements."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from olmkit.base.diagnostics import InputError
from olmkit.bundle.model import Bundle, ClusterServiceVersion
from olmkit.bundle.summary import grants
from olmkit.bundle.summary.grants import Grant
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, scalar_text, sequence, text

_PARTS: Final = ("initContainers", "containers")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSummary:
    """A kind that a bundle provides or needs. `name` is that of its CRD or APIService."""

    name: str
    group: str
    version: str
    kind: str
    display_name: str = ""
    is_api_service: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedImage:
    """An image and its place: `deployment/container`, or `relatedImages/NAME`."""

    image: str
    places: tuple[str, ...]

    @property
    def is_pinned(self) -> bool:
        return "@" in self.image


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSummary:
    name: str
    type: str
    deployment: str
    path: str
    crds: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    failure_policy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A Deployment of the CSV."""

    name: str
    replicas: int
    account: str
    containers: tuple[str, ...]
    selector: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PropertySummary:
    """A dependency or property: its type, and its value as written."""

    type: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleSummary:
    """The contents of a bundle. `size` is in bytes, `reference` is the user's reference."""

    reference: str
    name: str
    package: str
    version: str
    release: str
    display_name: str
    description: str
    provider: str
    maturity: str
    min_kube_version: str
    channels: tuple[str, ...]
    default_channel: str
    install_modes: tuple[str, ...]
    provided: tuple[ApiSummary, ...]
    required: tuple[ApiSummary, ...]
    grants: tuple[Grant, ...]
    accounts: tuple[str, ...]
    workloads: tuple[Workload, ...]
    images: tuple[UsedImage, ...]
    webhooks: tuple[WebhookSummary, ...]
    dependencies: tuple[PropertySummary, ...]
    properties: tuple[PropertySummary, ...]
    replaces: str
    skips: tuple[str, ...]
    skip_range: str
    objects: tuple[tuple[str, str], ...]
    annotations: Mapping[str, str]
    csv_annotations: Mapping[str, str]
    files: int
    size: int


def summarize(bundle: Bundle) -> BundleSummary:
    """Return the summary of a bundle; raise `InputError` if it has no ClusterServiceVersion."""
    csv = require_csv(bundle)
    manifests = manifests_of(bundle)
    workloads = tuple(_workloads(csv))
    return BundleSummary(
        reference=bundle.root,
        name=csv.name,
        package=bundle.package,
        version=csv.version,
        release=csv.release,
        display_name=csv.display_name,
        description=scalar_text(csv.spec.get("description")),
        provider=text(mapping(csv.spec.get("provider")).get("name")),
        maturity=scalar_text(csv.spec.get("maturity")),
        min_kube_version=csv.min_kube_version,
        channels=bundle.channels,
        default_channel=bundle.default_channel,
        install_modes=tuple(mode.type for mode in csv.install_modes if mode.supported),
        provided=tuple(_apis(csv, "owned")),
        required=tuple(_apis(csv, "required")),
        grants=(*grants.csv_grants(csv.value), *grants.role_grants(manifests)),
        accounts=tuple(sorted({one.account for one in workloads})),
        workloads=workloads,
        images=tuple(_images(csv)),
        webhooks=tuple(_webhooks(csv)),
        dependencies=tuple(
            PropertySummary(type=one.type, value=one.value) for one in bundle.dependencies
        ),
        properties=tuple(
            PropertySummary(type=one.type, value=one.value) for one in bundle.properties
        ),
        replaces=csv.replaces,
        skips=csv.skips,
        skip_range=csv.skip_range,
        objects=tuple(sorted((objects.kind(one), objects.name(one)) for one in manifests)),
        annotations=dict(sorted(bundle.annotations.items())),
        csv_annotations=dict(sorted(csv.annotations.items())),
        files=len(list(bundle.tree)),
        size=sum(len(one.data) for _, one in bundle.tree.items()),
    )


def require_csv(bundle: Bundle) -> ClusterServiceVersion:
    """Return the CSV of a bundle; raise `InputError` if there is no readable one."""
    if bundle.csv is not None:
        return bundle.csv
    diagnostics = tuple(one for bad in bundle.unreadable for one in bad.error.diagnostics)
    raise InputError(
        f"`{bundle.root or '.'}` has no ClusterServiceVersion",
        hint="check the bundle with `olmkit bundle validate`",
        diagnostics=diagnostics,
    )


def manifests_of(bundle: Bundle) -> tuple[Manifest, ...]:
    """Return the objects of a bundle, including the CSV."""
    return tuple(one.value for one in bundle.manifests if isinstance(one.value, dict))


def _apis(csv: ClusterServiceVersion, which: str) -> Iterator[ApiSummary]:
    owned = which == "owned"
    for found, is_service in (
        (csv.owned_crds if owned else csv.required_crds, False),
        (csv.owned_api_services if owned else csv.required_api_services, True),
    ):
        for one in found:
            yield ApiSummary(
                name=one.name,
                group=one.gvk.group,
                version=one.gvk.version,
                kind=one.gvk.kind,
                display_name=scalar_text(one.value.get("displayName")),
                is_api_service=is_service,
            )


def _workloads(csv: ClusterServiceVersion) -> Iterator[Workload]:
    for deployment in csv.deployments:
        spec = mapping(deployment.get("spec"))
        pod = _pod(deployment)
        replicas = spec.get("replicas", 1)
        yield Workload(
            name=text(deployment.get("name")),
            replicas=replicas if isinstance(replicas, int) else 1,
            account=text(pod.get("serviceAccountName")) or "default",
            containers=tuple(
                text(mapping(one).get("name")) for part in _PARTS for one in sequence(pod.get(part))
            ),
            selector=mapping(spec.get("selector")),
        )


def _images(csv: ClusterServiceVersion) -> Iterator[UsedImage]:
    found: dict[str, list[str]] = {}
    for deployment in csv.deployments:
        pod = _pod(deployment)
        for part in _PARTS:
            for container in map(mapping, sequence(pod.get(part))):
                place = f"{text(deployment.get('name'))}/{text(container.get('name'))}"
                found.setdefault(text(container.get("image")), []).append(place)
    for related in csv.related_images:
        place = f"relatedImages/{text(related.get('name'))}"
        found.setdefault(text(related.get("image")), []).append(place)
    for image, places in sorted(found.items()):
        if image:
            yield UsedImage(image=image, places=tuple(places))


def _webhooks(csv: ClusterServiceVersion) -> Iterator[WebhookSummary]:
    for one in csv.webhooks:
        yield WebhookSummary(
            name=text(one.get("generateName")),
            type=text(one.get("type")),
            deployment=text(one.get("deploymentName")),
            path=text(one.get("webhookPath")),
            crds=_texts(one.get("conversionCRDs")),
            resources=tuple(_webhook_rules(one)),
            failure_policy=text(one.get("failurePolicy")),
        )


def _webhook_rules(webhook: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rules of a webhook: `create, update: memcacheds.cache.example.com`."""
    for rule in map(mapping, sequence(webhook.get("rules"))):
        verbs = ", ".join(one.lower() for one in _texts(rule.get("operations")))
        for group in _texts(rule.get("apiGroups")) or ("",):
            for resource in _texts(rule.get("resources")):
                yield f"{verbs}: {resource}.{group}" if group else f"{verbs}: {resource}"


def _pod(deployment: Mapping[str, Any]) -> Mapping[str, Any]:
    return objects.pod_spec({"kind": "Deployment", "spec": deployment.get("spec")})


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(one for one in sequence(value) if isinstance(one, str))
