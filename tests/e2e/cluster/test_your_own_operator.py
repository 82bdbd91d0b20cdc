"""The author's tutorial works on the cluster of `make cluster`: all its blocks run in order.

The fixture is `make cluster` itself. olmkit's own package is found as if it was in the
package index.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

NAMESPACE = "guestbook"


@pytest.fixture
def cleaned_up(cluster: Any) -> Iterator[None]:
    """Remove all objects of the page."""
    yield
    if cluster.get("namespace", NAMESPACE) is None:
        return
    # Its finalizer needs the operator.
    cluster.kubectl("delete", "guestbooks", "--all", "-n", NAMESPACE, "--timeout=20s", check=False)
    cluster.kubectl("delete", "subscription,csv,catalogsource,operatorgroup", "--all", "-n",
                    NAMESPACE, "--ignore-not-found", check=False)  # fmt: skip
    cluster.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false")


@pytest.mark.usefixtures("cleaned_up")
def test_the_tutorial_can_be_followed_to_a_subscription(
    cluster: Any,
    root: Path,
    wheels: Path,
    run_olmkit: Any,
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
            first, _, rest = text.partition("\n")
            assert first == "make cluster"  # it already runs
            reader.run(f"export OLMKIT_CLUSTER='{cluster.folder}'")
            reader.run(rest.replace(".venv/bin/python", sys.executable), folder=root)
            continue
        if where:
            run_olmkit.tell(text)
        said = reader.follow(language, text)
        if where:
            run_olmkit.tell(said)
    kinds = "crd,clusterrole,clusterrolebinding"
    eventually(
        lambda: "guestbook" not in cluster.kubectl("get", kinds, "-o", "name"),
        what="nothing is left in the cluster",
    )
