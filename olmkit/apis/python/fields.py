"""Statements of a model → the fields of its API."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from olmkit.apis import docs
from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import MarkerLevel
from olmkit.apis.markers.table import VALIDATION
from olmkit.apis.model import Constrained, Field
from olmkit.apis.python import aliases, bases
from olmkit.apis.python.annotations import TypeReader
from olmkit.apis.python.comments import Claim, Comments
from olmkit.apis.python.docstrings import is_docstring, read_docstring
from olmkit.apis.python.field_constraints import Facts, UnreadDefault
from olmkit.apis.python.names import Module, Names
from olmkit.apis.python.source_markers import SourceMarkers

_OWN_DEFAULTS = frozenset({"kubebuilder:default", "default", "olmkit:nodefault"})


@dataclass(slots=True)
class FieldReader:
    """Reads the fields of one model."""

    module: Module
    comments: Comments
    names: Names
    findings: Findings
    markers: SourceMarkers

    def of_class(self, node: ast.ClassDef) -> Iterator[Field]:
        """Yield the fields of a model, in the order of the source."""
        rename = aliases.class_renaming(
            self.names, bases.ancestry(self.names, self.module, node), self.findings
        )
        after = node.body[0].lineno - 1 if node.body else node.lineno
        if is_docstring(node.body[0]):
            after = node.body[0].end_lineno or after
        else:
            # The header may have several lines; comments in it do not belong to a field.
            after = max((base.end_lineno or 0 for base in node.bases), default=0)
            after = max(after, node.lineno)
        for index, statement in enumerate(node.body):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                following = node.body[index + 1] if index + 1 < len(node.body) else None
                name = statement.target.id
                found = self._field(statement, name, following, after, rename(name))
                if found:
                    yield found
            elif isinstance(statement, ast.Assign):
                self._warn_plain(statement)
            elif isinstance(statement, ast.If | ast.Try | ast.With | ast.For | ast.While):
                self._warn_inner(statement)
            after = statement.end_lineno or after

    def _field(
        self,
        statement: ast.AnnAssign,
        name: str,
        following: ast.stmt | None,
        after: int,
        json_name: str,
    ) -> Field | None:
        claim = self.comments.claim(statement.lineno, statement.col_offset + 1, after)
        reader = TypeReader(self.module, self.names, self.findings)
        if (
            name.startswith("_")
            or name == "model_config"
            or reader.is_skipped(statement.annotation)
        ):
            return None
        found = self.markers.read(
            [c for group in claim.groups() for c in group.markers(self.module.path)],
            MarkerLevel.FIELD,
        )
        facts = Facts()
        is_opaque = any(m.name == VALIDATION + "Schemaless" for m in found)
        # The type of a field without a schema does not matter.
        of_type = replace(reader, findings=Findings()) if is_opaque else reader
        kind = of_type.read(statement.annotation, facts)
        if statement.value is not None:
            self._read_value(statement.value, reader, facts)
        if facts.is_excluded:
            return None
        if facts.unread_default is not None and not any(m.name in _OWN_DEFAULTS for m in found):
            self._warn_default(name, facts.unread_default)
        if facts.constraints:
            kind = Constrained(kind, tuple(facts.constraints))
        written, read = facts.alias or json_name, facts.read_as or (json_name,)
        if written not in read:
            self.findings.add(
                "API017",
                f"`{name}` is written as `{written}` and read as `{read[0]}`",
                self.module.at(statement.target),
                hint="use one name, with `alias`",
            )
        return Field(
            name=name,
            json_name=written,
            type=kind,
            at=self.module.at(statement.target),
            is_optional=facts.is_optional,
            default=facts.default,
            doc=self._field_doc(following, facts, claim),
            title=facts.title,
            example=facts.example,
            markers=tuple(found),
        )

    def _warn_default(self, name: str, default: UnreadDefault) -> None:
        self.findings.add(
            "API034",
            f"the default of `{name}`, `{default.text}`, is computed, so the CRD does not have it: "
            "the API server leaves the field empty, and the model fills it",
            default.at,
            hint="write a literal, or a marker `+kubebuilder:default=…` above the field; "
            "`+olmkit:nodefault` when only the model shall have it",
        )

    def _read_value(self, value: ast.expr, reader: TypeReader, facts: Facts) -> None:
        if isinstance(value, ast.Call):
            name = self.names.dotted(self.module, value.func)
            if name.rpartition(".")[2] in ("Field", "field", "ib"):
                reader.facts.call(value, facts)
                return
        reader.facts.default(value, facts)

    def _field_doc(self, following: ast.stmt | None, facts: Facts, claim: Claim) -> str:
        if following is not None and is_docstring(following):
            return read_docstring(following, self.module, self.findings)
        if facts.description:
            return docs.from_docstring(facts.description)
        return docs.clean(claim.doc())

    def _warn_plain(self, statement: ast.Assign) -> None:
        for target in statement.targets:
            if isinstance(target, ast.Name) and not target.id.startswith("_"):
                if target.id == "model_config":
                    continue
                self.findings.add(
                    "API021",
                    f"`{target.id}` has no annotation and is not a field of the API",
                    self.module.at(target),
                    hint=f"write `{target.id}: <type> = …`, or `ClassVar` if this is intended",
                )

    def _warn_inner(self, statement: ast.stmt) -> None:
        for inner in ast.walk(statement):
            if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
                self.findings.add(
                    "API021",
                    f"`{inner.target.id}` is in an inner block and is not a field of the API",
                    self.module.at(inner.target),
                    hint="declare it in the class itself, with or without a default",
                )
