"""Explain APIs that a bundle needs and the cluster does not serve.

Kubernetes removed some versions of its APIs; no operator can restore them. Others are in a newer
release of Kubernetes, and the rest come with the CRDs of an operator.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from olmkit.kube import lifecycle
from olmkit.kube.objects import GVK

_BUILTIN: Final = frozenset(
    f"{name}.k8s.io"
    for name in ("admissionregistration", "apiextensions", "apiregistration", "apiserver",
                 "authentication", "authorization", "certificates", "coordination", "discovery",
                 "events", "flowcontrol.apiserver", "internal.apiserver", "networking", "node",
                 "rbac.authorization", "resource", "scheduling", "storage", "storagemigration")
)  # fmt: skip


class MissingApi(NamedTuple):
    """`why` continues a sentence about the API; `is_final`: no change to the cluster helps."""

    cause: str
    why: str
    hint: str
    is_final: bool = False


def explain(gvk: GVK) -> MissingApi:
    """Explain why a cluster does not serve a requested API."""
    end = lifecycle.find(gvk)
    if end is not None and end.removed <= lifecycle.LATEST:
        hint = f"publish a bundle that uses `{end.replacement}` instead" if end.replacement else (
            f"publish a bundle without it: Kubernetes has no successor of `{gvk.kind}`"
        )  # fmt: skip
        return MissingApi(
            cause="removed-api",
            why=f"which Kubernetes 1.{end.removed} removed",
            hint=hint,
            is_final=True,
        )
    if _is_builtin(gvk.group):
        return MissingApi(
            cause="missing-api",
            why="which the Kubernetes of this cluster does not serve",
            hint="upgrade the cluster, or choose a version of the operator for its release",
        )
    return MissingApi(
        cause="missing-api",
        why="which the cluster does not serve",
        hint=f"install the operator that provides the CustomResourceDefinition of `{gvk.kind}` in "
        f"`{gvk.group}` first",
    )


def _is_builtin(group: str) -> bool:
    """Return whether the group is one of Kubernetes itself; CRDs are in groups with a domain."""
    return "." not in group or group in _BUILTIN
