"""Rules about operators of a repository, each with a small operator that violates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from olmkit.base import documents
from olmkit.base.tree import Tree
from olmkit.bundle import layout
from olmkit.rules import engine
from olmkit.rules.engine import PULL_REQUEST, SUBMISSION
from olmkit.submission import operators, settings
from olmkit.submission.changes import ChangedFile, ChangeSet
from olmkit.submission.operators import Operator
from olmkit.submission.settings import Settings

PREFIX = "operators.operatorframework.io.bundle"
IMAGE = "registry.example.com/cog@sha256:"


def bundle(
    version: str,
    *,
    name: str = "cog",
    package: str = "cog",
    channels: str = "stable",
    openshift: str = "",
    skip_range: str = "",
    folder: str = "",
    **spec: Any,
) -> dict[str, bytes]:
    """Return the files of a bundle with this version."""
    csv = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": f"{name}.v{version}",
            "annotations": {"olm.skipRange": skip_range} if skip_range else {},
        },
        "spec": {"version": version, **spec},
    }
    annotations = {f"{PREFIX}.package.v1": package, f"{PREFIX}.channels.v1": channels}
    if openshift:
        annotations["com.redhat.openshift.versions"] = openshift
    root = folder or version
    return {
        f"{root}/manifests/cog.clusterserviceversion.yaml": documents.dump(csv),
        f"{root}/metadata/annotations.yaml": documents.dump({"annotations": annotations}),
    }


def ci(**values: Any) -> dict[str, bytes]:
    return {"ci.yaml": documents.dump({"reviewers": ["cogs"], **values})}


def fbc(*mapping: Mapping[str, Any]) -> dict[str, Any]:
    return {"enabled": True, "catalog_mapping": list(mapping)}


def mapped(
    template: str = "basic.yaml", kind: str = "olm.template.basic", *catalogs: str
) -> dict[str, Any]:
    return {"template_name": template, "type": kind, "catalog_names": list(catalogs or ("v4.18",))}


def release(**entry: Any) -> bytes:
    first = {"template_name": "basic.yaml", "channels": ["stable"], **entry}
    return documents.dump({"catalog_templates": [first]})


def template(*entries: Any, package: str = "cog") -> bytes:
    head = {"schema": "olm.package", "name": package, "defaultChannel": "stable"}
    return documents.dump({"schema": "olm.template.basic", "entries": [head, *entries]})


def channel(*names: str) -> dict[str, Any]:
    entries = [{"name": name} for name in names]
    return {"schema": "olm.channel", "package": "cog", "name": "stable", "entries": entries}


def blob(version: str, *properties: Any, image: str = "") -> dict[str, Any]:
    identity = {"type": "olm.package", "value": {"packageName": "cog", "version": version}}
    return {
        "schema": "olm.bundle",
        "package": "cog",
        "name": f"cog.v{version}",
        "image": image or f"{IMAGE}{'0' * 64}",
        "properties": [identity, *properties],
    }


def catalog(*blobs: Any) -> Tree:
    head = {"schema": "olm.package", "name": "cog", "defaultChannel": "stable"}
    return Tree({"catalog.yaml": documents.dump_all([head, *blobs])})


def operator(
    *parts: Mapping[str, bytes],
    catalogs: Mapping[str, Tree] | None = None,
    known: tuple[str, ...] = ("v4.18",),
    found: Settings | None = None,
    name: str = "cog",
) -> Operator:
    files = Tree({path: data for part in parts for path, data in part.items()})
    folders = sorted({path.partition("/")[0] for path in files if "/manifests/" in path})
    versions = [
        operators.version_of(layout.read(files.under(folder)), folder)
        for folder in folders
        if any(path.startswith(f"{folder}/manifests/") for path in files)
        and any(path.startswith(f"{folder}/metadata/") for path in files)
    ]
    return Operator(
        name=name,
        root="repo",
        files=files,
        versions=tuple(sorted(versions, key=lambda version: version.order)),
        catalogs=catalogs or {},
        known_catalogs=frozenset(known),
        settings=found or Settings(),
    )


def findings(subject: Operator | ChangeSet, *codes: str) -> list[tuple[str, str, str]]:
    """Return code, place and message of each finding."""
    kind = SUBMISSION if isinstance(subject, Operator) else PULL_REQUEST
    rules = engine.choose(engine.profile("community"), select=codes or ("SUB",), subject=kind)
    return [
        (one.rule, str(one.at) if one.at else "", one.message)
        for one in engine.run(subject, rules)
        if one.rule not in ("SUB015", "SUB057") or codes
    ]


GOOD = [
    operator(
        bundle("1.0.0"), bundle("1.1.0", replaces="cog.v1.0.0"), ci(updateGraph="replaces-mode")
    ),
    operator(bundle("1.0.0"), bundle("1.1.0"), ci(updateGraph="semver-mode")),
    operator(
        bundle("1.0.0"),
        ci(fbc=fbc(mapped())),
        {
            "catalog-templates/basic.yaml": template(
                channel("cog.v1.0.0"), {"schema": "olm.bundle", "image": f"{IMAGE}{'0' * 64}"}
            )
        },
        {"1.0.0/release-config.yaml": release()},
        catalogs={"v4.18": catalog(channel("cog.v1.0.0"), blob("1.0.0"))},
    ),
]


@pytest.mark.parametrize("good", GOOD)
def test_valid_operators_have_no_findings(good: Operator) -> None:
    assert findings(good) == []


OBJECT = {"type": "olm.bundle.object", "value": {"data": "e30="}}
BAD: dict[str, tuple[Operator, str, str]] = {
    "SUB001": (
        operator({"1.0.0/bundle/manifests/a.yaml": b"", "1.0.0/bundle/metadata/a.yaml": b""}, ci()),
        "repo/operators/cog/1.0.0/bundle",
        "`1.0.0/bundle` is not at the depth of a version, and no pipeline reads it",
    ),
    "SUB002": (operator(ci()), "repo/operators/cog", "`cog` has no version"),
    "SUB003": (
        operator(bundle("1.0.0"), ci(), {"1.0.0/release-config.yml": release()}),
        "repo/operators/cog/1.0.0/release-config.yml",
        "no pipeline reads `1.0.0/release-config.yml`",
    ),
    "SUB010": (operator(bundle("1.0.0")), "repo/operators/cog", "`cog` has no `ci.yaml`"),
    "SUB011": (
        operator(bundle("1.0.0"), {"ci.yaml": b"reviewers: [a\n"}),
        "repo/operators/cog/ci.yaml:1:12",
        "",
    ),
    "SUB012": (
        operator(bundle("1.0.0"), ci(updateGraph="semver-skippatch")),
        "repo/operators/cog/ci.yaml:3:14",
        "`updateGraph` is `semver-skippatch`",
    ),
    "SUB013": (
        operator(bundle("1.0.0"), ci(update_graph="semver-mode")),
        "repo/operators/cog/ci.yaml:3:15",
        "unknown key `update_graph`",
    ),
    "SUB014": (
        operator(bundle("1.0.0"), ci(fbc=fbc(mapped(), mapped("other.yaml")))),
        "",
        "catalog `v4.18` is mapped to `basic.yaml` and to `other.yaml`",
    ),
    "SUB015": (
        operator(bundle("1.0.0"), ci()),
        "repo/operators/cog/ci.yaml:1:1",
        "`updateGraph` is missing; the pipeline takes `replaces-mode`",
    ),
    "SUB016": (
        operator(bundle("1.0.0"), ci(fbc=fbc(mapped()))),
        "",
        "template `basic.yaml` does not exist in `catalog-templates/`",
    ),
    "SUB017": (
        operator(bundle("1.0.0"), ci(fbc=fbc(mapped("basic.yaml", "olm.semver", "4.18")))),
        "",
        "catalog `4.18` does not exist in `catalogs/`",
    ),
    "SUB020": (
        operator(bundle("1.0.0"), ci(), {"1.0.0/release-config.yaml": b"catalog_templates: []\n"}),
        "repo/operators/cog/1.0.0/release-config.yaml:1:20",
        "`catalog_templates` is empty",
    ),
    "SUB021": (
        operator(bundle("1.0.0"), ci(), {"1.0.0/release-config.yaml": release()}),
        "repo/operators/cog/1.0.0/release-config.yaml:1:1",
        "`fbc.enabled` is not set in `ci.yaml`",
    ),
    "SUB022": (
        operator(
            bundle("1.0.0"),
            ci(fbc=fbc(mapped("other.yaml"))),
            {"1.0.0/release-config.yaml": release()},
        ),
        "",
        "template `basic.yaml` is not in `fbc.catalog_mapping` of `ci.yaml`",
    ),
    "SUB023": (
        operator(
            bundle("1.0.0"),
            ci(fbc=fbc(mapped("basic.yaml", "olm.semver"))),
            {"1.0.0/release-config.yaml": release()},
        ),
        "",
        "a semver template has no channel `stable`",
    ),
    "SUB024": (
        operator(
            bundle("1.0.0"),
            ci(fbc=fbc(mapped("basic.yaml", "olm.semver"))),
            {"1.0.0/release-config.yaml": release(channels=["Stable"], replaces="cog.v0.9.0")},
        ),
        "",
        "`replaces` has no effect on a semver template",
    ),
    "SUB030": (
        operator(bundle("1.0.0"), ci(), name="wheel"),
        "repo/operators/wheel/1.0.0/metadata/annotations.yaml:1:1",
        "the package is `cog`, and the operator's folder is `wheel`",
    ),
    "SUB031": (
        operator(bundle("1.0.0"), bundle("1.1.0"), bundle("1.2.0", name="wheel"), ci()),
        "",
        "the CSV `wheel.v1.2.0` is not named after `cog`, as those of other versions",
    ),
    "SUB032": (
        operator(bundle("1.0.0"), bundle("1.0.0", folder="1.0.1"), ci()),
        "",
        "the CSV of `1.0.0` is named `cog.v1.0.0`, too",
    ),
    "SUB040": (
        operator(bundle("1.0.0"), bundle("1.1.0"), bundle("1.2.0", replaces="cog.v1.0.0"), ci()),
        "",
        "no version replaces `cog.v1.1.0` in channel `stable`",
    ),
    "SUB041": (
        operator(
            bundle("1.0.0", replaces="cog.v1.1.0"), bundle("1.1.0", replaces="cog.v1.0.0"), ci()
        ),
        "",
        "the upgrade graph of channel `stable` has a loop: `1.0.0` → `1.1.0` → `1.0.0`",
    ),
    "SUB042": (
        operator(bundle("1.0.0", replaces="cog.v1.0.0"), ci()),
        "",
        "`cog.v1.0.0` replaces itself",
    ),
    "SUB043": (
        operator(bundle("1.0.0", replaces="cog.v0.9.0"), ci()),
        "",
        "`cog.v1.0.0` replaces `cog.v0.9.0`, which is not in the repository",
    ),
    "SUB044": (
        operator(
            bundle("1.0.0", openshift="v4.16-v4.17"),
            bundle("1.1.0", replaces="cog.v1.0.0", openshift="v4.16-v4.18"),
            ci(),
        ),
        "",
        "`cog.v1.0.0`, which is replaced, is not for OpenShift 4.18",
    ),
    "SUB045": (
        operator(bundle("1.0.0"), bundle("1.1.0", skip_range="<1.1.0"), ci()),
        "",
        "`olm.skipRange` without `spec.replaces` prunes the other versions of channel `stable`",
    ),
    "SUB050": (
        operator(
            bundle("1.0.0"),
            ci(),
            catalogs={"v4.18": catalog(channel("cog.v1.0.0"), blob("1.0.0", OBJECT))},
        ),
        "",
        "catalog `v4.18` has bundles with `olm.bundle.object`",
    ),
    "SUB051": (
        operator(
            bundle("1.0.0"),
            ci(),
            catalogs={
                "v4.18": catalog(channel("cog.v1.0.0"), blob("1.0.0", image="docker.io/x/y:1"))
            },
            found=Settings(registries=("registry.example.com/",)),
        ),
        "",
        "the image `docker.io/x/y:1` of `cog.v1.0.0` is not in an allowed registry",
    ),
    "SUB052": (
        operator(
            bundle("1.0.0"),
            ci(fbc=fbc(mapped())),
            {"catalog-templates/basic.yaml": template(channel("cog.v1.0.0"))},
            catalogs={"v4.18": catalog(channel("cog.v1.0.0", "cog.v1.1.0"), blob("1.0.0"))},
        ),
        "repo/catalogs/v4.18/cog",
        (
            "catalog `v4.18` differs from its template: the template does not name the image of "
            "bundle `cog.v1.0.0`; channel `stable` differs"
        ),
    ),
    "SUB053": (
        operator(
            bundle("1.0.0"),
            ci(fbc=fbc(mapped())),
            {"catalog-templates/basic.yaml": template(channel("cog.v1.0.0"))},
        ),
        "",
        "catalog `v4.18` does not have `cog`, though `basic.yaml` is mapped to it",
    ),
    "SUB054": (
        operator(
            bundle("1.0.0"),
            ci(fbc=fbc(mapped())),
            {"catalog-templates/basic.yaml": b"schema: olm.template.basic\nentries: 1\n"},
        ),
        "repo/operators/cog/catalog-templates/basic.yaml:2:10",
        "",
    ),
    "SUB055": (
        operator(bundle("1.0.0"), ci(), catalogs={"v4.18": catalog(channel("cog.v1.0.0"))}),
        "",
        "",
    ),
    "SUB056": (
        operator(
            bundle("1.0.0"),
            ci(fbc=fbc()),
            catalogs={"v4.18": catalog(channel("cog.v1.0.0"), blob("1.0.0"))},
        ),
        "repo/catalogs/v4.18/cog",
        "`ci.yaml` maps no template to catalog `v4.18`",
    ),
    "SUB057": (
        operator(bundle("1.0.0"), ci()),
        "repo/operators/cog/ci.yaml:1:1",
        "the upgrade graph is in the CSVs; the pipeline recommends a file-based catalog",
    ),
}


@pytest.mark.parametrize("code", BAD)
def test_each_rule_reports_its_error(code: str) -> None:
    bad, place, message = BAD[code]

    found = findings(bad, code)

    assert [rule for rule, _, _ in found] == [code]
    assert not place or found[0][1] == place
    assert not message or found[0][2] == message


def changes(*files: tuple[str, str], before: Any = None, after: Any = None) -> ChangeSet:
    return ChangeSet(
        files=tuple(ChangedFile(*one) for one in files),
        before={name: frozenset(found) for name, found in (before or {}).items()},
        after={name: frozenset(found) for name, found in (after or {}).items()},
    )


CHANGES = {
    "SUB060": changes(("A", "operators/cog/ci.yaml"), ("A", "catalogs/v4.18/wheel/catalog.yaml")),
    "SUB061": changes(
        ("A", "operators/cog/1.0.0/manifests/a.yaml"),
        ("A", "operators/cog/1.1.0/manifests/a.yaml"),
        after={"cog": ["1.0.0", "1.1.0"]},
    ),
    "SUB062": changes(
        ("M", "operators/cog/1.0.0/manifests/a.yaml"),
        before={"cog": ["1.0.0"]},
        after={"cog": ["1.0.0"]},
    ),
    "SUB063": changes(
        ("D", "operators/cog/1.0.0/manifests/a.yaml"), before={"cog": ["1.0.0"]}, after={"cog": []}
    ),
    "SUB064": changes(("M", "README.md"), ("A", "operators/cog/ci.yaml")),
}


@pytest.mark.parametrize("code", CHANGES)
def test_each_rule_about_changes_reports_its_error(code: str) -> None:
    assert [rule for rule, _, _ in findings(CHANGES[code])] == [code]


def test_one_new_version_of_one_operator_is_accepted() -> None:
    good = changes(
        ("A", "operators/cog/1.1.0/manifests/a.yaml"),
        ("M", "operators/cog/ci.yaml"),
        ("M", "catalogs/v4.18/cog/catalog.yaml"),
        before={"cog": ["1.0.0"]},
        after={"cog": ["1.0.0", "1.1.0"]},
    )

    assert findings(good) == []


def test_every_rule_about_submissions_has_a_case() -> None:
    known = {rule.code for kind in (SUBMISSION, PULL_REQUEST) for rule in engine.rules(kind)}

    assert known == {*BAD, *CHANGES}


def test_file_based_operators_have_no_graph_in_their_csvs() -> None:
    bad = operator(bundle("1.0.0", replaces="cog.v1.0.0"), bundle("1.1.0"), ci(fbc=fbc()))

    assert findings(bad, "SUB040", "SUB041", "SUB042", "SUB043", "SUB045") == []


def test_a_long_channel_is_searched_for_loops_without_recursion() -> None:
    from olmkit.submission import graph

    edges = {str(n): frozenset((str(n + 1),)) for n in range(20_000)}

    assert graph.loop(edges) == ()
    assert graph.loop({**edges, "20000": frozenset(("19999",))}) == ("19999", "20000")


@pytest.mark.parametrize(
    ("pattern", "name", "waived"),
    [
        ("^cog", "cog-operator", True),
        ("^ack-.*", "ack-s3", True),
        ("cog$", "cog-operator", False),
        ("(a|b)+", "ab", False),
    ],
)
def test_a_repository_can_disable_checks_for_some_operators(
    pattern: str, name: str, waived: bool
) -> None:
    text = documents.dump(
        {"tests": [{"name": "check_dangling_bundles", "ignore_operators": [pattern]}]}
    )

    found = settings.parse(text, "config.yaml")

    assert found.waives("SUB040", name) is waived
    assert found.waives("SUB041", name) is False
