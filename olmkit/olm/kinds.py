"""The kinds of OLM v0, and accessors for their objects.

The functions are lenient, like those of `olmkit.kube.objects`: missing fields count as empty.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any

from olmkit.bundle.model import INSTALL_MODES
from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text

GROUP = "operators.coreos.com"
V1ALPHA1 = f"{GROUP}/v1alpha1"
V1 = f"{GROUP}/v1"
COPIED_FROM = "olm.copiedFrom"
CATALOG_LABEL = "olm.catalogSource"
SERVICE_LABEL = "kubernetes.io/service-name"
UNPACK_LABEL = "operatorframework.io/bundle-unpack-ref"

_PROPERTIES = "operatorframework.io/properties"

SUBSCRIPTION = (V1ALPHA1, "Subscription")
INSTALL_PLAN = (V1ALPHA1, "InstallPlan")
CSV = (V1ALPHA1, "ClusterServiceVersion")
CATALOG_SOURCE = (V1ALPHA1, "CatalogSource")
OPERATOR_GROUP = (V1, "OperatorGroup")
OPERATOR = (V1, "Operator")
OLM_CONFIG = (V1, "OLMConfig")
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
NAMESPACE = ("v1", "Namespace")
DEPLOYMENT = ("apps/v1", "Deployment")

CATALOG_PROGRAM = "catalog-operator"
PROGRAMS = ("olm-operator", CATALOG_PROGRAM)
"""The Deployments without which OLM v0 installs nothing."""


@dataclass(frozen=True, slots=True)
class SubscriptionKey:
    """The request of a Subscription."""

    package: str
    channel: str
    catalog: str
    catalog_namespace: str


def number(value: Any) -> int:
    """Return `value` if it is an integer, else zero."""
    return value if isinstance(value, int) else 0


def spec(manifest: Any) -> Mapping[str, Any]:
    """Return `spec` if it is a mapping, else an empty one."""
    return mapping(mapping(manifest).get("spec"))


def status(manifest: Any) -> Mapping[str, Any]:
    """Return `status` if it is a mapping, else an empty one."""
    return mapping(mapping(manifest).get("status"))


def subscription_key(subscription: Manifest) -> SubscriptionKey:
    """Return the package, channel and catalog of a Subscription; empty if not set."""
    found = spec(subscription)
    return SubscriptionKey(
        text(found.get("name")),
        text(found.get("channel")),
        text(found.get("source")),
        text(found.get("sourceNamespace")),
    )


def is_dependency(subscription: Manifest) -> bool:
    """Return whether OLM created the Subscription because another operator needs its package.

    OLM joins its name from the package, the channel and the catalog; users choose other names.
    """
    return objects.name(subscription) == "-".join(astuple(subscription_key(subscription)))


def phase(manifest: Any) -> str:
    """Return `status.phase`, or an empty string."""
    return text(status(manifest).get("phase"))


def reason(manifest: Any) -> str:
    """Return `status.reason`, or an empty string."""
    return text(status(manifest).get("reason"))


def message(manifest: Any) -> str:
    """Return `status.message`, or an empty string."""
    return text(status(manifest).get("message"))


def conditions(manifest: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the entries of `status.conditions` that are mappings, in order."""
    for one in sequence(status(manifest).get("conditions")):
        if isinstance(one, Mapping):
            yield one


def condition(manifest: Any, type_: str, *, value: str = "True") -> Mapping[str, Any] | None:
    """Return the condition of that type if its status is `value`."""
    for one in conditions(manifest):
        if one.get("type") == type_ and one.get("status") == value:
            return one
    return None


def any_condition(manifest: Any, type_: str) -> Mapping[str, Any]:
    """Return the condition of that type, whatever its status; empty if there is none."""
    return next((one for one in conditions(manifest) if one.get("type") == type_), {})


def deprecation(manifest: Manifest) -> str:
    """Return the deprecation messages of a Subscription or ClusterExtension."""
    found = condition(manifest, "Deprecated")
    return f"deprecated: {text(found.get('message'))}" if found is not None else ""


def is_copy(csv: Manifest) -> bool:
    """Return whether OLM copied the CSV from another namespace."""
    return COPIED_FROM in objects.labels_of(csv)


def copy_source(csv: Any) -> str:
    """Return the namespace of the real CSV that this is a copy of; empty if it is not a copy."""
    return objects.labels_of(csv).get(COPIED_FROM, "")


def is_going(csv: Any) -> bool:
    """Return whether another CSV replaces this one, or it is being deleted."""
    return phase(csv) in ("Replacing", "Deleting")


def plan_name(subscription: Manifest) -> str:
    """Return the InstallPlan that a Subscription refers to; empty if it has none yet."""
    return text(mapping(status(subscription).get("installPlanRef")).get("name"))


def plan_csvs(plan: Any) -> tuple[str, ...]:
    """Return the names of the CSVs that an InstallPlan installs."""
    return tuple(map(str, sequence(spec(plan).get("clusterServiceVersionNames"))))


def required_packages(csv: Manifest) -> tuple[str, ...]:
    """Return the packages that a CSV needs, as OLM recorded them in it."""
    return tuple(
        text(mapping(one.get("value")).get("packageName"))
        for one in _csv_properties(csv)
        if one.get("type") == "olm.package.required"
    )


def package(csv: Manifest) -> str:
    """Return the package of a CSV: as OLM recorded it, or the name without the version."""
    for one in _csv_properties(csv):
        if one.get("type") == "olm.package":
            return text(mapping(one.get("value")).get("packageName"))
    return package_named_in(objects.name(csv))


def _csv_properties(csv: Manifest) -> list[Mapping[str, Any]]:
    """Return the properties of the bundle that OLM recorded in its CSV."""
    try:
        noted = json.loads(objects.annotations_of(csv).get(_PROPERTIES, ""))
    except (ValueError, RecursionError):
        noted = None
    return [mapping(one) for one in sequence(mapping(noted).get("properties"))]


def package_named_in(csv: str) -> str:
    """Return the package in the name of a CSV, by convention the part before the version."""
    return csv.split(".v")[0]


def operator_name(package: str, namespace: str) -> str:
    """Return the name of the Operator in which OLM lists the objects of an installed package."""
    return f"{package}.{namespace}"


def operator_label(package: str, namespace: str) -> str:
    """Return the label that OLM puts on all objects of a package installed in a namespace."""
    return f"{GROUP}/{operator_name(package, namespace)}"


def component_kinds(operator: Any) -> set[str]:
    """Return the kinds of the objects that OLM has found for an operator."""
    refs = sequence(mapping(status(operator).get("components")).get("refs"))
    return {text(mapping(ref).get("kind")) for ref in refs}


def connection_state(catalog: Manifest) -> str:
    """Return `READY` or another connection state; empty if unknown."""
    return text(mapping(status(catalog).get("connectionState")).get("lastObservedState"))


def supported_modes(csv: Any) -> tuple[str, ...]:
    """Return the install modes that a CSV supports, in the order of `MODES`."""
    found = {
        text(mode.get("type"))
        for mode in sequence(spec(csv).get("installModes"))
        if isinstance(mode, Mapping) and mode.get("supported") is True
    }
    return tuple(mode for mode in INSTALL_MODES if mode in found)


def deployment_names(csv: Any) -> tuple[str, ...]:
    """Return the Deployments that a CSV declares, in its order."""
    install = mapping(mapping(spec(csv).get("install")).get("spec"))
    return tuple(
        text(one.get("name"))
        for one in sequence(install.get("deployments"))
        if isinstance(one, Mapping)
    )


def pod_specs(csv: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the specs of the pods of its Deployments."""
    install = mapping(mapping(spec(csv).get("install")).get("spec"))
    for one in map(mapping, sequence(install.get("deployments"))):
        template = mapping(mapping(one.get("spec")).get("template"))
        yield mapping(template.get("spec"))


def webhook_services(csv: Any) -> tuple[str, ...]:
    """Return the Services that OLM creates for the webhooks of a CSV, one for each Deployment."""
    named = (
        text(one.get("deploymentName"))
        for one in sequence(spec(csv).get("webhookdefinitions"))
        if isinstance(one, Mapping)
    )
    return tuple(map(_service, dict.fromkeys(named)))


def api_services(csv: Any) -> dict[str, str]:
    """Return the Services that OLM creates for the aggregated APIs of a CSV: APIService → name."""
    owned = sequence(mapping(spec(csv).get("apiservicedefinitions")).get("owned"))
    return {
        f"{text(one.get('version'))}.{text(one.get('group'))}": _service(
            text(one.get("deploymentName"))
        )
        for one in map(mapping, owned)
    }


def _service(deployment: str) -> str:
    return f"{deployment.replace('.', '-')}-service"


def owned_crds(csv: Any) -> tuple[str, ...]:
    """Return the names of the CRDs that a CSV owns."""
    return _crds(csv, "owned")


def owned_versions(csv: Any) -> frozenset[tuple[str, str]]:
    """Return the CRDs that a CSV owns, with their versions."""
    listed = mapping(spec(csv).get("customresourcedefinitions")).get("owned")
    return frozenset(
        (text(one.get("name")), text(one.get("version"))) for one in map(mapping, sequence(listed))
    )


def converted_crds(csv: Any) -> frozenset[str]:
    """Return the names of the CRDs whose objects its webhooks convert."""
    return frozenset(
        text(name)
        for one in sequence(spec(csv).get("webhookdefinitions"))
        for name in sequence(mapping(one).get("conversionCRDs"))
    )


def required_crds(csv: Any) -> tuple[str, ...]:
    """Return the names of the CRDs that other operators must provide."""
    return _crds(csv, "required")


def _crds(csv: Any, side: str) -> tuple[str, ...]:
    listed = sequence(mapping(spec(csv).get("customresourcedefinitions")).get(side))
    names = (text(one.get("name")) for one in listed if isinstance(one, Mapping))
    return tuple(dict.fromkeys(names))  # each version of a kind is listed


def target_namespaces(group: Manifest) -> tuple[str, ...]:
    """Return the namespaces of an OperatorGroup; a single empty name means all of them."""
    found = status(group).get("namespaces")
    if isinstance(found, list):
        return tuple(text(name) for name in found)
    named = sequence(spec(group).get("targetNamespaces"))
    return tuple(text(name) for name in named) or ("",)


def csv_targets(csv: Manifest) -> tuple[str, ...]:
    """Return the target namespaces in a CSV's annotation; an empty name means all."""
    noted = objects.annotations_of(csv).get("olm.targetNamespaces")
    return () if noted is None else tuple(noted.split(","))


def selector(group: Manifest) -> str:
    """Return the label selector of an OperatorGroup as for kubectl; empty if none is in effect.

    OLM ignores the selector of a group that names its namespaces.
    """
    found = mapping(spec(group).get("selector"))
    if sequence(spec(group).get("targetNamespaces")):
        return ""
    parts = [f"{key}={value}" for key, value in mapping(found.get("matchLabels")).items()]
    for one in map(mapping, sequence(found.get("matchExpressions"))):
        values = ",".join(map(str, sequence(one.get("values"))))
        words = f"{text(one.get('key'))} {text(one.get('operator')).lower()}"
        parts.append(f"{words} ({values})" if values else words)
    return ",".join(parts)


def selects_nothing(group: Manifest) -> bool:
    """Return whether the OperatorGroup has a selector that matches no namespace."""
    return bool(selector(group)) and not sequence(status(group).get("namespaces"))


def required_modes(targets: Sequence[str], namespace: str) -> tuple[str, ...]:
    """Return the install modes that a CSV in `namespace` must support to watch `targets`.

    Source: the install-mode rules of OLM v0's OperatorGroups.
    """
    if list(targets) == [namespace]:
        return ("OwnNamespace",)
    if list(targets) == [""]:
        return ("AllNamespaces",)
    if len(targets) == 1:
        return ("SingleNamespace",)
    return ("MultiNamespace", "OwnNamespace") if namespace in targets else ("MultiNamespace",)
