r"""Validate regular expressions like Go.

The API server compiles the patterns of CRDs with Go's `regexp`, whose language differs from
Python's and Perl's: it has no look-around and no back references, but `\pL`, `\Q…\E` and
`[[:alpha:]]`, which Python lacks. Only the syntax is checked, not the limits on the size of the
compiled pattern.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import Final

_MOST_REPEATS: Final = 1000
REPEAT = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_NAME = re.compile(r"[A-Za-z0-9_]+")
_POSIX: Final = frozenset(
    {
        *("alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph"),
        *("lower", "print", "punct", "space", "upper", "word", "xdigit"),
    }
)
UNICODE = re.compile(r"\\[pP](?:[LMNPSZC]|\{\^?[A-Za-z_]+\})")
FLAGS = re.compile(r"\(\?[imsU]*(?:-[imsU]+)?([:)])")
_HEX = re.compile(r"[0-9A-Fa-f]{2}|\{[0-9A-Fa-f]+\}")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_CONTROLS: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class _BadPatternError(ValueError):
    """A text is not a valid pattern; the message is Go's."""


@functools.lru_cache(maxsize=1024)
def fault(pattern: str) -> str:
    """Return Go's error for a pattern; empty if it compiles."""
    try:
        _Reader(pattern).read()
    except _BadPatternError as error:
        return str(error)
    return ""


@dataclass(slots=True)
class _Reader:
    """Validates a pattern in one pass."""

    text: str
    at: int = 0
    open_groups: int = 0
    # Whether a repetition has an operand, and the start of the previous repetition.
    has_operand: bool = False
    last_repeat: int | None = None

    def read(self) -> None:
        while self.at < len(self.text):
            repeat = self._one()
            self.last_repeat = repeat
        if self.open_groups:
            raise _BadPatternError(f"missing closing ): `{self.text}`")

    def _one(self) -> int | None:
        """Parse one element; return its start if it is a repetition."""
        begin = self.at
        match self.text[begin]:
            case "(":
                self._open()
            case ")":
                if not self.open_groups:
                    raise _BadPatternError(f"unexpected ): `{self.text}`")
                self.open_groups -= 1
                self._operand(1)
            case "|":
                self.at += 1
                self.has_operand = False
            case "[":
                self._class()
            case "*" | "+" | "?":
                return self._repeat(begin, begin + 1)
            case "{":
                limits = REPEAT.match(self.text, begin)
                if limits is None:
                    self._operand(1)
                else:
                    self._check_limits(limits)
                    return self._repeat(begin, limits.end())
            case "\\":
                self._escape()
            case _:
                self._operand(1)
        return None

    def _operand(self, length: int) -> None:
        self.at += length
        self.has_operand = True

    # Repetitions

    def _check_limits(self, limits: re.Match[str]) -> None:
        least = int(limits[1])
        most = int(limits[3]) if limits[3] else -1 if limits[2] else least
        if least > _MOST_REPEATS or most > _MOST_REPEATS or 0 <= most < least:
            raise _BadPatternError(f"invalid repeat count: `{limits[0]}`")

    def _repeat(self, begin: int, end: int) -> int:
        if self.text.startswith("?", end):
            end += 1
        if self.last_repeat is not None:
            both = self.text[self.last_repeat : end]
            raise _BadPatternError(f"invalid nested repetition operator: `{both}`")
        if not self.has_operand:
            words = self.text[begin:end]
            raise _BadPatternError(f"missing argument to repetition operator: `{words}`")
        self.at = end
        return begin

    # Groups

    def _open(self) -> None:
        text, begin = self.text, self.at
        if not text.startswith("(?", begin):
            self.at += 1
        elif text.startswith(("(?P<", "(?<"), begin):
            start = text.index("<", begin) + 1
            name = _NAME.match(text, start)
            if name is None or not text.startswith(">", name.end()):
                raise _BadPatternError(f"invalid named capture: `{text[begin:]}`")
            self.at = name.end() + 1
        else:
            flags = FLAGS.match(text, begin)
            if flags is None:
                words = text[begin : begin + 3]
                raise _BadPatternError(f"invalid or unsupported Perl syntax: `{words}`")
            self.at = flags.end()
            if flags[1] == ")":
                return  # flags alone cannot be repeated
        self.open_groups += 1
        self.has_operand = False

    # Classes

    def _class(self) -> None:
        text, begin = self.text, self.at
        self.at += 2 if text.startswith("[^", begin) else 1
        first = self.at
        while self.at == first or not text.startswith("]", self.at):
            if self.at >= len(text):
                raise _BadPatternError(f"missing closing ]: `{text[begin:]}`")
            if text.startswith("[:", self.at) and (end := text.find(":]", self.at + 2)) > 0:
                name = text[self.at + 2 : end]
                if name.removeprefix("^") not in _POSIX:
                    raise _BadPatternError(f"invalid character class range: `[:{name}:]`")
                self.at = end + 2
            elif not self._set_of_characters():
                self._range(begin)
        self._operand(1)

    def _set_of_characters(self) -> bool:
        r"""Skip `\d`, `\pL` and similar classes, if there is one."""
        two = self.text[self.at : self.at + 2]
        if two in (r"\p", r"\P"):
            found = UNICODE.match(self.text, self.at)
            if found is None:
                words = self.text[self.at : self.at + 3]
                raise _BadPatternError(f"invalid character class range: `{words}`")
            self.at = found.end()
            return True
        if len(two) == 2 and two[0] == "\\" and two[1] in "dDsSwW":
            self.at += 2
            return True
        return False

    def _range(self, begin: int) -> None:
        start = self.at
        low = self._character(begin)
        after = self.text[self.at : self.at + 2]
        if len(after) == 2 and after[0] == "-" and after[1] != "]":
            self.at += 1
            if self._character(begin) < low:
                words = self.text[start : self.at]
                raise _BadPatternError(f"invalid character class range: `{words}`")

    def _character(self, begin: int) -> str:
        if self.at >= len(self.text):
            raise _BadPatternError(f"missing closing ]: `{self.text[begin:]}`")
        if self.text[self.at] == "\\":
            return self._literal_escape()
        self.at += 1
        return self.text[self.at - 1]

    # Escapes

    def _escape(self) -> None:
        if self._set_of_characters():
            self.has_operand = True
            return
        letter = self.text[self.at + 1 : self.at + 2]
        if letter == "Q":
            end = self.text.find(r"\E", self.at)
            has_letters = end != self.at + 2 and self.at + 2 < len(self.text)
            self.at = len(self.text) if end < 0 else end + 2
            self.has_operand = self.has_operand or has_letters
        elif letter and letter in "AbBz":
            self._operand(2)
        else:
            self._literal_escape()
            self.has_operand = True

    def _literal_escape(self) -> str:
        char, self.at = literal_escape(self.text, self.at)
        return char


def literal_escape(text: str, begin: int) -> tuple[str, int]:
    r"""Return the character of an escape such as `\n` or `\x41`, and its end.

    Raises `ValueError` if there is none at `begin`.
    """
    letter = text[begin + 1 : begin + 2]
    if not letter:
        raise _BadPatternError("trailing backslash at end of expression: ``")
    if octal := _OCTAL.match(text, begin + 1):
        return chr(int(octal[0], 8)), octal.end()
    if letter == "x" and (digits := _HEX.match(text, begin + 2)):
        code = int(digits[0].strip("{}"), 16)
        if code <= 0x10FFFF:
            return chr(code), digits.end()
    if letter in _CONTROLS:
        return _CONTROLS[letter], begin + 2
    if letter.isascii() and not letter.isalnum():
        return letter, begin + 2
    raise _BadPatternError(f"invalid escape sequence: `{text[begin : begin + 2]}`")
