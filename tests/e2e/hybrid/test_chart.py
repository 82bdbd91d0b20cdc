"""The chart of an overlay, rendered and installed by the real helm."""

from __future__ import annotations

import contextlib
import functools
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.jobs.project import overlay
from olmkit.kube import objects
from olmkit.project.chart import ChartRequest

pytestmark = pytest.mark.e2e

SYSTEM = "memcached-operator-system"
LABEL = "app.kubernetes.io/managed-by"
KEEP = "helm.sh/resource-policy"


@pytest.fixture(scope="module", params=["helm", "helm4"])
def helm(request: pytest.FixtureRequest, built_program: Callable[[str], str]) -> str:
    return str(Path(built_program(request.param)).parent / "helm")


def by_name(found: Any) -> dict[tuple[str, str], Any]:
    """Return the objects by kind and name, without Helm's own labels."""
    result = {}
    for one in found:
        metadata = dict(one["metadata"])
        labels = {key: value for key, value in objects.labels_of(one).items() if key != LABEL}
        notes = {key: value for key, value in objects.annotations_of(one).items() if key != KEEP}
        metadata |= {"labels": labels, "annotations": notes}
        result[one["kind"], one["metadata"]["name"]] = {**one, "metadata": metadata}
    return result


def rendered(helm: str, chart: Path, *words: str) -> dict[tuple[str, str], Any]:
    command = [helm, "template", "release", str(chart), *words]
    text = subprocess.run(command, check=True, capture_output=True).stdout
    return by_name(one.value for one in documents.load_all(text, "") if one.value)


@pytest.mark.parametrize("name", ["config/default", "config/with-webhooks"])
def test_helm_creates_the_objects_of_the_overlay(
    helm: str, root: Path, tmp_path: Path, name: str
) -> None:
    found = overlay.with_image(overlay.render(root / "operator", name), "")
    overlay.write_chart(tmp_path, Path("chart"), found, ChartRequest(name="memcached"))
    wanted = by_name(one for one in found if objects.kind(one) != "Namespace")
    assert rendered(helm, tmp_path / "chart", "-n", SYSTEM) == wanted


def test_values_change_the_fields_that_they_name(helm: str, root: Path, tmp_path: Path) -> None:
    found = overlay.with_image(overlay.render(root / "operator"), "")
    overlay.write_chart(tmp_path, Path("chart"), found, ChartRequest(name="memcached"))
    words = (
        "image.digest=sha256:abc,replicas=3,crds.enabled=false,nodeSelector.disk=ssd,"
        "tolerations[0].key=dedicated,imagePullSecrets[0].name=pull,image.pullPolicy=Always"
    )
    chart = rendered(helm, tmp_path / "chart", "-n", "123", "--set", words)
    (deployment,) = (one for (kind, _), one in chart.items() if kind == "Deployment")
    pod = deployment["spec"]["template"]["spec"]
    (manager,) = pod["containers"]
    assert deployment["spec"]["replicas"] == 3
    assert deployment["metadata"]["namespace"] == "123"
    assert manager["image"].endswith("@sha256:abc")
    assert manager["imagePullPolicy"] == "Always"
    assert pod["nodeSelector"] == {"disk": "ssd"}
    assert pod["tolerations"] == [{"key": "dedicated"}]
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    assert not [kind for kind, _ in chart if kind == "CustomResourceDefinition"]


def test_helm_lint_finds_no_error(helm: str, root: Path, tmp_path: Path) -> None:
    found = overlay.with_image(overlay.render(root / "operator"), "")
    overlay.write_chart(tmp_path, Path("chart"), found, ChartRequest(name="memcached"))
    subprocess.run([helm, "lint", "--strict", str(tmp_path / "chart")], check=True)


@contextlib.contextmanager
def _served(folder: Path) -> Iterator[str]:
    """Serve the directory over HTTP on this machine; return its URL."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_chart_can_come_from_a_repository(
    helm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two versions the newest, or the named one; also from a repository that helm knows."""
    published = tmp_path / "published"
    for version in ("1.0.0", "1.1.0"):
        subprocess.run([helm, "create", tmp_path / "site"], check=True, capture_output=True)
        package = [helm, "package", tmp_path / "site", "--version", version, "-d", published]
        subprocess.run(package, check=True, capture_output=True)
    subprocess.run([helm, "repo", "index", published], check=True)
    for name in ("CACHE", "CONFIG", "DATA"):
        monkeypatch.setenv(f"HELM_{name}_HOME", str(tmp_path / name))
    monkeypatch.setenv("PATH", f"{Path(helm).parent}:{os.environ['PATH']}")

    def create(project: str, *words: str) -> str:
        """Return the resulting version of the chart in the project."""
        folder = tmp_path / project
        folder.mkdir()
        olmkit = [sys.executable, "-m", "olmkit"]
        for more in (
            ["init", "--plugins", "helm", "--domain", "example.com"],
            ["create", "api", *words],
        ):
            subprocess.run([*olmkit, *more], cwd=folder, check=True, capture_output=True)
        described = (folder / "helm-charts/site/Chart.yaml").read_bytes()
        return str(documents.load(described, "Chart.yaml").value["version"])

    with _served(published) as url:
        assert create("newest", "--helm-chart", "site", "--helm-chart-repo", url) == "1.1.0"
        named = ("--helm-chart-repo", url, "--helm-chart-version", "1.0.0")
        assert create("named", "--helm-chart", "site", *named) == "1.0.0"
        assert create("url", "--helm-chart", f"{url}/site-1.0.0.tgz") == "1.0.0"
        subprocess.run([helm, "repo", "add", "mine", url], check=True, capture_output=True)
        assert create("known", "--helm-chart", "mine/site") == "1.1.0"
