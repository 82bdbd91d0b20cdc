"""The environment of the templates: escaping, cleaning, links, YAML in colors.

Every value that a template prints is automatically escaped and cleaned of control characters. Three
filters return markup: `markdown`, `yaml` and `picture`.
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
from olmkit.hub import news, paths
from olmkit.hub.looks import instructions, markdown, text, yaml_colors
from olmkit.hub.pages.operator_page import OperatorPage

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'"
)
"""The content security policy of every page. A server adds `frame-ancestors 'none'`."""
IMAGE_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox"
"""The policy of icons: opened at its address, an SVG runs nothing and fetches nothing."""


def fill(template: str, root: str, values: Mapping[str, Any], *, clean_links: bool) -> str:
    """Render `template` with `values` as a page.

    `root` is the relative path to the first page (`""`, `"../../"`). `clean_links` omits
    `index.html` in links: a server finds it, but pages on disk need it.
    """
    page = _environment().get_template(template)
    index = "" if clean_links else "index.html"
    return page.render(root=root or "./", index=index, policy=POLICY, **values)


@pass_context
def _to(context: Context, path: str) -> str:
    """Return the link from this page to `path`, which is relative to the first page."""
    target = _with_index(path, context["index"])
    own, root = context["path"], context["root"]
    if not own or root != "../" * own.count("/"):
        return f"{root}{target}"
    return _shortest(own, target)


def _shortest(own: str, target: str) -> str:
    """Return the link between two pages without the folders that they share."""
    folders = own.split("/")[:-1]
    rest = target.split("/")
    same = 0
    while same < min(len(folders), len(rest) - 1) and folders[same] == rest[same]:
        same += 1
    return "../" * (len(folders) - same) + "/".join(rest[same:]) or "./"


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
        auto_reload=False,  # otherwise each include accesses the disk
        finalize=_finalize,
    )
    made.filters.update(
        code=text.code,
        host=text.host,
        instructions=instructions.blocks,
        is_folded=picture.is_folded,
        json=_json,
        json_ld=_json_ld,
        letter=text.letter,
        link=text.link,
        markdown=markdown.description,
        picture=picture.inline,
        moment=text.moment,
        news=news.sentence,
        quoted=paths.query,
        short=text.shortened,
        software=_software,
        to=_to,
        yaml=yaml_colors.markup,
    )
    return made


def _finalize(value: object) -> object:
    return text.clean(value) if type(value) is str else value


def _json(value: object) -> Markup:
    return escape(text.clean(json.dumps(value, ensure_ascii=False, separators=(",", ":"))))


def _software(page: OperatorPage) -> dict[str, Any]:
    """Return the operator as a SoftwareApplication of schema.org."""
    found: dict[str, Any] = {
        "@context": "https://schema.org",
        "@type": "SoftwareApplication",
        "applicationCategory": "DeveloperApplication",
        "operatingSystem": "Kubernetes",
        "name": text.shortened(page.display_name, 200),
        "description": text.shortened(page.summary, 200),
        "softwareVersion": page.version,
    }
    if page.provider:
        found["author"] = {"@type": "Organization", "name": text.shortened(page.provider, 200)}
    return {key: value for key, value in found.items() if value}


def _json_ld(value: object) -> Markup:
    """Return JSON for a data block of a page: `<` and `&` cannot end or change it."""
    text_ = text.clean(json.dumps(value, ensure_ascii=True, separators=(",", ":"), sort_keys=True))
    return Markup(text_.replace("<", "\\u003c").replace("&", "\\u0026"))  # noqa: S704 - escaped
