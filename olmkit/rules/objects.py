"""Rules about the manifests of a bundle of any kind.

They check that the folder has one object per file and nothing else, that OLM installs the kind of
each object, and that its metadata is valid. CSVs and CRDs have their own modules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from olmkit.base import names, texts
from olmkit.base.diagnostics import Fix, Related, Severity
from olmkit.base.documents import Document
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle, BundleObject
from olmkit.kube import objects
from olmkit.kube.builtin import typed
from olmkit.kube.builtin.typed import TypeDifference, TypeMisfit
from olmkit.kube.crds import field_errors
from olmkit.rules import fixes
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

# The kinds that OLM accepts in a bundle (operator-registry's list of supported kinds), and the API
# group of each kind. OLM checks only the kind.
KINDS: Mapping[str, str] = {
    "ClusterServiceVersion": "operators.coreos.com",
    "CustomResourceDefinition": "apiextensions.k8s.io",
    "Secret": "",
    "ClusterRole": "rbac.authorization.k8s.io",
    "ClusterRoleBinding": "rbac.authorization.k8s.io",
    "ConfigMap": "",
    "ServiceAccount": "",
    "Service": "",
    "Role": "rbac.authorization.k8s.io",
    "RoleBinding": "rbac.authorization.k8s.io",
    "PrometheusRule": "monitoring.coreos.com",
    "ServiceMonitor": "monitoring.coreos.com",
    "PodMonitor": "monitoring.coreos.com",
    "PodDisruptionBudget": "policy",
    "PriorityClass": "scheduling.k8s.io",
    "VerticalPodAutoscaler": "autoscaling.k8s.io",
    "ConsoleYAMLSample": "console.openshift.io",
    "ConsoleQuickStart": "console.openshift.io",
    "ConsoleCLIDownload": "console.openshift.io",
    "ConsoleLink": "console.openshift.io",
    "ConsolePlugin": "console.openshift.io",
    "NetworkPolicy": "networking.k8s.io",
}

# Names of these may contain colons and capital letters; all other kinds need a subdomain.
# Kinds whose names may be any segment of a path.
_PATH_NAMES = frozenset(
    {"ClusterRole", "ClusterRoleBinding", "PodDisruptionBudget", "Role", "RoleBinding"}
)


@rule("OBJ001", "folder-in-manifests")
def folder_in_manifests(bundle: Bundle) -> Iterator[Finding]:
    """The manifests directory contains a directory.

    Why: all manifests must be in one directory; tools reject a bundle with a manifest in a
    subdirectory.

    Fix: move the files up, or out of the bundle.
    """
    prefix = f"{bundle.manifests_dir}/" if bundle.manifests_dir else ""
    folders: dict[str, None] = {}
    for path in bundle.tree:
        inner = path.removeprefix(prefix)
        if path.startswith(prefix) and "/" in inner and prefix:
            folders[inner.partition("/")[0]] = None
    for folder in folders:
        place = bundle.place(prefix + folder)
        yield Finding(
            f"bundle manifests dir contains directory: {place.path}",
            at=place,
            hint="put the manifests directly into the manifests folder",
        )


@rule("OBJ002", "hidden-file")
def hidden_file(bundle: Bundle) -> Iterator[Finding]:
    """The manifests directory contains a hidden file.

    Why: tools reject a bundle with a file whose name begins with a dot.

    Fix: remove the file.
    """
    prefix = f"{bundle.manifests_dir}/" if bundle.manifests_dir else ""
    for path in bundle.tree:
        if path.startswith(prefix + ".") and "/" not in path.removeprefix(prefix) and prefix:
            yield Finding(
                f"bundle manifests dir has hidden file: {bundle.place(path).path}",
                at=bundle.place(path),
                hint="remove it",
            )


@rule("OBJ003", "not-an-object")
def not_an_object(bundle: Bundle) -> Iterator[Finding]:
    """A file in the manifests directory contains no Kubernetes object.

    Why: tools read every file of the directory as a manifest. If a file has a text, a list
    or an object without `kind`, tools reject the bundle without naming the file.

    Fix: remove the file, or write `apiVersion` and `kind`.
    """
    for document in bundle.manifests:
        value = document.value
        if value is None:
            continue
        if not isinstance(value, Mapping):
            noun = "a list" if isinstance(value, list) else "a single value"
            yield Finding(
                f"the file contains {noun}, not a Kubernetes object",
                at=document.at(),
                hint="remove the file from the manifests folder",
            )
        elif not isinstance(value.get("kind"), str) or not value["kind"]:
            yield Finding(
                "Object 'Kind' is missing",
                at=document.at("kind"),
                hint=_kind_hint(value),
            )
        elif str(value.get("apiVersion", "")).count("/") > 1:
            yield Finding(
                f"`{value['apiVersion']}` is not an API version",
                at=document.at("apiVersion"),
                hint="write a group, a slash and a version, such as `apps/v1`",
            )


@rule("OBJ004", "empty-manifest")
def empty_manifest(bundle: Bundle) -> Iterator[Finding]:
    """The first document of a manifest is empty.

    Why: tools read only the first document. A comment followed by `---`, such as a license,
    is the first document, so the object after it is lost.

    Fix: remove the `---` after the comment, or the whole file.
    """
    for document in bundle.manifests:
        if document.value is not None:
            continue
        later = layout.extra_documents(bundle, document)
        if later:
            kind = objects.scalar_text(objects.mapping(later[0].value).get("kind")) or "object"
            yield Finding(
                "the first document of the file is empty, and the "
                f"{texts.shorten(kind)} comes after it",
                at=later[0].at(),
                hint="remove the `---` before it; only the first document is read",
            )
        else:
            yield Finding("the file is empty", at=document.at(), hint="remove it")


@rule("OBJ005", "unsupported-kind")
def unsupported_kind(bundle: Bundle) -> Iterator[Finding]:
    """A manifest has a kind that OLM does not install.

    Why: OLM installs a fixed list of kinds from a bundle and rejects any other. Put
    Deployments and webhooks into the CSV; users create namespaces themselves.

    Fix: move it into the CSV, or remove it from the bundle.
    """
    for resource in _resources(bundle):
        if resource.kind not in KINDS:
            yield Finding(
                f"{texts.shorten(str(resource.gvk))}: unsupported media type registry+v1 "
                "for bundle object",
                at=resource.at("kind"),
                hint=_unsupported_hint(resource.kind),
                fix=_kind_fix(resource),
            )


@rule("OBJ006", "object-metadata")
def object_metadata(bundle: Bundle) -> Iterator[Finding]:
    """The API server rejects the metadata of a manifest.

    Why: OLM creates the object unchanged, in the namespace of the operator. That fails if
    the object has a namespace, no name or invalid labels.

    Fix: correct the field. Remove `metadata.namespace`: OLM sets it.
    """
    for resource in _resources(bundle):
        if resource.kind in KINDS:
            for problem in field_errors.object_metadata(resource.metadata):
                yield Finding(
                    f"{texts.shorten(resource.name)}: error validating object: {problem.message}",
                    at=resource.at(*problem.keys),
                    hint="remove it: OLM sets the namespace"
                    if problem.keys[-1] == "namespace"
                    else "",
                )


@rule("OBJ020", "object-version-missing", suite=SOUND_SUITE)
def object_version_missing(bundle: Bundle) -> Iterator[Finding]:
    """A manifest has no `apiVersion`.

    Why: the API server cannot determine the kind.

    Fix: write it.
    """
    for resource in _resources(bundle):
        if not resource.api_version:
            group = KINDS.get(resource.kind)
            hint = f"for a {resource.kind} it begins with `{group}/`" if group else ""
            yield Finding("`apiVersion` is missing", at=resource.at("apiVersion"), hint=hint)


@rule("OBJ021", "object-name", suite=SOUND_SUITE)
def object_name(bundle: Bundle) -> Iterator[Finding]:
    """The API server rejects the name of a manifest.

    Why: OLM cannot create the object when you install the operator.

    Fix: use lowercase letters, digits, `-` and `.`.
    """
    for resource in _resources(bundle):
        name = resource.name
        if not name or resource.kind not in KINDS:
            continue
        if resource.kind in _PATH_NAMES:
            if "/" in name or "%" in name or name in (".", ".."):
                yield Finding(
                    f"`{name}` is not a valid name for a {resource.kind}",
                    at=resource.at("metadata", "name"),
                )
        elif resource.kind == "Service" and not names.is_label_1035(name):
            # Kubernetes 1.36 accepts a leading digit, older releases do not.
            yield Finding(
                f"`{name}` is not a valid name for a Service",
                at=resource.at("metadata", "name"),
                hint="begin with a letter; use lower case letters, digits and `-`",
                severity=Severity.WARNING if names.is_label(name) else None,
            )
        elif not names.is_subdomain(name):
            yield Finding(
                f"`{name}` is not a valid name for a {resource.kind}",
                at=resource.at("metadata", "name"),
                hint="use lower case letters, digits, `-` and `.`",
            )


@rule("OBJ022", "object-repeated", suite=SOUND_SUITE)
def object_repeated(bundle: Bundle) -> Iterator[Finding]:
    """Two manifests describe the same object.

    Why: OLM creates the first and fails at the second, or the last one takes effect.

    Fix: remove one of them.
    """
    seen: dict[tuple[str, str, str], BundleObject] = {}
    for resource in _resources(bundle):
        if not resource.name:
            continue
        key = (resource.gvk.group, resource.kind, resource.name)
        first = seen.setdefault(key, resource)
        if first is not resource:
            yield Finding(
                f"{resource.kind} `{resource.name}` is in the bundle twice",
                at=resource.at("metadata", "name"),
                related=(Related(first.at("metadata", "name"), "also here"),),
            )


@rule("OBJ023", "object-group", severity=Severity.WARNING, suite=SOUND_SUITE)
def object_group(bundle: Bundle) -> Iterator[Finding]:
    """A kind has the name of a kind that OLM installs, but a different API group.

    Why: OLM checks only the kind and accepts the object. It works only in clusters that
    serve that API.

    Fix: correct the group in `apiVersion`.
    """
    for resource in _resources(bundle):
        group = KINDS.get(resource.kind)
        if resource.api_version and group is not None and resource.gvk.group != group:
            shown = resource.gvk.group or "no group"
            yield Finding(
                f"`{resource.kind}` belongs to {f'`{group}`' if group else 'no group'}, "
                f"not to {f'`{shown}`' if resource.gvk.group else shown}",
                at=resource.at("apiVersion"),
            )


@rule("OBJ024", "object-type", suite=SOUND_SUITE)
def object_type(bundle: Bundle) -> Iterator[Finding]:
    """A field of a manifest has a value of the wrong type.

    Why: the API server rejects the object when you install the operator.

    Fix: write a value of the correct type.
    """
    for document, difference in _differences(bundle):
        if difference.misfit in (TypeMisfit.TYPE, TypeMisfit.TEXT):
            yield misfit_finding(document, difference)


@rule("OBJ025", "object-field-missing", suite=SOUND_SUITE)
def object_field_missing(bundle: Bundle) -> Iterator[Finding]:
    """A manifest lacks a field that its kind requires.

    Why: the API server rejects the object when you install the operator.

    Fix: write the field.
    """
    for document, difference in _differences(bundle):
        if difference.misfit is TypeMisfit.MISSING:
            yield misfit_finding(document, difference)


@rule("OBJ026", "object-field-unknown", severity=Severity.WARNING, suite=SOUND_SUITE)
def object_field_unknown(bundle: Bundle) -> Iterator[Finding]:
    """A manifest has a field that its kind does not have.

    Why: the API server drops the field without a warning. Usually its name is misspelled,
    or it is at the wrong level.

    Fix: correct its name or its place.
    """
    for document, difference in _differences(bundle):
        if difference.misfit in (TypeMisfit.UNKNOWN, TypeMisfit.CASE):
            yield misfit_finding(document, difference)


def misfit_finding(document: Document, difference: TypeDifference) -> Finding:
    """Describe a difference from a Kubernetes type."""
    key = difference.keys[-1] if difference.keys else ""
    field = field_errors.path(difference.keys)
    match difference.misfit:
        case TypeMisfit.TYPE:
            return Finding(
                f"`{field}` must be {difference.wanted}, not {difference.found}",
                at=document.at(*difference.keys),
            )
        case TypeMisfit.TEXT:
            return Finding(
                f"`{field}` must be a string, not {difference.found}",
                at=document.at(*difference.keys),
                hint="put it in quotes",
                fix=fixes.quote_value(document, difference.keys),
            )
        case TypeMisfit.MISSING:
            return Finding(
                f"`{f'{field}.' if field else ''}{difference.wanted}` is missing",
                at=document.at(*difference.keys),
            )
        case TypeMisfit.CASE:
            return Finding(
                f"`{field}` is not known; its name is `{difference.wanted}`",
                at=document.at_key(*difference.keys),
                hint=f"write `{difference.wanted}`: the API server drops `{key}`",
                fix=fixes.rename_key(document, difference.keys, difference.wanted),
            )
        case TypeMisfit.UNKNOWN:
            near = typed.closest_field(str(key), difference.type)
            return Finding(
                f"`{field}` is not known",
                at=document.at_key(*difference.keys),
                hint=f"did you mean `{near}`" if near else "the API server drops it",
                fix=fixes.rename_key(document, difference.keys, near) if near else None,
            )


def resources(bundle: Bundle) -> Iterator[BundleObject]:
    """Yield the manifests that are objects, including CSVs and CRDs."""
    for document in bundle.manifests:
        if isinstance(document.value, Mapping) and isinstance(document.value.get("kind"), str):
            yield BundleObject(document)


def _resources(bundle: Bundle) -> Iterator[BundleObject]:
    """Yield the manifests that are objects, except CSVs and CRDs."""
    for resource in resources(bundle):
        if resource.kind and resource.kind not in (model.CSV_KIND, model.CRD_KIND):
            yield resource


def _differences(bundle: Bundle) -> list[tuple[Document, TypeDifference]]:
    found: list[tuple[Document, TypeDifference]] = bundle.once(
        "object differences", _find_differences
    )
    return found


def _find_differences(bundle: Bundle) -> list[tuple[Document, TypeDifference]]:
    return [
        (resource.document, difference)
        for resource in _resources(bundle)
        if resource.kind in KINDS
        and typed.knows(resource.kind)
        and resource.gvk.group == KINDS[resource.kind]
        for difference in typed.read(resource.value, resource.kind)[1]
    ]


def _kind_hint(value: Mapping[str, object]) -> str:
    if "annotations" in value or "dependencies" in value or "properties" in value:
        return "move this file to the metadata folder"
    if "name" in value and "version" in value:
        return "remove this file: it is part of a Helm chart"
    return "write `kind`: every file of the manifests folder is one Kubernetes object"


def _kind_fix(resource: BundleObject) -> Fix | None:
    for known in KINDS:
        if resource.kind.lower() == known.lower():
            return fixes.replace_value(resource.document, ("kind",), known)
    return None


def _unsupported_hint(kind: str) -> str:
    import difflib

    for known in KINDS:
        if kind.lower() == known.lower():
            return f"write `{known}`"
    match kind:
        case "Deployment" | "DaemonSet" | "StatefulSet":
            return "write deployments into the CSV, at `spec.install.spec.deployments`"
        case "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration":
            return "write webhooks into the CSV, at `spec.webhookdefinitions`"
        case "List":
            return "put each object into a separate file"
        case "Namespace" | "OperatorGroup" | "Subscription" | "CatalogSource":
            return "users and OLM create it; remove it from the bundle"
        case _:
            near = difflib.get_close_matches(kind, KINDS, n=1, cutoff=0.8)
            return f"did you mean `{near[0]}`" if near else "remove it from the bundle"
