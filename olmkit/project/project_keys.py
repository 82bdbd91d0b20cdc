"""The keys of the PROJECT file of kubebuilder and operator-sdk, in all versions of the file.

Source: `pkg/config/v3` and `pkg/model/resource` of kubebuilder 3.0 to 4.16. Kubebuilder 4.10
refuses an unknown key; 4.16 ignores it, because a newer kubebuilder or an external plugin may have
written it. Here, a misspelled key is an error, and any other unknown key a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from olmkit.base import configuration, findings
from olmkit.base.configuration import Shape
from olmkit.base.diagnostics import Diagnostic
from olmkit.base.documents import Document

_RESOURCE: Final[Shape] = {
    "group": str,
    "domain": str,
    "version": str,
    "kind": str,
    "plural": str,
    "path": str,
    "api": {"crdVersion": str, "namespaced": bool, "ssa": bool},
    "controller": bool,
    "controllers": [{"name": str}],
    "webhooks": {
        "webhookVersion": str,
        "defaulting": bool,
        "validation": bool,
        "conversion": bool,
        "spoke": object,
        "defaultingPath": str,
        "validationPath": str,
    },
    "external": bool,
    "module": str,
    "core": bool,
    "crdVersion": str,  # of version 3-alpha, as the next one
    "webhookVersion": str,
}
_FILE: Final[Shape] = {
    "version": str,
    "domain": str,
    "repo": str,
    "projectName": str,
    "cliVersion": str,
    "layout": object,
    "multigroup": bool,
    "namespaced": bool,
    "componentConfig": bool,
    "resources": [_RESOURCE],
    "plugins": object,
}


def check(document: Document) -> Iterator[Diagnostic]:
    """Report unknown keys; plugins define the keys below `plugins`."""
    for one in configuration.unknown_keys(document.value, _FILE):
        code = "PRJ014" if one.is_misspelled else "PRJ015"
        at = document.at_key(*one.keys)
        yield findings.create(code, f"unknown key `{one.path}`", at=at, hint=one.hint)
