"""The record of generated files."""

from __future__ import annotations

from olmkit.base.tree import Tree
from olmkit.bundle.generation import generated_files


def test_only_unchanged_files_of_earlier_runs_are_stale() -> None:
    files = {"manifests/a.yaml": b"a", "manifests/b.yaml": b"b", "manifests/c.yaml": b"c"}
    found = Tree(
        {
            **files,
            "manifests/b.yaml": b"changed",
            "manifests/own.yaml": b"own",
            generated_files.FILE: generated_files.text(files),
        }
    )
    untouched, changed = generated_files.find_stale(found, ["manifests/c.yaml"])
    assert untouched == {"manifests/a.yaml"}
    assert changed == {"manifests/b.yaml"}


def test_without_a_record_nothing_is_stale() -> None:
    assert generated_files.find_stale(Tree({"a": b"a"}), []) == (frozenset(), frozenset())


def test_an_invalid_record_names_nothing() -> None:
    found = Tree({"a": b"a", generated_files.FILE: b"\xff\n\nno digest  a\n" + b"0" * 64 + b" a\n"})
    assert generated_files.find_stale(found, []) == (frozenset(), frozenset())


def test_a_record_cannot_name_a_missing_file() -> None:
    found = Tree({generated_files.FILE: b"0" * 64 + b"  ../../etc/passwd\n"})
    assert generated_files.find_stale(found, []) == (frozenset(), frozenset())
