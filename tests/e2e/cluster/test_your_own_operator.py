"""The author's tutorial is true on the cluster of `make cluster`: all its blocks are run in order.

What `make cluster` says on another machine stands in the page; here it is what this cluster
says. olmkit's own package is found as if it lay in the package index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

NAMESPACE = "guestbook"
PLACES = {"/root/.cache/olmkit/clusters/1/kubeconfig": "kubeconfig", "10.98.1.2:5000": "registry"}


@pytest.fixture
def swept(cluster: Any) -> Iterator[None]:
    """Nothing of the page is left, however far it went."""
    yield
    if cluster.get("namespace", NAMESPACE) is None:
        return
    # Its finalizer needs the operator.
    cluster.kubectl("delete", "guestbooks", "--all", "-n", NAMESPACE, "--timeout=20s", check=False)
    cluster.kubectl("delete", "subscription,csv,catalogsource,operatorgroup", "--all", "-n",
                    NAMESPACE, "--ignore-not-found", check=False)  # fmt: skip
    cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")


@pytest.mark.usefixtures("swept")
def test_the_tutorial_can_be_followed_to_a_subscription(
    cluster: Any,
    root: Path,
    wheels: Path,
    typist: Any,
    reader_of: Callable[[Path], Any],
    eventually: Callable[..., Any],
) -> None:
    reader = reader_of(root / "docs/your-own-operator.md")
    assert [where for _, where, _ in reader.blocks].count("cluster") > 10
    words = " ".join(f"'{word}'" for word in cluster.words)
    reader.tool("kubectl", f'exec {words} "$@"')
    reader.run(f"export UV_FIND_LINKS='{wheels}'")
    for language, where, text in reader.blocks:
        if where == "checkout":
            reader.run(_on_this_cluster(text, cluster), folder=root)
            continue
        if where:
            typist.tell(text)
        said = reader.follow(language, text)
        if where:
            typist.tell(said)
    kinds = "crd,clusterrole,clusterrolebinding"
    eventually(
        lambda: "guestbook" not in cluster.kubectl("get", kinds, "-o", "name"),
        what="nothing is left in the cluster",
    )


def _on_this_cluster(text: str, cluster: Any) -> str:
    first, *exports = text.splitlines()
    assert first == "make cluster"  # it is up already
    script = "\n".join(exports)
    for place, name in PLACES.items():
        assert place in script
        script = script.replace(place, str(getattr(cluster, name)))
    return script
