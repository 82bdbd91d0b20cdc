"""Compare images, objects, annotations and descriptions of two bundles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from olmkit.bundle.changes.change import Area, BundleChange, ChangeLevel
from olmkit.bundle.generation import images
from olmkit.bundle.summary.summary import BundleSummary, UsedImage
from olmkit.kube import objects
from olmkit.kube.objects import Manifest

# The CSV and the CRDs have separate comparisons.
_COMPARED = ("ClusterServiceVersion", "CustomResourceDefinition")
_DESCRIPTIONS = (
    ("display name", "display_name"),
    ("description", "description"),
    ("provider", "provider"),
    ("maturity", "maturity"),
)
_SHORT = 60  # characters of a value that a message shows


def compare_contents(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    """Yield the differences in images, channels and descriptions."""
    yield from _images(old.images, new.images)
    yield from _channels(old, new)
    yield from _descriptions(old, new)


def compare_objects(old: Iterable[Manifest], new: Iterable[Manifest]) -> Iterator[BundleChange]:
    """Yield the differences in objects other than the CSV and the CRDs."""
    olds, news = _group_by_key(old), _group_by_key(new)
    for key, before in olds.items():
        after = news.get(key)
        if after is None:
            yield _object(key, "object-removed", "is gone")
        elif before != after:
            yield _object(key, "object-changed", "is different")
    for key in news:
        if key not in olds:
            yield _object(key, "object-added", "is new")


def _group_by_key(manifests: Iterable[Manifest]) -> dict[tuple[str, str], Manifest]:
    return {
        (objects.kind(one), objects.name(one)): one
        for one in manifests
        if objects.kind(one) not in _COMPARED
    }


def _object(key: tuple[str, str], rule: str, text: str) -> BundleChange:
    kind, name = key
    return BundleChange(
        area=Area.OBJECTS,
        rule=rule,
        message=f"the {kind or 'object'} `{name}` {text}",
        subject=f"{kind}/{name}",
    )


def _images(old: tuple[UsedImage, ...], new: tuple[UsedImage, ...]) -> Iterator[BundleChange]:
    """Return the images by their places: a different image in the same place is a change."""
    olds, news = _images_by_place(old), _images_by_place(new)
    reported: set[tuple[str, str]] = set()
    known, now = {one.image for one in old}, {one.image for one in new}
    for place, image in news.items():
        before = olds.get(place)
        if before is None or before == image or (before, image) in reported:
            continue
        reported.add((before, image))
        yield _image_change(place, before, image)
    changed = {image for pair in reported for image in pair}
    for image in sorted(now - known - changed):
        yield _image(image, "image-added", f"the image `{image}` is new", new=image)
    for image in sorted(known - now - changed):
        yield _image(image, "image-removed", f"the image `{image}` is gone", old=image)


def _image_change(place: str, before: str, after: str) -> BundleChange:
    was_pinned, is_pinned = "@" in before, "@" in after
    same = images.without_tag(before) == images.without_tag(after)
    what = "version" if same else "name"
    if same and was_pinned and is_pinned:
        what = "digest"
    suffix = ", which is no longer pinned by a digest" if was_pinned and not is_pinned else ""
    return BundleChange(
        area=Area.IMAGES,
        rule="image-changed",
        message=f"the {what} of the image changes from `{before}` to `{after}`{suffix}",
        level=ChangeLevel.WARNS if suffix else ChangeLevel.INFO,
        subject=place,
        old=before,
        new=after,
        hint="pin it: disconnected clusters need digests" if suffix else "",
    )


def _image(image: str, rule: str, message: str, **values: Any) -> BundleChange:
    return BundleChange(area=Area.IMAGES, rule=rule, message=message, subject=image, **values)


def _images_by_place(listed: Iterable[UsedImage]) -> Mapping[str, str]:
    return {place: one.image for one in listed for place in one.places}


def _channels(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    for channel in (one for one in old.channels if one not in new.channels):
        yield BundleChange(
            area=Area.CATALOG,
            rule="channel-removed",
            message=f"the bundle is no longer for the channel `{channel}`",
            level=ChangeLevel.WARNS,
            old=channel,
            hint="Subscriptions to that channel do not get it",
        )
    for channel in (one for one in new.channels if one not in old.channels):
        message = f"the bundle is now for the channel `{channel}`"
        yield BundleChange(area=Area.CATALOG, rule="channel-added", message=message, new=channel)
    if old.default_channel != new.default_channel:
        yield BundleChange(
            area=Area.CATALOG,
            rule="default-channel-changed",
            message=f"the default channel changes from `{old.default_channel or 'none'}` to "
            f"`{new.default_channel or 'none'}`",
            old=old.default_channel,
            new=new.default_channel,
        )


def _descriptions(old: BundleSummary, new: BundleSummary) -> Iterator[BundleChange]:
    for noun, name in _DESCRIPTIONS:
        before, after = getattr(old, name), getattr(new, name)
        if before == after:
            continue
        is_short = max(len(before), len(after)) <= _SHORT and "\n" not in before + after
        yield BundleChange(
            area=Area.DESCRIPTIONS,
            rule=f"{noun.replace(' ', '-')}-changed",
            message=f"the {noun} changes from `{before}` to `{after}`"
            if is_short
            else f"the {noun} changes",
            old=before if is_short else None,
            new=after if is_short else None,
        )
    for key in sorted(old.csv_annotations.keys() | new.csv_annotations.keys()):
        was, now = old.csv_annotations.get(key), new.csv_annotations.get(key)
        if was != now:
            verb = "new" if was is None else "gone" if now is None else "different"
            yield BundleChange(
                area=Area.DESCRIPTIONS,
                rule="annotation-changed",
                message=f"the annotation `{key}` of the CSV is {verb}",
                subject=key,
            )
