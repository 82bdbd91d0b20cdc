"""Scaffolded Helm and Ansible projects: complete after each command."""

from __future__ import annotations

import asyncio
import dataclasses
import io
import json
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import olmkit
from olmkit.base import documents
from olmkit.base.diagnostics import ConfigurationError, InputError, RemoteError, Severity
from olmkit.edges.images import transports
from olmkit.edges.images.access_settings import Access
from olmkit.jobs.bundle import generate as bundle
from olmkit.jobs.bundle import validate as check
from olmkit.jobs.bundle.generate import BundleGenerateOptions
from olmkit.jobs.bundle.validate import CheckOptions
from olmkit.jobs.project import charts, generate
from olmkit.jobs.project import scaffold as project
from olmkit.jobs.project.charts import ChartReference
from olmkit.jobs.project.scaffold import WatchedApi
from olmkit.oci.content import Descriptor, ImageManifest
from olmkit.oci.reference import Reference
from olmkit.oci.store import chunks
from olmkit.project import config
from olmkit.project.scaffold.api import ApiRequest
from olmkit.project.scaffold.edit import EditRequest
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest
from olmkit.testing import RegistryServer

ACCESS = Access(environment={})
REQUEST = InitRequest(domain="example.com", name="web", image="quay.io/example/web:v0.0.1")
CHART = {
    "Chart.yaml": b"apiVersion: v2\nname: site\nversion: 1.0.0\n",
    "values.yaml": b"# how many\nsize: 1\n",
    "values.schema.json": json.dumps(
        {"type": "object", "properties": {"size": {"type": "integer", "minimum": 0}}}
    ).encode(),
    "templates/role.yaml": b"apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\n",
}


def create(folder: Path, wanted: WatchedApi) -> None:
    asyncio.run(project.create_watched_api(folder, wanted, ACCESS, {}))


def chart_folder(folder: Path) -> Path:
    for name, data in CHART.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def packed() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, data in CHART.items():
            entry = tarfile.TarInfo(f"site/{name}")
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def load(path: Path) -> Any:
    return documents.load(path.read_bytes(), str(path)).value


@pytest.mark.parametrize(
    ("language", "wanted"),
    [
        ("helm", WatchedApi(group="cache", kind="Memcached")),
        ("ansible", WatchedApi(group="cache", kind="Memcached")),
        ("ansible", WatchedApi(group="cache", kind="Memcached", has_playbook=True)),
        ("ansible", WatchedApi(kind="Memcached", has_playbook=True, has_role=True)),
    ],
)
def test_a_new_project_can_be_generated_as_a_valid_bundle(
    tmp_path: Path, language: str, wanted: WatchedApi
) -> None:
    project.init(tmp_path / "one", REQUEST, language=language)
    project.init(tmp_path / "other", REQUEST, language=language)
    for name in ("one", "other"):
        create(tmp_path / name, wanted)
    folder = tmp_path / "one"
    assert files(folder) == files(tmp_path / "other")  # same input, same bytes
    (entry,) = load(folder / "watches.yaml")
    content = entry.get("chart") or entry.get("playbook") or f"roles/{entry['role']}"
    assert (folder / content).exists()
    bundle.generate(folder, BundleGenerateOptions(version="0.0.1"))
    [verdict] = check.validate_bundles([str(folder / "bundle")], CheckOptions())
    assert [one.rule for one in verdict.diagnostics if one.severity is Severity.ERROR] == []


def test_the_olm_image_of_a_helm_project_can_be_edited(tmp_path: Path) -> None:
    project.init(tmp_path / "web", REQUEST, language="helm")
    project.edit(tmp_path / "web", EditRequest(image="quay.io/example/web:v2"))
    assert "newTag: v2" in (tmp_path / "web/config/manager/kustomization.yaml").read_text()
    with pytest.raises(ConfigurationError, match="scope"):
        project.edit(tmp_path / "web", EditRequest(namespaced=True))


@pytest.mark.parametrize("form", ["folder", "archive"])
def test_a_chart_determines_names_schema_sample_and_permissions(tmp_path: Path, form: str) -> None:
    folder = tmp_path / "web"
    project.init(folder, REQUEST, language="helm")
    chart = chart_folder(tmp_path / "site")
    if form == "archive":
        chart = tmp_path / "site-1.0.0.tgz"
        chart.write_bytes(packed())
    create(folder, WatchedApi(chart=ChartReference(text=str(chart))))
    assert load(folder / "watches.yaml") == [
        {
            "group": "charts.example.com",
            "version": "v1alpha1",
            "kind": "Site",
            "chart": "helm-charts/site",
        }
    ]
    crd = load(folder / "config/crd/bases/charts.example.com_sites.yaml")
    spec = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert spec["properties"]["size"] == {"type": "integer", "minimum": 0}
    sample = folder / "config/samples/charts_v1alpha1_site.yaml"
    assert load(sample)["spec"] == {"size": 1}
    assert "# how many" in sample.read_text()
    rules = load(folder / "config/rbac/role.yaml")["rules"]
    giving = [one for one in rules if one["apiGroups"] == ["rbac.authorization.k8s.io"]]
    assert giving[0]["resources"] == ["roles"]
    assert {"bind", "escalate"} <= set(giving[0]["verbs"])
    assert files(folder / "helm-charts/site").keys() == CHART.keys()


def test_a_chart_can_come_from_a_registry(registry: RegistryServer) -> None:
    name = f"{registry.host}/charts/site:1.0.0"
    access = Access(environment={}, plain_http=True)

    async def push() -> None:
        config = b"{}"
        data = packed()
        layer = Descriptor.of(data, "application/vnd.cncf.helm.chart.content.v1.tar+gzip")
        about = Descriptor.of(config, "application/vnd.cncf.helm.config.v1+json")
        media_type = "application/vnd.oci.image.manifest.v1+json"
        manifest = ImageManifest(media_type=media_type, config=about, layers=(layer,)).format()
        reference = Reference.parse(name)
        async with transports.open_store(reference, access, write=True) as store:
            await store.push(layer, chunks(data))
            await store.push(about, chunks(config))
            whole = Descriptor.of(manifest, media_type)
            await store.push(whole, chunks(manifest))
            await store.tag(whole, "1.0.0")

    asyncio.run(push())
    found = asyncio.run(charts.read(ChartReference(text=f"oci://{name}"), access, {}))
    assert (found.name, set(found.files)) == ("site", set(CHART))
    plain = f"oci://{name.removesuffix(':1.0.0')}"
    again = asyncio.run(charts.read(ChartReference(text=plain, version="1.0.0"), access, {}))
    assert again == found


def test_a_chart_with_a_decompression_bomb_is_refused(tmp_path: Path) -> None:
    (tmp_path / "chart.tgz").write_bytes(b"\x1f\x8bnothing")
    request = ChartReference(text=str(tmp_path / "chart.tgz"))
    with pytest.raises(InputError, match=r"chart\.tgz"):
        asyncio.run(charts.read(request, ACCESS, {}))


@pytest.fixture
def helm_pulling(tmp_path: Path) -> dict[str, str]:
    """An environment whose `helm` records its arguments, and returns the packed chart."""
    (tmp_path / "site.tgz").write_bytes(packed())
    program = tmp_path / "bin/helm"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f'printf "%s\\n" "$@" >{tmp_path}/words\n'
        "for word; do case $word in\n"
        f'--destination=*) cp {tmp_path}/site.tgz "${{word#*=}}/site-1.0.0.tgz";;\n'
        "*missing*) echo 'Error: chart not found' >&2; exit 1;;\n"
        "esac; done\n"
    )
    program.chmod(0o755)
    return {"PATH": f"{program.parent}:/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (
            ChartReference(text="site", repository="https://charts.example.com", version="1.0.0"),
            ["--repo=https://charts.example.com", "--version=1.0.0", "--", "site"],
        ),
        (ChartReference(text="https://example.com/a.tgz"), ["--", "https://example.com/a.tgz"]),
        (ChartReference(text="stable/site"), ["--", "stable/site"]),
    ],
)
def test_a_chart_in_a_repository_is_pulled_by_helm(
    tmp_path: Path, helm_pulling: dict[str, str], request_: ChartReference, words: list[str]
) -> None:
    found = asyncio.run(charts.read(request_, ACCESS, helm_pulling))
    assert (found.name, set(found.files)) == ("site", set(CHART))
    said = (tmp_path / "words").read_text().splitlines()
    assert said[0] == "pull"
    assert said[2:] == words


@pytest.mark.parametrize(
    ("request_", "match"),
    [
        (
            ChartReference(text="site", repository="charts.example.com"),
            "not the URL of a chart rep",
        ),
        (ChartReference(text="oci://r/site", repository="https://r"), "names a registry"),
        (ChartReference(text="stable/missing"), "the chart `stable/missing`: chart not found"),
        (ChartReference(text="https://me:word@r/missing.tgz"), "`https://[^w]*r/missing.tgz`"),
        (ChartReference(text="nothing"), "does not exist"),
    ],
)
def test_a_chart_that_cannot_be_fetched_is_refused(
    helm_pulling: dict[str, str], request_: ChartReference, match: str
) -> None:
    with pytest.raises((ConfigurationError, RemoteError), match=match):
        asyncio.run(charts.read(request_, ACCESS, helm_pulling))


def test_a_local_chart_has_one_version(tmp_path: Path) -> None:
    request = ChartReference(text=str(chart_folder(tmp_path / "site")), version="1.0.0")
    with pytest.raises(ConfigurationError, match="one version"):
        asyncio.run(charts.read(request, ACCESS, {}))


def test_a_repository_needs_the_program_helm(tmp_path: Path) -> None:
    request = ChartReference(text="site", repository="https://charts.example.com")
    with pytest.raises(ConfigurationError, match="Helm, which is not on this machine"):
        asyncio.run(charts.read(request, ACCESS, {"PATH": str(tmp_path)}))


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (WatchedApi(group="other", kind="Thing"), "`other` differs"),
        (WatchedApi(group="cache", kind="Memcached"), "already"),
        (WatchedApi(group="cache", version="v1", kind="Memcached"), "one entry"),
        (WatchedApi(group="cache"), "no kind"),
        (WatchedApi(group="cache", kind="cache"), "not a kind"),
        (WatchedApi(chart=ChartReference(text="site")), "charts belong to Helm"),
    ],
)
def test_invalid_options_are_an_error(tmp_path: Path, wanted: WatchedApi, message: str) -> None:
    project.init(tmp_path / "web", REQUEST, language="ansible")
    create(tmp_path / "web", WatchedApi(group="cache", kind="Memcached"))
    before = files(tmp_path / "web")
    with pytest.raises(ConfigurationError, match=message):
        create(tmp_path / "web", wanted)
    assert files(tmp_path / "web") == before


def test_changes_of_the_user_to_watches_are_kept(tmp_path: Path) -> None:
    project.init(tmp_path / "web", REQUEST, language="ansible")
    create(tmp_path / "web", WatchedApi(group="cache", kind="Memcached"))
    watches = tmp_path / "web/watches.yaml"
    text = watches.read_text().replace("role: memcached\n", "role: memcached  # mine\n")
    watches.write_text(text)
    create(tmp_path / "web", WatchedApi(group="cache", kind="Redis"))
    assert "role: memcached  # mine\n" in watches.read_text()
    assert [one["kind"] for one in load(watches)] == ["Memcached", "Redis"]


def python_project(folder: Path) -> Path:
    project.init(folder, REQUEST)
    project.create_api(folder, ApiRequest(group="apps", version="v1", kind="Note"))
    return folder


def test_kinds_with_helm_and_ansible_can_be_added_to_a_python_project(tmp_path: Path) -> None:
    folder = python_project(tmp_path / "web")
    chart = ChartReference(text=str(chart_folder(tmp_path / "site")))
    create(folder, WatchedApi(runner="helm", chart=chart))
    create(folder, WatchedApi(runner="ansible", kind="Cache", has_playbook=True, has_role=True))
    found = config.parse((folder / "PROJECT").read_bytes())
    assert [(api.kind, api.group, api.runner) for api in found.apis] == [
        ("Note", "apps", ""),
        ("Site", "apps", "helm"),
        ("Cache", "apps", "ansible"),
    ]
    assert (found.language, found.runners) == ("python", ("helm", "ansible"))
    assert [(one["kind"], sorted(one)[0]) for one in load(folder / "watches.yaml")] == [
        ("Site", "chart"),
        ("Cache", "group"),
    ]
    main = (folder / "web/__main__.py").read_text()
    assert "sys.exit(mixed.main(operator()))" in main
    text = (folder / "pyproject.toml").read_text()
    runtime, *rest = [Requirement(one) for one in tomllib.loads(text)["project"]["dependencies"]]
    assert (runtime.name, runtime.extras) == ("olmkit-runtime", {"ansible", "certificates", "helm"})
    assert olmkit.__version__ in runtime.specifier
    assert [one.name for one in rest] == ["kubernetes"]
    assert '<0.2",  # the controller runtime' in text
    for name in ("watches_role.yaml", "watches_role_binding.yaml"):
        assert name in load(folder / "config/rbac/kustomization.yaml")["resources"]
    # The generators keep the created files, and again nothing changes.
    assert not generate.generate(folder, dry_run=True).changes
    before = files(folder)
    with pytest.raises(ConfigurationError, match="already"):
        create(folder, WatchedApi(runner="ansible", kind="Cache"))
    assert files(folder) == before

    bundle.generate(folder, BundleGenerateOptions(version="0.0.1"))
    csv = load(folder / "bundle/manifests/web.clusterserviceversion.yaml")
    owned = csv["spec"]["customresourcedefinitions"]["owned"]
    assert sorted(one["kind"] for one in owned) == ["Cache", "Note", "Site"]
    (account,) = csv["spec"]["install"]["spec"]["clusterPermissions"]
    groups = {
        (group, resource)
        for rule in account["rules"]
        for group in rule["apiGroups"]
        for resource in rule.get("resources", ())
    }
    wanted = {("apps.example.com", one) for one in ("notes", "sites", "caches")}
    assert wanted | {("", "secrets"), ("rbac.authorization.k8s.io", "roles")} <= groups


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (WatchedApi(runner="helm", group="apps", kind="Note"), "a reconciler in Python"),
        (
            WatchedApi(runner="ansible", kind="Cache", chart=ChartReference(text="chart")),
            "not to Ansible",
        ),
        (WatchedApi(runner="helm", kind="Cache", has_role=True), "not for Helm"),
    ],
)
def test_unsupported_options_of_a_python_project_are_an_error(
    tmp_path: Path, wanted: WatchedApi, said: str
) -> None:
    folder = python_project(tmp_path / "web")
    before = files(folder)
    if wanted.kind == "Note":
        wanted = dataclasses.replace(wanted, version="v1")
    with pytest.raises(ConfigurationError, match=said):
        create(folder, wanted)
    assert files(folder) == before


def test_a_kind_with_helm_has_no_types_and_no_webhooks(tmp_path: Path) -> None:
    folder = python_project(tmp_path / "web")
    create(folder, WatchedApi(runner="helm", kind="Site", version="v1"))
    with pytest.raises(ConfigurationError, match="Helm runs for `Site`"):
        project.create_api(folder, ApiRequest(group="apps", version="v2", kind="Site"))
    request = WebhookRequest(group="apps", version="v1", kind="Site", defaulting=True)
    with pytest.raises(ConfigurationError, match="Helm runs for `Site`"):
        project.create_webhook(folder, request)


def test_only_kinds_with_helm_can_be_added_to_a_helm_project(tmp_path: Path) -> None:
    project.init(tmp_path / "web", REQUEST, language="helm")
    with pytest.raises(ConfigurationError, match="the project has the Helm layout"):
        create(tmp_path / "web", WatchedApi(runner="ansible", kind="Cache"))


def test_changes_of_the_user_are_kept_or_reported(tmp_path: Path) -> None:
    folder = python_project(tmp_path / "web")
    (folder / "web/__main__.py").write_text("from web.start import main\n\nmain()\n")
    (folder / "pyproject.toml").write_text('[tool.olmkit]\nsources = ["web"]\n')
    (folder / "Containerfile").write_text("FROM scratch\n")
    manager = folder / "config/manager/manager.yaml"
    manager.write_text(manager.read_text().replace("memory: 128Mi", "memory: 2Gi"))
    wanted = WatchedApi(runner="ansible", kind="Cache")
    found = asyncio.run(project.create_watched_api(folder, wanted, ACCESS, {}))
    said = "\n".join(one.message for one in found.diagnostics)
    assert "`web/__main__.py` does not start" in said
    assert "`pyproject.toml` does not require" in said
    assert "`Containerfile` does not copy" in said
    assert (folder / "web/__main__.py").read_text() == "from web.start import main\n\nmain()\n"
    assert "memory: 2Gi" in manager.read_text()


def test_another_scope_applies_to_all_kinds(tmp_path: Path) -> None:
    folder = python_project(tmp_path / "web")
    create(folder, WatchedApi(runner="helm", kind="Site"))
    role = folder / "config/rbac/watches_role.yaml"
    before = role.read_bytes()
    project.edit(folder, EditRequest(namespaced=True))
    binding = load(folder / "config/rbac/watches_role_binding.yaml")
    assert (load(role)["kind"], binding["kind"]) == ("Role", "RoleBinding")
    assert (binding["roleRef"]["kind"], binding["subjects"][0]["kind"]) == (
        "Role",
        "ServiceAccount",
    )
    project.edit(folder, EditRequest(namespaced=False))
    assert role.read_bytes() == before
