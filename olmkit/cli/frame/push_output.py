"""The output of builds and pushes of images: a line for each layer, then the pinned reference."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from olmkit.cli.frame.app import App

if TYPE_CHECKING:
    from olmkit.edges.images.access_settings import Access
    from olmkit.edges.images.transfer import Report, TransferStep
    from olmkit.jobs.image.publish import Published
    from olmkit.oci.referrers import Referrer


@contextmanager
def show_progress(app: App) -> Iterator[Report]:
    """Show on stderr each piece as it arrives: a bar that moves on a terminal, else a line."""
    with app.terminal.progress("working") as progress:

        def said(step: TransferStep) -> None:
            progress.advance(f"{step.outcome}: {_describe_content(step)}")

        yield said


def push(
    app: App,
    pushing: Callable[..., Coroutine[Any, Any, Published]],
    references: Sequence[str],
    access: Access,
) -> None:
    """Push the image of `[REF] [TARGET]` with a push function of `jobs.publish`, and show it."""
    if len(references) > 2:
        raise click.UsageError("There are more than two references.")
    source = references[0] if len(references) == 2 else ""
    target = references[-1] if references else ""
    with show_progress(app) as report:
        made = app.run(pushing(source, target, access, report, project=app.project))
    show(app, made)


def show(app: App, published: Published) -> None:
    """Print the pinned reference, or the whole result as JSON."""
    app.emit(_facts(published), text=published.reference)


def show_all(app: App, made: Sequence[Published]) -> None:
    """Print the pinned reference of each image, one per line, or all details."""
    app.emit(
        {"images": [_facts(published) for published in made]},
        text="\n".join(published.reference for published in made),
    )


def _facts(published: Published) -> dict[str, object]:
    return {
        "reference": published.reference,
        "digest": published.digest,
        "tag": published.tag,
        "layout": published.layout or None,
        "platforms": list(published.platforms),
        "pieces": pieces(published.steps),
    }


def pieces(steps: Sequence[TransferStep]) -> list[dict[str, object]]:
    """Return the pieces of an image as JSON."""
    return [
        {
            "digest": str(step.descriptor.digest),
            "mediaType": step.descriptor.media_type,
            "size": step.descriptor.size,
            "outcome": _NAMES[step.outcome],
        }
        for step in steps
    ]


def referrers(found: Sequence[Referrer]) -> list[dict[str, object]]:
    """Return the referrers of an image as JSON."""
    return [
        {
            "digest": str(one.descriptor.digest),
            "tag": one.tag or None,
            "artifactType": one.descriptor.artifact_type or None,
        }
        for one in found
    ]


# By the outcome of a step.
_NAMES = {
    "sent": "sent",
    "mounted": "mounted",
    "already there": "present",
    "stays at its URL": "external",
}


def _describe_content(step: TransferStep) -> str:
    descriptor = step.descriptor
    noun = "manifest" if descriptor.is_manifest else "blob"
    if descriptor.is_index:
        noun = "index"
    return f"{noun} {str(descriptor.digest)[:19]} ({size_text(descriptor.size)})"


def size_text(size: int) -> str:
    """Return a number of bytes for people."""
    if size < 1000:
        return f"{size} B"
    if size < 1_000_000:
        return f"{size / 1e3:.1f} kB"
    return f"{size / 1e6:.1f} MB"
