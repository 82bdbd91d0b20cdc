"""A model and its CRD accept the same objects.

The model is validated in strict mode, as the API server reads JSON; the schema is
validated as JSON Schema draft 4, whose keywords are those of a CRD.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

import jsonschema
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings

from olmkit.apis.crds import manifests
from olmkit.apis.crds.schema_options import Options
from olmkit.apis.findings import Findings
from olmkit.apis.python import source
from olmkit.base.tree import Tree
from olmkit.kube.crds import structural

pytestmark = pytest.mark.property


def _agreement() -> Any:
    path = Path(__file__).parent / "agreement.py"
    spec = importlib.util.spec_from_file_location("random_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


agreement = _agreement()


def crd_of(text: str) -> dict[str, Any]:
    findings = Findings()
    sources = source.read(Tree({"api/v1.py": text.encode()}), findings)
    (crd,) = manifests.crds(sources, findings, Options(allow_dangerous_types=True)).values()
    assert [str(found.message) for found in findings.items] == []
    return crd


def kind_of(text: str) -> type[pydantic.BaseModel]:
    module = types.ModuleType("random_kind")
    sys.modules[module.__name__] = module
    exec(compile(text, "v1.py", "exec"), module.__dict__)  # noqa: S102 - written here
    kind: type[pydantic.BaseModel] = module.__dict__["Thing"]
    kind.model_rebuild()
    return kind


def is_accepted_by(kind: type[pydantic.BaseModel], manifest: dict[str, Any]) -> bool:
    try:
        kind.model_validate_json(json.dumps(manifest), strict=True)
    except pydantic.ValidationError:
        return False
    return True


@given(world=agreement.worlds())
@settings(
    max_examples=120,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_a_model_and_its_crd_accept_the_same(world: Any) -> None:
    crd = crd_of(world.source)
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert list(structural.check(schema)) == []
    kind = kind_of(world.source)
    judge = jsonschema.Draft4Validator(schema)
    for spec in world.specs:
        manifest = {
            "apiVersion": "random.example.com/v1",
            "kind": "Thing",
            "metadata": {"name": "x"},
            "spec": spec,
        }
        problems = [error.message for error in judge.iter_errors(manifest)]
        assert is_accepted_by(kind, manifest) is not bool(problems), (spec, problems)
