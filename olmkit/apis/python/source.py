"""Python source text → packages, kinds, fields, descriptions and markers.

Only the syntax tree and tokens are used: the user's code is never imported, so generating needs
none of its dependencies and has none of its side effects.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings

from olmkit.apis import import_cycles
from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Marker, is_ours
from olmkit.apis.markers.table import REGISTRY, VALIDATION
from olmkit.apis.model import ApiPackage, Declaration, Named, Sources, Struct
from olmkit.apis.python import aliases, bases, field_constraints, import_order, type_names
from olmkit.apis.python.classes import ModuleReader
from olmkit.apis.python.comments import Comments
from olmkit.apis.python.names import Module, Names, read_names
from olmkit.base import names as base_names
from olmkit.base.diagnostics import Location
from olmkit.base.tree import Tree

# No hand-written module is longer; a generated one is not an API.
MAX_SOURCE_SIZE = 4 * 1024 * 1024

_KNOWN = bases.KNOWN | field_constraints.KNOWN | aliases.KNOWN | type_names.KNOWN


def read(tree: Tree, findings: Findings, *, prefix: str = "") -> Sources:
    """Return all `.py` files of a tree as the sources of one project.

    `prefix` is added before paths in findings. Errors are added to `findings`; everything else is
    still read.
    """
    modules: dict[str, Module] = {}
    comments: dict[str, Comments] = {}
    for path in tree:
        if path.endswith(".py"):
            parsed = _parse(tree.data(path), path, prefix, findings)
            if parsed:
                module, module_comments = parsed
                modules[module.name] = module
                comments[module.name] = module_comments
    for module in modules.values():
        read_names(module)
    import_cycles.check(import_order.early_imports(modules), findings)
    names = Names(modules, _KNOWN)
    readers = [
        ModuleReader(module, comments[module.name], names, findings) for module in modules.values()
    ]
    for reader in readers:
        try:
            reader.read()
        except RecursionError:
            findings.add(
                "API001", "the source is nested too deep", Location(path=reader.module.path)
            )
        _warn_without_plus(reader.module, comments[reader.module.name], findings)
    sources = _assemble(readers)
    used = sources.used()
    for reader in readers:
        reader.check_gvks(sources.package_of)
        for name, type_findings in reader.type_findings.items():
            # Aliases, and models next to a reconciler, are not part of the API, and may have any
            # content.
            is_model = isinstance(sources.get(name), Struct)
            if name in used or (is_model and sources.package_of[name].group is not None):
                findings.items += [one for one in type_findings if one not in findings.items]
    return sources


def _warn_without_plus(module: Module, comments: Comments, findings: Findings) -> None:
    for group in comments.groups:
        for line in group.lines:
            text = line.words().strip()
            if not is_ours(text) or not REGISTRY.levels(text):
                continue
            column = line.column + 1 + line.text.index(text[0])
            at = Location(module.path, line.line, column, line.line, column + len(text))
            name = REGISTRY.name(text)
            message = f"`{name}` is not a marker"
            findings.add("API004", message, at, hint=f"write `+{name}`, with a plus sign")


def module_name(path: str) -> str:
    """Return the module name of a path: `src/a/b/__init__.py` → `a.b`."""
    parts = path.removesuffix(".py").split("/")
    if parts[-1] == "__init__":
        parts.pop()
    if parts and parts[0] == "src":
        parts.pop(0)
    return ".".join(parts)


def _parse(
    data: bytes, path: str, prefix: str, findings: Findings
) -> tuple[Module, Comments] | None:
    shown = prefix + path
    if len(data) > MAX_SOURCE_SIZE:
        findings.add(
            "API002",
            f"the file is {len(data) / 1e6:.0f} MB; the limit is {MAX_SOURCE_SIZE / 1e6:.0f} MB",
            Location(path=shown),
        )
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = io.TextIOWrapper(io.BytesIO(data), encoding, newline=None).read()
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        findings.add(
            "API002",
            f"the file is not UTF-8 text: {error}",
            Location(path=shown),
            hint="save it as UTF-8",
        )
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes are not checked here
            parsed = ast.parse(text)
        comments = Comments(text)
    except SyntaxError as error:
        at = Location(path=shown, line=error.lineno or 1, column=max(error.offset or 1, 1))
        findings.add("API001", f"the source cannot be parsed: {error.msg}", at)
        return None
    except (ValueError, RecursionError, MemoryError, tokenize.TokenError) as error:
        reason = str(error) or "it is nested too deep"
        findings.add("API001", f"the source cannot be parsed: {reason}", Location(path=shown))
        return None
    is_package = path.rpartition("/")[2] == "__init__.py"
    module = Module(module_name(path), shown, text, parsed, is_package)
    return module, comments


def _assemble(readers: list[ModuleReader]) -> Sources:
    declared: dict[Named, Declaration] = {}
    package_of: dict[Named, ApiPackage] = {}
    packages: list[ApiPackage] = []
    for name, members in sorted(_by_package(readers).items()):
        found = [marker for member in members for marker in member.package_markers]
        own = [d for member in members for d in member.declarations]
        package = _package(name, members[0], found, own)
        packages.append(package)
        for declaration in own:
            declared[declaration.name] = declaration
            package_of[declaration.name] = package
    return Sources(packages=tuple(packages), declarations=declared, package_of=package_of)


def _by_package(readers: list[ModuleReader]) -> dict[str, list[ModuleReader]]:
    """Group modules by folder into packages, unless a module names its own group."""
    folders = {
        reader.module.name for reader in readers if reader.module.is_package and _says_group(reader)
    }
    found: dict[str, list[ModuleReader]] = {}
    for reader in readers:
        name = reader.module.name
        folder = name if reader.module.is_package else name.rpartition(".")[0]
        is_alone = _says_group(reader) and folder not in folders
        found.setdefault(name if is_alone else folder, []).append(reader)
    return found


def _says_group(reader: ModuleReader) -> bool:
    return any(marker.name == "groupName" for marker in reader.package_markers)


def _package(
    name: str, first: ModuleReader, found: list[Marker], declarations: list[Declaration]
) -> ApiPackage:
    group = next((m.value for m in found if m.name == "groupName"), None)
    version = next((m.value for m in found if m.name == "versionName"), "")
    if not version:
        *rest, last = name.split(".")
        is_version = base_names.kube_version_key(last)[0] == 0
        alone = not first.module.is_package and first.module.name == name
        version = rest[-1] if alone and not is_version and rest else last
    at = next((m.at for m in found if m.name == "groupName"), Location(path=first.module.path))
    return ApiPackage(
        module=name,
        at=at,
        group=group,
        version=version,
        markers=tuple(found),
        is_skipped=any(m.name == "kubebuilder:skip" for m in found),
        optional_by_default=any(m.name == VALIDATION + "Optional" for m in found),
        declarations=tuple(declarations),
    )
