from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from olmkit.base import tree
from olmkit.base.diagnostics import InputError
from olmkit.base.tree import ChangeKind, File, Tree

NAMES = st.from_regex(r"[a-z]{1,3}(/[a-z]{1,3}){0,2}", fullmatch=True)
TREES = st.dictionaries(NAMES, st.binary(max_size=3), max_size=6).map(Tree)


def test_files_are_sorted_by_path() -> None:
    assert list(Tree({"b": b"", "a/c": b"", "a/b": b""})) == ["a/b", "a/c", "b"]


@pytest.mark.parametrize("path", ["../a", "/etc/passwd", "a/../../b", "", "a\0b", ".", "a/.."])
def test_a_path_that_leaves_the_root_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="not a path inside the folder"):
        Tree({path: b""})


def test_dots_and_double_slashes_are_removed() -> None:
    assert list(Tree({"./a//b": b""})) == ["a/b"]


def test_under_and_at_are_inverse() -> None:
    whole = Tree({"a/b": b"1", "a/c/d": b"2", "e": b"3"})
    assert list(whole.under("a")) == ["b", "c/d"]
    assert whole.under("a").at("a") == Tree({"a/b": b"1", "a/c/d": b"2"})
    assert whole.under("") == whole


def test_equal_content_makes_equal_trees() -> None:
    assert Tree({"a": b"1"}) == Tree({"a": File(b"1")})
    assert hash(Tree({"a": b"1"})) == hash(Tree({"a": File(b"1")}))
    assert Tree({"a": b"1"}) != Tree({"a": b"2"})


def test_modes_only_differ_in_the_executable_bit() -> None:
    found = Tree({"a": File(b"x", 0o664)})
    assert not tree.diff(Tree({"a": File(b"x", 0o644)}), found)
    assert tree.diff(Tree({"a": File(b"x", 0o755)}), found)


def test_only_stale_files_are_removed() -> None:
    found = Tree({"ours": b"", "author's": b""})
    changes = tree.diff(Tree({"new": b""}), found, stale=frozenset({"ours", "gone"}))
    assert [(change.kind, change.path) for change in changes] == [
        (ChangeKind.CREATE, "new"),
        (ChangeKind.REMOVE, "ours"),
    ]


@pytest.mark.property
@given(TREES, TREES)
def test_applying_a_difference_results_in_the_desired_tree(wanted: Tree, found: Tree) -> None:
    changes = tree.diff(wanted, found, stale=frozenset(found))
    result = dict(found)
    for change in changes:
        if change.wanted is None:
            del result[change.path]
        else:
            result[change.path] = change.wanted
    assert Tree(result) == wanted
    assert not tree.diff(wanted, Tree(result), stale=frozenset(result))


@pytest.mark.property
@given(TREES, TREES)
def test_changes_can_be_undone(wanted: Tree, found: Tree) -> None:
    changes = tree.diff(wanted, found, stale=frozenset(found))
    result = dict(wanted)
    for change in changes.undone():
        if change.wanted is None:
            del result[change.path]
        else:
            result[change.path] = change.wanted
    assert all(result[path].data == found.data(path) for path in result)
    assert set(result) == set(found)
