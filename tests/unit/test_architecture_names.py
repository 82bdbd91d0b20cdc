"""One name, one thing: a public class has a name that no other package uses.

Two classes share a name only if the field has one word for both and no module needs both. Each
such name is in the table, with the modules and the reason. The table has no other lines.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

_CATALOG_FORMS = (
    "a catalog as it is written (`blobs`) and what it means (`model`): the terms of OLM for both"
)
_ROWS = "a row of an index database, and a row of `catalog list`: both are named after their table"
_PAGES = "`hub.pages` has what a page shows; its classes are named after the part of the page"

# Name → the modules below `olmkit` that declare it, and the reason.
ALLOWED: dict[str, tuple[tuple[str, ...], str]] = {
    "Access": (
        ("edges.images.access_settings", "testing.rbac"),
        "public in `olmkit.jobs` and in `olmkit.testing`: to registries, and by RBAC",
    ),
    "Api": (
        ("catalog.bundles.source_apis", "hub.pages.operator_page", "project.config"),
        "what a CRD or an APIService serves: for OLM, on a page, in PROJECT",
    ),
    "Bundle": (("bundle.model", "catalog.blobs.records", "catalog.model"), _CATALOG_FORMS),
    "BundleRow": (("catalog.database.tables", "catalog.listing"), _ROWS),
    "CatalogImage": (
        ("catalog.images", "submission.catalogs"),
        "an image that a catalog names, with its roles or with its place in the repository",
    ),
    "Change": (
        ("base.tree", "runtime.children", "testing.apiserver.kinds.collection"),
        "public in `olmkit.jobs` and in `olmkit.runtime`: of files, and of child objects",
    ),
    "Channel": (("catalog.blobs.records", "catalog.model"), _CATALOG_FORMS),
    "ChannelRow": (("catalog.database.tables", "catalog.listing"), _ROWS),
    "Deprecation": (("catalog.blobs.records", "hub.pages.operator_page"), _PAGES),
    "Descriptor": (("hub.pages.operator_page", "oci.content"), "the term of CSVs, and that of OCI"),
    "Entry": (("catalog.blobs.records", "catalog.model", "hub.feeds"), _CATALOG_FORMS),
    "Fact": (("hub.package.comparison", "hub.pages.page_parts"), _PAGES),
    "Facts": (
        ("apis.python.field_constraints", "hub.package.comparison", "rules.engine"),
        "what is known of a field, of versions next to each other, and of the world of a check",
    ),
    "Fault": (
        ("catalog.blobs.properties", "testing.faults"),
        "public in `olmkit.testing`: what may happen to a request; the other is of a property",
    ),
    "Earlier": (
        ("hub.builds.build_record", "hub.news"),
        "what a hub keeps of its earlier build: files, and what its news report",
    ),
    "Field": (
        (
            "apis.model",
            "catalog.blobs.shapes",
            "catalog.changes.difference",
            "hub.pages.kind_pages",
            "hybrid.entries",
        ),
        "a field of a Go or Python type, of a blob, of a difference, of a page, of an entry",
    ),
    "Form": (
        ("edges.catalog.cache", "hybrid.entries", "submission.shapes"),
        "how a file is laid out, each for its own reader",
    ),
    "Funcs": (
        ("runtime.watch.handler", "runtime.watch.predicate"),
        "controller-runtime has the same name in both packages",
    ),
    "Group": (
        ("apis.python.comments", "runtime.manager"),
        "comments that belong together, and runnables that start together",
    ),
    "Image": (("hub.pages.operator_page", "oci.image"), _PAGES),
    "Kind": (
        ("catalog.changes.difference", "catalog.templates.source", "runtime.typed"),
        "public in `olmkit.runtime`: a Kubernetes kind; the others are kinds of one enumeration",
    ),
    "Line": (
        ("apis.python.comments", "catalog.serve.metas"),
        "a line of a source file, and of a stream of JSON lines",
    ),
    "Member": (
        ("catalog.blobs.typed_json", "catalog.changes.assembly"),
        "an item of a list of properties, and of a catalog that is put together",
    ),
    "Names": (
        ("apis.python.names", "project.scaffold.kinds"),
        "the names of a source file, and of the files of a new kind",
    ),
    "Operator": (
        ("runtime.process", "submission.operators"),
        "public in `olmkit.runtime`: the program; the other is its folder in a repository",
    ),
    "OwnerReference": (
        ("runtime.kinds", "runtime.watch.snapshot"),
        "the term of Kubernetes: as authors see it, and as the cache keeps it",
    ),
    "Package": (("catalog.blobs.records", "catalog.model"), _CATALOG_FORMS),
    "PackageRecord": (
        ("catalog.serve.registry_index", "hub.builds.build_record"),
        "what is kept of a package between two builds, of an index and of a hub",
    ),
    "PackageRow": (("catalog.database.tables", "catalog.listing"), _ROWS),
    "Part": (
        ("catalog.blobs.stream", "catalog.changes.filtering", "hub.package.package_parts"),
        "a part of a stream, of a package, of a site: each inside its own module",
    ),
    "Prepared": (
        ("jobs.catalog.serving.prepared_catalogs", "jobs.submission.prepare"),
        "the result of two commands named so: `serve` before it serves, `submission prepare`",
    ),
    "Profile": (
        ("rules.engine", "runtime.dump"),
        "a named set of rules, and samples of stacks: the field's word for both",
    ),
    "Property": (("catalog.blobs.properties", "catalog.blobs.records"), _CATALOG_FORMS),
    "Reference": (
        ("catalog.blobs.records", "oci.reference", "project.kustomize.fields"),
        "an image reference, a reference of OLM's deprecations, a name reference of kustomize",
    ),
    "RelatedImage": (
        ("catalog.blobs.outline", "catalog.blobs.records", "catalog.bundles.render"),
        _CATALOG_FORMS,
    ),
    "Resource": (
        ("kube.api", "project.kustomize.resources"),
        "public in `olmkit.runtime`: the term of Kubernetes; kustomize has the word for objects",
    ),
    "Rule": (("rules.engine", "testing.rbac"), "a check with a code, and a rule of RBAC"),
    "Selection": (
        ("catalog.selection", "testing.apiserver.kinds.collection"),
        "what a command selects of a catalog, and what a request selects of a collection",
    ),
    "Serving": (
        ("jobs.catalog.serving.settings", "jobs.hub.serve"),
        "what two commands named `serve` answer with",
    ),
    "Settings": (
        ("project.config", "submission.settings"),
        "the settings of a project, and of a repository of operators",
    ),
    "Source": (
        ("hub.builds.all_pages", "runtime.watch.source"),
        "a catalog of a hub; the other is the term of controller-runtime",
    ),
    "Store": (
        ("edges.catalog.cache", "runtime.watch.store"),
        "an open file of the cache of catalogs, and the store of an informer",
    ),
    "Target": (
        ("cli.frame.cluster_options", "jobs.project.generate", "submission.settings"),
        "what a command is about: a cluster, what to generate, where a repository publishes",
    ),
    "Watched": (
        ("jobs.image.watched", "runtime.direct.following"),
        "public in `olmkit.runtime`: an object of a watch; the other is a project with watches",
    ),
}


@pytest.fixture(scope="session")
def shared(root: Path) -> dict[str, tuple[str, ...]]:
    """Return the names of public classes that several modules declare."""
    found: dict[str, list[str]] = {}
    folder = root / "olmkit"
    for path in sorted(folder.rglob("*.py")):
        if "ansible_collections" in path.parts:
            continue  # plugins that Ansible loads, each a separate program
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        for one in ast.parse(path.read_text()).body:
            if isinstance(one, ast.ClassDef) and not one.name.startswith("_"):
                found.setdefault(one.name, []).append(module)
    return {name: tuple(sorted(in_)) for name, in_ in found.items() if len(in_) > 1}


def test_a_name_that_two_classes_share_is_in_the_table(shared: dict[str, tuple[str, ...]]) -> None:
    new = {
        name: modules
        for name, modules in shared.items()
        if name not in ALLOWED or not set(modules) <= set(ALLOWED[name][0])
    }
    assert not new, "name the class by the term of its field, or merge the two"


def test_the_table_has_no_unnecessary_line(shared: dict[str, tuple[str, ...]]) -> None:
    assert {name: modules for name, (modules, _) in ALLOWED.items()} == shared
    assert all(reason for _, reason in ALLOWED.values())


def test_no_module_imports_two_classes_with_one_name(root: Path) -> None:
    """The reason for which a shared name is allowed: a reader meets one of them at a time."""
    for path in sorted((root / "olmkit").rglob("*.py")):
        tree = ast.parse(path.read_text())
        own = {one.name for one in tree.body if isinstance(one, ast.ClassDef)}
        taken = [
            (one.name, item.module)
            for item in ast.walk(tree)
            if isinstance(item, ast.ImportFrom)
            for one in item.names
            if one.name in ALLOWED
            and (item.module or "").removeprefix("olmkit.") in ALLOWED[one.name][0]
        ]
        names = [name for name, _ in set(taken)] + [name for name in own if name in ALLOWED]
        twice = {name for name in names if names.count(name) > 1}
        assert not twice, f"{path.relative_to(root)}: {sorted(twice)}"
