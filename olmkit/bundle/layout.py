"""Bundles as files: from a `Tree` to a `Bundle`.

Reading follows the readers of OLM and of catalogs: `annotations.yaml` is authoritative and names
the manifests directory, only the first document of each manifest file counts, and keys of the
annotations file match case-insensitively. Invalid parts are kept for the rules.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base import documents, findings
from olmkit.base.diagnostics import InputError, Location
from olmkit.base.documents import Document, Key
from olmkit.base.tree import Tree
from olmkit.bundle import model
from olmkit.bundle.document_limits import DocumentBudget, DocumentLimitError
from olmkit.bundle.model import (
    Bundle,
    ClusterServiceVersion,
    CustomResourceDefinition,
    FileProperty,
    UnreadableFile,
)
from olmkit.kube import objects

DEFAULT_MANIFESTS = "manifests"
DEFAULT_METADATA = "metadata"
ANNOTATIONS_FILE = "annotations.yaml"
# The largest public bundles have some 150; OLM keeps all of them in a ConfigMap of 1 MB.
MAX_FILES = 5000

# Blank lines and comments, then a line of `---`: an empty document before the first one.
_EMPTY_FIRST = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[ \t]*+(?:#[^\n]*+)?\r?\n)++---[ \t\r]*(?:#[^\n]*)?(?:\n|\Z)"
)


def read(tree: Tree, root: str = "") -> Bundle:
    """Return the bundle in `tree`, whose places start with `root`.

    Raises `InputError` if there is nothing that could be a bundle: neither annotations nor any file
    in a manifests directory.
    """
    reader = _Reader(tree, root)
    annotations_path, annotations_document = _find_annotations(tree, reader)
    annotations = read_annotations(annotations_document)
    manifests_dir = directory(annotations.get(model.MANIFESTS, "")) or DEFAULT_MANIFESTS
    if annotations.get(model.MANIFESTS, "").strip("/") == ".":
        manifests_dir = ""
    metadata_dir = (
        annotations_path.rpartition("/")[0] if annotations_path is not None else DEFAULT_METADATA
    )
    manifests = tuple(_present(reader.load(path) for path in _files_in(tree, manifests_dir)))
    if annotations_document is None and not manifests and not reader.unreadable:
        raise _no_bundle(tree, root)
    metadata = (
        ()
        if metadata_dir == manifests_dir
        else tuple(
            _present(
                reader.load(path)
                for path in _files_in(tree, metadata_dir)
                if path.endswith((".yaml", ".yml", ".json")) or path == annotations_path
            )
        )
    )
    kinds = [(document, objects.scalar_text(document.get("kind"))) for document in manifests]
    return Bundle(
        tree=tree,
        root=root,
        annotations=annotations,
        annotations_document=annotations_document,
        manifests_dir=manifests_dir,
        metadata_dir=metadata_dir,
        manifests=manifests,
        csvs=tuple(ClusterServiceVersion(d) for d, kind in kinds if kind == model.CSV_KIND),
        crds=tuple(CustomResourceDefinition(d) for d, kind in kinds if kind == model.CRD_KIND),
        dependencies=tuple(_entries(metadata, "dependencies")),
        properties=tuple(_entries(metadata, "properties")),
        metadata=metadata,
        unreadable=tuple(reader.unreadable),
    )


def read_annotations(document: Document | None) -> dict[str, str]:
    """Return the annotations of a file; scalars become strings, other values are omitted."""
    if document is None:
        return {}
    return {
        str(key): objects.scalar_text(value)
        for key, value in objects.mapping(annotations_value(document)).items()
        if not isinstance(value, Mapping | list)
    }


class _Reader:
    """Loads each file once and keeps the error of an unreadable file."""

    def __init__(self, tree: Tree, root: str) -> None:
        self._tree = tree
        self._root = root
        self._budget = DocumentBudget(root)
        self._loaded: dict[str, Document | None] = {}
        self.unreadable: list[UnreadableFile] = []

    def load(self, path: str) -> Document | None:
        if path not in self._loaded:
            if len(self._loaded) >= MAX_FILES:
                raise InputError(
                    f"`{self._root or 'the folder'}` has more than {MAX_FILES} files, "
                    "more than a bundle can have"
                )
            shown = model.join(self._root, path)
            try:
                self._loaded[path] = self._budget.load(self._tree.data(path), shown, load_first)
            except DocumentLimitError:
                raise
            except InputError as error:
                self._loaded[path] = None
                self.unreadable.append(UnreadableFile(path=path, error=error))
        return self._loaded[path]

    def look_at(self, path: str) -> Document | None:
        """Return a document that may not be part of the bundle; None if it cannot be read."""
        try:
            return self._budget.load(self._tree.data(path), path)
        except DocumentLimitError:
            raise
        except InputError:
            return None


def _find_annotations(tree: Tree, reader: _Reader) -> tuple[str | None, Document | None]:
    """Return `metadata/annotations.yaml`, else the first file by path with annotations."""
    usual = f"{DEFAULT_METADATA}/{ANNOTATIONS_FILE}"
    first: tuple[str, Document] | None = None
    if usual in tree:
        document = reader.load(usual)
        if document is None:
            return usual, None
        if objects.mapping(annotations_value(document)):
            return usual, document
        first = (usual, document)
    for path, file in tree.items():
        if path == usual or b"annotations" not in file.data[: 1 << 20].lower():
            continue
        document = reader.look_at(path)
        if objects.mapping(annotations_value(document)):
            return path, reader.load(path)
    return first or (None, None)


def annotations_value(document: Document | None) -> Any:
    """Return the value of the key `annotations`, in any letter case."""
    found = None
    for key, value in objects.mapping(document.value if document else None).items():
        if key.lower() == "annotations":
            found = value
    return found


def directory(value: str) -> str | None:
    """Return the directory in an annotation, or `None` if it is outside the bundle."""
    parts: list[str] = []
    for part in value.split("/"):
        if part == ".." and not parts:
            return None
        if part == "..":
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def load_first(data: bytes, path: str) -> Document:
    """Return the first document of a file, as the readers of bundles see it.

    They split the text at lines of `---` before they parse it, so a comment before the first such
    line is an empty document. Text is UTF-8. Raises `InputError` for UTF-16 and for text that is
    not YAML or JSON.
    """
    if data[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise InputError(
            f"{path}: the text is UTF-16, and manifests are UTF-8",
            diagnostics=(
                findings.create(
                    "DOC001",
                    "the text is UTF-16, and manifests are UTF-8",
                    at=Location(path=path),
                    hint="save the file as UTF-8",
                ),
            ),
        )
    if _EMPTY_FIRST.match(data):
        return Document(None, path=path, data=data)
    return documents.load(data, path)


def extra_documents(bundle: Bundle, document: Document) -> tuple[Document, ...]:
    """Return the documents of a file after the first, which no tool reads."""
    if not document.more and document.value is not None:
        return ()
    data = bundle.data(document)
    try:
        return tuple(
            other
            for other in documents.load_all(data, document.path)
            if other.value is not None and (other.index > 0 or document.value is None)
        )
    except InputError:
        return ()


def broken_documents(bundle: Bundle, document: Document) -> tuple[InputError, ...]:
    """Return the later documents of a file that cannot be read."""
    if not document.more and document.value is not None:
        return ()
    return tuple(documents.broken_parts(bundle.data(document), document.path))


def _files_in(tree: Tree, directory: str) -> Iterator[str]:
    """Yield the files directly in `directory`, without hidden ones."""
    prefix = f"{directory}/" if directory else ""
    for path in tree:
        name = path.removeprefix(prefix)
        if path.startswith(prefix) and "/" not in name and not name.startswith("."):
            yield path


def _entries(files: tuple[Document, ...], section: str) -> Iterator[FileProperty]:
    for document in files:
        for index, entry in enumerate(objects.sequence(document.get(section))):
            keys: tuple[Key, ...] = (section, index)
            yield FileProperty(
                type=objects.scalar_text(objects.mapping(entry).get("type")),
                value=objects.mapping(entry).get("value"),
                document=document,
                keys=keys,
            )


def _present(found: Iterator[Document | None]) -> Iterator[Document]:
    return (document for document in found if document is not None)


def _no_bundle(tree: Tree, root: str) -> InputError:
    shown = root or "the folder"
    if not tree:
        return InputError(
            f"`{shown}` is empty, so there is no bundle in it",
            hint="pass the folder that contains `manifests/` and `metadata/`",
        )
    return InputError(
        f"`{shown}` is not a bundle: it has neither a `manifests/` folder nor annotations",
        hint="pass the folder that contains `manifests/` and `metadata/`",
    )
