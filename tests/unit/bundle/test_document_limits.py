"""A small layer can have a large text under thousands of names, or aliases that repeat it."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.bundle import document_limits, layout
from olmkit.bundle.document_limits import DocumentBudget, DocumentLimitError

ANNOTATIONS = b"annotations:\n  operators.operatorframework.io.bundle.package.v1: p\n"
MANY = {
    "lines": b"".join(b"k%d: v\n" % number for number in range(300)),
    "items": b"a: [" + b"b, " * 300 + b"b]\n",
    "lists": b"a: " + b"[" * 300 + b"]" * 300 + b"\n",
    "maps": b"{a: " * 300 + b"b" + b"}" * 300 + b"\n",
    "dashes": b"- " * 300 + b"a\n",
    "json": b'{"a": [' + b"1," * 300 + b"1]}",
    "aliases": b"a: &a [b, c, d, e, f, g]\nb: [" + b"*a, " * 50 + b"*a]\n",
}


def bundle(data: bytes, count: int, place: str = "manifests") -> Tree:
    files = {f"{place}/{number}.yaml": data for number in range(count)}
    return Tree(files | {"metadata/annotations.yaml": ANNOTATIONS})


@pytest.mark.parametrize("place", ["manifests", "metadata"])
@pytest.mark.parametrize("form", MANY)
def test_many_copies_of_one_text_are_refused_after_the_limit(
    form: str, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_limits, "MAX_VALUES", 1_000)
    read: list[str] = []
    load = layout.load_first
    monkeypatch.setattr(
        layout, "load_first", lambda data, path: read.append(path) or load(data, path)
    )
    assert layout.read(bundle(MANY[form], 1, place)).unreadable == ()
    read.clear()
    with pytest.raises(InputError, match="files of `b` have more than 1,000 lines and list items"):
        layout.read(bundle(MANY[form], 90, place), "b")
    assert len(read) <= 5


def test_files_that_may_have_the_annotations_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_limits, "MAX_VALUES", 1_000)
    files = {f"x/{number}.yaml": b"# annotations\n" + MANY["lines"] for number in range(90)}
    with pytest.raises(DocumentLimitError, match="files of `the folder` have more than 1,000"):
        layout.read(Tree(files))


def test_the_largest_file_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_limits, "MAX_VALUES", 1_000)
    files = {"manifests/a.yaml": b"a: b\n", "manifests/b.yaml": b"- x\n" * 900}
    with pytest.raises(DocumentLimitError, match=r"largest file so far is `manifests/b\.yaml`"):
        layout.read(Tree(files))


def test_long_comments_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_limits, "MAX_TEXT", 2_000_000)
    data = b"a: b # " + b"x" * 600_000
    assert len(layout.read(bundle(data, 3)).manifests) == 3
    with pytest.raises(DocumentLimitError, match="have more than 2 MB of text") as caught:
        layout.read(bundle(data, 4))
    assert caught.value.hint == "keep only the files of one bundle in the folder"


def test_a_long_text_counts_for_each_alias(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_limits, "MAX_TEXT", 2_000_000)
    data = b"a: &a " + b"x" * 100_000 + b"\nb: [" + b"*a, " * 10 + b"*a]\n"
    budget = DocumentBudget("b")
    assert budget.load(data, "x.yaml").get("b", 10) == "x" * 100_000
    with pytest.raises(DocumentLimitError, match="have more than 2 MB of text"):
        budget.load(data, "x.yaml")


def test_an_unreadable_text_with_aliases_counts_as_long() -> None:
    """Nothing is known about what its aliases have repeated before the error."""
    budget = DocumentBudget("b")
    for _ in range(19):
        with pytest.raises(InputError, match="not valid YAML"):
            budget.load(b"a: &a b\nb: *a\nc: [\n", "x.yaml")
    with pytest.raises(DocumentLimitError, match="more than 500,000 lines"):
        budget.load(b"a: &a b\nb: *a\nc: [\n", "x.yaml")


@pytest.mark.parametrize("data", [b"a: 'x & y *z*'\nb: [\n", b"# *a* x&amp;y\nb: [\n"])
def test_other_unreadable_text_counts_as_its_lines(data: bytes) -> None:
    budget = DocumentBudget("b")
    for _ in range(50):
        with pytest.raises(InputError, match="not valid YAML"):
            budget.load(data, "x.yaml")


def test_the_limits_are_far_above_the_largest_public_bundles() -> None:
    """They have 64,000 values and 3.4 MB."""
    assert document_limits.MAX_VALUES >= 5 * 64_000
    assert document_limits.MAX_TEXT >= 5 * 3_400_000
