"""Small projects as text, for the tests of this folder."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Any

import pytest

from olmkit.apis import manifests, marker_reading, source
from olmkit.apis.findings import Findings
from olmkit.apis.markers import Comment, Level
from olmkit.apis.model import Package, Sources
from olmkit.apis.schema import Options
from olmkit.base.diagnostics import Location
from olmkit.base.tree import Tree

HEADER = """\
# +groupName=example.com
import datetime
import enum
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Annotated, Any, ClassVar, Literal, NewType, Optional, Union

import annotated_types
from annotated_types import Ge, Gt, Interval, Le, Len, Lt, MaxLen, MinLen, MultipleOf
from pydantic import BaseModel, Field

from olmkit.runtime.kinds import (
    JSON, Condition, CustomResource, Duration, Int32, Int64, IntOrString, Model, ObjectMeta,
    Quantity, RawExtension,
)

"""
HEADER_LINES = HEADER.count("\n")


@dataclass(frozen=True)
class Made:
    """What a project's sources came to."""

    sources: Sources
    crds: dict[str, Any]
    findings: Findings

    @property
    def codes(self) -> list[str]:
        return [found.rule for found in self.findings.sorted()]

    def schema(self, name: str = "example.com_things.yaml", version: int = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.crds[name]["spec"]["versions"][version]["schema"][
            "openAPIV3Schema"
        ]
        return found


class Projects:
    """Makes projects of few lines."""

    header_lines = HEADER_LINES

    def make(self, files: dict[str, str], options: Options | None = None) -> Made:
        findings = Findings()
        tree = Tree({path: textwrap.dedent(text).encode() for path, text in files.items()})
        sources = source.read(tree, findings)
        return Made(sources, dict(manifests.crds(sources, findings, options)), findings)

    def module(self, text: str, options: Options | None = None) -> Made:
        """One module `api/v1.py` with the usual imports."""
        return self.make({"api/v1.py": HEADER + textwrap.dedent(text)}, options)

    def spec(self, body: str, before: str = "", options: Options | None = None) -> tuple[Any, Made]:
        """The schema of `spec` whose class has this body, and everything else."""
        text = textwrap.dedent(before) + "\n\nclass Spec(Model):\n"
        text += textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
        text += "\n\n\nclass Thing(CustomResource):\n    spec: Spec\n"
        made = self.module(text, options)
        return made.schema()["properties"]["spec"], made

    def marked(self, *packages: list[str]) -> tuple[Sources, Findings]:
        """Packages that hold nothing but the given markers."""
        findings = Findings()
        found = []
        for index, texts in enumerate(packages):
            at = Location(path=f"p{index}.py", line=1, column=1)
            comments = [Comment(text=text, at=at) for text in texts]
            read = [marker_reading.read_marker(one, Level.PACKAGE, findings) for one in comments]
            markers = tuple(marker for marker in read if marker)
            found.append(
                Package(module=f"p{index}", at=at, group=None, version="", markers=markers)
            )
        return Sources(packages=tuple(found), declarations={}, package_of={}), findings


@pytest.fixture(scope="session")
def projects() -> Projects:
    return Projects()
