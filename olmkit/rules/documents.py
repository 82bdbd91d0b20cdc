"""Rules about the text of manifests and annotations: its syntax and duplicate keys."""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base.diagnostics import Related, Severity
from olmkit.base.documents import Duplicate
from olmkit.bundle import layout, model
from olmkit.bundle.model import Bundle
from olmkit.kube import objects
from olmkit.rules import fixes
from olmkit.rules.engine import SOUND_SUITE, Finding, rule


@rule("DOC001", "syntax")
def syntax(bundle: Bundle) -> Iterator[Finding]:
    """A manifest, or the annotations file, is not YAML or JSON.

    Why: the file cannot be read. Other tools stop at it, often with a
    message that names neither the file nor the cause.

    Fix: correct the text at the reported position.
    """
    for broken in bundle.unreadable:
        if broken.path.endswith(("/dependencies.yaml", "/properties.yaml")):
            continue
        if broken.path.startswith(f"{bundle.metadata_dir}/") and not broken.path.endswith(
            layout.ANNOTATIONS_FILE
        ):
            continue
        found = broken.error.diagnostics[0] if broken.error.diagnostics else None
        yield Finding(
            found.message if found else broken.error.message,
            at=found.at if found else bundle.place(broken.path),
            hint=found.hint if found else broken.error.hint,
        )


@rule("DOC003", "later-document-syntax")
def later_document_syntax(bundle: Bundle) -> Iterator[Finding]:
    """A document after the first one of a file is not valid YAML.

    Why: tools that read a CSV or a CRD read the whole file, and reject the bundle. For
    other files, the finding is a warning, because tools read only the first document.

    Fix: correct the text, or remove the document.
    """
    for document in (*bundle.manifests, *bundle.metadata):
        kind = objects.scalar_text(document.get("kind"))
        for error in layout.broken_documents(bundle, document):
            found = error.diagnostics[0] if error.diagnostics else None
            yield Finding(
                found.message if found else error.message,
                at=found.at if found else document.at(),
                hint=found.hint if found else error.hint,
                severity=None if kind in (model.CSV_KIND, model.CRD_KIND) else Severity.WARNING,
            )


@rule("DOC002", "duplicate-key", suite=SOUND_SUITE)
def duplicate_key(bundle: Bundle) -> Iterator[Finding]:
    """A mapping has a duplicate key.

    Why: the last value takes effect, so the first one is lost without a warning. Strict
    parsers reject the file. The finding is a warning if both values are equal.

    Fix: remove one of them.
    """
    for document in (*bundle.manifests, *bundle.metadata):
        lines: list[bytes] = []
        for found in document.duplicate_keys():
            lines = lines or bundle.data(document).splitlines()
            is_same = _is_same_line(lines, found)
            yield Finding(
                f"key `{found.keys[-1]}` occurs twice in a mapping, and the last one takes effect",
                at=found.again,
                hint="remove one of them",
                related=(Related(found.first, "first here"),),
                severity=Severity.WARNING if is_same else None,
                fix=fixes.remove_line(found.again) if is_same else None,
            )


def _is_same_line(lines: list[bytes], found: Duplicate) -> bool:
    """Return whether both entries have one line each, with the same text."""
    first, again = (lines[(at.line or 1) - 1].strip() for at in (found.first, found.again))
    return first == again and not first.endswith(b":")
