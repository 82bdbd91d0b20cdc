"""The environment of the templates: escaping, cleaning, links, YAML in colours.

Every value that a template prints is escaped and cleaned of control characters, without the
template doing anything. Three filters give markup: `markdown`, `yaml` and `picture`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from olmkit.catalog.graph import picture
from olmkit.hub.looks import markdown, text, yaml_colors

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'"
)
"""The content security policy of every page. A server adds `frame-ancestors 'none'`."""


def fill(template: str, root: str, values: Mapping[str, Any], *, clean_links: bool) -> str:
    """The page that `template` is with `values`.

    `root` is the relative way to the first page (`""`, `"../../"`). `clean_links` leaves
    `index.html` out of links: a server can, pages on disk cannot.
    """
    page = _environment().get_template(template)
    index = "" if clean_links else "index.html"
    return page.render(root=root or "./", index=index, policy=POLICY, **values)


@pass_context
def _to(context: Context, path: str) -> str:
    """The link from this page to `path`, which is relative to the first page."""
    return f"{context['root']}{_with_index(path, context['index'])}"


def _with_index(path: str, index: str) -> str:
    for place, char in enumerate(path):
        if char in "?#":
            address, rest = path[:place], path[place:]
            break
    else:
        address, rest = path, ""
    if address.endswith("/") or not address:
        address += index
    return address + rest


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("olmkit.hub.looks", "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_finalize,
    )
    made.filters.update(
        host=text.host,
        json=_json,
        letter=text.letter,
        link=text.link,
        markdown=markdown.description,
        picture=picture.inline,
        short=text.shortened,
        to=_to,
        yaml=yaml_colors.markup,
    )
    return made


def _finalize(value: object) -> object:
    return text.clean(value) if type(value) is str else value


def _json(value: object) -> Markup:
    return escape(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
