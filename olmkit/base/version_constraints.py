"""The version ranges of OLM v1, as in a ClusterExtension.

Blanks and commas mean *and*, `||` means *or*; there are carets, tildes, hyphen ranges, and
wildcards in any place. A group excludes pre-releases unless the group itself names one. This
language differs from that of `skipRange` (`versions.VersionRange`), and the same text may have
different meanings in the two.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from olmkit.base.versions import MAX_NUMBER, InvalidRangeError, Version

MAX_LENGTH: Final = 1024  # the field of a ClusterExtension allows 64; filters may be longer

_SPACE = r"[ \t\n\f\r]"
_NUMBER = r"[0-9|xX*]+"
_IDENTIFIERS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = rf"v?{_NUMBER}(?:\.{_NUMBER})?(?:\.{_NUMBER})?(?:-{_IDENTIFIERS})?(?:\+{_IDENTIFIERS})?"
_SIGN = r"(?:=|!=|>=|=>|<=|=<|~>|>|<|~|\^|)"
# Possessive repetition keeps matching linear on hostile text.
_TERM = rf"{_SIGN}{_SPACE}*+{_VERSION}"
_GROUP = re.compile(rf"{_SPACE}*+{_TERM}(?:(?:{_SPACE}*+,{_SPACE}*+|{_SPACE}++){_TERM})*{_SPACE}*+")
_TERMS = re.compile(
    rf"(?P<sign>{_SIGN}){_SPACE}*+(?P<version>v?(?P<major>{_NUMBER})(?P<minor>\.{_NUMBER})?"
    rf"(?P<patch>\.{_NUMBER})?(?:-(?P<prerelease>{_IDENTIFIERS}))?(?:\+{_IDENTIFIERS})?)"
)
_HYPHEN = re.compile(
    rf"{_SPACE}*+(?P<low>{_VERSION}){_SPACE}++-{_SPACE}++(?P<high>{_VERSION}){_SPACE}*+"
)
_WILDCARDS = frozenset("xX*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One comparison. `known` is the number of given parts: 3 without a wildcard."""

    sign: str
    version: Version
    known: int

    def matches(self, version: Version) -> bool:
        match self.sign:
            case "" | "=":
                return self._tilde(version) if self.known < 3 else version == self.version
            case "!=":
                return not self._equal(version)
            case ">":
                return self._greater(version)
            case "<":
                return version < self.version
            case ">=" | "=>":
                return version >= self.version
            case "<=" | "=<":
                return self._at_most(version)
            case "~" | "~>":
                return self._tilde(version)
            case _:
                return self._caret(version)

    def _equal(self, version: Version) -> bool:
        # `!=*` excludes only 0.0.0, an oddity of the language; so does `>*`.
        if self.known in (0, 3):
            return version == self.version
        if _numbers(version)[: self.known] != _numbers(self.version)[: self.known]:
            return False
        return self.known == 1 or version.prerelease == self.version.prerelease

    def _greater(self, version: Version) -> bool:
        if self.known in (0, 3):
            return version > self.version
        return _numbers(version)[: self.known] > _numbers(self.version)[: self.known]

    def _at_most(self, version: Version) -> bool:
        if self.known == 3:
            return version <= self.version
        counted = 1 if self.known == 1 else 2
        return _numbers(version)[:counted] <= _numbers(self.version)[:counted]

    def _tilde(self, version: Version) -> bool:
        if version < self.version:
            return False
        if self.known in (0, 3) and not any(_numbers(self.version)):
            return True
        counted = 1 if self.known == 1 else 2
        return _numbers(version)[:counted] == _numbers(self.version)[:counted]

    def _caret(self, version: Version) -> bool:
        low = self.version
        if version < low:
            return False
        if low.major > 0 or self.known == 1:
            return version.major == low.major
        if low.minor > 0 or self.known == 2:
            return _numbers(version)[:2] == _numbers(low)[:2]
        return _numbers(version) == _numbers(low)


@dataclass(frozen=True, slots=True)
class VersionConstraint:
    """A constraint: one of the groups must match, with all its terms."""

    text: str
    groups: tuple[tuple[Term, ...], ...]

    @staticmethod
    def parse(text: str) -> VersionConstraint:
        """Parse `text` in the language of OLM v1; `InvalidRangeError` if it is not a constraint."""
        if len(text) > MAX_LENGTH:
            raise _no_constraint(
                text[:60] + "…", f"constraint is longer than {MAX_LENGTH} characters"
            )
        groups = tuple(_group(part, text) for part in _without_hyphens(text).split("||"))
        return VersionConstraint(text, groups)

    def __contains__(self, version: Version) -> bool:
        return any(_all_match(group, version) for group in self.groups)

    def __str__(self) -> str:
        return self.text


def _all_match(group: tuple[Term, ...], version: Version) -> bool:
    if version.prerelease and not any(term.version.prerelease for term in group):
        return False
    return all(term.matches(version) for term in group)


def _without_hyphens(text: str) -> str:
    """Convert `1.2 - 2.0` to two comparisons."""
    return _HYPHEN.sub(lambda found: f">= {found['low']}, <= {found['high']} ", text)


def _group(part: str, text: str) -> tuple[Term, ...]:
    if not _GROUP.fullmatch(part):
        raise _no_constraint(text, f"improper constraint: {part}")
    return tuple(_term(found, text) for found in _TERMS.finditer(part))


def _term(found: re.Match[str], text: str) -> Term:
    numbers: list[int] = []
    for name in ("major", "minor", "patch"):
        part = (found[name] or "x").removeprefix(".")
        if part in _WILDCARDS:
            break
        if not part.isdecimal() or len(part) > 20 or int(part) > MAX_NUMBER:
            raise _no_constraint(text, "constraint parser error")
        numbers.append(int(part))
    identifiers = (found["prerelease"] or "").split(".") if found["prerelease"] else []
    if any(part.isdecimal() and len(part) > 1 and part[0] == "0" for part in identifiers):
        raise _no_constraint(text, "constraint parser error")
    version = Version(
        *[*numbers, 0, 0, 0][:3],
        prerelease=tuple(int(part) if part.isdecimal() else part for part in identifiers),
    )
    return Term(sign=found["sign"], version=version, known=len(numbers))


def _numbers(version: Version) -> tuple[int, int, int]:
    return (version.major, version.minor, version.patch)


def _no_constraint(text: str, reason: str) -> InvalidRangeError:
    return InvalidRangeError(
        f"`{text}` selects no versions: {reason}",
        "for example `1.2.x`, `^1.2`, `~1.2.3`, `>=1.2, <2`, `1.2 - 2.0`",
        reason=reason,
    )
