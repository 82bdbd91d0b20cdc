"""Entries of `watches.yaml` compared with the files of a project."""

from __future__ import annotations

import pytest

from olmkit.project import config, watched_files

PROJECT = config.parse(
    b"""\
domain: example.com
layout: [helm.sdk.operatorframework.io/v1]
projectName: pond
version: "3"
resources:
- {group: web, domain: example.com, version: v1, kind: Pond, api: {crdVersion: v1}}
"""
)
FILES = {"charts/pond", "charts/pond.tgz", "roles/pond", "playbooks/pond.yml"}


def messages(entry: str, gvk: str = "group: web.example.com, version: v1, kind: Pond") -> list[str]:
    data = f"- {{{gvk}, {entry}}}\n".encode()
    return [one.message for one in watched_files.check(PROJECT, data, FILES.__contains__)]


@pytest.mark.parametrize(
    "entry",
    [
        "chart: charts/pond",
        "chart: ./charts/pond/",
        "chart: /opt/helm/charts/pond",
        "Chart: charts/pond.tgz",
        "chart: /somewhere/else",
        "chart: $CHARTS/pond",
        "chart: ../pond",
        "role: pond",
        "role: roles/pond",
        "role: /opt/ansible/roles/pond",
        "role: me.ponds.pond",
        "playbook: playbooks/pond.yml",
        "playbook: me.ponds.dig",
        "role: pond, finalizer: {name: x, playbook: playbooks/pond.yml}",
    ],
)
def test_existing_and_unknown_paths_are_not_reported(entry: str) -> None:
    assert messages(entry) == []


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("chart: charts/pnod", "the chart `charts/pnod` does not exist"),
        ("role: pnod", "the role `pnod` does not exist"),
        ("role: /opt/ansible/roles/x", "the role `/opt/ansible/roles/x` does not exist"),
        ("playbook: pond.yml", "the playbook `pond.yml` does not exist"),
        ("role: pond, Finalizer: {name: x, role: dry}", "the role `dry` does not exist"),
    ],
)
def test_missing_paths_are_reported(entry: str, message: str) -> None:
    assert messages(entry) == [message]


@pytest.mark.parametrize(
    ("gvk", "hint"),
    [
        ("group: web.example.com, version: v1, kind: Pnod", "did you mean `Pond`?"),
        ("group: web.example.com, version: v2, kind: Pond", "the project has it in version `v1`"),
        ("group: web.example.com, version: v1, kind: Other", "`olmkit create api` adds a kind"),
        ("version: v1, kind: Secret", None),
        ("group: apps, version: v1, kind: Deployment", None),
    ],
)
def test_a_kind_that_the_project_lacks_is_reported(gvk: str, hint: str | None) -> None:
    data = f"- {{{gvk}, role: pond}}\n".encode()
    found = watched_files.check(PROJECT, data, FILES.__contains__, prefix="a/")
    assert [one.hint for one in found] == ([hint] if hint else [])
    assert all(one.at is not None and one.at.path == "a/watches.yaml" for one in found)


@pytest.mark.parametrize("data", [b"", b"{", b"a: 1", b"- 3", b"- {role: 3, group: [1]}"])
def test_another_value_than_a_list_is_left_to_its_reader(data: bytes) -> None:
    assert watched_files.check(PROJECT, data, FILES.__contains__) == ()
