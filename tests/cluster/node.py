"""The node: process 1 of a cluster's own mount, network and process namespaces.

    node.py FOLDER

Mounts private directories, waits for its network device, and then executes requests
from a socket: start a process, stop it, list processes. When it ends, everything that
it started ends with it: containers, mounts, devices and rules of the firewall.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PRIVATE = ("/var/lib/cni", "/var/lib/kubelet", "/var/log/pods", "/var/log/containers")


class Node:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._settings: dict[str, Any] = json.loads((folder / "node.json").read_text())
        self._running: dict[str, int] = {}
        self._ended: dict[int, int] = {}

    def prepare(self) -> None:
        run("mount", "--make-rshared", "/")
        run("mount", "-t", "tmpfs", "run", "/run")
        Path("/run/lock").mkdir()
        for path in PRIVATE:
            mine = Path(f"{self._folder}/bind{path}")
            mine.mkdir(parents=True, exist_ok=True)
            Path(path).mkdir(parents=True, exist_ok=True)
            run("mount", "--bind", str(mine), path)
        run("ip", "link", "set", "lo", "up")
        while not Path("/sys/class/net/node0").exists() and not self._has_device():
            time.sleep(0.02)
        run("ip", "addr", "add", f"{self._settings['node']}/24", "dev", "node0")
        run("ip", "link", "set", "node0", "up")
        run("ip", "route", "add", "default", "via", self._settings["outside"])
        run("mount", "--bind", str(self._folder / "resolv.conf"), "/etc/resolv.conf")

    @staticmethod
    def _has_device() -> bool:
        # /sys still shows the devices of the namespace in which it was mounted.
        return any(name == "node0" for _, name in socket.if_nameindex())

    def serve(self) -> None:
        """Answer one request per connection, forever."""
        os.chdir(self._folder)  # the path of a socket must be short
        signal.signal(signal.SIGCHLD, lambda *_: None)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind("control")
            listener.listen()
            listener.settimeout(0.2)
            while True:
                try:
                    connection, _ = listener.accept()
                except TimeoutError:
                    self._reap()
                    continue
                with connection:
                    connection.settimeout(60)
                    request = json.loads(connection.makefile("rb").readline())
                    connection.sendall(json.dumps(self._answer(request)).encode() + b"\n")

    def _answer(self, request: dict[str, Any]) -> Any:
        self._reap()
        match request:
            case {"start": name} if name in self._settings["processes"]:
                if name not in self._running:
                    self._running[name] = self._start(name)
                return self._running[name]
            case {"stop": name, "signal": number}:
                return self._stop(name, number)
            case {"running": _}:
                return self._running
        return None

    def _start(self, name: str) -> int:
        process = self._settings["processes"][name]
        with (self._folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(
                process["words"],
                env=process["environment"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            ).pid

    def _stop(self, name: str, number: int) -> bool:
        pid = self._running.get(name)
        if pid is None:
            return False
        os.kill(pid, number)
        while name in self._running:
            time.sleep(0.02)
            self._reap()
        return True

    def _reap(self) -> None:
        """Reap ended children, including the shims of containers."""
        while True:
            try:
                pid, _ = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for name, running in list(self._running.items()):
                if running == pid:
                    del self._running[name]


def run(*words: str) -> None:
    subprocess.run(words, check=True)


if __name__ == "__main__":
    node = Node(Path(sys.argv[1]))
    node.prepare()
    node.serve()
