"""Generating a bundle on disk: written files, kept files, refused input."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError
from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.registries.client import RegistryStore
from olmkit.edges.images.transports import Access
from olmkit.edges.network.web import Web, WebOptions
from olmkit.jobs.bundle import generate as job
from olmkit.jobs.bundle import image_digests
from olmkit.jobs.bundle.generate import BundleGenerateOptions, BundlePart
from olmkit.jobs.project import generate as generating
from olmkit.oci import image, layer
from olmkit.oci.reference import Reference
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import RegistryServer

BUILDER = "olmkit-test"
DEPLOYMENT = b"""\
apiVersion: apps/v1
kind: Deployment
metadata: {name: manager}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec: {containers: [{name: c, image: i}]}
"""
BASE = """\
apiVersion: operators.coreos.com/v1alpha1
kind: ClusterServiceVersion
metadata:
  name: small.v0.0.0
  annotations: {capabilities: Basic Install, example.com/own: kept}
spec:
  displayName: Small
  version: 0.0.0
  inventedField: {stays: [1, 2]}
  installModes: [{type: AllNamespaces, supported: true, alsoUnknown: 1}]
"""


@pytest.fixture
def go_project(root: Path, tmp_path: Path) -> Path:
    """The Go project without its bundle, in a separate directory."""
    project = tmp_path / "go-project"
    shutil.copytree(root / "tests/fixtures/go-project", project)
    shutil.rmtree(project / "bundle")
    (project / "bundle.Dockerfile").unlink()
    return project


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A project with a base and nothing else."""
    project = tmp_path / "small"
    bases = project / "config/manifests/bases"
    bases.mkdir(parents=True)
    (project / "PROJECT").write_text("projectName: small\nlayout: [go.kubebuilder.io/v4]\n")
    (bases / "small.clusterserviceversion.yaml").write_text(BASE)
    return project


def options_with(**more: Any) -> BundleGenerateOptions:
    return BundleGenerateOptions(**{"version": "0.1.0", "builder": BUILDER, **more})


def piped(data: bytes = DEPLOYMENT, **more: Any) -> BundleGenerateOptions:
    return options_with(inputs=("-",), stdin=data, **more)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("place", ["dist/v1", "../elsewhere"])
def test_a_named_directory_contains_its_containerfile(place: str, go_project: Path) -> None:
    job.generate(go_project, options_with(output=place))

    text = (go_project / place / "bundle.Dockerfile").read_text()
    assert "COPY manifests /manifests/" in text
    assert not (go_project / "dist/bundle.Dockerfile").exists()
    assert (go_project / place / "manifests").is_dir()


def csv_of(project: Path, output: str = "bundle") -> Any:
    (path,) = (project / output / "manifests").glob("*.clusterserviceversion.yaml")
    return documents.load(path.read_bytes(), str(path)).value


@pytest.mark.parametrize("form", ["stream", "file", "folder", "overlay", "project"])
def test_a_go_project_has_the_same_bundle_from_every_form_of_input(
    form: str, go_project: Path, root: Path
) -> None:
    rendered = go_project / "rendered/manifests.yaml"
    options = {
        "stream": options_with(inputs=("-",), stdin=rendered.read_bytes()),
        "file": options_with(inputs=("rendered/manifests.yaml",)),
        "folder": options_with(inputs=("rendered",)),
        "overlay": options_with(inputs=("config/manifests",)),
        "project": options_with(),
    }[form]

    job.generate(go_project, options)

    expected = root / "tests/fixtures/go-project"
    assert files(go_project / "bundle") == files(expected / "bundle")
    assert (go_project / "bundle.Dockerfile").read_bytes() == (
        expected / "bundle.Dockerfile"
    ).read_bytes()


@pytest.mark.parametrize("version", ["0.0.1", "0.0.2"])
def test_the_shipped_operator_is_generated_as_a_bundle(
    version: str, root: Path, tmp_path: Path
) -> None:
    result = job.generate(
        root / "operator", options_with(version=version, output=str(tmp_path / "out"))
    )

    assert result.version == version
    assert csv_of(tmp_path, "out")["metadata"]["name"] == f"memcached-operator.v{version}"
    # A bundle outside of its project contains its Containerfile.
    assert b"COPY manifests /manifests/" in (tmp_path / "out/bundle.Dockerfile").read_bytes()


def test_a_second_run_changes_nothing(go_project: Path) -> None:
    job.generate(go_project, options_with())

    assert not job.generate(go_project, options_with()).changes


def test_a_dry_run_writes_nothing(small: Path) -> None:
    before = files(small)

    result = job.generate(small, piped(), dry_run=True)

    assert len(result.changes) == 4
    assert files(small) == before


def test_the_time_of_creation_changes_only_with_the_bundle(small: Path) -> None:
    def created() -> Any:
        return csv_of(small)["metadata"]["annotations"].get("createdAt")

    job.generate(small, piped())
    assert created() is None
    job.generate(small, piped(version="0.1.1", created_at="2024-01-01T00:00:00Z"))
    assert created() == "2024-01-01T00:00:00Z"
    job.generate(small, piped(version="0.1.1", created_at="2025-01-01T00:00:00Z"))
    assert created() == "2024-01-01T00:00:00Z"
    job.generate(small, piped(version="0.1.2"))
    assert created() == "2024-01-01T00:00:00Z"
    job.generate(small, piped(version="0.1.3", created_at="2026-01-01T00:00:00Z"))
    assert created() == "2026-01-01T00:00:00Z"


def test_nothing_of_the_base_is_lost(small: Path) -> None:
    job.generate(small, piped())

    csv = csv_of(small)
    assert csv["spec"]["inventedField"] == {"stays": [1, 2]}
    assert csv["spec"]["installModes"] == [
        {"type": "AllNamespaces", "supported": True, "alsoUnknown": 1}
    ]
    assert csv["metadata"]["annotations"]["example.com/own"] == "kept"


def test_files_that_are_no_longer_generated_are_removed(small: Path) -> None:
    config = b"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
    job.generate(small, piped(DEPLOYMENT + config))
    assert (small / "bundle/manifests/one_v1_configmap.yaml").exists()

    job.generate(small, piped())

    assert not (small / "bundle/manifests/one_v1_configmap.yaml").exists()


def test_a_stale_file_that_the_user_changed_is_kept_and_reported(small: Path) -> None:
    config = b"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\n"
    job.generate(small, piped(DEPLOYMENT + config))
    path = small / "bundle/manifests/one_v1_configmap.yaml"
    path.write_text(path.read_text() + "data: {mine: yes}\n")

    result = job.generate(small, piped())

    assert path.exists()
    assert "PRJ117" in {found.rule for found in result.diagnostics}


def test_additions_of_the_user_to_the_bundle_are_kept(small: Path) -> None:
    job.generate(small, piped(channels="stable,fast", default_channel="fast"))
    bundle = small / "bundle"
    (bundle / "metadata/dependencies.yaml").write_text("dependencies: []\n")
    (bundle / "manifests/own.yaml").write_text("apiVersion: v1\nkind: Secret\n")
    annotations = bundle / "metadata/annotations.yaml"
    annotations.write_text(
        annotations.read_text() + '  com.redhat.openshift.versions: "v4.12"\n  a.b/c: "true"\n'
    )
    containerfile = small / "bundle.Dockerfile"
    containerfile.write_text(
        containerfile.read_text() + "\n# Ours.\nLABEL vendor=me\nCOPY LICENSE /licenses/\n"
    )

    job.generate(small, piped(version="0.2.0"))

    assert (bundle / "metadata/dependencies.yaml").exists()
    assert (bundle / "manifests/own.yaml").exists()
    written = documents.load(annotations.read_bytes(), "annotations").value["annotations"]
    assert written["com.redhat.openshift.versions"] == "v4.12"
    assert written["a.b/c"] == "true"
    assert written["operators.operatorframework.io.bundle.channels.v1"] == "stable,fast"
    assert written["operators.operatorframework.io.bundle.channel.default.v1"] == "fast"
    lines = containerfile.read_text().splitlines()
    assert lines[-3:] == ["# Ours.", "LABEL vendor=me", "COPY LICENSE /licenses/"]
    assert "LABEL com.redhat.openshift.versions=v4.12" in lines
    assert not job.generate(small, piped(version="0.2.0")).changes


def test_a_default_channel_can_differ_from_the_channels_of_the_bundle(small: Path) -> None:
    annotations = small / "bundle/metadata/annotations.yaml"

    job.generate(small, piped(channels="fast", default_channel="stable"))
    job.generate(small, piped(version="0.2.0"))

    assert b"channel.default.v1: stable" in annotations.read_bytes()


def test_a_base_of_another_package_is_replaced_by_a_plain_one_and_reported(small: Path) -> None:
    other = DEPLOYMENT + b"---\n" + BASE.replace("small.v", "other.v").encode()

    result = job.generate(small, piped(other))

    csv = (small / "bundle/manifests/small.clusterserviceversion.yaml").read_bytes()
    assert b"small.domain" in csv
    (found,) = (one for one in result.diagnostics if one.rule == "PRJ105")
    assert "`other.v0.0.0` is not one of package `small`" in found.message
    assert "--package other" in found.hint


def test_the_two_parts_of_a_bundle_can_be_written_separately(small: Path) -> None:
    bundle = small / "bundle"

    job.generate(small, piped(parts=frozenset({BundlePart.MANIFESTS})))
    assert not (bundle / "metadata").exists()
    assert not (small / "bundle.Dockerfile").exists()

    job.generate(small, options_with(parts=frozenset({BundlePart.METADATA}), channels="fast"))
    assert b"channels.v1: fast" in (bundle / "metadata/annotations.yaml").read_bytes()
    before = (bundle / "metadata/annotations.yaml").read_bytes()

    result = job.generate(small, piped(parts=frozenset({BundlePart.MANIFESTS}), channels="other"))
    assert (bundle / "metadata/annotations.yaml").read_bytes() == before
    assert [Path(one.path).name for one in result.changes] == [".olmkit-generated"]


def test_the_old_default_channel_is_removed_with_its_channel(small: Path) -> None:
    job.generate(small, piped(channels="stable,fast", default_channel="fast"))

    job.generate(small, piped(channels="stable"))

    assert b"channel.default" not in (small / "bundle/metadata/annotations.yaml").read_bytes()


TWO_BASES = BASE.encode() + b"---\n" + BASE.replace("v0.0.0", "v0.0.1").encode()
REFUSED: dict[str, tuple[dict[str, Any], type[OlmkitError], str]] = {
    "broken-yaml": (
        {"stdin": b"a: b\n---\nkind: [x\n"},
        InputError,
        "<stdin>:3:7",
    ),
    "two-bases": ({"stdin": TWO_BASES}, InputError, "has 2 ClusterServiceVersions"),
    "empty-stream": ({"stdin": b""}, InputError, "no Kubernetes object in `-`"),
    "only-comments": ({"stdin": b"# nothing\n---\n"}, InputError, "no Kubernetes object in `-`"),
    "binary": ({"stdin": b"\x00\x01\xff\xfe" * 9}, InputError, "<stdin>"),
    "no-name": ({"stdin": b"apiVersion: v1\nkind: Secret\n"}, InputError, "the `Secret` has no"),
    "generated-name": (
        {"stdin": b"apiVersion: v1\nkind: Secret\nmetadata: {generateName: a-}\n"},
        InputError,
        "the `Secret` has no name",
    ),
    "odd-metadata": (
        {"stdin": b"apiVersion: v1\nkind: Secret\nmetadata: 3\n"},
        InputError,
        "`metadata` must be a mapping",
    ),
    "wrong-type": (
        {"stdin": DEPLOYMENT.replace(b"image: i", b"image: [1]")},
        InputError,
        "containers[0].image` must be a string, not a list in Deployment `manager`",
    ),
    "missing-file": ({"inputs": ("nowhere.yaml",)}, ConfigurationError, "does not exist"),
    "missing-folder": ({"inputs": ("nowhere/",)}, ConfigurationError, "does not exist"),
    "no-overlay": ({"inputs": ()}, ConfigurationError, "nothing to generate a bundle from"),
    "bad-version": ({"version": "v1.0.0"}, ConfigurationError, "not a valid semantic version"),
    "build-version": ({"version": "1.0.0+1"}, ConfigurationError, "build part after `+`"),
    "bad-package": ({"package": "Not_Good"}, InputError, '"Not_Good.v0.1.0" is invalid'),
    "bad-channel": ({"channels": "a,,b"}, ConfigurationError, "is not a valid channel name"),
    "bad-default": ({"default_channel": "x y"}, ConfigurationError, "is not a valid channel name"),
}


@pytest.mark.parametrize("version", ["1", "2"])
def test_a_project_file_of_an_old_version_is_named_with_what_to_do(
    version: str, tmp_path: Path
) -> None:
    (tmp_path / "PROJECT").write_text(
        f'version: "{version}"\ndomain: a.io\nresources: [{{group: a, kind: A, version: v1}}]\n'
    )
    with pytest.raises(ConfigurationError) as refused:
        job.generate(tmp_path, BundleGenerateOptions())
    assert refused.value.message == (
        f"the bundle's package has no name: the `PROJECT` file has version {version}, which has no "
        "`projectName`"
    )
    assert refused.value.hint == (
        "pass `--package`, or migrate the project to version 3, as the book of kubebuilder "
        "describes"
    )

    with pytest.raises(ConfigurationError) as refused:
        job.generate(tmp_path, BundleGenerateOptions(package="a"))
    assert refused.value.message.endswith(
        f"has no kustomization; the `PROJECT` file has version {version}"
    )
    assert refused.value.hint == (
        "pass manifests with `--input`; or migrate the project to version 3, as the book of "
        "kubebuilder describes, and run `olmkit generate`"
    )

    options = options_with(package="a", inputs=("-",), stdin=DEPLOYMENT)
    assert job.generate(tmp_path, options).package == "a"


@pytest.mark.parametrize("name", REFUSED)
def test_invalid_input_is_refused_with_an_error_and_nothing_is_written(
    name: str, small: Path
) -> None:
    more, kind, words = REFUSED[name]
    before = files(small)

    with pytest.raises(kind) as refused:
        job.generate(small, options_with(**{"inputs": ("-",), "stdin": DEPLOYMENT, **more}))

    assert words in refused.value.message
    assert files(small) == before


def test_a_project_without_an_overlay_is_refused_with_the_command_that_writes_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "PROJECT").write_text("version: '3'\nprojectName: p\nlayout: [x/v1]\n")
    with pytest.raises(ConfigurationError) as refused:
        job.generate(tmp_path, options_with(inputs=(), version="0.0.1"))
    assert refused.value.hint.startswith("`olmkit generate` writes it")


def test_a_version_is_required(small: Path) -> None:
    base = small / "config/manifests/bases/small.clusterserviceversion.yaml"
    base.write_text(BASE.replace("  version: 0.0.0\n", ""))
    with pytest.raises(InputError, match="the bundle has no version"):
        job.generate(small, piped(version=""))

    base.unlink()
    with pytest.raises(ConfigurationError, match="the bundle has no version"):
        job.generate(small, piped(version=""))


def test_a_package_is_required(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has no name"):
        job.generate(tmp_path, piped())


def test_all_invalid_files_of_a_directory_are_reported(small: Path) -> None:
    folder = small / "deploy"
    folder.mkdir()
    (folder / "a.yaml").write_text("a: [1\n")
    (folder / "b.json").write_text("{")
    (folder / "notes.txt").write_text("just text: [unclosed\n")
    (folder / "c.yaml").write_bytes(DEPLOYMENT)

    with pytest.raises(InputError, match="and 1 more") as refused:
        job.generate(small, options_with(inputs=("deploy",)))

    assert [Path(found.at.path).name for found in refused.value.diagnostics if found.at] == [
        "a.yaml",
        "b.json",
    ]


def test_secrets_are_in_no_finding(small: Path) -> None:
    secret = b"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {p: hunter2}\n"
    other = b"---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\ndata: hunter2\n"

    result = job.generate(small, piped(DEPLOYMENT + secret + other))

    assert "PRJ102" in {found.rule for found in result.diagnostics}
    assert "hunter2" not in str(result.diagnostics) + str(result.origins)


def test_images_are_pinned_to_the_digests_in_the_registry(
    small: Path, registry: RegistryServer
) -> None:
    name = f"{registry.host}/generate/app"
    built = image.data_image(layer.write(Tree({"a": b"1"})), {}, created_by="test")

    async def push() -> None:
        async with Web(WebOptions()) as web:
            store = RegistryStore(web, Reference.parse(name))
            await transfer.copy(MemoryStore.of(built), store, built.descriptor, tag="v1")

    asyncio.run(push())
    options = piped(DEPLOYMENT.replace(b"image: i", f"image: {name}:v1".encode()))

    found = job.prepare(small, options).images_to_pin()
    digests = asyncio.run(image_digests.resolve_digests(found, Access()))
    job.generate(small, options, digests=digests)

    pinned = f"{name}@{built.descriptor.digest}"
    csv = csv_of(small)
    assert found == (f"{name}:v1",)
    assert csv["spec"]["relatedImages"] == [{"image": pinned, "name": "c"}]
    assert pinned in str(csv["spec"]["install"])
    with pytest.raises(OlmkitError, match="has no image"):
        asyncio.run(image_digests.resolve_digests((f"{name}:none",), Access()))


@pytest.mark.parametrize("language", ["go.kubebuilder.io/v4", "helm", "ansible"])
def test_the_layout_of_any_language_is_reported_to_metrics(small: Path, language: str) -> None:
    layout = language if "/" in language else f"{language}.sdk.operatorframework.io/v1"
    (small / "PROJECT").write_text(f'layout: [{layout}]\nprojectName: small\nversion: "3"\n')
    job.generate(small, piped(DEPLOYMENT))
    annotations = documents.load((small / "bundle/metadata/annotations.yaml").read_bytes(), "a")
    key = "operators.operatorframework.io.metrics.project_layout"
    assert annotations.get("annotations", key) == layout


@pytest.mark.parametrize(
    ("resources", "rules"),
    [
        ("none", [("PRJ001", 3)]),
        ("\n- memcached\n- {group: cache, kind: A}", [("PRJ001", 4), ("PRJ004", 5)]),
        ("\n- {version: v1, kind: 3}", [("PRJ001", 4), ("PRJ004", 4)]),
    ],
)
def test_resources_of_wrong_types_are_reported_at_their_lines_as_in_generate(
    small: Path, resources: str, rules: list[tuple[str, int]]
) -> None:
    text = f'layout: [python.olmkit/v1]\nversion: "3"\nresources: {resources}\nprojectName: small\n'
    (small / "PROJECT").write_text(text)
    for make in (
        lambda: job.generate(small, piped(DEPLOYMENT)),
        lambda: generating.generate(small),
    ):
        with pytest.raises(ConfigurationError) as caught:
            make()
        found = caught.value.diagnostics
        assert [(one.rule, one.at.line) for one in found if one.at] == rules


def test_a_version_is_never_replaced_by_that_of_the_base(small: Path) -> None:
    (small / "config/manifests/kustomization.yaml").write_text("resources: [manager.yaml]\n")
    (small / "config/manifests/manager.yaml").write_bytes(DEPLOYMENT)
    base = small / "config/manifests/bases/small.clusterserviceversion.yaml"

    def version(asked_for: str = "") -> str:
        return job.generate(small, options_with(version=asked_for)).version

    assert version() == "0.0.0"
    assert version("0.10.0") == "0.10.0"
    assert version() == "0.10.0"
    assert version("0.9.0") == "0.9.0"
    base.write_text(BASE.replace("version: 0.0.0", "version: 1.0.0"))
    assert version() == "1.0.0"


def test_a_named_input_has_its_own_version(small: Path) -> None:
    job.generate(small, piped(version="0.2.0"))
    stream = BASE.encode() + b"---\n" + DEPLOYMENT

    assert job.generate(small, piped(stream, version="")).version == "0.0.0"


def test_the_image_is_that_of_the_manager(small: Path) -> None:
    two = DEPLOYMENT.replace(
        b"[{name: c, image: i}]", b"[{name: c, image: i}, {name: manager, image: m}]"
    )
    assert job.generate(small, piped()).image == "i"
    assert job.generate(small, piped(two)).image == "m"
    proxy = DEPLOYMENT.replace(
        b"[{name: c, image: i}]", b"[{name: kube-rbac-proxy, image: p}, {name: web, image: w}]"
    )
    assert job.generate(small, piped(proxy)).image == "w"
