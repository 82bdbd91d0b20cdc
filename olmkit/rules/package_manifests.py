"""Rules about package manifests, the format before bundles.

Source: the validator of package manifests in operator-framework/api, which no command of
operator-sdk runs. Today, catalogs consist of bundles; a valid package manifest can be converted to
them.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.bundle.package_manifest import PackageManifest
from olmkit.rules.engine import PACKAGE, Finding, rule


@rule("PKG001", "package-name-empty", subject=PACKAGE)
def package_name_empty(manifest: PackageManifest) -> Iterator[Finding]:
    """The package has no name.

    Why: a Subscription refers to a package by its name.

    Fix: write the name at `packageName`.
    """
    if not manifest.name:
        yield Finding(
            "`packageName` is empty",
            at=manifest.document.at("packageName"),
            hint="write the name of the package",
        )


@rule("PKG002", "manifest-without-channels", subject=PACKAGE)
def no_channels(manifest: PackageManifest) -> Iterator[Finding]:
    """The package has no channels.

    Why: OLM can install none of its bundles.

    Fix: list at least one channel, with `name` and `currentCSV`.
    """
    if not manifest.channels:
        yield Finding(
            "`channels` is empty",
            at=manifest.document.at("channels"),
            hint="list at least one channel, with `name` and `currentCSV`",
        )


@rule("PKG003", "manifest-default-channel", subject=PACKAGE)
def no_default_channel(manifest: PackageManifest) -> Iterator[Finding]:
    """The package has several channels and no default.

    Why: a Subscription without a channel would have no channel to follow.

    Fix: name one of the channels at `defaultChannel`.
    """
    if len(manifest.channels) > 1 and not manifest.default_channel:
        yield Finding(
            "`defaultChannel` is empty, and there is more than one channel",
            at=manifest.document.at(),
            hint="name one of the channels at `defaultChannel`",
        )


@rule("PKG004", "channel-name-empty", subject=PACKAGE)
def channel_name_empty(manifest: PackageManifest) -> Iterator[Finding]:
    """A channel has no name.

    Why: no Subscription can follow it.

    Fix: write its `name`.
    """
    for channel in manifest.channels:
        if not channel.name:
            yield Finding(
                f"`name` of channel {channel.place + 1} is empty",
                at=manifest.document.at("channels", channel.place),
                hint="write the name of the channel",
            )


@rule("PKG005", "current-csv-empty", subject=PACKAGE)
def current_csv_empty(manifest: PackageManifest) -> Iterator[Finding]:
    """A channel does not name its newest CSV.

    Why: the channel is then empty.

    Fix: write the name of a CSV at `currentCSV`.
    """
    for channel in manifest.channels:
        if not channel.current_csv:
            yield Finding(
                f"`currentCSV` of channel `{channel.name}` is empty",
                at=manifest.document.at("channels", channel.place),
                hint="write the name of the newest CSV of the channel",
            )


@rule("PKG006", "channel-twice", subject=PACKAGE)
def channel_twice(manifest: PackageManifest) -> Iterator[Finding]:
    """Two channels have the same name.

    Why: one of them is lost.

    Fix: rename or remove one.
    """
    seen: set[str] = set()
    for channel in manifest.channels:
        if channel.name in seen:
            yield Finding(
                f"there are two channels with the name `{channel.name}`",
                at=manifest.document.at("channels", channel.place),
                hint="rename or remove one of them",
            )
        seen.add(channel.name)


@rule("PKG007", "manifest-default-unknown", subject=PACKAGE)
def unknown_default_channel(manifest: PackageManifest) -> Iterator[Finding]:
    """The default channel is not one of the channels.

    Why: a Subscription without a channel follows a channel that does not exist.

    Fix: name one of the channels.
    """
    names = [channel.name for channel in manifest.channels]
    if names and manifest.default_channel and manifest.default_channel not in names:
        yield Finding(
            f"there is no channel with the name of the default, `{manifest.default_channel}`",
            at=manifest.document.at("defaultChannel"),
            hint=f"the channels are {', '.join(f'`{name}`' for name in names[:10])}",
        )
