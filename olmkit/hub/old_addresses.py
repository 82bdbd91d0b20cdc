"""The addresses of operatorhub.io, and where their content is here."""

from __future__ import annotations

from olmkit.hub import paths
from olmkit.hub.pages import OperatorPage, Site

_OLD = "operator"


def moved(site: Site, path: str) -> str | None:
    """The page for `operator/PACKAGE[/CHANNEL[/CSV]]`; None for another path or package.

    Without a CSV, a channel leads to its head; an unknown channel or CSV to the package.
    """
    parts = path.strip("/").split("/")
    if len(parts) not in (2, 3, 4) or parts[0] != _OLD:
        return None
    target = paths.package("", parts[1])
    page = site.pages.get(target)
    if page is None:
        return None
    if len(parts) == 4:
        found = paths.bundle("", parts[1], parts[3])
        return found if found in site.pages else target
    if len(parts) == 3 and isinstance(page, OperatorPage):
        for choice in page.channels:
            if choice.label.startswith(f"{parts[2]}: "):
                return choice.href
    return target
