"""The settings of a cluster: addresses, configuration files, and arguments of its processes.

Everything is a function of the directory of its state and of its number, so that several
clusters can run at the same time: addresses, pod and Service ranges and cgroups have the number.
Only `write` changes the machine.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NODE_NAME = "node1"
FRONT_PROXY = "front-proxy-client"
HERE = Path(__file__).resolve().parent
SLOW_MILLISECONDS = 60
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One cluster. `programs` are directories of built programs by the name of their set."""

    folder: Path
    number: int
    has_olm: bool = True
    old_etcd: bool = False  # Debian's, which does not report progress of watches
    programs: Mapping[str, Path]
    token: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def link(self) -> str:
        """Return the name of the outer end of the pair of network devices."""
        return f"olmk{self.number}"

    @property
    def outside(self) -> str:
        """Return the address of this machine in the cluster's network."""
        return f"10.98.{self.number}.1"

    @property
    def node(self) -> str:
        return f"10.98.{self.number}.2"

    @property
    def pods(self) -> str:
        return f"10.244.{self.number}.0/24"

    @property
    def services(self) -> str:
        return f"10.{112 + self.number}.0.0/16"

    @property
    def registry(self) -> str:
        return f"{self.node}:5000"

    @property
    def server(self) -> str:
        return f"https://{self.node}:6443"

    @property
    def slow_server(self) -> str:
        """Return the address at which the API server answers with a delay, for OLM."""
        return f"{self.node}:6444"

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def cgroup(self) -> str:
        return self.link

    def kubectl(self) -> list[str]:
        """Return the command line of kubectl for this cluster."""
        return [self._kubernetes, "kubectl", f"--kubeconfig={self.kubeconfig}"]

    @property
    def _kubernetes(self) -> str:
        return str(self.programs["hyperkube"] / "hyperkube")

    def facts(self) -> dict[str, Any]:
        """Return the data that users of the cluster need."""
        return {
            "kubeconfig": str(self.kubeconfig),
            "server": self.server,
            "slow_server": self.slow_server,
            "registry": self.registry,
            "node": self.node,
            "outside": self.outside,
            "folder": str(self.folder),
            "kubectl": self.kubectl(),
            "programs": {name: str(path) for name, path in self.programs.items()},
        }

    def processes(self) -> dict[str, dict[str, Any]]:
        """Return name → command and variables, in the order of starting."""
        folder, config = self.folder, f"--kubeconfig={self.kubeconfig}"
        words: dict[str, Sequence[str]] = {
            "registry": ["docker-registry", "serve", f"{folder}/registry.json"],
            "etcd": [
                "etcd" if self.old_etcd else str(self.programs["etcd"] / "etcd"),
                *(f"--data-dir={folder}/etcd", "--unsafe-no-fsync"),
                "--listen-client-urls=http://127.0.0.1:2379",
                "--advertise-client-urls=http://127.0.0.1:2379",
                "--listen-peer-urls=http://127.0.0.1:2380",
            ],
            "containerd": ["containerd", "-c", f"{folder}/containerd.toml"],
            "kube-apiserver": [self._kubernetes, "kube-apiserver", *self._apiserver_flags()],
            "kube-controller-manager": [
                *(self._kubernetes, "kube-controller-manager", config, "--leader-elect=false"),
                f"--service-account-private-key-file={folder}/sa.key",
                "--use-service-account-credentials=false",
                f"--root-ca-file={folder}/cert/apiserver.crt",
                *("--bind-address=127.0.0.1", f"--cert-dir={folder}/kcm"),
                f"--flex-volume-plugin-dir={folder}/volume-plugins",
            ],
            "kube-scheduler": [
                *(self._kubernetes, "kube-scheduler", config, "--leader-elect=false"),
                *("--bind-address=127.0.0.1", f"--cert-dir={folder}/scheduler"),
            ],
            "kubelet": [
                *(self._kubernetes, "kubelet", config, f"--config={folder}/kubelet.json"),
                *(f"--root-dir={folder}/kubelet", f"--cert-dir={folder}/kubelet/pki"),
                *(f"--hostname-override={NODE_NAME}", f"--node-ip={self.node}"),
            ],
            "kube-proxy": [
                *(self._kubernetes, "kube-proxy", f"--config={folder}/kube-proxy.json"),
                f"--hostname-override={NODE_NAME}",
            ],
            "slow-line": [
                *(sys.executable, f"{HERE}/slow_line.py", self.slow_server),
                *(self.server.removeprefix("https://"), str(SLOW_MILLISECONDS)),
            ],
            "coredns": [str(self.programs["coredns"] / "coredns"), "-conf", f"{folder}/Corefile"],
        }
        if self.has_olm:
            olm = self.programs["olm"]
            words["olm-operator"] = [f"{olm}/olm", "--namespace", "olm", "--interval", "1m"]
            words["catalog-operator"] = [
                *(f"{olm}/catalog", "--namespace", "olm", "--interval", "1m"),
                *("--kubeconfig", str(self.kubeconfig)),
                *("--opmImage", f"{self.registry}/opm:1"),
                *("--util-image", f"{self.registry}/olm:1"),
            ]
        environment = {
            "PATH": PATH,
            "HOME": str(folder),
            "KUBECONFIG": str(self.kubeconfig),
            # Each of the two needs 10 to 15% less CPU, for some memory.
            "GOGC": "400",
            "GOMAXPROCS": "1",
        }
        slow = {"KUBECONFIG": f"{folder}/slow.kubeconfig"}
        own = {"olm-operator": environment | slow}
        return {
            name: {"words": list(command), "environment": own.get(name, environment)}
            for name, command in words.items()
        }

    def _apiserver_flags(self) -> list[str]:
        folder = self.folder
        return [
            "--etcd-servers=http://127.0.0.1:2379",
            *(f"--bind-address={self.node}", f"--advertise-address={self.node}"),
            *("--secure-port=6443", f"--cert-dir={folder}/cert"),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-signing-key-file={folder}/sa.key",
            f"--service-account-key-file={folder}/sa.pub",
            f"--token-auth-file={folder}/tokens.csv",
            "--authorization-mode=RBAC",
            f"--service-cluster-ip-range={self.services}",
            "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP",
            f"--audit-policy-file={folder}/audit.json",
            f"--audit-log-path={folder}/audit.log",
            # For APIs that pods serve, such as OLM's list of packages.
            f"--requestheader-client-ca-file={folder}/front-proxy-ca.crt",
            f"--requestheader-allowed-names={FRONT_PROXY}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={folder}/front-proxy.crt",
            f"--proxy-client-key-file={folder}/front-proxy.key",
        ]


def write(settings: Settings) -> None:
    """Write all configuration files below the directory, including keys and tokens."""
    folder = settings.folder
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cni", "volume-plugins", f"certs.d/{settings.registry}"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    key = str(folder / "sa.key")
    _run("openssl", "genrsa", "-out", key, "2048")
    _run("openssl", "rsa", "-in", key, "-pubout", "-out", str(folder / "sa.pub"))
    _front_proxy(folder)
    _secret(folder / "tokens.csv", f"{settings.token},admin,1,system:masters\n")
    _secret(settings.kubeconfig, json.dumps(_kubeconfig(settings), indent=1))
    slow = _kubeconfig(settings)
    slow["clusters"][0]["cluster"]["server"] = f"https://{settings.slow_server}"
    _secret(folder / "slow.kubeconfig", json.dumps(slow, indent=1))
    for name, value in _json_files(settings).items():
        (folder / name).write_text(json.dumps(value, indent=1))
    for name, text in _text_files(settings).items():
        (folder / name).write_text(text)


def _front_proxy(folder: Path) -> None:
    """Create an authority, and a certificate with which served APIs identify the API server."""
    new = ["openssl", "req", "-newkey", "rsa:2048", "-nodes"]
    authority, own = str(folder / "front-proxy-ca"), str(folder / "front-proxy")
    _run(*new, "-x509", "-keyout", f"{authority}.key", "-out", f"{authority}.crt",
         "-days", "365", "-subj", "/CN=front-proxy-ca")  # fmt: skip
    _run(*new, "-keyout", f"{own}.key", "-out", f"{own}.csr", "-subj", f"/CN={FRONT_PROXY}")
    _run("openssl", "x509", "-req", "-in", f"{own}.csr", "-CA", f"{authority}.crt",
         "-CAkey", f"{authority}.key", "-CAcreateserial", "-days", "365",
         "-out", f"{own}.crt")  # fmt: skip


def _kubeconfig(settings: Settings) -> dict[str, Any]:
    # The server's file has its own certificate and the authority that signed it.
    cluster = {
        "server": settings.server,
        "certificate-authority": f"{settings.folder}/cert/apiserver.crt",
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": settings.token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }


def _json_files(settings: Settings) -> dict[str, Any]:
    """Return the files whose readers accept JSON as YAML."""
    folder = str(settings.folder)
    return {
        "registry.json": {
            "version": "0.1",
            "log": {"level": "warn"},
            "storage": {
                "filesystem": {"rootdirectory": f"{folder}/registry"},
                "delete": {"enabled": True},
            },
            "http": {"addr": settings.registry},
        },
        # The requests of each service account: tests compare them with its roles.
        "audit.json": {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived", "ResponseStarted"],
            "rules": [
                {"level": "Metadata", "userGroups": ["system:serviceaccounts"]},
                {"level": "None"},
            ],
        },
        "cni/10-bridge.conflist": {
            "cniVersion": "0.4.0",
            "name": "pods",
            "plugins": [
                {
                    "type": "bridge",
                    "bridge": "cni0",
                    "isGateway": True,
                    "ipMasq": False,  # pods have no access to networks outside of the machine
                    "hairpinMode": True,
                    "ipam": {
                        "type": "host-local",
                        "ranges": [[{"subnet": settings.pods}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                        "dataDir": f"{folder}/cni-ipam",
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": True}},
            ],
        },
        "kubelet.json": {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": settings.node,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{settings.cgroup}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "enforceNodeAllocatable": [],
            "containerRuntimeEndpoint": f"unix://{folder}/containerd.sock",
            "clusterDNS": [settings.node],
            "clusterDomain": "cluster.local",
            "resolvConf": "/dev/null",
            "volumePluginDir": f"{folder}/volume-plugins",
            "healthzBindAddress": "127.0.0.1",
            "evictionHard": {
                "memory.available": "50Mi",
                "nodefs.available": "1%",
                "imagefs.available": "1%",
                "nodefs.inodesFree": "1%",
            },
            "imageGCHighThresholdPercent": 100,
        },
        "kube-proxy.json": {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "bindAddress": settings.node,
            "clientConnection": {"kubeconfig": str(settings.kubeconfig)},
            "clusterCIDR": settings.pods,
            "mode": "iptables",
            "healthzBindAddress": "127.0.0.1:10256",
            "metricsBindAddress": "127.0.0.1:10249",
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        },
        "node.json": {
            "outside": settings.outside,
            "node": settings.node,
            "processes": settings.processes(),
        },
    }


def _text_files(settings: Settings) -> dict[str, str]:
    folder, registry = settings.folder, settings.registry
    return {
        f"certs.d/{registry}/hosts.toml": (
            f'server = "http://{registry}"\n'
            f'[host."http://{registry}"]\n  capabilities = ["pull", "resolve"]\n'
        ),
        "resolv.conf": (
            f"nameserver {settings.node}\nsearch svc.cluster.local cluster.local\noptions ndots:5\n"
        ),
        "Corefile": f""".:53 {{
    bind {settings.node}
    errors
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {settings.kubeconfig}
        pods insecure
    }}
    cache 5
}}
""",
        # restrict_oom_score_adj: the machine can lack CAP_SYS_RESOURCE.
        "containerd.toml": f"""version = 2
root = "{folder}/containerd/root"
state = "{folder}/containerd/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.internal.v1.opt", "io.containerd.tracing.processor.v1.otlp"]
[grpc]
  address = "{folder}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{registry}/pause:1"
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{folder}/certs.d"
""",
    }


def _secret(path: Path, text: str) -> None:
    path.touch(mode=0o600)
    path.write_text(text)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)
