"""The environment itself: pods run, names resolve, Services answer, and nothing remains."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

CLUSTER = Path(__file__).parents[2] / "cluster"


def test_a_pod_answers_through_its_service_and_resolves_names(cluster: Any) -> None:
    image = f"{cluster.registry}/busybox:1"
    page = "mkdir /tmp/www && echo hello >/tmp/www/index.html && exec httpd -f -p 8080 -h /tmp/www"
    cluster.kubectl("run", "web", f"--image={image}", "--port=8080", "--expose",
                    "--command", "--", "sh", "-c", page)  # fmt: skip
    try:
        cluster.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=180s")
        address = cluster.get("service", "web")["spec"]["clusterIP"]
        assert _read(f"http://{address}:8080/") == "hello\n"
        by_name = "http://web.default.svc:8080/"
        assert cluster.kubectl("exec", "web", "--", "wget", "-qO-", by_name) == "hello\n"
    finally:
        cluster.kubectl("delete", "pod,service", "web", "--now")


def test_the_api_server_can_be_stopped_and_started(cluster: Any) -> None:
    cluster.stop("kube-apiserver", "KILL")
    assert cluster.kubectl("get", "nodes", check=False) == ""
    cluster.start("kube-apiserver")
    end = time.monotonic() + 60
    while "Ready" not in cluster.kubectl("get", "nodes", check=False):
        assert time.monotonic() < end
        time.sleep(0.2)


def test_the_cluster_ends_with_its_stdin_and_leaves_nothing(cluster: Any) -> None:
    words = [sys.executable, str(CLUSTER), "run", "--without-olm"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        facts = json.loads(process.stdout.readline())
        folder = Path(facts["folder"])
        link = f"olmk{folder.name}"
        assert folder != cluster.folder
        assert link in {name for _, name in socket.if_nameindex()}
        process.stdin.close()
        assert process.wait(timeout=120) == 0

    assert not folder.exists()
    assert link not in {name for _, name in socket.if_nameindex()}
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{link}"))
    mounts = Path("/proc/mounts").read_text()
    assert str(folder) not in mounts


def _read(url: str) -> str:
    end = time.monotonic() + 30
    while True:
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
                return str(answer.read().decode())
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.2)
