"""Find bundles that OLM v0 never selects for any Subscription.

Its resolver prohibits a bundle with the property `olm.deprecated`, and one that lists an API or a
package twice, since at most one provider of each may be selected. `catalog path`, `catalog check`,
`catalog resolve` and the commands on a cluster use this function. OLM v1 ignores both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from olmkit.catalog.blobs import properties
from olmkit.catalog.model import Bundle, Entry


class Obstacle(NamedTuple):
    """A bundle that OLM cannot select, and the reason, as the end of a sentence about it."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"`{self.name}` {self.reason}"


def entry_obstacle(entry: Entry) -> str:
    """Return why an entry cannot be installed; empty if it can, or its bundle is unknown."""
    return bundle_obstacle(entry.bundle) if entry.bundle is not None else ""


def bundle_obstacle(bundle: Bundle) -> str:
    """Return the obstacle for a bundle; empty if there is none."""
    listed = bundle.properties
    return reason(
        apis=[str(api) for api in listed.provided],
        packages=[one.package for one in listed.identities],
        is_deprecated=properties.DEPRECATED in listed.order,
    )


def reason(*, apis: Sequence[str], packages: Sequence[str], is_deprecated: bool) -> str:
    """Return the obstacle for a bundle with these APIs and packages; empty if there is none."""
    if is_deprecated:
        return "is deprecated (property `olm.deprecated`)"
    for noun, values in (("API", apis), ("package", packages)):
        if len(set(values)) < len(values):
            twice = next(one for one in values if values.count(one) > 1)
            return f"lists the {noun} `{twice}` twice, so it excludes itself"
    return ""
