"""Generate admission webhook configurations from markers.

The words of markers are those of the API, in any letter case. Conversion webhooks are not generated
here: a CRD itself names its conversion webhook.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.apis import webhook_shape
from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Marker
from olmkit.apis.model import Sources
from olmkit.base.diagnostics import Related
from olmkit.base.json import syntax_errors

Manifest = dict[str, Any]

_WEBHOOK = "kubebuilder:webhook"
_CONFIGURATION = "kubebuilder:webhookconfiguration"
_KINDS = {True: "Mutating", False: "Validating"}
_VERBS = {"create": "CREATE", "update": "UPDATE", "delete": "DELETE", "connect": "CONNECT"}
_POLICIES = {"ignore": "Ignore", "fail": "Fail"}
_MATCHES = {"exact": "Exact", "equivalent": "Equivalent"}
_EFFECTS = {"none": "None", "noneondryrun": "NoneOnDryRun", "some": "Some"}
_INVOCATIONS = {"never": "Never", "ifneeded": "IfNeeded"}


class _UnfitError(Exception):
    """A marker that does not define a valid webhook."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def configurations(sources: Sources, findings: Findings) -> list[Manifest]:
    """Return the mutating configuration, then the validating one, each if it has webhooks."""
    collected = _Collected(findings)
    for package in sources.packages:
        for marker in package.markers:
            if marker.name == _CONFIGURATION:
                collected.name(package.module, marker)
            elif marker.name == _WEBHOOK:
                collected.add(marker)
    return collected.manifests()


@dataclass(slots=True)
class _Collected:
    findings: Findings
    webhooks: dict[bool, list[Manifest]] = field(default_factory=lambda: {True: [], False: []})
    names: dict[bool, str] = field(default_factory=dict)
    named: dict[tuple[str, bool], Marker] = field(default_factory=dict)

    def name(self, module: str, marker: Marker) -> None:
        is_mutating = marker.get("mutating")
        first = self.named.setdefault((module, is_mutating), marker)
        if first is not marker:
            self._refuse(
                marker,
                f"names a second {_KINDS[is_mutating].lower()} configuration",
                related=(Related(first.at, "the first one"),),
            )
            return
        self.names[is_mutating] = marker.get("name") or ""

    def add(self, marker: Marker) -> None:
        webhook = self._webhook(marker)
        if webhook is not None:
            self.webhooks[marker.get("mutating")].append(webhook)

    def manifests(self) -> list[Manifest]:
        found = []
        for is_mutating, kind in _KINDS.items():
            webhooks = sorted(self.webhooks[is_mutating], key=_name)
            if webhooks:
                name = self.names.get(is_mutating) or f"{kind.lower()}-webhook-configuration"
                found.append(
                    {
                        "apiVersion": "admissionregistration.k8s.io/v1",
                        "kind": f"{kind}WebhookConfiguration",
                        "metadata": {"name": name},
                        "webhooks": webhooks,
                    }
                )
        return found

    def _webhook(self, marker: Marker) -> Manifest | None:
        try:
            _check_words(marker)
            webhook = webhook_shape.dump(_apply_patch(_describe(marker), marker.get("patch")))
            _check(webhook, marker)
        except _UnfitError as unfit:
            self._refuse(marker, unfit.reason, hint=unfit.hint)
            return None
        return webhook

    def _refuse(
        self, marker: Marker, reason: str, *, hint: str = "", related: tuple[Related, ...] = ()
    ) -> None:
        self.findings.add(
            "API009", f"`+{marker.name}` {reason}", marker.at, hint=hint, related=related
        )


def _check_words(marker: Marker) -> None:
    """Refuse words that the API does not have, or that contradict each other."""
    if bool(marker.get("path")) == bool(marker.get("url")):
        raise _UnfitError("needs one of `path` and `url`")
    match = marker.get("matchPolicy") or ""
    if match and match.lower() not in _MATCHES:
        raise _UnfitError(f"has the match policy `{match}`", "use `Exact` or `Equivalent`")
    versions = [one for one in marker.get("webhookVersions") or () if one != "v1"]
    if versions:
        raise _UnfitError(f"requests webhook version `{versions[0]}`", "v1 is the only one")


def _check(webhook: Manifest, marker: Marker) -> None:
    """Refuse a webhook that the API server would refuse."""
    effects = webhook.get("sideEffects")
    if effects not in ("None", "NoneOnDryRun"):
        word = effects or marker.get("sideEffects")
        shown = f"`{word}`" if word else "nothing"
        raise _UnfitError(f"declares {shown} as side effects", "write `sideEffects=None`")
    timeout = webhook.get("timeoutSeconds", 1)
    if not 1 <= timeout <= 30:
        raise _UnfitError(f"has a timeout of {timeout} s", "a timeout must be 1 to 30 seconds")
    client = webhook.get("clientConfig", {})
    if ("service" in client) == ("url" in client):
        raise _UnfitError("has a patch after which it has no service and no URL, or both")
    port = client.get("service", {}).get("port", 443)
    if not 1 <= port <= 65535:
        raise _UnfitError(f"has the port {port}", "a port is 1 to 65535")
    if "admissionReviewVersions" not in webhook:
        raise _UnfitError("names no review version", "write `admissionReviewVersions=v1`")


def _describe(marker: Marker) -> Manifest:
    """Return the webhook that a marker describes, before its patch."""
    webhook: Manifest = {
        "name": marker.get("name"),
        "admissionReviewVersions": list(marker.get("admissionReviewVersions")),
        "clientConfig": _client(marker),
        "failurePolicy": _fold(marker.get("failurePolicy"), _POLICIES),
        "rules": [_rule(marker)],
    }
    effects = _EFFECTS.get((marker.get("sideEffects") or "").lower())
    if effects:
        webhook["sideEffects"] = effects
    if marker.get("matchPolicy"):
        webhook["matchPolicy"] = _MATCHES[marker.get("matchPolicy").lower()]
    if marker.get("timeoutSeconds"):
        webhook["timeoutSeconds"] = marker.get("timeoutSeconds")
    again = _INVOCATIONS.get((marker.get("reinvocationPolicy") or "").lower())
    if again and marker.get("mutating"):
        webhook["reinvocationPolicy"] = again
    return webhook


def _apply_patch(webhook: Manifest, text: str | None) -> Manifest:
    if not text:
        return webhook
    try:
        patch = json.loads(text)
    except (ValueError, RecursionError) as error:
        problem = syntax_errors.describe(error)
        raise _UnfitError(f"has a patch that is not JSON: {problem}") from None
    fault = webhook_shape.fault(patch)
    if fault:
        raise _UnfitError(fault)
    return _merge(webhook, patch)


def _client(marker: Marker) -> Manifest:
    if marker.get("url"):
        return {"url": marker.get("url")}
    service: Manifest = {
        "name": marker.get("serviceName") or "webhook-service",
        "namespace": marker.get("serviceNamespace") or "system",
        "path": marker.get("path"),
    }
    if marker.get("servicePort") is not None:
        service["port"] = marker.get("servicePort")
    return {"service": service}


def _rule(marker: Marker) -> Manifest:
    return {
        "apiGroups": ["" if group == "core" else group for group in marker.get("groups")],
        "apiVersions": list(marker.get("versions")),
        "operations": [_fold(verb, _VERBS) for verb in marker.get("verbs")],
        "resources": list(marker.get("resources")),
    }


def _fold(text: str, words: Mapping[str, str]) -> str:
    return words.get(text.lower(), text)


def _merge(target: Manifest, patch: Mapping[str, Any]) -> Manifest:
    """Apply a strategic merge; lists are replaced, since those from markers have no keys."""
    merged = dict(target)
    for key, value in patch.items():
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = _merge(old if isinstance(old, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def _name(webhook: Manifest) -> str:
    return str(webhook["name"])
