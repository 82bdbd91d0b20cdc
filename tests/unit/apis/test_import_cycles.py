"""Import cycles."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    "files",
    [
        {
            "a.py": "from b import B\nclass A: ...\n",
            "b.py": "from a import A\nclass B: ...\n",
        },
        {
            "p/__init__.py": "",
            "p/a.py": "from .b import B\nA = 1\n",
            "p/b.py": "from .c import C\nB = 1\n",
            "p/c.py": "from p.a import A\nC = 1\n",
        },
        {"a.py": "from b import X\n", "b.py": "from a import X\n"},
    ],
)
def test_a_cycle_of_names_is_reported_once_at_an_import(
    projects: Any, files: dict[str, str]
) -> None:
    made = projects.make(files)
    (found,) = made.findings
    assert (found.rule, found.at.path.rpartition("/")[2], found.at.line) == ("API030", "a.py", 1)


@pytest.mark.parametrize(
    "files",
    [
        {
            "a.py": "from b import B\nclass A: ...\n",
            "b.py": "class B: ...\nfrom a import A\n",
        },
        {
            "a.py": "from b import B\nclass A: ...\n",
            "b.py": "if TYPE_CHECKING:\n    from a import A\nclass B: ...\n",
        },
        {
            "a.py": "from b import B\nclass A: ...\n",
            "b.py": "import a\nclass B: ...\n",
        },
        {
            "p/__init__.py": "from p.a import A\n",
            "p/a.py": "from p import b\nclass A: ...\n",
            "p/b.py": "B = 1\n",
        },
        {
            "a.py": "from b import B\nclass A: ...\n",
            "b.py": "class B: ...\ndef late():\n    from a import A\n",
        },
    ],
)
def test_imports_that_end_are_not_a_cycle(projects: Any, files: dict[str, str]) -> None:
    assert projects.make(files).codes == []


def test_go_packages_never_import_each_other(go_projects: Any) -> None:
    made = go_projects.make(
        {
            "a/a.go": 'package a\n\nimport "example.com/toys/b"\n',
            "b/b.go": 'package b\n\nimport (\n\tx "example.com/toys/a"\n)\n',
        }
    )
    (found,) = made.findings
    assert (found.rule, found.at.path, found.at.line, found.at.column) == ("API030", "a/a.go", 3, 8)
    assert [(one.at.path, one.at.line) for one in found.related] == [("b/b.go", 4)]


def test_a_go_type_is_declared_once(go_projects: Any) -> None:
    made = go_projects.make(
        {"a/a.go": "package a\ntype X int\n", "a/b.go": "package a\ntype X int\n"}
    )
    (found,) = made.findings
    assert (found.rule, found.at.path, found.at.line) == ("API008", "a/b.go", 2)
