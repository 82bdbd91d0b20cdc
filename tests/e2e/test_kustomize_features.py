"""Features of kustomize, one per overlay: built as in kustomize, or refused with an error.

`KUSTOMIZE` can name the program; otherwise it is built once.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.jobs.project import overlay

pytestmark = pytest.mark.e2e

DIGEST = f"sha256:{'1' * 64}"
DEPLOYMENT = f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  labels: {{app: web}}
spec:
  replicas: 1
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec:
      serviceAccountName: account
      initContainers:
      - {{name: first, image: "reg:5000/a/first:1"}}
      containers:
      - name: one
        image: nginx:1.0
        env: [{{name: A, valueFrom: {{configMapKeyRef: {{name: words, key: a}}}}}}]
      - {{name: two, image: "nginx@sha256:{"0" * 64}"}}
"""
OTHERS = """\
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: account}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
data: {a: "1", url: http://web.ns.svc/x}
"""
PATCHES = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec: {replicas: 3, template: {spec: {containers: [{name: two, $patch: delete}, {name: three}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
data: {a: null, b: '2'}
"""
FILES = {
    "deployment.yaml": DEPLOYMENT,
    "others.yaml": OTHERS,
    "inner/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\nnameSuffix: -s\n"
    "namespace: one\n",
    "base/kustomization.yaml": "resources: [deployment.yaml, others.yaml]\n",
    "base/deployment.yaml": DEPLOYMENT,
    "base/others.yaml": OTHERS,
    "part/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n"
    "namePrefix: part-\n",
    "patches.yaml": PATCHES,
    "replacement.yaml": "source: {kind: Service, name: web}\ntargets:\n"
    "- select: {kind: ConfigMap}\n  fieldPaths: [data.url]\n"
    "  options: {delimiter: '/', index: 2}\n",
    "fields.yaml": "namePrefix:\n- {path: data/a, kind: ConfigMap}\nimages:\n"
    "- {path: data/url, kind: ConfigMap}\ncommonLabels:\n"
    "- {path: spec/selector, create: true, kind: ConfigMap}\n",
    "text.txt": "hello\nworld\n",
    "words.env": "A=1\n# no\nB=2\n",
    "plugin.yaml": "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: a}\n"
    "prefix: z-\nfieldSpecs: [{path: metadata/name}]\n",
    "maps.yaml": "apiVersion: builtin\nkind: ConfigMapGenerator\nmetadata: {name: a}\n"
    "literals: [a=b]\n",
    "operations.yaml": """\
- op: replace
  path: /spec/replicas
  value: 7
- op: copy
  from: /metadata/name
  path: /metadata/labels/q~1a
- op: move
  from: /metadata/labels/app
  path: /metadata/labels/b
- op: test
  path: /spec/replicas
  value: 7
""",
    "schema.json": "{}",
    "twice.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {a: b, a: c}\n",
}
ADDS = """patch: '[{"op": "add", "path": "/metadata/labels/q", "value": "r"}]'"""
RESOURCES = "resources: [deployment.yaml, others.yaml]\n"
BUILT = {
    "replacement in a file": "replacements: [{path: replacement.yaml}]",
    "replacement of an item by a number": "replacements: [{source: {kind: Service, fieldPath:"
    " spec.ports.0.port}, targets: [{select: {kind: Deployment}, fieldPaths:"
    " ['spec.template.spec.containers.[name=one].env.0.name']}]}]",
    "replacement of a number": "replacements: [{source: {kind: ConfigMap, fieldPath: data.a},"
    " targets: [{select: {kind: Deployment}, fieldPaths: [spec.replicas]}]}]",
    "replacement of nothing": "replacements: [{source: {kind: ConfigMap, fieldPath: data.a},"
    " targets: [{select: {kind: Deployment}, fieldPaths: [spec.minReadySeconds],"
    " options: {create: true}}]}]",
    "replacement with rejects": "replacements: [{source: {kind: Service}, targets: [{select:"
    " {version: v1}, reject: [{kind: Service}, {kind: ServiceAccount}], fieldPaths:"
    " [metadata.annotations.x], options: {create: true}}]}]",
    "replacement by a value": "replacements: [{sourceValue: hello, targets: [{select:"
    " {kind: ConfigMap}, fieldPaths: [data.a]}]}]",
    "component": "components: [part]",
    "generator with options": "configMapGenerator: [{name: made, literals: [a=b, 'c=\"d\"'],"
    " options: {disableNameSuffixHash: true, labels: {l: m}, annotations: {p: q},"
    " immutable: true}}]",
    "generator of files": "configMapGenerator: [{name: made, files: [text.txt, k=text.txt], envs:"
    " [words.env]}, {name: words, behavior: merge, literals: [z=1]}]\n"
    "generatorOptions: {labels: {q: r}}",
    "generator that replaces": "configMapGenerator: [{name: words, behavior: replace,"
    " literals: [z=1]}]",
    "generator in a namespace": "configMapGenerator: [{name: m, namespace: q,"
    " literals: [a=b=c, x=]}]",
    "secrets": "secretGenerator: [{name: s, literals: [a=b], type: Opaque}]\nnamePrefix: p-",
    "variables": "vars: [{name: S, objref: {kind: Service, name: web, apiVersion: v1}}]\n"
    'namePrefix: p-\npatches: [{target: {kind: Deployment}, patch: \'[{"op": "add", "path":'
    ' "/spec/template/spec/containers/0/args", "value": ["$(S)"]}]\'}]',
    "configurations": "configurations: [fields.yaml]\nnamePrefix: p-\n"
    "commonLabels: {l: m}\nimages: [{name: 'http://web.ns.svc/x', newTag: '2'}]",
    "patches of a file": "patches: [{path: patches.yaml}]",
    "old patches of a file": "patchesStrategicMerge: [patches.yaml]",
    "old JSON patches": "patchesJson6902:\n- {target: {group: apps, version: v1, kind: Deployment,"
    " name: web}, path: operations.yaml}",
    "target by labels": f"patches: [{{target: {{labelSelector: 'app in (web),!x'}}, {ADDS}}}]",
    "target by annotations": f"patches: [{{target: {{annotationSelector: a=b}}, {ADDS}}}]",
    "image by digest": f"images: [{{name: nginx, newName: a/b, digest: '{DIGEST}'}}, {{name:"
    " 'reg:5000/a/first', newTag: '2'}]",
    "image by both": f"images: [{{name: nginx, newTag: '3', digest: '{DIGEST}'}}]",
    "image by pattern": "images: [{name: 'ng.*', newTag: '3'}]",
    "replicas": "replicas: [{name: web, count: 5}]",
    "labels": "labels: [{pairs: {l: m}, includeTemplates: true}, {pairs: {s: t}, includeSelectors:"
    " true}]",
    "common labels": "commonLabels: {l: m}\ncommonAnnotations: {k: v}",
    "order of input": "sortOptions: {order: fifo}",
    "order": "sortOptions: {order: legacy}",
    "old bases": "resources: [inner]\nbases: []",
    "inner overlay": "resources: [inner]\nnamePrefix: a-\nnamespace: two",
    "nothing": "patches:\nimages:\nlabels:\nreplacements:\nopenapi:",
    "two documents": f"---\n{RESOURCES}",
}
BOTH_REFUSE = {
    "helm charts": "helmCharts: [{name: x, repo: 'https://example.com'}]",
    "validators": "validators: [plugin.yaml]",
    "replicas of nothing": "replicas: [{name: none, count: 5}]",
    "patch of nothing": "patches: [{patch: '{apiVersion: v1, kind: Secret, metadata: {name: q}}'}]",
    "target of several documents": "patches: [{path: patches.yaml, target: {kind: Deployment}}]",
    "number as a tag": "images: [{name: nginx, newTag: 1.10}]",
    "number as a label": "commonLabels: {l: 1}",
    "another kind": "kind: Service",
    "another version": "apiVersion: v9",
    "unknown key": "nothing: here",
    "unknown key of an entry": "images: [{name: nginx, tag: '1'}]",
    "key twice": "resources: [twice.yaml]",
    "text for a number": "replacements: [{source: {kind: Service}, targets: [{select:"
    " {kind: Deployment}, fieldPaths: [spec.replicas]}]}]",
    "another machine": "resources: ['https://example.invalid/a//b?ref=v1']",
    "outside": "resources: [../../elsewhere]",
    "its own part": "components: ['.']",
}
WE_REFUSE = {
    "schemas": "openapi: {path: schema.json}",
    "CRDs": "crds: [schema.json]",
    "transformers": "transformers: [plugin.yaml]",
    "generators": "generators: [maps.yaml]",
    "build metadata": "buildMetadata: [managedByLabel]",
    "tag suffix": "images: [{name: nginx, tagSuffix: -x}]",
    "fields of labels": "labels: [{pairs: {l: m}, fields: [{path: data/l, kind: ConfigMap,"
    " create: true}]}]",
    "order of kinds": "sortOptions: {order: legacy, legacySortOptions: {orderFirst: [Service]}}",
    "options of a patch": "patches: [{path: patches.yaml, options: {allowNameChange: true}}]",
    "old image tags": "imageTags: [{name: nginx, newTag: '2'}]",
}


def built(program: str, text: str, place: Path) -> bytes:
    """Return the output of kustomize, or an empty string if it refuses."""
    files = FILES | {"kustomization.yaml": text + "\n"}
    if "resources" not in text:
        files["kustomization.yaml"] += RESOURCES
    for name, content in files.items():
        path = place / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    done = subprocess.run([program, "build", "."], cwd=place, capture_output=True, check=False)
    assert bool(done.stdout) is not bool(done.returncode), done.stderr
    return done.stdout


@pytest.mark.parametrize("feature", BUILT)
def test_a_feature_is_built_as_in_kustomize(feature: str, kustomize: str, tmp_path: Path) -> None:
    wanted = built(kustomize, BUILT[feature], tmp_path)
    assert wanted
    assert overlay.stream(overlay.with_image(overlay.render(tmp_path, "."), "")) == wanted


@pytest.mark.parametrize("feature", BOTH_REFUSE)
def test_input_that_kustomize_refuses_is_refused_with_its_place(
    feature: str, kustomize: str, tmp_path: Path
) -> None:
    assert not built(kustomize, BOTH_REFUSE[feature], tmp_path)
    with pytest.raises(InputError) as caught:
        overlay.render(tmp_path, ".")
    at = caught.value.diagnostics[0].at
    assert at is not None
    assert at.line


@pytest.mark.parametrize("feature", WE_REFUSE)
def test_input_that_only_kustomize_builds_is_refused_with_a_hint(
    feature: str, kustomize: str, tmp_path: Path
) -> None:
    assert built(kustomize, WE_REFUSE[feature], tmp_path)
    with pytest.raises(InputError, match="not supported here") as caught:
        overlay.render(tmp_path, ".")
    at = caught.value.diagnostics[0].at
    assert at is not None
    assert at.line
    assert caught.value.hint == "pipe the output of `kustomize build` into `--input -`"
