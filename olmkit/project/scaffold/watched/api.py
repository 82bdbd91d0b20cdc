"""The files that `create api` creates or changes for a kind of a chart, a role or a playbook.

Names and places are those of operator-sdk's plugins helm/v1 and ansible/v1.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, Location
from olmkit.base.tree import Tree
from olmkit.kube.objects import GVK
from olmkit.project.config import PROJECT_FILE, WATCHED_LAYOUTS, Api, Project
from olmkit.project.scaffold import kinds as kind_names
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold import template_files
from olmkit.project.scaffold.project import Draft
from olmkit.project.scaffold.watched import chart_schema, mixed, rules
from olmkit.project.scaffold.watched.charts import Chart
from olmkit.project.scaffold.watched.project import WATCHES_FILE

_ROLE_FILE = f"{scaffold.RBAC_FOLDER}/role.yaml"
_RULES_MARKER = b"# +kubebuilder:scaffold:rules"
_WATCH_MARKER = b"# +kubebuilder:scaffold:watch"
# The objects that roles of operators usually create; the author adds and removes rules.
_USUAL = tuple(
    GVK(group, "v1", kind)
    for group, kind in (
        ("", "ConfigMap"),
        ("", "PersistentVolumeClaim"),
        ("", "Pod"),
        ("", "Secret"),
        ("", "Service"),
        ("apps", "Deployment"),
        ("apps", "StatefulSet"),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedRequest:
    """A new kind; group, version and kind are complete. With a `chart`, or with role or playbook.

    `rendered`: kinds that the chart renders with its defaults, in addition to those in its text.
    """

    group: str
    version: str
    kind: str
    plural: str = ""
    namespaced: bool = True
    force: bool = False
    chart: Chart | None = None
    rendered: tuple[GVK, ...] = ()
    has_role: bool = True
    has_playbook: bool = False


def create_api(request: WatchedRequest, project: Project, present: Tree, templates: Tree) -> Draft:
    """Return a project with one more kind; raise `ConfigurationError` for invalid names.

    In a Python project, the kind runs in the same process as the others.
    """
    runner = "ansible" if request.chart is None else "helm"
    is_mixed = project.language not in WATCHED_LAYOUTS
    api = Api(
        group=request.group,
        domain=project.domain,
        version=request.version,
        kind=request.kind,
        at=Location(path=PROJECT_FILE),
        plural=request.plural,
        has_types=True,
        is_namespaced=request.namespaced,
        runner=runner if is_mixed else "",
    )
    kind_names.check_names(api)
    found = _check_place(request, project, api)
    draft = Draft(present, force=request.force)
    values = scaffold.api_values(project, api)
    if request.chart is not None:
        content = _add_chart(draft, request.chart)
    else:
        content = _add_ansible(draft, request, templates, values)
    _add_watch(draft, api, content)
    if is_mixed:
        mixed.prepare(draft, project, runner, _folders(request), templates)
    _add_crd(draft, request, api)
    _add_lists(draft, project, api, templates, values)
    draft.make(scaffold.sample_file(api), _sample(request, templates, values))
    _add_rules(draft, request, api)
    facts = {"api": {"crdVersion": "v1"} | ({"namespaced": True} if request.namespaced else {})}
    scaffold.record(draft, api, found, facts)
    if is_mixed:
        mixed.record(draft, project, api, runner)
    return draft


def _folders(request: WatchedRequest) -> tuple[str, ...]:
    """Return the folders of the project with the content to run."""
    if request.chart is not None:
        return ("helm-charts",)
    given = (("roles", request.has_role), ("playbooks", request.has_playbook))
    return tuple(name for name, is_there in given if is_there)


def _check_place(request: WatchedRequest, project: Project, api: Api) -> int | None:
    groups = {one.group for one in project.apis if not one.is_defined_elsewhere}
    if groups and api.group not in groups and not project.is_multigroup:
        raise ConfigurationError(
            f"the project has the group `{sorted(groups)[0]}`, and `{api.group}` differs from it",
            hint="`olmkit edit --multigroup` allows several",
        )
    for index, other in enumerate(project.apis):
        if other.qualified_group != api.qualified_group:
            continue
        if other.kind != api.kind:
            kind_names.check_clash(api, other)
            continue
        if other.version != api.version:
            raise ConfigurationError(
                f"`{api.kind}` is there in version `{other.version}`, and one entry of "
                f"`{WATCHES_FILE}` runs for a kind",
                hint="add the version to the CRD by hand",
            )
        if other.runner != api.runner:
            raise ConfigurationError(
                f"the project has `{api.kind}` already, and {_run_by(other)} runs for it",
                hint="choose another kind",
            )
        if not request.force:
            raise ConfigurationError(
                f"the project has `{api.kind}` in version `{api.version}` already",
                hint="`--force` overwrites its files and discards your changes",
            )
        return index
    return None


def _run_by(api: Api) -> str:
    return api.runner.capitalize() or "a reconciler in Python"


def _add_chart(draft: Draft, chart: Chart) -> dict[str, str]:
    folder = f"helm-charts/{chart.name}"
    if any(path.startswith(f"{folder}/") for path in draft.present) and not draft.force:
        draft.note(f"`{folder}` existed and is kept", folder)
    else:
        for path, content in chart.files.items():
            draft.wanted[f"{folder}/{path}"] = content
    return {"chart": folder}


def _add_ansible(
    draft: Draft, request: WatchedRequest, templates: Tree, values: dict[str, str]
) -> dict[str, str]:
    role = values["kind_lower"]
    if request.has_role:
        made = template_files.folder(templates, "watched_api/role", values)
        for path, content in made.items():
            draft.make(f"roles/{role}/{path}", content.data)
    if not request.has_playbook:
        return {"role": role}
    name = "playbook_of_role.yml" if request.has_role else "playbook.yml"
    playbook = f"playbooks/{role}.yml"
    draft.make(playbook, template_files.file(templates, f"watched_api/{name}", values))
    return {"playbook": playbook}


def _add_watch(draft: Draft, api: Api, content: Mapping[str, str]) -> None:
    data = draft.get(WATCHES_FILE)
    if data is None:
        data = b"---\n" + _WATCH_MARKER + b"\n"
    listed = documents.load(data, WATCHES_FILE).value
    wanted = (api.qualified_group, api.version, api.kind)
    for one in listed if isinstance(listed, list) else []:
        if isinstance(one, Mapping) and wanted == tuple(
            one.get(key, "") for key in ("group", "version", "kind")
        ):
            return
    entry: dict[str, Any] = {
        "group": api.qualified_group,
        "version": api.version,
        "kind": api.kind,
        **content,
    }
    draft.put(WATCHES_FILE, _insert_before(data, _WATCH_MARKER, documents.dump([entry])))


def _add_crd(draft: Draft, request: WatchedRequest, api: Api) -> None:
    plural = scaffold.plural_of(api)
    chart = request.chart
    spec = (
        chart_schema.spec_schema(chart.schema, chart.values)
        if chart is not None
        else chart_schema.open_object(f"desired state of the {api.kind}")
    )
    status = chart_schema.open_object(f"observed state of the {api.kind}")
    text = {"type": "string"}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{api.qualified_group}"},
        "spec": {
            "group": api.qualified_group,
            "names": {
                "kind": api.kind,
                "listKind": f"{api.kind}List",
                "plural": plural,
                "singular": api.kind.lower(),
            },
            "scope": "Namespaced" if api.is_namespaced else "Cluster",
            "versions": [
                {
                    "name": api.version,
                    "schema": {
                        "openAPIV3Schema": {
                            "description": f"{api.kind} is the kind that the operator reconciles.",
                            "properties": {
                                "apiVersion": text,
                                "kind": text,
                                "metadata": {"type": "object"},
                                "spec": spec,
                                "status": status,
                            },
                            "type": "object",
                        }
                    },
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                }
            ],
        },
    }
    path = f"{scaffold.CRD_FOLDER}/bases/{api.qualified_group}_{plural}.yaml"
    draft.make(path, b"---\n" + documents.dump(crd))


def _add_lists(
    draft: Draft, project: Project, api: Api, templates: Tree, values: dict[str, str]
) -> None:
    def listed(path: str, name: str, item: str, marker: str) -> None:
        if draft.get(path) is None:
            draft.put(path, template_files.file(templates, f"api/{name}", values))
        draft.add_item(path, ("resources",), item, marker=marker)

    crds = f"{scaffold.CRD_FOLDER}/kustomization.yaml"
    base = f"bases/{api.qualified_group}_{scaffold.plural_of(api)}.yaml"
    listed(crds, "crd_kustomization.yaml", base, "crdkustomizeresource")
    samples = f"{scaffold.SAMPLES_FOLDER}/kustomization.yaml"
    sample = posixpath.basename(scaffold.sample_file(api))
    listed(samples, "samples_kustomization.yaml", sample, "manifestskustomizesamples")
    draft.add_item(scaffold.DEFAULT_OVERLAY, ("resources",), "../crd")
    draft.add_item(scaffold.MANIFESTS_OVERLAY, ("resources",), "../samples")
    roles = f"{scaffold.RBAC_FOLDER}/kustomization.yaml"
    for name, path in scaffold.role_files(api, multigroup=project.is_multigroup).items():
        draft.make(path, template_files.file(templates, f"api/{name}", values))
        draft.add_item(roles, ("resources",), posixpath.basename(path))


def _sample(request: WatchedRequest, templates: Tree, values: dict[str, str]) -> bytes:
    empty = template_files.file(templates, "api/sample.yaml", values)
    chart = request.chart
    if chart is None or not chart.values:
        return empty
    lines = [f"  {line}".rstrip() for line in chart.values_text.splitlines() if line != "---"]
    text = "\n".join([f"  # The values of helm-charts/{chart.name}/values.yaml.", *lines, ""])
    sample = empty.replace(b"spec: {}\n", b"spec:\n" + text.encode())
    if documents.load(sample, "sample").value.get("spec") == chart.values:
        return sample
    # Text that cannot be indented, such as multi-line strings.
    whole = documents.load(empty, "sample").value
    return documents.dump({**whole, "spec": dict(chart.values)})


def _add_rules(draft: Draft, request: WatchedRequest, api: Api) -> None:
    role_file = mixed.ROLE_FILE if api.runner else _ROLE_FILE
    data = draft.get(role_file)
    if data is None:
        draft.note(f"`{role_file}` does not exist", role_file, "give the operator its rights")
        return
    kinds: Iterable[GVK] = _USUAL
    if request.chart is not None:
        from olmkit.project.scaffold.watched import charts

        kinds = {*charts.kinds(request.chart.files), *request.rendered}
    title = f"# {api.kind}: its objects, and what the operator makes of them.\n".encode()
    if title in data:
        return
    wanted = rules.format_primary_rule(api.qualified_group, scaffold.plural_of(api))
    wanted = title + wanted + rules.format_kind_rules(kinds)
    shared = mixed.rules_of(api.runner)
    if shared not in data:
        wanted = shared + wanted
    draft.put(role_file, _insert_before(data, _RULES_MARKER, wanted))


def _insert_before(data: bytes, marker: bytes, text: bytes) -> bytes:
    """Return the text with lines before a marker, or at the end if the marker is missing."""
    if marker not in data:
        return data.rstrip(b"\n") + b"\n" + text
    start = data.index(marker)
    begin = data.rfind(b"\n", 0, start) + 1
    return data[:begin] + text + data[begin:]
