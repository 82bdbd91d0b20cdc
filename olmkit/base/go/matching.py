r"""Match text with Go's regular expressions.

Patterns are untrusted, so text is matched as in Go, with a set of states and in time proportional
to text and pattern; Python's `re` may take forever, and parses some patterns differently. For
`\p{…}`, categories are supported, scripts are not.
"""

from __future__ import annotations

import bisect
import functools
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from olmkit.base.go import patterns

MAX_SIZE: Final = 10_000  # maximum states of a pattern

Test = Callable[[str], bool]
Place = Callable[[str, int], bool]
# Adds the states of a part of a pattern after a state, and returns the last state.
Part = Callable[["_States", int], int]

_Ranges = list[tuple[str, str]]

_WORD: Final = "09AZaz__"
# Pairs of first and last characters.
_SETS: Final = {
    "alnum": "09AZaz",
    "alpha": "AZaz",
    "ascii": "\0\x7f",
    "blank": "\t\t  ",
    "cntrl": "\0\x1f\x7f\x7f",
    "digit": "09",
    "graph": "!~",
    "lower": "az",
    "print": " ~",
    "punct": "!/:@[`{~",
    "space": "\t\r  ",
    "upper": "AZ",
    "word": _WORD,
    "xdigit": "09AFaf",
    "d": "09",
    "s": "\t\n\f\r  ",
    "w": _WORD,
}


class PatternError(ValueError):
    """A pattern that is not supported."""


def matches(pattern: str, text: str, spend: Callable[[int], None]) -> bool:
    """Return whether the pattern matches somewhere in `text`; raise `PatternError` if it is none.

    `spend` is called for each step of work, and may raise.
    """
    fault = patterns.fault(pattern)
    if fault:
        raise PatternError(fault)
    try:
        states = _compile(pattern)
    except PatternError:
        spend(MAX_SIZE)
        raise
    spend(len(states.next))
    current: set[int] = set()
    for at in range(len(text) + 1):
        reached = states.closure({0, *current}, text, at)
        spend(1 + len(reached))
        if states.last in reached:
            return True
        current = set() if at == len(text) else states.after(reached, text[at])
    return False


@functools.lru_cache(maxsize=64)
def _compile(pattern: str) -> _States:
    states = _States()
    try:
        states.last = _Reader(pattern).alternatives()(states, states.add())
    except RecursionError:
        raise PatternError("expression nests too deeply") from None
    return states


@dataclass(slots=True)
class _States:
    """By number: the next states, and the condition: a test of a character or of the position."""

    next: list[list[int]] = field(default_factory=list)
    tests: list[Test | None] = field(default_factory=list)
    places: list[Place | None] = field(default_factory=list)
    last: int = 0

    def add(
        self, *, after: int | None = None, test: Test | None = None, place: Place | None = None
    ) -> int:
        if len(self.next) >= MAX_SIZE:
            raise PatternError("expression too large")
        self.next.append([])
        self.tests.append(test)
        self.places.append(place)
        if after is not None:
            self.next[after].append(len(self.next) - 1)
        return len(self.next) - 1

    def closure(self, reached: set[int], text: str, at: int) -> set[int]:
        """Return these states and all that are reachable without a character."""
        waiting = list(reached)
        while waiting:
            state = waiting.pop()
            place = self.places[state]
            if self.tests[state] is None and (place is None or place(text, at)):
                fresh = [target for target in self.next[state] if target not in reached]
                reached.update(fresh)
                waiting.extend(fresh)
        return reached

    def after(self, states: set[int], char: str) -> set[int]:
        """Return the states that follow the character."""
        found: set[int] = set()
        for state in states:
            test = self.tests[state]
            if test is not None and test(char):
                found.update(self.next[state])
        return found


@dataclass(slots=True)
class _Reader:
    """Parses a valid pattern."""

    text: str
    at: int = 0
    flags: frozenset[str] = frozenset()

    def alternatives(self) -> Part:
        """Parse the parts up to the end of the group or pattern."""
        branches = [self._sequence()]
        while self.text.startswith("|", self.at):
            self.at += 1
            branches.append(self._sequence())
        return _alternate(branches) if len(branches) > 1 else branches[0]

    def _sequence(self) -> Part:
        parts: list[Part] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            limits = self._limits()
            if limits:
                parts[-1] = _repeat(parts[-1], *limits)
            else:
                self._read_one(parts)
        return _concatenate(parts)

    def _limits(self) -> tuple[int, int | None] | None:
        """Return the repetition here, if there is one."""
        sign = self.text[self.at]
        limits: tuple[int, int | None] | None = None
        if sign in "*+?":
            limits = (1 if sign == "+" else 0, 1 if sign == "?" else None)
            self.at += 1
        elif found := patterns.REPEAT.match(self.text, self.at):
            most = int(found[3]) if found[3] else None if found[2] else int(found[1])
            limits = (int(found[1]), most)
            self.at = found.end()
        if limits and self.text.startswith("?", self.at):
            self.at += 1  # greediness does not matter for a search
        return limits

    def _read_one(self, parts: list[Part]) -> None:
        sign = self.text[self.at]
        match sign:
            case "(":
                self._read_group(parts)
            case "[":
                parts.append(_character(self._class()))
            case "\\":
                self._read_escape(parts)
            case "." | "^" | "$":
                self.at += 1
                parts.append(self._sign(sign))
            case _:
                self.at += 1
                parts.append(self._literal(sign))

    def _sign(self, sign: str) -> Part:
        if sign == ".":
            return _character(_none_of("" if "s" in self.flags else "\n\n"))
        if sign == "^":
            return _at(_begins_line if "m" in self.flags else _begins)
        return _at(_ends_line if "m" in self.flags else _ends)

    def _literal(self, char: str) -> Part:
        return _character(self._test([(char, char)], set()))

    def _read_group(self, parts: list[Part]) -> None:
        outer = self.flags
        flags = patterns.FLAGS.match(self.text, self.at)
        if flags:
            self.at = flags.end()
            on, _, off = flags[0][2:-1].partition("-")
            self.flags = (self.flags | set(on)) - set(off)
            if flags[1] == ")":
                return  # they apply up to the end of the enclosing group
        elif self.text.startswith("(?", self.at):
            self.at = self.text.index(">", self.at) + 1
        else:
            self.at += 1
        parts.append(self.alternatives())
        self.at += 1
        self.flags = outer

    def _read_escape(self, parts: list[Part]) -> None:
        letter = self.text[self.at + 1]
        if letter == "Q":
            end = self.text.find(r"\E", self.at)
            letters = self.text[self.at + 2 : end if end >= 0 else None]
            parts.extend(map(self._literal, letters))
            self.at += 2 + len(letters) + (2 if end >= 0 else 0)
        elif letter in _PLACES:
            self.at += 2
            parts.append(_at(_PLACES[letter]))
        elif found := self._set():
            parts.append(_character(self._test(*found)))
        else:
            char, self.at = patterns.literal_escape(self.text, self.at)
            parts.append(self._literal(char))

    def _set(self) -> tuple[_Ranges, set[Test]] | None:
        r"""Return the ranges and tests of a class such as `\d`, `\pL` or `[:alpha:]`."""
        if found := patterns.UNICODE.match(self.text, self.at):
            self.at = found.end()
            name = found[0][2:].strip("{}")
            is_not = (found[0][1] == "P") != name.startswith("^")
            return [], {_in_category(name.removeprefix("^"), is_not)}
        if self.text.startswith("[:", self.at) and (end := self.text.find(":]", self.at)) > 0:
            name = self.text[self.at + 2 : end]
            self.at = end + 2
        elif self.text.startswith("\\", self.at) and self.text[self.at + 1].lower() in "dsw":
            name = self.text[self.at + 1]
            name = name if name.islower() else "^" + name.lower()
            self.at += 2
        else:
            return None
        ends = _SETS[name.removeprefix("^")]
        return ([], {_none_of(ends)}) if name.startswith("^") else (_pairs(ends), set())

    def _class(self) -> Test:
        self.at += 1
        is_not = self.text.startswith("^", self.at)
        self.at += is_not
        first, ranges, tests = self.at, _Ranges(), set[Test]()
        while self.at == first or not self.text.startswith("]", self.at):
            if found := self._set():
                ranges += found[0]
                tests |= found[1]
                continue
            low = high = self._class_character()
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                high = self._class_character()
            ranges.append((low, high))
        self.at += 1
        test = self._test(ranges, tests)
        return (lambda char: not test(char)) if is_not else test

    def _class_character(self) -> str:
        if self.text[self.at] == "\\":
            char, self.at = patterns.literal_escape(self.text, self.at)
            return char
        self.at += 1
        return self.text[self.at - 1]

    def _test(self, ranges: _Ranges, tests: set[Test]) -> Test:
        in_ranges = _one_of(ranges)

        def is_in(char: str) -> bool:
            return in_ranges(char) or any(test(char) for test in tests)

        if "i" in self.flags:
            return lambda char: any(map(is_in, {char, *_other_cases(char)}))
        return is_in


def _pairs(ends: str) -> _Ranges:
    return list(zip(ends[::2], ends[1::2], strict=True))


def _one_of(ranges: _Ranges) -> Test:
    lows: list[str] = []
    highs: list[str] = []
    for low, high in sorted(ranges):
        if highs and low <= highs[-1]:
            highs[-1] = max(high, highs[-1])
        else:
            lows.append(low)
            highs.append(high)

    def is_in(char: str) -> bool:
        place = bisect.bisect_right(lows, char) - 1
        return place >= 0 and char <= highs[place]

    return is_in


@functools.cache
def _none_of(ends: str) -> Test:
    is_in = _one_of(_pairs(ends))
    return lambda char: not is_in(char)


@functools.lru_cache(maxsize=128)
def _in_category(name: str, is_not: bool) -> Test:
    if name == "Any":
        name = ""  # every category begins with nothing
    if len(name) > 2:
        raise PatternError(f"the character class `{name}` is not supported")
    return lambda char: unicodedata.category(char).startswith(name) is not is_not


def _other_cases(char: str) -> list[str]:
    return [other for other in (char.lower(), char.upper()) if len(other) == 1]


# Parts


def _character(test: Test) -> Part:
    return lambda states, begin: states.add(after=states.add(after=begin, test=test))


def _at(place: Place) -> Part:
    return lambda states, begin: states.add(after=states.add(after=begin, place=place))


def _concatenate(parts: list[Part]) -> Part:
    def add(states: _States, begin: int) -> int:
        # Even an empty part needs a state, so that repeating it a million times is also refused.
        return functools.reduce(lambda at, part: part(states, at), parts, states.add(after=begin))

    return add


def _alternate(parts: list[Part]) -> Part:
    def add(states: _States, begin: int) -> int:
        ends = [part(states, states.add(after=begin)) for part in parts]
        last = states.add()
        for end in ends:
            states.next[end].append(last)
        return last

    return add


def _repeat(part: Part, minimum: int, most: int | None) -> Part:
    def add(states: _States, begin: int) -> int:
        end = _concatenate([part] * minimum)(states, begin)
        if most is None:
            again = states.add(after=end)
            states.next[part(states, again)].append(again)
            return states.add(after=again)
        ends = [end]
        for _ in range(most - minimum):
            ends.append(part(states, states.add(after=ends[-1])))
        last = states.add()
        for reached in ends:
            states.next[reached].append(last)
        return last

    return add


# Positions


def _begins(_: str, at: int) -> bool:
    return at == 0


def _ends(text: str, at: int) -> bool:
    return at == len(text)


def _begins_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"


def _ends_line(text: str, at: int) -> bool:
    return at == len(text) or text[at] == "\n"


def _is_edge(text: str, at: int) -> bool:
    return _is_word(text[max(at - 1, 0) : at]) is not _is_word(text[at : at + 1])


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


_PLACES: Final = {
    "A": _begins,
    "z": _ends,
    "b": _is_edge,
    "B": lambda text, at: not _is_edge(text, at),
}
