"""The APIs of a bundle, read as the tools that build catalogs do."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.catalog.bundles import source_bundle
from olmkit.catalog.bundles.source_apis import Api

Cog = Callable[..., Tree]
CRD = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"


@pytest.mark.parametrize(
    ("crd", "message"),
    [
        (None, "couldn't find"),
        (
            "apiVersion: example.org/v1\nkind: CustomResourceDefinition\n",
            'no kind "CustomResourceDefinition" is registered for version "example.org/v1"',
        ),
        (
            f"{CRD}spec: {{versions: [{{name: v1, served: 'yes'}}]}}\n",
            "`spec.versions[0].served` must be",
        ),
        (
            f"{CRD}status: {{conditions: 1}}\n",
            "`status.conditions` must be a list",
        ),
    ],
)
def test_crds_of_a_wrong_type_are_refused(cog: Cog, crd: str | None, message: str) -> None:
    with pytest.raises(InputError) as raised:
        source_bundle.read(cog({"manifests/crd.yaml": crd}))

    assert message in raised.value.message


def test_a_key_of_a_crd_in_the_wrong_case_is_unknown(cog: Cog) -> None:
    crd = (
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "spec: {group: example.org, names: {kind: Cog, plural: cogs}, versions: [{name: v1}],\n"
        "  Scope: 5}\n"
    )

    bundle = source_bundle.read(cog({"manifests/crd.yaml": crd}))

    assert bundle.provided == {Api("example.org", "v1", "Cog", "cogs")}


def test_all_versions_of_an_old_crd_are_provided(cog: Cog) -> None:
    crd = (
        "apiVersion: apiextensions.k8s.io/v1beta1\nkind: CustomResourceDefinition\n"
        "spec: {group: example.org, version: v2, names: {kind: Cog, plural: cogs},\n"
        "  versions: [{name: v1}]}\n"
    )

    bundle = source_bundle.read(cog({"manifests/crd.yaml": crd}))

    assert {api.version for api in bundle.provided} == {"v1", "v2"}
