"""Does to the API server double what helm does to a cluster, for a chart of one ConfigMap.

The word `broken` as the size makes it fail; each call is a line of the file that `CALLS` names.
`stuck`: the upgrade fails after helm has begun it, and so does the rollback.
`taken` as the size: meanwhile another operator installed it; `die`: it is killed when it has begun;
`wait`: a file to wait for then.
"""

from __future__ import annotations

import base64
import gzip
import json
import os
import signal
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any


def call(method: str, path: str, body: Any = None) -> Any:
    config = json.loads(Path(os.environ["KUBECONFIG"]).read_text())
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(  # noqa: S310 - the double
        config["clusters"][0]["cluster"]["server"] + path,
        data=data,
        method=method,
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.load(answer)


def secret(name: str, revision: int, status: str, manifest: str, label: str) -> Any:
    value = {
        "name": name,
        "version": revision,
        "manifest": manifest,
        "info": {"status": status, "notes": "thank you"},
        "chart": {"metadata": {"name": "cache"}},
    }
    packed = base64.b64encode(gzip.compress(json.dumps(value).encode()))
    labels = {"owner": "helm", "name": name, "status": status, "version": str(revision)}
    if label:
        labels[label.partition("=")[0]] = label.partition("=")[2]
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"sh.helm.release.v1.{name}.v{revision}", "labels": labels},
        "data": {"release": base64.b64encode(packed).decode()},
    }


def main(words: list[str]) -> int:
    with Path(os.environ["CALLS"]).open("a") as calls:
        calls.write(" ".join(words[:2]) + (" dry" if "json" in words else "") + "\n")
    if words[0] == "version":
        sys.stdout.write("v3.22.0")
        return 0
    name, namespace = words[1], words[words.index("-n") + 1]
    secrets = f"/api/v1/namespaces/{namespace}/secrets"
    stored = call("GET", f"{secrets}?labelSelector=owner%3Dhelm,name%3D{name}")["items"]
    if words[0] == "uninstall":
        for one in stored:
            call("DELETE", f"{secrets}/{one['metadata']['name']}")
        call("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        return 0
    if words[0] == "rollback":
        sys.stderr.write("Error: the revision cannot be restored\n")
        return 1
    values = json.loads(Path(words[words.index("-f") + 1]).read_text())
    if values["size"] == "broken":
        sys.stderr.write("WARNING: noise\nError: UPGRADE FAILED: the size is broken\n")
        return 1
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {"size": values["size"]},
    }
    if values["size"] == "taken" and words[0] == "install":
        # Another operator was faster.
        call("POST", secrets, secret(name, 1, "deployed", json.dumps(config), ""))
        sys.stderr.write("Error: INSTALLATION FAILED: cannot re-use a name that is still in use\n")
        return 1
    if "json" in words:
        hidden = {"apiVersion": "v1", "kind": "Secret", "stringData": values.get("secret", {})}
        manifest = f"{json.dumps(config)}\n---\n{json.dumps(hidden)}\n"
        sys.stdout.write(
            json.dumps({"manifest": manifest if "secret" in values else json.dumps(config)})
        )
        return 0
    if values["size"] == "stuck":
        call("POST", secrets, secret(name, len(stored) + 1, "failed", json.dumps(config), ""))
        sys.stderr.write("Error: UPGRADE FAILED: the object is immutable\n")
        return 1
    if "secret" in values:
        sys.stderr.write(f"Error: the server does not accept {values['secret']}\n")
        return 1
    if any(one["metadata"]["labels"]["status"].startswith("pending") for one in stored):
        sys.stderr.write("Error: another operation (install/upgrade/rollback) is in progress\n")
        return 1
    if values.get("die"):
        status = "pending-upgrade" if stored else "pending-install"
        call("POST", secrets, secret(name, len(stored) + 1, status, json.dumps(config), ""))
        os.kill(os.getpid(), signal.SIGKILL)
    if values.get("wait"):
        Path(f"{values['wait']}.begun").touch()
        while not Path(values["wait"]).exists():
            time.sleep(0.05)
    for one in stored:
        call("DELETE", f"{secrets}/{one['metadata']['name']}")
    label = words[words.index("--labels") + 1] if "--labels" in words else ""
    call("POST", secrets, secret(name, len(stored) + 1, "deployed", json.dumps(config), label))
    place = f"/api/v1/namespaces/{namespace}/configmaps"
    if stored:
        call("PUT", f"{place}/{name}", config)
    else:
        call("POST", place, config)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
