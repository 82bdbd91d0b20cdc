"""Python source text → packages, kinds, fields, their words and markers.

By syntax tree and tokens only: the user's code is never imported, so generating
needs none of its dependencies and runs none of its effects. Models of pydantic,
dataclasses, attrs and msgspec are recognised by base class or decorator.
"""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from olmkit.apis import docs, markers
from olmkit.apis.comments import Claim, Comments, Group
from olmkit.apis.findings import Findings
from olmkit.apis.marker_table import IGNORED_PREFIXES, REGISTRY, VALIDATION
from olmkit.apis.marker_values import MarkerError
from olmkit.apis.markers import Comment, Level, Marker
from olmkit.apis.model import (
    Choice,
    Declaration,
    Field,
    Named,
    NamedType,
    Package,
    Scalar,
    Sources,
    Struct,
    TypeExpression,
    Untyped,
)
from olmkit.apis.python_names import Module, Names, read_names
from olmkit.apis.python_types import Facts, TypeReader
from olmkit.base import names as base_names
from olmkit.base.diagnostics import Location
from olmkit.base.tree import Tree

# No module that people write is longer; a generated one is no API.
MAX_SOURCE_SIZE = 4 * 1024 * 1024

_OURS = ("olmkit", "olmkit.runtime", "olmkit.runtime.kinds")
_RESOURCE_BASES = frozenset(f"{module}.CustomResource" for module in _OURS)
_MODEL_BASES = _RESOURCE_BASES | {
    *(f"{module}.Model" for module in _OURS),
    "pydantic.BaseModel",
    "pydantic.main.BaseModel",
    "msgspec.Struct",
}
_MODEL_DECORATORS = frozenset(
    {
        "dataclasses.dataclass",
        "pydantic.dataclasses.dataclass",
        *(f"attrs.{name}" for name in ("define", "frozen", "mutable")),
        *(f"attr.{name}" for name in ("s", "define", "frozen", "mutable", "attrs", "dataclass")),
    }
)
_ENUM_BASES = {
    "enum.Enum": "",
    "enum.StrEnum": "string",
    "enum.IntEnum": "integer",
    "enum.ReprEnum": "",
}
_HARMLESS_BASES = frozenset(
    {"builtins.object", "abc.ABC", "typing.Protocol", "typing_extensions.Protocol"}
)
_KIND_FIELDS = {"api_version", "kind", "metadata"}


def read(tree: Tree, findings: Findings, *, prefix: str = "") -> Sources:
    """All `.py` files of a tree as one project's sources.

    `prefix` is put before paths in findings. What is wrong goes into `findings`;
    everything else is read all the same.
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
    names = Names(modules)
    readers = [
        _ModuleReader(module, comments[module.name], names, findings) for module in modules.values()
    ]
    for reader in readers:
        try:
            reader.read()
        except RecursionError:
            findings.add(
                "API001", "the source is nested too deep", Location(path=reader.module.path)
            )
    return _assemble(readers)


def module_name(path: str) -> str:
    """`src/a/b/__init__.py` → `a.b`."""
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
            f"the file is {len(data) / 1e6:.0f} MB large, more than the "
            f"{MAX_SOURCE_SIZE / 1e6:.0f} MB that are read",
            Location(path=shown),
        )
        return None
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = io.TextIOWrapper(io.BytesIO(data), encoding, newline=None).read()
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        findings.add(
            "API002",
            f"the file is no text: {error}",
            Location(path=shown),
            hint="save it as UTF-8",
        )
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # doubtful escapes are the author's affair
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


@dataclass(slots=True)
class _ModuleReader:
    """Reads one module: its declarations, and the markers that belong to its package."""

    module: Module
    comments: Comments
    names: Names
    findings: Findings
    declarations: list[Declaration] = field(default_factory=list)
    package_comments: list[Comment] = field(default_factory=list)
    package_markers: list[Marker] = field(default_factory=list)

    def read(self) -> None:
        self._read_body(self.module.tree.body, 0)
        self._read_rest()
        self.package_markers = self._markers(
            sorted(self.package_comments, key=lambda comment: comment.at.line or 0), Level.PACKAGE
        )

    def _read_body(self, body: list[ast.stmt], after: int) -> None:
        for statement in body:
            match statement:
                case ast.ClassDef():
                    self._read_class(statement, after)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._read_alias(statement, name, value, after)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    if self._dotted(statement.annotation).endswith(".TypeAlias"):
                        self._read_alias(statement, name, value, after, is_certain=True)
                case ast.If() | ast.Try():
                    self._read_body(statement.body, statement.lineno)
                case _:
                    if type(statement).__name__ == "TypeAlias":
                        self._read_type_statement(statement, after)
            after = statement.end_lineno or after

    def _dotted(self, expression: ast.expr) -> str:
        return self.names.dotted(self.module, expression)

    def _types(self) -> TypeReader:
        return TypeReader(self.module, self.names, self.findings)

    # Types that are no models

    def _read_type_statement(self, statement: ast.stmt, after: int) -> None:
        name, value = getattr(statement, "name", None), getattr(statement, "value", None)
        if isinstance(name, ast.Name) and isinstance(value, ast.expr):
            self._read_alias(statement, name.id, value, after, is_certain=True)

    def _read_alias(
        self,
        statement: ast.stmt,
        name: str,
        value: ast.expr,
        after: int,
        *,
        is_certain: bool = False,
    ) -> None:
        expression = value
        if isinstance(value, ast.Call):
            if not self._dotted(value.func).endswith(".NewType") or len(value.args) != 2:
                return
            expression = value.args[1]
        elif not is_certain and not self._looks_like_type(value):
            return
        claim = self.comments.claim(statement.lineno, after)
        self.declarations.append(
            NamedType(
                name=Named(self.module.name, name),
                at=self.module.at(statement),
                type=self._types().read(expression),
                doc=docs.clean(claim.doc()),
                markers=tuple(self._type_markers(claim)),
            )
        )

    def _looks_like_type(self, value: ast.expr) -> bool:
        """Whether `X = value` is meant as a type: `Annotated[…]`, `list[…]`, `Literal[…]`."""
        if not isinstance(value, ast.Subscript):
            return False
        head = self._dotted(value.value)
        return head.startswith(("typing.", "typing_extensions.")) or head in (
            "builtins.list",
            "builtins.dict",
        )

    # Classes

    def _read_class(self, node: ast.ClassDef, after: int) -> None:
        start = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        kind = self._class_kind(node)
        if kind == "":
            return  # its comments stay unclaimed, and so belong to the package
        claim = self.comments.claim(start, after, inner=range(start, node.lineno))
        found = [*self._type_markers(claim), *self._markers(self._opening(node), Level.TYPE)]
        doc = self._docstring(node)
        if doc is None:
            doc = docs.clean(claim.doc())
        name = Named(self.module.name, node.name)
        at = self.module.at(node)
        if kind == "enum":
            self.declarations.append(
                NamedType(
                    name=name, at=at, type=self._enumeration(node), doc=doc, markers=tuple(found)
                )
            )
            return
        fields = tuple(self._fields(node))
        self.declarations.append(
            Struct(
                name=name,
                at=at,
                doc=doc,
                markers=tuple(found),
                fields=fields,
                bases=tuple(self._bases(node)),
                is_kind=self._is_kind(node, fields),
            )
        )
        self._warn_dangling(node)

    def _class_kind(self, node: ast.ClassDef) -> str:
        """`model`, `enum`, or an empty text for a class of another sort."""
        if self._is_enum(node):
            return "enum"
        return "model" if _is_model(self.names, self.module, node) else ""

    def _is_enum(self, node: ast.ClassDef) -> bool:
        return any(self._dotted(base) in _ENUM_BASES for base in node.bases)

    def _is_kind(self, node: ast.ClassDef, fields: tuple[Field, ...]) -> bool:
        if _reaches(self.names, self.module, node, _RESOURCE_BASES):
            return True
        by_name = {one.name: one for one in fields}
        if not by_name.keys() >= _KIND_FIELDS:
            return False
        return str(getattr(by_name["metadata"].type, "name", "")) == "ObjectMeta"

    def _bases(self, node: ast.ClassDef) -> Iterator[Named]:
        for base in node.bases:
            dotted = self._dotted(base.value if isinstance(base, ast.Subscript) else base)
            if dotted in _MODEL_BASES | _HARMLESS_BASES:
                continue
            if dotted.endswith(".Generic") or isinstance(base, ast.Subscript):
                self.findings.add(
                    "API006",
                    "generic models have no form in a CRD",
                    self.module.at(base),
                    hint="write one model for each use",
                )
                continue
            declared = self.names.declared(dotted)
            if declared:
                yield declared
                continue
            self.findings.add(
                "API007",
                f"the base class `{ast.unparse(base)}` is not declared in the sources, "
                "so its fields are unknown",
                self.module.at(base),
                hint="declare it in the package, or write its fields out",
            )

    def _enumeration(self, node: ast.ClassDef) -> TypeExpression:
        bases = {self._dotted(base) for base in node.bases}
        kind = next((k for base, k in _ENUM_BASES.items() if base in bases and k), "")
        if "builtins.str" in bases:
            kind = "string"
        elif "builtins.int" in bases:
            kind = "integer"
        if not kind:
            self.findings.add(
                "API006",
                f"members of `{node.name}` are neither texts nor numbers",
                self.module.at(node),
                hint="derive it from `StrEnum` or `IntEnum`",
            )
            return Untyped()
        values = []
        reader = self._types()
        wanted = str if kind == "string" else int
        for statement in node.body:
            if not isinstance(statement, ast.Assign) or not isinstance(
                statement.targets[0], ast.Name
            ):
                continue
            name = statement.targets[0].id
            if name.startswith("_"):
                continue
            value = reader.literal(statement.value)
            if isinstance(statement.value, ast.Call) and kind == "string":
                is_auto = self._dotted(statement.value.func) == "enum.auto"
                value = name.lower() if is_auto and "enum.StrEnum" in bases else value
            if type(value) is not wanted:
                self.findings.add(
                    "API006",
                    f"the value of `{node.name}.{name}` cannot be read from the text",
                    self.module.at(statement.value),
                    hint=f"write {'a text' if kind == 'string' else 'an integer'}",
                )
                continue
            values.append(value)
        return Choice(Scalar(kind), tuple(dict.fromkeys(values)))

    # Fields

    def _fields(self, node: ast.ClassDef) -> Iterator[Field]:
        after = node.body[0].lineno - 1 if node.body else node.lineno
        if _is_text(node.body[0]):
            after = node.body[0].end_lineno or after
        else:
            # The header may have several lines; comments in it are no field's.
            after = max((base.end_lineno or 0 for base in node.bases), default=0)
            after = max(after, node.lineno)
        for index, statement in enumerate(node.body):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                following = node.body[index + 1] if index + 1 < len(node.body) else None
                found = self._field(statement, statement.target.id, following, after)
                if found:
                    yield found
            elif isinstance(statement, ast.Assign):
                self._warn_plain(statement)
            after = statement.end_lineno or after

    def _field(
        self, statement: ast.AnnAssign, name: str, following: ast.stmt | None, after: int
    ) -> Field | None:
        claim = self.comments.claim(statement.lineno, after)
        reader = self._types()
        if (
            name.startswith("_")
            or name == "model_config"
            or reader.is_skipped(statement.annotation)
        ):
            return None
        found = self._markers(
            [c for group in claim.groups() for c in group.markers(self.module.path)], Level.FIELD
        )
        facts = Facts()
        is_opaque = any(m.name == VALIDATION + "Schemaless" for m in found)
        own_findings = Findings() if is_opaque else self.findings
        reader.findings = own_findings
        kind = reader.read(statement.annotation, facts)
        reader.findings = self.findings
        if statement.value is not None:
            self._read_value(statement.value, reader, facts)
        if facts.is_excluded:
            return None
        if facts.constraints:
            kind = _constrained(kind, facts)
        return Field(
            name=name,
            json_name=facts.alias or base_names.lower_camel(name),
            type=kind,
            at=self.module.at(statement.target),
            is_optional=facts.is_optional,
            default=facts.default,
            doc=self._field_doc(following, facts, claim),
            title=facts.title,
            example=facts.example,
            markers=tuple(found),
        )

    def _read_value(self, value: ast.expr, reader: TypeReader, facts: Facts) -> None:
        if isinstance(value, ast.Call):
            before = len(facts.constraints)
            name = self._dotted(value.func)
            reader.metadata(value, facts)
            said_default = facts.is_optional or len(facts.constraints) > before
            is_field = name.rpartition(".")[2] in ("Field", "field", "ib")
            if not is_field and not said_default:
                facts.is_optional = True  # a computed default
            return
        facts.is_optional = True
        facts.default = reader.default(value)

    def _field_doc(self, following: ast.stmt | None, facts: Facts, claim: Claim) -> str:
        if following is not None and _is_text(following):
            return self._words(following)
        if facts.description:
            return docs.from_docstring(facts.description)
        return docs.clean(claim.doc())

    def _docstring(self, node: ast.ClassDef) -> str | None:
        return self._words(node.body[0]) if node.body and _is_text(node.body[0]) else None

    def _words(self, statement: ast.stmt) -> str:
        """The text of a docstring; markers in it are told of, since nobody reads them there."""
        text = statement.value.value  # type: ignore[attr-defined]
        for offset, line in enumerate(text.splitlines()):
            stripped = line.strip()
            if docs.is_marker_line(line) and REGISTRY.levels(stripped[1:]):
                at = Location(path=self.module.path, line=statement.lineno + offset)
                self.findings.add(
                    "API022",
                    f"`{stripped}` stands in a docstring, where markers are not read",
                    at,
                    hint="write it as a comment: `# " + stripped + "`",
                )
        return docs.from_docstring(text)

    def _warn_plain(self, statement: ast.Assign) -> None:
        for target in statement.targets:
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                if target.id == "model_config":
                    continue
                self.findings.add(
                    "API021",
                    f"`{target.id}` has no annotation and is no field of the API",
                    self.module.at(target),
                    hint=f"write `{target.id}: <type> = …`, or `ClassVar` to say so",
                )

    # Comments and markers

    def _opening(self, node: ast.ClassDef) -> list[Comment]:
        """Markers between the class line and its first statement, which belong to the type.

        Without a docstring, the groups that belong to the first statement are its own.
        """
        first = node.body[0]
        lines = range(node.lineno + 1, first.lineno)
        groups = [group for group in self.comments.groups if group.first in lines]
        if not _is_text(first):
            # The near group and the documentation of the first field: leave them to it.
            keep = 2 if groups and groups[-1].last == first.lineno - 1 else 1
            groups = groups[:-keep]
        return [c for group in groups for c in group.markers(self.module.path)]

    def _type_markers(self, claim: Claim) -> Iterator[Marker]:
        """Markers above a type; those of the near group that only a package knows go there."""
        path = self.module.path
        for comment in claim.near.markers(path) if claim.near else ():
            at_type = REGISTRY.find(comment.text, Level.TYPE)
            if at_type is None and REGISTRY.find(comment.text, Level.PACKAGE):
                self.package_comments.append(comment)
            else:
                yield from self._markers([comment], Level.TYPE)
        for group in claim.docs:
            yield from self._markers(group.markers(path), Level.TYPE)

    def _markers(self, found: Iterable[Comment], level: Level) -> list[Marker]:
        read_markers = (read_marker(comment, level, self.findings) for comment in found)
        return [marker for marker in read_markers if marker]

    def _warn_dangling(self, node: ast.ClassDef) -> None:
        """Groups inside a model that belong to no field: their markers are lost."""
        end = node.end_lineno or node.lineno
        inside = range(node.lineno + 1, end + 1)
        first = node.body[0].lineno
        methods = [m for m in node.body if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for group in self.comments.take(inside):
            if group.first < first and _is_text(node.body[0]):
                continue  # read as the type's own
            if any(group.first in range(m.lineno, (m.end_lineno or 0) + 1) for m in methods):
                continue
            self._warn_lost(group, "below no field")

    def _warn_lost(self, group: Group, where: str) -> None:
        for comment in group.markers(self.module.path):
            if REGISTRY.levels(comment.text):
                self.findings.add(
                    "API005",
                    f"`+{markers.marker_name(comment.text)}` stands {where} and is not read",
                    comment.at,
                    hint="put it directly above what it belongs to",
                )

    def _read_rest(self) -> None:
        """What no type claimed belongs to the package, except inside functions."""
        functions = [
            node
            for node in ast.walk(self.module.tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        for group in self.comments.unclaimed():
            if not any(_is_inside(group, function) for function in functions):
                self.package_comments.extend(group.markers(self.module.path))
        for line in self.comments.trailing:
            comment = line.marker(self.module.path)
            if comment and REGISTRY.levels(comment.text):
                self.findings.add(
                    "API005",
                    f"`+{markers.marker_name(comment.text)}` stands after code and is not read",
                    comment.at,
                    hint="put it on a line of its own, above",
                )


def read_marker(comment: Comment, level: Level, findings: Findings) -> Marker | None:
    """The marker that a comment is on a level; what is odd about it goes into `findings`."""
    definition = REGISTRY.find(comment.text, level)
    if definition:
        try:
            return markers.parse(comment, definition)
        except MarkerError as error:
            column = (comment.at.column or 1) + 1 + error.offset
            at = Location(
                path=comment.at.path,
                line=comment.at.line,
                column=column,
                end_line=comment.at.line,
                end_column=max(column + 1, comment.at.end_column or 0),
            )
            findings.add("API003", f"`+{definition.name}`: {error.message}", at, hint=error.hint)
            return None
    _warn_unknown(comment, level, findings)
    return None


def _warn_unknown(comment: Comment, level: Level, findings: Findings) -> None:
    name = markers.marker_name(comment.text)
    levels = REGISTRY.levels(comment.text)
    if levels:
        places = " or ".join(f"a {other}" for other in levels)
        hint = f"it belongs on {places}"
        if Level.PACKAGE in levels and level is Level.TYPE:
            hint += ": put a blank line between it and the class"
        findings.add("API005", f"`+{name}` says nothing on a {level}", comment.at, hint=hint)
        return
    if comment.text.startswith(IGNORED_PREFIXES) or not comment.text[:1].isalpha():
        return
    meant = REGISTRY.suggestion(comment.text)
    if not markers.is_ours(comment.text) and not meant:
        return
    last = name.rpartition(":")[2]
    hint = ""
    if meant:
        hint = f"did you mean `+{meant}`?"
    elif REGISTRY.find(VALIDATION + last[:1].upper() + last[1:], Level.FIELD):
        hint = f"did you mean `+{VALIDATION}{last[:1].upper()}{last[1:]}`?"
    elif REGISTRY.find(name + "=", level):
        hint = "it needs a value"
    findings.add("API004", f"`+{name}` is no marker that is known", comment.at, hint=hint)


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _is_inside(group: Group, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    if group.first <= function.lineno:
        return False
    return group.first <= (function.end_lineno or 0) or (
        # Comments after the last statement, still indented as the body is.
        group.lines[0].column > function.col_offset + 1
        and group.first <= (function.end_lineno or 0) + 1
    )


def _constrained(kind: TypeExpression, facts: Facts) -> TypeExpression:
    from olmkit.apis.model import Constrained

    return Constrained(kind, tuple(facts.constraints))


def _is_model(names: Names, module: Module, node: ast.ClassDef) -> bool:
    for decorator in node.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if names.dotted(module, call) in _MODEL_DECORATORS:
            return True
    if _reaches(names, module, node, _MODEL_BASES):
        return True
    return any(_is_model(names, *parent) for parent in _parents(names, module, node))


def _reaches(names: Names, module: Module, node: ast.ClassDef, wanted: frozenset[str]) -> bool:
    """Whether one of the bases, near or far, is one of `wanted`."""
    seen: set[tuple[str, str]] = set()
    waiting = [(module, node)]
    while waiting:
        owner, current = waiting.pop()
        if (owner.name, current.name) in seen:
            continue
        seen.add((owner.name, current.name))
        for base in current.bases:
            expression = base.value if isinstance(base, ast.Subscript) else base
            if names.dotted(owner, expression) in wanted:
                return True
        waiting.extend(_parents(names, owner, current))
    return False


def _parents(
    names: Names, module: Module, node: ast.ClassDef
) -> Iterator[tuple[Module, ast.ClassDef]]:
    for base in node.bases:
        expression = base.value if isinstance(base, ast.Subscript) else base
        declared = names.declared(names.dotted(module, expression))
        if declared and declared != Named(module.name, node.name):
            parent = names.modules[declared.module]
            if declared.name in parent.classes:
                yield parent, parent.classes[declared.name]


# Packages


def _assemble(readers: list[_ModuleReader]) -> Sources:
    declared: dict[Named, Declaration] = {}
    package_of: dict[Named, Package] = {}
    packages: list[Package] = []
    for name, members in sorted(_by_package(readers).items()):
        found = [marker for member in members for marker in member.package_markers]
        own = [d for member in members for d in member.declarations]
        package = _package(name, members[0], found, own)
        packages.append(package)
        for declaration in own:
            declared[declaration.name] = declaration
            package_of[declaration.name] = package
    return Sources(packages=tuple(packages), declarations=declared, package_of=package_of)


def _by_package(readers: list[_ModuleReader]) -> dict[str, list[_ModuleReader]]:
    """Modules of one folder are one package, unless a module names its own group."""
    folders = {
        reader.module.name for reader in readers if reader.module.is_package and _says_group(reader)
    }
    found: dict[str, list[_ModuleReader]] = {}
    for reader in readers:
        name = reader.module.name
        folder = name if reader.module.is_package else name.rpartition(".")[0]
        is_alone = _says_group(reader) and folder not in folders
        found.setdefault(name if is_alone else folder, []).append(reader)
    return found


def _says_group(reader: _ModuleReader) -> bool:
    return any(marker.name == "groupName" for marker in reader.package_markers)


def _package(
    name: str, first: _ModuleReader, found: list[Marker], declarations: list[Declaration]
) -> Package:
    group = next((m.value for m in found if m.name == "groupName"), None)
    version = next((m.value for m in found if m.name == "versionName"), "")
    if not version:
        *rest, last = name.split(".")
        is_version = base_names.kube_version_key(last)[0] == 0
        alone = not first.module.is_package and first.module.name == name
        version = rest[-1] if alone and not is_version and rest else last
    at = next((m.at for m in found if m.name == "groupName"), Location(path=first.module.path))
    return Package(
        module=name,
        at=at,
        group=group,
        version=version,
        markers=tuple(found),
        is_skipped=any(m.name == "kubebuilder:skip" for m in found),
        optional_by_default=any(m.name == VALIDATION + "Optional" for m in found),
        declarations=tuple(declarations),
    )
