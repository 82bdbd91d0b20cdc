"""Long lines of Python, in the format of the formatter of scaffolded projects."""

from __future__ import annotations

import ast

import pytest

from olmkit.project.edits import python_shape

LONG = "KindOfAVeryLongNameThatNobodyReads"  # 34 characters

CASES = [
    f"from toy.reconcilers.kindofaverylongnamethatnobodyreads_v1 import {LONG}Reconciler",
    f"    gvk: ClassVar[GVK] = GVK(group='web.example.com', version='v1beta1', kind='{LONG}')",
    f"def labels_for(kind_of_a_very_long_name_that_nobody_reads: {LONG}) -> dict[str, str]:",
    f"def deployment_for(kind_of_a_very_long_name: {LONG}, image: str) -> dict[str, str]:",
    f"    async def judge(self, old: {LONG}, new: {LONG}, more: str) -> Sequence[str]:",
    f"    kind_of_a_very_long_name_that_nobody = {LONG}.from_manifest(manifest_of_it)",
    f"    kind_of_a_very_long_name_that_nobody_reads_till_its_end_{'x' * 20} = {LONG}.read(it)",
    f"        'ports': [{{'containerPort': {LONG}.spec.port, 'name': '{LONG}', 'x(': ','}}],",
    f"    names = ['{LONG}', '{LONG}', '{LONG}']",
    f"    return await {LONG}Reconciler(client).reconcile(Request(name, 'the-namespace'))",
]

BROKEN = [
    [
        "from toy.reconcilers.kindofaverylongnamethatnobodyreads_v1 import (",
        f"    {LONG}Reconciler,",
        ")",
    ],
    [
        "    gvk: ClassVar[GVK] = GVK(",
        f"        group='web.example.com', version='v1beta1', kind='{LONG}'",
        "    )",
    ],
    [
        "def labels_for(",
        f"    kind_of_a_very_long_name_that_nobody_reads: {LONG},",
        ") -> dict[str, str]:",
    ],
    [
        "def deployment_for(",
        f"    kind_of_a_very_long_name: {LONG}, image: str",
        ") -> dict[str, str]:",
    ],
    [
        "    async def judge(",
        "        self,",
        f"        old: {LONG},",
        f"        new: {LONG},",
        "        more: str,",
        "    ) -> Sequence[str]:",
    ],
    [
        f"    kind_of_a_very_long_name_that_nobody = {LONG}.from_manifest(",
        "        manifest_of_it",
        "    )",
    ],
    [
        f"    kind_of_a_very_long_name_that_nobody_reads_till_its_end_{'x' * 20} = (",
        f"        {LONG}.read(it)",
        "    )",
    ],
    [
        "        'ports': [",
        "            {",
        f"                'containerPort': {LONG}.spec.port,",
        f"                'name': '{LONG}',",
        "                'x(': ',',",
        "            }",
        "        ],",
    ],
    [
        "    names = [",
        *[f"        '{LONG}',"] * 3,
        "    ]",
    ],
    [
        f"    return await {LONG}Reconciler(client).reconcile(",
        "        Request(name, 'the-namespace')",
        "    )",
    ],
]


@pytest.mark.parametrize(("line", "parts"), list(zip(CASES, BROKEN, strict=True)))
def test_a_line_is_wrapped_in_its_last_brackets_or_its_parameters(
    line: str, parts: list[str]
) -> None:
    assert python_shape.broken(line) == parts


@pytest.mark.parametrize(
    "line",
    [
        "x = f(a, b)",
        "# don't (break) this: " + "x" * 100,
        f'    """What (in words) {"x" * 100} is."""',
        f"x = '{'(,)' * 40}'",
        "x = f()" + ".more" * 30,
        "x = f(" + "y" * 100,
        "y" * 100 + ") + (",
    ],
)
def test_a_line_that_is_short_or_cannot_be_wrapped_is_unchanged(line: str) -> None:
    assert python_shape.broken(line) == [line]


def test_a_wrapped_text_has_the_same_meaning() -> None:
    text = "\n".join(
        (
            f"def {'f' * 40}(a, b, c={{'x': [1, 2]}}, *, d=(1, 2), {'e' * 30}=None) -> None:",
            f"    return {'g' * 60}(a[1:2], 'b, (', {{**c}}, [one for one in d], {'e' * 30})",
            "",
        )
    )
    shaped = python_shape.shaped(text)
    assert max(len(line) for line in shaped.split("\n")) <= python_shape.MAX_LINE
    assert ast.dump(ast.parse(shaped)) == ast.dump(ast.parse(text))


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("a", '"a"'),
        ("it's", '"it\'s"'),
        ('say "a"', "'say \"a\"'"),
        ('"it\'s"', "'\"it\\'s\"'"),
        ('\\"\n', "'\\\\\"\\n'"),
    ],
)
def test_a_string_has_the_quotes_that_need_fewer_escapes(value: str, written: str) -> None:
    assert python_shape.text(value) == written
    assert ast.literal_eval(written) == value
