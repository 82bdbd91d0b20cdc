"""Read the address of a cluster and the user's credentials.

Reads kubeconfig files as kubectl does (several merged, the first value wins, relative paths
relative to their file) or, inside a pod, the service account. Credentials are a small separate
object, because tokens rotate and credentials of exec plug-ins expire. Messages contain no secrets.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import os
import ssl
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from olmkit.base.diagnostics import ConfigurationError, OlmkitError
from olmkit.edges import disk
from olmkit.edges.cluster.credentials import (
    BasicCredentials,
    ClusterCredentials,
    ExecCredentials,
    NoCredentials,
    TokenCredentials,
    TokenFileCredentials,
)

_IN_HEADER_NAMES = "!#$&'*+-.^_`|~"
SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterConfig:
    """The address of the API server, the trusted CA, and the user's credentials."""

    server: str
    credentials: ClusterCredentials = field(default_factory=NoCredentials)
    namespace: str = "default"
    ca: bytes | None = None
    ca_file: Path | None = None  # the origin of `ca`, if it may be renewed there
    insecure: bool = False
    server_name: str | None = None
    client_certificate: bytes | None = None
    client_key: bytes | None = field(default=None, repr=False)
    proxy: str | None = None
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = ()
    name: str = ""

    def authority(self) -> bytes | None:
        """Return the current CA; if its file cannot be read, the last one."""
        if self.ca_file is None:
            return self.ca
        try:
            return disk.read_file(self.ca_file) or self.ca
        except OlmkitError:
            return self.ca

    def ssl_context(self, certificate: tuple[bytes, bytes] | None = None) -> ssl.SSLContext | None:
        """Return the TLS configuration; None for a plain HTTP server.

        Raises `ConfigurationError` if a certificate or key cannot be used.
        """
        if not self.server.startswith("https:"):
            return None
        try:
            found = self.authority()
            authority = found.decode() if found is not None else None
            if authority == "":
                raise ValueError("else the system's authorities would be trusted")
            context = ssl.create_default_context(cadata=authority)
        except (ssl.SSLError, UnicodeDecodeError, ValueError) as error:
            raise ConfigurationError(
                f"the certificate authority of cluster `{self.name}` is not a PEM certificate"
            ) from error
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if certificate is None and self.client_certificate and self.client_key:
            certificate = (self.client_certificate, self.client_key)
        if certificate is not None:
            _load_pair(context, *certificate)
        return context


class NoClusterError(ConfigurationError):
    """No cluster is configured: neither a kubeconfig nor a service account was found."""


def load(
    *,
    paths: Sequence[Path] = (),
    context: str = "",
    environment: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
) -> ClusterConfig:
    """Return the configuration that kubectl would use.

    `paths`, else `KUBECONFIG`, else the service account of the pod, else `~/.kube/config`. Raises
    `NoClusterError` if there is none, and `ConfigurationError` if it is invalid.
    """
    environment = os.environ if environment is None else environment
    if not paths and environment.get("KUBECONFIG"):
        paths = [Path(part) for part in environment["KUBECONFIG"].split(os.pathsep) if part]
        existing = [path for path in paths if path.exists()]
        if not existing:
            raise ConfigurationError(
                f"no kubeconfig at `{environment['KUBECONFIG']}`",
                hint="correct the variable `KUBECONFIG`, or unset it",
            )
        paths = existing
    if not paths:
        if "KUBERNETES_SERVICE_HOST" in environment and (service_account / "token").exists():
            return load_in_cluster(environment, service_account)
        home = Path(environment.get("HOME") or "/") / ".kube" / "config"
        if not home.exists():
            raise NoClusterError(
                "no cluster is configured: there is no kubeconfig, and olmkit does not run "
                "in a pod",
                hint="name a kubeconfig with `--kubeconfig` or the variable `KUBECONFIG`",
            )
        paths = [home]
    return _from_files(paths, context)


def with_context(context: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Return `KUBECONFIG` with a first file that only names the context, written to `folder`."""
    file = folder / "context"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Config", "current-context": context}))
    home = Path(environment.get("HOME") or "/") / ".kube" / "config"
    return os.pathsep.join([str(file), environment.get("KUBECONFIG") or str(home)])


def load_in_cluster(
    environment: Mapping[str, str], service_account: Path = SERVICE_ACCOUNT
) -> ClusterConfig:
    """Return the API server and service account of the current pod."""
    host = environment["KUBERNETES_SERVICE_HOST"]
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    namespace = "default"
    if (service_account / "namespace").exists():
        namespace = disk.read_file(service_account / "namespace").decode().strip() or namespace
    return ClusterConfig(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        credentials=TokenFileCredentials(service_account / "token"),
        namespace=namespace,
        ca=disk.read_file(service_account / "ca.crt"),
        ca_file=service_account / "ca.crt",
        name="in-cluster",
    )


def _from_files(paths: Sequence[Path], context_name: str) -> ClusterConfig:
    merged = _MergedConfig(paths)
    context_name = context_name or merged.current
    if not context_name:
        raise ConfigurationError(
            f"{merged.names} has no current context",
            hint="choose one with `--context` or `kubectl config use-context`",
        )
    context, _ = merged.entry("contexts", "context", context_name)
    cluster, cluster_file = merged.entry("clusters", "cluster", str(context.get("cluster") or ""))
    user: Mapping[str, Any] = {}
    user_file = cluster_file
    if context.get("user"):
        user, user_file = merged.entry("users", "user", str(context["user"]))
    server = str(cluster.get("server") or "").rstrip("/")
    if not _is_url(server):
        raise ConfigurationError(f"cluster `{context.get('cluster')}` has no `server` URL")
    proxy = str(cluster["proxy-url"]) if cluster.get("proxy-url") else None
    if proxy is not None and not _is_url(proxy):
        raise ConfigurationError(
            f"the `proxy-url` of cluster `{context.get('cluster')}` is not a URL of an HTTP proxy"
        )
    return ClusterConfig(
        server=server,
        credentials=_credentials(user, user_file, cluster, str(context.get("user"))),
        namespace=str(context.get("namespace") or "default"),
        ca=_data(cluster, "certificate-authority", cluster_file),
        insecure=_flag(cluster, "insecure-skip-tls-verify"),
        server_name=str(cluster["tls-server-name"]) if cluster.get("tls-server-name") else None,
        client_certificate=_data(user, "client-certificate", user_file),
        client_key=_data(user, "client-key", user_file),
        proxy=proxy,
        headers=tuple(_impersonation(user)),
        name=str(context.get("cluster") or ""),
    )


def _content(path: Path) -> Any:
    """Return the content of a kubeconfig file; JSON needs no YAML library."""
    data = disk.read_file(path)
    if data.lstrip().startswith(b"{"):
        with contextlib.suppress(ValueError, RecursionError):  # flow style of YAML begins so, too
            return json.loads(data)
    # Imported here, because a pod has no such file and does not need the YAML libraries.
    from olmkit.base import documents

    return documents.load(data, str(path)).value


class _MergedConfig:
    """Several kubeconfig files; for each name, the first file that has it wins."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self.names = ", ".join(f"`{path}`" for path in paths)
        self.current = ""
        self._files: list[tuple[Mapping[str, Any], Path]] = []
        for path in paths:
            value = _content(path)
            if value is None:
                value = {}
            if not isinstance(value, dict):
                raise ConfigurationError(f"`{path}` is not a kubeconfig")
            self._files.append((value, path))
            self.current = self.current or str(value.get("current-context") or "")

    def entry(self, section: str, part: str, name: str) -> tuple[Mapping[str, Any], Path]:
        known: list[str] = []
        for value, path in self._files:
            entries = value.get(section)
            for entry in entries if isinstance(entries, list) else []:
                if not isinstance(entry, dict):
                    continue
                known.append(str(entry.get("name")))
                if entry.get("name") == name:
                    content = entry.get(part)
                    return (content if isinstance(content, dict) else {}), path
        listed = ", ".join(f"`{other}`" for other in known) or "none"
        raise ConfigurationError(
            f"{self.names} has no {part} `{name}`", hint=f"it has these: {listed}"
        )


def _flag(entry: Mapping[str, Any], key: str) -> bool:
    """Return a flag; false when it is absent. Text such as `"false"` is refused, as by kubectl."""
    value = entry.get(key)
    if value is not None and not isinstance(value, bool):
        raise ConfigurationError(
            f"`{key}` in the kubeconfig must be `true` or `false`", hint="remove the quotes"
        )
    return value is True


def _credentials(
    user: Mapping[str, Any], file: Path, cluster: Mapping[str, Any], name: str
) -> ClusterCredentials:
    if isinstance(user.get("exec"), dict):
        return ExecCredentials(
            user["exec"], folder=file.parent, cluster=_cluster_info(cluster, file), user=name
        )
    if user.get("tokenFile"):  # it is renewed, so it takes precedence over a static token
        return TokenFileCredentials(_beside(str(user["tokenFile"]), file))
    if user.get("token"):
        return TokenCredentials(str(user["token"]))
    if user.get("username"):
        return BasicCredentials(str(user["username"]), str(user.get("password") or ""))
    if user.get("auth-provider"):
        raise ConfigurationError(
            f"user `{name}` uses an auth provider, which Kubernetes removed in 1.26",
            hint="use the provider's exec plug-in instead",
        )
    return NoCredentials()


def _cluster_info(cluster: Mapping[str, Any], file: Path) -> dict[str, Any]:
    """Return the cluster information for an exec plug-in (client.authentication.k8s.io)."""
    info = {
        key: cluster[key]
        for key in ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
        if key in cluster
    }
    ca = _data(cluster, "certificate-authority", file)
    if ca is not None:
        info["certificate-authority-data"] = base64.b64encode(ca).decode()
    extensions = cluster.get("extensions")
    for extension in extensions if isinstance(extensions, list) else []:
        if isinstance(extension, dict) and extension.get("name") == (
            "client.authentication.k8s.io/exec"
        ):
            info["config"] = extension.get("extension")
    return info


def _data(source: Mapping[str, Any], key: str, file: Path) -> bytes | None:
    """Return `KEY-data` from base64, else the content of the file in `KEY`."""
    if source.get(f"{key}-data"):
        try:
            return base64.b64decode("".join(str(source[f"{key}-data"]).split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise ConfigurationError(f"`{key}-data` in `{file}` is not base64") from error
    if source.get(key):
        try:
            return disk.read_file(_beside(str(source[key]), file))
        except OlmkitError as error:
            raise ConfigurationError(f"`{key}` in `{file}`: {error.message}") from error
        except ValueError as error:
            raise ConfigurationError(f"`{key}` in `{file}` is not a path") from error
    return None


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False


def _beside(path: str, file: Path) -> Path:
    return Path(path) if Path(path).is_absolute() else file.parent / path


def _impersonation(user: Mapping[str, Any]) -> list[tuple[str, str]]:
    headers = []
    if user.get("as"):
        headers.append(("Impersonate-User", str(user["as"])))
    if user.get("as-uid"):
        headers.append(("Impersonate-Uid", str(user["as-uid"])))
    headers += [("Impersonate-Group", group) for group in _texts(user, "as-groups")]
    found = user.get("as-user-extra")
    extra: dict[Any, Any] = found if isinstance(found, dict) else {}
    for key in extra:
        # Keys may have characters that are not allowed in header names, such as `/`.
        name = f"Impersonate-Extra-{quote(str(key), safe=_IN_HEADER_NAMES)}"
        headers += [(name, value) for value in _texts(extra, key)]
    return headers


def _texts(source: Mapping[Any, Any], key: Any) -> list[str]:
    value = source.get(key) or ()
    if not isinstance(value, list | tuple):
        raise ConfigurationError(f"`{key}` of a user in the kubeconfig is not a list")
    return [str(one) for one in value]


def _load_pair(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    # The ssl module only reads files; they exist during the call, readable only for this user.
    with tempfile.TemporaryDirectory(prefix="olmkit-") as folder:
        paths = [Path(folder, "tls.crt"), Path(folder, "tls.key")]
        for path, data in zip(paths, (certificate, key), strict=True):
            path.touch(mode=0o600)
            path.write_bytes(data)
        try:
            # With a password, because otherwise the library prompts for one in the terminal.
            context.load_cert_chain(str(paths[0]), str(paths[1]), password="")
        except (ssl.SSLError, OSError) as error:
            raise ConfigurationError(
                "the client certificate and its key do not match, or are not PEM files"
            ) from error
