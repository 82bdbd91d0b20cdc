"""Rules about the changes of a pull request.

Source: the task `detect-changes` of the pipelines of OpenShift's catalogs, and the documentation
of OperatorHub.io.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.rules.engine import PULL_REQUEST, Finding, rule
from olmkit.rules.submissions.layout import SUITE
from olmkit.submission.changes import ChangeSet


@rule("SUB060", "several-operators", subject=PULL_REQUEST, suite=SUITE)
def several_operators(changes: ChangeSet) -> Iterator[Finding]:
    """A pull request changes more than one operator.

    Why: the pipelines check one operator at a time, and reject the pull request.

    Fix: open a pull request for each operator.
    """
    if len(changes.operators) > 1:
        listed = ", ".join(f"`{name}`" for name in changes.operators[:5])
        yield Finding(
            f"{len(changes.operators)} operators are changed: {listed}",
            hint="open a pull request for each operator",
        )


@rule("SUB061", "several-versions", subject=PULL_REQUEST, suite=SUITE)
def several_versions(changes: ChangeSet) -> Iterator[Finding]:
    """A pull request adds more than one version.

    Why: the pipelines build one bundle at a time, and reject the pull request.

    Fix: open a pull request for each version, the oldest first.
    """
    added = [
        (name, version)
        for name, version in changes.bundles
        if version in changes.after.get(name, ()) and version not in changes.before.get(name, ())
    ]
    if len(added) > 1:
        listed = ", ".join(f"`{name}/{version}`" for name, version in added[:5])
        yield Finding(
            f"{len(added)} versions are added: {listed}",
            at=changes.at(f"operators/{added[1][0]}/{added[1][1]}"),
            hint="open a pull request for each version",
        )


@rule("SUB062", "released-version-changed", subject=PULL_REQUEST, suite=SUITE)
def released_version_changed(changes: ChangeSet) -> Iterator[Finding]:
    """A pull request changes a released version.

    Why: the image of a released bundle does not change. The pipelines reject the pull
    request, or wait until a maintainer adds a label.

    Fix: add a new version instead.
    """
    for (name, version), files in changes.bundles.items():
        if version in changes.before.get(name, ()) and version in changes.after.get(name, ()):
            yield Finding(
                f"`{name}/{version}` is released, and {len(files)} of its files "
                f"{'is' if len(files) == 1 else 'are'} changed",
                at=changes.at(files[0].path),
                hint="add a new version, and do not change this one",
            )


@rule("SUB063", "released-version-deleted", subject=PULL_REQUEST, suite=SUITE)
def released_version_deleted(changes: ChangeSet) -> Iterator[Finding]:
    """A pull request deletes a version of an operator without a file-based catalog.

    Why: later versions can replace it, and users can have it installed, so the pipelines
    reject the pull request.

    Fix: keep the version.
    """
    for name, version in changes.bundles:
        is_deleted = version in changes.before.get(name, ()) and version not in changes.after.get(
            name, ()
        )
        if is_deleted and name not in changes.file_based:
            yield Finding(
                f"`{name}/{version}` is deleted",
                at=changes.at(f"operators/{name}/{version}"),
                hint="keep the version",
            )


@rule("SUB064", "unrelated-file", subject=PULL_REQUEST, suite=SUITE)
def unrelated_file(changes: ChangeSet) -> Iterator[Finding]:
    """A pull request changes files that belong to no operator and no catalog.

    Why: the pipelines reject it.

    Fix: move the change into a separate pull request.
    """
    for changed in changes.unrelated:
        yield Finding(
            f"`{changed.path}` does not belong to an operator",
            at=changes.at(changed.path),
            hint="move the change into a separate pull request",
        )
