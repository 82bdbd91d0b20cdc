"""Changes of CRDs, the objects that show their meaning, and how they are created.

The changes are in `vectors/crd_changes.yaml`, whose comment describes its keys.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

from olmkit.base import documents
from olmkit.kube.crds.changes import definitions, samples
from olmkit.kube.objects import Manifest

VECTORS = Path(__file__).parent / "vectors" / "crd_changes.yaml"
CASES: dict[str, dict[str, Any]] = documents.load(VECTORS.read_bytes(), "").value
MANY = 12  # objects that a harmless change must not refuse
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")


def crd_of(number: int, spec: Any) -> Manifest:
    schema = {"type": "object", "properties": {"spec": {"type": "object", **spec}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"kind": f"Thing{number}", "plural": f"thing{number}s"}
    return {
        "apiVersion": CRD[0],
        "kind": CRD[1],
        "metadata": {"name": f"{names['plural']}.example.com"},
        "spec": {
            "group": "example.com",
            "names": names,
            "scope": "Namespaced",
            "versions": [version],
        },
    }


def object_of(number: int, spec: Any, name: str = "example") -> Manifest:
    return {
        "apiVersion": "example.com/v1",
        "kind": f"Thing{number}",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def specs_of(case: dict[str, Any]) -> list[Any]:
    """Return the `spec` of old objects: those that show the change, then `MANY` small ones."""
    old, new = (crd_of(0, case[key]) for key in ("old", "new"))
    shown = case.get("object")
    specs = [shown] if shown is not None else []
    changes = definitions.compare_crds(old, new)
    specs += [one.example["spec"] for one in changes if one.example and one.refuses]
    schema = old["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    inner = schema["properties"]["spec"]
    fitting = (one for one in samples.candidate_values(inner, inner) if samples.fits(one, inner))
    return [*specs, *itertools.islice(fitting, MANY)]
