"""Python is edited without other changes to the user's code."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.project.edits import python as python_edits

HEAD = '''\
"""Words."""

from __future__ import annotations

import os  # mine
from collections.abc import Mapping

from olmkit.runtime.cache import CacheSettings
from olmkit.runtime.manager import Manager

X = 1
'''


def imported(text: str, module: str, name: str) -> str:
    once = python_edits.with_import(text.encode(), "w.py", module, name)
    assert python_edits.with_import(once, "w.py", module, name) == once
    return once.decode()


@pytest.mark.parametrize(
    ("module", "name", "part"),
    [
        (
            "olmkit.runtime.builder",
            "B",
            "abc import Mapping\n\nfrom olmkit.runtime.builder import B\n",
        ),
        (
            "olmkit.runtime.z",
            "Z",
            "manager import Manager\nfrom olmkit.runtime.z import Z\n\nX = 1",
        ),
        ("olmkit.runtime.manager", "Group", "manager import Group, Manager\n"),
        ("olmkit.runtime.manager", "ALL", "manager import ALL, Manager\n"),
        ("my.api", "Kind", "manager import Manager\n\nfrom my.api import Kind\n\nX = 1"),
        (
            "olmkit.runtime.manager",
            "Manager",
            "cache import CacheSettings\nfrom olmkit.runtime.manager",
        ),
    ],
)
def test_an_import_is_added_to_its_group(module: str, name: str, part: str) -> None:
    text = imported(HEAD, module, name)
    assert part in text
    assert "import os  # mine" in text


def test_the_standard_library_comes_first() -> None:
    text = '"""Words."""\n\nfrom __future__ import annotations\n\nfrom olmkit import x\n'
    assert imported(text, "collections.abc", "Sequence") == (
        '"""Words."""\n\nfrom __future__ import annotations\n\n'
        "from collections.abc import Sequence\n\nfrom olmkit import x\n"
    )
    assert "from collections.abc import Mapping\nfrom typing import Any\n" in imported(
        HEAD, "typing", "Any"
    )


def test_a_long_import_is_wrapped_as_formatters_do() -> None:
    name = "N" * 90
    assert imported("from a import B\n", "a", name) == (
        f"from a import (\n    {name},\n    B,\n)\n"
    )


def test_an_import_with_a_line_per_name_gets_another_one() -> None:
    head = "from a import (\n    B,\n    D,\n)\nx = 1\n"
    assert imported(head, "a", "C") == "from a import (\n    B,\n    C,\n    D,\n)\nx = 1\n"


def test_a_statement_that_becomes_too_long_is_wrapped() -> None:
    name = "n" * 60
    call = f"{name}(one=1, two={name})"
    made = added("def f() -> None:\n    pass\n", "f", call, f"{name}(")
    assert made == f"def f() -> None:\n    {name}(\n        one=1, two={name}\n    )\n"


def test_an_import_with_an_alias_has_its_own_line() -> None:
    done = python_edits.with_import(b"from a import b\n", "w.py", "a", "c", alias="d")
    assert done == b"from a import b\nfrom a import c as d\n"


def test_a_statement_is_added_above_the_return() -> None:
    assert added("def f() -> int:\n    return 1\n", "f", "x()", "x(").endswith(
        "    x()\n    return 1\n"
    )


def test_a_class_is_added_once() -> None:
    done = python_edits.with_definition(b"x = 1\n", "a.py", "A", "class A:\n    pass\n")
    assert done == b"x = 1\n\n\nclass A:\n    pass\n"
    assert python_edits.with_definition(done, "a.py", "A", "class A:\n    pass\n") == done


def test_a_marker_is_removed() -> None:
    assert python_edits.without_marker(b"# +a\n# +ab\nx = 1\n", "+a") == b"# +ab\nx = 1\n"


def test_an_import_is_added_below_the_docstring_of_a_module_without_imports() -> None:
    assert imported('"""Words."""\n', "a", "b") == '"""Words."""\n\nfrom a import b\n'


@pytest.mark.parametrize("inside", ["    b,  # mine\n", "    b, d\n", "    b,\n    d as e,\n"])
def test_an_import_of_another_form_is_unchanged(inside: str) -> None:
    text = f"from a import (\n{inside})\n"
    assert imported(text, "a", "c") == text + "from a import c\n"


FUNCTION = """\
def add(manager: int) -> None:
    first(manager)  # mine
    # +kubebuilder:scaffold:builder
    last(manager)


def other() -> None:
    pass
"""


def added(text: str, function: str, statement: str, sign: str) -> str:
    def edit(data: bytes) -> bytes:
        return python_edits.with_statement(
            data, "w.py", function, statement, marker="builder", sign=sign
        )

    once = edit(text.encode())
    assert edit(once) == once
    return once.decode()


def test_a_statement_is_added_above_the_marker() -> None:
    text = added(FUNCTION, "add", "second(\n    manager\n)", "second(")
    assert "# mine\n    second(\n        manager\n    )\n    # +kubebuilder" in text


def test_a_statement_is_added_at_the_end_if_the_marker_is_missing() -> None:
    text = added(FUNCTION.replace("    # +kubebuilder:scaffold:builder\n", ""), "add", "x()", "x(")
    assert "    last(manager)\n    x()\n\n\ndef other" in text


def test_a_pass_is_replaced() -> None:
    text = added("def add() -> None:\n    pass\n", "add", "x()", "x(")
    assert text == "def add() -> None:\n    x()\n"


def test_without_the_function_the_statement_is_reported() -> None:
    with pytest.raises(InputError, match="no function `add`") as caught:
        added("x = 1\n", "add", "second()", "second(")
    assert "second()" in caught.value.hint


def test_a_syntax_error_has_its_place() -> None:
    with pytest.raises(InputError) as caught:
        added("x = = 1\n", "add", "second()", "second(")
    assert str(caught.value.diagnostics[0].at) == "w.py:1:5"


def test_the_marker_of_another_function_does_not_count() -> None:
    text = added(
        "def add() -> None:\n    a()\n\n\n" + FUNCTION.replace("add", "b"), "add", "x()", "x("
    )
    assert text.startswith("def add() -> None:\n    a()\n    x()\n")


def test_a_class_gets_a_marker_once() -> None:
    text = b"# about\n\n# +one\n@thing\nclass A:\n    x: int\n"
    once = python_edits.with_class_marker(text, "a.py", "A", "+two")
    assert once == b"# about\n\n# +two\n# +one\n@thing\nclass A:\n    x: int\n"
    assert python_edits.with_class_marker(once, "a.py", "A", "+two") == once


def test_a_marker_needs_its_class() -> None:
    with pytest.raises(InputError, match="no class `B`"):
        python_edits.with_class_marker(b"x = 1\n", "a.py", "B", "+two")


def test_a_name_in_use_gets_another_one() -> None:
    text = b"from a.v1 import Kind\nfrom a.v2 import Kind as V2Kind\n\n\ndef own() -> None: ...\n"

    def name(module: str, what: str) -> str:
        return python_edits.local_name(text, "w.py", module, what, alias="Other")

    assert name("a.v1", "Kind") == "Kind"
    assert name("a.v2", "Kind") == "V2Kind"
    assert name("a.v3", "Kind") == "Other"
    assert name("a.v3", "Free") == "Free"
    assert name("a.v3", "own") == "Other"


def test_line_endings_are_kept() -> None:
    text = FUNCTION.replace("\n", "\r\n")
    assert added(text, "add", "x()", "x(") == added(FUNCTION, "add", "x()", "x(").replace(
        "\n", "\r\n"
    )
    done = python_edits.with_import(b"import a\r\n", "w.py", "b", "c")
    assert done == b"import a\r\n\r\nfrom b import c\r\n"


def test_line_endings_are_kept_even_for_a_new_first_line() -> None:
    text = b"def f(x):\r\n    pass\r\n"
    made = python_edits.with_import(text, "w.py", "olmkit.runtime", "process")
    assert made.count(b"\n") == made.count(b"\r\n") > 2


def test_a_byte_order_mark_stays_at_the_start() -> None:
    made = python_edits.with_import(b"\xef\xbb\xbfx = 1\n", "w.py", "olmkit.runtime", "process")
    assert made.startswith(b"\xef\xbb\xbf")
    assert made.count(b"\xef\xbb\xbf") == 1
    assert python_edits.with_import(made, "w.py", "olmkit.runtime", "process") == made


def test_a_statement_has_the_indentation_of_its_function() -> None:
    text = b"def f(x):\n\tx.add(0)\n"
    made = python_edits.with_statement(text, "w.py", "f", "x.add(\n    1\n)", sign="add(1")
    assert made == text + b"\tx.add(\n\t    1\n\t)\n"
    compile(made, "w.py", "exec")


def test_a_function_on_one_line_is_not_edited() -> None:
    with pytest.raises(InputError, match=r"w\.py:2: the function `f` is on one line"):
        python_edits.with_statement(b"\ndef f(x): pass\n", "w.py", "f", "x.add(1)", sign="add")


def test_bare_carriage_returns_are_not_edited() -> None:
    with pytest.raises(InputError) as error:
        python_edits.with_import(b"import os\nX = 1\rY = 2\n", "w.py", "re", "match")
    assert str(error.value) == "w.py:2: `\\r` ends a line"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_comments_change_and_everything_else_is_kept(mark: bytes) -> None:
    data = mark + b"# one\nx = '#'  # two\ny = 2\n"

    changed = python_edits.with_comments(data, "a.py", lambda comment: comment + "!")

    assert changed == mark + b"# one!\nx = '#'  # two!\ny = 2\n"
