"""Bills of materials: what is in the image, the same on every run."""

from __future__ import annotations

import json

from olmkit.base.tree import Tree
from olmkit.project import sbom

PACKAGES = Tree(
    {
        "b-2.0.dist-info/METADATA": b"Name: B\nVersion: 2.0\n\nName: no\n",
        "a-1.0.dist-info/METADATA": b"Name: a\nVersion: 1.0\nLicense-Expression: MIT\n",
        "a/vendored/x-1.dist-info/METADATA": b"Name: x\nVersion: 1\n",
    }
)


def test_each_package_is_listed_with_version_and_licence() -> None:
    value = json.loads(sbom.write("operator", PACKAGES))
    assert value["bomFormat"] == "CycloneDX"
    assert value["metadata"]["component"]["name"] == "operator"
    assert [(part["purl"], part.get("licenses")) for part in value["components"]] == [
        ("pkg:pypi/a@1.0", [{"expression": "MIT"}]),
        ("pkg:pypi/b@2.0", None),
    ]


def test_equal_packages_give_equal_bytes() -> None:
    assert sbom.write("operator", PACKAGES) == sbom.write("operator", PACKAGES)
    assert sbom.write("operator", PACKAGES) != sbom.write("other", PACKAGES)
