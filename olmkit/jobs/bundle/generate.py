"""Generate the bundle folder of a project from its manifests.

Reads the input, generates the files, compares them with the existing ones and writes the
difference. All errors occur before the first file is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from olmkit import __version__
from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError
from olmkit.base.tree import Changes, Tree
from olmkit.base.versions import Version
from olmkit.bundle import layout, metadata, model
from olmkit.bundle.generation import generate as generator
from olmkit.bundle.generation import generate_request
from olmkit.bundle.generation.generate import BundleDraft, GeneratedBundle
from olmkit.bundle.generation.generate_request import GenerateRequest
from olmkit.bundle.generation.origins import Origin
from olmkit.edges import disk, paths, whole_folder
from olmkit.jobs.bundle.bundle_changes import (
    ANNOTATIONS,
    DEFAULT_OUTPUT,
    BundleChanges,
    changes_of_parts,
)
from olmkit.jobs.bundle.bundle_input import inputs, load_stored_base
from olmkit.kube import objects
from olmkit.project import config

BUILDER = f"olmkit-v{__version__}"

_DEFAULT_CHANNELS = "alpha"
_SIDECAR = "kube-rbac-proxy"  # added by older scaffolds before the operator's container


class BundlePart(Enum):
    """The parts of a bundle: its manifests and its metadata."""

    MANIFESTS = "manifests"
    METADATA = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleGenerateOptions:
    """The options of `bundle generate`; for empty values, the project's settings apply.

    `inputs` are files, folders or `-` for `stdin`. `created_at` is the time to write if something
    has changed, in RFC 3339. `parts`: the parts to write; others stay unchanged.
    """

    parts: frozenset[BundlePart] = frozenset(BundlePart)
    inputs: tuple[str, ...] = ()
    stdin: bytes | None = None
    version: str = ""
    channels: str = ""
    default_channel: str = ""
    package: str = ""
    extra_service_accounts: tuple[str, ...] = ()
    output: str = DEFAULT_OUTPUT
    created_at: str = ""
    builder: str = BUILDER


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleGenerateResult:
    """The changes that were or would be written, with paths as the user wrote them."""

    package: str
    version: str
    output: str
    changes: Changes
    image: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()
    origins: tuple[Origin, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBundle:
    """A generated bundle before its images are pinned and its files are written."""

    project: Path
    options: BundleGenerateOptions
    package: str
    layout: str
    channels: str
    output: Path
    found: Tree = field(repr=False)
    old: Mapping[str, str] = field(repr=False)
    draft: BundleDraft | None = field(repr=False)
    passed_over: tuple[Diagnostic, ...] = ()

    def images_to_pin(self) -> tuple[str, ...]:
        """Return the images of the bundle without a digest."""
        return self.draft.unpinned() if self.draft else ()


def generate(
    project: Path,
    options: BundleGenerateOptions,
    *,
    digests: Mapping[str, str] | None = None,
    dry_run: bool = False,
) -> BundleGenerateResult:
    """Write the bundle of a project; with `dry_run`, only return what would change.

    With `digests` from `resolve_digests`, all images are pinned. Raises `InputError` if the
    manifests do not form a bundle, and `ConfigurationError` for invalid usage; then nothing is
    written.
    """
    return write(prepare(project, options), digests=digests, dry_run=dry_run)


def prepare(project: Path, options: BundleGenerateOptions) -> PreparedBundle:
    """Read a project and generate its bundle without writing it. Raises like `generate`."""
    facts = _facts(project)
    package = _package(options, facts)
    output = _output(project, options.output)
    found = disk.read_tree(output) if paths.exists(output) else Tree()
    old = _old_annotations(found, output)
    channels = options.channels or old.get(model.CHANNELS) or _DEFAULT_CHANNELS
    _check_channels(channels, options.default_channel)
    passed_over: list[Diagnostic] = list(facts.findings)
    draft = None
    if BundlePart.MANIFESTS in options.parts:
        kept = _kept_version(project, options, package, found)
        draft = _draft(project, options, package, facts.layout, passed_over, kept)
    return PreparedBundle(
        project=project,
        options=options,
        package=package,
        layout=facts.layout,
        channels=channels,
        output=output,
        found=found,
        old=old,
        draft=draft,
        passed_over=tuple(passed_over),
    )


def write(
    prepared: PreparedBundle, *, digests: Mapping[str, str] | None = None, dry_run: bool = False
) -> BundleGenerateResult:
    """Write a prepared bundle once; with `dry_run`, only return what would change."""
    options, found, output = prepared.options, prepared.found, prepared.output
    result = None
    if prepared.draft is not None:
        previous = _previous(found, prepared.package)
        result = generator.finish(prepared.draft, digests=digests, previous=previous)
    has_config = result is not None and result.scorecard is not None
    values = metadata.annotation_values(
        package=prepared.package,
        channels=prepared.channels,
        default_channel=_default_channel(options, prepared.old),
        builder=options.builder,
        project_layout=prepared.layout,
        has_scorecard=has_config or generator.SCORECARD_FILE in found,
        others=prepared.old,
    )
    annotations = found.data(ANNOTATIONS) if ANNOTATIONS in found else None
    written = BundleChanges(project=prepared.project, output=output)
    if BundlePart.METADATA in options.parts:
        annotations = metadata.annotations_file(values)
        written.add_metadata(values, annotations, found)
    if result is not None:
        written.add_manifests(result, annotations, found)
    if not dry_run:
        own = [change for root, part in written.parts if root == output for change in part]
        whole_folder.apply(output, Changes(tuple(own)))
        for root, changes in written.parts:
            if root != output:
                disk.apply(root, changes)
    findings_of_result = (*prepared.passed_over, *(result.findings if result else ()))
    return BundleGenerateResult(
        package=prepared.package,
        version=str(result.csv["spec"].get("version", "")) if result else options.version,
        image=_operator_image(result) if result else "",
        output=str(output),
        changes=changes_of_parts(written.parts),
        diagnostics=(*findings_of_result, *written.notes),
        origins=result.origins if result else (),
    )


def _draft(
    project: Path,
    options: BundleGenerateOptions,
    package: str,
    project_layout: str,
    passed_over: list[Diagnostic],
    kept_version: str,
) -> BundleDraft:
    generate_request.check_version(options.version)
    return generator.draft(
        GenerateRequest(
            package=package,
            builder=options.builder,
            project_layout=project_layout,
            version=options.version or kept_version,
            version_from="the existing bundle" if kept_version else "`--version`",
            extra_service_accounts=options.extra_service_accounts,
            created_at=options.created_at,
        ),
        inputs(project, options.inputs, options.stdin, passed_over),
        stored_base=load_stored_base(project, package),
    )


def _package(options: BundleGenerateOptions, facts: _Facts) -> str:
    if options.package or facts.name:
        return options.package or facts.name
    if facts.old:
        raise ConfigurationError(
            f"the bundle's package has no name: the `PROJECT` file has version {facts.old}, which "
            "has no `projectName`",
            hint=f"pass `--package`, or {config.MIGRATE}",
        )
    raise ConfigurationError(
        "the bundle's package has no name: there is no `PROJECT` file with a `projectName`",
        hint="pass `--package`, or run the command in the project's folder (`-C`)",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The values that a bundle takes from the PROJECT file, of any version."""

    name: str = ""
    layout: str = "unknown"
    old: str = ""
    findings: tuple[Diagnostic, ...] = ()


def _facts(project: Path) -> _Facts:
    path = project / config.PROJECT_FILE
    if not paths.is_file(path):
        return _Facts()
    file = documents.load(disk.read_file(path), str(path))
    found = config.of_any_version(file)
    return _Facts(
        name=found.name,
        layout=",".join(filter(None, found.layout)) or "unknown",
        old=config.old_version(file),
        findings=found.findings,
    )


def _check_channels(channels: str, default: str) -> None:
    names = channels.split(",")
    for name in (*names, *([default] if default else [])):
        if not name or name != name.strip() or any(char.isspace() for char in name):
            raise ConfigurationError(
                f"`{name or channels}` is not a valid channel name",
                hint="separate channels by commas only, such as `--channels stable,fast`",
            )


def _kept_version(project: Path, options: BundleGenerateOptions, package: str, found: Tree) -> str:
    """Return the existing bundle's version if it is newer than that of the base CSV.

    Without an explicit version, a bundle must not get an older version than before.
    """
    base = None if options.version or options.inputs else load_stored_base(project, package)
    if base is None:
        return ""
    there = _version_of(_previous(found, package))
    old = _version_of(base.value)
    return str(there) if there and old and there > old else ""


def _version_of(csv: Any) -> Version | None:
    try:
        return Version.parse(str(csv["spec"]["version"]))
    except (KeyError, TypeError, ValueError):
        return None


def _operator_image(result: GeneratedBundle) -> str:
    """Return the image of the container `manager`, else of the first non-proxy container."""
    spec = objects.mapping(objects.mapping(result.csv.get("spec")).get("install")).get("spec")
    containers = [
        objects.mapping(container)
        for deployment in objects.sequence(objects.mapping(spec).get("deployments"))
        for container in objects.sequence(_pod_spec(deployment).get("containers"))
    ]
    ordered = sorted(
        containers, key=lambda one: (one.get("name") != "manager", one.get("name") == _SIDECAR)
    )
    return next((objects.text(one.get("image")) for one in ordered), "")


def _pod_spec(deployment: Any) -> Mapping[str, Any]:
    spec = objects.mapping(objects.mapping(deployment).get("spec"))
    return objects.mapping(objects.mapping(spec.get("template")).get("spec"))


def _previous(found: Tree, package: str) -> Mapping[str, Any]:
    """Return the CSV of an earlier run; None if it cannot be read."""
    path = f"manifests/{package.lower()}.clusterserviceversion.yaml"
    if path not in found:
        return {}
    try:
        value = documents.load(found.data(path), path).value
    except InputError:
        return {}
    return value if isinstance(value, dict) else {}


def _old_annotations(found: Tree, output: Path) -> Mapping[str, str]:
    if ANNOTATIONS not in found:
        return {}
    document = documents.load(found.data(ANNOTATIONS), str(output / ANNOTATIONS))
    return layout.read_annotations(document)


def _default_channel(options: BundleGenerateOptions, old: Mapping[str, str]) -> str:
    """Return the requested default channel, else the existing one unless channels change.

    A bundle need not be in the channel that is its package's default.
    """
    if options.default_channel:
        return options.default_channel
    default = old.get(model.DEFAULT_CHANNEL, "")
    stays = not options.channels or default in options.channels.split(",")
    return default if stays else ""


def _output(project: Path, name: str) -> Path:
    """Return the shortest path of the bundle's folder."""
    return paths.normalize(project / name)
