"""A chart for scaffolds: its name, its values, and the kinds of its templates.

Kinds are read from the text of the templates, not only from the objects that they render by
default. So kinds that other values enable, and those of hooks, are found too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.json import syntax_errors
from olmkit.base.tree import Tree
from olmkit.kube.objects import GVK

_NAME = re.compile(r"[a-z0-9]([a-z0-9._-]*[a-z0-9])?")
_KIND = re.compile(r"^kind:[ \t]*[\"']?([A-Z][A-Za-z0-9]*)[\"']?[ \t]*(?:#.*)?$", re.MULTILINE)
_API = re.compile(r"^apiVersion:[ \t]*(.+?)[ \t]*$", re.MULTILINE)
_DIVIDER = re.compile(r"^---", re.MULTILINE)
_PLAIN_API = re.compile(r"[\"']?((?:[a-z0-9.-]+/)?v[0-9][a-z0-9]*)[\"']?(?:[ \t]*#.*)?")
# If a template computes the API version, the group is derived from its kind.
_GROUPS = {
    "": "ConfigMap Endpoints LimitRange Namespace PersistentVolume PersistentVolumeClaim Pod "
    "ReplicationController ResourceQuota Secret Service ServiceAccount",
    "apps": "DaemonSet Deployment ReplicaSet StatefulSet",
    "autoscaling": "HorizontalPodAutoscaler",
    "batch": "CronJob Job",
    "networking.k8s.io": "Ingress IngressClass NetworkPolicy",
    "policy": "PodDisruptionBudget",
    "rbac.authorization.k8s.io": "ClusterRole ClusterRoleBinding Role RoleBinding",
}
_GROUP_OF = {kind: group for group, kinds in _GROUPS.items() for kind in kinds.split()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """The files of a chart, without its top folder."""

    name: str
    files: Tree
    values: Mapping[str, Any]
    values_text: str
    schema: Any

    @property
    def kind(self) -> str:
        """Convert the name to a kind: `nginx-ingress` → `NginxIngress`."""
        return "".join(part[:1].upper() + part[1:] for part in re.split(r"[._-]", self.name))


def read(files: Tree, *, path: str) -> Chart:
    """Return the chart of a folder; raise `ConfigurationError` if there is none."""
    if "Chart.yaml" not in files:
        raise ConfigurationError(
            f"`{path}` is not a chart: it has no `Chart.yaml`",
            hint="pass the folder of a chart, a packaged chart (`.tgz`), or `oci://…`",
        )
    described = documents.load(files.data("Chart.yaml"), f"{path}/Chart.yaml").value
    name = described.get("name") if isinstance(described, Mapping) else None
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ConfigurationError(f"`{path}/Chart.yaml` has no `name` that a chart can have")
    _check_dependencies(described, files, path)
    data = files.data("values.yaml") if "values.yaml" in files else b""
    values = documents.load(data, f"{path}/values.yaml").value
    return Chart(
        name=name,
        files=files,
        values=values if isinstance(values, Mapping) else {},
        values_text=data.decode("utf-8", "replace"),
        schema=_schema(files, path),
    )


def kinds(files: Tree) -> Iterator[GVK]:
    """Yield the kinds of the templates of a chart and its subcharts, by their text."""
    for path, content in sorted(files.items()):
        if "templates" not in path.split("/")[:-1] or "/tests/" in f"/{path}":
            continue
        for part in _DIVIDER.split(content.data.decode("utf-8", "replace")):
            kind = _KIND.search(part)
            if kind is None:
                continue
            api = _API.search(part)
            plain = _PLAIN_API.fullmatch(api[1]) if api else None
            if plain:
                yield GVK.parse(plain[1], kind[1])
            elif kind[1] in _GROUP_OF:
                yield GVK(_GROUP_OF[kind[1]], "v1", kind[1])


def _check_dependencies(described: Any, files: Tree, path: str) -> None:
    listed = described.get("dependencies")
    for one in listed if isinstance(listed, list) else []:
        name = one.get("name") if isinstance(one, Mapping) else None
        if not isinstance(name, str):
            continue
        is_there = any(file.startswith((f"charts/{name}/", f"charts/{name}-")) for file in files)
        if not is_there:
            raise ConfigurationError(
                f"the chart `{path}` needs the chart `{name}`, which is not in its `charts/`",
                hint=f"run `helm dependency update {path}` first",
            )


def _schema(files: Tree, path: str) -> Any:
    if "values.schema.json" not in files:
        return None
    try:
        return json.loads(files.data("values.schema.json"))
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"`{path}/values.schema.json` is not JSON: {syntax_errors.describe(error)}"
        ) from None
