"""Convert webhook configurations, Services and CRDs to webhook definitions of a CSV.

OLM creates the configuration, the service and the certificate of a webhook itself, and needs the
Deployment and port that serve it. They are found through the service in the webhook's client
configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from olmkit.base import findings
from olmkit.base.diagnostics import Diagnostic, Location
from olmkit.base.documents import Key
from olmkit.bundle.generation import serialise
from olmkit.bundle.generation.collect import CollectedObjects, CollectedWebhook, subject
from olmkit.bundle.generation.findings import refusal
from olmkit.bundle.model import BundleObject, CustomResourceDefinition
from olmkit.kube import objects

# The default port of a service for webhooks.
DEFAULT_PORT = 443


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookDefinition:
    """One entry of `spec.webhookdefinitions`, and the objects that it comes from."""

    value: dict[str, Any]
    sources: tuple[BundleObject, ...]


def define(
    collection: CollectedObjects, note: Callable[[Diagnostic], None]
) -> tuple[WebhookDefinition, ...]:
    """Return the webhook definitions, sorted by name; `note` reports lost or missing parts."""
    validating = [hook for hook in collection.webhooks if not hook.mutating]
    mutating = [hook for hook in collection.webhooks if hook.mutating]
    definitions = [_admission(hook, collection, note) for hook in (*validating, *mutating)]
    definitions += _conversions(collection, note)
    return tuple(sorted(definitions, key=lambda item: str(item.value.get("generateName", ""))))


def _admission(
    hook: CollectedWebhook, collection: CollectedObjects, note: Callable[[Diagnostic], None]
) -> WebhookDefinition:
    type_name = "MutatingWebhook" if hook.mutating else "ValidatingWebhook"
    serialise.read_type(hook.source, type_name, *hook.keys)
    value = hook.value
    name = objects.text(value.get("name"))
    where = subject(hook.source)
    for lost in ("namespaceSelector", "matchConditions"):
        if value.get(lost):
            note(
                findings.create(
                    "PRJ107",
                    f"a CSV cannot contain the `{lost}` of webhook `{name}`",
                    at=hook.source.at_key(*hook.keys, lost),
                    subject=where,
                    hint="OLM limits webhooks to the namespaces of the operator group; "
                    "let the webhook handle the rest",
                )
            )
    result: dict[str, Any] = {
        "type": "MutatingAdmissionWebhook" if hook.mutating else "ValidatingAdmissionWebhook",
        "generateName": name,
        "sideEffects": value.get("sideEffects") or "None",
        "admissionReviewVersions": value.get("admissionReviewVersions") or ["v1beta1"],
    }
    copied = ["rules", "failurePolicy", "matchPolicy", "objectSelector", "timeoutSeconds"]
    if hook.mutating:
        copied.append("reinvocationPolicy")
    result.update({field: value[field] for field in copied if value.get(field) is not None})
    reference = objects.mapping(objects.mapping(value.get("clientConfig")).get("service"))
    if not reference:
        note(
            findings.create(
                "PRJ108",
                f"webhook `{name}` names no service, so OLM cannot reach it",
                at=hook.source.at(*hook.keys, "clientConfig"),
                subject=where,
                hint="OLM supports only webhooks that a Deployment of the CSV answers",
            )
        )
        return WebhookDefinition(value=result, sources=(hook.source,))
    at = hook.source.at(*hook.keys, "clientConfig", "service")
    target, sources = _target(reference, collection, note, at=at, what=f"webhook `{name}`")
    result.update(target)
    return WebhookDefinition(value=result, sources=(hook.source, *sources))


def _target(
    reference: Mapping[str, Any],
    collection: CollectedObjects,
    note: Callable[[Diagnostic], None],
    *,
    at: Location,
    what: str,
    default_port: int = DEFAULT_PORT,
) -> tuple[dict[str, Any], tuple[BundleObject, ...]]:
    """Return `webhookPath`, ports and `deploymentName` of a reference to a service."""
    result: dict[str, Any] = {}
    if reference.get("path") is not None:
        result["webhookPath"] = reference["path"]
    name = objects.text(reference.get("name"))
    # The fallback if no Deployment is found.
    guess = {"deploymentName": name.removesuffix("-service")}
    service = next((item for item in collection.services if item.name == name), None)
    if service is None:
        note(
            findings.create(
                "PRJ108",
                f"the service `{name}` of {what} is not in the input",
                at=at,
                hint=f"add the Service `{name}`, which sets the port and the Deployment",
            )
        )
        return result | guess, ()
    port = reference.get("port")
    result.update(_ports(service, default_port if port is None else port))
    deployment = _deployment(service, collection.deployments)
    if deployment is not None:
        result["deploymentName"] = deployment.name
        return result, (service, deployment)
    if _selects(service):
        note(
            findings.create(
                "PRJ108",
                f"no Deployment is selected by the service `{name}` of {what}",
                at=service.at("spec", "selector"),
                subject=subject(service),
                hint="let the service's selector match the labels of the Deployment's pods",
            )
        )
    return result | guess, (service,)


def _ports(service: BundleObject, number: Any) -> dict[str, Any]:
    for index, port in enumerate(objects.sequence(service.spec.get("ports"))):
        entry = objects.mapping(port)
        if entry.get("port") == number:
            target = entry.get("targetPort")
            if target is not None and type(target) not in (int, str):
                raise refusal(
                    f"a target port of Service `{service.name}` is neither a number nor a name",
                    at=service.at("spec", "ports", index, "targetPort"),
                )
            # A service port without a target means the same port number.
            return {"containerPort": number, "targetPort": target or number}
    return {}


def _selects(service: BundleObject) -> bool:
    return service.spec.get("type") != "ExternalName" and bool(service.spec.get("selector"))


def _deployment(service: BundleObject, deployments: Iterable[BundleObject]) -> BundleObject | None:
    """Return the first Deployment whose pods have all labels that the service selects."""
    if not _selects(service):
        return None
    wanted = objects.mapping(service.spec.get("selector")).items()
    for deployment in deployments:
        template = objects.mapping(deployment.spec.get("template"))
        labels = objects.labels_of(template)
        if labels and all(labels.get(key) == value for key, value in wanted):
            return deployment
    return None


def _conversions(
    collection: CollectedObjects, note: Callable[[Diagnostic], None]
) -> Iterator[WebhookDefinition]:
    groups: dict[tuple[str, str, Any], list[CustomResourceDefinition]] = {}
    for crd in collection.crds:
        reference = _conversion_service(crd)
        if not reference:
            continue
        at = crd.at(*_conversion_keys(crd), "service")
        if not reference.get("path"):
            raise refusal(
                f"the conversion webhook of `{crd.name}` has no path",
                at=at,
                hint="write `path: /convert` under `service`",
            )
        place = (objects.text(reference.get("name")), reference["path"], reference.get("port"))
        groups.setdefault(place, []).append(crd)
    for crds in groups.values():
        yield _conversion(crds, collection, note)


def _conversion(
    crds: Sequence[CustomResourceDefinition],
    collection: CollectedObjects,
    note: Callable[[Diagnostic], None],
) -> WebhookDefinition:
    first = crds[0]
    at = first.at(*_conversion_keys(first), "service")
    target, sources = _target(
        _conversion_service(first),
        collection,
        note,
        at=at,
        what=f"the conversion of `{first.name}`",
    )
    names = sorted(crd.name for crd in crds)
    value = {
        "type": "ConversionWebhook",
        "generateName": "c" + "".join(name.partition(".")[0] for name in names) + ".kb.io",
        "conversionCRDs": names,
        "sideEffects": "None",
        "admissionReviewVersions": _review_versions(first),
        **target,
    }
    return WebhookDefinition(value=value, sources=(*crds, *sources))


def _conversion_service(crd: CustomResourceDefinition) -> Mapping[str, Any]:
    conversion = objects.mapping(crd.spec.get("conversion"))
    if conversion.get("strategy") != "Webhook":
        return {}
    webhook = objects.mapping(conversion.get("webhook")) or {
        "clientConfig": conversion.get("webhookClientConfig")
    }
    return objects.mapping(objects.mapping(webhook.get("clientConfig")).get("service"))


def _conversion_keys(crd: CustomResourceDefinition) -> tuple[Key, ...]:
    if objects.mapping(crd.spec.get("conversion")).get("webhook"):
        return ("spec", "conversion", "webhook", "clientConfig")
    return ("spec", "conversion", "webhookClientConfig")


def _review_versions(crd: CustomResourceDefinition) -> list[Any]:
    conversion = objects.mapping(crd.spec.get("conversion"))
    webhook = objects.mapping(conversion.get("webhook")) or conversion
    return objects.sequence(webhook.get("conversionReviewVersions"))
