"""The reference pages of the public packages, generated from their sources.

The sources are read, not imported: the pages are the same with every release of Python and
with any installed optional libraries. `make docs` writes the pages.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = "docs/reference"
_NOTE: Final = "Generated from the sources by `make docs`; do not edit."
_LINE: Final = 92

RUNTIME: Final = """\
Authors of operators import only these names, and `olmkit.testing` in tests. Names that are not on
this page can change in any release. [How the runtime works](../explanation/runtime.md) explains how
the parts work together."""

TESTING: Final = """\
The tests of an operator import these names: a Kubernetes API and a registry on loopback, a real
control plane, a clock, and the permissions that an operator uses.
[Run and test an operator](../how-to/test-an-operator.md) has examples."""

# The topic of a module, as the heading of its names. A test finds modules without one.
TOPICS: Final[Mapping[str, tuple[str, ...]]] = {
    "Kinds and objects": (
        "olmkit.kube.objects",
        "olmkit.runtime.kinds",
        "olmkit.runtime.typed",
        "olmkit.kube.labels",
        "olmkit.runtime.watch.snapshot",
    ),
    "Owners, conditions, finalizers, names": (
        "olmkit.kube.owners",
        "olmkit.kube.conditions",
        "olmkit.kube.finalizers",
        "olmkit.base.names",
    ),
    "Reconcilers": (
        "olmkit.runtime.work.reconcile",
        "olmkit.runtime.work.object_reconciler",
        "olmkit.runtime.work.finalize",
        "olmkit.runtime.work.blocking",
    ),
    "The client": (
        "olmkit.runtime.client",
        "olmkit.runtime.manifests.manifest_client",
        "olmkit.runtime.direct.subresources",
        "olmkit.runtime.direct.following",
        "olmkit.runtime.direct.pods",
        "olmkit.runtime.children",
        "olmkit.kube.api",
        "olmkit.edges.cluster.client",
        "olmkit.edges.cluster.kubeconfig",
        "olmkit.runtime.events",
    ),
    "Controllers": (
        "olmkit.runtime.work.builder",
        "olmkit.runtime.work.controller",
        "olmkit.runtime.work.workqueue",
    ),
    "Watches": (
        "olmkit.runtime.watch.source",
        "olmkit.runtime.watch.handler",
        "olmkit.runtime.watch.predicate",
        "olmkit.runtime.watch.cache",
        "olmkit.runtime.watch.scope",
        "olmkit.runtime.watch.transforms",
    ),
    "The process": (
        "olmkit.runtime.process",
        "olmkit.runtime.flags",
        "olmkit.runtime.manager",
        "olmkit.runtime.lead.leader",
        "olmkit.runtime.metrics",
        "olmkit.runtime.traces",
        "olmkit.base.diagnostics",
    ),
    "Webhooks": (
        "olmkit.runtime.serve.webhook",
        "olmkit.runtime.serve.webhook_admission",
        "olmkit.runtime.serve.webhook_conversion",
        "olmkit.runtime.serve.self_signed",
    ),
    "A Kubernetes API on loopback": (
        "olmkit.testing.apiserver.server",
        "olmkit.testing.apiserver.refusals",
        "olmkit.testing.apiserver.kinds.built_in_kinds",
        "olmkit.testing.clients",
    ),
    "A real control plane": ("olmkit.testing.control_plane", "olmkit.testing.installing"),
    "Operators in tasks": ("olmkit.testing.tasks", "olmkit.testing.waiting"),
    "Types of fixtures": ("olmkit.testing.fixture_types",),
    "Conversions": ("olmkit.testing.conversions",),
    "Permissions": ("olmkit.testing.rbac",),
    "Time, faults and registries": (
        "olmkit.testing.clock",
        "olmkit.testing.faults",
        "olmkit.testing.registry",
    ),
}


# Modules with the base classes of a public class.
LAYERS: Final = frozenset(
    {
        "olmkit.runtime.manifests.manifest_client",
        "olmkit.runtime.manifests.manifest_reader",
        "olmkit.runtime.direct.subresources",
        "olmkit.runtime.direct.following",
    }
)


LIBRARY: Final = """\
You can call every function of olmkit's commands from Python, at three levels:

- **Short calls**, exported by `olmkit.jobs`: a common task in one line, with the defaults of the
  command line.
- **Jobs**, the modules in `olmkit.jobs`: one function for each task. A job takes its options and
  its ports as arguments, returns a value, never prints and never exits the process. Jobs that need
  a registry or a cluster are coroutines.
- **The middle**: pure functions, without disk, network or clock.

Errors are `OlmkitError`s: `InputError` for invalid input, `ConfigurationError` for invalid usage,
`RemoteError` for an error of a registry, a cluster or the disk. Findings are `Diagnostic`s. Names
that are not on this page can change in any release.
[Use olmkit as a library](../how-to/use-as-a-library.md) has example programs."""

# The public jobs, by topic.
JOBS: Final[Mapping[str, tuple[str, ...]]] = {
    "Projects": ("scaffold", "generate", "overlay", "run"),
    "Bundles": ("generate", "image_digests", "validate", "facts", "fix", "build"),
    "Catalogs": (
        *("catalogs", "render", "add", "upgrades.check", "mirroring.filter", "mirroring.images"),
        *("mirroring.mirror", "upgrades.path", "upgrades.resolve", "cluster_catalog", "image"),
        "serving.serve",
    ),
    "Images": ("build", "publish", "copy", "signatures"),
    "Clusters": ("bundle", "deploy", "olm", "operands", "read", "status", "wait"),
    "OLM v0": ("install", "upgrade", "uninstall", "retry"),
    "OLM v1": ("install", "upgrade", "uninstall", "why", "state"),
}
_FOLDERS: Final = {
    "Projects": "project",
    "Bundles": "bundle",
    "Catalogs": "catalog",
    "Images": "image",
    "Clusters": "cluster",
    "OLM v0": "cluster_v0",
    "OLM v1": "cluster_v1",
}

# Public values, the ports, and the functions that jobs consist of.
MIDDLE: Final[Mapping[str, tuple[str, ...]]] = {
    "Values": (
        "olmkit.base.tree",
        "olmkit.base.documents",
        "olmkit.base.document_errors",
        "olmkit.base.versions",
        "olmkit.base.findings",
        "olmkit.oci.reference",
        "olmkit.oci.image",
    ),
    "Ports": ("olmkit.oci.store", "olmkit.kube.api"),
    "Functions": (
        "olmkit.bundle.layout",
        "olmkit.bundle.generation.collect",
        "olmkit.bundle.generation.generate_request",
        "olmkit.bundle.generation.origins",
        "olmkit.bundle.generation.generate",
        "olmkit.catalog.blobs.fbc",
        "olmkit.catalog.bundles.render",
        "olmkit.catalog.model",
        "olmkit.catalog.selection",
        "olmkit.catalog.graph.upgrades",
        "olmkit.rules.engine",
        "olmkit.rules.codes",
        "olmkit.olm.resolver.resolution",
        "olmkit.olm.resolver.solve",
        "olmkit.olm.resolver.v1",
    ),
}


class Name(NamedTuple):
    """A public name: its module, and its documentation."""

    name: str
    module: str
    source: str
    doc: str
    members: tuple[Name, ...] = ()

    @property
    def summary(self) -> str:
        return " ".join(self.doc.split("\n\n")[0].split())


def exported(package: str) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return the names that a package with lazy exports has, by module, and whole modules."""
    tables = {
        node.targets[0].id: ast.literal_eval(node.value)
        for node in _parsed(package).body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id in ("_NAMES", "_MODULES")
    }
    return tables["_NAMES"], tables.get("_MODULES", {})


def names(package: str) -> Iterator[Name]:
    """Return every public name of a package, by topic."""
    by_module, modules = exported(package)
    whole = {full: name for name, full in modules.items()}
    for module in ordered({*by_module, *whole}):
        for name in by_module.get(module, ()):
            yield described(module, name)
        if module in whole:
            yield Name(whole[module], module, "", module_doc(module), tuple(public(module)))


def ordered(modules: Iterable[str]) -> list[str]:
    """Return modules in the order of their topics; `KeyError` for one without a topic."""
    order = [module for members in TOPICS.values() for module in members]
    places = {module: at for at, module in enumerate(order)}
    return sorted(modules, key=lambda module: places[module])


def module_doc(module: str) -> str:
    return ast.get_docstring(_parsed(module)) or ""


def public(module: str) -> Iterator[Name]:
    """Return the public names that a module defines, in the order of its source."""
    for node in _parsed(module).body:
        name = _defined(node)
        if name and not name.startswith("_"):
            yield described(module, name)


def described(module: str, name: str) -> Name:
    """Return a name of a module; `KeyError` if the module does not define it."""
    body = _parsed(module).body
    for at, node in enumerate(body):
        if _defined(node) != name:
            continue
        if isinstance(node, ast.ClassDef):
            doc = ast.get_docstring(node) or ""
            members = [*_members(module, node), *_inherited(module, node)]
            return Name(name, module, _class(node), doc, tuple(members))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            return Name(name, module, _function(node), ast.get_docstring(node) or "")
        return Name(name, module, _assigned(node), _text_after(body, at))
    for node in body:  # a name that the module imports
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return described(node.module, alias.name)
    raise KeyError(f"{module}.{name}")


def _inherited(module: str, node: ast.ClassDef) -> Iterator[Name]:
    """Return the members of a class and of its bases in the runtime, each name once."""
    seen = {_defined(one) for one in node.body}
    for base in node.bases:
        try:
            found = described(module, _text(base))
        except (KeyError, FileNotFoundError):
            continue  # a class of a library
        if found.module not in LAYERS:
            continue
        for member in found.members:
            if member.name not in seen:
                seen.add(member.name)
                yield member


@functools.cache
def _parsed(module: str) -> ast.Module:
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    text = file.read_text()
    tree = ast.parse(text)
    for node in ast.walk(tree):
        _SOURCES[node] = text
    return tree


_SOURCES: Final[dict[ast.AST, str]] = {}


def _text(node: ast.AST) -> str:
    """Return the source of a node, on one line."""
    found = ast.get_source_segment(_SOURCES[node], node) or ""
    if "\n" not in found:
        return found
    return re.sub(r"'([^'\"\\]*)'", r'"\1"', ast.unparse(node))


def _defined(node: ast.stmt) -> str:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and any(
        isinstance(each, ast.Name) and each.id == "overload" for each in node.decorator_list
    ):
        return ""  # the definition after it has the text
    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return ""


def _assigned(node: ast.stmt) -> str:
    """Return an assignment; a long value is omitted, since the text after it describes it."""
    text = _text(node)
    return text if len(text) <= _LINE else text.split(" = ")[0] + " = …"


def _text_after(body: list[ast.stmt], at: int) -> str:
    """Return the string that follows an assignment and documents it."""
    after = body[at + 1] if at + 1 < len(body) else None
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        return inspect.cleandoc(str(after.value.value))
    return ""


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the signature of a function, with one argument per line if it is long."""
    prefix = "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    arguments = _without_self(node)
    returns = f" -> {_text(node.returns)}" if node.returns else ""
    line = f"{prefix}{node.name}({', '.join(_each(arguments))}){returns}"
    if len(line) <= _LINE:
        return line
    inner = "".join(f"    {one},\n" for one in _each(arguments))
    return f"{prefix}{node.name}(\n{inner}){returns}"


def _without_self(node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.arguments:
    first = node.args.args[0].arg if node.args.args else ""
    if first not in ("self", "cls"):
        return node.args
    # A property has no arguments then, and a method those that its callers pass.
    return ast.arguments(
        posonlyargs=node.args.posonlyargs,
        args=node.args.args[1:],
        vararg=node.args.vararg,
        kwonlyargs=node.args.kwonlyargs,
        kw_defaults=node.args.kw_defaults,
        kwarg=node.args.kwarg,
        defaults=node.args.defaults,
    )


def _each(arguments: ast.arguments) -> Iterator[str]:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    for at, (one, default) in enumerate(zip(positional, defaults, strict=True)):
        yield _argument(one, default)
        if arguments.posonlyargs and at == len(arguments.posonlyargs) - 1:
            yield "/"
    if arguments.vararg:
        yield "*" + _text(arguments.vararg)
    elif arguments.kwonlyargs:
        yield "*"
    for one, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _argument(one, default)
    if arguments.kwarg:
        yield "**" + _text(arguments.kwarg)


def _argument(one: ast.arg, default: ast.expr | None) -> str:
    text = _text(one)
    return text if default is None else f"{text} = {_text(default)}"


def _class(node: ast.ClassDef) -> str:
    """Return the head of a class with its fields; keywords such as `frozen` are omitted."""
    decorators = [
        "@" + _text(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list
    ]
    bases = ", ".join(_text(base) for base in node.bases)
    head = f"class {node.name}({bases})" if bases else f"class {node.name}"
    fields = [f"    {text}" for text in _fields(node)]
    return "\n".join([*decorators, head + (":" if fields else ""), *fields])


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for one in node.body:
        name = _defined(one)
        if not name or name.startswith("_"):
            continue
        if isinstance(one, ast.AnnAssign):
            text = _text(one)
            yield text if len(text) <= _LINE else f"{name}: {_text(one.annotation)} = …"
        elif isinstance(one, ast.Assign) and any("Enum" in _text(b) for b in node.bases):
            yield _text(one)


def _members(module: str, node: ast.ClassDef) -> Iterator[Name]:
    for one in node.body:
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        decorators = [_text(each) for each in one.decorator_list]
        is_shown = one.name == "__init__" or not one.name.startswith("_")
        if not is_shown or "overload" in decorators:
            continue
        doc = ast.get_docstring(one) or ""
        marks = "".join(
            f"@{mark}\n"
            for mark in decorators
            if mark in ("property", "classmethod", "staticmethod")
        )
        yield Name(one.name, module, marks + _function(one), doc)


def page(title: str, package: str, text: str) -> str:
    """Return the page of a package: an index, then each name with its source and docstring."""
    known = {name.name: name for name in names(package)}
    modules = {name.module for name in known.values()}
    anchors = anchors_of(name for m in TOPICS.values() for name in known if known[name].module in m)
    lines = [f"# {title}", "", _NOTE, "", text]
    for topic, members in TOPICS.items():
        shown = [name for name in known.values() if name.module in members]
        if not modules & set(members):
            continue
        lines += ["", f"## {topic}", "", *table(shown, anchors)]
        for name in shown:
            lines += ["", *entry(name, package)]
    return "\n".join(lines) + "\n"


def job_modules() -> list[str]:
    """Return the full names of all modules with public jobs."""
    return [f"olmkit.jobs.{_FOLDERS[topic]}.{one}" for topic, all_ in JOBS.items() for one in all_]


def library_page() -> str:
    """Return the page of `olmkit.jobs`: the short calls, the jobs, the middle."""
    by_module, _ = exported("olmkit.jobs")
    short = list(described_all("olmkit.jobs.short_calls", by_module))
    values = [
        name
        for module in by_module
        if module != "olmkit.jobs.short_calls"
        for name in described_all(module, by_module)
    ]
    lines = ["# `olmkit.jobs`", "", _NOTE, "", LIBRARY, "", "## Short calls", ""]
    lines += ["```python", "from olmkit import jobs", "```", "", *table(short, {})]
    for name in short:
        lines += ["", *entry(name, "olmkit.jobs")]
    lines += ["", "## Values of `olmkit.jobs`", "", *table(values, {})]
    for name in values:
        lines += ["", *entry(name, "olmkit.jobs")]
    seen: set[Name] = set()
    for topic, modules in JOBS.items():
        lines += ["", f"## Jobs: {topic}"]
        for module in modules:
            lines += ["", *module_entry(f"olmkit.jobs.{_FOLDERS[topic]}.{module}", seen)]
    for topic, modules in MIDDLE.items():
        lines += ["", f"## The middle: {topic.lower()}"]
        for module in modules:
            lines += ["", *module_entry(module, seen)]
    return "\n".join(lines) + "\n"


def described_all(module: str, by_module: Mapping[str, Iterable[str]]) -> Iterator[Name]:
    return (described(module, name) for name in by_module[module])


def module_entry(module: str, seen: set[Name]) -> list[str]:
    """Return a whole module: its docstring, the sources of its names, a row for each.

    `seen` are types of other modules whose sources the page has already.
    """
    shown = [name for name in public(module) if name.doc]  # constants without a text are omitted
    used = used_types(module, shown)
    imports = "\n".join(sorted(f"from {one.module} import {one.name}" for one in used))
    sources = "\n\n\n".join(one.source for one in (*used, *shown) if one not in seen)
    seen.update(used)
    code = f"{imports}\n\n\n{sources}" if imports else sources
    lines = [f"### `{module}`", "", module_doc(module), "", *block(code), ""]
    lines += ["| name | what it is |", "| --- | --- |"]
    lines += [f"| `{one.name}` | {cell(one)} |" for one in shown]
    lines += [f"| `{one.name}`, of `{one.module}` | {cell(one)} |" for one in used]
    return lines


@functools.cache
def documented() -> frozenset[str]:
    """Return the names that the page describes with their modules."""
    by_module, _ = exported("olmkit.jobs")
    modules = (*job_modules(), *(one for all_ in MIDDLE.values() for one in all_))
    own = {name.name for module in modules for name in public(module)}
    return frozenset({name for all_ in by_module.values() for name in all_} | own)


def used_types(module: str, shown: Iterable[Name]) -> list[Name]:
    """Return classes and enumerations of other modules that callers of `shown` construct."""
    words = set(re.findall(r"\w+", " ".join(one.source for one in shown)))
    found = []
    for node in ast.walk(_parsed(module)):
        if not (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("olmkit.")):
            continue
        for alias in node.names:
            if alias.asname is not None or alias.name not in words - documented():
                continue
            try:
                one = described(str(node.module), alias.name)
            except (KeyError, FileNotFoundError):
                continue  # a module
            if one.source.startswith("@dataclass") or "(StrEnum)" in one.source:
                found += [*_bases(one), one]
    return sorted(set(found))


def _bases(name: Name) -> Iterator[Name]:
    """Return the data classes that a data class extends."""
    for base in re.findall(r"^class \w+\((\w+)\)", name.source, re.MULTILINE):
        try:
            one = described(name.module, base)
        except (KeyError, FileNotFoundError):
            continue
        if one.source.startswith("@dataclass"):
            yield one


def table(shown: Iterable[Name], anchors: Mapping[str, str]) -> list[str]:
    """Return a row for each name, with the first paragraph of its docstring."""
    rows = [
        f"| [`{one.name}`](#{anchors.get(one.name, one.name.lower())}) | {cell(one)} |"
        for one in shown
    ]
    return ["| name | what it is |", "| --- | --- |", *rows]


def cell(name: Name) -> str:
    """Return the first paragraph of a docstring in a table."""
    return name.summary.replace("|", "\\|")


def anchors_of(headings: Iterable[str]) -> dict[str, str]:
    """Return the anchors that GitHub gives to headings: lower case, numbered if equal."""
    seen: dict[str, int] = {}
    found = {}
    for heading in headings:
        count = seen.setdefault(heading.lower(), 0)
        found[heading] = heading.lower() + (f"-{count}" if count else "")
        seen[heading.lower()] = count + 1
    return found


def entry(name: Name, package: str) -> list[str]:
    """Return a name with its source, its docstring and its members."""
    lines = [f"### `{name.name}`", ""]
    if not name.source:  # a whole module
        lines += [name.doc, "", *block(f"from {package} import {name.name}")]
    else:
        lines += [*block(name.source), "", name.doc]
    for member in name.members:
        if name.source and member.name == "__init__" and not member.doc:
            lines += ["", *block(member.source)]
        else:
            lines += ["", *block(member.source), "", member.doc]
    while lines and not lines[-1]:
        lines.pop()
    return lines


def block(code: str) -> list[str]:
    return ["```python", textwrap.dedent(code), "```"]


def pages() -> dict[str, str]:
    """Return every page by its path in the repository."""
    return {
        f"{FOLDER}/runtime.md": page("`olmkit.runtime`", "olmkit.runtime", RUNTIME),
        f"{FOLDER}/testing.md": page("`olmkit.testing`", "olmkit.testing", TESTING),
        f"{FOLDER}/library.md": library_page(),
    }
