"""Rules about placeholders that generators write for authors to replace, and that are unchanged.

Such text is valid, so no check of a catalog finds it, but users of the catalog see it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from olmkit.base.diagnostics import Severity
from olmkit.base.texts import shorten
from olmkit.bundle.model import Bundle, ClusterServiceVersion
from olmkit.kube import objects as kube
from olmkit.rules.engine import Finding, rule

SUITE = "placeholders"
# The icon that `olmkit init` writes, by the SHA-256 digest of its base64 text.
ICON = "a78a9e68e547e1f0745ea7aeb74c756b668fabadd30e08f2bcb760fca0f11122"
# Field of the CSV → default texts of `olmkit init` and of operator-sdk.
_TEXTS: tuple[tuple[tuple[str | int, ...], re.Pattern[str]], ...] = (
    (("metadata", "annotations", "description"), re.compile(r"What .+ does, in one sentence")),
    (
        ("spec", "description"),
        re.compile(
            r"What .+ does, for people who look at a catalog: what it is for,\s+what it needs, "
            r"and a first example\.\s*|.+ description\. TODO\.\s*",
        ),
    ),
    (("spec", "provider", "name"), re.compile(r"Provider Name")),
    (("spec", "provider", "url"), re.compile(r"https://your\.domain/?")),
)
_MOST = 60
_MAINTAINER = re.compile(r"Maintainer Name|.+ maintainers")
_MAIL = re.compile(r"your@email\.com|.+-operator@example\.(?:com|org|net)")
_IMAGE = re.compile(
    r"(?:(?:docker\.io/)?library/)?controller(?::latest)?|(?:www\.)?example\.(?:com|org|net)/.+"
)
_LINK = re.compile(r"https://(?:[a-z0-9-]+\.domain|(?:www\.)?example\.(?:com|org|net))/?")


@rule("HUB066", "placeholder-text", severity=Severity.WARNING, suite=SUITE)
def placeholder_text(bundle: Bundle) -> Iterator[Finding]:
    """A text, a link, a maintainer, the icon or an image of the CSV is a generator's placeholder.

    Why: catalogs show it to users unchanged, and no registry has the image. `olmkit init`,
    kubebuilder and operator-sdk write placeholders that you must replace.

    Fix: write your own value in the base CSV, `config/manifests/bases/`, name the image with
    `olmkit edit --image`, and generate the bundle again.
    """
    csv = bundle.csv
    if csv is None:
        return
    places: list[tuple[str | int, ...]] = [
        path
        for path, pattern in _TEXTS
        if pattern.fullmatch(kube.scalar_text(csv.document.get(*path)))
    ]
    places += _find_in_list(csv.spec.get("maintainers"), "maintainers", "name", _MAINTAINER)
    places += _find_in_list(csv.spec.get("maintainers"), "maintainers", "email", _MAIL)
    places += _find_in_list(csv.spec.get("links"), "links", "url", _LINK)
    for path in places:
        text = " ".join(kube.scalar_text(csv.document.get(*path)).split())
        shown = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path)
        yield Finding(
            f"`{shown[1:]}` is a placeholder: `{shorten(text, _MOST)}`",
            at=csv.at(*path),
            hint="write your own in the base CSV",
        )
    icons = csv.spec.get("icon")
    for number, entry in enumerate(icons if isinstance(icons, list) else ()):
        data = kube.scalar_text(entry.get("base64data")) if isinstance(entry, dict) else ""
        if hashlib.sha256(data.encode()).hexdigest() == ICON:
            yield Finding(
                "the icon is the placeholder of `olmkit init`",
                at=csv.at("spec", "icon", number, "base64data"),
                hint="embed your own icon in the base CSV",
            )

    yield from _placeholder_images(csv)


def _placeholder_images(csv: ClusterServiceVersion) -> Iterator[Finding]:
    for index, deployment in enumerate(csv.deployments):
        template = kube.mapping(kube.mapping(deployment.get("spec")).get("template"))
        for number, entry in enumerate(
            kube.sequence(kube.mapping(template.get("spec")).get("containers"))
        ):
            image = kube.scalar_text(kube.mapping(entry).get("image"))
            if _IMAGE.fullmatch(image):
                place = ("template", "spec", "containers", number, "image")
                yield Finding(
                    f"the image `{shorten(image, _MOST)}` is a placeholder",
                    at=csv.at("spec", "install", "spec", "deployments", index, "spec", *place),
                    hint="name the operator's image and generate the bundle again",
                )


def _find_in_list(
    entries: object, name: str, key: str, pattern: re.Pattern[str]
) -> list[tuple[str | int, ...]]:
    return [
        ("spec", name, number, key)
        for number, entry in enumerate(entries if isinstance(entries, list) else ())
        if isinstance(entry, dict) and pattern.fullmatch(kube.scalar_text(entry.get(key)))
    ]
