"""Bills of materials: the contents of the image, reproducible."""

from __future__ import annotations

import json

from olmkit.base.tree import Tree
from olmkit.project import sbom
from olmkit.project.sbom import SbomComponent

PACKAGES = Tree(
    {
        "b-2.0.dist-info/METADATA": b"Name: B\nVersion: 2.0\n\nName: no\n",
        "a-1.0.dist-info/METADATA": b"Name: a\nVersion: 1.0\nLicense-Expression: MIT\n",
        "a/vendored/x-1.dist-info/METADATA": b"Name: x\nVersion: 1\n",
    }
)


def test_each_package_is_listed_with_version_and_license() -> None:
    value = json.loads(sbom.write("operator", PACKAGES))
    assert value["bomFormat"] == "CycloneDX"
    assert value["metadata"]["component"]["name"] == "operator"
    assert [(part["purl"], part.get("licenses")) for part in value["components"]] == [
        ("pkg:pypi/a@1.0", [{"expression": "MIT"}]),
        ("pkg:pypi/b@2.0", None),
    ]


def test_other_parts_have_a_type_and_a_digest() -> None:
    parts = [
        SbomComponent(type="helm", name="nginx", version="1.0.0"),
        SbomComponent(type="generic", name="helm", sha256="ab" * 32),
        SbomComponent(type="ansible", namespace="web", name="core", version="2.0.0", licence="MIT"),
    ]
    value = json.loads(sbom.write("operator", PACKAGES, parts))
    assert sorted(part["purl"] for part in value["components"]) == [
        "pkg:ansible/web/core@2.0.0",
        "pkg:generic/helm",
        "pkg:helm/nginx@1.0.0",
        "pkg:pypi/a@1.0",
        "pkg:pypi/b@2.0",
    ]
    (program,) = [part for part in value["components"] if part["name"] == "helm"]
    assert program["hashes"] == [{"alg": "SHA-256", "content": "ab" * 32}]
    assert "version" not in program
    assert max(len(part.get("dependsOn", ())) for part in value["dependencies"]) == 5
    assert sbom.write("operator", PACKAGES, parts) == sbom.write("operator", PACKAGES, parts[::-1])


def test_equal_packages_result_in_equal_bytes() -> None:
    assert sbom.write("operator", PACKAGES) == sbom.write("operator", PACKAGES)
    assert sbom.write("operator", PACKAGES) != sbom.write("other", PACKAGES)
