"""Every command of the documentation is tested: it runs, or there is a reason why not.

All of them, including the examples in the help, are parsed by the program.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from olmkit.cli import main
from tests import page_walks
from tests.command_blocks import TYPED, Block, Statement, blocks, examples

# Lines of other blocks that look like shell commands.
COMMAND = re.compile(r"^(\$ |(olmkit|make|pip|kubectl|helm|docker|curl) [a-z-])")
# Languages in which a line can begin like a command and mean something else.
CODE = ("python", "go", "toml", "yaml", "diff")
IN_CODE = re.compile(r"^[-+ ]*(?:- )?(?:run: |exec )?(olmkit [a-z].*)$", re.MULTILINE)
# Programs that a page can name: each is well-known, or the page says where it is from.
PROGRAMS = {
    "olmkit",
    "kubectl",
    "make",
    "cd",
    "cat",
    "pip",
    "curl",
    "helm",
    "kustomize",
    "mkdir",
    "git",
    "gh",
    "ansible-galaxy",
    "uv",
    "echo",
    "date",
    "diff",
    "grep",
    "jq",
    "python",
    "cp",
    "grpcurl",
    "docker",
    ".venv/bin/python",
    "find",
    "sed",
    "sort",
    "uniq",
    "eval",
    "sh",
    "export",
    "sleep",
    "done",
    "dot",
}
TARGET = re.compile(r"^([a-z0-9-]+):", re.MULTILINE)


@pytest.fixture(scope="module")
def all_blocks(root: Path) -> list[Block]:
    return blocks(root)


@pytest.fixture(scope="module")
def typed(all_blocks: list[Block]) -> list[tuple[Block, Statement]]:
    """Return all lines that the documents type."""
    return [(block, one) for block in all_blocks if block.language in TYPED
            for one in block.statements()]  # fmt: skip


@pytest.fixture(autouse=True)
def _any_path(monkeypatch: pytest.MonkeyPatch) -> None:
    # The run of the command checks whether a file exists.
    monkeypatch.setattr(click.Path, "convert", lambda _self, value, *_: Path(value))


def parse(words: list[str]) -> None:
    """Parse as the program does, without a run; raise `click.UsageError` for an error."""
    command: click.Command = main.root
    context, rest = click.Context(command, info_name="olmkit"), words[1:]
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        found = command.get_command(context, rest[0])
        if found is None:
            raise click.UsageError(f"no such command: {' '.join(words)}")
        context = click.Context(found, parent=context, info_name=rest[0])
        command, rest = found, rest[1:]
    if isinstance(command, click.Group):
        raise click.UsageError(f"not a whole command: {' '.join(words)}")
    command.make_context(context.info_name, rest, parent=context.parent)


def usage_error(words: list[str]) -> str:
    """Return the error in a command as text."""
    try:
        parse(words)
    except click.exceptions.Exit:
        return ""  # an option such as `--help` answers at once
    except click.ClickException as error:
        return error.format_message()
    return ""


def of_olmkit(statements: list[Statement]) -> Iterator[list[str]]:
    for statement in statements:
        yield from (words for words in statement.commands() if words[0] == "olmkit")


def test_every_block_says_its_language(all_blocks: list[Block]) -> None:
    assert [block.place for block in all_blocks if not block.language] == []


def test_no_command_is_in_a_block_of_text(all_blocks: list[Block]) -> None:
    lines = [
        f"{block.place}: {line}"
        for block in all_blocks
        if block.language not in (*TYPED, *CODE)
        for line in block.text.splitlines()
        if COMMAND.match(line)
    ]
    assert lines == []


def test_the_program_accepts_every_command(
    typed: list[tuple[Block, Statement]], all_blocks: list[Block]
) -> None:
    found = [(block.place, words) for block, one in typed for words in of_olmkit([one])]
    assert len(found) > 200
    found += [
        (block.place, words)
        for block in all_blocks
        if block.language in CODE
        for line in IN_CODE.findall(block.text.replace("\\\n", " "))
        for words in of_olmkit([Statement(text=line.split(" #")[0])])
    ]
    wrong = {f"{place}: {' '.join(words)}": usage_error(words) for place, words in found}
    assert {line: why for line, why in wrong.items() if why} == {}


def test_the_program_accepts_the_examples_of_its_help(root: Path) -> None:
    found = list(of_olmkit(examples(root)))
    assert len(found) > 150
    wrong = {" ".join(words): usage_error(words) for words in found}
    assert {line: why for line, why in wrong.items() if why} == {}


@pytest.mark.parametrize(
    "line",
    [
        "olmkit bundle validat bundle",
        "olmkit bundle",
        "olmkit bundle validate --no-such-option bundle",
        "olmkit bundle validate -o no-such-form bundle",
        "olmkit hub serve --port many catalog",
        "olmkit image verify --key cosign.pub",
        "olmkit explain CSV012 one too many",
    ],
)
def test_a_command_that_the_program_refuses_is_found(line: str) -> None:
    assert usage_error(line.split())


def test_programs_targets_and_extras_exist(
    root: Path, typed: list[tuple[Block, Statement]]
) -> None:
    files = [root / "Makefile", *root.glob("olmkit/project/templates/**/Makefile.tmpl")]
    targets = {name for file in files for name in TARGET.findall(file.read_text())}
    extras = {}
    for name, path in (("olmkit", "pyproject.toml"), ("olmkit-runtime", "runtime/pyproject.toml")):
        project: dict[str, Any] = tomllib.loads((root / path).read_text())["project"]
        extras[name] = set(project["optional-dependencies"])
    extras["."] = extras["olmkit"]
    for block, statement in typed:
        for words in statement.commands():
            assert words[0] in PROGRAMS, block.place
            if words[0] == "make":
                named = [word for word in words[1:] if "=" not in word and word[0] != "-"]
                assert set(named) <= targets, block.place
            if words[:2] == ["pip", "install"]:
                for name, part in re.findall(r"([\w.-]+)\[([\w,-]+)\]", statement.text):
                    assert set(part.split(",")) <= extras[name], block.place


def test_every_line_is_run_or_has_a_reason(
    typed: list[tuple[Block, Statement]],
) -> None:
    walked = {*page_walks.WALKED, *page_walks.WALKED_ELSEWHERE}
    open_ends = [
        f"{block.place}: {statement.text}"
        for block, statement in typed
        if block.page not in walked and not page_walks.reason(block.page, statement.text)
    ]
    assert open_ends == [], "follow the page in tests/page_walks.py, or add a reason"


def test_every_entry_is_about_an_existing_page(
    root: Path, typed: list[tuple[Block, Statement]]
) -> None:
    pages = {block.page for block, _ in typed}
    assert {*page_walks.WALKED, *page_walks.WALKED_ELSEWHERE, *page_walks.LEFT_OUT} <= pages
    assert not set(page_walks.WALKED) & set(page_walks.WALKED_ELSEWHERE)
    assert set(page_walks.WALKED) >= page_walks.SERVED
    for page, starts in page_walks.LEFT_OUT.items():
        lines = [one.text for block, one in typed if block.page == page]
        for start, why in starts.items():
            assert any(line.startswith(start) for line in lines), f"{page}: {start}"
            for path in re.findall(r"`(tests/[\w./]+)`", why):
                assert (root / path).exists(), path
    for page, start in page_walks.EXITS:
        lines = [one.text for block, one in typed if block.page == page]
        assert any(line.startswith(start) for line in lines), f"{page}: {start}"
    for page, path in page_walks.WALKED_ELSEWHERE.items():
        assert Path(page).stem in (root / path).read_text(), f"{path} does not read {page}"


def test_a_page_that_is_walked_runs_something(typed: list[tuple[Block, Statement]]) -> None:
    for page in page_walks.WALKED:
        lines = [one.text for block, one in typed if block.page == page]
        assert any(not page_walks.reason(page, line) for line in lines), page
