"""Rules about the folders and files of an operator.

Source: the documentation of the pipelines of OperatorHub.io and of OpenShift's catalogs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from olmkit.base.diagnostics import Location, Severity
from olmkit.rules.engine import SUBMISSION, Finding, rule
from olmkit.submission.operators import CI, RELEASE, Operator

SUITE: Final = "submission"
OPENSHIFT_SUITE: Final = "submission-openshift"
COMMUNITY_SUITE: Final = "submission-community"
CERTIFIED_SUITE: Final = "submission-certified"

_PARTS: Final = ("manifests", "metadata")


@rule("SUB001", "misplaced-bundle", subject=SUBMISSION, suite=SUITE)
def misplaced_bundle(operator: Operator) -> Iterator[Finding]:
    """An operator's directory contains an incomplete bundle, or a bundle at the wrong level.

    Why: the pipelines treat `operators/NAME/VERSION` as a bundle if it has `manifests/` and
    `metadata/`. They ignore any other directory, and the pull request succeeds without a
    check.

    Fix: move `manifests/` and `metadata/` directly into `operators/NAME/VERSION`.
    """
    folders: dict[str, set[str]] = {}
    for path in operator.files:
        parts = path.split("/")
        for part in _PARTS:
            if part in parts[1:-1]:
                folders.setdefault("/".join(parts[: parts.index(part)]), set()).add(part)
    versions = {version.folder for version in operator.versions}
    for folder, parts_ in sorted(folders.items()):
        if folder in versions or folder.partition("/")[0] in versions:
            continue
        deep = "/" in folder
        missing = next((part for part in _PARTS if part not in parts_), "")
        yield Finding(
            f"`{folder}` is not at the depth of a version, and no pipeline reads it"
            if deep
            else f"`{folder}` has no `{missing}/`, and no pipeline reads it as a version",
            at=Location(path=operator.shown(folder)),
            hint=f"move its content to `operators/{operator.name}/{folder.partition('/')[0]}`"
            if deep
            else f"add `{folder}/{missing}/`",
        )


@rule("SUB002", "empty-operator", subject=SUBMISSION, suite=SUITE)
def empty_operator(operator: Operator) -> Iterator[Finding]:
    """An operator's directory has no version.

    Why: the pipelines ignore an operator without a bundle or `ci.yaml`, and publish
    nothing.

    Fix: add the bundle as `operators/NAME/VERSION`, or remove the directory.
    """
    if not operator.versions and not operator.catalogs:
        yield Finding(
            f"`{operator.name}` has no version",
            at=Location(path=operator.shown()),
            hint=f"add a bundle as `operators/{operator.name}/VERSION`",
        )


@rule("SUB003", "release-config-name", severity=Severity.WARNING, subject=SUBMISSION, suite=SUITE)
def release_config_name(operator: Operator) -> Iterator[Finding]:
    """A file has a similar name to a file that the pipelines read.

    Why: the pipelines read only `ci.yaml` and `release-config.yaml`, in their directories.
    A file with another name has no effect.

    Fix: rename the file.
    """
    versions = {version.folder for version in operator.versions}
    for path in operator.files:
        folder, _, name = path.rpartition("/")
        expected = ""
        if name in ("ci.yml", "release-config.yml"):
            expected = f"{name.removesuffix('.yml')}.yaml"
        if name == CI and folder in versions:
            expected = f"../{CI}"
        if name == RELEASE and not folder:
            expected = f"VERSION/{RELEASE}"
        if expected and (not folder or folder in versions):
            yield Finding(
                f"no pipeline reads `{path}`",
                at=Location(path=operator.shown(path)),
                hint=f"rename it to `{expected}`",
            )
