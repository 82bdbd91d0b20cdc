"""A real Kubernetes cluster with one node on this machine, whose pods run, with OLM.

    python tests/cluster run            in the foreground until stdin ends; prints when it is ready;
                                        with --without-olm, only Kubernetes; with
                                        --old-etcd, on Debian's etcd 3.4
    python tests/cluster up | down      leaves it running for manual work, with both versions
                                        of OLM; stops it
    python tests/cluster olm-v1         adds OLM v1 to it: catalogd and operator-controller
    python tests/cluster env            prints what a shell evaluates to work with it
    python tests/cluster exec WORDS…    runs a program inside its namespaces
    python tests/cluster images FOLDER  builds OCI layouts of the images that tests use
    python tests/cluster stop NAME [SIGNAL] | start NAME    one of its processes

It needs root, and what `scripts/system-packages --e2e` and `scripts/build-programs`
install. Everything runs inside its own namespaces: nothing is bound to the machine's
addresses, and killing one process ends it all. `ready` is one line of JSON.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import select
import shlex
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import images
import settings
from settings import Settings

HERE = Path(__file__).resolve().parent
SETS = ("hyperkube", "etcd", "coredns", "olm", "opm", "catalogd", "operator-controller")
FIRST = ("registry", "etcd", "containerd", "kube-apiserver")
THEN = ("kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy", "coredns",
        "slow-line")  # fmt: skip
OLM = ("olm-operator", "catalog-operator")
NEEDED = ("containerd", "runc", "docker-registry", "iptables", "conntrack", "ip", "unshare")
START = 180.0  # seconds; a start from the cache takes 10 to 20, on a busy machine more


class ClusterError(Exception):
    """The cluster cannot run on this machine, or does not start."""


def cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or f"{os.environ.get('HOME', '/root')}/.cache"
    return Path(os.environ.get("OLMKIT_CACHE") or f"{home}/olmkit")


def missing() -> list[str]:
    """Return why no cluster can run on this machine, or an empty string."""
    if os.geteuid() != 0:
        return ["it needs root"]
    path = f"{os.environ.get('PATH', '')}:{settings.PATH}"
    reasons = [f"{name} is not here" for name in NEEDED if shutil.which(name, path=path) is None]
    reasons += [
        f"{file} is not here"
        for file in (images.BUSYBOX, Path("/usr/lib/cni/bridge"))
        if not file.exists()
    ]
    if not reasons:
        probe = ["unshare", "--mount", "--net", "--pid", "--fork", "true"]
        if subprocess.run(probe, capture_output=True, check=False).returncode:
            reasons.append("this machine does not allow new namespaces")
    return reasons


def built(*sets: str) -> dict[str, Path]:
    """Return the directories of the programs, of all sets or of these; build missing ones."""
    sets = sets or SETS
    words = ["/bin/sh", str(HERE.parents[1] / "scripts/build-programs"), *sets]
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise ClusterError("the programs of the cluster cannot be built")
    return dict(zip(sets, map(Path, done.stdout.split()), strict=True))


class Running:
    """A cluster for the duration of a block, which removes everything at its end."""

    def __init__(self, programs: dict[str, Path], *, has_olm: bool, old_etcd: bool = False) -> None:
        self._lock, number = _free_number()
        self.settings = Settings(
            folder=cache() / "clusters" / str(number),
            number=number,
            programs=programs,
            has_olm=has_olm,
            old_etcd=old_etcd,
        )
        if old_etcd and shutil.which("etcd", path=settings.PATH) is None:
            raise ClusterError("Debian's etcd is not here: run scripts/system-packages --e2e")
        self._outer: subprocess.Popen[bytes] | None = None
        self._inner = 0

    def __enter__(self) -> Running:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self) -> None:
        made, folder = self.settings, self.settings.folder
        shutil.rmtree(folder, ignore_errors=True)
        settings.write(made)
        plans = images.plans(made.programs, made.registry)
        seed = cache() / images.cache_name(plans)
        if seed.is_dir():
            subprocess.run(["cp", "-a", str(seed), str(folder / "registry")], check=True)
        _make_cgroups(made.cgroup)
        self._enter_namespaces()
        for name in FIRST:
            self.tell({"start": name})
        _until(lambda: (folder / "cert/apiserver.crt").exists(), "the certificate of the server")
        _until(lambda: get(made, "/readyz") is not None, "the API server", folder)
        for name in THEN:
            self.tell({"start": name})
        if not seed.is_dir():
            for plan in plans:
                images.push(plan, made.registry)
            _keep(folder / "registry", seed)
        if made.has_olm:
            self._install_olm()
        _until(lambda: _node_ready(made), "the node", folder)
        _until(
            lambda: get(made, "/api/v1/namespaces/default/serviceaccounts/default") is not None,
            "the service account `default`",
        )
        (folder / "facts.json").write_text(json.dumps(made.facts()))

    def _enter_namespaces(self) -> None:
        made = self.settings
        with (made.folder / "node.log").open("ab") as log:
            self._outer = subprocess.Popen(
                [
                    *("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child=KILL"),
                    *("--mount-proc", sys.executable, str(HERE / "node.py"), str(made.folder)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={"PATH": settings.PATH},
                preexec_fn=_die_with_parent,
            )
        outer = self._outer
        own = Path("/proc/self/ns/net").readlink()

        def entered() -> bool:
            children = Path(f"/proc/{outer.pid}/task/{outer.pid}/children").read_text().split()
            self._inner = int(children[0]) if children else 0
            with contextlib.suppress(OSError):
                return bool(self._inner) and Path(f"/proc/{self._inner}/ns/net").readlink() != own
            return False

        _until(entered, "the namespaces", made.folder)
        (made.folder / "pid").write_text(f"{self._inner}\n")
        _remove_link(made.link)
        _run("ip", "link", "add", made.link, "type", "veth", "peer", "name", "node0",
             "netns", str(self._inner))  # fmt: skip
        _run("ip", "addr", "add", f"{made.outside}/24", "dev", made.link)
        _run("ip", "link", "set", made.link, "up")
        for network in (made.services, made.pods):
            _run("ip", "route", "add", network, "via", made.node)
        _until(lambda: (made.folder / "control").exists(), "the node's socket", made.folder)

    def _install_olm(self) -> None:
        made = self.settings
        kubectl = made.kubectl()
        _run(*kubectl, "apply", "--server-side", "-f", f"{made.programs['olm']}/crds")
        _run(*kubectl, "wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        for namespace in ("olm", "operators"):
            _run(*kubectl, "create", "namespace", namespace)
        group = {
            "apiVersion": "operators.coreos.com/v1",
            "kind": "OperatorGroup",
            "metadata": {"name": "global-operators", "namespace": "operators"},
            "spec": {},
        }
        _run(*kubectl, "create", "-f", "-", text=json.dumps(group))
        _until(lambda: _listens(made.slow_server), "the slow line to the API server", made.folder)
        for name in OLM:
            self.tell({"start": name})

    def tell(self, request: dict[str, Any]) -> Any:
        return tell(self.settings.folder, request)

    def stop(self) -> None:
        """Stop all processes, and remove all files."""
        inner, outer = self._inner, self._outer
        if inner:
            with contextlib.suppress(ProcessLookupError):
                os.kill(inner, signal.SIGKILL)
        if outer is not None:
            outer.kill()
            outer.wait()
        while inner and Path(f"/proc/{inner}").exists():
            time.sleep(0.02)
        _remove_link(self.settings.link)
        _remove_cgroups(self.settings.cgroup)
        if not os.environ.get("OLMKIT_KEEP_CLUSTER"):
            shutil.rmtree(self.settings.folder, ignore_errors=True)
        self._lock.close()


def tell(folder: Path, request: dict[str, Any]) -> Any:
    """Send a request to the node, through its socket."""
    descriptor = os.open(folder, os.O_PATH)
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            connection.connect(f"/proc/self/fd/{descriptor}/control")
            connection.sendall(json.dumps(request).encode() + b"\n")
            return json.loads(connection.makefile("rb").readline())
    finally:
        os.close(descriptor)


def get(made: Settings, path: str) -> bytes | None:
    """Return the response of the API server, or None if it does not respond or refuses."""
    context = ssl._create_unverified_context()  # noqa: S323, SLF001 - made at this start
    headers = {"Authorization": f"Bearer {made.token}"}
    request = urllib.request.Request(made.server + path, headers=headers)  # noqa: S310
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    try:
        with opener.open(request, timeout=5) as answer:
            return bytes(answer.read())
    except OSError:
        return None


def _listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
    except OSError:
        return False
    return True


def _node_ready(made: Settings) -> bool:
    answer = get(made, f"/api/v1/nodes/{settings.NODE_NAME}")
    conditions = json.loads(answer)["status"].get("conditions", ()) if answer else ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _remove_link(name: str) -> None:
    """Remove this end of the link, if it exists: the kernel needs time for both ends."""
    subprocess.run(["ip", "link", "delete", name], capture_output=True, check=False)


def _free_number() -> tuple[IO[str], int]:
    """Return the lowest number that no other cluster of this machine has, and its lock."""
    for number in range(1, 100):
        lock = Path(f"/run/lock/olmkit-cluster-{number}").open("w")  # noqa: SIM115 - held as long as the cluster
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        return lock, number
    raise ClusterError("too many clusters run here")


def _controllers() -> Iterator[Path]:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        yield root
        return
    yield from (folder for folder in root.iterdir() if folder.is_dir() and not folder.is_symlink())


def _make_cgroups(name: str) -> None:
    for controller in _controllers():
        if (controller / "cgroup.controllers").exists():
            with contextlib.suppress(OSError):
                (controller / "cgroup.subtree_control").write_text("+cpu +cpuset +memory +pids")
        folder = controller / name
        with contextlib.suppress(OSError):
            folder.mkdir(exist_ok=True)
        for file in ("cpuset.cpus", "cpuset.mems"):  # empty in a new directory of the first version
            if (folder / file).exists() and controller.name == "cpuset":
                (folder / file).write_text((controller / file).read_text())


def _remove_cgroups(name: str) -> None:
    for controller in _controllers():
        for _ in range(50):
            for folder, _folders, _files in os.walk(controller / name, topdown=False):
                with contextlib.suppress(OSError):
                    Path(folder).rmdir()
            if not (controller / name).exists():
                break
            time.sleep(0.05)


def _keep(folder: Path, seed: Path) -> None:
    fresh = seed.with_name(f"{seed.name}.{os.getpid()}")
    subprocess.run(["cp", "-a", str(folder), str(fresh)], check=True)
    try:
        fresh.rename(seed)
    except OSError:  # another run was faster
        shutil.rmtree(fresh)


def _until(done: Any, what: str, folder: Path | None = None) -> None:
    end = time.monotonic() + START
    while not done():
        if time.monotonic() > end:
            where = f"; the logs are in {folder}" if folder else ""
            raise ClusterError(f"{what} did not get ready in {START:.0f} seconds{where}")
        time.sleep(0.05)


def _run(*words: str, text: str = "") -> None:
    environment = {"PATH": settings.PATH, "HOME": str(cache())}
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, check=False, env=environment
    )
    if done.returncode:
        raise ClusterError(f"`{' '.join(words[:4])} …`: {done.stderr.strip()[-2000:]}")


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def run(*, detached: bool, has_olm: bool, old_etcd: bool) -> None:
    """Start the cluster, report it, and stop it when the input ends or on a signal."""
    waker, wake = os.pipe()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: os.write(wake, b"x"))
    with Running(built(), has_olm=has_olm, old_etcd=old_etcd) as cluster:
        sys.stdout.write(json.dumps(cluster.settings.facts()) + "\n")
        sys.stdout.flush()
        readers: list[Any] = [waker] if detached else [waker, sys.stdin.fileno()]
        select.select(readers, [], [])


def up() -> dict[str, Any]:
    """Start a cluster that continues to run when this process ends."""
    record = _record()
    if record is not None:
        sys.stderr.write("it has been up already\n")
        return json.loads(record["facts"])  # type: ignore[no-any-return]
    built()  # before the log is redirected: it can take long, and reports progress
    sys.stderr.write("bringing the cluster up, which takes ten seconds and more\n")
    home = cache()
    home.mkdir(parents=True, exist_ok=True)
    with (home / "cluster.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(HERE), "run", "--detached"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert process.stdout is not None
    line = process.stdout.readline().decode()
    if not line:
        words = (home / "cluster.log").read_text(errors="replace")
        raise ClusterError(f"the cluster did not come up:\n{words[-2000:]}")
    (home / "cluster.json").write_text(json.dumps({"pid": process.pid, "facts": line}))
    install_olm_v1(json.loads(line))
    return json.loads(line)  # type: ignore[no-any-return]


def down() -> bool:
    """Stop the cluster that `up` has started."""
    record = _record()
    if record is None:
        return False
    os.kill(record["pid"], signal.SIGTERM)
    while Path(f"/proc/{record['pid']}").exists():
        with contextlib.suppress(ChildProcessError):
            os.waitpid(record["pid"], os.WNOHANG)
        time.sleep(0.05)
    (cache() / "cluster.json").unlink()
    return True


def install_olm_v1(facts: dict[str, Any]) -> None:
    """Add OLM v1 to a running cluster, and wait until its controllers are ready."""
    import olm_v1  # it needs olmkit's packages, which a cluster without OLM v1 does not

    words = facts["kubectl"]
    programs = {name: Path(path) for name, path in facts["programs"].items()}
    there = subprocess.run(
        [*words, "get", "deployment", olm_v1.CONTROLLER, "-n", olm_v1.SYSTEM],
        capture_output=True,
        check=False,
    )
    if there.returncode:  # certificates are new each time, and old ones would still be in use
        found = olm_v1.as_list(olm_v1.manifests(programs, facts["registry"]))
        label = "node-role.kubernetes.io/control-plane="
        _run(*words, "label", "node", settings.NODE_NAME, label, "--overwrite")
        _run(*words, "apply", "--server-side", "-f", "-", text=found)
    for name in (olm_v1.CATALOGD, olm_v1.CONTROLLER):
        _run(*words, "rollout", "status", "-n", olm_v1.SYSTEM, f"deployment/{name}",
             "--timeout=180s")  # fmt: skip


def _record() -> dict[str, Any] | None:
    file = cache() / "cluster.json"
    if not file.exists():
        return None
    record: dict[str, Any] = json.loads(file.read_text())
    try:
        words = Path(f"/proc/{record['pid']}/cmdline").read_bytes()
    except OSError:
        words = b""
    if b"--detached" not in words.split(b"\0"):
        file.unlink()
        return None
    return record


def _folder() -> Path:
    record = _record()
    named = os.environ.get("OLMKIT_CLUSTER")
    if named:
        return Path(named)
    if record is None:
        raise ClusterError("no cluster is running: `make cluster`")
    return Path(json.loads(record["facts"])["folder"])


def explain(facts: dict[str, Any]) -> str:
    kubectl = " ".join(facts["kubectl"][:2])
    return f"""The cluster is up.

  eval "$({sys.executable} {HERE} env)"       # KUBECONFIG, R (the registry), OLMKIT_PLAIN_HTTP
  {kubectl} get pods -A

  registry, without encryption:   {facts["registry"]}   (olmkit: OLMKIT_PLAIN_HTTP=1)
  this machine, for its pods:     {facts["outside"]}
  logs of its processes:          {facts["folder"]}/*.log

`make cluster-down` ends it."""


def variables() -> str:
    """Return what a shell evaluates to use the cluster: `eval "$(python tests/cluster env)"`."""
    facts = json.loads((_folder() / "facts.json").read_text())
    values = {
        "KUBECONFIG": facts["kubeconfig"],
        "R": facts["registry"],
        "OLMKIT_PLAIN_HTTP": "1",
    }
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def main(words: list[str]) -> int:
    if words[-1:] in (["-h"], ["--help"]) and words[0] != "exec":
        sys.stdout.write(f"{__doc__}\n")
        return 0
    try:
        match words:
            case ["check"]:
                reasons = missing()
                sys.stdout.write("\n".join(reasons) + "\n" if reasons else "")
                return 1 if reasons else 0
            case ["run", *rest]:
                refuse_when_missing()
                run(
                    detached="--detached" in rest,
                    has_olm="--without-olm" not in rest,
                    old_etcd="--old-etcd" in rest,
                )
            case ["up"]:
                refuse_when_missing()
                sys.stdout.write(explain(up()) + "\n")
            case ["olm-v1"]:
                install_olm_v1(json.loads((_folder() / "facts.json").read_text()))
            case ["env"]:
                sys.stdout.write(variables())
            case ["down"]:
                sys.stdout.write("The cluster is down.\n" if down() else "No cluster was up.\n")
            case ["exec", *command]:
                inner = (_folder() / "pid").read_text().strip()
                nsenter = ["nsenter", "-t", inner, "-m", "-n", "-p", "--", *command]
                return subprocess.run(nsenter, check=False).returncode
            case ["images", folder]:
                for plan in images.plans(built("olm", "opm"), ""):
                    images.layout(plan, Path(folder) / plan.name)
            case ["start", name]:
                tell(_folder(), {"start": name})
            case ["stop", name, *rest]:
                number = getattr(signal, f"SIG{rest[0]}") if rest else signal.SIGTERM
                tell(_folder(), {"stop": name, "signal": int(number)})
            case _:
                sys.stderr.write(f"{__doc__}\n")
                return 2
    except ClusterError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def refuse_when_missing() -> None:
    reasons = missing()
    if reasons:
        raise ClusterError("no cluster can run here: " + "; ".join(reasons))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
