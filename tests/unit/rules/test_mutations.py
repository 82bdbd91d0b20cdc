"""A thousand invalid bundles: for any contents, olmkit has a result and no rule crashes."""

from __future__ import annotations

import random

import pytest

from olmkit.base.diagnostics import OlmkitError
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.cli.frame import output, reports
from olmkit.rules import engine
from tests.mutations import mutated

COUNT = 1000
EXTRA = {
    "metadata/dependencies.yaml": (
        b"dependencies:\n- {type: olm.package, value: {packageName: a, version: 1.x}}\n"
        b"- {type: olm.constraint, value: {failureMessage: m, cel: {rule: 'true'}}}\n"
    ),
    "metadata/properties.yaml": b"properties:\n- {type: olm.maxOpenShiftVersion, value: '4.15'}\n",
    "manifests/role.yaml": (
        b"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: a}\n"
        b"rules:\n- {apiGroups: [''], resources: [pods], verbs: [get]}\n"
    ),
}


@pytest.mark.parametrize("part", range(4))
def test_an_invalid_bundle_is_checked_without_a_crash(minimal: Tree, part: int) -> None:
    base = minimal.merge(EXTRA)
    for seed in range(part, COUNT, 4):
        broken = mutated(base, random.Random(seed))
        try:
            bundle = layout.read(broken, "bundle")
        except OlmkitError:
            continue
        found = engine.run(bundle, engine.rules())
        assert not engine.has_crashed(found), (
            seed,
            [f.message for f in found if f.rule == engine.CRASH],
        )
        assert all(finding.message and "\n" not in finding.message for finding in found), seed
        output.text(found, {f"bundle/{path}": file.data for path, file in broken.items()}.get)
        reports.sarif(found)
