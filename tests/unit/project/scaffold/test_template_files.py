"""Templates are files that contain names and no code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from olmkit.base.tree import Tree
from olmkit.edges import disk
from olmkit.project.scaffold import template_files

TEMPLATES = Tree(
    {
        "init/_package_/__main__.py.tmpl": b"import {{package}} # {{Deployment,v1}}\n",
        "init/PROJECT.tmpl": b"{{project}}\n",
        "other/x.tmpl": b"{{missing}}\n",
    }
)


def test_paths_of_a_directory_are_also_filled_in() -> None:
    made = template_files.folder(TEMPLATES, "init", {"package": "toy", "project": "toy-operator"})
    assert {path: file.data for path, file in made.items()} == {
        "PROJECT": b"toy-operator\n",
        "toy/__main__.py": b"import toy # {{Deployment,v1}}\n",
    }


def test_a_name_without_a_value_is_an_error_of_the_template() -> None:
    with pytest.raises(KeyError, match="missing"):
        template_files.file(TEMPLATES, "other/x", {})


def test_all_templates_end_with_a_newline_and_only_use_known_names(root: Path) -> None:
    templates = disk.read_tree(root / "olmkit/project/templates")
    assert templates
    for path, content in templates.items():
        assert path.endswith(".tmpl")
        assert content.data.endswith(b"\n"), path
        assert not re.search(rb"[ \t]\n", content.data), path
