"""The arguments of `kubectl get` that the tests with a cluster answer without kubectl."""

from __future__ import annotations

import pytest

from tests.cluster_reader import NotHandledError, Question, question


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("nodes", Question(["nodes"], [])),
        ("csv x -n a", Question(["csv"], ["x"], "a")),
        ("deployment/web -n a", Question(["deployment"], ["web"], "a")),
        ("pod,job -A", Question(["pod", "job"], [], is_everywhere=True)),
        ("pods -n a -l app=b", Question(["pods"], [], "a", selector="app=b")),
    ],
)
def test_arguments_of_get_are_read(words: str, expected: Question) -> None:
    assert question(words.split()) == expected


@pytest.mark.parametrize(
    "words", ["", "-n a", "pods a b", "pod,job a", "pods a -A", "pods --watch", "pods -n"]
)
def test_other_arguments_are_left_to_kubectl(words: str) -> None:
    with pytest.raises(NotHandledError):
        question(words.split())
