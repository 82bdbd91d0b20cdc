"""Webhook markers → admission webhook configurations.

The words of markers are those of the API in any case of letters. Conversion
webhooks are not made here: a CRD says itself who converts it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.apis.findings import Findings
from olmkit.apis.markers import Marker
from olmkit.apis.model import Sources
from olmkit.base.diagnostics import Related

Manifest = dict[str, Any]

_WEBHOOK = "kubebuilder:webhook"
_CONFIGURATION = "kubebuilder:webhookconfiguration"
_KINDS = {True: "Mutating", False: "Validating"}
_VERBS = {"create": "CREATE", "update": "UPDATE", "delete": "DELETE", "connect": "CONNECT"}
_POLICIES = {"ignore": "Ignore", "fail": "Fail"}
_MATCHES = {"exact": "Exact", "equivalent": "Equivalent"}
_EFFECTS = {"none": "None", "noneondryrun": "NoneOnDryRun"}
_INVOCATIONS = {"never": "Never", "ifneeded": "IfNeeded"}
_PATCHABLE = frozenset(
    {
        *("admissionReviewVersions", "clientConfig", "failurePolicy", "matchConditions", "name"),
        *("matchPolicy", "namespaceSelector", "objectSelector", "reinvocationPolicy", "rules"),
        *("sideEffects", "timeoutSeconds"),
    }
)
# Lists of the API that merge by a key; all others are replaced.
_MERGE_KEYS = {"matchConditions": "name"}


def configurations(sources: Sources, findings: Findings) -> list[Manifest]:
    """The mutating configuration, then the validating one, each if it has webhooks."""
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
        if marker.get("name"):
            self.names[is_mutating] = marker.get("name")

    def add(self, marker: Marker) -> None:
        webhook = self._webhook(marker)
        if webhook is not None:
            self.webhooks[marker.get("mutating")].append(webhook)

    def manifests(self) -> list[Manifest]:
        found = []
        for is_mutating, kind in _KINDS.items():
            webhooks = sorted(self.webhooks[is_mutating], key=_name)
            if webhooks:
                name = self.names.get(is_mutating, f"{kind.lower()}-webhook-configuration")
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
        problem = _problem(marker)
        if problem:
            self._refuse(marker, problem[0], hint=problem[1])
            return None
        webhook: Manifest = {
            "name": marker.get("name"),
            "admissionReviewVersions": list(marker.get("admissionReviewVersions")),
            "clientConfig": _client(marker),
            "failurePolicy": _folded(marker.get("failurePolicy"), _POLICIES),
            "rules": [_rule(marker)],
            "sideEffects": _EFFECTS[marker.get("sideEffects").lower()],
        }
        if marker.get("matchPolicy"):
            webhook["matchPolicy"] = _MATCHES[marker.get("matchPolicy").lower()]
        if marker.get("timeoutSeconds"):
            webhook["timeoutSeconds"] = marker.get("timeoutSeconds")
        again = _INVOCATIONS.get((marker.get("reinvocationPolicy") or "").lower())
        if again and marker.get("mutating"):
            webhook["reinvocationPolicy"] = again
        if marker.get("patch"):
            webhook = self._patched(marker, webhook)
        return webhook

    def _patched(self, marker: Marker, webhook: Manifest) -> Manifest:
        try:
            patch = json.loads(marker.get("patch"))
        except (ValueError, RecursionError) as error:
            self._refuse(marker, f"has a patch that is no JSON: {error}")
            return webhook
        if not isinstance(patch, dict):
            self._refuse(marker, "has a patch that is no object")
            return webhook
        unknown = sorted(set(patch) - _PATCHABLE)
        if unknown:
            self._refuse(marker, f"patches `{unknown[0]}`, which a webhook does not have")
            return webhook
        return _merge(webhook, patch)

    def _refuse(
        self, marker: Marker, reason: str, *, hint: str = "", related: tuple[Related, ...] = ()
    ) -> None:
        self.findings.add(
            "API009", f"`+{marker.name}` {reason}", marker.at, hint=hint, related=related
        )


def _problem(marker: Marker) -> tuple[str, str] | None:
    """Why no API server would take the webhook, and what to do."""
    path, url = marker.get("path"), marker.get("url")
    if bool(path) == bool(url):
        return "needs one of `path` and `url`", ""
    effects = marker.get("sideEffects") or ""
    if effects.lower() not in _EFFECTS:
        said = f"`{effects}`" if effects else "nothing"
        return f"says {said} about side effects", "write `sideEffects=None`"
    timeout = marker.get("timeoutSeconds")
    if timeout and not 1 <= timeout <= 30:
        return f"has a timeout of {timeout} s", "a timeout is 1 to 30 seconds"
    match = marker.get("matchPolicy") or ""
    if match and match.lower() not in _MATCHES:
        return f"has the match policy `{match}`", "use `Exact` or `Equivalent`"
    versions = [one for one in marker.get("webhookVersions") or () if one != "v1"]
    if versions:
        return f"asks for webhook version `{versions[0]}`", "v1 is the only one"
    if not marker.get("admissionReviewVersions"):
        return "names no review version", "write `admissionReviewVersions=v1`"
    return None


def _client(marker: Marker) -> Manifest:
    if marker.get("url"):
        return {"url": marker.get("url")}
    service: Manifest = {
        "name": marker.get("serviceName") or "webhook-service",
        "namespace": marker.get("serviceNamespace") or "system",
        "path": marker.get("path"),
    }
    if marker.get("servicePort"):
        service["port"] = marker.get("servicePort")
    return {"service": service}


def _rule(marker: Marker) -> Manifest:
    return {
        "apiGroups": ["" if group == "core" else group for group in marker.get("groups")],
        "apiVersions": list(marker.get("versions")),
        "operations": [_folded(verb, _VERBS) for verb in marker.get("verbs")],
        "resources": list(marker.get("resources")),
    }


def _folded(text: str, words: Mapping[str, str]) -> str:
    return words.get(text.lower(), text)


def _merge(target: Manifest, patch: Mapping[str, Any]) -> Manifest:
    """A strategic merge, as far as the fields of a webhook ask for one."""
    merged = dict(target)
    for key, value in patch.items():
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            merged[key] = _merge(old if isinstance(old, dict) else {}, value)
        elif key in _MERGE_KEYS and isinstance(old, list):
            names = {one.get(_MERGE_KEYS[key]) for one in value}
            merged[key] = [*value, *(o for o in old if o.get(_MERGE_KEYS[key]) not in names)]
        else:
            merged[key] = value
    return merged


def _name(webhook: Manifest) -> str:
    return str(webhook["name"])
