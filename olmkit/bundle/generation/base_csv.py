"""The base CSV of generation.

It contains the author's data that is not in any manifest: names, descriptions, icon, install modes,
upgrade edges. It is part of the input, or in the project, or a plain default.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from olmkit.base import findings, names
from olmkit.base.diagnostics import Diagnostic, Related
from olmkit.base.documents import Document
from olmkit.bundle.generation.findings import refusal
from olmkit.bundle.model import INSTALL_MODES, BundleObject, ClusterServiceVersion
from olmkit.kube.objects import Manifest

_BY_DEFAULT = "so its names and descriptions are defaults"


def choose(
    package: str,
    csvs: Sequence[BundleObject],
    stored: Document | None,
    note: Callable[[Diagnostic], None],
) -> ClusterServiceVersion | None:
    """Return the base CSV of a package, from the input or else the stored one; None for neither.

    If the input has only CSVs of other packages, the stored one does not count either. Raises
    `InputError` if there are two.
    """
    if csvs:
        ours = [csv for csv in csvs if _belongs(csv, package)]
        if not ours:
            note(_other_package_finding(package, csvs[0]))
            return None
        if len(ours) > 1:
            error = refusal(
                f"the input has {len(ours)} ClusterServiceVersions of package `{package}`",
                at=ours[1].at("metadata", "name"),
                hint="keep the one that the bundle starts from",
            )
            error.diagnostics = tuple(_with_related(found, ours[0]) for found in error.diagnostics)
            raise error
        return ClusterServiceVersion(ours[0].document)
    if stored is None:
        note(
            findings.create(
                "PRJ105",
                f"there is no base ClusterServiceVersion of package `{package}`, {_BY_DEFAULT}",
                hint=f"write `config/manifests/bases/{package}.clusterserviceversion.yaml`, "
                "for example with `olmkit generate csv`",
            )
        )
        return None
    csv = ClusterServiceVersion(stored)
    if csv.kind != "ClusterServiceVersion":
        raise refusal(
            f"`{stored.path}` contains no ClusterServiceVersion",
            at=stored.at("kind"),
            hint="write `kind: ClusterServiceVersion`, or remove the file",
        )
    if not _belongs(csv, package):
        note(_other_package_finding(package, csv))
        return None
    return csv


def default(package: str) -> Manifest:
    """Return the base for a project without one."""
    title = names.display_name(package)
    return copy.deepcopy(
        {
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {
                "name": f"{package}.v0.0.0",
                "namespace": "placeholder",
                "annotations": {"alm-examples": "[]", "capabilities": "Basic Install"},
            },
            "spec": {
                "displayName": title,
                "description": f"{title} description. TODO.",
                "maturity": "alpha",
                "version": "0.0.0",
                "keywords": [package],
                "links": [{"name": title, "url": f"https://{package}.domain"}],
                "icon": [{"base64data": "", "mediatype": ""}],
                "provider": {"name": "Provider Name", "url": "https://your.domain"},
                "maintainers": [{"name": "Maintainer Name", "email": "your@email.com"}],
                "installModes": _INSTALL_MODES,
                "install": {"strategy": "", "spec": {"deployments": None}},
            },
        }
    )


_INSTALL_MODES: list[dict[str, Any]] = [
    {"type": mode, "supported": mode == "AllNamespaces"} for mode in INSTALL_MODES
]


def _belongs(csv: BundleObject, package: str) -> bool:
    return csv.name.startswith(f"{package}.")


def _other_package_finding(package: str, csv: BundleObject) -> Diagnostic:
    other = csv.name.partition(".")[0]
    return findings.create(
        "PRJ105",
        f"the ClusterServiceVersion `{csv.name}` is not one of package `{package}`, " + _BY_DEFAULT,
        at=csv.at("metadata", "name"),
        hint=f"pass `--package {other}`, or name the ClusterServiceVersion `{package}.v…`",
    )


def _with_related(found: Diagnostic, first: BundleObject) -> Diagnostic:
    return found._replace(related=(Related(first.at("metadata", "name"), "the first one"),))
