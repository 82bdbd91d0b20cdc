from __future__ import annotations

import pytest

from olmkit.base.cel import checking
from olmkit.base.cel import expressions as cel
from olmkit.base.cel.expressions import CelError

VARIABLES = {
    "properties": cel.list_of(cel.map_of(cel.STRING, cel.DYN)),
    "size_limit": cel.INT,
    "names": cel.list_of(cel.STRING),
}
FUNCTIONS = {"semver_compare": (2, cel.INT)}


def _type(text: str) -> str:
    return str(checking.check(cel.parse(text), VARIABLES, FUNCTIONS))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("true", "bool"),
        ("1 + 2 * 3", "int"),
        ("1u + 2u", "uint"),
        ("-1.5 < 2.0", "bool"),
        ("'a' + 'b'", "string"),
        ("b'a' == b'b'", "bool"),
        ("r'\\d'", "string"),
        ("'''a\nb'''", "string"),
        ("0x1F", "int"),
        ("[1, 2][0]", "int"),
        ("[1, 'a'][0]", "dyn"),
        ("{'a': 1}['a']", "int"),
        ("{'a': 1}.a", "int"),
        ("names.all(n, n.startsWith('a'))", "bool"),
        ("names.map(n, size(n))", "list(int)"),
        ("names.map(n, n != '', size(n))", "list(int)"),
        ("names.filter(n, n > 'a')", "list(string)"),
        ("names.exists_one(n, n == 'a')", "bool"),
        ("'a' in names ? 1 : 2", "int"),
        ("!{'a': dyn(true)}['a']", "bool"),
        ("true ? dyn(1) == 1 : dyn(true)", "dyn"),
        ("!(1 == 2) && !false || true", "bool"),
        ("properties.exists(p, p.type == 'a' && semver_compare(p.value, '1.0.0') >= 0)", "bool"),
        ("has(properties[0].value)", "bool"),
        ("properties[0].value", "dyn"),
        ("type(1) == int", "bool"),
        ("timestamp('2020-01-01T00:00:00Z').getFullYear() > 2019", "bool"),
        ("size_limit > 1 // a comment", "bool"),
        ("null == null", "bool"),
        ("[]", "list(dyn)"),
    ],
)
def test_an_expression_has_a_type(text: str, wanted: str) -> None:
    assert _type(text) == wanted


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("", "Syntax error: unexpected '<EOF>'", 0),
        ("1 +", "Syntax error: unexpected '<EOF>'", 3),
        ("(1", "Syntax error: unexpected '<EOF>'", 2),
        ("1 2", "Syntax error: unexpected '2'", 2),
        ("a.", "Syntax error: unexpected '<EOF>'", 2),
        ("'a", "Syntax error: token recognition error at: '''", 0),
        ("a # b", "Syntax error: token recognition error at: '#'", 2),
        ("for", "reserved identifier: for", 0),
        ("in", "Syntax error: unexpected 'in'", 0),
        ("-!a", "Syntax error: unexpected '!'", 1),
        ("names.all(n.x, true)", "argument must be a simple name", 11),
        ("has(names)", "invalid argument to has() macro", 0),
        ("cogs.size() > 1", "undeclared reference to 'cogs' (in container '')", 0),
        ("lower('A')", "undeclared reference to 'lower' (in container '')", 0),
        ("1 + 'a'", "found no matching overload for '_+_' applied to '(int, string)'", 2),
        ("!1", "found no matching overload for '!_' applied to '(int)'", 0),
        ("1 == 'a'", "found no matching overload for '_==_' applied to '(int, string)'", 2),
        ("1[0]", "found no matching overload for '_[_]' applied to '(int, int)'", 1),
        ("size(1, 2)", "found no matching overload for 'size' applied to '(int, int)'", 0),
        ("names.all(n, 1)", "expected type 'bool' but found 'int'", 13),
        ("size_limit.all(n, true)", "expression of type 'int' cannot be range of a comprehension (must be list, map, or dynamic)", 0),  # noqa: E501
        ("size_limit.x", "type 'int' does not support field selection", 10),
    ],
)  # fmt: skip
def test_an_invalid_expression_is_refused_with_its_place(
    text: str, message: str, offset: int
) -> None:
    with pytest.raises(CelError) as caught:
        _type(text)

    assert (caught.value.message, caught.value.offset) == (message, offset)


@pytest.mark.parametrize("text", ["(" * 1000, "!" * 1000 + "a", "[" * 1000, "x" * 200_000])
def test_depth_and_length_are_bounded(text: str) -> None:
    with pytest.raises(CelError):
        cel.parse(text)


def test_a_variable_of_a_macro_hides_an_outer_one_with_the_same_name() -> None:
    assert _type("names.map(size_limit, size_limit)") == "list(string)"
