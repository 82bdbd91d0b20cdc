"""A registry that requires a password: credentials of olmkit, and a pull secret for OLM."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

PACKAGE = "memcached-operator"
CLUSTER = Path(__file__).parents[2] / "cluster"
PASSWORD = "secret"
# bcrypt of it
HASH = "$2y$05$hPy5QSEVEARTonm7ymJ9LeOhlGVL9sx5nYGT8.NLBHL2c/q3FZmM."


@pytest.fixture(scope="module")
def private_registry(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The host of such a registry, on the node."""
    folder = tmp_path_factory.mktemp("private")
    host = f"{cluster.node}:5001"
    (folder / "htpasswd").write_text(f"tester:{HASH}\n")
    config = {
        "version": 0.1,
        "storage": {"filesystem": {"rootdirectory": str(folder / "storage")}},
        "http": {"addr": host, "secret": "only for tests"},
        "auth": {"htpasswd": {"realm": "tests", "path": str(folder / "htpasswd")}},
    }
    (folder / "config.json").write_text(json.dumps(config))
    certs = cluster.folder / "certs.d" / host
    certs.mkdir(parents=True, exist_ok=True)
    (certs / "hosts.toml").write_text(
        f'server = "http://{host}"\n[host."http://{host}"]\n  capabilities = ["pull", "resolve"]\n'
    )
    words = ["docker-registry", "serve", str(folder / "config.json")]
    process = subprocess.Popen(
        [sys.executable, str(CLUSTER), "exec", *words],
        env=os.environ | {"OLMKIT_CLUSTER": str(cluster.folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    end = time.monotonic() + 30
    while not _asks_who(host):
        assert time.monotonic() < end
        time.sleep(0.1)
    yield host
    os.killpg(process.pid, signal.SIGTERM)
    process.wait()


def _asks_who(host: str) -> bool:
    try:
        urllib.request.urlopen(f"http://{host}/v2/", timeout=5)
    except urllib.error.HTTPError as error:
        return error.code == 401
    except OSError:
        return False
    return False


def test_a_bundle_in_a_private_registry_is_installed(
    cluster: Any,
    run_olmkit: Any,
    release: Any,
    private_registry: str,
    namespace: str,
    emptied: Callable[[str], None],
    tmp_path: Path,
) -> None:
    authfile = tmp_path / "auth.json"
    word = base64.b64encode(f"tester:{PASSWORD}".encode()).decode()
    authfile.write_text(json.dumps({"auths": {private_registry: {"auth": word}}}))
    bundle = run_olmkit(
        *(
            "bundle",
            "build",
            release.folders["0.0.1"],
            "-t",
            f"{private_registry}/bundle:v1",
            "--push",
        ),
        *("--authfile", authfile),
    ).strip()
    words = ["install", "--bundle", bundle, "--authfile", authfile, "-n", namespace]

    done = run_olmkit.try_("install", "--bundle", bundle, "-n", namespace, code=3)
    assert "authentication" in done.err or "401" in done.err or "credentials" in done.err
    done = run_olmkit.try_(*words, "--timeout", "40s", "--on-failure", "remove", code=3)
    assert "cannot be pulled" in done.out.splitlines()[0]
    assert "--pull-secret" in done.out

    cluster.kubectl("wait", "--for=delete", f"namespace/{namespace}", "--timeout=180s")
    cluster.kubectl("create", "namespace", namespace)
    cluster.kubectl("create", "secret", "generic", "registry", "-n", namespace,
                    "--type=kubernetes.io/dockerconfigjson",
                    f"--from-file=.dockerconfigjson={authfile}")  # fmt: skip
    run_olmkit(*words, "--pull-secret", "registry")
    run_olmkit("uninstall", PACKAGE, "-n", namespace, "--delete-crds", "--yes")
    emptied(namespace)
