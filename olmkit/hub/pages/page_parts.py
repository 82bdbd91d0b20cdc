"""The parts that several pages have: badges, links and facts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """A short mark. `kind` is empty, `warn`, `good`, `accent` or `version`."""

    label: str
    kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """A link to another page of the hub."""

    label: str
    href: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One value of a fact: `url` is from the publisher and not checked, `href` is in the hub.

    `begin` and `end` are dates between which it applies.
    """

    text: str
    url: str = ""
    href: str = ""
    note: str = ""
    begin: str = ""
    end: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A row of the box of facts; without items, it is not stated."""

    label: str
    items: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TextFact:
    label: str
    text: str
