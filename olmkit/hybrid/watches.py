"""A `watches.yaml` whose entries may have a chart, or a role or playbook.

Operators with kinds in Python read it so; and projects of all runners are checked with it, before
their operator starts on a cluster.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.base import documents
from olmkit.base.diagnostics import Diagnostic
from olmkit.hybrid import entries
from olmkit.hybrid.ansible import watches as ansible_watches
from olmkit.hybrid.ansible.watches import AnsibleWatch
from olmkit.hybrid.entries import FILE, Reading
from olmkit.hybrid.helm import watches as helm_watches
from olmkit.hybrid.helm.watches import HelmWatch


def read(
    data: bytes, environment: Mapping[str, str], *, path: str = FILE
) -> Reading[HelmWatch | AnsibleWatch]:
    """Return the entries of both kinds; raise `InputError` for invalid YAML."""
    charts = helm_watches.read(data, environment, path=path, only=_has_chart)
    others = ansible_watches.read(data, environment, path=path, only=_has_no_chart)
    known = {one.gvk for one in charts.entries}
    twice = [entries.repeated(one) for one in others.entries if one.gvk in known]
    faults = [_said_of_all(one) for one in others.findings]
    found = sorted({*charts.findings, *faults, *twice}, key=Diagnostic.sort_key)
    return Reading((*charts.entries, *others.entries), tuple(found))


def _said_of_all(found: Diagnostic) -> Diagnostic:
    """Return a finding about an entry without anything to run; here, it can also have a chart."""
    missing = "`role` and no `playbook`"
    if not found.message.endswith(missing):
        return found
    return found._replace(message=found.message.replace(missing, f"`chart`, no {missing}"))


def _has_chart(keys: frozenset[str]) -> bool:
    return "chart" in keys


def _has_no_chart(keys: frozenset[str]) -> bool:
    return "chart" not in keys


def check(data: bytes, path: str) -> tuple[Diagnostic, ...]:
    """Return the findings of a file in a project; raise `InputError` for invalid YAML.

    Values that depend on the operator's environment are left out.
    """
    documents.load(data, path)
    lines = data.split(b"\n")
    return tuple(
        found for found in read(data, {}, path=path).findings if not _has_variable(found, lines)
    )


def _has_variable(found: Diagnostic, lines: list[bytes]) -> bool:
    line = found.at.line if found.at is not None else None
    return line is not None and line <= len(lines) and b"$" in lines[line - 1]
