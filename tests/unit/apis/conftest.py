"""Small projects as text for the tests in this directory."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from olmkit.apis.crds import manifests
from olmkit.apis.crds.schema_options import Options
from olmkit.apis.findings import Findings
from olmkit.apis.go import source as go_source
from olmkit.apis.go.packages import Modules
from olmkit.apis.go.source import GoOptions
from olmkit.apis.markers import reading as marker_reading
from olmkit.apis.markers.language import Comment, MarkerLevel
from olmkit.apis.model import ApiPackage, Sources
from olmkit.apis.python import source
from olmkit.base.diagnostics import Location
from olmkit.base.tree import Tree
from tests.fixtures.no_modules import NoModules

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
    """The result of a project's sources."""

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
    """Generates projects from a few lines of Python."""

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
        """Return the schema of `spec` whose class has this body, and the whole result."""
        text = textwrap.dedent(before) + "\n\nclass Spec(Model):\n"
        text += textwrap.indent(textwrap.dedent(body).strip("\n"), "    ")
        text += "\n\n\nclass Thing(CustomResource):\n    spec: Spec\n"
        made = self.module(text, options)
        return made.schema()["properties"]["spec"], made

    def marked(self, *packages: list[str]) -> tuple[Sources, Findings]:
        """Packages that contain only the given markers."""
        findings = Findings()
        found = []
        for index, texts in enumerate(packages):
            at = Location(path=f"p{index}.py", line=1, column=1)
            comments = [Comment(text=text, at=at) for text in texts]
            read = [
                marker_reading.read_marker(one, MarkerLevel.PACKAGE, findings) for one in comments
            ]
            markers = tuple(marker for marker in read if marker)
            found.append(
                ApiPackage(module=f"p{index}", at=at, group=None, version="", markers=markers)
            )
        return Sources(packages=tuple(found), declarations={}, package_of={}), findings


@pytest.fixture(scope="session")
def projects() -> Projects:
    return Projects()


GO_HEADER = """\
// +groupName=example.com
package v1

import (
    metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
    IMPORTS
)

"""
GO_HEADER_LINES = GO_HEADER.count("\n")


class GoProjects:
    """Generates Go projects from a few lines; types of Kubernetes come from the built-in table."""

    header_lines = GO_HEADER_LINES

    def make(
        self,
        files: dict[str, str],
        options: Options | None = None,
        *,
        modules: Modules | None = None,
        go_options: GoOptions | None = None,
    ) -> Made:
        findings = Findings()
        tree = Tree({path: textwrap.dedent(text).encode() for path, text in files.items()})
        sources = go_source.read(
            tree, "example.com/toys", modules or NoModules(), findings, options=go_options
        )
        return Made(sources, dict(manifests.crds(sources, findings, options)), findings)

    def module(
        self,
        text: str,
        imports: str = "",
        options: Options | None = None,
        go_options: GoOptions | None = None,
    ) -> Made:
        """One file `api/v1/types.go` with the usual header."""
        head = GO_HEADER.replace("IMPORTS", imports)
        files = {"api/v1/types.go": head + textwrap.dedent(text)}
        return self.make(files, options, go_options=go_options)

    def spec(
        self, body: str, before: str = "", imports: str = "", options: Options | None = None
    ) -> tuple[Any, Made]:
        """Return the schema of `spec` whose struct has this body, and the whole result."""
        text = textwrap.dedent(before) + "\n\ntype Spec struct {\n"
        text += textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n}\n"
        text += (
            '\ntype Thing struct {\n    metav1.TypeMeta `json:",inline"`\n'
            '    metav1.ObjectMeta `json:"metadata,omitempty"`\n    Spec Spec `json:"spec"`\n}\n'
        )
        made = self.module(text, imports, options)
        return made.schema()["properties"]["spec"], made


@pytest.fixture(scope="session")
def go_projects() -> GoProjects:
    return GoProjects()


def _mutant(
    text: str, chance: random.Random, *, words: Sequence[str], marks: str = "", instead: str = ""
) -> str:
    lines = text.split("\n")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(lines))
        match chance.randrange(6):
            case 0:
                lines.insert(at, chance.choice(words))
            case 1:
                del lines[at]
                lines = lines or [""]
            case 2:
                lines.insert(chance.randrange(len(lines)), lines[at])
            case 3:
                lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
            case 4:
                cut = chance.randrange(len(lines[at]) + 1)
                lines[at] = lines[at][:cut] + chance.choice(words) + lines[at][cut:]
            case _:
                lines[at] = lines[at].replace(
                    chance.choice("[](){}:=,\"'#" + marks), chance.choice(":=,[{(" + instead)
                )
    return "\n".join(lines)


@pytest.fixture(scope="session")
def mutant() -> Callable[..., str]:
    """Return a function that duplicates, removes, moves, cuts or replaces a few lines of a text."""
    return _mutant
