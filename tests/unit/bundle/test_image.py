"""The image of a bundle: files, labels, name."""

from __future__ import annotations

import pytest

from olmkit.base.tree import Tree
from olmkit.bundle import image, layout
from olmkit.bundle.model import Bundle

PREFIX = "operators.operatorframework.io."


def bundle(*, version: str = "1.0.0", package: str = "memcached", **more: str) -> Bundle:
    annotations = {f"{PREFIX}bundle.package.v1": package, **more}
    lines = "".join(f"  {key}: {value}\n" for key, value in annotations.items())
    return layout.read(
        Tree(
            {
                "manifests/csv.yaml": "apiVersion: operators.coreos.com/v1alpha1\n"
                f"kind: ClusterServiceVersion\nspec: {{version: {version}}}\n".encode(),
                "metadata/annotations.yaml": f"annotations:\n{lines}".encode(),
                "tests/scorecard/config.yaml": b"kind: Configuration\n",
                "README.md": b"not for the image",
            }
        )
    )


def test_tests_are_in_the_image_when_the_annotations_name_them() -> None:
    assert list(image.files(bundle())) == ["manifests/csv.yaml", "metadata/annotations.yaml"]
    named = bundle(**{f"{PREFIX}test.config.v1": "tests/scorecard/"})
    assert "tests/scorecard/config.yaml" in image.files(named)


@pytest.mark.parametrize(
    ("version", "package", "tag"),
    [
        ("1.0.0", "memcached", "memcached-bundle:v1.0.0"),
        ("1.0.0-rc.1+build.5", "memcached", "memcached-bundle:v1.0.0-rc.1-build.5"),
        ("''", "Odd Name--", "Odd-Name-bundle:v0"),
    ],
)
def test_the_image_is_named_after_package_and_version(version: str, package: str, tag: str) -> None:
    assert image.default_tag(bundle(version=version, package=package)) == tag


def test_labels_of_a_containerfile_are_read_as_by_an_engine() -> None:
    text = b"""FROM scratch
# LABEL no=1
LABEL a=1 b="two words" \\
      c='3'
label d e f
LABEL "quoted key"="x=y"
LABEL broken="
LABEL variable=$HOME
"""
    assert image.containerfile_labels(text) == {
        "a": "1",
        "b": "two words",
        "c": "3",
        "d": "e f",
        "quoted key": "x=y",
    }
