"""Prints the output of ansible-runner for a play that the spec of the object describes.

`fail`: the message of a failure; `hang`: seconds; `secret`: the name of a Secret to read and print;
`config`: the name of a ConfigMap to create; `again`: when to run again; `die`: ends itself;
`wait`: a file to wait for.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[2])


def call(method: str, path: str, body: Any = None) -> Any:
    config = json.loads(Path(os.environ["K8S_AUTH_KUBECONFIG"]).read_text())
    request = urllib.request.Request(  # noqa: S310 - the proxy
        config["clusters"][0]["cluster"]["server"] + path,
        data=None if body is None else json.dumps(body).encode(),
        method=method,
        headers={"Content-Type": "application/json", "Authorization": "Bearer of-the-run"},
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310
        return json.load(answer)


def say(type_: str, **data: Any) -> None:
    line = {"event": type_, "created": "2026-01-02T03:04:05.5+00:00", "event_data": data}
    print(json.dumps(line), flush=True)  # noqa: T201 - what is read


def run_scenario(spec: dict[str, Any], namespace: str) -> str:
    """Return the message of a failure, or an empty string."""
    if spec.get("hang"):
        # Its own child survives, unless the session ends.
        child = subprocess.Popen(["sleep", str(spec["hang"])])
        (FOLDER.parent / "child").write_text(str(child.pid))
        time.sleep(spec["hang"])
    if spec.get("wait"):
        (FOLDER.parent / "waits").write_text(str(os.getpid()))
        while not Path(spec["wait"]).exists():
            time.sleep(0.05)
    if spec.get("die"):
        os.kill(os.getpid(), signal.SIGKILL)
    if spec.get("config"):
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": spec["config"]},
            "data": {"a": "b"},
        }
        try:
            call("POST", f"/api/v1/namespaces/{namespace}/configmaps", body)
        except urllib.error.HTTPError as error:
            return f"{error.code}: {json.load(error)['message']}"
        except urllib.error.URLError as error:
            return str(error)
    if spec.get("secret"):
        found = call("GET", f"/api/v1/namespaces/{namespace}/secrets/{spec['secret']}")
        say("runner_on_ok", task="read", task_action="debug", res={"msg": found["data"]})
        shown = {"event": "verbose", "stdout": f"read {found['data']['password']}"}
        print(json.dumps(shown), flush=True)  # noqa: T201 - what is read
        left = FOLDER / "artifacts" / sys.argv[4]
        left.mkdir(parents=True, exist_ok=True)
        (left / "stdout").write_text(json.dumps(found["data"]))
        if spec.get("fail"):
            return f"{spec['fail']}: {found['data']['password']}"
    return str(spec.get("fail") or "")


def main() -> None:
    with (FOLDER.parent / "calls").open("a") as calls:
        calls.write(" ".join(sys.argv[5:]) + "\n")
    variables: dict[str, Any] = {}
    for name in ("extravars", "trusted"):
        text = (FOLDER / "env" / name).read_text().removeprefix("---\n").removeprefix("!unsafe ")
        variables |= json.loads(text)
    (FOLDER.parent / "variables").write_text(json.dumps(variables))
    spec = variables["_demo_example_com_cache_spec"]
    say("playbook_on_start", playbook="x")
    message = run_scenario(spec, variables["ansible_operator_meta"]["namespace"])
    failed = int(bool(message))
    if message:
        say("runner_on_failed", task="it", task_action="fail", res={"msg": message})
    if spec.get("again"):
        say("runner_on_ok", task_action="requeue_after", res={"period": spec["again"]})
    say("playbook_on_stats", ok={"localhost": 2}, failures={"localhost": failed})
    sys.exit(2 * failed)


main()
