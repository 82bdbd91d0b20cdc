"""Plan a run of the operator on this machine: arguments and environment variables.

The process gets the same variables as the manager's container in the Deployment, as far as they are
valid outside a pod: those with a plain value, not those with fields of the pod. All functions
depend only on the project's files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from olmkit.base import names
from olmkit.base.diagnostics import ConfigurationError
from olmkit.kube import objects
from olmkit.kube.objects import GVK, Manifest
from olmkit.project.config import WATCHED_LAYOUTS, Project

WATCH_NAMESPACE = "WATCH_NAMESPACE"
_PYTHONS = frozenset({"python", "python3"})
_MANAGER = "manager"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """The command and the additional environment variables."""

    command: tuple[str, ...]
    environment: Mapping[str, str]


def check_language(project: Project) -> None:
    """Raise `ConfigurationError` for a project whose operator Python cannot run."""
    if project.language not in ("python", "", *WATCHES_LANGUAGES):
        raise ConfigurationError(
            f"the operator of this project is written for `{project.language}`, not for Python, "
            "Helm or Ansible",
            hint="its own build runs it: `make run`",
        )


def plan(
    entrypoint: Sequence[str],
    *,
    python: str,
    manifests: Iterable[Manifest],
    namespace: str = "",
    arguments: Sequence[str] = (),
) -> RunPlan:
    """Return the command that starts the operator.

    `entrypoint` is that of its image, `python` the interpreter of this machine that replaces the
    image's. `namespace`: the only watched one; if empty, other settings decide. Raises
    `ConfigurationError` for an invalid namespace.
    """
    if namespace and not names.is_label(namespace):
        raise ConfigurationError(
            f"`{namespace}` cannot be the name of a namespace",
            hint="use at most 63 lower-case letters, digits and dashes",
        )
    first, *rest = entrypoint
    environment = dict(_variables(manifests))
    # The namespaces that OLM chose are unknown here, even if a manifest has them.
    environment.pop(WATCH_NAMESPACE, None)
    if namespace:
        environment[WATCH_NAMESPACE] = namespace
    return RunPlan(
        command=(python if first in _PYTHONS else first, *rest, *arguments),
        environment=environment,
    )


WATCHES_LANGUAGES = tuple(WATCHED_LAYOUTS)
"""Languages of projects whose operator a `watches.yaml` describes."""


def watches_entrypoint(language: str) -> tuple[str, ...]:
    """Return the command that starts the operator of a `watches.yaml`."""
    return ("python", "-m", "olmkit.hybrid", language)


def kinds(project: Project) -> tuple[GVK, ...]:
    """Return the kinds of the operator's controllers."""
    return tuple(
        dict.fromkeys(
            GVK(group=api.qualified_group, version=api.version, kind=api.kind)
            for api in project.own_apis()
            if api.has_controller or api.runner or project.language in WATCHES_LANGUAGES
        )
    )


def missing_kinds(missing: Sequence[GVK]) -> ConfigurationError:
    """Return the error that the cluster does not serve kinds of the project."""
    listed = ", ".join(f"`{one.kind}` of `{one.group}/{one.version}`" for one in missing)
    return ConfigurationError(
        f"the cluster does not serve {listed}",
        hint="install the CustomResourceDefinitions first: "
        "`olmkit generate` and `kubectl apply -k config/crd`",
    )


def _variables(manifests: Iterable[Manifest]) -> Iterator[tuple[str, str]]:
    """Yield the variables of the manager's container that have a value."""
    for manifest in manifests:
        if objects.kind(manifest) != "Deployment":
            continue
        containers = objects.sequence(objects.pod_spec(manifest).get("containers"))
        listed = [one for one in containers if isinstance(one, Mapping)]
        named = [one for one in listed if one.get("name") == _MANAGER]
        for container in named or listed[:1]:
            for variable in objects.sequence(container.get("env")):
                if not isinstance(variable, Mapping):
                    continue
                name, value = variable.get("name"), variable.get("value")
                if isinstance(name, str) and isinstance(value, str):
                    yield name, value
