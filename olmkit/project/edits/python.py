"""Insert imports and statements into Python files.

The syntax tree provides the places; the text is changed by lines, so that comments and layout are
kept. Existing statements are not added again. The marker comments of the scaffold are preferred,
but authors may remove them.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Callable, Sequence

from olmkit.base import findings
from olmkit.base.diagnostics import InputError, Location
from olmkit.project.edits import python_shape
from olmkit.project.edits.yaml import MARKER

_BYTE_ORDER = "\ufeff"  # a byte order mark, which Windows editors write and Python ignores


def local_name(data: bytes, path: str, module: str, name: str, *, alias: str) -> str:
    """Return the local name of `name` from `module`; `alias` if the name is in use."""
    tree, _ = _parse(data, path)
    bound: dict[str, tuple[str, str]] = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            for one in node.names:
                bound[one.asname or one.name] = (node.module or "", one.name)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound[node.name] = ("", node.name)
    for local, what in bound.items():
        if what == (module, name):
            return local
    return alias if name in bound else name


def with_import(data: bytes, path: str, module: str, name: str, *, alias: str = "") -> bytes:
    """Return `data` with `from module import name`, next to imports of the same package.

    An alias that equals the name is left out.
    """
    alias = "" if alias == name else alias
    tree, lines = _parse(data, path)
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom) and node.level == 0]
    if any(
        node.module == module and any(alias.name == name for alias in node.names)
        for node in imports
    ):
        return data
    binding = f"{name} as {alias}" if alias else name
    statement = python_shape.import_lines(module, [binding])
    same = [node for node in imports if node.module == module]
    if same and not alias and _is_extensible(same[-1], lines):
        node = same[-1]
        names = sorted({*(one.name for one in node.names), name}, key=_import_order)
        is_block = _end(node) > node.lineno
        shape = python_shape.import_block if is_block else python_shape.import_lines
        lines[node.lineno - 1 : _end(node)] = shape(module, names)
        return _joined(lines)
    package = module.partition(".")[0]
    family = [node for node in imports if (node.module or "").partition(".")[0] == package]
    after = [node for node in family if (node.module or "", "") > (module, "")]
    if after:
        place = after[0].lineno - 1
    elif family:
        place = _end(family[-1])
    elif package in sys.stdlib_module_names:
        place, statement = _place_of_library(tree, statement)
    else:
        place = _end_of_imports(tree)
        statement = ["", *statement]
    lines[place:place] = statement
    return _joined(lines)


def with_statement(
    data: bytes, path: str, function: str, statement: str, *, marker: str = "", sign: str
) -> bytes:
    """Return `data` with a statement at the end of a function, or above its marker.

    `sign` is a text that the function contains if the statement already exists. Raises `InputError`
    if there is no such function; its hint names the code to add manually.
    """
    tree, lines = _parse(data, path)
    found = next(
        (
            node
            for node in tree.body
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
        ),
        None,
    )
    if found is None:
        message = f"`{path}` has no function `{function}`"
        hint = f"create it, or add this call in the right place:\n{statement}"
        raise _refusal(message, Location(path=path), hint)
    start, end = found.lineno - 1, _end(found)
    if re.search(rf"\b{re.escape(sign)}", "\n".join(lines[start:end])):
        return data
    following = [node.lineno - 1 for node in tree.body if node.lineno > found.lineno]
    place, is_marked = _marker(lines[: min(following, default=len(lines))], start, marker)
    if not is_marked:
        is_return = isinstance(found.body[-1], ast.Return)
        place = found.body[-1].lineno - 1 if is_return else end
    body = found.body[0]
    indent = lines[body.lineno - 1][: body.col_offset]
    if indent.strip():
        message = f"the function `{function}` is on one line"
        hint = (
            f"write its body on separate lines, or add this call in the right place:\n{statement}"
        )
        raise _refusal(message, Location(path=path, line=body.lineno), hint)
    lines[place:place] = [
        part
        for line in statement.splitlines()
        for part in python_shape.broken(indent + line if line else "")
    ]
    last = found.body[-1]
    if not is_marked and len(found.body) == 1 and isinstance(last, ast.Pass):
        del lines[last.lineno - 1]
    return _joined(lines)


def with_argument(data: bytes, path: str, function: str, first: str, argument: str) -> bytes:
    """Return `data` with one more argument of a call in a function, whose first one is `first`.

    Nothing changes if there is no such call, or its closing bracket is not on a separate line.
    """
    tree, lines = _parse(data, path)
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef) or node.name != function:
            continue
        for call in ast.walk(node):
            if not isinstance(call, ast.Call) or not call.args or call.end_lineno is None:
                continue
            last = call.end_lineno - 1
            if ast.unparse(call.args[0]) == first and lines[last].strip() == ")":
                indent = " " * (call.args[0].col_offset)
                lines[last:last] = [
                    part
                    for line in argument.splitlines()
                    for part in python_shape.broken(indent + line)
                ]
                return _joined(lines)
    return data


def with_definition(data: bytes, path: str, name: str, text: str) -> bytes:
    """Return `data` with a class or function at its end, unless `name` already exists."""
    tree, lines = _parse(data, path)
    kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    if any(isinstance(node, kinds) and node.name == name for node in tree.body):
        return data
    while lines and not lines[-1].strip():
        lines.pop()
    return _joined([*lines, "", "", *text.strip("\n").split("\n"), ""])


def with_class_marker(data: bytes, path: str, name: str, marker: str) -> bytes:
    """Return `data` with a marker comment above those of the class `name`.

    Raises `InputError` if there is no such class.
    """
    tree, lines = _parse(data, path)
    found = next(
        (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name), None
    )
    if found is None:
        message = f"`{path}` has no class `{name}`"
        raise _refusal(message, Location(path=path), f"write `# {marker}` above the class")
    start = min([found.lineno, *(one.lineno for one in found.decorator_list)]) - 1
    while start > 0 and lines[start - 1].startswith("#"):
        start -= 1
        if lines[start].lstrip("# ").rstrip() == marker:
            return data
    lines.insert(start, f"# {marker}")
    return _joined(lines)


def without_marker(data: bytes, marker: str) -> bytes:
    """Return `data` without the lines that contain only a marker comment."""
    lines = data.decode("utf-8").split("\n")
    return _joined([line for line in lines if line.strip().lstrip("# ") != marker])


def with_comments(data: bytes, path: str, change: Callable[[str], str]) -> bytes:
    """Return `data` with each comment, from `#` to the end of the line, replaced by `change`."""
    _, lines = _parse(data, path)
    mark = _BYTE_ORDER if lines[0].startswith(_BYTE_ORDER) else ""
    lines[0] = lines[0].removeprefix(mark)
    for token in tokenize.generate_tokens(io.StringIO("\n".join(lines)).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start[0] - 1, token.start[1]
            old, line = token.string.rstrip("\r"), lines[row]
            lines[row] = line[:column] + change(old) + line[column + len(old) :]
    lines[0] = mark + lines[0]
    return _joined(lines)


def _marker(lines: Sequence[str], start: int, marker: str) -> tuple[int, bool]:
    if marker:
        for index in range(start, len(lines)):
            if lines[index].strip().lstrip("# ") == MARKER + marker:
                return index, True
    return 0, False


def _parse(data: bytes, path: str) -> tuple[ast.Module, list[str]]:
    try:
        text = data.decode("utf-8")
        tree = ast.parse(text.removeprefix(_BYTE_ORDER))
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        column = getattr(error, "offset", None)
        words = getattr(error, "msg", None) or str(error)
        at = Location(path=path, line=line, column=column)
        raise _refusal(f"the file is not valid Python: {words}", at, "") from None
    before, bare, _ = text.replace("\r\n", "\n").partition("\r")
    if bare:
        at = Location(path=path, line=before.count("\n") + 1)
        hint = "save the file with line feeds at the ends of lines"
        raise _refusal("`\\r` ends a line", at, hint)
    return tree, text.split("\n")


def _is_extensible(node: ast.ImportFrom, lines: Sequence[str]) -> bool:
    """Return whether an import is on one line, or has one for each name, and nothing next to it."""
    own = lines[node.lineno - 1 : _end(node)]
    names = [one.name for one in node.names]
    if any(one.asname is not None for one in node.names):
        return False
    is_line = len(own) == 1 and "#" not in own[0]
    return is_line or own == python_shape.import_block(node.module or "", names)


def _import_order(name: str) -> tuple[int, str]:
    """Return the sort key of formatters: constants, classes, functions, each alphabetically."""
    if name.isupper() and len(name) > 1:
        return 0, name
    return (1 if name[:1].isupper() else 2), name


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _place_of_library(tree: ast.Module, statement: list[str]) -> tuple[int, list[str]]:
    """Return the line for an import of the standard library."""
    place = 0
    for index, node in enumerate(tree.body):
        is_words = (
            index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else names
        package = names[0].partition(".")[0] if names else ""
        if not is_words and package not in sys.stdlib_module_names:
            break
        place = _end(node)
        above = [] if package and package != "__future__" else [""]
        statement = [*above, *(line for line in statement if line)]
    return place, statement


def _end_of_imports(tree: ast.Module) -> int:
    """Return the line after the first imports, or after the module docstring."""
    place = 0
    for index, node in enumerate(tree.body):
        is_words = (
            index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        if not is_words and not isinstance(node, ast.Import | ast.ImportFrom):
            break
        place = _end(node)
    return place


def _joined(lines: Sequence[str]) -> bytes:
    """Return the text with its original line ends and byte order mark; new lines have none."""
    plain = [line.removesuffix("\r").removeprefix(_BYTE_ORDER) for line in lines]
    if any(line.startswith(_BYTE_ORDER) for line in lines):
        plain[0] = _BYTE_ORDER + plain[0]
    is_dos = any(line.endswith("\r") for line in lines)
    return ("\r\n" if is_dos else "\n").join(plain).encode()


def _refusal(message: str, at: Location, hint: str) -> InputError:
    found = findings.create(
        "PRJ011",
        message,
        at=at,
        hint=hint,
    )
    return InputError.of(found)
