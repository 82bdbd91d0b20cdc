"""The PROJECT file and `[tool.olmkit]`: values, and errors of invalid files."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.project import config

GO = b"""\
domain: example.com
layout: go.kubebuilder.io/v3
multigroup: true
projectName: memcached-operator
repo: example.com/memcached
plugins: {a: {}}
resources:
- api: {crdVersion: v1, namespaced: true}
  controller: true
  domain: example.com
  group: cache
  kind: Memcached
  path: example.com/memcached/api/v1
  version: v1
- {kind: Pod, version: v1, core: true, controllers: [{name: pods}]}
- {group: other, kind: Thing, version: v1, plural: stuff, api: {crdVersion: v1}}
version: "3"
"""


def test_the_project_of_another_tool_is_read() -> None:
    project = config.parse(GO)
    assert (project.name, project.domain, project.repo) == (
        "memcached-operator",
        "example.com",
        "example.com/memcached",
    )
    assert project.is_multigroup
    assert project.language == "go"
    memcached, pod, thing = project.apis
    assert memcached.qualified_group == "cache.example.com"
    assert (memcached.has_types, memcached.is_namespaced, memcached.has_controller) == (True,) * 3
    assert memcached.at.line == 12
    assert (pod.qualified_group, pod.has_types, pod.has_controller) == ("", False, True)
    assert (thing.qualified_group, thing.plural, thing.is_namespaced) == ("other", "stuff", False)
    assert [api.kind for api in project.own_apis()] == ["Memcached", "Thing"]
    assert project.document.get("plugins") == {"a": {}}


def test_the_language_is_that_of_the_first_layout_with_one() -> None:
    project = config.parse(b'version: "3"\nlayout: [kustomize.common/v2, python.olmkit/v1]\n')
    assert project.language == "python"
    assert config.parse(b'version: "3"\n').language == ""


@pytest.mark.parametrize(
    ("layout", "files", "language"),
    [
        ("go.kubebuilder.io/v4", {"watches.yaml": b"[{kind: A, role: a}]"}, "ansible"),
        ("go.kubebuilder.io/v4", {"watches.yaml": b"[{kind: A, Chart: a}]"}, "helm"),
        ("", {"watches.yaml": b"[{kind: A, playbook: a.yml}]"}, "ansible"),
        ("go.kubebuilder.io/v4", {"watches.yaml": b"[{role: a}]", "go.mod": b"module a"}, "go"),
        ("", {"watches.yaml": b"[{role: a}]", "pyproject.toml": b""}, ""),
        ("python.olmkit/v1", {"watches.yaml": b"[{role: a}]"}, "python"),
        ("go.kubebuilder.io/v4", {"watches.yaml": b"[{role: a}, {chart: a}]"}, "go"),
        ("go.kubebuilder.io/v4", {"watches.yaml": b"[]"}, "go"),
        ("go.kubebuilder.io/v4", {"watches.yaml": b"{"}, "go"),
        ("go.kubebuilder.io/v4", {}, "go"),
    ],
)
def test_watches_decide_the_layout_if_the_project_file_is_wrong(
    layout: str, files: dict[str, bytes], language: str
) -> None:
    project = config.parse(f"version: '3'\nlayout: '{layout}'\nprojectName: a\n".encode())
    assert config.find_plugins_from_watches(project, files.get).language == language


def test_a_program_in_go_can_also_have_kinds_with_charts() -> None:
    project = config.parse(
        b"version: '3'\nlayout: [hybrid.helm.sdk.operatorframework.io/v1-alpha]\ndomain: d.io\n"
        b"resources:\n"
        b"- {group: a, domain: d.io, version: v1, kind: InGo, path: x/api/v1, api: {}}\n"
        b"- {group: a, domain: d.io, version: v1, kind: OfChart, api: {}}\n"
    )
    files = {
        "go.mod": b"module x",
        "watches.yaml": b"[{group: a.d.io, version: v1, kind: OfChart, chart: c},"
        b" {group: a.d.io, version: v1, kind: InGo, chart: c}, none, {chart: [1], kind: {}}]",
    }
    seen = config.find_plugins_from_watches(project, files.get)
    assert seen.language == "go"
    assert [(api.kind, api.runner) for api in seen.apis] == [("InGo", ""), ("OfChart", "helm")]


def test_a_missing_file_is_reported_with_a_hint() -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.parse(None, prefix="here/")
    assert caught.value.message == "there is no project here: `here/PROJECT` does not exist"
    assert "olmkit init" in caught.value.hint


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (b"", ["PRJ001"]),
        (b"- a\n", ["PRJ001"]),
        (b"a: [", ["DOC001"]),
        (b"\xff\xfe\x00", ["DOC001"]),
        (b"domain: a\n", ["PRJ002"]),
        (b'version: "2"\n', ["PRJ002"]),
        (b'version: "3"\nprojectName: No Name\n', ["PRJ003"]),
        (b'version: "3"\nprojectName: [a]\ndomain: {}\n', ["PRJ001", "PRJ001"]),
        (b'version: "3"\nresources: a\n', ["PRJ001"]),
        (
            b'version: "3"\nresources: [a, {kind: A}, {version: v1}]\n',
            ["PRJ001", "PRJ004", "PRJ004"],
        ),
    ],
)
def test_an_invalid_file_is_a_configuration_error_with_places(
    data: bytes, codes: list[str]
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.parse(data)
    assert [found.rule for found in caught.value.diagnostics] == codes
    assert all(found.at and found.at.path == "PROJECT" for found in caught.value.diagnostics)


def test_settings_are_read() -> None:
    project = config.parse(
        b'version: "3"\n',
        b"""
        [tool.olmkit]
        sources = ["a", "b"]
        role-name = "r"
        max-description = 0
        allow-dangerous-types = true
        """,
    )
    settings = project.settings
    assert settings.sources == ("a", "b")
    assert (settings.role_name, settings.max_description) == ("r", 0)
    assert settings.allow_dangerous_types
    assert settings.infer_defaults
    assert project.findings == ()


def test_unknown_settings_are_errors_with_a_suggestion() -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.parse(b'version: "3"\n', b"[tool.olmkit]\nsource = 'a'\nnonsense = 1\n")
    first, second = caught.value.diagnostics
    assert (first.rule, first.severity, first.hint) == (
        "PRJ005",
        "error",
        "did you mean `sources`?",
    )
    assert first.at is not None
    assert (first.at.line, second.at and second.at.line) == (2, 3)
    assert second.hint.startswith("known keys are ")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"[tool", "PRJ007"),
        (b"\xff", "PRJ007"),
        (b"[tool]\nolmkit = 1\n", "PRJ006"),
        (b"[tool.olmkit]\nsources = 1\n", "PRJ006"),
        (b"[tool.olmkit]\nrole-name = 1\n", "PRJ006"),
        (b"[tool.olmkit]\nmax-description = 'a'\n", "PRJ006"),
        (b"[tool.olmkit]\ninfer-defaults = 1\n", "PRJ006"),
    ],
)
def test_invalid_settings_are_a_configuration_error(data: bytes, code: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        config.parse(b'version: "3"\n', data)
    assert [found.rule for found in caught.value.diagnostics] == [code]


def test_projects_without_the_table_have_the_defaults() -> None:
    assert config.parse(b'version: "3"\n', b"tool = 1\n").settings == config.Settings()
