"""Find ConfigMaps, Secrets and their keys that a pod needs and that do not exist.

The kubelet reports them in the state of a container that uses them in its environment, and in an
event if they are volumes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm.explain.workloads import templates
from olmkit.olm.explain.workloads.templates import TemplatePlace

_NAME = r"(?P<name>[-.\w]+)"
_WHOLE = re.compile(rf'(?P<kind>configmap|secret)s? "{_NAME}" (?:not found|is forbidden)')
_KEY = re.compile(
    rf"couldn't find key (?P<key>[-.\w]+) in (?P<kind>ConfigMap|Secret) [-.\w]+/{_NAME}"
)
_VOLUME = re.compile(r'MountVolume\.SetUp failed for volume "(?P<volume>[^"]+)"')
_ITEM = re.compile(r"references non-existent (?P<kind>config|secret) key: (?P<key>[-.\w]+)")
_KINDS = {"configmap": "ConfigMap", "config": "ConfigMap", "secret": "Secret"}
_ROOT_CA = "kube-root-ca.crt"


@dataclass(frozen=True, slots=True)
class MissingObject:
    """A missing object, or a missing key if `key` is set. `user` is the object that uses it."""

    kind: str
    name: str
    key: str
    user: str

    def message(self, namespace: str) -> str:
        """Return one clause that names what is missing and what uses it."""
        if self.key:
            return (
                f"{self.kind} `{self.name}` in namespace `{namespace}` has no key `{self.key}`, "
                f"which {self.user} uses"
            )
        return (
            f"{self.kind} `{self.name}` does not exist in namespace `{namespace}`, "
            f"and {self.user} uses it"
        )

    def hint(self, namespace: str, template: TemplatePlace, expected: str) -> str:
        """Return how to create it. `expected` is a key that the pod uses, if known."""
        if self.name == _ROOT_CA:
            return (
                "the controller manager of the cluster creates it: check that it runs, and that "
                "no admission webhook refuses ConfigMaps: "
                "`kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations`"
            )
        place = "`optional: true` to the reference"
        optional = template.change(f"add {place}")
        if self.key:
            data = "data" if self.kind == "ConfigMap" else "stringData"
            patch = f'{{"{data}":{{"{self.key}":"VALUE"}}}}'
            return (
                f"add the key: `kubectl patch {self.kind.lower()} {self.name} -n {namespace} "
                f"--type merge -p '{patch}'`; or {optional}"
            )
        kind = "configmap" if self.kind == "ConfigMap" else "secret generic"
        return (
            f"create it: `kubectl create {kind} {self.name} -n {namespace} "
            f"--from-literal={expected or 'KEY'}=VALUE`; or {optional}"
        )


def find_in_environment(message: str, pod: Manifest, container: str) -> MissingObject | None:
    """Return what the message of `CreateContainerConfigError` names as missing."""
    found = _KEY.search(message)
    if found is not None:
        return MissingObject(found["kind"], found["name"], found["key"],
                       _variable(pod, container, found["name"], found["key"]))  # fmt: skip
    found = _WHOLE.search(message)
    if found is None:
        return None
    kind = _KINDS[found["kind"]]
    return MissingObject(kind, found["name"], "", _variable(pod, container, found["name"], ""))


def find_in_volume(message: str, pod: Manifest) -> MissingObject | None:
    """Return what the message of `FailedMount` names as missing."""
    place = _VOLUME.search(message)
    volume = place["volume"] if place else ""
    user = f"volume `{volume}`" if volume else "a volume"
    found = _WHOLE.search(message)
    if found is not None:
        return MissingObject(_KINDS[found["kind"]], found["name"], "", user)
    item = _ITEM.search(message)
    if item is None:
        return None
    kind = _KINDS[item["kind"]]
    name = _source(pod, volume, kind)
    return MissingObject(kind, name, item["key"], user) if name else None


def expected_key(pod: Manifest, one: MissingObject) -> str:
    """Return a key of a missing object that the pod uses; empty if it uses all of them."""
    for container in templates.containers(pod):
        for _, kind, name, key in _references(container):
            if (kind, name) == (one.kind, one.name) and key:
                return key
    for volume in sequence(objects.pod_spec(pod).get("volumes")):
        field, named = (
            ("configMap", "name") if one.kind == "ConfigMap" else ("secret", "secretName")
        )
        source = mapping(mapping(volume).get(field))
        items = sequence(source.get("items"))
        if source.get(named) == one.name and items:
            return text(mapping(items[0]).get("key"))
    return ""


def _variable(pod: Manifest, container: str, name: str, key: str) -> str:
    place = f"container `{container}`"
    for variable, _, named, its_key in _references(templates.container(pod, container)):
        if named == name and key in ("", its_key):
            return f"variable `{variable}` of {place}" if variable else f"`envFrom` of {place}"
    return place


def _references(container: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield variable, kind, name and key of each reference in the environment of a container."""
    for one in sequence(container.get("env")):
        source = mapping(mapping(one).get("valueFrom"))
        for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
            found = mapping(source.get(field))
            if found:
                name, key = text(found.get("name")), text(found.get("key"))
                yield text(mapping(one).get("name")), kind, name, key
    for one in sequence(container.get("envFrom")):
        for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
            found = mapping(mapping(one).get(field))
            if found:
                yield "", kind, text(found.get("name")), ""


def _source(pod: Manifest, volume: str, kind: str) -> str:
    field, named = ("configMap", "name") if kind == "ConfigMap" else ("secret", "secretName")
    for one in sequence(objects.pod_spec(pod).get("volumes")):
        if isinstance(one, Mapping) and one.get("name") == volume:
            return text(mapping(one.get(field)).get(named))
    return ""
