"""The command blocks in the documents: typed lines, and their expected output."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

# Generated from the program: `commands.md` has its examples, the others only have code.
GENERATED = "docs/reference/"
OTHERS = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
TYPED = ("sh", "console")

_BLOCK = re.compile(r"^( *)```(\w*)(?: (\w+))?\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)
_EXAMPLES = re.compile(r"^Examples?:\n((?:  .*\n)+)", re.MULTILINE)
_DOCUMENT = re.compile(r"<<'?(\w+)'?$")
_INNER = re.compile(r"\$\(([^()]*)\)")
_OPERATORS = {"|", "||", "&&", ";", "&", "(", ")"}
_BEFORE = {"!", "until", "do"}  # the program follows
_REDIRECTIONS = {">", ">>", "<", ">&", "2>", "<<"}


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One typed line, with continuations joined, and its output on the page."""

    text: str
    printed: tuple[str, ...] = ()

    def commands(self) -> list[list[str]]:
        """Return the programs that it runs, each with its arguments, without their stdin."""
        line = self.text.partition("\n")[0]
        inner = _INNER.findall(line)
        found = [words for one in inner for words in Statement(text=one).commands()]
        text = re.sub(r"\bxargs (.*)$", r"\1 INPUT", _INNER.sub("INNER", line))
        lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;()<>")
        lexer.commenters = ""
        lexer.whitespace_split = True
        words: list[str] = []
        skip = False
        for word in [*lexer, ";"]:
            if word in _OPERATORS:
                found += [words] if words else []
                words = []
            elif not words and word in _BEFORE:
                continue
            elif skip or word in _REDIRECTIONS:
                skip = not skip
            elif words or not re.fullmatch(r"[A-Za-z_]+=.*", word):
                words.append(word)
        return found


@dataclass(frozen=True, kw_only=True)
class Block:
    """A fenced block of a page; `where` is the second word after the fence."""

    page: str
    line: int
    language: str
    where: str
    text: str

    @property
    def place(self) -> str:
        """Return the page and the line of the fence, for messages."""
        return f"{self.page}:{self.line}"

    def statements(self) -> list[Statement]:
        """Return the typed lines, in order; in a `console` block those that begin with `$`."""
        if self.language == "sh":
            lines = _joined(self.text.splitlines())
            return [Statement(text=line) for line in map(_without_comment, lines) if line]
        found: list[tuple[str, list[str]]] = []
        for line in _joined(self.text.splitlines()):
            if line.startswith("$ "):
                found.append((_without_comment(line[2:]), []))
            else:
                found[-1][1].append(line)
        return [Statement(text=text, printed=tuple(printed)) for text, printed in found]


def _joined(lines: list[str]) -> list[str]:
    """Join lines that end with a backslash, and here-documents, to one line each."""
    found: list[str] = []
    end = ""
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if end:
            found[-1] += f"\n{line}"
            end = "" if line == end else end
            continue
        found.append(line)
        begins = _DOCUMENT.search(line)
        end = begins[1] if begins else ""
    return found


def _without_comment(line: str) -> str:
    if "\n" in line:
        return line
    return re.sub(r"(^|\s)#( .*)?$", "", line).strip()


def blocks(root: Path) -> list[Block]:
    """Return all fenced blocks of the hand-written documents."""
    pages = [root / name for name in OTHERS] + sorted((root / "docs").rglob("*.md"))
    return [
        block
        for page in pages
        if not page.relative_to(root).as_posix().startswith(GENERATED)
        for block in blocks_of(page, root)
    ]


def blocks_of(page: Path, root: Path) -> list[Block]:
    """Return the fenced blocks of one page."""
    text = page.read_text("utf-8")
    return [
        Block(
            page=page.relative_to(root).as_posix(),
            line=text.count("\n", 0, match.start()) + 1,
            language=match[2],
            where=match[3] or "",
            text=_unindented(match[4], match[1]),
        )
        for match in _BLOCK.finditer(text)
    ]


def _unindented(text: str, indent: str) -> str:
    return "".join(line.removeprefix(indent) for line in text.splitlines(keepends=True))


def examples(root: Path) -> list[Statement]:
    """Return the examples in the help of all commands, as in the reference."""
    text = (root / GENERATED / "commands.md").read_text("utf-8")
    lines = [line.strip() for found in _EXAMPLES.findall(text) for line in found.splitlines()]
    return [Statement(text=one) for one in map(_without_comment, _joined(lines)) if one]
