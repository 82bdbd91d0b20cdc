"""The lines of keys in TOML files."""

from __future__ import annotations

import time
import tomllib

import pytest

from olmkit.base import toml_positions


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("[tool.olmkit]\nrole-name = 3\n", 2, 1),
        ('[project]\n\n# role-name\n[tool.olmkit]\nyear = ""\n  role-name = 3', 6, 3),
        ("[tool]\nolmkit.role-name = 3\n", 2, 8),
        ('tool.olmkit = { year = "", role-name = 3 }\n', 1, 28),
        ('[tool.olmkit]\ntext = """\nrole-name = 1\n"""\nrole-name = [\n 3,\n]\n', 5, 1),
    ],
)
def test_a_key_is_found_at_its_line(text: str, line: int, column: int) -> None:
    at = toml_positions.find(text, "p", "tool", "olmkit", "role-name")
    assert (at.path, at.line, at.column) == ("p", line, column)


def test_a_key_in_a_list_of_tables_is_found() -> None:
    text = "[[registry]]\na = 1\n[[registry]]\na = 2\n[[registry.mirror]]\nb = 1\n"
    assert toml_positions.find(text, "p", "registry", 0, "a").line == 2
    assert toml_positions.find(text, "p", "registry", 1, "a").line == 4
    assert toml_positions.find(text, "p", "registry", 1, "mirror", 0, "b").line == 6


def test_many_lines_with_the_name_do_not_take_quadratic_time() -> None:
    start = time.process_time()
    comments = "# key\n" * 100_000
    assert toml_positions.find(comments + "key = 1\n", "p", "key").line is None
    assert time.process_time() - start < 10


def test_a_missing_key_has_the_place_of_the_file() -> None:
    at = toml_positions.find("[tool]\n", "p", "tool", "olmkit")
    assert (at.path, at.line) == ("p", None)


def test_invalid_toml_has_the_place_of_its_parser_error() -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as caught:
        tomllib.loads("a = 1\nb = = 2\n")
    words, at = toml_positions.of_error(caught.value, "p")
    assert words == "Invalid value"
    assert (at.line, at.column) == (2, 5)
