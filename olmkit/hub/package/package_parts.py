"""The parts of a package's pages: a page or a file at its path, or the page of a failure."""

from __future__ import annotations

from typing import Any, NamedTuple

from olmkit.base.diagnostics import OlmkitError
from olmkit.hub.feeds import Feed
from olmkit.hub.package.package_input import PackageInput
from olmkit.hub.pages.site_pages import ErrorPage, Page


class Data(NamedTuple):
    """The value of a JSON file."""

    value: Any


class Part(NamedTuple):
    """A page, a file, a value or a feed at a path.

    `failure` explains why it is an error page.
    """

    path: str
    content: Page | bytes | Data | Feed
    failure: str = ""


def failure_page(package_input: PackageInput, error: Exception) -> Part:
    """Return the page of a package that cannot be rendered."""
    name = package_input.package.name
    return failure_part(package_input.path, name, f"{package_input.catalog}: package {name}", error)


def failure_part(path: str, title: str, where: str, error: Exception) -> Part:
    words = error.message if isinstance(error, OlmkitError) else f"{type(error).__name__}: {error}"
    page = ErrorPage(
        title=title, text=f"This page of {title} could not be made.", details=words[:2000]
    )
    return Part(path, page, f"{where}: {words[:500]}")
