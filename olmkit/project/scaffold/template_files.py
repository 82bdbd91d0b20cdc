"""The files of a scaffold: text with `{{name}}` in it, and the values of the names.

There is only substitution, after which long lines of Python are broken. Choices are made before, as
a separate file or as the value of a name, so that each template looks like the resulting file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from olmkit.base.tree import File, Tree
from olmkit.project.edits import python_shape

SUFFIX = ".tmpl"

_NAME = re.compile(r"\{\{([a-z_]+)\}\}")
_PLACE = re.compile(r"_([a-z]+)_(?=/|$|\.)")


def folder(templates: Tree, name: str, values: Mapping[str, str]) -> Tree:
    """Return the files below a folder of templates; a part `_package_` of a path is a value too."""
    files: dict[str, File | bytes] = {}
    for path, content in templates.under(name).items():
        place = _PLACE.sub(lambda match: values.get(match[1], match[0]), path.removesuffix(SUFFIX))
        files[place] = _fill(place, content.data, values)
    return Tree(files)


def file(templates: Tree, name: str, values: Mapping[str, str]) -> bytes:
    """Return one template, filled in."""
    return _fill(name, templates.data(name + SUFFIX), values)


def _fill(path: str, data: bytes, values: Mapping[str, str]) -> bytes:
    filled = substitute(data, values)
    return python_shape.shaped(filled.decode()).encode() if path.endswith(".py") else filled


def substitute(data: bytes, values: Mapping[str, str]) -> bytes:
    """Replace the names by values; raise `KeyError` if a name has no value."""
    return _NAME.sub(lambda match: values[match[1]], data.decode()).encode()
