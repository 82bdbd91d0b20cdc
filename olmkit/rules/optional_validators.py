"""The label selectors of operator-sdk's optional validators, as suites of rules.

The selectors are those of Kubernetes over the labels `name` and `suite`: `name=community`,
`suite=operatorframework`, `name in (capabilities, categories)`, several separated by commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from olmkit.base.diagnostics import ConfigurationError

# Validator → its suites in olmkit, and whether it has the label `suite=operatorframework`.
VALIDATORS: Final[Mapping[str, tuple[frozenset[str], bool]]] = {
    "operatorhubv2": (frozenset({"operatorhub", "removed-apis"}), True),
    "capabilities": (frozenset({"capabilities"}), True),
    "categories": (frozenset({"categories"}), True),
    "operatorhub": (
        frozenset({"operatorhub", "removed-apis", "capabilities", "categories"}),
        False,
    ),
    "community": (frozenset({"community"}), False),
    "alpha-deprecated-apis": (frozenset({"removed-apis"}), True),
    "good-practices": (frozenset({"good-practices"}), True),
    "multiarch": (frozenset({"multiarch"}), False),
}
_SUITE: Final = "operatorframework"
_REQUIREMENT = re.compile(
    r"\s*(?:(?P<absent>!)\s*)?(?P<key>[A-Za-z0-9./_-]+)\s*"
    r"(?:(?P<sign>==|=|!=)\s*(?P<value>[A-Za-z0-9._-]*)"
    r"|\s(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?\s*(?:,|\Z)"
)
Labels = Mapping[str, str]


def suites(selector: str) -> frozenset[str]:
    """Return the suites of the matching validators; `ConfigurationError` if none matches."""
    requirements = _parse(selector)
    found: frozenset[str] = frozenset()
    for name, (known, is_labelled) in VALIDATORS.items():
        labels = {"name": name, **({"suite": _SUITE} if is_labelled else {})}
        if all(holds(labels) for holds in requirements):
            found |= known
    if not found:
        raise ConfigurationError(
            f"`{selector}` selects no validator",
            hint=f"use `suite={_SUITE}`, or `name=` and one of {', '.join(VALIDATORS)}",
        )
    return found


def _parse(selector: str) -> list[Callable[[Labels], bool]]:
    requirements = []
    position = 0
    while position < len(selector):
        match = _REQUIREMENT.match(selector, position)
        if match is None or match.end() == position:
            raise ConfigurationError(
                f"`{selector}` is not a label selector",
                hint=f"write it like `suite={_SUITE}` or `name in (capabilities, categories)`",
            )
        requirements.append(_requirement(match))
        position = match.end()
    return requirements


def _requirement(match: re.Match[str]) -> Callable[[Labels], bool]:
    key = match["key"]
    if match["absent"]:
        return lambda labels: key not in labels
    if match["sign"] in ("=", "=="):
        return lambda labels: labels.get(key) == match["value"]
    if match["sign"]:
        return lambda labels: labels.get(key) != match["value"]
    if match["set"]:
        listed = {value.strip() for value in match["values"].split(",")}
        inside = match["set"] == "in"
        return lambda labels: (labels.get(key) in listed) is inside
    return lambda labels: key in labels
