"""The arguments of `kubectl get` that the tests with a cluster answer without kubectl."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cluster_reader import ClusterReader, Collection, NotHandledError, Question, question


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


@pytest.mark.parametrize(
    ("name", "times"),
    [("pod", 1), ("deploy", 1), ("leases", 1), ("csv", 1), ("memcached", 2)],
)
def test_versions_of_custom_kinds_are_discovered_for_each_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, times: int
) -> None:
    groups = {
        "pod": "/api/v1",
        "deploy": "/apis/apps/v1",
        "leases": "/apis/coordination.k8s.io/v1",
        "csv": "/apis/operators.coreos.com/v1alpha1",
        "memcached": "/apis/cache.example.com/v1alpha1",
    }
    config = {
        "clusters": [{"cluster": {"server": "https://a", "certificate-authority": "ca"}}],
        "users": [{"user": {"token": "secret"}}],
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    reader = ClusterReader(tmp_path / "kubeconfig")
    discovered: list[str] = []
    served = {one: Collection(root, one, True) for one, root in groups.items()}
    monkeypatch.setattr(reader, "_discover", lambda: discovered.append("") or served)
    monkeypatch.setattr(reader, "_read", lambda _: (200, b"{}"))

    reader.get(name, "a")
    reader.get(name, "a")

    assert len(discovered) == times
