"""YAML is edited without losing anything of the user's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.project.edits import yaml as yaml_edits


def item(text: str, keys: tuple[str | int, ...], value: Any, **how: Any) -> str:
    once = yaml_edits.with_item(text.encode(), "k.yaml", keys, value, **how)
    assert yaml_edits.with_item(once, "k.yaml", keys, value, **how) == once
    return once.decode()


def value(text: str, keys: tuple[str | int, ...], wanted: Any) -> str:
    once = yaml_edits.with_value(text.encode(), "k.yaml", keys, wanted)
    assert yaml_edits.with_value(once, "k.yaml", keys, wanted) == once
    assert documents.load(once, "k.yaml").get(*keys) == wanted
    return once.decode()


LISTS = {
    "after the last": (
        "resources:\n- a # why\n\n# about patches\npatches: []\n",
        "resources:\n- a # why\n- b\n\n# about patches\npatches: []\n",
    ),
    "indented": (
        "resources:\n  - a\n  - c:\n      d\n",
        "resources:\n  - a\n  - c:\n      d\n  - b\n",
    ),
    "into an empty one": ("resources: []\nx: 1\n", "resources:\n- b\nx: 1\n"),
    "into a null": ("resources: # all\nx: 1\n", "resources: # all\n- b\nx: 1\n"),
    "into a new one": ("patches:\n- a\n", "patches:\n- a\nresources:\n- b\n"),
    "into a comment": ("# nothing yet\n", "# nothing yet\nresources:\n- b\n"),
    "above the marker": (
        "resources:\n- a\n# mine\n# +kubebuilder:scaffold:r\n",
        "resources:\n- a\n# mine\n- b\n# +kubebuilder:scaffold:r\n",
    ),
    "above the marker of an empty one": (
        "resources: []\n# +kubebuilder:scaffold:r\nx: 1\n",
        "resources:\n- b\n# +kubebuilder:scaffold:r\nx: 1\n",
    ),
    "not above the marker of another list": (
        "resources:\n- a\nx:\n- y\n# +kubebuilder:scaffold:r\n",
        "resources:\n- a\n- b\nx:\n- y\n# +kubebuilder:scaffold:r\n",
    ),
    "into a new one, below the marker of the one before": (
        "patches:\n- a\n# +kubebuilder:scaffold:p\n",
        "patches:\n- a\n# +kubebuilder:scaffold:p\nresources:\n- b\n",
    ),
    "comment removed": ("resources:\n- a\n#- b\n- c\n", "resources:\n- a\n- b\n- c\n"),
    "there already": ("resources:\n- ./b\n", "resources:\n- ./b\n"),
}


@pytest.mark.parametrize(("before", "after"), LISTS.values(), ids=LISTS)
def test_an_item_is_added_to_a_list(before: str, after: str) -> None:
    assert item(before, ("resources",), "b", marker="r") == after


def test_an_item_can_be_the_first() -> None:
    text = "resources:\n# about a\n- a\n"
    assert item(text, ("resources",), "b", first=True) == "resources:\n- b\n# about a\n- a\n"


def test_a_mapping_with_more_keys_counts_as_present() -> None:
    text = "patches:\n- path: p.yaml\n  target:\n    kind: Deployment\n"
    assert item(text, ("patches",), {"path": "p.yaml"}) == text


def test_a_mapping_is_written_as_a_block() -> None:
    wanted = {"path": "p.yaml", "target": {"kind": "Deployment"}}
    text = item("patches:\n- path: q.yaml # mine\n", ("patches",), wanted)
    assert text == (
        "patches:\n- path: q.yaml # mine\n- path: p.yaml\n  target:\n    kind: Deployment\n"
    )


def test_a_block_scalar_that_looks_like_a_comment_belongs_to_its_item() -> None:
    text = "patches:\n- patch: |-\n    a\n    # b\n"
    assert item(text, ("patches",), {"path": "p"}).endswith("    # b\n- path: p\n")


def test_a_list_on_one_line_is_refused_with_its_place() -> None:
    with pytest.raises(InputError, match="is on one line") as caught:
        item("resources: [a]\n", ("resources",), "b")
    assert str(caught.value.diagnostics[0].at) == "k.yaml:1:12"


def test_a_value_that_is_not_a_list_is_refused() -> None:
    with pytest.raises(InputError, match="is not a list"):
        item("resources: a\n", ("resources",), "b")


PROJECT = """\
# mine
domain: example.com
resources:
- api:
    crdVersion: v1
  # the kind
  kind: A
  version: v1
version: "3"
"""

VALUES = {
    "a new key, by alphabet": (("multigroup",), True, "domain: example.com\nmultigroup: true\n"),
    "another text": (("domain",), "x.org", "# mine\ndomain: x.org\nresources:\n"),
    "below a list's entry": (
        ("resources", 0, "webhooks"),
        {"defaulting": True},
        "  version: v1\n  webhooks:\n    defaulting: true\nversion:",
    ),
    "first in a list's entry": (
        ("resources", 0, "a"),
        1,
        "- a: 1\n  api:\n    crdVersion: v1\n  # the kind\n",
    ),
    "before a comment of the next key": (
        ("resources", 0, "controller"),
        True,
        "    crdVersion: v1\n  controller: true\n  # the kind\n  kind: A\n",
    ),
    "below what is not there": (("plugins", "x/v1"), {}, "plugins:\n  x/v1: {}\nresources:\n"),
    "instead of a block": (("resources", 0, "api"), {"b": 1}, "- api:\n    b: 1\n  # the kind\n"),
}


@pytest.mark.parametrize(("keys", "wanted", "part"), VALUES.values(), ids=VALUES)
def test_a_value_is_set(keys: tuple[str | int, ...], wanted: Any, part: str) -> None:
    assert part in value(PROJECT, keys, wanted)


def test_a_mapping_on_one_line_is_refused() -> None:
    with pytest.raises(InputError, match="is on one line"):
        value("resources:\n- {kind: A}\n", ("resources", 0, "webhooks"), {})


def test_a_value_below_a_string_is_refused() -> None:
    with pytest.raises(InputError, match="`a` is not a mapping"):
        value("a: b\n", ("a", "c"), 1)


def test_a_key_is_removed() -> None:
    text = yaml_edits.without_key(b"a: 1\nb:\n  c: 2\n# about d\nd: 3\n", "k.yaml", ("b",))
    assert text == b"a: 1\n# about d\nd: 3\n"


def test_the_first_key_of_an_entry_is_removed() -> None:
    text = (
        b"images:\n- digest: sha256:0\n\n  # about the name\n  name: a\n  newName: b\n- name: c\n"
    )
    done = yaml_edits.without_key(text, "k.yaml", ("images", 0, "digest"))
    assert done == b"images:\n\n  # about the name\n- name: a\n  newName: b\n- name: c\n"


@pytest.mark.parametrize(
    "text", [b"images: [{name: a, newTag: b}]\n", b"images:\n- {name: a, newTag: b}\n"]
)
def test_a_key_that_shares_its_line_is_neither_removed_nor_replaced(text: bytes) -> None:
    keys = ("images", 0, "newTag")
    with pytest.raises(InputError, match="is on one line"):
        yaml_edits.without_key(text, "k.yaml", keys)
    with pytest.raises(InputError, match="is on one line"):
        yaml_edits.with_value(text, "k.yaml", keys, "c")


def test_an_item_is_replaced_in_place() -> None:
    text = b"resources:\n- a\n# about b\n- b\n"
    done = yaml_edits.with_replaced_item(text, "k.yaml", ("resources",), "b", "c")
    assert done == b"resources:\n- a\n# about b\n- c\n"
    assert yaml_edits.with_replaced_item(done, "k.yaml", ("resources",), "b", "c") == done


def test_one_document_of_a_file_is_edited() -> None:
    text = b"# head\nkind: A\n---\nkind: B # mine\n---\nkind: C\n"

    def change(part: bytes) -> bytes:
        return yaml_edits.with_value(part, "k.yaml", ("x",), 1)

    done = yaml_edits.in_document(text, "k.yaml", "B", change)
    assert done == b"# head\nkind: A\n---\nkind: B # mine\nx: 1\n---\nkind: C\n"
    with pytest.raises(InputError, match="contains no D"):
        yaml_edits.in_document(text, "k.yaml", "D", change)


def test_line_endings_are_kept() -> None:
    assert item("a: 1\r\nresources:\r\n- a\r\n", ("resources",), "b").endswith("- a\r\n- b\r\n")
    assert item("resources:\n- a", ("resources",), "b") == "resources:\n- a\n- b\n"


@pytest.mark.parametrize("text", ["", "---\n", "# words\n", "x: 1\n"])
def test_an_empty_document_is_a_mapping(text: str) -> None:
    assert documents.load(item(text, ("resources",), "b").encode(), "k").get("resources") == ["b"]


_TEXTS = st.sampled_from(["a", "b c", "- d", "x: y", "# no comment", "1", "", "two\nlines\n", "é"])
_KEYS = st.sampled_from(["alpha", "beta", "gamma", "delta", "x/y", "z-1"])
_VALUES = st.recursive(
    st.one_of(_TEXTS, st.integers(0, 9), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_KEYS, inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("spec: 5\n", "`spec` is not a mapping", "k:1:7"),
        ("kind: A\n", "there is no `spec.list[0].env`", "k:1:1"),
        ("spec: {}\n", "there is no `spec.list[0].env`", "k:1:7"),
        ("spec:\n  list: []\n", "there is no `spec.list[0].env`", "k:2:9"),
        ("spec:\n  list: 5\n", "`spec.list` is not a mapping", "k:2:9"),
        ("spec:\n  list:\n  - 5\n", "`spec.list[0]` is not a mapping", "k:3:5"),
    ],
)
def test_an_item_below_a_missing_key_is_refused_at_its_place(
    text: str, message: str, place: str
) -> None:
    with pytest.raises(InputError) as caught:
        yaml_edits.with_item(text.encode(), "k", ("spec", "list", 0, "env"), {"name": "A"})
    assert caught.value.diagnostics[0].message == message
    assert str(caught.value.diagnostics[0].at) == place


@st.composite
def commented(draw: Any) -> tuple[dict[str, Any], bytes, list[str]]:
    """A mapping, its text with comments between the lines, and the comments."""
    value = draw(st.dictionaries(_KEYS, _VALUES, min_size=1, max_size=4))
    lines: list[str] = []
    comments: list[str] = []
    for line in documents.dump(value).decode().splitlines():
        is_inside_text = line.startswith(" ") or not line
        if not is_inside_text and draw(st.booleans()):
            comments.append(f"# comment {len(comments)}")
            lines.append(comments[-1])
        lines.append(line)
    return value, ("\n".join(lines) + "\n").encode(), comments


@pytest.mark.property
@given(drawn=commented(), new=_VALUES)
@settings(max_examples=300, deadline=None, derandomize=True)
def test_an_edit_only_changes_its_value_and_loses_no_comment(
    drawn: tuple[dict[str, Any], bytes, list[str]], new: Any
) -> None:
    value, text, comments = drawn
    assert documents.load(text, "k").value == value
    done = yaml_edits.with_value(text, "k", ("new",), new)
    assert documents.load(done, "k").value == {**value, "new": new}
    assert [line for line in comments if line not in done.decode()] == []
    for key, found in value.items():
        if found is None or (isinstance(found, list) and new not in found):
            done = yaml_edits.with_item(text, "k", (key,), new)
            assert documents.load(done, "k").value == {**value, key: [*(found or []), new]}
            assert [line for line in comments if line not in done.decode()] == []


def test_an_item_is_commented_out_and_uncommented() -> None:
    text = b"resources:\n- ../crd\n# About it.\n- ../prometheus\npatches: []\n"
    commented = yaml_edits.with_commented_item(text, "k", ("resources",), "../prometheus")
    assert commented == text.replace(b"- ../prom", b"#- ../prom")
    assert yaml_edits.with_item(commented, "k", ("resources",), "../prometheus") == text
    assert yaml_edits.with_commented_item(text, "k", ("resources",), "../other") == text


def test_an_item_in_a_list_on_one_line_cannot_be_commented_out() -> None:
    with pytest.raises(InputError, match="on one line"):
        yaml_edits.with_commented_item(b"resources: [a, b]\n", "k", ("resources",), "a")


def test_the_byte_order_mark_stays_at_the_start() -> None:
    done = yaml_edits.with_value("\ufeffa: 1\n".encode(), "k.yaml", ("b",), 2)
    assert done.decode() == "\ufeffa: 1\nb: 2\n"
    done = yaml_edits.with_value(done, "k.yaml", ("a",), 3)
    assert done.decode() == "\ufeffa: 3\nb: 2\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("a: 1\nb: 2\n".encode("utf-16"), "k.yaml: the file is not UTF-8"),
        (b"a: 1\rb: 2\r", "k.yaml:1: `\\r` ends a line"),
        ("a: 1\n# x\u2028b: 2\n".encode(), "k.yaml:2: `\\u2028` ends a line"),
    ],
)
def test_a_file_with_ambiguous_lines_is_not_edited(data: bytes, said: str) -> None:
    for change in (
        lambda: yaml_edits.with_value(data, "k.yaml", ("b",), 3),
        lambda: yaml_edits.without_key(data, "k.yaml", ("b",)),
        lambda: yaml_edits.with_item(data, "k.yaml", ("c",), "x"),
    ):
        with pytest.raises(InputError) as error:
            change()
        assert str(error.value) == said
