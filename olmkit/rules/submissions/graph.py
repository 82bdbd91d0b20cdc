"""Rules about names and the upgrade graph of all versions of an operator.

Source: the static checks of the pipelines of OpenShift's catalogs, which skip those about the
graph for file-based catalogs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from olmkit.base.diagnostics import Location, Severity
from olmkit.kube import openshift
from olmkit.rules.engine import SUBMISSION, Finding, rule
from olmkit.rules.submissions.layout import (
    CERTIFIED_SUITE,
    COMMUNITY_SUITE,
    OPENSHIFT_SUITE,
    SUITE,
)
from olmkit.submission import graph
from olmkit.submission.operators import SEMVER_MODE, Operator, VersionFolder

_SHOWN = 5


@rule("SUB030", "operator-folder", subject=SUBMISSION, suite=SUITE)
def operator_folder(operator: Operator) -> Iterator[Finding]:
    """The package of an operator's only version has a different name from its directory.

    Why: the pipelines find an operator by the name of its directory, and reject a new
    operator with a different package name. For an operator with several versions, OCP004
    reports it as a warning.

    Fix: give the directory and the package the same name.
    """
    if len(operator.versions) == 1:
        version = operator.versions[0]
        if version.package and version.package != operator.name:
            yield Finding(
                f"the package is `{version.package}`, and the operator's folder is "
                f"`{operator.name}`",
                at=operator.at(version.annotations_path)
                if version.annotations_path
                else Location(path=operator.shown(version.folder)),
                hint="give both the same name",
            )


@rule("SUB031", "operator-names-differ", subject=SUBMISSION, suite=COMMUNITY_SUITE)
def operator_names_differ(operator: Operator) -> Iterator[Finding]:
    """The CSVs of an operator have different name prefixes.

    Why: the part of the name before the first dot identifies the operator; the pipeline
    rejects a second name.

    Fix: name the CSV like the CSVs of the other versions, `NAME.vVERSION`.
    """
    if operator.is_file_based:
        return
    named = [version for version in operator.versions if version.operator]
    common = _most_frequent([version.operator for version in named])
    for version in named:
        if version.operator != common:
            yield Finding(
                f"the CSV `{version.name}` is not named after `{common}`, as those of other "
                "versions",
                at=_csv(operator, version, "metadata", "name"),
                hint=f"name it `{common}.v{version.number or version.version}`",
            )


@rule("SUB032", "csv-name-twice", subject=SUBMISSION, suite=SUITE)
def csv_name_twice(operator: Operator) -> Iterator[Finding]:
    """Two versions of an operator have the same CSV name.

    Why: a catalog contains each name only once, so the pipeline cannot add the later
    version.

    Fix: give each version a different name, `NAME.vVERSION`.
    """
    first: dict[str, VersionFolder] = {}
    for version in operator.versions:
        known = first.setdefault(version.name, version)
        if version.name and known is not version:
            yield Finding(
                f"the CSV of `{known.folder}` is named `{version.name}`, too",
                at=_csv(operator, version, "metadata", "name"),
                hint=f"name it `{version.operator}.v{version.folder.removeprefix('v')}`",
            )


@rule("SUB040", "dangling-version", subject=SUBMISSION, suite=COMMUNITY_SUITE)
def dangling_version(operator: Operator) -> Iterator[Finding]:
    """Nothing replaces or skips a version that is not the newest of its channel.

    Why: OLM never upgrades clusters with this version; the pipeline rejects the pull
    request.

    Fix: let a later version replace or skip it, or remove it from the channel.
    """
    if operator.is_file_based or operator.update_mode == SEMVER_MODE:
        return
    for channel in graph.channels(operator):
        versions = graph.members(operator, channel)
        found = graph.edges(operator, channel)
        dangling = [version for version in versions[:-1] if version.folder not in found]
        for version in dangling:
            yield Finding(
                f"no version replaces `{version.name or version.folder}` in channel `{channel}`",
                at=_annotations(operator, version),
                hint=f"add it to `spec.skips` of `{versions[-1].name}`, or remove the channel",
            )


@rule("SUB041", "graph-loop", subject=SUBMISSION, suite=COMMUNITY_SUITE)
def graph_loop(operator: Operator) -> Iterator[Finding]:
    """Versions of an operator replace each other in a cycle.

    Why: a channel with a cycle has no head; the pipeline rejects it.

    Fix: remove one of the edges.
    """
    if operator.is_file_based:
        return
    folders = {version.folder: version for version in operator.versions}
    seen: set[frozenset[str]] = set()
    for channel in graph.channels(operator):
        loop = graph.loop(graph.edges(operator, channel))
        if not loop or frozenset(loop) in seen:
            continue
        seen.add(frozenset(loop))
        shown = " → ".join(f"`{folder}`" for folder in (*loop[:_SHOWN], loop[0]))
        yield Finding(
            f"the upgrade graph of channel `{channel}` has a loop: {shown}",
            at=_csv(operator, folders[loop[0]], "spec", "replaces"),
            hint="remove one of `replaces`, `skips` and `olm.skipRange`",
        )


@rule("SUB042", "replaces-itself", subject=SUBMISSION, suite=SUITE)
def replaces_itself(operator: Operator) -> Iterator[Finding]:
    """A version replaces itself.

    Why: it has no upgrade path from an earlier version; the pipeline rejects it.

    Fix: write the previous version in `spec.replaces`.
    """
    for version in _csv_graph_versions(operator):
        if version.replaces == version.name or _number(version.replaces) == version.number:
            yield Finding(
                f"`{version.name}` replaces itself",
                at=_csv(operator, version, "spec", "replaces"),
                hint="name the previous version",
            )


@rule("SUB043", "replaces-missing", subject=SUBMISSION, suite=SUITE)
def replaces_missing(operator: Operator) -> Iterator[Finding]:
    """A version replaces a version that is not in the repository.

    Why: the pipeline cannot add the version to the catalog, and rejects it. The previous
    version can also be missing because your branch is outdated.

    Fix: correct `spec.replaces`, or rebase the branch.
    """
    for version in _csv_graph_versions(operator):
        if graph.find(operator.versions, version.replaces) is None:
            newest = max(
                (v for v in operator.versions if v.order < version.order),
                key=lambda v: v.order,
                default=None,
            )
            yield Finding(
                f"`{version.name}` replaces `{version.replaces}`, which is not in the repository",
                at=_csv(operator, version, "spec", "replaces"),
                hint=f"write `{newest.name}`, or rebase the branch"
                if newest
                else "remove `spec.replaces`: there is no earlier version",
            )


@rule("SUB044", "replaces-openshift", subject=SUBMISSION, suite=OPENSHIFT_SUITE)
def replaces_openshift(operator: Operator) -> Iterator[Finding]:
    """A version targets an OpenShift version that the replaced one does not target.

    Why: the catalog of that OpenShift version lacks the replaced version, so the pipeline
    cannot add the new one and rejects it. OpenShift versions before 4.12 no longer have a
    catalog.

    Fix: give both the same `com.redhat.openshift.versions`.
    """
    for version in _csv_graph_versions(operator):
        replaced = graph.find(operator.versions, version.replaces)
        if replaced is None or replaced is version or replaced.openshift == version.openshift:
            continue
        missing = sorted(_minors(version) - _minors(replaced))
        if missing:
            listed = ", ".join(f"4.{minor}" for minor in missing)
            yield Finding(
                f"`{replaced.name}`, which is replaced, is not for OpenShift {listed}",
                at=_annotations(operator, version),
                hint=f"`{replaced.folder}` has `{replaced.openshift}`: write the same"
                if replaced.openshift
                else "align `com.redhat.openshift.versions` of both",
            )


@rule(
    "SUB045",
    "pruned-graph",
    severity=Severity.WARNING,
    subject=SUBMISSION,
    suite=CERTIFIED_SUITE,
)
def pruned_graph(operator: Operator) -> Iterator[Finding]:
    """The newest version of a channel has only a skip range, and the channel has other versions.

    Why: the new version removes all other versions of the channel from the graph, and OLM
    can no longer install them. The pipeline reports it.

    Fix: also write `spec.replaces`.
    """
    if operator.is_file_based:
        return
    reported: set[str] = set()
    for channel in graph.channels(operator):
        versions = graph.members(operator, channel)
        head = versions[-1] if len(versions) > 1 else None
        if head is None or head.replaces or not head.skip_range or head.folder in reported:
            continue
        reported.add(head.folder)
        yield Finding(
            f"`olm.skipRange` without `spec.replaces` prunes the other versions of channel "
            f"`{channel}`",
            at=_csv(operator, head, "metadata", "annotations", "olm.skipRange"),
            hint=f"write `spec.replaces: {versions[-2].name}`",
        )


def _csv_graph_versions(operator: Operator) -> Iterator[VersionFolder]:
    """Return the versions whose `replaces` counts: those without file-based catalogs."""
    if not operator.is_file_based:
        yield from (v for v in operator.versions if v.replaces)


def _number(name: str) -> str:
    return name.partition(".")[2].removeprefix("v")


def _minors(version: VersionFolder) -> frozenset[int]:
    """Return the OpenShift versions of a version that have a catalog."""
    supported = frozenset(range(openshift.OLDEST_CATALOG, openshift.LATEST + 1))
    named = openshift.parse(version.openshift) if version.openshift else None
    return supported if named is None else supported & frozenset(named)


def _most_frequent(names: list[str]) -> str:
    counted = Counter(names)
    return max(sorted(counted), key=lambda name: counted[name], default="")


def _csv(operator: Operator, version: VersionFolder, *keys: str) -> Location:
    if version.csv_path:
        return operator.at(version.csv_path, *keys)
    return Location(path=operator.shown(version.folder))


def _annotations(operator: Operator, version: VersionFolder) -> Location:
    if not version.annotations_path:
        return Location(path=operator.shown(version.folder))
    return operator.at(version.annotations_path, "annotations")
