"""Versions, and the version ranges of catalogs.

Versions are strict semantic versions. The range language is the one of
`skipRange` and `olm.package.required`: blanks mean *and*, `||` means *or*, the
letter `x` means any minor or patch number, and pre-releases take part like
any other version. It has oddities that decide what a catalog means (a lone
character is dropped, a word with an `x` is a wildcard), so they are kept.
The other range language, that of OLM v1, is in `version_constraints`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from olmkit.base.diagnostics import InputError
from olmkit.base.quoting import SPACE, quote

MAX_NUMBER: Final = 2**64 - 1  # numbers of a version are unsigned 64-bit integers in every OLM
MAX_RELEASE_LENGTH: Final = 20  # operator-registry's limit for `release`

Identifier = int | str

_PLAIN = re.compile(r"(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})")
_NUMBER = re.compile(r"[0-9]+")
_WORD = re.compile(r"[0-9A-Za-z-]+")
_SIGNED = re.compile(r"[+-]?[0-9]+")


@dataclass(eq=False)
class InvalidVersionError(InputError):
    """A text is not a version; `reason` is the message of other tools."""

    reason: str = ""


@dataclass(eq=False)
class InvalidRangeError(InputError):
    """A text is not a version range; `reason` is the message of other tools."""

    reason: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """A semantic version. Build metadata is kept, and ignored in comparisons."""

    major: int
    minor: int
    patch: int
    prerelease: tuple[Identifier, ...] = field(default=(), kw_only=True)
    build: tuple[str, ...] = field(default=(), kw_only=True)
    key: tuple[object, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # A version without a pre-release comes after all its pre-releases.
        before = (0, _identifiers_key(self.prerelease)) if self.prerelease else (1,)
        object.__setattr__(self, "key", (self.major, self.minor, self.patch, *before))

    @staticmethod
    def parse(text: str) -> Version:
        """Parse `text` as a strict version; `InvalidVersionError` if it is not one."""
        if not text.isascii() or text[-1:] == "\n":  # the library accepts digits of other scripts
            raise _no_version(text)
        plain = _PLAIN.fullmatch(text)
        if plain:
            return Version(int(plain[1]), int(plain[2]), int(plain[3]))
        import semver  # most versions are plain, and the library is slow to import

        try:
            found = semver.Version.parse(text)
            prerelease = _identifiers(found.prerelease) if found.prerelease else ()
        except ValueError:  # also thousands of digits, which Python does not parse
            raise _no_version(text) from None
        numbers = [found.major, found.minor, found.patch]
        numbers += [part for part in prerelease if isinstance(part, int)]
        if max(numbers) > MAX_NUMBER:
            raise _no_version(text)
        return Version(
            found.major,
            found.minor,
            found.patch,
            prerelease=prerelease,
            build=tuple(found.build.split(".")) if found.build else (),
        )

    @staticmethod
    def parse_tolerantly(text: str) -> Version:
        """Parse a version; accept a leading `v`, spaces, leading zeros, and 1 or 2 numbers."""
        parts = text.strip(SPACE).removeprefix("v").split(".", 2)
        parts = [_without_zeros(part) for part in parts]
        if len(parts) < 3 and any(sign in parts[-1] for sign in "+-"):
            raise InvalidVersionError(
                f"`{text}` is not a version",
                reason="Short version cannot contain PreRelease/Build meta data",
            )
        return Version.parse(".".join(parts + ["0"] * (3 - len(parts))))

    @staticmethod
    def read(text: str) -> Version | None:
        """Parse `text` tolerantly as a version; None if it is not one."""
        try:
            return Version.parse_tolerantly(text)
        except InvalidVersionError:
            return None

    @property
    def without_build(self) -> Version:
        return Version(self.major, self.minor, self.patch, prerelease=self.prerelease)

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.prerelease:
            text += "-" + ".".join(str(part) for part in self.prerelease)
        return text + "+" + ".".join(self.build) if self.build else text

    def __eq__(self, other: object) -> bool:
        return self.key == other.key if isinstance(other, Version) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.key)

    def __lt__(self, other: Version) -> bool:
        return self.key < other.key

    def __le__(self, other: Version) -> bool:
        return self.key <= other.key

    def __gt__(self, other: Version) -> bool:
        return self.key > other.key

    def __ge__(self, other: Version) -> bool:
        return self.key >= other.key


@dataclass(frozen=True, slots=True)
class BuildRelease:
    """The release of a build of one version; ordered like pre-release identifiers."""

    identifiers: tuple[Identifier, ...]

    @staticmethod
    def parse(text: str) -> BuildRelease:
        """Parse `text` as a release; `InvalidVersionError` if it is not one."""
        if len(text.encode("utf-8", "surrogatepass")) > MAX_RELEASE_LENGTH:
            raise _no_release(text, f"exceeds maximum length of {MAX_RELEASE_LENGTH} characters")
        complaints = [
            f"segment {index}: {complaint}"
            for index, part in enumerate(text.split("."))
            if (complaint := _prerelease_complaint(part))
        ]
        if complaints:
            raise _no_release(text, "\n".join(complaints))
        return BuildRelease(_identifiers(text))

    @property
    def key(self) -> tuple[object, ...]:
        return _identifiers_key(self.identifiers)

    def __str__(self) -> str:
        return ".".join(str(part) for part in self.identifiers)


@dataclass(frozen=True, slots=True)
class VersionRelease:
    """A version and its optional release, by which bundles of a package are ordered."""

    version: Version
    release: BuildRelease | None = None

    @staticmethod
    def of_rebuild(version: Version) -> VersionRelease:
        """Return the version of old rebuilds, whose build metadata was the release."""
        if not version.build:
            return VersionRelease(version)
        return VersionRelease(version.without_build, BuildRelease.parse(".".join(version.build)))

    @property
    def key(self) -> tuple[object, ...]:
        """Return the sort key: by version; a version with a release comes after one without."""
        return (self.version.key, (0,) if self.release is None else (1, self.release.key))

    def __str__(self) -> str:
        return str(self.version) if self.release is None else f"{self.version}-{self.release}"

    def __lt__(self, other: VersionRelease) -> bool:
        return self.key < other.key


@dataclass(frozen=True, slots=True)
class Comparator:
    """One term of a range: an operator and the version for the comparison."""

    sign: str
    version: Version

    def matches(self, version: Version) -> bool:
        return _OPERATORS[self.sign](version.key, self.version.key)

    def __str__(self) -> str:
        return f"{self.sign}{self.version}"


@dataclass(frozen=True, slots=True)
class VersionRange:
    """A range: one of the groups must match, with all its comparators."""

    text: str
    groups: tuple[tuple[Comparator, ...], ...]

    @staticmethod
    def parse(text: str) -> VersionRange:
        """Parse `text` in the language of `skipRange`; `InvalidRangeError` if it is not a range."""
        try:
            groups = [_with_wildcards(group) for group in _split_or(_tokens(text))]
            parsed = tuple(tuple(_comparator(term) for term in group) for group in groups)
        except _RangeComplaint as complaint:
            raise InvalidRangeError(
                f"`{text}` is not a version range: {complaint}",
                "write terms such as `>=1.0.0 <2.0.0`, alternatives with ` || `",
                reason=str(complaint),
            ) from None
        return VersionRange(text, parsed)

    def __contains__(self, version: Version) -> bool:
        # An empty group (`1.0.0 || || 2.0.0`) matches nothing; other tools crash on it.
        return any(
            group and all(comparator.matches(version) for comparator in group)
            for group in self.groups
        )

    def __str__(self) -> str:
        return self.text


class _RangeComplaint(Exception):  # noqa: N818 - never leaves this file
    pass


_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "": operator.eq,
    "=": operator.eq,
    "==": operator.eq,
    "!": operator.ne,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


def _tokens(text: str) -> list[str]:
    """Return the parts of a range; a space after `<`, `>` or `=` does not separate parts.

    Words of a single byte are always dropped.
    """
    data = text.encode("utf-8", "surrogatepass")
    words: list[bytes] = []
    start = 0
    before = 0
    for index, byte in enumerate(data):
        if byte == 0x20 and before not in b"<>=":
            if start < index - 1:
                words.append(data[start:index])
            start = index + 1
        elif byte != 0x20:
            before = byte
    if start < len(data) - 1:
        words.append(data[start:])
    return [word.replace(b" ", b"").decode("utf-8", "surrogatepass") for word in words]


def _split_or(words: list[str]) -> list[list[str]]:
    groups: list[list[str]] = []
    start = 0
    for index, word in enumerate(words):
        if word == "||":
            if index == 0:
                raise _RangeComplaint("First element in range is '||'")
            groups.append(words[start:index])
            start = index + 1
    if start == len(words):
        raise _RangeComplaint("Last element in range is '||'")
    return [*groups, words[start:]]


def _split_sign(term: str) -> tuple[str, str]:
    for index, char in enumerate(term):
        if char.isdecimal():
            return term[:index].strip(SPACE), term[index:]
    raise _RangeComplaint(f"Could not get version from string: {quote(term)}")


def _with_wildcards(terms: list[str]) -> list[str]:
    """Return the terms, each with a wildcard replaced by one or two plain ones."""
    plain: list[str] = []
    for term in terms:
        if "x" not in term:
            plain.append(term)
            continue
        sign, version = _split_sign(term)
        lower = version.replace(".x.x", ".x", 1).replace(".x", ".0", 1)
        if lower.count(".") == 1:
            lower += ".0"
        upper = _next(lower, version)
        match sign:
            case ">":
                plain.append(f">={upper}")
            case ">=":
                plain.append(f">={lower}")
            case "<":
                plain.append(f"<{lower}")
            case "<=":
                plain.append(f"<{upper}")
            case "" | "=" | "==":
                plain += [f">={lower}", f"<{upper}"]
            case "!" | "!=":
                plain += [f"<{lower}", f">={upper}"]
            case _:
                plain.append(lower)
    return plain


def _next(lower: str, wildcard: str) -> str:
    """Return the first version after a wildcard; empty if the wildcard is not at the end."""
    parts = wildcard.split(".")
    if parts[-1] != "x" or len(parts) not in (2, 3):
        return ""
    raised = lower.split(".")
    place = len(parts) - 2
    if not _SIGNED.fullmatch(raised[place]) or len(raised[place]) > 18:
        return ""  # numbers near the 64-bit limit
    raised[place] = str(int(raised[place]) + 1)
    return ".".join(raised)


def _comparator(term: str) -> Comparator:
    sign, version = _split_sign(term)
    if sign not in _OPERATORS:
        raise _RangeComplaint(
            f"Could not parse Range {quote(term)}: Could not parse comparator "
            f"{quote(sign)} in {quote(sign + version)}"
        )
    try:
        return Comparator(sign, Version.parse(version))
    except InvalidVersionError as error:
        raise _RangeComplaint(
            f"Could not parse Range {quote(term)}: Could not parse version "
            f"{quote(version)} in {quote(sign + version)}: {error.reason}"
        ) from None


def _identifiers(text: str) -> tuple[Identifier, ...]:
    return tuple(int(part) if part.isdecimal() else part for part in text.split("."))


def _identifiers_key(identifiers: tuple[Identifier, ...]) -> tuple[object, ...]:
    return tuple((0, part, "") if isinstance(part, int) else (1, 0, part) for part in identifiers)


def _without_zeros(part: str) -> str:
    if len(part.encode("utf-8", "surrogatepass")) < 2:
        return part
    stripped = part.lstrip("0")
    return stripped if stripped[:1] in tuple("123456789") else "0" + stripped


def _no_version(text: str) -> InvalidVersionError:
    reason = _complaint(text)
    return InvalidVersionError(
        f"`{text}` is not a version: {reason}",
        "a version has three numbers, such as `1.2.3` or `1.2.3-rc.1`",
        reason=reason,
    )


def _no_release(text: str, words: str) -> InvalidVersionError:
    reason = f"invalid release {quote(text)}: {words}"
    return InvalidVersionError(
        f"`{text}` is not a release: {words}", "a release is a number such as `1`", reason=reason
    )


def _complaint(text: str) -> str:
    """Return the error for an invalid version, with the message of other tools."""
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != 3:
        return "No Major.Minor.Patch elements found"
    patch, plus, build = parts[2].partition("+")
    patch, minus, prerelease = patch.partition("-")
    for name, number in zip(("major", "minor", "patch"), (*parts[:2], patch), strict=True):
        complaint = _number_complaint(name, number)
        if complaint:
            return complaint
    for part in prerelease.split(".") if minus else ():
        complaint = _prerelease_complaint(part)
        if complaint:
            return complaint
    for part in build.split(".") if plus else ():
        if not part:
            return "Build meta data is empty"
        if not _WORD.fullmatch(part):
            return f"Invalid character(s) found in build meta data {quote(part)}"
    return "invalid version"  # pragma: no cover - everything the library refuses is named above


def _number_complaint(name: str, text: str) -> str:
    if not text:
        return 'strconv.ParseUint: parsing "": invalid syntax'
    if not _NUMBER.fullmatch(text):
        return f"Invalid character(s) found in {name} number {quote(text)}"
    if len(text) > 1 and text[0] == "0":
        return f"{name.capitalize()} number must not contain leading zeroes {quote(text)}"
    return _range_complaint(text)


def _prerelease_complaint(text: str) -> str:
    if not text:
        return "Prerelease is empty"
    if _NUMBER.fullmatch(text):
        if len(text) > 1 and text[0] == "0":
            return f"Numeric PreRelease version must not contain leading zeroes {quote(text)}"
        return _range_complaint(text)
    if not _WORD.fullmatch(text):
        return f"Invalid character(s) found in prerelease {quote(text)}"
    return ""


def _range_complaint(digits: str) -> str:
    # Compared by length first: Python refuses to parse integers with thousands of digits.
    if len(digits) > 20 or int(digits) > MAX_NUMBER:
        return f"strconv.ParseUint: parsing {quote(digits)}: value out of range"
    return ""
