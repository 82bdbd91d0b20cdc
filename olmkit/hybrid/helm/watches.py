"""`watches.yaml` of a Helm operator: which chart is released for which kind.

`$X` and `${X}` in `overrideValues` are environment variables; an unset one is empty. A value that
then contains `{{` is a template, which the helm program renders when the operator starts.
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

_VARIABLE = re.compile(r"\$(?:\{([^}]*)\}|([A-Za-z_][A-Za-z0-9_]*))")


@dataclass(frozen=True, slots=True, kw_only=True)
class HelmWatch:
    """One entry; `reconcile_period` in seconds, None: that of the process.

    `chart` is a folder or a packed chart, as written in the file.
    """

    gvk: GVK
    chart: str
    at: Location
    override_values: Mapping[str, str] = field(default_factory=dict)
    watches_dependents: bool = True
    selector: LabelSelector | None = None
    reconcile_period: float | None = None
    renders_on_server: bool = False
    max_concurrent_reconciles: int | None = None


def read(
    data: bytes,
    environment: Mapping[str, str],
    *,
    path: str = FILE,
    only: Choice | None = None,
) -> Reading[HelmWatch]:
    """Return the entries of a file, or `only` some; raise `InputError` if it is not YAML."""
    return entries.read(_FORM, data, environment, path=path, only=only)


def templates(watch: HelmWatch) -> dict[str, str]:
    """Return the overrides that are templates."""
    return {key: text for key, text in watch.override_values.items() if "{{" in text}


def expand(text: str, environment: Mapping[str, str]) -> str:
    """Replace `$X` and `${X}`; an unset variable is empty, as in Go's `os.Expand`."""
    return _VARIABLE.sub(lambda found: environment.get(found[1] or found[2] or "", ""), text)


def _overrides(value: Any, environment: Mapping[str, str]) -> dict[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError("must be a map of strings")
    found = {}
    for key, text in value.items():
        if not isinstance(text, str):
            raise ValueError(f"has a value that is not a string: `{key}`")
        found[str(key)] = expand(text, environment)
    return found


def _dry_run(value: Any, _: Mapping[str, str]) -> bool:
    if value not in ("", "client", "server"):
        raise ValueError("must be `client` or `server`")
    return bool(value == "server")


def _make(gvk: GVK, at: Location, found: Mapping[str, Any]) -> HelmWatch:
    return HelmWatch(gvk=gvk, at=at, **entries.attributes(FIELDS, found))


FIELDS = (
    Field(
        "chart",
        entries.text,
        "chart",
        "required",
        "directory of a chart or a packed chart, relative to the working directory or to the file",
    ),
    Field(
        "overrideValues",
        _overrides,
        "override_values",
        "`{}`",
        "map of `a.b` to strings, which override the spec. `$X` and `${X}` are environment "
        "variables; a variable that is not set is empty. Then the operator expands `{{ … }}` once "
        "at the start, with the functions of Helm's templates",
    ),
    Field(
        "watchDependentResources",
        entries.truth,
        "watches_dependents",
        "`true`",
        "whether a change of an object that the chart created triggers a pass",
    ),
    Field("selector", entries.selector, "selector", "all", "label selector for the objects"),
    Field(
        "reconcilePeriod",
        entries.period,
        "reconcile_period",
        "`--reconcile-period`, `1m`",
        "interval of passes over each object, such as `1m30s`; `0s` is the default",
    ),
    Field(
        "dryRunOption",
        _dry_run,
        "renders_on_server",
        "`client`",
        "`server` renders on each pass, so that changed `lookup` results take effect",
    ),
    Field(
        "maxConcurrentReconciles",
        entries.count,
        "max_concurrent_reconciles",
        "`--max-concurrent-reconciles`: the number of processors, or less by the memory limit",
        "number of objects of this kind that are reconciled in parallel",
    ),
)
"""The keys of an entry, in addition to those of its kind."""
_FORM = Form(
    fields=entries.readers(FIELDS), required=[["version"], ["kind"], ["chart"]], make=_make
)
