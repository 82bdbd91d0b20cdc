"""Failures while a command waits: it continues, or it reports an error."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"


class RunningCommand:
    """A running command whose output is read line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.said: list[str] = []

    def until(self, words: str) -> None:
        """Read until a line contains this text."""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.said.append(line)
            if words in line:
                return
        raise AssertionError("".join(self.said))

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """Read the rest; return the exit code."""
        assert self._process.stdout is not None
        with self._process:
            self.said += self._process.stdout
        return self._process.returncode

    @property
    def text(self) -> str:
        return "".join(self.said)


@pytest.fixture(scope="module")
def catalog(cluster: Any, run_olmkit: Any, catalog_of: Callable[..., Path]) -> str:
    tag = f"{cluster.registry}/catalog:faults"
    run_olmkit("catalog", "build", catalog_of("0.0.1"), "-t", tag, "--push")
    return tag


@pytest.fixture
def installing(run_olmkit: Any, catalog: str, namespace: str) -> Iterator[RunningCommand]:
    """An install that has just begun."""
    words = ["install", PACKAGE, "--catalog", catalog, "-n", namespace]
    process = run_olmkit.start(*words)
    yield RunningCommand(process)
    process.kill()
    with process:  # its end was already read, or is not needed
        pass
    run_olmkit.try_("uninstall", PACKAGE, "-n", namespace, "--delete-crds", "--yes", code=None)


def test_a_restarting_api_server_is_waited_for(cluster: Any, installing: RunningCommand) -> None:
    installing.until("created Subscription")
    cluster.stop("kube-apiserver", "KILL")
    installing.until("trying again")
    cluster.start("kube-apiserver")

    assert installing.end() == 0, installing.text
    assert "the API server answers again" in installing.text


def test_an_unreachable_registry_is_waited_for(cluster: Any, installing: RunningCommand) -> None:
    installing.until("created CatalogSource")
    cluster.stop("registry")
    try:
        time.sleep(30)
    finally:
        cluster.start("registry")

    assert installing.end() == 0, installing.text


def test_a_killed_pod_of_a_catalog_is_replaced(
    cluster: Any, installing: RunningCommand, namespace: str, eventually: Callable[..., Any]
) -> None:
    installing.until("created Subscription")
    label = "olm.catalogSource"
    eventually(lambda: cluster.list("pods", "-n", namespace, "-l", label), what="a pod")
    cluster.kubectl("delete", "pod", "-n", namespace, "-l", label, "--now")

    assert installing.end() == 0, installing.text


@pytest.mark.parametrize("moment", ["created Subscription", "is being unpacked"])
def test_an_interrupted_install_can_be_uninstalled(
    cluster: Any,
    run_olmkit: Any,
    catalog: str,
    namespace: str,
    emptied: Callable[[str], None],
    moment: str,
) -> None:
    kept = RunningCommand(
        run_olmkit.start("install", PACKAGE, "--catalog", catalog, "-n", namespace)
    )
    kept.until(moment)
    kept.interrupt()

    assert kept.end() == 130
    assert f"`olmkit uninstall {PACKAGE} -n {namespace}` removes them" in kept.text
    assert cluster.get("subscription", PACKAGE, "-n", namespace)
    run_olmkit("uninstall", PACKAGE, "-n", namespace, "--delete-crds", "--yes")
    emptied(namespace)


def test_an_interrupted_install_is_reverted_on_request(
    cluster: Any, run_olmkit: Any, catalog: str, namespace: str, eventually: Callable[..., Any]
) -> None:
    words = ["install", PACKAGE, "--catalog", catalog, "-n", namespace, "--on-failure", "remove"]
    removed = RunningCommand(run_olmkit.start(*words))
    removed.until("created Subscription")
    removed.interrupt()

    assert removed.end() == 130
    assert "reverted Subscription" in removed.text
    for kind in ("subscription", "catalogsource", "operatorgroup"):
        eventually(lambda kind=kind: not cluster.list(kind, "-n", namespace), what=kind)
