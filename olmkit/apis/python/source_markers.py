"""Comments of a Python module → markers of its types, its fields and its package."""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from olmkit.apis.findings import Findings
from olmkit.apis.markers.language import Comment, Marker, MarkerLevel
from olmkit.apis.markers.reading import read_marker
from olmkit.apis.markers.table import REGISTRY
from olmkit.apis.python.comments import Claim, Comments, Group
from olmkit.apis.python.docstrings import is_docstring
from olmkit.apis.python.names import Module


@dataclass(slots=True)
class SourceMarkers:
    """Finds what the comments of one module belong to; the rest belongs to the package.

    `starts` are the lines on which the statements of the module begin.
    """

    module: Module
    comments: Comments
    findings: Findings
    package_comments: list[Comment]
    starts: list[int]

    def opening(self, node: ast.ClassDef) -> list[Comment]:
        """Return markers between the class line and its first statement, which belong to the type.

        Without a docstring, the groups of the first statement belong to that statement.
        """
        first = node.body[0]
        lines = range(node.lineno + 1, first.lineno)
        groups = [group for group in self.comments.groups if group.first in lines]
        if not is_docstring(first):
            # The near group and the documentation belong to the first field.
            keep = 2 if groups and groups[-1].last == first.lineno - 1 else 1
            groups = groups[:-keep]
        return [c for group in groups for c in group.markers(self.module.path)]

    def of_type(self, claim: Claim) -> Iterator[Marker]:
        """Return markers above a type; markers of the near group for packages move there."""
        path = self.module.path
        for comment in claim.near.markers(path) if claim.near else ():
            at_type = REGISTRY.find(comment.text, MarkerLevel.TYPE)
            if at_type is None and REGISTRY.find(comment.text, MarkerLevel.PACKAGE):
                self.package_comments.append(comment)
            else:
                yield from self.read([comment], MarkerLevel.TYPE)
        for group in claim.docs:
            yield from self.read(group.markers(path), MarkerLevel.TYPE)

    def read(self, found: Iterable[Comment], level: MarkerLevel) -> list[Marker]:
        read_markers = (read_marker(comment, level, self.findings) for comment in found)
        return [marker for marker in read_markers if marker]

    def warn_dangling(self, node: ast.ClassDef) -> None:
        """Report groups inside a model that belong to no field: their markers are lost."""
        first = node.body[0]
        methods = [m for m in node.body if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))]
        for group in self.comments.unclaimed():
            if not self._is_inside(group, node):
                continue
            self.comments.drop(group)
            is_opening = group.first < first.lineno and is_docstring(
                first
            )  # read as the type's own
            if not is_opening and not any(self._is_inside(group, method) for method in methods):
                self._warn_lost(group, "not above a field")

    def _is_inside(
        self, group: Group, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    ) -> bool:
        """Return whether a comment group is in the body of a class or function."""
        end = node.end_lineno or node.lineno
        if group.first <= node.lineno:
            return False
        if group.first <= end:
            return True
        between = bisect.bisect_left(self.starts, group.first) - bisect.bisect_right(
            self.starts, end
        )
        return group.column > node.col_offset + 1 and between <= 0

    def _warn_lost(self, group: Group, where: str) -> None:
        for comment in group.markers(self.module.path):
            if REGISTRY.levels(comment.text):
                self.findings.add(
                    "API005",
                    f"`+{REGISTRY.name(comment.text)}` is {where} and is not read",
                    comment.at,
                    hint="put it directly above what it belongs to",
                )

    def assign_rest(self) -> None:
        """Assign unclaimed comments to the package, except inside functions."""
        functions = [
            node
            for node in ast.walk(self.module.tree)
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        ]
        for group in self.comments.unclaimed():
            if not any(self._is_inside(group, function) for function in functions):
                self.package_comments.extend(group.markers(self.module.path))
        for line in self.comments.trailing:
            comment = line.marker(self.module.path)
            if comment and REGISTRY.levels(comment.text):
                self.findings.add(
                    "API005",
                    f"`+{REGISTRY.name(comment.text)}` is after code and is not read",
                    comment.at,
                    hint="put it on a separate line above",
                )
