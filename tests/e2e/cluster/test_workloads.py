"""Operators whose Deployments, pods or bundle objects cannot work, and the reports of `why`.

All of them are installed at once, each in its own namespace, and removed one by one: OLM checks
an install that does not succeed again and again. With `OLMKIT_RECORD` set, the observed objects
without irrelevant fields become the input of the golden tests of `why`.
"""

from __future__ import annotations

import base64
import http.server
import json
import os
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.e2e

PORT = 15210
WAIT = 420  # seconds; OLM needs time for so many Subscriptions at once
ALL = ("OwnNamespace", "SingleNamespace", "MultiNamespace", "AllNamespaces")
GOLDEN = Path(__file__).parents[2] / "golden" / "why"
Manifest = dict[str, Any]

SLEEP = ["sh", "-c", "trap 'exit 0' TERM; sleep 100000 & wait"]
# What the test serves at the address of this machine: registries and an admission webhook.
DENYING, STRANGE, PLAIN, POLICY = "DENYING", "STRANGE", "PLAIN", "POLICY"


@dataclass(frozen=True, kw_only=True)
class Workload:
    """One operator. `container` and `pod` change its pod, `bundle` has more bundle objects.

    `before` has objects of the cluster that are created first, `labels` those of the namespace,
    `csv` and `config` change the ClusterServiceVersion's spec and the Subscription's.
    `after` has kubectl commands that run when the Deployment is available.
    """

    name: str
    cause: str
    says: str
    hint: str = ""
    container: Manifest = field(default_factory=dict)
    pod: Manifest = field(default_factory=dict)
    image: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    before: tuple[Manifest, ...] = ()
    bundle: tuple[Manifest, ...] = ()
    csv: Manifest = field(default_factory=dict)
    config: Manifest = field(default_factory=dict)
    after: tuple[tuple[str, ...], ...] = ()
    is_last: bool = False

    @property
    def namespace(self) -> str:
        return f"t-{self.name}"


def new_object(kind: str, name: str, version: str = "v1", **rest: Any) -> Manifest:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **rest}


def shell(script: str) -> Manifest:
    return {"command": ["sh", "-c", script]}


def probe(kind: str, **how: Any) -> Manifest:
    return {kind: {"periodSeconds": 1, "failureThreshold": 2, **how}}


def get(path: str, port: int = 8081) -> Manifest:
    return {"httpGet": {"path": path, "port": port}}


def ref(kind: str, name: str, key: str) -> Manifest:
    return {"env": [{"name": "SETTING", "valueFrom": {kind: {"name": name, "key": key}}}]}


def mounted(**source: Any) -> tuple[Manifest, Manifest]:
    """Return the pod's and the container's part of a volume."""
    return (
        {"volumes": [{"name": "settings", **source}]},
        {"volumeMounts": [{"name": "settings", "mountPath": "/settings"}]},
    )


def crd(group: str, **spec: Any) -> Manifest:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True,
               "schema": {"openAPIV3Schema": schema}}  # fmt: skip
    names = {"kind": "Thing", "listKind": "ThingList", "plural": "things", "singular": "thing"}
    return new_object(
        "CustomResourceDefinition", f"things.{group}", "apiextensions.k8s.io/v1",
        spec={"group": group, "names": names, "scope": "Namespaced", "versions": [version],
              **spec},
    )  # fmt: skip


def webhook(deployment: str, **fields: Any) -> Manifest:
    return {"webhookdefinitions": [{
        "type": "ValidatingAdmissionWebhook", "generateName": "things.example.com",
        "deploymentName": deployment, "containerPort": 9443, "targetPort": 9443,
        "admissionReviewVersions": ["v1"], "sideEffects": "None", "failurePolicy": "Fail",
        "webhookPath": "/validate", "rules": [{
            "operations": ["CREATE"], "apiGroups": ["example.com"], "apiVersions": ["v1"],
            "resources": ["things"]}], **fields}]}  # fmt: skip


def converted(group: str, client: Manifest) -> Manifest:
    """Return a CRD with two versions whose objects are not converted."""
    found = crd(group, conversion={"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"], "clientConfig": client}})  # fmt: skip
    old = found["spec"]["versions"][0]
    found["spec"]["versions"] = [old, {**old, "name": "v2", "storage": False}]
    return found


def owning(group: str) -> Manifest:
    owned = [{"name": f"things.{group}", "kind": "Thing", "version": version}
             for version in ("v1", "v2")]  # fmt: skip
    return {"customresourcedefinitions": {"owned": owned}}


def unconverted(name: str, client: Manifest, says: str) -> Workload:
    """Return a CRD with objects, whose webhook does not respond correctly."""
    group = f"{name}.example.com"
    return Workload(
        name=name, cause="conversion-webhook-away", says=says, csv=owning(group),
        before=(converted(group, client), new_object("Thing", "one", f"{group}/v1")),
        bundle=(converted(group, client),),
        # OLM reports success when its pod runs, as the webhook can have been late.
        pod={"nodeSelector": {"disk": "none"}},
    )  # fmt: skip


def policy(name: str, namespace: str, url: str) -> Manifest:
    """An admission webhook for the pods of a namespace."""
    return new_object(
        "ValidatingWebhookConfiguration", name, "admissionregistration.k8s.io/v1",
        webhooks=[{
            "name": "pods.policy.example.com", "admissionReviewVersions": ["v1"],
            "sideEffects": "None", "failurePolicy": "Fail", "timeoutSeconds": 5,
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                       "resources": ["pods"]}],
            "clientConfig": {"url": url, "caBundle": POLICY}}],
    )  # fmt: skip


_POD_VOLUME, _MOUNT = mounted(configMap={"name": "operator-settings"})
_SECRET_VOLUME, _ = mounted(secret={"secretName": "operator-tls"})
_PVC_VOLUME, _ = mounted(persistentVolumeClaim={"claimName": "operator-data"})
_KEY_VOLUME, _ = mounted(configMap={"name": "present", "items": [{"key": "a", "path": "a"}]})
_HOSTS = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "kubernetes.io/arch", "operator": "In", "values": ["s390x"]}
                    ]
                }
            ]
        }
    }
}
_LISTENS = "trap 'exit 0' TERM; httpd -f -p 8081 & wait"

WORKLOADS = (
    # containers that end
    Workload(name="start-error", cause="container-cannot-start", says="/manager",
             container={"command": ["/manager", "--leader-elect"]}),
    Workload(name="not-executable", cause="container-cannot-start", says="permission denied",
             container={"command": ["/etc"]}),
    Workload(name="crash-message", cause="container-crashes", says="cannot reach the database",
             container=shell("echo cannot reach the database at db:5432 >/dev/termination-log;"
                             " exit 1")),
    Workload(name="crash-log-message", cause="container-crashes", says="no such flag",
             container={**shell("echo parsing flags; echo no such flag: --leader >&2; exit 2"),
                        "terminationMessagePolicy": "FallbackToLogsOnError"}),
    Workload(name="out-of-memory", cause="container-crashes", says="24Mi",
             container={**shell("echo reading; busybox tail /dev/zero"),
                        "resources": {"limits": {"memory": "24Mi"}}}),
    Workload(name="crash-init", cause="container-crashes", says="exit code 7",
             pod={"initContainers": [{"name": "migrate", "image": "", **shell("echo no schema;"
                                                                              " exit 7")}]}),
    Workload(name="first-crash", cause="container-crashes", says="exit code 4",
             container=shell("sleep 25; echo lost the lease; exit 4")),
    # probes
    Workload(name="liveness", cause="probe-fails", says="/healthz",
             container={**probe("livenessProbe", **get("/healthz")), "command": SLEEP}),
    Workload(name="liveness-answer", cause="probe-fails", says="404",
             container={**probe("livenessProbe", **get("/healthz")), **shell(_LISTENS)}),
    Workload(name="startup", cause="probe-fails", says="9443",
             container={**probe("startupProbe", tcpSocket={"port": 9443}), "command": SLEEP}),
    Workload(name="readiness", cause="probe-fails", says="/readyz",
             container={**probe("readinessProbe", **get("/readyz")), "command": SLEEP}),
    Workload(name="readiness-answer", cause="probe-fails", says="404",
             container={**probe("readinessProbe", **get("/readyz")), **shell(_LISTENS)}),
    Workload(name="readiness-exec", cause="probe-fails", says="no leader",
             container={**probe("readinessProbe", exec={"command": [
                 "sh", "-c", "echo no leader; exit 1"]}), "command": SLEEP}),
    # nodes
    Workload(name="node-selector", cause="pod-not-scheduled", says="disk",
             pod={"nodeSelector": {"disk": "ssd"}}),
    Workload(name="affinity", cause="pod-not-scheduled", says="kubernetes.io/arch",
             pod={"affinity": _HOSTS}),
    Workload(name="cpu", cause="pod-not-scheduled", says="cpu",
             container={"resources": {"requests": {"cpu": "400"}}}),
    Workload(name="memory", cause="pod-not-scheduled", says="memory",
             container={"resources": {"requests": {"memory": "9Ti"}}}),
    Workload(name="extended-resource", cause="pod-not-scheduled", says="example.com/gpu",
             container={"resources": {"limits": {"example.com/gpu": "1"}}}),
    Workload(name="taint", cause="pod-not-scheduled", says="dedicated", is_last=True),
    # missing objects of pods
    Workload(name="config-map-env", cause="container-cannot-start", says="`operator-settings`",
             container=ref("configMapKeyRef", "operator-settings", "level")),
    Workload(name="secret-env-from", cause="container-cannot-start", says="`credentials`",
             container={"envFrom": [{"secretRef": {"name": "credentials"}}]}),
    Workload(name="secret-key", cause="container-cannot-start", says="`token`",
             before=(new_object("Secret", "credentials", stringData={"user": "me"}),),
             container=ref("secretKeyRef", "credentials", "token")),
    Workload(name="config-map-volume", cause="pod-cannot-start", says="`operator-settings`",
             pod=_POD_VOLUME, container=_MOUNT),
    Workload(name="secret-volume", cause="pod-cannot-start", says="`operator-tls`",
             pod=_SECRET_VOLUME, container=_MOUNT),
    Workload(name="config-map-item", cause="pod-cannot-start", says="`a`",
             before=(new_object("ConfigMap", "present", data={"b": "1"}),),
             pod=_KEY_VOLUME, container=_MOUNT),
    Workload(name="claim", cause="pod-not-scheduled", says="operator-data",
             pod=_PVC_VOLUME, container=_MOUNT),
    Workload(name="claim-unbound", cause="pod-not-scheduled", says="operator-data",
             before=(new_object("PersistentVolumeClaim", "operator-data", spec={
                 "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
                 "resources": {"requests": {"storage": "1Gi"}}}),),
             pod=_PVC_VOLUME, container=_MOUNT),
    Workload(name="pod-account", cause="pods-refused", says="operator-account",
             pod={"serviceAccountName": "operator-account"}),
    # images
    Workload(name="image-unauthorized", cause="image-cannot-be-pulled", says="401",
             image=f"{DENYING}/operator:1"),
    Workload(name="pull-secret", cause="image-cannot-be-pulled", says="registry-login",
             image=f"{DENYING}/operator:1", pod={"imagePullSecrets": [{"name": "registry-login"}]}),
    Workload(name="image-host", cause="image-cannot-be-pulled", says="lookup registry.invalid",
             image="registry.invalid/operator:1"),
    Workload(name="image-tls", cause="image-cannot-be-pulled", says="certificate",
             image=f"{STRANGE}/operator:1"),
    Workload(name="image-plain", cause="image-cannot-be-pulled", says="TLS handshake",
             image=f"{PLAIN}/operator:1"),
    Workload(name="image-name", cause="image-cannot-be-pulled", says="Operator",
             image="registry.example.com/Operator:1"),
    Workload(name="image-never", cause="image-cannot-be-pulled", says="Never",
             image="registry.example.com/operator:1", container={"imagePullPolicy": "Never"}),
    # refused objects
    Workload(name="root", cause="container-cannot-start", says="root",
             container={"securityContext": {"runAsNonRoot": True}}),
    Workload(name="pod-security", cause="pods-refused", says="restricted",
             labels={"pod-security.kubernetes.io/enforce": "restricted"}),
    Workload(name="quota", cause="pods-refused", says="quota",
             before=(new_object("ResourceQuota", "small", spec={"hard": {"pods": "0"}}),)),
    Workload(name="quota-requests", cause="pods-refused", says="quota",
             before=(new_object("ResourceQuota", "small",
                                spec={"hard": {"limits.memory": "1Gi"}}),)),
    Workload(name="limit-range", cause="pods-refused", says="64Mi",
             before=(new_object("LimitRange", "limits", spec={"limits": [
                 {"type": "Container", "max": {"memory": "64Mi"}}]}),),
             container={"resources": {"limits": {"memory": "128Mi"}}}),
    Workload(name="admission-denied", cause="pods-refused", says="from a registry",
             before=(policy("t-denied", "t-admission-denied", f"https://{POLICY}/deny"),)),
    Workload(name="admission-away", cause="pods-refused", says="refused",
             before=(policy("t-away", "t-admission-away", "https://OUTSIDE:1/"),)),
    Workload(name="admission-certificate", cause="pods-refused", says="certificate",
             before=(policy("t-unknown", "t-admission-certificate", f"https://{STRANGE}/"),)),
    Workload(name="priority-class", cause="pods-refused", says="operator-priority",
             pod={"priorityClassName": "operator-priority"}),
    # resources
    Workload(name="config-resources", cause="csv-failed", says="limit",
             container={"resources": {"limits": {"memory": "64Mi"}}},
             config={"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "64Mi"}}}),
    # bundle objects
    Workload(name="object-refused", cause="object-refused", says="maximum allowed value",
             bundle=(new_object("PriorityClass", "t-too-high", "scheduling.k8s.io/v1",
                          value=2000000000),)),
    Workload(name="object-priority", cause="object-refused", says="t-taken",
             before=(new_object("PriorityClass", "t-taken", "scheduling.k8s.io/v1", value=1),),
             bundle=(new_object("PriorityClass", "t-taken", "scheduling.k8s.io/v1", value=2),)),
    Workload(name="object-immutable", cause="object-refused", says="immutable",
             before=(new_object("ConfigMap", "fixed", data={"a": "1"}, immutable=True),),
             bundle=(new_object("ConfigMap", "fixed", data={"a": "2"}),)),
    Workload(name="object-port", cause="object-refused", says="node port 30999",
             before=(new_object("Service", "first", spec={"type": "NodePort", "ports": [
                 {"port": 80, "nodePort": 30999}]}),),
             bundle=(new_object("Service", "second", spec={"type": "NodePort", "ports": [
                 {"port": 80, "nodePort": 30999}]}),)),
    Workload(name="object-admission", cause="object-refused", says="policy",
             before=(new_object("ValidatingWebhookConfiguration", "t-objects",
                          "admissionregistration.k8s.io/v1", webhooks=[{
                              **policy("x", "t-object-admission",
                                       f"https://{POLICY}/deny")["webhooks"][0],
                              "rules": [{"operations": ["CREATE"], "apiGroups": [""],
                                         "apiVersions": ["v1"], "resources": ["services"]}],
                          }]),),
             bundle=(new_object("Service", "metrics", spec={"ports": [{"port": 80}]}),)),
    # webhooks
    Workload(name="webhook-deployment", cause="csv-invalid", says="elsewhere",
             csv=webhook("elsewhere")),
    unconverted("conversion-away", {"service": {"name": "gone", "namespace": "default"}},
                "not found"),
    unconverted("conversion-certificate", {"url": f"https://{STRANGE}/convert"}, "certificate"),
    Workload(name="webhook-crash", cause="container-crashes", says="exit code 5",
             csv=webhook("webhook-crash"), container=shell("exit 5")),
    Workload(name="webhook-endpoints", cause="webhook-away", says="no ready pod",
             csv=webhook("webhook-endpoints"),
             after=(("patch", "service", "webhook-endpoints-service", "--type=merge", "-p",
                     '{"spec":{"selector":{"app":"other"}}}'),)),
)  # fmt: skip


def bundle(one: Workload, image: str, world: World) -> Iterator[Manifest]:
    """Return the blobs of a package with one bundle, which is inline."""
    labels = {"app": one.name}
    container = {"name": "manager", "image": one.image or image, "command": SLEEP,
                 **one.container}  # fmt: skip
    pod = {"terminationGracePeriodSeconds": 1, "containers": [container], **one.pod}
    for init in pod.get("initContainers", ()):
        init["image"] = image
    name = f"{one.name}.v1.0.0"
    csv = new_object(
        "ClusterServiceVersion", name, "operators.coreos.com/v1alpha1",
        spec={
            "displayName": one.name,
            "version": "1.0.0",
            "installModes": [{"type": mode, "supported": True} for mode in ALL],
            "install": {"strategy": "deployment", "spec": {"deployments": [{
                "name": one.name,
                "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": {
                    "metadata": {"labels": labels}, "spec": pod}},
            }]}},
            **one.csv,
        },
    )  # fmt: skip
    yield {"schema": "olm.package", "name": one.name, "defaultChannel": "stable"}
    yield {"schema": "olm.channel", "package": one.name, "name": "stable",
           "entries": [{"name": name}]}  # fmt: skip
    inline = [
        {"type": "olm.bundle.object",
         "value": {"data": base64.b64encode(json.dumps(world.filled(part)).encode()).decode()}}
        for part in (csv, *one.bundle)
    ]  # fmt: skip
    own = {"type": "olm.package", "value": {"packageName": one.name, "version": "1.0.0"}}
    yield {"schema": "olm.bundle", "name": name, "package": one.name, "image": "",
           "properties": [own, *inline]}  # fmt: skip


class Answers(http.server.BaseHTTPRequestHandler):
    """A registry that requires a login, and an admission webhook that denies every request."""

    def do_GET(self) -> None:
        self._send(401, {"errors": [{"code": "UNAUTHORIZED", "message": "login first"}]},
                   {"WWW-Authenticate": 'Basic realm="registry"'})  # fmt: skip

    do_HEAD = do_GET  # noqa: N815 - the name that the base class calls

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = {"code": 403, "message": "image comes from a registry that is not allowed"}
        response = {"uid": review["request"]["uid"], "allowed": False, "status": status}
        self._send(200, {**{key: review[key] for key in ("apiVersion", "kind")},
                         "response": response}, {})  # fmt: skip

    def _send(self, code: int, body: Any, headers: dict[str, str]) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        pass


@dataclass(frozen=True, kw_only=True)
class World:
    """Replace the names in the table, and return how to end the servers."""

    values: dict[str, str]
    stop: Callable[[], None]

    def filled(self, value: Any) -> Any:
        text = json.dumps(value)
        text = text.replace('"caBundle": "POLICY"', f'"caBundle": "{self.values["CA"]}"')
        for name in (DENYING, STRANGE, PLAIN, POLICY, "OUTSIDE"):
            text = text.replace(name, self.values[name])
        return json.loads(text)


def surroundings(cluster: Any, folder: Path) -> World:
    """Registries and an admission webhook, at the address of this machine for the nodes."""
    address = cluster.outside
    for name in ("policy", "strange"):
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
                 "-subj", f"/CN={name}", "-addext", f"subjectAltName=IP:{address}",
                 "-keyout", f"{folder}/{name}.key", "-out", f"{folder}/{name}.crt"]  # fmt: skip
        subprocess.run(words, check=True, capture_output=True)
    servers, values = [], {"OUTSIDE": address}
    for name, certificate in ((DENYING, ""), (STRANGE, "strange"), (PLAIN, ""), (POLICY, "policy")):
        server = http.server.ThreadingHTTPServer((address, 0), Answers)
        server.handle_error = lambda *_: None  # type: ignore[method-assign]
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(folder / f"{certificate}.crt", folder / f"{certificate}.key")
            server.socket = context.wrap_socket(
                server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        values[name] = f"{address}:{server.server_address[1]}"
    values["CA"] = base64.b64encode((folder / "policy.crt").read_bytes()).decode()
    hosts = cluster.folder / "certs.d" / values[DENYING]
    hosts.mkdir()
    (hosts / "hosts.toml").write_text(
        f'server = "http://{values[DENYING]}"\n'
        f'[host."http://{values[DENYING]}"]\n  capabilities = ["pull", "resolve"]\n'
    )

    def stop() -> None:
        for server in servers:
            server.shutdown()
            server.server_close()

    return World(values=values, stop=stop)


def catalog(cluster: Any, world: World, folder: Path, port: int) -> subprocess.Popen[bytes]:
    """A server with all packages."""
    image = f"{cluster.registry}/busybox:1"
    blobs = [blob for one in WORKLOADS for blob in bundle(one, image, world)]
    (folder / "catalog.json").write_text("\n".join(map(json.dumps, blobs)))
    words = ["-m", "olmkit", "catalog", "serve", str(folder), "--host", cluster.outside]
    return subprocess.Popen([sys.executable, *words, "--port", str(port)])


def objects_before(one: Workload, address: str, world: World) -> list[Manifest]:
    """Return the namespace, its first objects, and the request to OLM."""
    namespace = one.namespace
    scoped = ("ValidatingWebhookConfiguration", "PriorityClass", "CustomResourceDefinition")
    found = [new_object("Namespace", namespace)]
    found[0]["metadata"]["labels"] = one.labels
    for part in world.filled(list(one.before)):
        if part["kind"] not in scoped:
            part["metadata"]["namespace"] = namespace
        found.append(part)
    group = new_object("OperatorGroup", "group", "operators.coreos.com/v1",
                 spec={"targetNamespaces": [namespace]})  # fmt: skip
    source = new_object("CatalogSource", "tries", "operators.coreos.com/v1alpha1",
                  spec={"sourceType": "grpc", "address": address})  # fmt: skip
    wanted = {"name": one.name, "channel": "stable", "source": "tries",
              "sourceNamespace": namespace}  # fmt: skip
    if one.config:
        wanted["config"] = one.config
    asked = new_object("Subscription", one.name, "operators.coreos.com/v1alpha1", spec=wanted)
    for part in (group, source, asked):
        part["metadata"]["namespace"] = namespace
        found.append(part)
    return found


def set_up(cluster: Any, address: str, world: World, wanted: tuple[Workload, ...]) -> None:
    items = [part for one in wanted for part in objects_before(one, address, world)]
    order = ("Namespace", "OperatorGroup", "CatalogSource", "Subscription")
    rest = [part for part in items if part["kind"] not in order]
    first = [part for part in items if part["kind"] == "Namespace"]
    then = [part for part in items if part["kind"] in order[1:]]
    things = [part for part in rest if part["kind"] == "Thing"]
    rest = [part for part in rest if part["kind"] != "Thing"]
    for group in (first, rest, things, then):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": group})
        if group:
            cluster.kubectl("apply", "-f", "-", text=text)
        for part in group:
            if part["kind"] == "CustomResourceDefinition":
                name = f"crd/{part['metadata']['name']}"
                cluster.kubectl("wait", "--for=condition=Established", name)


def taint(cluster: Any, *, on: bool) -> None:
    node = cluster.list("nodes")[0]["metadata"]["name"]
    cluster.kubectl("taint", "node", node, f"dedicated=infra:NoSchedule{'' if on else '-'}")


_METADATA = ("name", "namespace", "labels", "creationTimestamp", "generation", "deletionTimestamp")
_EVENTS = ("Pod", "ReplicaSet", "Job")
_POD = ("containers", "initContainers", "volumes", "nodeSelector", "affinity", "imagePullSecrets",
        "serviceAccountName", "priorityClassName", "restartPolicy", "tolerations")  # fmt: skip


def trimmed(found: list[Manifest], namespace: str) -> list[Manifest]:
    """Return the relevant objects of a namespace, without irrelevant fields."""
    kept = []
    for one in found:
        kind, metadata = one["kind"], one.get("metadata", {})
        if kind in ("Snapshot", "Node"):
            kept.append(one)
        if metadata.get("namespace") != namespace or kind == "CatalogSource":
            continue
        short = {**one, "metadata": {key: metadata[key] for key in _METADATA if key in metadata}}
        match kind:
            case "Event":
                about = one["involvedObject"]
                is_normal = one.get("type") == "Normal" and one.get("reason") != "Killing"
                if is_normal or about["kind"] not in _EVENTS:
                    continue
                fields = ("kind", "name", "namespace", "fieldPath")
                about = {key: about[key] for key in fields if key in about}
                short = {key: one[key] for key in ("apiVersion", "kind", "reason", "message",
                                                   "count", "type", "firstTimestamp",
                                                   "lastTimestamp") if key in one}  # fmt: skip
                short |= {"metadata": {"name": metadata["name"], "namespace": namespace},
                          "involvedObject": about}  # fmt: skip
            case "Pod":
                short["spec"] = _pod(one["spec"])
                short["status"].pop("resourceClaimStatuses", None)
            case "Deployment":
                template = one["spec"]["template"]
                short["spec"] = {key: one["spec"][key] for key in ("replicas", "selector")}
                short["spec"]["template"] = {**template, "spec": _pod(template["spec"])}
            case "Subscription":
                short["status"].pop("catalogHealth", None)
            case "InstallPlan":
                short["status"].pop("plan", None)
            case _:
                pass
        kept.append(short)
    return kept


def _pod(spec: Manifest) -> Manifest:
    """Return a pod's spec without the fields that Kubernetes adds."""
    short = {key: spec[key] for key in _POD if spec.get(key)}
    if "volumes" in short:
        own = [one for one in short["volumes"] if not one["name"].startswith("kube-api-access-")]
        short["volumes"] = own
    for container in (*short["containers"], *short.get("initContainers", ())):
        container.pop("volumeMounts", None)
    return short


def recorded(text: str, cluster: Any, world: World, namespace: str) -> str:
    """Return the content of a golden case: trimmed, and without addresses of this run."""
    found = [one for one in yaml.safe_load_all(text) if one]
    short = yaml.safe_dump_all(trimmed(found, namespace), sort_keys=False, width=100)
    named = {cluster.registry: "registry.example.com:5000", cluster.outside: "10.0.0.1",
             f"{cluster.node}:": "10.0.0.2:"}  # fmt: skip
    ports = {world.values[DENYING]: "private.example.com", world.values[STRANGE]:
             "strange.example.com", world.values[PLAIN]: "plain.example.com",
             world.values[POLICY]: "policy.example.com"}  # fmt: skip
    for value, name in {**ports, **named}.items():
        short = short.replace(value, name)
    return short


@pytest.fixture(scope="module")
def world(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    found = surroundings(cluster, tmp_path_factory.mktemp("world"))
    yield found
    found.stop()


@pytest.fixture(scope="module")
def broken(cluster: Any, world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[float]:
    """All requested workloads, and the time."""
    folder = tmp_path_factory.mktemp("workloads")
    process = catalog(cluster, world, folder, PORT)
    address = f"{cluster.outside}:{PORT}"
    set_up(cluster, address, world, tuple(one for one in WORKLOADS if not one.is_last))
    assert process.poll() is None, "another process serves at the address"
    yield time.monotonic()
    names = [one.namespace for one in WORKLOADS]
    # All at once: a kubectl for each namespace would wait minutes for OLM's own finalizers.
    asked = [
        {key: found[key] for key in ("apiVersion", "kind")}
        | {"metadata": {key: found["metadata"][key] for key in ("name", "namespace")}}
        for found in cluster.list("subscription,csv,catalogsource", "-A")
        if found["metadata"]["namespace"] in names
    ]
    text = "\n---\n".join(json.dumps(found) for found in asked)
    words = ("delete", "--wait=false", "--ignore-not-found", "-f", "-")
    cluster.kubectl(*words, text=text, check=False)
    cluster.kubectl("delete", "validatingwebhookconfiguration", "t-denied", "t-away", "t-unknown",
                    "t-objects", "--ignore-not-found")  # fmt: skip
    cluster.kubectl("delete", "priorityclass", "t-taken", "--ignore-not-found")
    for one in WORKLOADS:
        for part in one.before:
            if part["kind"] == "CustomResourceDefinition":
                cluster.kubectl("delete", "crd", part["metadata"]["name"], "--wait=false")
    cluster.kubectl("delete", "namespace", *names, "--wait=false", "--ignore-not-found")
    process.terminate()
    process.wait()


@pytest.mark.usefixtures("broken")
@pytest.mark.parametrize("one", WORKLOADS, ids=lambda one: one.name)
def test_the_first_line_names_the_cause(
    cluster: Any, run_olmkit: Any, world: World, tmp_path: Path, one: Workload
) -> None:
    for command in one.after:
        name = f"deployment/{one.name}"
        _until_there(cluster, name, one.namespace)
        cluster.kubectl("wait", name, "-n", one.namespace, "--for=condition=Available",
                        "--timeout=180s")  # fmt: skip
        cluster.kubectl(*command, "-n", one.namespace)
    if one.is_last:
        taint(cluster, on=True)
        set_up(cluster, f"{cluster.outside}:{PORT}", world, (one,))
    try:
        _explained(cluster, run_olmkit, world, tmp_path, one)
    finally:
        if one.is_last:
            taint(cluster, on=False)
    cluster.kubectl("delete", "subscription,csv", "--all", "-n", one.namespace, "--wait=false")


def _until_there(cluster: Any, name: str, namespace: str) -> None:
    deadline = time.monotonic() + WAIT
    while cluster.get(name, "-n", namespace) is None:
        assert time.monotonic() < deadline, f"{name} is not there"
        time.sleep(1)


def _explained(cluster: Any, run_olmkit: Any, world: World, tmp_path: Path, one: Workload) -> None:
    file = tmp_path / "objects.yaml"
    words = ["why", one.name, "-n", one.namespace, "--save", file]
    deadline = time.monotonic() + WAIT
    pause = 2.0
    while True:
        found = run_olmkit.try_(*words, "-o", "json", code=None).json["result"]
        told = " ".join([found["message"], *found["details"]])
        if found["cause"] == one.cause and one.says in told and found["hint"]:
            break
        assert time.monotonic() < deadline, found
        time.sleep(pause)
        pause = min(pause * 1.3, 8)
    if os.environ.get("OLMKIT_RECORD"):
        record(one, recorded(file.read_text(), cluster, world, one.namespace))


def record(one: Workload, text: str, case: str = "") -> None:
    """Write a golden case of the observed state."""
    folder = GOLDEN / (case or one.name)
    (folder / "input").mkdir(parents=True, exist_ok=True)
    (folder / "input" / "objects.yaml").write_text(text)
    (folder / "command").write_text(f"why {one.name} -n {one.namespace} --from objects.yaml\n")
