"""A program next to an API server double with the CRDs and samples of a project."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from olmkit.testing import samples

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: toys.example.com}
spec:
  group: example.com
  names: {kind: Toy, plural: toys, singular: toy, listKind: ToyList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
"""
SAMPLE = "apiVersion: example.com/v1\nkind: Toy\nmetadata: {name: bear}\nspec: {size: 2}\n"
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: manager-role, namespace: system}
rules:
- {apiGroups: [example.com], resources: [toys], verbs: [list]}
- {apiGroups: [apps], resources: [deployments], verbs: [create, get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: toy-admin-role}
rules:
- {apiGroups: [""], resources: [configmaps], verbs: ["*"]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: manager-rolebinding}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: manager-role}
"""
PROGRAM = """\
import json, os, sys, time, urllib.error, urllib.request
config = json.load(open(os.environ["KUBECONFIG"]))
server = config["clusters"][0]["cluster"]["server"]

def send(path, body=None):
    data = json.dumps(body).encode() if body else None
    headers = {
        "Content-Type": "application/json",
        "Authorization": "Bearer " + config["users"][0]["user"]["token"],
    }
    try:
        with urllib.request.urlopen(urllib.request.Request(server + path, data, headers)) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return json.load(error)

toys = send("/apis/example.com/v1/toys")["items"]
print("toys", [one["metadata"]["name"] for one in toys])
pod = {"containers": [{"name": "c", "image": "i"}]}
template = {"metadata": {"labels": {"a": "b"}}, "spec": pod}
spec = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "template": template}
path = "/apis/apps/v1/namespaces/default/deployments"
send(path, {"metadata": {"name": "den"}, "spec": spec})
while (status := send(path + "/den").get("status", {})).get("readyReplicas") != 3:
    time.sleep(0.05)
print("ready", status["conditions"][0]["type"])
said = send("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "map"}})
print(said.get("message", "created"))
sys.exit(5)
"""
FORBIDDEN = (
    'configmaps is forbidden: User "operator" cannot create resource "configmaps" in API group ""'
    ' in the namespace "default"'
)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    for path, text in {
        "crd/bases/toys.yaml": CRD,
        "samples/kustomization.yaml": "resources: [toy.yaml]\n",
        "samples/toy.yaml": SAMPLE,
        "rbac/role.yaml": ROLE,
    }.items():
        file = tmp_path / "config" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path / "config"


def test_a_program_finds_samples_and_gets_only_what_bound_roles_grant(
    config: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert samples.main([str(config), sys.executable, "-c", PROGRAM]) == 5
    out, err = capfd.readouterr()
    assert out.splitlines() == [
        "toys ['bear']",
        "ready Available",
        FORBIDDEN,
        "created Deployment default/den",
    ]
    assert "does not grant: create configmaps in namespace `default`" in err


def test_a_sample_of_another_version_is_the_same_object(
    config: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (config / "samples/toy_v2.yaml").write_text(SAMPLE.replace("size: 2", "size: 3"))
    assert samples.main([str(config), sys.executable, "-c", PROGRAM]) == 5
    assert "toys ['bear']" in capfd.readouterr().out


def test_a_program_that_creates_nothing_is_reported(
    config: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert samples.main([str(config), sys.executable, "-c", ""]) == 0
    assert capfd.readouterr().out == "created no objects\n"


def test_without_bindings_everything_is_granted(
    config: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (config / "rbac/role.yaml").unlink()
    assert samples.main([str(config), sys.executable, "-c", PROGRAM]) == 5
    assert "created ConfigMap default/map" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SAMPLE.replace("size: 2", "size: big"), "spec.size: Invalid value"),
        (SAMPLE.replace("Toy", "Tyo"), "Tyo"),
        ("", "has no samples"),
        (SAMPLE.replace("{name: bear}", ""), "the sample has no `metadata.name`"),
        (SAMPLE.replace("kind: Toy", ""), "the sample has no `kind`"),
        (SAMPLE.replace("bear", "5"), "`metadata.name` is not a string"),
        (SAMPLE.replace("bear", "bear, labels: {a: 1}"), "cannot unmarshal number"),
    ],
)
def test_samples_that_the_server_rejects_are_named(
    config: Path, text: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (config / "samples/toy.yaml").write_text(text)
    assert samples.main([str(config), sys.executable, "-c", PROGRAM]) == 2
    out, err = capfd.readouterr()
    assert words in err
    assert out == ""


@pytest.mark.parametrize(
    ("crd", "words"),
    [
        (CRD.split("spec:")[0], "`toys.example.com` has no `spec.group`"),
        (CRD.split("  versions:")[0], "`toys.example.com` has no `spec.versions`"),
        (CRD.replace("  - name: v1", "  - storage: true"), "has no `spec.versions[].name`"),
    ],
)
def test_a_definition_without_the_fields_of_a_kind_is_an_error(
    config: Path, crd: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (config / "crd/bases/toys.yaml").write_text(crd)
    assert samples.main([str(config), sys.executable, "-c", PROGRAM]) == 2
    assert words in capfd.readouterr().err


NAMESPACES = """\
import json, os, urllib.request
config = json.load(open(os.environ["KUBECONFIG"]))
url = config["clusters"][0]["cluster"]["server"] + "/apis/example.com/v1/toys"
with urllib.request.urlopen(url) as answer:
    found = [one["metadata"] for one in json.load(answer)["items"]]
print(config["contexts"][0]["context"]["namespace"])
print(*sorted(one["namespace"] + "/" + one["name"] for one in found))
"""


def test_samples_are_in_their_namespace_or_in_the_watched_one(
    config: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCH_NAMESPACE", "staging,other")
    # A list, an object whose namespace is in a later file, and entries that are not files.
    duck = {"apiVersion": "example.com/v1", "kind": "Toy", "metadata": {"name": "duck"}}
    listed = {"apiVersion": "v1", "kind": "List", "items": [duck]}
    (config / "samples/duck.yaml").write_text(json.dumps(listed))
    (config / "samples/fox.yaml").write_text(SAMPLE.replace("bear", "fox, namespace: woods"))
    (config / "samples/woods.yaml").write_text(
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: woods}\n"
    )
    (config / "samples/folder.yaml").mkdir()
    (config / "samples/link.yaml").symlink_to("nowhere")
    assert samples.main([str(config), sys.executable, "-c", NAMESPACES]) == 0
    context, toys, _ = capfd.readouterr().out.splitlines()
    assert context == "staging"
    assert toys == "staging/bear staging/duck woods/fox"
