"""Rules about the webhooks of a CSV: what OLM refuses during the install.

OLM checks names and rules of webhooks only after it has created the CRDs, and then fails the CSV.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base.diagnostics import Related, Severity
from olmkit.base.documents import Key
from olmkit.bundle.model import Bundle, ClusterServiceVersion
from olmkit.kube import objects
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

WEBHOOK_TYPES = ("ValidatingAdmissionWebhook", "MutatingAdmissionWebhook", "ConversionWebhook")
_WEBHOOKS: tuple[Key, ...] = ("spec", "webhookdefinitions")
_MAX_PORT = 65535
_ADMISSION_GROUP = "admissionregistration.k8s.io"
_ADMISSION_KINDS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


@rule("CSV017", "conversion-install-modes")
def conversion_install_modes(bundle: Bundle) -> Iterator[Finding]:
    """A CSV with conversion webhooks supports install modes other than `AllNamespaces`.

    Why: a CRD has one conversion webhook for the whole cluster, so a cluster can have only
    one installation of the operator.

    Fix: support only `AllNamespaces`.
    """
    csv = bundle.csv
    if csv is None:
        return
    others = any(m.supported for m in csv.install_modes if m.type != "AllNamespaces")
    refused = any(m.type == "AllNamespaces" and not m.supported for m in csv.install_modes)
    if not others and not refused:
        return
    for index, webhook in enumerate(csv.webhooks):
        if objects.sequence(webhook.get("conversionCRDs")):
            yield Finding(
                "only AllNamespaces InstallModeType is supported when conversionCRDs is present",
                at=csv.at(*_WEBHOOKS, index, "conversionCRDs"),
                hint="support `AllNamespaces` and no other mode",
                related=(Related(csv.at("spec", "installModes"), "the modes are here"),),
            )


@rule("CSV065", "webhook-type", suite=SOUND_SUITE)
def webhook_type(bundle: Bundle) -> Iterator[Finding]:
    """A webhook has an unknown type.

    Why: OLM fails to install the CSV.

    Fix: write one of the three types.
    """
    for csv, index, webhook in _webhooks(bundle):
        kind = objects.scalar_text(webhook.get("type"))
        if kind and kind not in WEBHOOK_TYPES:
            yield Finding(
                f"webhook type `{kind}` does not exist",
                at=csv.at(*_WEBHOOKS, index, "type"),
                hint=f"use one of {', '.join(f'`{word}`' for word in WEBHOOK_TYPES)}",
            )


@rule("CSV066", "webhook-deployment", suite=SOUND_SUITE)
def webhook_deployment(bundle: Bundle) -> Iterator[Finding]:
    """A webhook or an API service names a deployment that is not in the CSV.

    Why: OLM waits for the deployment, and the CSV is never installed.

    Fix: write the name of an entry of `spec.install.spec.deployments`.
    """
    csv = bundle.csv
    if csv is None:
        return
    names = [objects.scalar_text(deployment.get("name")) for deployment in csv.deployments]
    hint = f"the CSV has {', '.join(f'`{name}`' for name in names)}" if names else ""
    for index, webhook in enumerate(csv.webhooks):
        name = objects.scalar_text(webhook.get("deploymentName"))
        if name and name not in names:
            yield Finding(
                f"the CSV has no deployment `{name}`",
                at=csv.at(*_WEBHOOKS, index, "deploymentName"),
                hint=hint,
            )
    for api in csv.owned_api_services:
        name = objects.scalar_text(api.value.get("deploymentName"))
        if name and name not in names:
            yield Finding(
                f"the CSV has no deployment `{name}`",
                at=csv.at(*api.keys, "deploymentName"),
                hint=hint,
            )


@rule("CSV067", "webhook-port", suite=SOUND_SUITE)
def webhook_port(bundle: Bundle) -> Iterator[Finding]:
    """The port of a webhook is not a valid port.

    Why: the API server rejects the Service that OLM creates. 0 has the same effect as no
    port, and is a warning.

    Fix: write a number from 1 to 65535, or remove the field to use 443.
    """
    for csv, index, webhook in _webhooks(bundle):
        for key in ("containerPort", "targetPort"):
            port = webhook.get(key)
            if isinstance(port, int) and not 1 <= port <= _MAX_PORT:
                yield Finding(
                    f"`{port}` is not a port",
                    at=csv.at(*_WEBHOOKS, index, key),
                    hint=f"write a number from 1 to {_MAX_PORT}",
                    severity=Severity.WARNING if port == 0 else None,
                )


@rule("CSV068", "webhook-name", suite=SOUND_SUITE)
def webhook_name(bundle: Bundle) -> Iterator[Finding]:
    """Two webhooks have the same name.

    Why: OLM fails to install the CSV, even if the two have different types.

    Fix: give each a different `generateName`.
    """
    seen: dict[str, int] = {}
    for csv, index, webhook in _webhooks(bundle):
        name = objects.scalar_text(webhook.get("generateName"))
        first = seen.setdefault(name, index)
        if name and first != index:
            yield Finding(
                f"two webhooks are named `{name}`",
                at=csv.at(*_WEBHOOKS, index, "generateName"),
                related=(Related(csv.at(*_WEBHOOKS, first, "generateName"), "also here"),),
            )


@rule("CSV069", "conversion-crd", suite=SOUND_SUITE)
def conversion_crd(bundle: Bundle) -> Iterator[Finding]:
    """A conversion webhook names no CRD, or a CRD that OLM cannot convert.

    Why: OLM only installs the CSV if it owns each CRD. Each CRD must also drop unknown
    fields, which the API server requires before it calls a webhook.

    Fix: write names of CRDs of the bundle, and remove `preserveUnknownFields: true` from
    these CRDs.
    """
    csv = bundle.csv
    owned = {api.name for api in csv.owned_crds} if csv else set()
    keeping = {crd.name for crd in bundle.crds if crd.spec.get("preserveUnknownFields") is True}
    for found, index, webhook in _webhooks(bundle):
        names = [
            objects.scalar_text(name) for name in objects.sequence(webhook.get("conversionCRDs"))
        ]
        if not names and webhook.get("type") == "ConversionWebhook":
            yield Finding(
                "the conversion webhook names no CRD",
                at=found.at(*_WEBHOOKS, index, "conversionCRDs"),
                hint="list the names of the CRDs at `conversionCRDs`",
            )
        for position, name in enumerate(names):
            at = found.at(*_WEBHOOKS, index, "conversionCRDs", position)
            if name not in owned:
                yield Finding(f"the CSV owns no CRD `{name}`", at=at)
            elif name in keeping:
                yield Finding(
                    f"CRD `{name}` keeps unknown fields, so no webhook can convert it",
                    at=at,
                    hint="remove `preserveUnknownFields` from the CRD",
                )


@rule("CSV072", "webhook-rules", suite=SOUND_SUITE)
def webhook_rules(bundle: Bundle) -> Iterator[Finding]:
    """A webhook intercepts requests that OLM does not allow webhooks to intercept.

    Why: OLM fails to install a CSV with a webhook for all API groups (`*`), for its own
    group (`operators.coreos.com`), or for webhook configurations. OLM recognizes webhook
    configurations only by their kinds; for the resource names, the API server never calls a
    webhook.

    Fix: list the API groups and resources that the operator needs.
    """
    for csv, index, webhook in _webhooks(bundle):
        for position, item in enumerate(objects.sequence(webhook.get("rules"))):
            found = objects.mapping(item)
            groups = [objects.scalar_text(one) for one in objects.sequence(found.get("apiGroups"))]
            keys = (*_WEBHOOKS, index, "rules", position)
            for at, group in enumerate(groups):
                if group in ("*", "operators.coreos.com"):
                    whose = "all API groups" if group == "*" else "the API group of OLM"
                    yield Finding(
                        f"the webhook has a rule for {whose} (`{group}`), which OLM refuses",
                        at=csv.at(*keys, "apiGroups", at),
                        hint="list the API groups that the webhook needs",
                    )
            if _ADMISSION_GROUP in groups:
                yield from _admission_rules(csv, (*keys, "resources"), found)


@rule("CSV073", "conversion-without-webhook", severity=Severity.WARNING, suite=SOUND_SUITE)
def conversion_without_webhook(bundle: Bundle) -> Iterator[Finding]:
    """A CRD uses a conversion webhook, but the CSV does not define one for it.

    Why: OLM sets service, path and certificate of a conversion webhook only for the CRDs at
    `conversionCRDs`. It applies this CRD unchanged, so the API server calls a service in a
    fixed namespace without OLM's certificate. Clients can then neither read nor write its
    objects.

    Fix: add a `ConversionWebhook` to `spec.webhookdefinitions`, or remove
    `spec.conversion`.
    """
    csv = bundle.csv
    if csv is None:
        return
    converted = {
        objects.scalar_text(name)
        for webhook in csv.webhooks
        if webhook.get("type") == "ConversionWebhook"
        for name in objects.sequence(webhook.get("conversionCRDs"))
    }
    for crd in bundle.crds:
        conversion = objects.mapping(crd.spec.get("conversion"))
        client = conversion if crd.is_beta else objects.mapping(conversion.get("webhook"))
        is_outside = "url" in objects.mapping(
            client.get("webhookClientConfig" if crd.is_beta else "clientConfig")
        )
        if conversion.get("strategy") == "Webhook" and crd.name not in converted and not is_outside:
            yield Finding(
                f"CRD `{crd.name}` converts by a webhook, and the CSV defines none for it",
                at=crd.at("spec", "conversion"),
                hint="list the CRD at `conversionCRDs` of a `ConversionWebhook` in "
                "`spec.webhookdefinitions`",
            )


def _admission_rules(
    csv: ClusterServiceVersion, keys: tuple[Key, ...], found: Mapping[str, Any]
) -> Iterator[Finding]:
    for at, item in enumerate(objects.sequence(found.get("resources"))):
        resource = objects.scalar_text(item)
        if resource == "*" or resource in _ADMISSION_KINDS:
            yield Finding(
                f"the webhook has a rule for `{resource}` of the API group `{_ADMISSION_GROUP}`, "
                "which OLM refuses",
                at=csv.at(*keys, at),
                hint="list other resources, or remove the rule",
            )
        elif resource.partition("/")[0] in {f"{kind.lower()}s" for kind in _ADMISSION_KINDS}:
            yield Finding(
                f"the API server never calls a webhook for `{resource}` of the API group "
                f"`{_ADMISSION_GROUP}`, and OLM v1 refuses the rule",
                at=csv.at(*keys, at),
                hint="remove the resource",
                severity=Severity.WARNING,
            )


def _webhooks(
    bundle: Bundle,
) -> Iterator[tuple[ClusterServiceVersion, int, Mapping[str, Any]]]:
    csv = bundle.csv
    if csv is not None:
        for index, webhook in enumerate(csv.webhooks):
            yield csv, index, webhook
