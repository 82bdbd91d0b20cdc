"""Classes of a Python module → models, enumerations, named types.

Models of pydantic, dataclasses, attrs and msgspec are recognized by base class or decorator.
Comments that belong to no type belong to the package, except inside functions; a marker that
belongs to nothing is reported.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from olmkit.apis import docs
from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Comment, Marker, MarkerLevel
from olmkit.apis.model import (
    MISSING,
    ApiPackage,
    Choice,
    Declaration,
    Field,
    Named,
    NamedType,
    Scalar,
    Struct,
    TypeExpression,
    Untyped,
)
from olmkit.apis.python import annotations as python_annotations
from olmkit.apis.python import bases, type_names
from olmkit.apis.python import names as python_names
from olmkit.apis.python.annotations import TypeReader
from olmkit.apis.python.bases import Sort
from olmkit.apis.python.comments import Claim, Comments
from olmkit.apis.python.docstrings import is_docstring, read_docstring
from olmkit.apis.python.fields import FieldReader
from olmkit.apis.python.names import Module, Names
from olmkit.apis.python.source_markers import SourceMarkers
from olmkit.base.diagnostics import Diagnostic, Related

_OTHER_FORMS = ("tag", "tag_field", "array_like")
# Type cannot be expressed in a CRD, type is unknown, type is declared twice; metadata and
# defaults that do not reach the CRD.
_ABOUT_TYPES = frozenset({"API006", "API007", "API008", "API033", "API034"})
_KIND_FIELDS = {"api_version", "kind", "metadata"}


@dataclass(slots=True)
class ModuleReader:
    """Reads one module: its declarations, and the markers that belong to its package."""

    module: Module
    comments: Comments
    names: Names
    findings: Findings
    declarations: list[Declaration] = field(default_factory=list)
    package_comments: list[Comment] = field(default_factory=list)
    package_markers: list[Marker] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    type_findings: dict[Named, list[Diagnostic]] = field(default_factory=dict)
    """The errors in the types of a declaration, which matter only if a kind uses it."""
    gvks: dict[Named, ast.Call] = field(default_factory=dict)
    """The `gvk` of each kind, which the operator's process uses."""

    def check_gvks(self, package_of: Mapping[Named, ApiPackage]) -> None:
        """Report a kind whose `gvk` differs from that of its CRD."""
        for name, call in self.gvks.items():
            package = package_of[name]
            if package.group is None:
                continue  # it belongs to another operator, and no CRD is generated for it
            actual = {"group": package.group, "version": package.version, "kind": name.name}
            stated = [*zip(actual, call.args, strict=False)]
            stated += [(one.arg, one.value) for one in call.keywords if one.arg in actual]
            for key, value in stated:
                text = value.value if isinstance(value, ast.Constant) else None
                if not isinstance(text, str) or text == actual[key]:
                    continue
                owner = "class" if key == "kind" else "package"
                self.findings.add(
                    "API037",
                    f"the `gvk` of `{name.name}` has the {key} `{text}`, "
                    f"but its {owner} has `{actual[key]}`",
                    self.module.at(value),
                    hint=f"use the same {key} in both: the CRD has that of the {owner}",
                )

    def read(self) -> None:
        self.starts = sorted(
            node.lineno for node in ast.walk(self.module.tree) if isinstance(node, ast.stmt)
        )
        self._read_body(self.module.tree.body, 0)
        self._comment_markers().assign_rest()
        self.package_markers = self._comment_markers().read(
            sorted(self.package_comments, key=lambda comment: comment.at.line or 0),
            MarkerLevel.PACKAGE,
        )

    def _read_body(self, body: list[ast.stmt], after: int) -> None:
        for statement in body:
            match statement:
                case ast.ClassDef(name=name):
                    if name in self.module.classes:
                        self._read_class(statement, after)
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    self._read_alias(statement, name, value, after)
                case _:
                    if type(statement).__name__ == "TypeAlias":
                        self._read_type_statement(statement, after)
            inside = statement.lineno
            for block, _ in python_names.blocks(statement):
                self._read_body(block, inside)
                inside = max([inside, *(inner.end_lineno or 0 for inner in block[-1:])])
            after = statement.end_lineno or after

    def _dotted(self, expression: ast.expr) -> str:
        return self.names.dotted(self.module, expression)

    def _types(self) -> TypeReader:
        return TypeReader(self.module, self.names, self.findings)

    def _comment_markers(self) -> SourceMarkers:
        return SourceMarkers(
            self.module, self.comments, self.findings, self.package_comments, self.starts
        )

    def _field_reader(self) -> FieldReader:
        return FieldReader(
            self.module, self.comments, self.names, self.findings, self._comment_markers()
        )

    # Types that are not models

    def _read_type_statement(self, statement: ast.stmt, after: int) -> None:
        name, value = getattr(statement, "name", None), getattr(statement, "value", None)
        if isinstance(name, ast.Name) and isinstance(value, ast.expr):
            self._read_alias(statement, name.id, value, after)

    def _read_alias(self, statement: ast.stmt, name: str, value: ast.expr, after: int) -> None:
        if self.module.assigned.get(name) is not value:
            return  # another one counts
        if name not in self.module.aliases and not self._types().is_alias(value):
            return
        claim = self.comments.claim(statement.lineno, statement.col_offset + 1, after)
        self._of(Named(self.module.name, name)).declare_alias(statement, name, value, claim)

    def declare_alias(self, statement: ast.stmt, name: str, value: ast.expr, claim: Claim) -> None:
        """Add the named type that an assignment makes."""
        self.declarations.append(
            NamedType(
                name=Named(self.module.name, name),
                at=self.module.at(statement),
                type=self._types().read(python_annotations.alias_target(value)),
                doc=docs.clean(claim.doc()),
                markers=tuple(self._comment_markers().of_type(claim)),
            )
        )

    # Classes

    def _read_class(self, node: ast.ClassDef, after: int) -> None:
        start = node.decorator_list[0].lineno if node.decorator_list else node.lineno
        sort = bases.sort_of(self.names, self.module, node)
        if sort is None:
            return  # its comments stay unclaimed, so they belong to the package
        claim = self.comments.claim(
            start, node.col_offset + 1, after, inner=range(start, node.lineno)
        )
        found = [
            *self._comment_markers().of_type(claim),
            *self._comment_markers().read(self._comment_markers().opening(node), MarkerLevel.TYPE),
        ]
        doc = self._docstring(node)
        if doc is None:
            doc = docs.clean(claim.doc())
        self._of(Named(self.module.name, node.name)).declare_class(node, sort, doc, tuple(found))
        self._comment_markers().warn_dangling(node)

    def declare_class(
        self, node: ast.ClassDef, sort: Sort, doc: str, found: tuple[Marker, ...]
    ) -> None:
        """Add the model or the enumeration that a class defines."""
        self._check_once(node)
        self._check_form(node)
        self._declare(node, Named(self.module.name, node.name), sort, doc, found)

    def _of(self, name: Named) -> ModuleReader:
        """Return the reader of one declaration, whose findings about types are kept for later."""
        others = self.type_findings.setdefault(name, [])
        return replace(self, findings=self.findings.setting_apart(_ABOUT_TYPES, others))

    def _check_once(self, node: ast.ClassDef) -> None:
        """Report two classes with one name: the source does not show which one is used where."""
        last = self.module.classes[node.name]
        if last is not node and not bases.is_resource(self.names, self.module, node):
            self.findings.add(
                "API008",
                f"`{node.name}` is declared twice in this module",
                self.module.at(last),
                hint="rename one of them",
                related=(Related(self.module.at(node), "first declared here"),),
            )

    def _check_form(self, node: ast.ClassDef) -> None:
        """Report settings that give a msgspec model another form than that of its fields."""
        for keyword in node.keywords:
            if keyword.arg in _OTHER_FORMS and self._types().literals.value(keyword.value):
                self.findings.add(
                    "API006",
                    f"`{keyword.arg}` gives `{node.name}` a form that a schema cannot express",
                    self.module.at(keyword.value),
                    hint="omit it, and write a tag as a field of type `Literal`",
                )

    def _declare(
        self, node: ast.ClassDef, name: Named, sort: Sort, doc: str, found: tuple[Marker, ...]
    ) -> None:
        at = self.module.at(node)
        if sort is Sort.ENUMERATION:
            self.declarations.append(
                NamedType(name=name, at=at, type=self._enumeration(node), doc=doc, markers=found)
            )
            return
        fields = tuple(self._field_reader().of_class(node))
        is_kind = self._is_kind(node, fields)
        if is_kind:
            fields = tuple(_without_default(one) for one in fields)
            self._keep_gvk(node, name)
        self.declarations.append(
            Struct(
                name=name,
                at=at,
                doc=doc,
                markers=found,
                fields=fields,
                bases=tuple(self._bases(node)),
                is_kind=is_kind,
            )
        )

    def _keep_gvk(self, node: ast.ClassDef, name: Named) -> None:
        for statement in node.body:
            match statement:
                case (
                    ast.AnnAssign(target=ast.Name(id="gvk"), value=ast.Call() as call)
                    | ast.Assign(targets=[ast.Name(id="gvk")], value=ast.Call() as call)
                ):
                    self.gvks[name] = call
                case _:
                    pass

    def _is_kind(self, node: ast.ClassDef, fields: tuple[Field, ...]) -> bool:
        if bases.is_resource(self.names, self.module, node):
            return True
        by_name = {one.name: one for one in fields}
        if not by_name.keys() >= _KIND_FIELDS:
            return False
        return str(getattr(by_name["metadata"].type, "name", "")) == "ObjectMeta"

    def _bases(self, node: ast.ClassDef) -> Iterator[Named]:
        for base in node.bases:
            dotted = self._dotted(base.value if isinstance(base, ast.Subscript) else base)
            if dotted in bases.MODEL_BASES | bases.HARMLESS_BASES:
                continue
            if dotted.endswith(".Generic") or isinstance(base, ast.Subscript):
                self.findings.add(
                    "API006",
                    "generic models cannot be expressed in a CRD",
                    self.module.at(base),
                    hint="write one model for each use",
                )
                continue
            declared = self.names.declared(dotted)
            if declared and bases.is_mixin(self.names, declared):
                continue
            if declared and self._is_model(declared):
                yield declared
                continue
            if declared:
                self.findings.add(
                    "API006",
                    f"the base class `{ast.unparse(base)}` has fields and is not a model",
                    self.module.at(base),
                    hint="derive it from `Model`, or make it a dataclass",
                )
                continue
            if isinstance(base, ast.Name) and self.module.lacks(base.id):
                self.findings.add(
                    "API007",
                    f"`{base.id}` is neither declared nor imported in this module",
                    self.module.at(base),
                    hint=type_names.import_hint(base.id),
                )
                continue
            self.findings.add(
                "API007",
                f"the base class `{ast.unparse(base)}` is not declared in the sources, "
                "so its fields are unknown",
                self.module.at(base),
                hint="declare it in the package, or write its fields out",
            )

    def _is_model(self, name: Named) -> bool:
        module = self.names.modules[name.module]
        node = module.classes.get(name.name)
        return node is not None and bases.sort_of(self.names, module, node) is Sort.MODEL

    def _enumeration(self, node: ast.ClassDef) -> TypeExpression:
        kind = bases.kind_of_members(self.names, self.module, node)
        if not kind:
            self.findings.add(
                "API006",
                f"members of `{node.name}` are neither strings nor numbers",
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
            given = bases.member(self.names, self.module, node, name, statement.value)
            value = reader.literals.value(given)
            if type(value) is not wanted:
                self.findings.add(
                    "API006",
                    f"the value of `{node.name}.{name}` cannot be read from the source",
                    self.module.at(statement.value),
                    hint=f"write {'a string' if kind == 'string' else 'an integer'}",
                )
                continue
            values.append(value)
        return Choice(Scalar(kind), tuple(dict.fromkeys(values)))

    def _docstring(self, node: ast.ClassDef) -> str | None:
        return (
            read_docstring(node.body[0], self.module, self.findings)
            if node.body and is_docstring(node.body[0])
            else None
        )


def _without_default(one: Field) -> Field:
    """Return the field of a kind; a status has no default, because the operator writes it."""
    return replace(one, default=MISSING) if one.json_name == "status" else one
