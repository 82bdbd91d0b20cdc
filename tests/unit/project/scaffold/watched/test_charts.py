"""Charts: their names, and the kinds in their templates."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.tree import Tree
from olmkit.kube.objects import GVK
from olmkit.project.scaffold.watched import charts

CHART = {"Chart.yaml": b"name: web-site\nversion: 1.0.0\n"}


def test_the_kind_comes_from_the_name() -> None:
    found = charts.read(Tree(CHART), path="chart")
    assert (found.name, found.kind, found.values) == ("web-site", "WebSite", {})


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "has no `Chart.yaml`"),
        ({"Chart.yaml": b"version: 1.0.0\n"}, "no `name`"),
        ({"Chart.yaml": b"name: ../../etc\n"}, "no `name`"),
        ({"Chart.yaml": b"name: a\ndependencies:\n- name: redis\n"}, "needs the chart `redis`"),
    ],
)
def test_an_incomplete_chart_is_an_error(files: dict[str, bytes], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        charts.read(Tree(files), path="chart")


def test_a_schema_that_is_not_json_is_an_error() -> None:
    with pytest.raises(InputError, match=r"values\.schema\.json"):
        charts.read(Tree(CHART | {"values.schema.json": b"{"}), path="chart")


def test_kinds_in_the_text_are_found_for_any_values() -> None:
    template = b"""\
{{- if .Values.enabled }}
apiVersion: apps/v1
kind: Deployment
spec:
  kind: NotThis
---
apiVersion: {{ include "ingress.api" . }}
kind: Ingress
---
apiVersion: "example.com/v1beta1"  # as its operator has it
kind: "Cache"
---
apiVersion: {{ .Values.api }}
kind: Unknown
{{- end }}
"""
    files = Tree(
        {
            "templates/all.yaml": template,
            "charts/sub/templates/service.yaml": b"apiVersion: v1\nkind: Service\n",
            "templates/tests/pod.yaml": b"apiVersion: v1\nkind: Pod\n",
            "values.yaml": b"apiVersion: v1\nkind: Secret\n",
        }
    )
    assert set(charts.kinds(files)) == {
        GVK("apps", "v1", "Deployment"),
        GVK("networking.k8s.io", "v1", "Ingress"),
        GVK("example.com", "v1beta1", "Cache"),
        GVK("", "v1", "Service"),
    }
