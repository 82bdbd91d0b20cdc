"""Operators with Helm and Ansible, and one with three kinds, through OLM on a real cluster.

Each is scaffolded as by a user, with a small chart or role. Their pods have an image
that only has busybox.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.e2e

Eventually = Callable[..., Any]
LONG = 300.0  # seconds for a step; a busy machine needs time

CHART = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-page"}
data:
  index.html: {{ .Values.greeting | quote }}
---
apiVersion: v1
kind: Service
metadata: {name: "{{ .Release.Name }}"}
spec:
  selector: {site: "{{ .Release.Name }}"}
  ports: [{port: 80, targetPort: 8080}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {site: "{{ .Release.Name }}"}
  template:
    metadata:
      labels: {site: "{{ .Release.Name }}"}
    spec:
      containers:
      - name: web
        image: {{ .Values.image }}
        command: [busybox, httpd, -f, -p, "8080", -h, /page]
        volumeMounts: [{name: page, mountPath: /page}]
      volumes:
      - name: page
        configMap: {name: "{{ .Release.Name }}-page"}
"""
TASKS = """\
- name: Find the API server of the run
  ansible.builtin.set_fact:
    config: "{{ lookup('file', lookup('env', 'KUBECONFIG')) | from_json }}"
- name: Write the message
  ansible.builtin.uri:
    url: "{{ config.clusters[0].cluster.server }}\
/api/v1/namespaces/{{ ansible_operator_meta.namespace }}/configmaps/\
{{ ansible_operator_meta.name }}-message?fieldManager=play&force=true"
    method: PATCH
    headers: {Content-Type: application/apply-patch+yaml}
    body_format: json
    status_code: [200, 201]
    body:
      apiVersion: v1
      kind: ConfigMap
      metadata: {name: "{{ ansible_operator_meta.name }}-message"}
      data: {text: "hello {{ say_to }}"}
- name: Tell what was written
  operator_sdk.util.k8s_status:
    api_version: demo.example.com/v1alpha1
    kind: Motd
    name: "{{ ansible_operator_meta.name }}"
    namespace: "{{ ansible_operator_meta.namespace }}"
    status: {written: "{{ ansible_operator_meta.name }}-message"}
"""


@dataclass(frozen=True, kw_only=True)
class OperatorBuilder:
    """Builds what OLM installs for a project: images of a version, a catalog of all versions."""

    cluster: Any
    run_olmkit: Any
    base: str
    helm: str
    home: Path

    def project(self, name: str, *words: str) -> Path:
        place = self.home / name
        self.run_olmkit("init", place, "--domain", "example.com", *words)
        return place

    def kind(self, place: Path, kind: str, *words: str | Path) -> None:
        self.run_olmkit("create", "api", "-C", place, "--group", "demo", "--version", "v1alpha1",
                    "--kind", kind, *words)  # fmt: skip

    def chart(self) -> Path:
        place = self.home / "site"
        values = {"replicas": 1, "greeting": "hello", "image": f"{self.cluster.registry}/busybox:1"}
        write(place / "Chart.yaml", "{apiVersion: v2, name: site, version: 0.1.0}\n")
        write(place / "values.yaml", json.dumps(values))
        write(place / "templates" / "all.yaml", CHART)
        return place

    def lock(self, place: Path, *packages: str) -> None:
        """Pin the packages of the image as `image build` does, which then caches their layer."""
        words = ("pip", "compile", "-q", "--generate-hashes", "--python-version", "3.11", "-")
        subprocess.run(
            [Path(sys.executable).with_name("uv"), *words, "-o", place / "requirements.lock"],
            input="\n".join(packages),
            text=True,
            env=self.run_olmkit.environment,
            check=True,
        )

    def release(self, place: Path, version: str, *words: str) -> str:
        """Return the pinned reference of a catalog with this version and the previous ones."""
        name = f"{self.cluster.registry}/{place.name}"
        catalog = place / "catalog"
        if not catalog.exists():
            text = self.run_olmkit("catalog", "init", place.name, "-c", "alpha")
            write(catalog / "catalog.yaml", text)
        self.run_olmkit("generate", "-C", place)
        image = self.run_olmkit("image", "build", "-C", place, "-t", f"{name}:v{version}", "--push",
                            "--base", self.base, *words)  # fmt: skip
        self.run_olmkit("edit", "-C", place, "--image", image.strip())
        self.run_olmkit("bundle", "generate", "-C", place, "--version", version)
        self.run_olmkit("bundle", "validate", place / "bundle")
        bundle = self.run_olmkit("bundle", "build", place / "bundle", "-t",
                             f"{name}-bundle:v{version}", "--push")  # fmt: skip
        self.run_olmkit("catalog", "add", catalog, bundle.strip(), "--channel", "alpha")
        return str(self.run_olmkit("catalog", "build", catalog, "-t", f"{name}-catalog:v{version}",
                               "--push")).strip()  # fmt: skip


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.fixture(scope="module")
def maker(
    cluster: Any,
    run_olmkit: Any,
    base: str,
    wheels: Path,
    built_program: Callable[[str], str],
    tmp_path_factory: pytest.TempPathFactory,
) -> OperatorBuilder:
    # Ansible and its packages come from the package index of this machine.
    own = copy.copy(run_olmkit)
    own.environment = {**run_olmkit.environment, "UV_FIND_LINKS": str(wheels)}
    return OperatorBuilder(
        cluster=cluster,
        run_olmkit=own,
        base=base,
        helm=built_program("helm"),
        home=tmp_path_factory.mktemp("watched"),
    )


@pytest.fixture
def objects(cluster: Any, namespace: str, eventually: Eventually) -> Iterator[Objects]:
    """A namespace for objects, next to that of the operator."""
    name = f"{namespace}-objects"
    cluster.kubectl("create", "namespace", name)
    yield Objects(cluster, name, eventually)
    cluster.kubectl("delete", "namespace", name, "--wait=false")


@dataclass(frozen=True)
class Objects:
    """Objects of one namespace."""

    cluster: Any
    namespace: str
    eventually: Eventually

    def create(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        self.cluster.apply(json.dumps({
            "apiVersion": "demo.example.com/v1alpha1",
            "kind": kind,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": spec,
        }))  # fmt: skip

    def change(self, kind: str, name: str, spec: dict[str, Any]) -> None:
        patch = json.dumps({"spec": spec})
        self.cluster.kubectl("patch", kind, name, "-n", self.namespace, "--type", "merge",
                             "-p", patch)  # fmt: skip

    def get(self, kind: str, name: str) -> Any:
        return self.cluster.get(kind, name, "-n", self.namespace)

    def value(self, kind: str, name: str, *path: str) -> Any:
        found = self.get(kind, name)
        for key in path:
            found = (found or {}).get(key)
        return found

    def wait(self, expected: Any, kind: str, name: str, *path: str) -> None:
        """Wait until a field has a value."""
        seen: list[Any] = []

        def is_there() -> bool:
            seen[:] = [self.value(kind, name, *path)]
            return bool(seen[0] == expected)

        def what() -> str:
            return f"{kind}/{name} {'.'.join(path)} is {expected}, not {seen}"

        self.eventually(is_there, LONG, what)

    def conditions(self, kind: str, name: str) -> dict[str, tuple[str, ...]]:
        found = self.value(kind, name, "status", "conditions") or []
        return {
            one["type"]: tuple(one.get(key, "") for key in ("status", "reason", "message"))
            for one in found
        }

    def wait_for(self, kind: str, name: str, expected: dict[str, tuple[str, ...]]) -> None:
        """Wait until the object has these conditions."""
        self.eventually(
            lambda: self.conditions(kind, name) == expected,
            LONG,
            lambda: f"{expected}, not {self.conditions(kind, name)}",
        )

    def delete(self, kind: str, name: str) -> None:
        self.cluster.kubectl("delete", kind, name, "-n", self.namespace, f"--timeout={LONG:.0f}s")

    def wait_until_gone(self, *kinds: str) -> None:
        """Wait until no object of these kinds remains except those of each namespace."""
        words = (",".join(kinds), "-n", self.namespace, "-o", "name")

        def left() -> list[str]:
            names = self.cluster.kubectl("get", *words).split()
            return [one for one in names if not one.endswith("/kube-root-ca.crt")]

        self.eventually(lambda: not left(), LONG, lambda: f"{left()} are gone")


def deployed(reason: str) -> dict[str, tuple[str, ...]]:
    """The conditions of a release, in the form of helm-operator."""
    return {"Initialized": ("True", "", ""), "Deployed": ("True", reason, "")}


SUCCEEDED = {
    "Running": ("True", "Successful", "Awaiting next reconciliation"),
    "Successful": ("True", "Successful", "Last reconciliation succeeded"),
    "Failure": ("False", "", ""),
}


def uninstall(cluster: Any, run_olmkit: Any, package: str, namespace: str) -> None:
    run_olmkit("uninstall", package, "-n", namespace, "--delete-operands", "--delete-crds", "--yes")
    left = cluster.kubectl("get", "crd,clusterrole,clusterrolebinding", "-o", "name").split()
    assert [one for one in left if package in one] == []


def test_a_helm_operator_reconciles_its_objects_through_an_upgrade(
    cluster: Any, run_olmkit: Any, maker: OperatorBuilder, namespace: str, objects: Objects
) -> None:
    package = "site-operator"
    place = maker.project(package, "--plugins", "helm")
    maker.kind(place, "Site", "--helm-chart", maker.chart())
    maker.lock(place, "olmkit-runtime[helm]")
    catalog = maker.release(place, "0.0.1", "--helm", maker.helm)
    run_olmkit("install", package, "--catalog", catalog, "-n", namespace)

    run_olmkit.tell("An object is a release; its pods run")
    objects.create("Site", "home", {"greeting": "hello"})
    objects.wait_for("site", "home", deployed("InstallSuccessful"))
    objects.wait(1, "deployment", "home", "status", "readyReplicas")
    assert objects.value("site", "home", "status", "deployedRelease", "name") == "home"
    owners = objects.value("service", "home", "metadata", "ownerReferences")
    assert [(one["kind"], one["name"]) for one in owners] == [("Site", "home")]

    run_olmkit.tell("A change is an upgrade of the release")
    objects.change("site", "home", {"greeting": "welcome", "replicas": 2})
    objects.wait_for("site", "home", deployed("UpgradeSuccessful"))
    objects.wait(2, "deployment", "home", "status", "readyReplicas")
    objects.wait("welcome", "configmap", "home-page", "data", "index.html")

    run_olmkit.tell("What is changed by hand comes back")
    cluster.kubectl("delete", "configmap", "home-page", "-n", objects.namespace)
    cluster.kubectl("scale", "deployment", "home", "--replicas=0", "-n", objects.namespace)
    objects.wait("welcome", "configmap", "home-page", "data", "index.html")
    objects.wait(2, "deployment", "home", "spec", "replicas")

    run_olmkit.tell("The next version of the operator has another chart")
    template = place / "helm-charts/site/templates/all.yaml"
    template.write_text(template.read_text().replace("\ndata:\n", "\ndata:\n  second: new\n"))
    catalog = maker.release(place, "0.0.2", "--helm", maker.helm)
    done = run_olmkit.try_("upgrade", package, "--catalog", catalog, "-n", namespace)
    assert f"`{package}.v0.0.2` is installed and healthy" in done.out
    objects.wait("new", "configmap", "home-page", "data", "second")
    objects.wait_for("site", "home", deployed("UpgradeSuccessful"))
    assert objects.value("configmap", "home-page", "data", "index.html") == "welcome"

    run_olmkit.tell("Without its object, nothing of the release is left")
    objects.delete("site", "home")
    objects.wait_until_gone("deployment", "service", "configmap", "secret")
    uninstall(cluster, run_olmkit, package, namespace)


def test_an_ansible_operator_reconciles_its_objects_through_an_upgrade(
    cluster: Any, run_olmkit: Any, maker: OperatorBuilder, namespace: str, objects: Objects
) -> None:
    package = "motd-operator"
    place = maker.project(package, "--plugins", "ansible")
    maker.kind(place, "Motd", "--generate-role")
    write(place / "requirements.yml", "collections: []\n")
    write(place / "roles/motd/tasks/main.yml", TASKS)
    maker.lock(place, "olmkit-runtime[ansible]", "kubernetes")
    run_olmkit("install", package, "--catalog", maker.release(place, "0.0.1"), "-n", namespace)

    run_olmkit.tell("A role runs for an object, and a template in its spec stays text")
    objects.create("Motd", "day", {"sayTo": "{{ 7 * 7 }}"})
    objects.wait("hello {{ 7 * 7 }}", "configmap", "day-message", "data", "text")
    objects.wait_for("motd", "day", SUCCEEDED)
    assert objects.value("motd", "day", "status", "written") == "day-message"
    owners = objects.value("configmap", "day-message", "metadata", "ownerReferences")
    assert [(one["kind"], one["name"]) for one in owners] == [("Motd", "day")]

    run_olmkit.tell("A change runs it again, and so does what goes")
    objects.change("motd", "day", {"sayTo": "you"})
    objects.wait("hello you", "configmap", "day-message", "data", "text")
    cluster.kubectl("delete", "configmap", "day-message", "-n", objects.namespace)
    objects.wait("hello you", "configmap", "day-message", "data", "text")

    run_olmkit.tell("A run that fails is in the conditions")
    objects.create("Motd", "night", {})
    objects.eventually(
        lambda: "say_to" in objects.conditions("motd", "night").get("Failure", ("", "", ""))[2],
        LONG,
        "the failure is reported",
    )
    assert objects.conditions("motd", "night")["Failure"][:2] == ("True", "Failed")

    run_olmkit.tell("The next version of the operator has another role")
    tasks = place / "roles/motd/tasks/main.yml"
    tasks.write_text(tasks.read_text().replace("hello {{ say_to }}", "welcome {{ say_to }}"))
    catalog = maker.release(place, "0.0.2")
    done = run_olmkit.try_("upgrade", package, "--catalog", catalog, "-n", namespace)
    assert f"`{package}.v0.0.2` is installed and healthy" in done.out
    objects.wait("welcome you", "configmap", "day-message", "data", "text")

    run_olmkit.tell("Nothing is left: neither of the objects nor of the runs")
    objects.wait_for("motd", "day", SUCCEEDED)
    objects.delete("motd", "night")
    objects.delete("motd", "day")
    objects.wait_until_gone("configmap")
    pod = ("exec", "-n", namespace, f"deploy/{package}-controller-manager", "--")
    find = ("find", "/tmp", "-name", "run-*")  # noqa: S108 - in the pod
    objects.eventually(lambda: not cluster.kubectl(*pod, *find), LONG, "no run has a folder")
    uninstall(cluster, run_olmkit, package, namespace)


def test_one_operator_has_kinds_in_python_with_helm_and_with_ansible(
    cluster: Any, run_olmkit: Any, maker: OperatorBuilder, namespace: str, objects: Objects
) -> None:
    package = "mixed-operator"
    place = maker.project(package)
    maker.kind(place, "Pond", "--image", f"{cluster.registry}/memcached:1",
               "--image-container-port", "11211", "--run-as-user", "1001")  # fmt: skip
    maker.kind(place, "Garden", "--plugins", "helm", "--helm-chart", maker.chart())
    maker.kind(place, "Poem", "--plugins", "ansible", "--generate-role")
    write(place / "requirements.yml", "collections: []\n")
    write(place / "roles/poem/tasks/main.yml", TASKS.replace("Motd", "Poem"))
    catalog = maker.release(place, "0.0.1", "--helm", maker.helm)
    run_olmkit("install", package, "--catalog", catalog, "-n", namespace)

    objects.create("Pond", "deep", {"size": 1, "containerPort": 11211})
    objects.create("Garden", "home", {"greeting": "hello"})
    objects.create("Poem", "day", {"sayTo": "you"})
    objects.wait(1, "deployment", "deep", "status", "readyReplicas")
    objects.wait("hello you", "configmap", "day-message", "data", "text")
    objects.wait_for("garden", "home", deployed("InstallSuccessful"))
    objects.wait_for("poem", "day", SUCCEEDED)
    for kind, name in (("pond", "deep"), ("garden", "home"), ("poem", "day")):
        objects.delete(kind, name)
    objects.wait_until_gone("deployment", "service", "configmap", "secret")
    uninstall(cluster, run_olmkit, package, namespace)
