"""Overlays rendered as a job: that of the shipped operator, and refused ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from olmkit.base.diagnostics import ConfigurationError, Diagnostic, InputError
from olmkit.jobs.project import overlay
from olmkit.kube.objects import Manifest
from olmkit.project.chart import ChartRequest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "p"
    (folder / "config/default").mkdir(parents=True)
    (folder / "config/default/kustomization.yaml").write_text(
        "namePrefix: a-\nresources: [one.yaml]\n"
    )
    (folder / "config/default/one.yaml").write_text(
        "# lost\nkind: ConfigMap\napiVersion: v1\nmetadata: {name: one}\n---\n"
        "kind: Namespace\napiVersion: v1\nmetadata: {name: two}\n"
    )
    return folder


def test_objects_have_the_order_in_which_they_are_applied(project: Path) -> None:
    assert overlay.stream(overlay.with_image(overlay.render(project), "")) == (
        b"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: two\n---\n"
        b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a-one\n"
    )


def test_the_shipped_operator_is_rendered(root: Path) -> None:
    kinds = [one.get("kind") for one in overlay.render(root / "operator")]
    assert kinds[:2] == ["Namespace", "CustomResourceDefinition"]
    assert "Deployment" in kinds


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("config/none", "is not a folder"),
        ("config", "has no kustomization file"),
        ("../..", "is outside the project"),
    ],
)
def test_a_directory_without_an_overlay_is_invalid_usage(
    project: Path, name: str, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words) as refused:
        overlay.render(project, name)
    assert refused.value.hint


def test_a_link_out_of_the_project_is_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("kind: Secret\n")
    (project / "config/default/one.yaml").unlink()
    (project / "config/default/one.yaml").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="is a link that leaves"):
        overlay.render(project)


def test_an_invalid_file_name_has_its_place(project: Path) -> None:
    file = project / "config/default/kustomization.yaml"
    file.write_text(f"resources:\n- {'x' * 300}\n")
    with pytest.raises(InputError, match="there is no file or overlay") as caught:
        overlay.render(project)
    assert [one.at.line for one in caught.value.diagnostics if one.at] == [2]


def test_an_unsupported_feature_has_its_place_and_a_hint(project: Path) -> None:
    file = project / "config/default/kustomization.yaml"
    file.write_text("resources: [one.yaml]\nhelmCharts:\n- name: a\n")
    with pytest.raises(InputError, match="helmCharts") as caught:
        overlay.render(project)
    assert str(caught.value.diagnostics[0].at) == f"{file}:2:1"
    assert "--input -" in caught.value.hint


def test_a_patch_whose_target_matches_nothing_is_a_warning_with_its_place(project: Path) -> None:
    file = project / "config/default/kustomization.yaml"
    file.write_text(
        "resources: [one.yaml]\n"
        "patches:\n"
        "- target: {kind: ConfigMap}\n"
        "  patch: '[{op: add, path: /data, value: {a: b}}]'\n"
        "- target: {kind: Deployment}\n"
        "  patch: '[{op: add, path: /data, value: {a: b}}]'\n"
        "- target: {kind: Deployment}\n"
        "  patch: |-\n"
        "    kind: Deployment\n"
        "    metadata: {name: any}\n"
        "    spec: {replicas: 2}\n"
    )
    findings: list[Diagnostic] = []
    rendered = overlay.render(project, findings=findings)
    assert len(rendered) == 2
    assert [(one.rule, one.at and one.at.line) for one in findings] == [
        ("PRJ121", 5),
        ("PRJ121", 7),
    ]


CHART = ChartRequest(name="pond")


def deployment(name: str = "pond") -> Manifest:
    container = {"name": "manager", "image": "example.com/pond:v1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "ponds"},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }


def test_the_operator_gets_another_image(root: Path) -> None:
    rendered = overlay.render(root / "operator")
    text = overlay.stream(overlay.with_image(rendered, "quay.io/example/pond:v2"))
    assert b"image: quay.io/example/pond:v2\n" in text
    with pytest.raises(ConfigurationError, match="not an image reference"):
        overlay.with_image(rendered, "not an image")


def test_a_file_is_written_once_and_directories_are_created(project: Path) -> None:
    place = Path("dist/install.yaml")
    changes = overlay.write_stream(project, place, [deployment()], dry_run=True)
    assert [change.path for change in changes] == ["dist/install.yaml"]
    assert not (project / "dist").exists()
    overlay.write_stream(project, place, [deployment()])
    assert (project / place).read_bytes() == overlay.stream([deployment()])
    assert not overlay.write_stream(project, place, [deployment()])
    with pytest.raises(ConfigurationError, match="is a folder"):
        overlay.write_stream(project, Path("dist"), [deployment()])


def test_a_file_can_be_outside_of_the_project(project: Path, tmp_path: Path) -> None:
    overlay.write_stream(project, tmp_path / "else" / "all.yaml", [deployment()])
    assert (tmp_path / "else" / "all.yaml").exists()


def test_files_of_a_chart_that_the_user_changed_are_kept(project: Path) -> None:
    folder = project / "chart"
    overlay.write_chart(project, Path("chart"), [deployment(), deployment_config()], CHART)
    values = folder / "values.yaml"
    values.write_text(values.read_text().partition("\n")[2] + "more: true\n")
    (folder / "templates" / "own.yaml").write_text("kind: Own\n")
    changes = overlay.write_chart(project, Path("chart"), [deployment()], CHART)
    assert [(change.path, str(change.kind)) for change in changes] == [
        ("chart/templates/configmap-settings.yaml", "remove")
    ]
    assert "more: true" in values.read_text()
    assert (folder / "templates" / "own.yaml").exists()
    assert not (folder / "templates" / "configmap-settings.yaml").exists()


def deployment_config() -> Manifest:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}


def test_a_chart_is_not_mixed_with_other_files(project: Path) -> None:
    with pytest.raises(ConfigurationError, match="is not empty and has no"):
        overlay.write_chart(project, Path("config"), [deployment()], CHART)
    (project / "file").write_text("")
    with pytest.raises(ConfigurationError, match="not a folder"):
        overlay.write_chart(project, Path("file"), [deployment()], CHART)
