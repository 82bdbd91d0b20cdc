"""Generate as a job: written files, kept files, and no writes after errors."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError, OlmkitError
from olmkit.jobs.project import generate
from olmkit.jobs.project.generate import GenerateOptions, Target

PROJECT = """\
domain: example.com
layout: [python.olmkit/v1]
projectName: toy
resources:
- {group: toys, domain: example.com, kind: Toy, version: v1, path: toy.api.v1, api: {}}
version: "3"
"""
TYPES = """\
# +groupName=toys.example.com
# +kubebuilder:rbac:groups=toys.example.com,resources=toys,verbs=get

from olmkit.runtime.kinds import CustomResource


class Toy(CustomResource):
    '''Something to play with.'''

    spec: int
"""
BASE = Path("config/manifests/bases/toy.clusterserviceversion.yaml")
OVERLAY = Path("config/manifests/kustomization.yaml")
CRD = Path("config/crd/bases/toys.example.com_toys.yaml")
ROLE = Path("config/rbac/role.yaml")


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    folder = tmp_path / "toy"
    (folder / "toy/api").mkdir(parents=True)
    (folder / "PROJECT").write_text(PROJECT)
    (folder / "toy/api/v1.py").write_text(TYPES)
    return folder


def paths(result: generate.GenerateResult) -> list[str]:
    return [change.path for change in result.changes]


def test_all_files_are_written_once(toy: Path) -> None:
    first = generate.generate(toy)
    assert paths(first) == [str(CRD), str(BASE), str(OVERLAY), str(ROLE)]
    assert first.diagnostics == ()
    assert (toy / CRD).read_bytes().startswith(b"---\napiVersion: apiextensions.k8s.io/v1\n")
    assert paths(generate.generate(toy)) == []


def test_dry_run_writes_nothing(toy: Path) -> None:
    assert len(paths(generate.generate(toy, dry_run=True))) == 4
    assert not (toy / "config").exists()


@pytest.mark.parametrize(
    ("target", "written"),
    [(Target.CRD, [CRD]), (Target.RBAC, [ROLE]), (Target.CSV, [BASE, OVERLAY])],
)
def test_targets_can_be_generated_separately(
    toy: Path, target: Target, written: list[Path]
) -> None:
    options = GenerateOptions(targets=frozenset({target}))
    assert paths(generate.generate(toy, options)) == [str(path) for path in written]


def test_webhooks_are_written_to_the_paths_in_markers(toy: Path) -> None:
    marker = (
        "# +kubebuilder:webhook:path=/x,mutating=false,failurePolicy=fail,sideEffects=None,"
        "groups=a,resources=b,verbs=create,versions=v1,name=x.y.z,admissionReviewVersions=v1\n"
    )
    (toy / "toy/hooks.py").write_text(f"{marker}async def check() -> None: ...\n")
    options = GenerateOptions(targets=frozenset({Target.WEBHOOK}))
    assert paths(generate.generate(toy, options)) == ["config/webhook/manifests.yaml"]


def test_the_overlay_of_the_bundle_names_existing_files_and_is_not_overwritten(toy: Path) -> None:
    for name in ("samples", "scorecard"):
        (toy / f"config/{name}").mkdir(parents=True)
    (toy / "config/samples/kustomization.yaml").write_text("resources: []\n")
    (toy / "config/scorecard/no_overlay.yaml").write_text("kind: A\n")
    generate.generate(toy)
    overlay = documents.load((toy / OVERLAY).read_bytes(), "overlay").value
    assert overlay == {"resources": ["bases/toy.clusterserviceversion.yaml", "../samples"]}
    (toy / OVERLAY).write_text("resources: []\n")
    assert paths(generate.generate(toy)) == []


def test_the_base_csv_keeps_changes_of_the_user(toy: Path) -> None:
    generate.generate(toy)
    base = toy / BASE
    csv = documents.load(base.read_bytes(), "base").value
    csv["spec"]["description"] = "By hand.\n\nIn two lines."
    csv["spec"]["unknownField"] = {"kept": [1, 2.5, None]}
    csv["spec"]["customresourcedefinitions"]["required"] = [{"name": "x.y.z", "kind": "X"}]
    csv["spec"]["customresourcedefinitions"]["owned"][0]["displayName"] = "Replaced"
    csv["metadata"]["annotations"]["mine"] = "yes"
    base.write_bytes(documents.dump(csv))
    assert paths(generate.generate(toy)) == [str(BASE)]
    again = documents.load(base.read_bytes(), "base").value
    csv["spec"]["customresourcedefinitions"]["owned"][0]["displayName"] = "Toy"
    assert again == csv


def test_a_base_csv_that_is_up_to_date_keeps_its_bytes(toy: Path) -> None:
    generate.generate(toy)
    base = toy / BASE
    base.write_bytes(b"# A comment, and another order.\n" + base.read_bytes())
    assert paths(generate.generate(toy)) == []


def test_an_error_in_the_sources_writes_nothing(toy: Path) -> None:
    types = toy / "toy/api/v1.py"
    types.write_text(TYPES.replace("spec: int", "spec: float").replace("verbs=get", "verb=get"))
    with pytest.raises(InputError) as caught:
        generate.generate(toy)
    assert [(f.rule, f.at and f.at.line) for f in caught.value.diagnostics] == [
        ("API003", 2),
        ("API006", 10),
    ]
    assert caught.value.diagnostics[0].at.path == f"{toy}/toy/api/v1.py"  # type: ignore[union-attr]
    assert not (toy / "config").exists()


def test_warnings_about_markers_are_errors_on_request(toy: Path) -> None:
    types = toy / "toy/api/v1.py"
    types.write_text(TYPES.replace("    spec", "    # +nullabel\n    spec"))
    result = generate.generate(toy, dry_run=True)
    assert [found.rule for found in result.diagnostics] == ["API004"]
    with pytest.raises(InputError):
        generate.generate(toy, GenerateOptions(strict_markers=True))
    (toy / "pyproject.toml").write_text("[tool.olmkit]\nstrict-markers = true\n")
    with pytest.raises(InputError):
        generate.generate(toy)


def test_the_crd_of_a_removed_kind_is_reported_and_kept(toy: Path) -> None:
    generate.generate(toy)
    stale = toy / CRD.with_name("toys.example.com_games.yaml")
    shutil.copy(toy / CRD, stale)
    shutil.copy(toy / CRD, toy / CRD.with_name("other.example.com_games.yaml"))
    result = generate.generate(toy)
    assert [(f.rule, f.at and f.at.path) for f in result.diagnostics] == [("API024", str(stale))]
    assert stale.exists()


def test_a_role_without_markers_is_kept(toy: Path) -> None:
    (toy / ROLE).parent.mkdir(parents=True)
    (toy / ROLE).write_text("by hand")
    types = toy / "toy/api/v1.py"
    types.write_text(TYPES.replace("# +kubebuilder:rbac", "# kubebuilder:rbac"))
    assert str(ROLE) not in paths(generate.generate(toy))
    assert (toy / ROLE).read_text() == "by hand"


def test_sources_are_found_where_the_project_configures_them(toy: Path) -> None:
    (toy / "src").mkdir()
    (toy / "toy").rename(toy / "src/toy")
    assert len(paths(generate.generate(toy, dry_run=True))) == 4
    (toy / "src").rename(toy / "code")
    assert len(paths(generate.generate(toy, dry_run=True))) == 4  # all directories are searched
    (toy / "pyproject.toml").write_text("[tool.olmkit]\nsources = 'code/toy'\n")
    assert len(paths(generate.generate(toy, dry_run=True))) == 4
    (toy / "pyproject.toml").write_text("[tool.olmkit]\nsources = 'nowhere'\n")
    with pytest.raises(ConfigurationError, match="nowhere"):
        generate.generate(toy)


def test_tests_and_environments_are_not_sources(toy: Path) -> None:
    (toy / "toy").rename(toy / "code")
    for place in ("tests/test_toy.py", ".venv/lib/bad.py", "code/test_more.py", "code/conftest.py"):
        (toy / place).parent.mkdir(parents=True, exist_ok=True)
        (toy / place).write_text("x = (")
    assert len(paths(generate.generate(toy, dry_run=True))) == 4


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (lambda p: (p / "PROJECT").unlink(), ConfigurationError, "there is no project here"),
        (lambda p: shutil.rmtree(p), ConfigurationError, "is not a folder"),
        (lambda p: shutil.rmtree(p / "toy"), ConfigurationError, "has no Python sources"),
        (
            lambda p: (p / "PROJECT").write_text(PROJECT.replace("projectName: toy\n", "")),
            ConfigurationError,
            "the project has no name",
        ),
        (
            lambda p: (
                (p / "toy/api/v1.py").unlink() or (p / "toy/api/v1.py").symlink_to("/etc/passwd")
            ),
            InputError,
            "is a link that leaves",
        ),
        (
            lambda p: (p / BASE).parent.mkdir(parents=True) or (p / BASE).write_text("kind: Pod\n"),
            InputError,
            "contains no ClusterServiceVersion",
        ),
        (
            lambda p: (p / BASE).parent.mkdir(parents=True) or (p / BASE).write_text("a: ["),
            InputError,
            "base|flow|expected|YAML|yaml",
        ),
        (
            lambda p: (
                (p / BASE).parent.mkdir(parents=True)
                or (p / BASE).write_text(
                    "kind: ClusterServiceVersion\nspec: {customresourcedefinitions: {owned: a}}\n"
                )
            ),
            InputError,
            "`owned` is not a list",
        ),
    ],
)
def test_an_invalid_project_is_reported_and_nothing_is_written(
    toy: Path, change: object, kind: type[OlmkitError], words: str
) -> None:
    change(toy)  # type: ignore[operator]
    with pytest.raises(kind, match=words):
        generate.generate(toy)
    assert not (toy / CRD).exists()


def test_a_project_of_watches_with_the_go_layout_is_not_searched_for_go(toy: Path) -> None:
    (toy / "PROJECT").write_text(PROJECT.replace("python.olmkit/v1", "go.kubebuilder.io/v1"))
    (toy / "watches.yaml").write_text("[{kind: Toy, role: toy}]")
    changes = [change.path for change in generate.generate(toy).changes]
    assert "config/manifests/bases/toy.clusterserviceversion.yaml" in changes


def test_entries_of_watches_with_missing_files_are_reported(toy: Path) -> None:
    layout = "helm.sdk.operatorframework.io/v1"
    (toy / "PROJECT").write_text(PROJECT.replace("python.olmkit/v1", layout))
    (toy / "watches.yaml").write_text("[{kind: Toy, chart: helm-charts/toy}]")
    (found,) = generate.generate(toy).diagnostics
    assert (found.rule, found.message) == ("PRJ013", "the chart `helm-charts/toy` does not exist")
    (toy / "helm-charts/toy").mkdir(parents=True)
    assert not generate.generate(toy).diagnostics


@pytest.mark.parametrize("language", ["helm", "ansible"])
def test_a_project_without_types_has_the_base_of_its_bundles(toy: Path, language: str) -> None:
    (toy / "toy/broken.py").write_text("x = (")  # as plugins of Ansible can be
    text = PROJECT.replace("python.olmkit/v1", f"{language}.sdk.operatorframework.io/v1")
    (toy / "PROJECT").write_text(text)
    result = generate.generate(toy)
    assert not result.diagnostics
    assert [change.path for change in result.changes] == [
        "config/manifests/bases/toy.clusterserviceversion.yaml",
        "config/manifests/kustomization.yaml",
    ]
    assert not generate.generate(toy).changes
    with pytest.raises(ConfigurationError, match=f"written in {language.capitalize()}"):
        generate.generate(toy, GenerateOptions(targets=frozenset({Target.CRD})))
