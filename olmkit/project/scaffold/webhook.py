"""The files that `create webhook` creates or changes: handlers, wiring and tests, manifests.

Webhooks need a certificate. OLM creates one, so a bundle always has webhooks; the overlay
`config/default` runs in any cluster, and has none. `config/with-webhooks` is the same with
webhooks, for OLM and for other ways to mount a certificate; `config/with-cert-manager` lets
cert-manager create one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.tree import Tree
from olmkit.project.config import Api, Project
from olmkit.project.edits import python as python_edits
from olmkit.project.edits import yaml as yaml_edits
from olmkit.project.scaffold import external, kinds, template_files
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold.kinds import KindRequest, Names
from olmkit.project.scaffold.project import Draft

WITH_WEBHOOKS = "config/with-webhooks"
WITH_CERT_MANAGER = "config/with-cert-manager"
_CRDS = f"{scaffold.CRD_FOLDER}/kustomization.yaml"
_STORAGE = "+kubebuilder:storageversion"


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookRequest(KindRequest):
    """Webhooks for one version of a kind; with `conversion` it is the hub of `spokes`.

    Without `spokes`, all other versions of the kind are. `plural` is for an external kind;
    for its own kinds the project knows it.
    """

    defaulting: bool = False
    validation: bool = False
    conversion: bool = False
    spokes: Sequence[str] = ()


def create_webhook(
    request: WebhookRequest, project: Project, present: Tree, templates: Tree
) -> Draft:
    """Return a project with webhooks for one of its kinds, or for an external one.

    Raises `ConfigurationError` for a missing kind, and for existing webhooks.
    """
    if not (request.defaulting or request.validation or request.conversion):
        raise ConfigurationError(
            "no webhook is requested",
            hint="pass one of `--defaulting`, `--validation`, `--conversion`",
        )
    api, found = _target(request, project)
    request = replace(request, spokes=_spokes(request, project))
    _check_present(request, project, found)
    draft = Draft(present, force=request.force)
    where = Names.of(api, project, present)
    path = f"{api.qualified_group.replace('.', '-')}-{api.version}-{api.kind.lower()}"
    values = scaffold.api_values(project, api) | {
        "types_module": where.module_of(where.types_file),
        "object": "Manifest" if api.is_defined_elsewhere else api.kind,
        "rbac_group": api.qualified_group or '""',
        "variable": kinds.variable_of(api.kind, templates),
        "webhook_path": path,
        "sample": scaffold.sample_file(api),
    }
    if request.defaulting or request.validation:
        _add_handlers(draft, request, where, templates, values)
        _add_tests(draft, request, where, templates, values)
    if request.conversion:
        _add_conversion(draft, request, project, where, templates, values)
        if scaffold.is_namespaced(project):
            scaffold.note_converted_in_one_namespace(draft)
    _add_manifests(draft, request, project, api, templates, values)
    scaffold.record(draft, api, found, {"webhooks": _webhooks(request, project, found)})
    return draft


def _target(request: WebhookRequest, project: Project) -> tuple[Api, int | None]:
    """Return the requested kind, and its index in the project file if it is there."""
    if not external.is_external_kind(request, project):
        found = kinds.find(project, request.group, request.version, request.kind)
        if found is None or not project.apis[found].has_types:
            raise ConfigurationError(
                f"the project has no types of `{request.kind}` in version `{request.version}`",
                hint="create them first, with `olmkit create api`; for a Kubernetes kind, pass "
                "its group (`apps`, `core`), for an external kind its domain "
                "(`--external-api-domain`)",
            )
        kinds.check_watched(project, project.apis[found])
        kinds.check_plural(project.apis[found], request.plural)
        return project.apis[found], found
    api = external.requested_api(request, project)
    if request.conversion:
        raise ConfigurationError(
            f"`{api.kind}` can be converted only by its owner",
            hint="leave `--conversion` out",
        )
    return api, external.find(project, api)


def _spokes(request: WebhookRequest, project: Project) -> tuple[str, ...]:
    if not request.conversion:
        if request.spokes:
            raise ConfigurationError("`--spoke` belongs to `--conversion`")
        return ()
    others = {
        api.version
        for api in project.own_apis()
        if (api.group, api.kind) == (request.group, request.kind) and api.version != request.version
    }
    for spoke in request.spokes:
        if spoke not in others:
            raise ConfigurationError(
                f"the project has no version `{spoke}` of `{request.kind}` other than the hub",
                hint=f"`olmkit create api --version {spoke} --no-controller …` creates it",
            )
    if not others:
        raise ConfigurationError(
            f"`{request.kind}` has one version, so there is nothing to convert",
            hint="create another one with `olmkit create api --version … --no-controller`",
        )
    return tuple(sorted(request.spokes or others, key=names.kube_version_key))


def _known_webhooks(project: Project, found: int | None) -> dict[str, Any]:
    """Return the webhooks of a kind in the PROJECT file."""
    if found is None:
        return {}
    known = project.document.get("resources", found, "webhooks")
    return known if isinstance(known, dict) else {}


def _check_present(request: WebhookRequest, project: Project, found: int | None) -> None:
    known = _known_webhooks(project, found)
    asked = {
        "defaulting": request.defaulting,
        "validation": request.validation,
        "conversion": request.conversion,
    }
    there = [name for name, wanted in asked.items() if wanted and known.get(name)]
    if set(request.spokes) - set(known.get("spoke") or ()):
        there = [name for name in there if name != "conversion"]  # one more spoke
    if there and not request.force:
        raise ConfigurationError(
            f"`{request.kind}` in version `{request.version}` has a webhook for {there[0]} already",
            hint="`--force` overwrites its file and discards your changes",
        )


def _add_handlers(
    draft: Draft,
    request: WebhookRequest,
    names: Names,
    templates: Tree,
    values: dict[str, str],
) -> None:
    path = _handlers_file(names)
    _add_packages(draft, names, "webhooks", templates)
    data = None if request.force else draft.get(path)
    if data is None:
        data = template_files.file(templates, "webhook/head.py", values)
    own = names.module_of(path)
    if names.api.is_defined_elsewhere:
        typed = ("olmkit.runtime", "Manifest")
    else:
        typed = (values["types_module"], values["kind"])
    data = python_edits.with_import(data, path, *typed)
    for wanted, name, word, function in (
        (request.defaulting, "Defaulter", "mutate", "defaulting"),
        (request.validation, "Validator", "validate", "validating"),
    ):
        if not wanted:
            continue
        handler = values["kind"] + name
        text = template_files.file(templates, f"webhook/{name.lower()}.py", values).decode()
        data = python_edits.with_definition(data, path, handler, text)
        if "Sequence[" in text:
            data = python_edits.with_import(data, path, "collections.abc", "Sequence")
        function += "_plain" * names.api.is_defined_elsewhere
        imports = {"handler": (own, handler), "function": ("olmkit.runtime", function)}
        if names.api.is_defined_elsewhere:
            place = f'"/{word}-{values["webhook_path"]}"'
            handled = "{function}({handler}())"
        else:
            place = f'{{path}}("{word}", {{kind}}.gvk)'
            handled = "{function}({handler}(), {kind})"
            imports |= {"kind": typed, "path": ("olmkit.runtime", "webhook_path")}
        _wire(
            draft,
            names,
            "add_webhooks",
            f"server.add(\n    {place},\n    {handled},\n)",
            marker="webhook",
            sign="{handler}()",
            imports=imports,
        )
    if names.api.is_defined_elsewhere:
        draft.note(
            f"while the operator is down, no `{names.api.kind}` of the cluster can be stored",
            path,
            "`failurePolicy=ignore` in the marker admits objects in that case",
        )
    draft.put(path, data)


def _handlers_file(names: Names) -> str:
    folder = f"{names.folder}/webhooks/{names.group_folder}"
    return f"{folder}{names.module}_{scaffold.module_name(names.api.version)}.py"


def _test_file(names: Names, version: str, subject: str) -> str:
    group = names.group_folder.replace("/", "_")
    return f"tests/test_{group}{names.module}_{scaffold.module_name(version)}_{subject}.py"


def _add_tests(
    draft: Draft,
    request: WebhookRequest,
    names: Names,
    templates: Tree,
    values: dict[str, str],
) -> None:
    """Add a test of each handler, next to the author's tests."""
    path = _test_file(names, names.api.version, "webhooks")
    data = None if request.force else draft.get(path)
    if data is None:
        folder = "external" if names.api.is_defined_elsewhere else "webhook"
        data = template_files.file(templates, f"{folder}/handlers_test.py", values)
    for wanted, name, test in (
        (request.defaulting, "Defaulter", "test_what_is_filled_in_stays_when_it_is_asked_again"),
        (request.validation, "Validator", "test_a_good_object_is_let_through"),
    ):
        if not wanted:
            continue
        text = template_files.file(templates, f"webhook/{name.lower()}_test.py", values).decode()
        data = python_edits.with_definition(data, path, test, text)
        handlers = names.module_of(_handlers_file(names))
        data = python_edits.with_import(data, path, handlers, values["kind"] + name)
    draft.put(path, data)


def _add_conversion(
    draft: Draft,
    request: WebhookRequest,
    project: Project,
    names: Names,
    templates: Tree,
    values: dict[str, str],
) -> None:
    _mark_hub(draft, project, names)
    _add_packages(draft, names, "conversions", templates)
    called = {
        "": ("olmkit.runtime", "Spoke"),
        "kind": (values["types_module"], values["kind"]),
    }
    spokes: list[str] = []
    for index, spoke in enumerate(request.spokes):
        module = f"{names.module}_{scaffold.module_name(spoke)}"
        path = f"{names.folder}/conversions/{names.group_folder}{module}.py"
        text = template_files.file(templates, "webhook/conversion.py", values | {"spoke": spoke})
        draft.make(path, text)
        words = values | {"spoke": spoke, "conversion_module": names.module_of(path)}
        test = template_files.file(templates, "webhook/conversion_test.py", words)
        draft.make(_test_file(names, spoke, "conversion"), test)
        called[f"spoke{index}"] = (names.module_of(path).rpartition(".")[0], module)
        spokes.append(
            f"Spoke(\n"
            f'    version="{spoke}",\n'
            f"    to_hub={{spoke{index}}}.to_hub,\n"
            f"    from_hub={{spoke{index}}}.from_hub,\n"
            f"),"
        )
    arguments = "\n".join(f"    {line}" for spoke in spokes for line in spoke.splitlines())
    statement = f"made.add(\n    {{kind}}.gvk,\n{arguments}\n)"
    is_new = _wire(
        draft,
        names,
        "conversions",
        statement,
        marker="conversion",
        sign="{kind}.gvk",
        imports=called,
    )
    if not is_new:
        _add_spokes(draft, request, names, called, spokes)


def _add_spokes(
    draft: Draft,
    request: WebhookRequest,
    names: Names,
    imports: Mapping[str, tuple[str, str]],
    spokes: Sequence[str],
) -> None:
    """Add missing spokes to an existing hub."""
    path = f"{names.folder}/wiring.py"
    data = draft.get(path) or b""
    called = _import_names(data, path, names, imports)
    for version, spoke in zip(request.spokes, spokes, strict=True):
        text = spoke.format(**called)
        if text.splitlines()[2].strip().encode() in data:
            continue
        wired = python_edits.with_argument(data, path, "conversions", f"{called['kind']}.gvk", text)
        if wired == data:
            draft.note(f"`{path}` does not convert version `{version}` yet", path, text)
        data = wired
    for word, (module, name) in sorted(imports.items(), key=lambda one: one[1]):
        data = python_edits.with_import(data, path, module, name, alias=called[word])
    draft.put(path, data)


def _mark_hub(draft: Draft, project: Project, names: Names) -> None:
    """Mark the hub as the stored version."""
    files = {
        api.version: replace(names, api=api).types_file
        for api in project.own_apis()
        if (api.group, api.kind) == (names.api.group, names.api.kind)
    }
    for version, path in files.items():
        data = draft.get(path)
        if data is None:
            continue
        if version == names.api.version:
            data = python_edits.with_class_marker(data, path, names.api.kind, _STORAGE)
        elif _STORAGE.encode() in data:
            data = python_edits.without_marker(data, _STORAGE)
            draft.note(f"version `{version}` is no longer the stored one", path)
        draft.put(path, data)


def _add_packages(draft: Draft, names: Names, name: str, templates: Tree) -> None:
    text = template_files.file(templates, f"webhook/{name}_package.py", {})
    for folder in dict.fromkeys(("", names.group_folder)):
        path = f"{names.folder}/{name}/{folder}__init__.py"
        if draft.get(path) is None:
            draft.put(path, text)


def _wire(
    draft: Draft,
    names: Names,
    function: str,
    statement: str,
    *,
    marker: str,
    sign: str,
    imports: Mapping[str, tuple[str, str]],
) -> bool:
    """Add a statement to the wiring; return whether it was missing.

    `imports` are modules and their imported names; statement and sign have these names in braces,
    which are replaced by the local names.
    """
    path = f"{names.folder}/wiring.py"
    data = draft.get(path)
    if data is None:
        draft.note(f"`{path}` does not exist, so nothing serves the webhooks", path)
        return True
    called = _import_names(data, path, names, imports)
    wired = python_edits.with_statement(
        data,
        path,
        function,
        statement.format(**called),
        marker=marker,
        sign=sign.format(**called),
    )
    if wired == data:
        return False
    for word, (module, name) in sorted(imports.items(), key=lambda one: one[1]):
        wired = python_edits.with_import(wired, path, module, name, alias=called[word])
    draft.put(path, wired)
    return True


def _import_names(
    data: bytes, path: str, names: Names, imports: Mapping[str, tuple[str, str]]
) -> dict[str, str]:
    """Return the local names of the imports in a file."""
    called: dict[str, str] = {}
    for word, (module, name) in imports.items():
        prefix = names.group_prefix.lower() + "_" if name.islower() else names.version_prefix
        called[word] = python_edits.local_name(data, path, module, name, alias=prefix + name)
    return called


def _add_manifests(
    draft: Draft,
    request: WebhookRequest,
    project: Project,
    api: Api,
    templates: Tree,
    values: dict[str, str],
) -> None:
    def template(name: str) -> bytes:
        return template_files.file(templates, f"webhook/{name}", values)

    def make(path: str, name: str) -> None:
        if draft.get(path) is None:  # for all kinds, so never again
            draft.put(path, template(name))

    overlay = "config/webhook/kustomization.yaml"
    if draft.get(overlay) is None:
        draft.put(overlay, b"resources:\n- service.yaml\n")
    make("config/webhook/service.yaml", "service.yaml")
    if request.defaulting or request.validation:
        data = draft.get(overlay) or b""
        draft.put(
            overlay,
            yaml_edits.with_item(data, overlay, ("resources",), "manifests.yaml", first=True),
        )
    make(scaffold.WEBHOOKS_OVERLAY, "with_webhooks.yaml")
    if draft.get(_CRDS) is not None:
        draft.add_item(scaffold.WEBHOOKS_OVERLAY, ("resources",), "../crd")
    make(f"{WITH_WEBHOOKS}/manager_webhook_patch.yaml", "manager_webhook_patch.yaml")
    for name in ("certificate", "inject_patch", "kustomization", "mount_patch"):
        make(f"{WITH_CERT_MANAGER}/{name}.yaml", f"cert_manager/{name}.yaml")
    manifests = draft.get(scaffold.MANIFESTS_OVERLAY)
    if manifests is not None:
        draft.put(
            scaffold.MANIFESTS_OVERLAY,
            yaml_edits.with_replaced_item(
                manifests,
                scaffold.MANIFESTS_OVERLAY,
                ("resources",),
                "../default",
                "../with-webhooks",
            ),
        )
    make("config/network-policy/allow-webhook-traffic.yaml", "allow-webhook-traffic.yaml")
    policies = "config/network-policy/kustomization.yaml"
    policy = draft.get(policies)
    if policy is not None:
        listed = "allow-webhook-traffic.yaml"
        policy = yaml_edits.with_item(policy, policies, ("resources",), listed, first=True)
        draft.put(policies, policy)
    if request.conversion:
        _convert_crd(draft, request, project, api, template("crd_patch.yaml"), values)


def _convert_crd(
    draft: Draft,
    request: WebhookRequest,
    project: Project,
    api: Api,
    patch: bytes,
    values: dict[str, str],
) -> None:
    """Write the conversion into the CRD, and serve only the hub if nothing converts."""
    prefix = scaffold.module_prefix(api, multigroup=project.is_multigroup, separator="_")
    plural = values["plural"]
    file = f"patches/webhook_in_{prefix}{plural}.yaml"
    draft.make(f"{scaffold.CRD_FOLDER}/{file}", patch)
    draft.add_item(_CRDS, ("patches",), {"path": file}, marker="crdkustomizewebhookpatch")
    draft.add_item(_CRDS, ("configurations",), "kustomizeconfig.yaml")
    versions = {
        other.version
        for other in project.own_apis()
        if (other.group, other.kind) == (api.group, api.kind)
    }
    only = f"{prefix}{plural}_{request.version}_only.yaml"
    path = f"config/default/{only}"
    # One that was written for fewer versions, and not changed since then, is written again.
    before = [_only(versions - {spoke}, request.version) for spoke in request.spokes]
    if draft.get(path) in before:
        draft.put(path, _only(versions, request.version))
    draft.make(path, _only(versions, request.version))
    crd = f"{plural}.{api.qualified_group}"
    target = {"kind": "CustomResourceDefinition", "name": crd}
    draft.add_item(scaffold.DEFAULT_OVERLAY, ("patches",), {"path": only, "target": target})


def _only(versions: set[str], hub: str) -> bytes:
    """Return a patch of a CRD that leaves one of its versions, which are in alphabetical order."""
    text = "# Without a conversion webhook one version can be served, the one that is stored.\n"
    for index, version in reversed(list(enumerate(sorted(versions)))):
        if version != hub:
            text += f"- op: test\n  path: /spec/versions/{index}/name\n  value: {version}\n"
            text += f"- op: remove\n  path: /spec/versions/{index}\n"
    return (text + "- op: remove\n  path: /spec/conversion\n").encode()


def _webhooks(request: WebhookRequest, project: Project, found: int | None) -> dict[str, Any]:
    """Return the webhooks of a kind: existing and new ones."""
    known = _known_webhooks(project, found)
    webhooks = dict(known)
    webhooks |= {"defaulting": True} if request.defaulting else {}
    webhooks |= {"validation": True} if request.validation else {}
    if request.conversion:
        spokes = dict.fromkeys([*(known.get("spoke") or ()), *request.spokes])
        webhooks |= {"conversion": True, "spoke": list(spokes)}
    return webhooks | {"webhookVersion": "v1"}
