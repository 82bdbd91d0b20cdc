"""Images of scaffolded Helm and Ansible projects: their entry point works on an API server."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from olmkit.kube.api import NoSuchKind, NotFound
from olmkit.runtime import GVK, Request
from olmkit.testing import client_for, load_manifest
from olmkit.testing.control_plane import ControlPlane

pytestmark = pytest.mark.e2e

USER = "1001:0"
NAMESPACE = "default"
MOUNTED = """
mount -t proc proc "$1/proc"
mount --rbind /dev "$1/dev"
shift
exec "$@"
"""
KIND = GVK("cache.example.com", "v1alpha1", "Memcached")


def _project(folder: Path, language: str, olmkit: Callable[..., str]) -> Path:
    olmkit("init", folder, "--plugins", language, "--domain", "example.com")
    kind = ("--group", "cache", "--version", "v1alpha1", "--kind", "Memcached")
    olmkit("create", "api", "-C", folder, *kind)
    if language == "ansible":
        (folder / "requirements.yml").write_text("collections: []\n")
    return folder


def _root(layout: Path, folder: Path) -> tuple[Path, dict[str, Any]]:
    """The files of the image in a layout, and its command."""

    def blob(digest: str) -> Path:
        return layout / "blobs" / digest.replace(":", "/")

    index = json.loads((layout / "index.json").read_bytes())
    manifest = json.loads(blob(index["manifests"][0]["digest"]).read_bytes())
    folder.mkdir()
    for one in manifest["layers"]:
        subprocess.run(["tar", "-xzf", blob(one["digest"]), "-C", folder], check=True)
    return folder, json.loads(blob(manifest["config"]["digest"]).read_bytes())["config"]


def _kubeconfig(plane: ControlPlane) -> str:
    """Return the administrator's kubeconfig with its certificate."""
    value = json.loads(plane.kubeconfig.read_bytes())
    for entry in value["clusters"]:
        certificate = Path(entry["cluster"].pop("certificate-authority")).read_bytes()
        entry["cluster"]["certificate-authority-data"] = base64.b64encode(certificate).decode()
    return json.dumps(value)


async def _create(plane: ControlPlane, config: Path, name: str) -> None:
    """Replace the CRD of another test by a new one, and create its sample with another name."""
    async with client_for(plane) as client:
        crd = load_manifest(config / "crd/bases/cache.example.com_memcacheds.yaml")
        await client.apply(crd)
        sample = dict(load_manifest(config / "samples/cache_v1alpha1_memcached.yaml"))
        sample["metadata"] = {**sample["metadata"], "namespace": NAMESPACE, "name": name}
        async with asyncio.timeout(60):
            while True:
                try:
                    await client.apply(sample)
                except (NoSuchKind, NotFound):  # not served yet
                    await asyncio.sleep(0.2)
                else:
                    return


async def _conditions(plane: ControlPlane, name: str) -> list[dict[str, Any]]:
    async with client_for(plane) as client:
        found = await client.get(KIND, Request(name, NAMESPACE))
    return found["status"]["conditions"] if found else []


@pytest.mark.parametrize("language", ["helm", "ansible"])
def test_the_entry_point_works_in_the_image(
    language: str,
    tmp_path: Path,
    olmkit: Callable[..., str],
    base_layout: str,
    own_wheel: Any,
    built_program: Callable[[str], str],
    apiserver: ControlPlane,
    missing: Callable[[str], NoReturn],
) -> None:
    if os.geteuid() or not shutil.which("chroot"):
        missing("another root needs root")
    folder = _project(tmp_path / "web", language, olmkit)
    layout = tmp_path / "image"
    more = ("--helm", built_program("helm")) if language == "helm" else ()
    olmkit(
        *("image", "build", "-C", folder, "--base", base_layout, "-t", f"oci:{layout}:v1", *more),
        **own_wheel.environment,
    )
    root, config = _root(layout, tmp_path / "root")
    assert config["User"] == USER
    asyncio.run(_create(apiserver, folder / "config", language))
    (root / "tmp").chmod(0o1777)
    (root / "tmp/kubeconfig").write_text(_kubeconfig(apiserver))
    (root / "tmp/kubeconfig").chmod(0o644)
    # In a mount namespace, so that nothing remains; ansible-runner needs terminals.
    done = subprocess.run(
        [
            *("unshare", "--mount", "--propagation", "private", "sh", "-ceu", MOUNTED, "sh", root),
            *("chroot", f"--userspec={USER}", root, "/usr/bin/env", "-i", "-C"),
            *(config["WorkingDir"], *config["Env"], "KUBECONFIG=/tmp/kubeconfig"),
            *(*config["Entrypoint"], "--once"),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    conditions = asyncio.run(_conditions(apiserver, language))
    wanted = {"helm": "Deployed", "ansible": "Successful"}[language]
    assert [one["status"] for one in conditions if one["type"] == wanted] == ["True"]
