"""How each page of the documents is followed: its preparation, and omitted lines.

Every typed line of a page is in exactly one of three places: its page is in `WALKED`, and the
line is run; its page is in `WALKED_ELSEWHERE`, and the named test runs it; or
`LEFT_OUT` has the reason why it is not run. A test checks that this is complete.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from olmkit.base.tree import Tree
from olmkit.edges.images import transfer
from olmkit.edges.images.layout import Layout
from olmkit.edges.images.transports import DATABASE_LABEL
from olmkit.oci import image, layer
from olmkit.oci.store import MemoryStore
from olmkit.testing.registry import free_port
from tests import index_databases
from tests.command_blocks import TYPED, Statement, blocks_of

# Page → the test that reads the page and runs its blocks.
WALKED_ELSEWHERE: Mapping[str, str] = {
    "docs/how-to/kinds-of-others.md": "tests/unit/test_kinds_of_others_page.py",
    "docs/first-ansible-operator.md": "tests/unit/test_watched_tutorials.py",
    "docs/first-helm-operator.md": "tests/unit/test_watched_tutorials.py",
    "docs/your-own-operator.md": "tests/e2e/cluster/test_your_own_operator.py",
}

_CLUSTER = "needs a cluster; the tests of `tests/e2e/cluster` run this command"
_OLM = "needs a cluster with OLM; the tests of `tests/e2e/cluster` run this command"
_OLM_V1 = "needs a cluster with OLM v1; the tests of `tests/e2e/cluster/v1` run this command"
_BASE = "pulls a base image; the tests of `tests/e2e/images` run this command"
_CHECKOUT = "works on the repository itself; CI runs it"
_PROGRAM = "needs a program that is not part of the tests"
_HELM = "needs helm; the tests of `tests/e2e/hybrid` run it"
_RUN = "runs until it is stopped, against a cluster; the tests of `tests/e2e/cluster` run it"

# Page → beginning of lines that are not run → the reason.
LEFT_OUT: Mapping[str, Mapping[str, str]] = {
    "README.md": {
        "make demo": _CHECKOUT,
        "make test": _CHECKOUT,
        "olmkit install": _OLM,
        "olmkit why": _OLM,
    },
    "CONTRIBUTING.md": {"git clone": _CHECKOUT, "make": _CHECKOUT},
    "SECURITY.md": {"gh attestation": "needs a release on GitHub"},
    "docs/explanation/seeing-an-operator.md": {"kubectl": _CLUSTER, "curl": _CLUSTER},
    "docs/how-to/ansible-operators.md": {
        "make collections": "downloads collections from Ansible Galaxy",
        "make test": "needs ansible; `tests/unit/jobs/project/test_run.py` runs it",
        "ansible-galaxy": "downloads collections from Ansible Galaxy",
        "kubectl": _CLUSTER,
        "olmkit run": "needs ansible; the tests of `tests/e2e/hybrid` run it",
        "olmkit image build": _BASE,
    },
    "docs/how-to/build-an-operator-image.md": {
        "uv pip compile": "asks a package index",
        "olmkit image build": _BASE,
        "cd": _BASE,
    },
    "docs/how-to/grow-a-project.md": {"helm": _HELM},
    "docs/how-to/make-a-catalog.md": {
        "olmkit catalog template composite -c composite.yaml -f https": "reads a page of the web; "
        "`tests/conformance/templates/test_composite.py` reads one on loopback"
    },
    "docs/how-to/helm-operators.md": {
        "make test": _HELM,
        "kubectl": _CLUSTER,
        "olmkit run": _HELM,
        "olmkit image build": _BASE,
    },
    "docs/how-to/install-an-operator.md": {
        "olmkit": "needs a cluster with OLM; the tests of `tests/e2e/cluster` run these commands",
        "kubectl": _CLUSTER,
    },
    "docs/how-to/mirror-a-catalog.md": {"kubectl": _CLUSTER},
    "docs/how-to/mixed-operators.md": {
        "kubectl": _CLUSTER,
        "olmkit run": _RUN,
        "ansible-galaxy": "downloads collections from Ansible Galaxy",
        "olmkit image build": _BASE,
    },
    "docs/how-to/move-ansible-operator.md": {
        "olmkit run": "needs ansible; the tests of `tests/e2e/hybrid` run it",
        "ansible-galaxy": "downloads collections from Ansible Galaxy",
        "olmkit image build": _BASE,
    },
    "docs/how-to/move-helm-operator.md": {"olmkit run": _HELM, "olmkit image build": _BASE},
    "docs/how-to/move-from-kopf.md": {
        "kubectl": _CLUSTER,
        "diff": "compares with what a cluster has",
        "olmkit deploy": _CLUSTER,
    },
    "docs/how-to/operator-in-60-lines.md": {
        "python site_operator.py": _RUN,
        "kubectl": _CLUSTER,
        "olmkit run": _RUN,
    },
    "docs/how-to/push-images.md": {"olmkit catalog build --server": _BASE},
    "docs/how-to/serve-a-catalog.md": {
        "grpcurl": _PROGRAM,
        "olmkit catalog deploy": _CLUSTER,
        "olmkit catalog build --server": _BASE,
        "curl https://stable.olm.svc": _CLUSTER,
    },
    "docs/how-to/test-an-operator.md": {"kubectl": _CLUSTER, "olmkit run": _RUN},
    "docs/how-to/use-in-ci.md": {"make image": _BASE, "docker": _BASE},
    "docs/on-a-real-cluster.md": {
        "make cluster": _CLUSTER,
        ".venv/bin/python": _CLUSTER,
        "olmkit image build": _BASE,
        "olmkit install": _OLM,
        "olmkit uninstall": _OLM,
    },
}


# Lines that end with another exit code than 0, as their pages say.
EXITS: Mapping[tuple[str, str], int] = {
    ("README.md", "olmkit bundle scorecard bundle"): 1,
    ("docs/how-to/compare-bundles.md", "olmkit bundle diff quay.io"): 1,
}


SERVERS = re.compile(r"^olmkit (catalog serve (?!.*--cache-only)|hub serve )")
# Registries of the documents, and their replacements.
REGISTRIES = {
    "quay.io/example": "{host}/example",
    "registry.example.com": "{host}",
    "mirror.example.com": "{host}",
}


@dataclass(kw_only=True)
class Place:
    """The resources of a reader: a directory, a registry, programs."""

    reader: Any
    host: str
    root: Path
    # Replacements for texts of the page; longer ones come first.
    names: dict[str, str] = field(default_factory=dict)
    # Preparations of a line with this beginning, which the page describes in words.
    before: dict[str, list[Callable[[], None]]] = field(default_factory=dict)
    # The output of a line on this machine is not compared.
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """The current directory of the reader."""
        found: Path = self.reader.folder
        return found

    def run(self, script: str) -> str:
        """Prepare files with commands of olmkit."""
        said: str = self.reader.run(script)
        return said

    def copy(self, path: str, to: str) -> None:
        """Copy a file or directory of the repository."""
        if (self.root / path).is_file():
            shutil.copy(self.root / path, self.folder / to)
        else:
            shutil.copytree(self.root / path, self.folder / to, dirs_exist_ok=True)

    def write(self, path: str, text: str) -> Path:
        """Write a file of the reader."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def push_bundle(self, folder: str, name: str) -> None:
        """Push a bundle to the registry."""
        self.run(f"olmkit bundle build '{folder}' -t '{self.host}/{name}' --push")

    def push_catalog(self, folder: str, name: str) -> None:
        """Push a catalog to the registry."""
        self.run(f"olmkit catalog build '{folder}' -t '{self.host}/{name}' --push")


_INSTALLED: Mapping[str, object] = {
    "install": {"strategy": "deployment", "spec": {"deployments": []}},
    "installModes": [{"type": "AllNamespaces", "supported": True}],
}


def _bundle(place: Place, folder: str, package: str, version: str, **spec: object) -> None:
    csv: dict[str, object] = {
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"{package}.v{version}"},
        "spec": {"displayName": package, "version": version, **_INSTALLED, **spec},
    }
    prefix = "operators.operatorframework.io.bundle"
    annotations = {
        f"{prefix}.mediatype.v1": "registry+v1",
        f"{prefix}.manifests.v1": "manifests/",
        f"{prefix}.metadata.v1": "metadata/",
        f"{prefix}.package.v1": package,
        f"{prefix}.channels.v1": "stable",
        f"{prefix}.channel.default.v1": "stable",
    }
    shutil.rmtree(place.folder / folder, ignore_errors=True)
    place.write(f"{folder}/manifests/{package}.clusterserviceversion.yaml", json.dumps(csv))
    place.write(f"{folder}/metadata/annotations.yaml", json.dumps({"annotations": annotations}))


def _stand_ins(place: Place) -> None:
    """Replace programs that tests cannot use: an index of packages, and kustomize."""
    place.reader.tool("pip", "exit 0")
    place.reader.tool("kustomize", 'shift; exec olmkit render "$@"')


def _project(place: Place) -> None:
    """Make the shipped operator the project of the reader."""
    place.copy("operator", ".")


def _shipped(place: Place) -> None:
    """Copy the shipped bundles and catalog to the paths on the page."""
    place.copy("bundle/0.0.2", "bundle")
    place.copy("catalog", "catalog")


def _readme(place: Place) -> None:
    home = place.folder / "home"
    place.copy("bundle/0.0.1", "home/community-operators/operators/memcached-operator/0.0.1")
    place.variables["HOME"] = str(home)
    _stand_ins(place)


def _check(place: Place) -> None:
    _shipped(place)
    for version in ("0.0.1", "0.0.2"):
        place.copy(f"bundle/{version}", f"operators/memcached-operator/{version}")


def _compare(place: Place) -> None:
    _shipped(place)
    name = "example/memcached-operator-bundle:v0.0.1"
    place.push_bundle(str(place.root / "bundle/0.0.1"), name)
    place.variables["RELEASED"] = f"{place.host}/{name}"


def _generate(place: Place) -> None:
    _project(place)
    _stand_ins(place)
    place.copy("operator/config/crd", "crds")
    place.run("mkdir deploy && olmkit render config/manifests > deploy/all.yaml")
    _bundle(place, "old", "cog", "1.0.0")
    csv = (place.folder / "old/manifests/cog.clusterserviceversion.yaml").read_text()
    place.write("packagemanifests/1.0.0/cog.clusterserviceversion.yaml", csv)
    channels = "packageName: cog\nchannels: [{name: stable, currentCSV: cog.v1.0.0}]\n"
    place.write("packagemanifests/cog.package.yaml", channels)


def _go(place: Place) -> None:
    place.copy("tests/fixtures/go-project", ".")
    _stand_ins(place)


def _grow(place: Place) -> None:
    place.run("olmkit init pond-operator --domain example.com")
    place.reader.folder = place.folder / "pond-operator"


def _catalog(place: Place) -> None:
    before: dict[str, object] = {}
    for version in ("1.0.0", "1.1.0", "1.2.0", "1.5.0"):
        cog = f"{place.host}/example/cog@sha256:{'0' * 64}"
        images = [{"name": "cog", "image": cog}]
        _bundle(place, version, "cog", version, relatedImages=images, **before)
        tag = f"{place.host}/example/cog-bundle:v{version}"
        place.run(f"olmkit catalog add published $(olmkit bundle build {version} -t {tag} --push)")
        before = {"replaces": f"cog.v{version}"}
    _bundle(place, "pot", "pot", "1.0.0")
    place.push_bundle("pot", "example/pot-bundle:v1.0.0")
    place.run(f"olmkit catalog add published {place.host}/example/pot-bundle:v1.0.0")
    place.push_catalog("published", "example/catalog:v1")
    older = [lambda: _bundle(place, "bundle", "cog", "1.0.0")]
    newer = [lambda: _bundle(place, "bundle", "cog", "1.1.0")]
    place.before["olmkit catalog add catalog bundle"] = older + newer
    place.before["olmkit catalog check"] = [
        lambda: place.push_catalog("catalog", "example/catalog:latest")
    ]
    place.before["olmkit catalog graph"] = [
        lambda: place.copy("catalog/memcached-operator", "catalog/memcached-operator")
    ]
    place.before["olmkit catalog render-template"] = [lambda: _rendered_catalog(place)]
    place.before["olmkit catalog convert basic catalog"] = [lambda: _databases(place)]
    place.before["olmkit catalog template composite"] = [lambda: _composite(place)]
    place.before["olmkit catalog render deploy"] = [lambda: _old_packages(place)]


def _composite(place: Place) -> None:
    place.copy("tests/golden/bases/composite", ".")
    place.copy("tests/golden/bases/include-file/catalog/catalog.yaml", "raw.yaml")


def _rendered_catalog(place: Place) -> None:
    shutil.rmtree(place.folder / "catalog/cog")  # the page renders the same bundles again
    _templates(place)


def _templates(place: Place) -> None:
    bundle = f"{place.host}/example/cog-bundle"
    place.write(
        "catalog-templates/semver.yaml",
        "schema: olm.semver\ngenerateMajorChannels: true\nstable:\n  bundles:\n"
        f"  - image: {bundle}:v1.0.0\n  - image: {bundle}:v1.1.0\n",
    )
    place.write(
        "catalog-templates/v4.18.yaml",
        "schema: olm.template.basic\nentries:\n"
        "- {schema: olm.package, name: cog, defaultChannel: stable}\n"
        "- {schema: olm.channel, package: cog, name: stable, entries: [{name: cog.v1.0.0}]}\n"
        f"- {{schema: olm.bundle, image: '{bundle}:v1.0.0'}}\n",
    )


def _databases(place: Place) -> None:
    rows = index_databases.cog()
    # As the rules of a semver template generate them.
    rows["package"] = [{"name": "cog", "default_channel": "stable-v2"}]
    rows["channel"] = [
        {
            "name": f"stable-v{major}",
            "package_name": "cog",
            "head_operatorbundle_name": f"cog.v{major}.0.0",
        }
        for major in (1, 2)
    ]
    rows["channel_entry"] = [
        index_databases.entry(1, "cog.v2.0.0", channel="stable-v2"),
        index_databases.entry(2, "cog.v1.0.0", channel="stable-v1"),
    ]
    for row in rows["operatorbundle"]:
        del row["skiprange"]
    database = index_databases.write(place.folder / "index.db", rows)
    made = image.data_image(
        layer.write(Tree({"index.db": database.read_bytes()})),
        {DATABASE_LABEL: "index.db"},
        created_by="test",
    )
    layout = Layout(place.folder / "old-index")
    asyncio.run(transfer.copy(MemoryStore.of(made), layout, made.descriptor, tag="v1"))
    place.run(f"olmkit image copy oci:old-index:v1 {place.host}/old/index:v4.10")


def _old_packages(place: Place) -> None:
    _bundle(place, "old", "cog", "1.0.0")
    csv = (place.folder / "old/manifests/cog.clusterserviceversion.yaml").read_text()
    place.write("deploy/olm-catalog/cog/1.0.0/cog.clusterserviceversion.yaml", csv)
    channels = "packageName: cog\nchannels: [{name: stable, currentCSV: cog.v1.0.0}]\n"
    place.write("deploy/olm-catalog/cog/cog.package.yaml", channels)
    (place.folder / "catalog/cog").mkdir()


def _mirror(place: Place) -> None:
    _bundle(place, "cog", "cog", "1.0.0")
    place.push_bundle("cog", "example/cog-bundle:v1.0.0")
    place.run(f"olmkit catalog add published {place.host}/example/cog-bundle:v1.0.0")
    place.push_catalog("published", "example/catalog:v1")


def _go_from_sdk(place: Place) -> None:
    place.copy("tests/fixtures/go-project", ".")
    shutil.rmtree(place.folder / "bundle")
    _stand_ins(place)


def _sixty_lines(place: Place) -> None:
    text = (place.root / "docs/how-to/operator-in-60-lines.md").read_text()
    code = text.split("`site_operator.py`:\n\n```python\n")[1].split("```")[0]
    place.write("site_operator.py", code)
    _stand_ins(place)


def _push(place: Place) -> None:
    _shipped(place)
    place.before["olmkit bundle build bundle/*"] = [lambda: _two_bundles(place)]
    key = "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out cosign.key"
    place.run(f"{key} 2>openssl.log && openssl pkey -in cosign.key -pubout -out cosign.pub")
    named = f"olmkit bundle build bundle/0.0.2 -t {place.host}/example/ref:v1"
    place.before["olmkit image sign"] = [lambda: place.run(named)]
    place.before["olmkit catalog images"] = [lambda: _signed_catalog(place)]
    place.before["olmkit catalog render"] = [lambda: place.run("olmkit bundle build bundle/0.0.2")]


def _two_bundles(place: Place) -> None:
    shutil.rmtree(place.folder / "bundle")
    place.copy("bundle", "bundle")


def _signed_catalog(place: Place) -> None:
    shutil.rmtree(place.folder / "catalog")
    _bundle(place, "cog", "cog", "1.0.0")
    place.push_bundle("cog", "example/cog-bundle:v1.0.0")
    reference = f"{place.host}/example/cog-bundle:v1.0.0"
    place.run(
        f"olmkit catalog add catalog {reference}\n"
        "olmkit catalog images catalog | xargs olmkit image sign --key cosign.key"
    )


def _scorecard(place: Place) -> None:
    _shipped(place)
    place.push_bundle("bundle", "example/kettle-bundle:v1")


def _serve(place: Place) -> None:
    _shipped(place)
    _stand_ins(place)
    for name in ("stable", "edge"):
        place.push_catalog("catalog", f"example/{name}:v1")
    place.run(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
        "-subj /CN=localhost -keyout tls.key -out tls.crt 2>openssl.log"
    )
    place.names |= {
        "8443": str(free_port()),
        "/configs": "catalog",
        "/var/cache/olmkit": "cache",
        "package=etcd": "package=memcached-operator",
    }
    place.variables |= {"OLMKIT_SERVE_PORT": "0", "OLMKIT_SERVE_HOST": "127.0.0.1"}


def _show(place: Place) -> None:
    _shipped(place)
    _stand_ins(place)
    place.push_catalog("catalog", "example/catalog:v1")
    for name in ("stable", "beta"):
        place.copy("catalog", f"catalogs/{name}")
    place.copy("bundle/0.0.1", "shown")
    place.names |= {
        "hub serve": f"hub serve --port {free_port()}",
        "bundle/0.0.1": "shown",
    }


def _submit(place: Place) -> None:
    home = place.folder / "home"
    place.variables["HOME"] = str(home)
    place.copy("bundle/0.0.1", "bundle")
    place.copy("bundle/0.0.2", "bundle/0.2.0")
    for name in ("community-operators", "community-operators-prod", "certified-operators"):
        (home / name / "operators").mkdir(parents=True)
        (home / name / "catalogs/v4.18").mkdir(parents=True)
    place.write("home/community-operators/operators/.gitkeep", "")
    _commit(home / "community-operators")
    place.before["olmkit submit check"] = [lambda: _commit(home / "community-operators")]
    place.before["olmkit catalog render-template"] = [lambda: _submitted(place)]


def _commit(repository: Path) -> None:
    """Commit everything; the first commit is also the branch of the origin."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(repository)]
    first = not (repository / ".git").exists()
    steps = [["init", "-q", "-b", "main"]] if first else []
    steps += [["add", "-A"], ["commit", "-q", "-m", "add a version"]]
    steps += [["update-ref", "refs/remotes/origin/main", "HEAD"]] if first else []
    for step in steps:
        subprocess.run([*git, *step], check=True)


def _submitted(place: Place) -> None:
    _bundle(place, "cog", "cog", "1.0.0")
    place.push_bundle("cog", "example/cog-bundle:v1.0.0")
    _templates(place)
    template = (place.folder / "catalog-templates/v4.18.yaml").read_text()
    place.write("operators/cog/catalog-templates/basic.yaml", template)
    (place.folder / "catalogs/v4.18/cog").mkdir(parents=True)


def _real_cluster(place: Place) -> None:
    place.copy("operator", "operator")
    place.names["/tmp/memcached-operator"] = str(place.folder / "copied")  # noqa: S108 - the page's
    place.variables["R"] = place.host


def _tutorial(place: Place) -> None:
    place.copy("operator", "operator")
    place.copy("catalog", "catalog")
    text = (place.root / "docs/tutorial.md").read_text()
    added = text.split("```python\n")[1].split("```")[0]
    types = place.folder / "operator/memcached_operator/api/v1alpha1/memcached.py"
    old = types.read_text()
    before = "\n\nclass MemcachedStatus"
    assert before in old
    types.write_text(old.replace(before, f"\n{added}{before}", 1))
    place.names["50051"] = str(free_port())


def _helm(place: Place) -> None:
    place.write("charts/nginx/Chart.yaml", "apiVersion: v2\nname: nginx\nversion: 0.1.0\n")
    place.write("charts/nginx/values.yaml", "replicaCount: 1\n")
    place.reader.tool("helm", '[ "$1" = lint ]')
    place.write(
        "charts/nginx/templates/configmap.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Release.Name }}'}\n",
    )


def _from_opm(place: Place) -> None:
    _bundle(place, "cog", "cog", "1.0.0")
    place.push_bundle("cog", "example/cog-bundle:v1.0.0")
    _templates(place)
    (place.folder / "catalog/memcached-operator").mkdir(parents=True)


def _mixed(place: Place) -> None:
    _helm(place)
    (place.folder / "charts/nginx").rename(place.folder / "charts/site")
    chart = place.folder / "charts/site/Chart.yaml"
    chart.write_text(chart.read_text().replace("nginx", "site"))


def _watched(plugin: str) -> Callable[[Place], None]:
    """Create a project of that plugin, with one kind."""

    def prepare(place: Place) -> None:
        _helm(place)
        place.run(
            f"olmkit init moved-operator --plugins {plugin} --domain example.com\n"
            "cd moved-operator\nolmkit create api --group web --version v1 --kind Page"
        )

    return prepare


def _nothing(place: Place) -> None:
    """Begin in an empty directory."""
    _stand_ins(place)


# Page → the preparation before its first line.
WALKED: Mapping[str, Callable[[Place], None]] = {
    "README.md": _readme,
    "docs/how-to/ansible-operators.md": _nothing,
    "docs/how-to/check-a-bundle.md": _check,
    "docs/how-to/compare-bundles.md": _compare,
    "docs/how-to/copy-a-sample.md": _nothing,
    "docs/how-to/generate-a-bundle.md": _generate,
    "docs/how-to/go-types.md": _go,
    "docs/how-to/grow-a-project.md": _grow,
    "docs/how-to/helm-operators.md": _helm,
    "docs/how-to/make-a-catalog.md": _catalog,
    "docs/how-to/mirror-a-catalog.md": _mirror,
    "docs/how-to/mixed-operators.md": _mixed,
    "docs/how-to/move-ansible-operator.md": _watched("ansible"),
    "docs/how-to/move-from-kopf.md": _nothing,
    "docs/how-to/move-from-operator-sdk.md": _go_from_sdk,
    "docs/how-to/move-helm-operator.md": _watched("helm"),
    "docs/how-to/move-from-opm.md": _from_opm,
    "docs/how-to/operator-in-60-lines.md": _sixty_lines,
    "docs/how-to/push-images.md": _push,
    "docs/how-to/run-the-scorecard.md": _scorecard,
    "docs/how-to/serve-a-catalog.md": _serve,
    "docs/how-to/show-a-catalog.md": _show,
    "docs/how-to/submit-an-operator.md": _submit,
    "docs/on-a-real-cluster.md": _real_cluster,
    "docs/tutorial.md": _tutorial,
}


def reason(page: str, line: str) -> str:
    """Return why that line of the page is not run, or an empty string."""
    found = LEFT_OUT.get(page, {})
    fitting = [why for start, why in found.items() if line.startswith(start)]
    return fitting[0] if fitting else ""


# Pages that need servers: a registry, or those that the page starts.
SERVED = frozenset(
    {
        "README.md",
        "docs/how-to/compare-bundles.md",
        "docs/how-to/make-a-catalog.md",
        "docs/how-to/mirror-a-catalog.md",
        "docs/how-to/move-from-opm.md",
        "docs/how-to/push-images.md",
        "docs/how-to/run-the-scorecard.md",
        "docs/how-to/serve-a-catalog.md",
        "docs/how-to/show-a-catalog.md",
        "docs/how-to/submit-an-operator.md",
        "docs/on-a-real-cluster.md",
        "docs/tutorial.md",
    }
)


@contextmanager
def serving(place: Place, line: str) -> Iterator[None]:
    """A server that a line starts; it is ready, and ends without an error."""
    process = place.reader.start(line, variables=place.variables)
    printed: list[str] = []
    ready = threading.Event()

    def read() -> None:
        for text in process.stdout:
            printed.append(text)
            if "serving" in text:
                ready.set()
        ready.set()

    reading = threading.Thread(target=read)
    reading.start()
    try:
        assert ready.wait(300), f"{line} does not serve"
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(300)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
        reading.join()
        process.stdout.close()
    assert code == 0, "".join(printed)
    assert any("serving" in text for text in printed), "".join(printed)


def here(place: Place, text: str) -> str:
    """Return the line with the registries, ports and directories of this test."""
    found = {name: there.format(host=place.host) for name, there in REGISTRIES.items()}
    found["REF"] = f"{place.host}/example/ref:v1"
    for name, there in {**found, **place.names}.items():
        text = re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", lambda _, to=there: to, text)
    return text


def is_printed(expected: str, said: str) -> bool:
    """Return whether a line of the page was printed; `…` matches anything."""
    pattern = ".*".join(map(re.escape, expected.split("…")))
    return re.search(rf"^{pattern}$", said, re.MULTILINE) is not None


def walk(page: str, place: Place) -> None:
    """Follow a page from its first to its last line; each line must have its effect and output."""
    WALKED[page](place)
    for block in blocks_of(place.root / page, place.root):
        with ExitStack() as servers:
            for statement in block.statements() if block.language in TYPED else []:
                if not reason(page, statement.text):
                    _follow(page, place, statement, servers)
    assert not any(place.before.values()), "a step that no line of the page needs"


def _follow(page: str, place: Place, statement: Statement, servers: ExitStack) -> None:
    for start, steps in place.before.items():
        if statement.text.startswith(start) and steps:
            steps.pop(0)()
    line = here(place, statement.text)
    if SERVERS.match(f"{line} "):
        servers.enter_context(serving(place, line))
        return
    wanted = [
        code
        for (where, start), code in EXITS.items()
        if where == page and statement.text.startswith(start)
    ]
    said = place.reader.run(line, variables=place.variables, code=wanted[0] if wanted else 0)
    for expected in statement.printed:
        assert is_printed(here(place, expected), said), f"{expected}\nis not in\n{said}"
