"""The sources of an image according to `registries.conf`, as in Podman and CRI-O.

A rule applies to all names that start with its prefix; the longest prefix takes precedence. Its
mirrors are tried first, in order, then its location. Only version 2 of the format is supported, and
only the settings for sources of images; short names and search lists are not used, because olmkit
interprets names like Docker. Podman ignores unknown keys; here, each is a warning.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from olmkit.base import configuration, findings, toml_positions
from olmkit.base.configuration import Shape
from olmkit.base.diagnostics import ConfigurationError, Diagnostic
from olmkit.oci.reference import InvalidReferenceError, Reference

_MIRROR: Final[Shape] = {"location": str, "insecure": bool, "pull-from-mirror": str}
_FILE: Final[Shape] = {
    "registry": [
        {
            "prefix": str,
            "location": str,
            "insecure": bool,
            "blocked": bool,
            "mirror-by-digest-only": bool,
            "mirror": [_MIRROR],
        }
    ],
    # Of other programs that read the file:
    "unqualified-search-registries": object,
    "short-name-mode": str,
    "aliases": object,
    "credential-helpers": object,
    "additional-layer-store-auth-helper": str,
}
_PULLS = ("all", "digest-only", "tag-only")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mirror:
    """A mirror; `pull` is the kind of references for which it is used."""

    location: str
    insecure: bool = False
    pull: str = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorRule:
    """The rule for names with `prefix`; without `location`, their registry is used."""

    prefix: str
    location: str = ""
    insecure: bool = False
    blocked: bool = False
    by_digest_only: bool = False
    mirrors: tuple[Mirror, ...] = ()

    def covers(self, name: str) -> bool:
        """Return whether `name` (registry and repository) is below the prefix."""
        if self.prefix.startswith("*."):
            return name.partition("/")[0].partition(":")[0].endswith(self.prefix[1:])
        rest = name.removeprefix(self.prefix)
        return name.startswith(self.prefix) and (not rest or rest[0] in "/:")


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorPlace:
    """A source of an image; `insecure`: HTTP and invalid certificates are accepted."""

    reference: Reference
    insecure: bool = False


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one machine; of two with the same prefix, that of the later file counts.

    `findings` are warnings about unknown keys.
    """

    rules: Mapping[str, MirrorRule] = field(default_factory=dict, hash=False)
    findings: tuple[Diagnostic, ...] = ()

    def merge(self, other: Rules) -> Rules:
        return Rules({**self.rules, **other.rules}, self.findings + other.findings)

    def rule_for(self, reference: Reference) -> MirrorRule | None:
        found = [rule for rule in self.rules.values() if rule.covers(reference.name)]
        return max(found, key=lambda rule: len(rule.prefix), default=None)

    def sources(self, reference: Reference) -> tuple[MirrorPlace, ...]:
        """Return the sources of an image in order, or raise `ConfigurationError` if blocked."""
        rule = self.rule_for(reference)
        if rule is None:
            return (MirrorPlace(reference=reference),)
        _check(rule, reference)
        mirrors = [
            MirrorPlace(reference=moved, insecure=mirror.insecure)
            for mirror in rule.mirrors
            if _is_asked(rule, mirror, reference)
            and (moved := _move(reference, rule.prefix, mirror.location)) is not None
        ]
        own = _move(reference, rule.prefix, rule.location) if rule.location else reference
        return (*mirrors, MirrorPlace(reference=own or reference, insecure=rule.insecure))

    def target(self, reference: Reference) -> MirrorPlace:
        """Return the push target of an image, which is never a mirror."""
        rule = self.rule_for(reference)
        if rule is None:
            return MirrorPlace(reference=reference)
        _check(rule, reference)
        return MirrorPlace(reference=reference, insecure=rule.insecure)


def parse(data: bytes, path: str) -> Rules:
    """Return the rules of one file; raise `ConfigurationError` if it is invalid."""
    try:
        text = data.decode()
        value: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"`{path}` is not TOML: {error}") from None
    listed = value.get("registry", [])
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise ConfigurationError(f"`{path}`: `registry` is not a list of tables")
    rules: dict[str, MirrorRule] = {}
    for item in listed:
        rule = _rule(item, path)
        rules[rule.prefix] = rule
    return Rules(rules, tuple(_unknown(value, text, path)))


def _unknown(value: Any, text: str, path: str) -> Iterator[Diagnostic]:
    for one in configuration.unknown_keys(value, _FILE):
        at = toml_positions.find(text, path, *one.keys)
        yield findings.create("CFG004", f"unknown key `{one.path}`", at=at, hint=one.hint)


def _rule(item: Mapping[str, Any], path: str) -> MirrorRule:
    location = _text(item, "location", path)
    prefix = _text(item, "prefix", path) or location
    if not prefix:
        raise ConfigurationError(f"`{path}`: a registry has neither `prefix` nor `location`")
    listed = item.get("mirror", [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise ConfigurationError(f"`{path}`: `mirror` of `{prefix}` is not a list of tables")
    mirrors = []
    for entry in listed:
        place = _text(entry, "location", path)
        pull = _text(entry, "pull-from-mirror", path) or "all"
        if not place or pull not in _PULLS:
            raise ConfigurationError(
                f"`{path}`: a mirror of `{prefix}` has no `location` or a wrong `pull-from-mirror`",
                hint=f"it may be {', '.join(f'`{word}`' for word in _PULLS)}",
            )
        mirrors.append(Mirror(location=place, insecure=_flag(entry, "insecure", path), pull=pull))
    return MirrorRule(
        prefix=prefix,
        location=location,
        insecure=_flag(item, "insecure", path),
        blocked=_flag(item, "blocked", path),
        by_digest_only=_flag(item, "mirror-by-digest-only", path),
        mirrors=tuple(mirrors),
    )


def _check(rule: MirrorRule, reference: Reference) -> None:
    if rule.blocked:
        raise ConfigurationError(
            f"`{reference.name}` must not be used: `registries.conf` blocks `{rule.prefix}`"
        )


def _is_asked(rule: MirrorRule, mirror: Mirror, reference: Reference) -> bool:
    pinned = reference.digest is not None
    if rule.by_digest_only or mirror.pull == "digest-only":
        return pinned
    return mirror.pull == "all" or not pinned


def _move(reference: Reference, prefix: str, location: str) -> Reference | None:
    """Replace `prefix` by `location` in `reference`; None if the result is not a name."""
    if prefix.startswith("*."):
        name = re.sub(r"^[^/]+", lambda _: location, reference.name)
    else:
        name = location + reference.name.removeprefix(prefix)
    try:
        return replace(Reference.parse(name), tag=reference.tag, digest=reference.digest)
    except InvalidReferenceError:
        return None


def _text(item: Mapping[str, Any], key: str, path: str) -> str:
    value = item.get(key, "")
    if not isinstance(value, str):
        raise ConfigurationError(f"`{path}`: `{key}` is not a string")
    return value


def _flag(item: Mapping[str, Any], key: str, path: str) -> bool:
    """Return a flag; false if absent. Like Podman, reject `"true"` in quotes."""
    value = item.get(key, False)
    if not isinstance(value, bool):
        raise ConfigurationError(f"`{path}`: `{key}` must be `true` or `false`")
    return value
