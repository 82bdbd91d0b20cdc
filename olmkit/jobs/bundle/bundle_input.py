"""The manifests that a bundle is generated from: files, folders or the overlay of a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError
from olmkit.base.documents import Document
from olmkit.bundle.generation.findings import refusal
from olmkit.edges import disk, paths
from olmkit.jobs.project import overlay
from olmkit.project import config
from olmkit.project.kustomize import build as kustomize

STDIN = "-"
MAX_INPUT_SIZE = overlay.MAX_INPUT_SIZE
_CONFIG = "config/manifests"
_YAML = (".yaml", ".yml", ".json")


def inputs(
    project: Path, names: Sequence[str], stdin: bytes | None, passed_over: list[Diagnostic]
) -> Iterator[Document]:
    """Yield the documents of the named inputs, or of the project's overlay without names.

    `passed_over` gets the findings of the overlay. Raises `InputError` with all errors.
    """
    if not names:
        folder = project / _CONFIG
        if not kustomize.is_overlay(overlay.reader(project), _CONFIG):
            raise _without_overlay(project, folder)
        yield from _render_overlay(project, _CONFIG, passed_over)
        return
    loaded: list[Document] = []
    errors: list[InputError] = []
    for name in names:
        try:
            loaded.extend(_load(project, name, stdin, passed_over))
        except InputError as error:
            errors.append(error)
    if errors:
        raise _join_errors(errors)
    if all(document.value is None for document in loaded):
        named = ", ".join(f"`{name}`" for name in names)
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


def _without_overlay(project: Path, folder: Path) -> ConfigurationError:
    message = f"there is nothing to generate a bundle from: `{folder}` has no kustomization"
    hint = "`olmkit generate` writes it; or pass manifests with `--input`"
    file = project / config.PROJECT_FILE
    if not paths.is_file(file):
        hint = "pass manifests with `--input`, or pipe them into `--input -`"
    elif old := config.old_version(config.document(disk.read_file(file))):
        message += f"; the `PROJECT` file has version {old}"
        hint = f"pass manifests with `--input`; or {config.MIGRATE}, and run `olmkit generate`"
    return ConfigurationError(message, hint=hint)


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


def load_stored_base(project: Path, package: str) -> Document | None:
    path = project / _CONFIG / "bases" / f"{package}.clusterserviceversion.yaml"
    if not paths.is_file(path):
        return None
    return documents.load(disk.read_file(path), str(path))
