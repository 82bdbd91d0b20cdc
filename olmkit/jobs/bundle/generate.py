"""Generate the bundle folder of a project from its manifests.

Reads the input, generates the files, compares them with the existing ones and writes the
difference. All errors occur before the first file is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from olmkit import __version__
from olmkit.base import documents, findings
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError
from olmkit.base.documents import Document
from olmkit.base.tree import Change, Changes, Tree, diff
from olmkit.base.versions import Version
from olmkit.bundle import layout, metadata, model
from olmkit.bundle.generation import generate as generator
from olmkit.bundle.generation import generate_request, generated_files, images
from olmkit.bundle.generation.findings import refusal
from olmkit.bundle.generation.generate import BundleDraft, GeneratedBundle
from olmkit.bundle.generation.generate_request import GenerateRequest
from olmkit.bundle.generation.origins import Origin
from olmkit.edges import disk, paths, whole_folder
from olmkit.edges.images import transports
from olmkit.edges.images.transports import Access
from olmkit.jobs.project import overlay
from olmkit.kube import objects
from olmkit.oci.content import Digest
from olmkit.oci.reference import Reference
from olmkit.project import config
from olmkit.project.kustomize import build as kustomize

STDIN = "-"
BUILDER = f"olmkit-v{__version__}"

MAX_INPUT_SIZE = overlay.MAX_INPUT_SIZE
_CONFIG = "config/manifests"
_ANNOTATIONS = f"{layout.DEFAULT_METADATA}/{layout.ANNOTATIONS_FILE}"
_CONTAINERFILE = "bundle.Dockerfile"
_OUTPUT = "bundle"
_DEFAULT_CHANNELS = "alpha"
_SIDECAR = "kube-rbac-proxy"  # added by older scaffolds before the operator's container
_YAML = (".yaml", ".yml", ".json")


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
    output: str = _OUTPUT
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
        """The images of the bundle without a digest."""
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
    passed_over: list[Diagnostic] = []
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
    annotations = found.data(_ANNOTATIONS) if _ANNOTATIONS in found else None
    written = _Written(project=prepared.project, output=output)
    if BundlePart.METADATA in options.parts:
        annotations = metadata.annotations_file(values)
        written.add_metadata(values, annotations, found)
    if result is not None:
        written.add_manifests(result, annotations, found)
    if not dry_run:
        mine = [change for root, part in written.parts if root == output for change in part]
        whole_folder.apply(output, Changes(tuple(mine)))
        for root, changes in written.parts:
            if root != output:
                disk.apply(root, changes)
    findings_of_result = (*prepared.passed_over, *result.findings) if result else ()
    return BundleGenerateResult(
        package=prepared.package,
        version=str(result.csv["spec"].get("version", "")) if result else options.version,
        image=_operator_image(result) if result else "",
        output=str(output),
        changes=_changes_of_parts(written.parts),
        diagnostics=(*findings_of_result, *written.notes),
        origins=result.origins if result else (),
    )


async def pins(
    prepared: PreparedBundle, *, known: Path | None, ask: bool, access: Access
) -> dict[str, str]:
    """Return the pinned reference of each image, from a file or else from registries.

    Registries are queried only if `ask` is set. Raises `InputError` if the digest of an image is
    not found.
    """
    names = prepared.images_to_pin()
    found = known_digests(known, names) if known else {}
    left = [name for name in names if name not in found]
    if left and not ask:
        raise InputError(
            f"`{known}` has no digest for `{left[0]}`",
            "add it, or pass `--image-digests` to read it from the registry",
        )
    return found | (await resolve_digests(left, access) if left else {})


def known_digests(path: Path, names: Sequence[str]) -> dict[str, str]:
    """Return the pinned references that a file has for images in `names`.

    The file is a YAML or JSON mapping from images to digests or to pinned references. Raises
    `InputError` if it is not.
    """
    document = documents.load(disk.read_file(path, limit=MAX_INPUT_SIZE), str(path))
    if not isinstance(document.value, Mapping):
        raise refusal(
            f"`{path}` contains no digests",
            at=document.at(),
            hint="write `registry/name:tag: sha256:…`, one image per line",
        )
    pinned: dict[str, str] = {}
    for name in names:
        if name not in document.value:
            continue
        digest = str(document.value[name]).rpartition("@")[2]
        try:
            Digest.parse(digest)
        except InputError as error:
            raise refusal(error.message, at=document.at(name)) from None
        pinned[name] = f"{images.without_tag(name)}@{digest}"
    return pinned


async def resolve_digests(names: Sequence[str], access: Access) -> dict[str, str]:
    """Return the pinned reference of each image, with the digest from its registry."""
    # imported here, since only this needs the large HTTP client
    import asyncio

    from olmkit.edges.network.web import Web

    references = [Reference.parse(name) for name in names]
    async with Web(transports.web_options(access)) as web:

        async def resolve(name: str, reference: Reference) -> str:
            async with transports.open_store(reference, access, web=web) as store:
                descriptor = await store.resolve(transports.selector(reference))
            return f"{images.without_tag(name)}@{descriptor.digest}"

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [
                    group.create_task(resolve(name, reference))
                    for name, reference in zip(names, references, strict=True)
                ]
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
    return {name: task.result() for name, task in zip(names, tasks, strict=True)}


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
        _inputs(project, options, passed_over),
        stored_base=_load_stored_base(project, package),
    )


def _package(options: BundleGenerateOptions, facts: _Facts) -> str:
    if options.package or facts.name:
        return options.package or facts.name
    raise ConfigurationError(
        "the bundle's package has no name: there is no `PROJECT` file with a `projectName`",
        hint="pass `--package`, or run the command in the project's folder (`-C`)",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """The values that a bundle takes from the PROJECT file, of any version."""

    name: str = ""
    layout: str = "unknown"


def _facts(project: Path) -> _Facts:
    path = project / config.PROJECT_FILE
    if not paths.is_file(path):
        return _Facts()
    found = config.of_any_version(documents.load(disk.read_file(path), str(path)))
    return _Facts(name=found.name, layout=",".join(filter(None, found.layout)) or "unknown")


def _check_channels(channels: str, default: str) -> None:
    names = channels.split(",")
    for name in (*names, *([default] if default else [])):
        if not name or name != name.strip() or any(char.isspace() for char in name):
            raise ConfigurationError(
                f"`{name or channels}` is not a valid channel name",
                hint="separate channels by commas only, such as `--channels stable,fast`",
            )


def _inputs(
    project: Path, options: BundleGenerateOptions, passed_over: list[Diagnostic]
) -> Iterator[Document]:
    if not options.inputs:
        folder = project / _CONFIG
        if not kustomize.is_overlay(overlay.reader(project), _CONFIG):
            is_project = paths.is_file(project / config.PROJECT_FILE)
            raise ConfigurationError(
                f"there is nothing to generate a bundle from: `{folder}` has no kustomization",
                hint="`olmkit generate` writes it; or pass manifests with `--input`"
                if is_project
                else "pass manifests with `--input`, or pipe them into `--input -`",
            )
        yield from _render_overlay(project, _CONFIG, passed_over)
        return
    loaded: list[Document] = []
    errors: list[InputError] = []
    for name in options.inputs:
        try:
            loaded.extend(_load(project, name, options.stdin, passed_over))
        except InputError as error:
            errors.append(error)
    if errors:
        raise _join_errors(errors)
    if all(document.value is None for document in loaded):
        named = ", ".join(f"`{name}`" for name in options.inputs)
        raise refusal(
            f"there is no Kubernetes object in {named}",
            hint="pipe the output of `kustomize build config/manifests` into `--input -`",
        )
    yield from loaded


def _load(
    project: Path, name: str, stdin: bytes | None, passed_over: list[Diagnostic]
) -> Iterator[Document]:
    if name == STDIN:
        yield from documents.load_all(stdin or b"", "<stdin>")
        return
    path = project / name
    if not paths.is_folder(path):
        yield from documents.load_all(disk.read_file(path, limit=MAX_INPUT_SIZE), str(path))
        return
    relative = overlay.inside(project, path)
    if relative is not None and kustomize.is_overlay(overlay.reader(project), relative):
        yield from _render_overlay(project, relative, passed_over)
        return
    tree = disk.read_tree(path, file_limit=MAX_INPUT_SIZE, total_limit=4 * MAX_INPUT_SIZE)
    errors: list[InputError] = []
    for inner, file in tree.items():
        shown = str(path / inner)
        try:
            yield from list(documents.load_all(file.data, shown))
        except InputError as error:
            # A folder may contain a readme; only files named as YAML or JSON must be valid.
            if inner.endswith(_YAML):
                errors.append(error)
    if errors:
        raise _join_errors(errors)


def _render_overlay(
    project: Path, folder: str, passed_over: list[Diagnostic]
) -> Iterator[Document]:
    return iter(
        kustomize.render(
            overlay.reader(project),
            folder,
            shown=lambda path: str(project / path),
            findings=passed_over,
        )
    )


def _join_errors(errors: Sequence[InputError]) -> InputError:
    if len(errors) == 1:
        return errors[0]
    return InputError(
        f"{errors[0].message} (and {len(errors) - 1} more)",
        hint=errors[0].hint,
        diagnostics=tuple(found for error in errors for found in error.diagnostics),
    )


def _load_stored_base(project: Path, package: str) -> Document | None:
    path = project / _CONFIG / "bases" / f"{package}.clusterserviceversion.yaml"
    if not paths.is_file(path):
        return None
    return documents.load(disk.read_file(path), str(path))


def _kept_version(project: Path, options: BundleGenerateOptions, package: str, found: Tree) -> str:
    """Return the existing bundle's version if it is newer than that of the base CSV.

    Without an explicit version, a bundle must not get an older version than before.
    """
    base = None if options.version or options.inputs else _load_stored_base(project, package)
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


@dataclass(slots=True, kw_only=True)
class _Written:
    """The changes below each folder, and messages about them."""

    project: Path
    output: Path
    parts: list[tuple[Path, Changes]] = field(default_factory=list)
    notes: list[Diagnostic] = field(default_factory=list)

    def add_manifests(
        self, result: GeneratedBundle, annotations: bytes | None, found: Tree
    ) -> None:
        """Add the manifests and a record of all files; remove other files of an earlier run."""
        files = result.files()
        untouched, changed = generated_files.find_stale(found, (*files, _ANNOTATIONS))
        recorded = files if annotations is None else {**files, _ANNOTATIONS: annotations}
        files[generated_files.FILE] = generated_files.text(recorded)
        self.parts.append((self.output, diff(Tree(files), found, stale=untouched)))
        self.notes += [
            findings.create(
                "PRJ117",
                f"`{self.output / name}` is no longer generated, but is kept because it was edited",
                hint="remove it if the bundle does not need it",
            )
            for name in sorted(changed)
        ]

    def add_metadata(self, values: Mapping[str, str], annotations: bytes, found: Tree) -> None:
        """Add the annotations, and the Containerfile with the same labels."""
        self.parts.append((self.output, diff(Tree({_ANNOTATIONS: annotations}), found)))
        folder, directory = _containerfile_place(self.project, self.output)
        path = folder / _CONTAINERFILE
        existing = Tree({_CONTAINERFILE: disk.read_file(path)}) if paths.exists(path) else Tree()
        data = existing.data(_CONTAINERFILE) if existing else None
        wanted = Tree({_CONTAINERFILE: metadata.containerfile(values, directory, data)})
        self.parts.append((folder, diff(wanted, existing)))


def _old_annotations(found: Tree, output: Path) -> Mapping[str, str]:
    if _ANNOTATIONS not in found:
        return {}
    document = documents.load(found.data(_ANNOTATIONS), str(output / _ANNOTATIONS))
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


def _containerfile_place(project: Path, output: Path) -> tuple[Path, str]:
    """Return the folder of the Containerfile, and the bundle's path relative to it.

    For the default bundle folder, it is in the project's folder, where Makefiles expect it. For any
    other folder, it is in that folder.
    """
    inside = overlay.inside(project, output)
    return (project, inside) if inside == _OUTPUT else (output, "")


def _changes_of_parts(parts: Sequence[tuple[Path, Changes]]) -> Changes:
    changes = [
        Change(change.kind, str(root / change.path), change.wanted, change.found)
        for root, part in parts
        for change in part
    ]
    return Changes(tuple(sorted(changes, key=lambda change: change.path)))
