"""Parse the message of OLM's resolver into contradicting facts.

OLM joins the constraints of a conflict with commas, sorted. The facts here have the same wording as
those of `olmkit.olm.resolver.report`, which reads the catalogs themselves. This message does not
name the bundles that would meet a requirement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from olmkit.olm.explain import forms

Part = re.Match[str]

# How a constraint begins; other pieces between commas belong to the one before.
_BEGINS = re.compile(
    r"bundle \S+ (?:requires|is deprecated)|subscription \S+ (?:exists|requires)|"
    r"clusterserviceversion \S+ exists|no operators found|"
    r"\S+(?: and \S+)* (?:originate from package|provide) |[^\s/]+/[^\s/]+/[^\s/]*/\S+$"
)
_IDENTIFIER = re.compile(r"[^\s/]+/[^\s/]+/[^\s/]*/\S+")


def parse_facts(message: str) -> tuple[str, ...]:
    """Return a sentence for each constraint; unknown constraints stay unchanged."""
    parts: list[str] = []
    for piece in message.removeprefix(forms.UNSATISFIABLE).strip("[]").split(", "):
        continues = parts and _IDENTIFIER.fullmatch(parts[-1].rpartition(", ")[2])
        if not parts or (_BEGINS.match(piece) and not continues):
            parts.append(piece)
        else:
            parts[-1] += f", {piece}"
    found = [one for part in parts for one in _parse_fact(part.strip())]
    return tuple(text for _, text in sorted(found, key=lambda one: one[0]))


def _parse_fact(part: str) -> Iterator[tuple[int, str]]:
    """Yield the sort key and the sentence; nothing for a constraint that is obvious."""
    for place, (pattern, sentence) in enumerate(_FORMS):
        found = pattern.fullmatch(part)
        if found is not None:
            text = sentence(found)
            if text:
                yield place, text
            return
    if part:
        yield len(_FORMS), part


def _describe_requirement(part: Part) -> str:
    need = part["need"].strip()
    api, ranged = forms.API.fullmatch(need), forms.RANGE.fullmatch(need)
    if api:
        place = "/".join(one for one in (api["group"], api["version"]) if one)
        need = f"the API `{api['kind']}` (`{place}`)"
    elif ranged:
        need = f"package `{ranged['package']}` in `{ranged['range']}`"
    else:
        need = f"an operator {need}".rstrip()
    return f"`{part['bundle']}` needs {need}"


def _describe_request(part: Part) -> str:
    names = _names(re.split(r" or |, ", part["ones"].removeprefix("at least one of ")))
    return f"Subscription `{part['name']}` may have {_join_names(names)}"


def _describe_conflict(text: str) -> list[str]:
    return _names(re.split(r", | and ", text))


def _provide(part: Part) -> str:
    names = _describe_conflict(part["both"])
    kind, _, place = part["api"].partition(" (")
    if len(names) < 2:
        return f"`{names[0]}` provides the API `{kind}` (`{place.rstrip(')')}`) twice"
    many = "both" if len(names) == 2 else "all"
    return f"{_join_names(names)} {many} provide the API `{kind}` (`{place.rstrip(')')}`)"


def _package(part: Part) -> str:
    names = _describe_conflict(part["both"])
    if len(names) < 2:
        return f"`{names[0]}` would be there twice, of package `{part['package']}`"
    return f"{_join_names(names)} are of the package `{part['package']}`"


def _names(identifiers: Iterable[str]) -> list[str]:
    """Return names of bundles; OLM writes catalog, namespace and channel before them."""
    return list(dict.fromkeys(one.strip().rpartition("/")[2] for one in identifiers if one.strip()))


def _join_names(names: list[str]) -> str:
    quoted = [f"`{one}`" for one in names]
    return " and ".join([", ".join(quoted[:-1]), quoted[-1]] if quoted[1:] else quoted)


_FORMS: tuple[tuple[re.Pattern[str], Callable[[Part], str]], ...] = (
    (re.compile(forms.REQUIRES + r"(?P<need>.*)", re.DOTALL), _describe_requirement),
    (
        re.compile(forms.DEPRECATED),
        lambda part: f"`{part['bundle']}` is deprecated",
    ),
    (re.compile(r"(?P<both>.+)" + forms.PROVIDE, re.DOTALL), _provide),
    (re.compile(rf"(?P<both>.+){forms.SAME_PACKAGE}(?P<package>\S+)", re.DOTALL), _package),
    (
        re.compile(forms.ORPHAN + ".*"),
        lambda part: f"`{part['csv']}` is installed and no Subscription may replace it",
    ),
    (re.compile(r"subscription (?P<name>\S+) requires (?P<ones>.+)", re.DOTALL), _describe_request),
    (re.compile(r"subscription \S+ exists"), lambda _: ""),
)
