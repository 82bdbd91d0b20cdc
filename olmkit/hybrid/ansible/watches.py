"""`watches.yaml` of an Ansible operator: which role or playbook runs for which kind.

`$X` and `${X}` anywhere in the file are environment variables; unset ones are not replaced, as in
ansible-operator. Unlike there, `markUnsafe` is on unless the entry turns it off.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from olmkit.base.diagnostics import Location
from olmkit.hybrid import entries
from olmkit.hybrid.entries import FILE, Choice, Field, Form, Reading
from olmkit.kube.labels import LabelSelector
from olmkit.kube.objects import GVK

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
DEFAULT_ARTIFACTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsibleFinalizer:
    """The content that runs before the finalizer `name` is removed, by default the entry's."""

    name: str
    role: str = ""
    playbook: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsibleWatch:
    """One entry; times in seconds; None: the default of the process.

    `timeout` limits a run; 0: no limit. The playbook takes precedence over a role.
    """

    gvk: GVK
    at: Location
    role: str = ""
    playbook: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    finalizer: AnsibleFinalizer | None = None
    reconcile_period: float | None = None
    manages_status: bool = True
    max_artifacts: int = DEFAULT_ARTIFACTS
    watches_dependents: bool = True
    watches_cluster_scoped: bool = False
    has_snake_case: bool = True
    watches_annotations: bool = False
    is_unsafe: bool = True
    selector: LabelSelector | None = None
    blacklist: frozenset[GVK] = frozenset()
    timeout: float | None = None


def read(
    data: bytes,
    environment: Mapping[str, str],
    *,
    path: str = FILE,
    only: Choice | None = None,
) -> Reading[AnsibleWatch]:
    """Return the entries of a file, or `only` some; raise `InputError` if it is not YAML."""
    text = expand(data.decode("utf-8", "surrogateescape"), environment)
    changed = text.encode("utf-8", "surrogateescape")
    return entries.read(_FORM, changed, environment, path=path, only=only)


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Replace `$X` and `${X}` if the variable is set."""
    return _VARIABLE.sub(lambda found: environment.get(found[1] or found[2], found[0]), text)


def _map(value: Any, _: Mapping[str, str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a map of variables")
    return {str(key): one for key, one in value.items()}


def _artifacts(value: Any, environment: Mapping[str, str]) -> int:
    # 0 in the file means the default, as in ansible-operator.
    return DEFAULT_ARTIFACTS if value == 0 else entries.count(value, environment)


def _finalizer(value: Any, environment: Mapping[str, str]) -> AnsibleFinalizer:
    if not isinstance(value, Mapping):
        raise ValueError("must be a map with `name`, and `role`, `playbook` or `vars`")
    given = {str(key).lower(): one for key, one in value.items() if one is not None}
    if unknown := sorted(set(given) - {"name", "role", "playbook", "vars"}):
        raise ValueError(f"has a key that is not read: `{unknown[0]}`")
    texts = {key: entries.text(given.get(key, ""), environment) for key in _CONTENT}
    if not texts["name"]:
        raise ValueError("has no `name`")
    variables = _map(given.get("vars", {}), environment)
    if not (texts["role"] or texts["playbook"] or "vars" in given):
        raise ValueError("has no `role`, no `playbook` and no `vars`")
    return AnsibleFinalizer(**texts, variables=variables)


def _blacklist(value: Any, environment: Mapping[str, str]) -> frozenset[GVK]:
    if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
        raise ValueError("must be a list of `group`, `version` and `kind`")
    return frozenset(
        GVK(*(entries.text(one.get(key, ""), environment) for key in ("group", "version", "kind")))
        for one in value
    )


def _make(gvk: GVK, at: Location, found: Mapping[str, Any]) -> AnsibleWatch:
    return AnsibleWatch(gvk=gvk, at=at, **entries.attributes(FIELDS, found))


_CONTENT = ("name", "role", "playbook")
FIELDS = (
    Field(
        "role",
        entries.text,
        "role",
        "this or `playbook`",
        "role to run: a path, `namespace.collection.role`, or a name below `ANSIBLE_ROLES_PATH` or "
        "`roles/`",
    ),
    Field(
        "playbook",
        entries.text,
        "playbook",
        "this or `role`",
        "playbook to run, relative to the working directory or to the file; overrides a role",
    ),
    Field("vars", _map, "variables", "`{}`", "extra variables, which override those of the object"),
    Field(
        "finalizer",
        _finalizer,
        "finalizer",
        "none",
        "`name`, with `role`, `playbook` or `vars`: runs before a deleted object is removed. With "
        "only `vars`, it is the role or playbook of the entry",
    ),
    Field(
        "reconcilePeriod",
        entries.period,
        "reconcile_period",
        "`--reconcile-period`, `10h`",
        "interval of passes over each object, such as `1m30s`; `0s` is the default",
    ),
    Field(
        "manageStatus",
        entries.truth,
        "manages_status",
        "`true`",
        "whether the operator writes the conditions `Running`, `Successful` and `Failure`",
    ),
    Field(
        "maxRunnerArtifacts",
        _artifacts,
        "max_artifacts",
        f"`{DEFAULT_ARTIFACTS}`",
        "number of runs of an object that the operator keeps on disk",
    ),
    Field(
        "watchDependentResources",
        entries.truth,
        "watches_dependents",
        "`true`",
        "whether a change of an object that a run created starts a run",
    ),
    Field(
        "watchClusterScopedResources",
        entries.truth,
        "watches_cluster_scoped",
        "`false`",
        "the same for cluster-scoped objects that belong to a namespaced object",
    ),
    Field(
        "snakeCaseParameters",
        entries.truth,
        "has_snake_case",
        "`true`",
        "whether `sizeGi` in the spec becomes the variable `size_gi`",
    ),
    Field(
        "watchAnnotationsChanges",
        entries.truth,
        "watches_annotations",
        "`false`",
        "whether a change of annotations starts a run",
    ),
    Field(
        "markUnsafe",
        entries.truth,
        "is_unsafe",
        "`true`",
        "whether strings of the object are marked, so that Ansible never treats them as templates",
    ),
    Field("selector", entries.selector, "selector", "all", "label selector for the objects"),
    Field(
        "blacklist",
        _blacklist,
        "blacklist",
        "`[]`",
        "kinds (`group`, `version`, `kind`) that the operator does not watch",
    ),
    Field(
        "timeout",
        entries.period,
        "timeout",
        "`--run-timeout`, none",
        "time limit of a run, such as `10m`",
    ),
)
"""The keys of an entry, in addition to those of its kind."""
_FORM = Form(
    fields=entries.readers(FIELDS),
    required=[["version"], ["kind"], ["role", "playbook"]],
    make=_make,
)
