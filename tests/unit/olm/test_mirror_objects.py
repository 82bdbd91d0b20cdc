"""The files with which a cluster uses a mirror."""

from __future__ import annotations

import tomllib

from olmkit.base import documents
from olmkit.oci import mirrors
from olmkit.oci.mirroring import MirroredNames, MirrorRegistry
from olmkit.oci.reference import Reference
from olmkit.olm import mirror_objects
from olmkit.olm.mirror_objects import MirroredCatalog, MirrorFilesOptions

TARGET = MirrorRegistry(registry="m.example:5000", prefix="olm")
NAMES = MirroredNames(
    by_digest={"quay.io/a/b": "m.example:5000/olm/a/b"},
    by_tag={"docker.io/library/nginx": "m.example:5000/olm/library/nginx"},
)
CATALOG = MirroredCatalog(image="m.example:5000/olm/x/my_catalog@sha256:0", folder="/configs")


def test_each_program_gets_its_own_file() -> None:
    made = mirror_objects.files(TARGET, NAMES, [CATALOG], MirrorFilesOptions())

    assert sorted(made) == [
        "catalog-source.yaml",
        "certs.d/docker.io/hosts.toml",
        "certs.d/quay.io/hosts.toml",
        "cluster-catalog.yaml",
        "image-digest-mirror-set.yaml",
        "image-tag-mirror-set.yaml",
        "registries.conf",
    ]
    sets = documents.load(made.data("image-digest-mirror-set.yaml"), "x").value
    assert sets["kind"] == "ImageDigestMirrorSet"
    assert sets["spec"] == {
        "imageDigestMirrors": [{"source": "quay.io/a/b", "mirrors": ["m.example:5000/olm/a/b"]}]
    }
    source = documents.load(made.data("catalog-source.yaml"), "x").value
    assert source["metadata"] == {"name": "my-catalog", "namespace": "openshift-marketplace"}
    assert source["spec"]["grpcPodConfig"]["extractContent"] == {"catalogDir": "/configs"}


def test_older_releases_of_openshift_use_another_kind_and_only_digests() -> None:
    options = MirrorFilesOptions(content_source_policy=True, namespace="olm")

    made = mirror_objects.files(TARGET, NAMES, [], options)

    policy = documents.load(made.data("image-content-source-policy.yaml"), "x").value
    assert policy["spec"]["repositoryDigestMirrors"][0]["source"] == "quay.io/a/b"
    assert "image-tag-mirror-set.yaml" not in made


def test_the_reader_of_olmkit_follows_the_registries_conf() -> None:
    text = mirror_objects.registries_conf({**NAMES.by_digest, **NAMES.by_tag}, insecure=True)
    rules = mirrors.parse(text, "x")

    first, second = rules.sources(Reference.parse("quay.io/a/b:v1"))

    assert (str(first.reference), first.insecure) == ("m.example:5000/olm/a/b:v1", True)
    assert str(second.reference) == "quay.io/a/b:v1"


def test_containerd_gets_the_scheme_and_the_prefix() -> None:
    made = tomllib.loads(mirror_objects.hosts_toml("docker.io", TARGET, scheme="http").decode())

    assert made["server"] == "https://registry-1.docker.io"
    assert list(made["host"]) == ["http://m.example:5000/v2/olm"]
    assert made["host"]["http://m.example:5000/v2/olm"]["override_path"] is True


def test_catalogs_with_a_server_have_one_object_each() -> None:
    served = MirroredCatalog(image="m.example:5000/olm/x/my_catalog@sha256:1")
    made = mirror_objects.files(TARGET, MirroredNames(), [served, CATALOG], MirrorFilesOptions())

    assert sorted(made) == ["catalog-source.yaml", "cluster-catalog.yaml"]
    assert made.data("catalog-source.yaml").count(b"kind: CatalogSource") == 1
    assert b"extractContent" not in made.data("catalog-source.yaml")
