"""Package manifests as bundles: channels, annotations, files, refused inputs."""

from __future__ import annotations

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import InputError
from olmkit.base.tree import Tree
from olmkit.bundle import package_bundles

PACKAGE = b"""packageName: cog
defaultChannel: stable
channels:
- {name: stable, currentCSV: cog.v2.0.0}
- {name: fast, currentCSV: cog.v2.0.0}
- {name: old, currentCSV: cog.v1.0.0}
"""


def csv(version: str, annotations: str = "{}") -> bytes:
    return (
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n"
        f"metadata: {{name: cog.v{version}, annotations: {annotations}}}\n"
    ).encode()


def package(**files: bytes) -> Tree:
    found = {"cog.package.yaml": PACKAGE, "ci.yaml": b"x: y\n", "2.0.0/cog.csv.yaml": csv("2.0.0")}
    return Tree({**found, **{path.replace("__", "/"): data for path, data in files.items()}})


def annotations(tree: Tree, folder: str) -> dict[str, str]:
    (found,) = (one for one in package_bundles.bundles(tree, "pm") if one.folder == folder)
    value = documents.load(found.files.data("bundle/metadata/annotations.yaml"), "a").value
    named: dict[str, str] = value["annotations"]
    return {key.removeprefix("operators.operatorframework.io"): named[key] for key in named}


def test_each_directory_is_a_bundle_in_the_channels_that_have_its_csv_as_head() -> None:
    tree = package(
        **{
            "1.0.0__a.yaml": csv("1.0.0"),
            "1.0.0__b.yaml": b"kind: X\n",
            "0.1.0__a.yaml": csv("0.1.0"),
        }
    )

    found = package_bundles.bundles(tree, "pm")

    assert [(one.folder, one.csv, one.channels, one.is_newest) for one in found] == [
        ("bundle-0.1.0", "cog.v0.1.0", ("stable",), False),
        ("bundle-1.0.0", "cog.v1.0.0", ("old",), True),
        ("bundle-2.0.0", "cog.v2.0.0", ("stable", "fast"), True),
    ]
    assert sorted(found[1].files) == [
        "bundle.Dockerfile",
        "bundle/manifests/a.yaml",
        "bundle/manifests/b.yaml",
        "bundle/metadata/annotations.yaml",
    ]
    assert found[1].files.data("bundle/manifests/a.yaml") == csv("1.0.0")
    assert annotations(tree, "bundle-2.0.0") == {
        ".bundle.mediatype.v1": "registry+v1",
        ".bundle.manifests.v1": "manifests/",
        ".bundle.metadata.v1": "metadata/",
        ".bundle.package.v1": "cog",
        ".bundle.channels.v1": "stable,fast",
        ".bundle.channel.default.v1": "stable",
    }


def test_the_scorecard_configuration_moves_to_the_tests_and_the_builder_into_the_annotations() -> (
    None
):
    config = b"apiVersion: scorecard.operatorframework.io/v1alpha3\nkind: Configuration\n"
    kept = "{operators.operatorframework.io/builder: b, other: c}"
    tree = package(**{"2.0.0__cog.csv.yaml": csv("2.0.0", kept), "2.0.0__sub__sc.yaml": config})

    (found,) = package_bundles.bundles(tree, "pm")

    assert found.files.data("bundle/tests/scorecard/config.yaml") == config
    assert "bundle/manifests/sub/sc.yaml" not in found.files
    assert b"COPY bundle/tests/scorecard" in found.files.data("bundle.Dockerfile")
    named = annotations(tree, "bundle-2.0.0")
    assert named["/builder"] == "b"
    assert named[".test.config.v1"] == "tests/scorecard/"
    assert "other" not in named


def test_the_only_channel_is_the_default_one() -> None:
    one = b"packageName: cog\nchannels: [{name: only, currentCSV: cog.v2.0.0}]\n"
    tree = package(**{"cog.package.yaml": one})

    assert annotations(tree, "bundle-2.0.0")[".bundle.channel.default.v1"] == "only"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"cog.package.yaml": b"x: y\n"}, "`pm` has no package manifest"),
        ({"cog.package.yaml": b"packageName: ''\n"}, "`pm` has no package manifest"),
        ({"cog.package.yaml": b"packageName: cog\n"}, "the package `cog` has no default channel"),
        ({"2.0.0__cog.csv.yaml": b"kind: X\n"}, "`pm/2.0.0` has no ClusterServiceVersion"),
        ({"2.0.0__cog.csv.yaml": b"kind: [\n"}, "`pm/2.0.0` has no ClusterServiceVersion"),
        (
            {"2.0.0__z.yaml": csv("2.0.1")},
            "`pm/2.0.0` has more than one ClusterServiceVersion: `cog.csv.yaml`, `z.yaml`",
        ),
        (
            {
                f"2.0.0__{name}.yaml": b"apiVersion: scorecard.operatorframework.io/v1alpha3\n"
                b"kind: Configuration\n"
                for name in "ab"
            },
            "`pm/2.0.0` has more than one configuration of the scorecard: `a.yaml`, `b.yaml`",
        ),
    ],
)
def test_a_directory_that_is_not_a_package_is_refused(
    files: dict[str, bytes], message: str
) -> None:
    with pytest.raises(InputError) as raised:
        package_bundles.bundles(package(**files), "pm")

    assert message in raised.value.message


def test_a_package_without_versions_is_refused() -> None:
    with pytest.raises(InputError, match="`pm` has no folder of a version"):
        package_bundles.bundles(Tree({"cog.package.yaml": PACKAGE}), "pm")
