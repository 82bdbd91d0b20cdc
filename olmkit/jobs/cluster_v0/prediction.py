"""Predict what OLM installs with an operator, and whether it can resolve the namespace."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from olmkit.base.diagnostics import InputError
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.cluster import bundle as cluster_bundle
from olmkit.jobs.cluster import conflicts
from olmkit.jobs.cluster_v0.install_choice import InstallChoice
from olmkit.kube.objects import text
from olmkit.olm import kinds
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import catalogs
from olmkit.olm.explain.explanation import Readiness
from olmkit.olm.install_objects import InstallRequest
from olmkit.olm.preview import Preview
from olmkit.olm.resolver import report as resolver_report
from olmkit.olm.resolver.resolution import CatalogKey, Subscription


@dataclass(frozen=True, slots=True, kw_only=True)
class InstallDependency:
    """An operator that OLM also installs because the requested one needs it.

    `preview` is None if its bundle cannot be read from this machine.
    """

    csv: str
    package: str
    preview: Preview | None = field(default=None, repr=False)


async def predict(
    state: ClusterState, choice: InstallChoice, request: InstallRequest, access: Access
) -> tuple[tuple[InstallDependency, ...], list[str]]:
    """Return what OLM installs with the operator, and a note if it is unknown whether it can.

    Raises `InputError` with the facts that contradict each other if OLM cannot resolve the
    namespace with the new Subscription.
    """
    if choice.content is None:
        return (), list(_describe_unresolved(state))
    wanted = Subscription(
        name=request.package,
        package=request.package,
        channel=request.channel,
        catalog=CatalogKey(choice.catalog.name, choice.catalog.namespace),
        starting_csv=request.starting_csv,
        is_manual=request.manual,
    )
    found = await conflicts.check_request(state, wanted, choice.content, access)
    if not found.facts:
        also = [
            InstallDependency(
                csv=step.csv,
                package=step.package,
                preview=await cluster_bundle.preview_bundle(
                    catalog, step.package, step.csv, access
                ),
            )
            for step, catalog in found.also
        ]
        return tuple(also), []
    reason = resolver_report.join_sentences(found.facts)
    if found.unread and not found.is_unreadable:
        names = ", ".join(f"`{one.namespace}/{one.name}`" for one in found.unread)
        return (), [
            f"{reason}; other catalogs may change that, but cannot be read from here: {names}"
        ]
    raise InputError(
        f"OLM cannot install `{choice.csv or choice.package}` in namespace `{state.namespace}`: "
        f"{reason}",
        hint=conflicts.hint(found),
        cause="resolution-failed",
    )


def _describe_unresolved(state: ClusterState) -> Iterator[str]:
    """Yield a note if OLM cannot resolve the namespace, where it then installs nothing else."""
    for one in state.subscriptions:
        failed = kinds.condition(one, "ResolutionFailed")
        if failed is None:
            continue
        found = catalogs.explain_resolution(state, one, text(failed.get("message")))
        if found.readiness is not Readiness.WAITING:
            yield (
                f"OLM cannot resolve namespace `{state.namespace}`, and installs nothing else in "
                f"it: {found.message}"
            )
            return
