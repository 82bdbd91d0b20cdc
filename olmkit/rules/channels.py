"""Rules about the channels that the annotations of a bundle name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from olmkit.base.diagnostics import Fix, Severity
from olmkit.bundle import model
from olmkit.bundle.model import Bundle
from olmkit.rules.annotation_places import at, value_fix
from olmkit.rules.engine import SOUND_SUITE, Finding, rule

_CHANNEL_FORM = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")


@rule("MET004", "channels-empty")
def channels_empty(bundle: Bundle) -> Iterator[Finding]:
    """The bundle names no channel.

    Why: OLM cannot install a bundle that is in no channel.

    Fix: name at least one channel, for example `stable`.
    """
    if bundle.annotations.get(model.CHANNELS) == "":
        yield Finding(
            f'Expecting annotation "{model.CHANNELS}" to have non-empty value',
            at=at(bundle, model.CHANNELS),
            hint="name at least one channel, such as `stable`",
        )


@rule("MET005", "default-channel-empty")
def default_channel_empty(bundle: Bundle) -> Iterator[Finding]:
    """The default channel is an empty string.

    Why: an empty string is not a channel name. The key is optional.

    Fix: name the default channel, or remove the key.
    """
    if bundle.annotations.get(model.DEFAULT_CHANNEL) == "":
        yield Finding(
            f'Expecting annotation "{model.DEFAULT_CHANNEL}" to have non-empty value',
            at=at(bundle, model.DEFAULT_CHANNEL),
            hint="name the default channel, or remove the key",
        )


@rule("MET022", "channel-name-empty", suite=SOUND_SUITE)
def channel_name_empty(bundle: Bundle) -> Iterator[Finding]:
    """The list of channels has an empty name.

    Why: an extra comma creates a channel without a name, which catalogs reject.

    Fix: remove the comma.
    """
    listed = bundle.annotations.get(model.CHANNELS, "")
    if listed and not all(name.strip() for name in listed.split(",")):
        yield Finding(
            f"the list of channels `{listed}` has an empty name",
            at=at(bundle, model.CHANNELS),
            hint="separate the names by one comma each",
            fix=_channels_fix(bundle),
        )


@rule("MET023", "channel-list-form", severity=Severity.WARNING, suite=SOUND_SUITE)
def channel_list_form(bundle: Bundle) -> Iterator[Finding]:
    """The list of channels has spaces, duplicates or invalid characters.

    Why: tools split the list at commas and keep the spaces, so that ` beta` and `beta` are
    two channels. A space also breaks the label in a Containerfile.

    Fix: write each name once, and separate the names only with commas.
    """
    listed = bundle.annotations.get(model.CHANNELS, "")
    parts = [name for name in listed.split(",") if name.strip()]
    if any(name != name.strip() for name in parts):
        yield Finding(
            f"the list of channels `{listed}` has spaces",
            at=at(bundle, model.CHANNELS),
            hint="separate the names by commas alone",
            fix=_channels_fix(bundle),
        )
    for name, count in Counter(name.strip() for name in parts).items():
        if count > 1:
            yield Finding(
                f"channel `{name}` is listed more than once",
                at=at(bundle, model.CHANNELS),
                fix=_channels_fix(bundle),
            )
        if not _CHANNEL_FORM.fullmatch(name):
            yield Finding(
                f"channel name `{name}` has characters that break catalogs",
                at=at(bundle, model.CHANNELS),
                hint="use letters, digits, `-`, `_` and `.`",
            )


@rule("MET024", "default-channel-unlisted", severity=Severity.WARNING, suite=SOUND_SUITE)
def default_channel_unlisted(bundle: Bundle) -> Iterator[Finding]:
    """The default channel is not among the channels of the bundle.

    Why: another bundle can provide the default channel. Usually this is a mistake, and the
    default channel of the package has no bundle.

    Fix: add the default channel to the channels, or name one of them.
    """
    default = bundle.default_channel
    if default and bundle.channels and default not in bundle.channels:
        yield Finding(
            f"default channel `{default}` is not among the channels `{','.join(bundle.channels)}`",
            at=at(bundle, model.DEFAULT_CHANNEL),
            hint="name one of the channels of this bundle",
        )


def _channels_fix(bundle: Bundle) -> Fix | None:
    """Return the list of channels with each name once, separated only by commas."""
    names_ = dict.fromkeys(bundle.channels)
    return value_fix(bundle, model.CHANNELS, ",".join(names_)) if names_ else None
