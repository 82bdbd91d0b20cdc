"""Rules about related images, which a disconnected cluster must mirror."""

from __future__ import annotations

import re
from collections.abc import Iterator

from olmkit.base.diagnostics import Related, Severity
from olmkit.bundle.model import Bundle
from olmkit.kube import objects
from olmkit.rules import fixes
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

# The most common references, so that the parser is imported only for unusual ones.
_PLAIN_IMAGE = re.compile(
    r"[a-z0-9]+(?:[.-][a-z0-9]+)*\.[a-z]+(?:/[a-z0-9]+(?:[._-][a-z0-9]+)*){1,6}"
    r"(?:@sha256:[0-9a-f]{64}|:[A-Za-z0-9_][A-Za-z0-9_.-]{0,100})",
    re.ASCII,
)


@rule("CSV047", "related-image", suite=SOUND_SUITE)
def related_image(bundle: Bundle) -> Iterator[Finding]:
    """A related image is not an image reference.

    Why: mirroring a catalog copies the related images, and stops at an invalid one.

    Fix: write registry, repository, and tag or digest, without `https://`.
    """
    csv = bundle.csv
    for index, entry in enumerate(csv.related_images if csv else ()):
        image = objects.scalar_text(entry.get("image"))
        if csv is None or not image or _PLAIN_IMAGE.fullmatch(image):
            continue
        from olmkit.oci.reference import InvalidReferenceError, Reference

        try:
            Reference.parse(image)
        except InvalidReferenceError as error:
            unfinished = image.endswith(("@", ":"))
            yield Finding(
                f"related image `{image}` is not an image reference",
                at=csv.at("spec", "relatedImages", index, "image"),
                hint="append the digest or tag" if unfinished else error.hint,
                severity=Severity.WARNING if unfinished else None,
            )


@rule("CSV048", "related-image-missing", severity=Severity.WARNING, suite=SOUND_SUITE)
def related_image_missing(bundle: Bundle) -> Iterator[Finding]:
    """An entry of the related images has no image.

    Why: mirroring a catalog skips the entry, so the image is missing in a disconnected
    cluster. Newer catalogs reject the bundle.

    Fix: write `image`; tools do not read `value`.
    """
    csv = bundle.csv
    for index, entry in enumerate(csv.related_images if csv else ()):
        if csv is not None and not objects.scalar_text(entry.get("image")):
            name = objects.scalar_text(entry.get("name"))
            yield Finding(
                f"related image{f' `{name}`' if name else ''} has no `image`",
                at=csv.at("spec", "relatedImages", index),
                hint="write the reference into `image`",
            )


@rule("CSV049", "related-image-repeated", severity=Severity.WARNING, suite=SOUND_SUITE)
def related_image_repeated(bundle: Bundle) -> Iterator[Finding]:
    """A related image is listed twice with the same name.

    Why: the second entry has no effect. Usually a different image was intended.

    Fix: remove it.
    """
    csv = bundle.csv
    seen: dict[tuple[str, str], int] = {}
    for index, entry in enumerate(csv.related_images if csv else ()):
        key = (objects.scalar_text(entry.get("name")), objects.scalar_text(entry.get("image")))
        first = seen.setdefault(key, index)
        if csv is not None and key[1] and first != index:
            yield Finding(
                f"related image `{key[1]}` is listed twice",
                at=csv.at("spec", "relatedImages", index),
                related=(Related(csv.at("spec", "relatedImages", first), "first listed here"),),
                fix=fixes.remove_entry(csv.document, ("spec", "relatedImages", index)),
            )
