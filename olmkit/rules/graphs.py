"""Rules for upgrade graphs: one head, and a path to it from every entry.

At most one of the rules for the shape of a channel reports, as in the reference:
a channel without a head has no chain that could have a cycle or stranded entries.
"""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base import texts
from olmkit.base.diagnostics import Severity
from olmkit.base.quoting import quote
from olmkit.base.versions import InvalidRangeError, VersionRange
from olmkit.catalog.graph import links as graph
from olmkit.catalog.model import Catalog, Channel, Entry
from olmkit.rules.catalogs import within
from olmkit.rules.engine import CATALOG, SOUND_SUITE, Finding, rule


@rule("GRF001", "empty-channel", subject=CATALOG)
def empty_channel(catalog: Catalog) -> Iterator[Finding]:
    """A channel lists no bundles.

    Why: a Subscription to it finds no bundle.

    Fix: add an entry, or remove the channel.
    """
    for channel in _channels(catalog):
        if not channel.entries:
            yield Finding(
                "channel must contain at least one bundle",
                at=channel.place.at("entries"),
                hint="add an entry, or remove the channel",
                subject=within(channel.package, channel.name),
            )


@rule("GRF002", "no-channel-head", subject=CATALOG)
def no_channel_head(catalog: Catalog) -> Iterator[Finding]:
    """Another entry replaces or skips every entry of a channel.

    Why: the channel needs a head, which is the version that OLM installs and upgrades to.

    Fix: make sure that nothing replaces or skips the newest entry, not even the entry
    itself.
    """
    for channel in _channels(catalog):
        if channel.entries and not graph.heads(channel):
            yield Finding(
                "no channel head found in graph",
                at=channel.place.at("entries"),
                hint="nothing may replace or skip the newest entry, not even itself",
                subject=within(channel.package, channel.name),
            )


@rule("GRF003", "several-channel-heads", subject=CATALOG)
def several_channel_heads(catalog: Catalog) -> Iterator[Finding]:
    """Several entries of a channel are neither replaced nor skipped.

    Why: it is ambiguous which of them OLM installs and upgrades to. `skipRange` has no
    effect on this.

    Fix: let the newest entry replace one of the others and skip the rest.
    """
    for channel in _channels(catalog):
        heads = graph.heads(channel)
        if len(heads) > 1:
            newest, *others = graph.sort_by_version({name: channel.entries[name] for name in heads})
            yield Finding(
                f"multiple channel heads found in graph: {', '.join(map(texts.shorten, heads))}",
                at=channel.place.at("entries", newest.index, "name"),
                hint=f"let `{newest.name}` replace `{others[0].name}`"
                + (" and skip the others" if others[1:] else "")
                if all(entry.bundle for entry in (newest, *others))
                else "let the newest entry replace one of the others and skip the rest",
                subject=within(channel.package, channel.name),
            )


@rule("GRF004", "replaces-cycle", subject=CATALOG)
def replaces_cycle(catalog: Catalog) -> Iterator[Finding]:
    """The chain of `replaces` from the head has a cycle.

    Why: upgrades would never end.

    Fix: remove the `replaces` that closes the cycle.
    """
    for channel, _, chain in _chains(catalog):
        if chain.cycle:
            last = channel.entries[chain.cycle[-2]]
            yield Finding(
                f"detected cycle in replaces chain of upgrade graph: {' -> '.join(chain.cycle)}",
                at=channel.place.at("entries", last.index, "replaces"),
                hint=f"`{last.name}` must not replace `{last.replaces}`",
                subject=within(channel.package, channel.name),
            )


@rule("GRF005", "stranded-entries", subject=CATALOG)
def stranded_entries(catalog: Catalog) -> Iterator[Finding]:
    """Some entries of a channel have no upgrade path to the head.

    Why: clusters with one of these versions get no more upgrades. A chain of `replaces`
    ends at a skipped entry, so all entries below it must also be skipped.

    Fix: add them to the `skips` of an entry of the chain, or let an entry of the chain
    replace them.
    """
    for channel, head, chain in _chains(catalog):
        lost = () if chain.cycle else graph.stranded_entries(channel, chain)
        if lost:
            first = channel.entries[lost[0]]
            yield Finding(
                f"channel contains one or more stranded bundles: {', '.join(lost)}",
                at=channel.place.at("entries", first.index, "name"),
                hint=f"add {'it' if len(lost) == 1 else 'them'} to the `skips` of `{head.name}`",
                subject=within(channel.package, channel.name),
            )


@rule("GRF006", "empty-skip", subject=CATALOG)
def empty_skip(catalog: Catalog) -> Iterator[Finding]:
    """An entry skips a bundle without a name.

    Why: the empty name has no effect.

    Fix: remove the empty string from `skips`.
    """
    for channel in _channels(catalog):
        for entry in channel.entries.values():
            for index, name in enumerate(entry.skips):
                if not name:
                    yield Finding(
                        f"skip[{index}] is empty",
                        at=channel.place.at("entries", entry.index, "skips", index),
                        hint="name a bundle, or remove the empty string",
                        subject=within(channel.package, channel.name, entry.name),
                    )


@rule("GRF007", "invalid-skip-range", subject=CATALOG)
def invalid_skip_range(catalog: Catalog) -> Iterator[Finding]:
    """A `skipRange` is not a version range.

    Why: OLM would not offer the intended upgrades.

    Fix: write terms such as `>=1.0.0 <2.0.0`, and separate alternatives with ` || `.
    Carets, tildes and commas are not supported.
    """
    for channel in _channels(catalog):
        for entry in channel.entries.values():
            if not entry.skip_range:
                continue
            try:
                VersionRange.parse(entry.skip_range)
            except InvalidRangeError as error:
                yield Finding(
                    f"invalid skipRange {quote(entry.skip_range)}: {error.reason}",
                    at=channel.place.at("entries", entry.index, "skipRange"),
                    hint=error.hint,
                    subject=within(channel.package, channel.name, entry.name),
                )


@rule("GRF010", "skip-range-of-itself", subject=CATALOG, severity=Severity.INFO, suite=SOUND_SUITE)
def skip_range_of_itself(catalog: Catalog) -> Iterator[Finding]:
    """The `skipRange` of an entry includes its own version.

    Why: a bundle does not upgrade itself. Usually the range should end below the version.

    Fix: end the range with `<` and the version of the entry.
    """
    for channel in _channels(catalog):
        for entry in channel.entries.values():
            wanted = graph.skip_range(entry)
            if wanted is not None and entry.bundle and entry.version.version in wanted:
                yield Finding(
                    f"skipRange {quote(entry.skip_range)} includes the version of its entry, "
                    f"{entry.version.version}",
                    at=channel.place.at("entries", entry.index, "skipRange"),
                    hint=f"end it with `<{entry.version.version}`",
                    subject=within(channel.package, channel.name, entry.name),
                )


@rule(
    "GRF011",
    "channel-of-deprecated-bundles",
    subject=CATALOG,
    severity=Severity.INFO,
    suite=SOUND_SUITE,
)
def channel_of_deprecated_bundles(catalog: Catalog) -> Iterator[Finding]:
    """Every bundle of a channel is deprecated, but the channel is not.

    Why: consoles show the deprecation of a channel before a user selects it, but the
    deprecation of a bundle only after it is installed. OLM v1 installs a deprecated bundle
    only if there is no alternative.

    Fix: also deprecate the channel, with a message that names the channel to use instead.
    """
    for package in catalog.packages.values():
        if package.deprecation is not None:
            continue
        for channel in package.channels.values():
            bundles = [entry.bundle for entry in channel.entries.values() if entry.bundle]
            if channel.deprecation is None and bundles:
                if any(bundle.deprecation is None for bundle in bundles):
                    continue
                yield Finding(
                    f"all bundles of channel {quote(channel.name)} are deprecated, "
                    "but not the channel",
                    at=channel.place.at("name"),
                    hint="add an entry for the channel to `olm.deprecations`",
                    subject=within(channel.package, channel.name),
                )


def _channels(catalog: Catalog) -> Iterator[Channel]:
    for package in catalog.packages.values():
        yield from package.channels.values()


def _chains(catalog: Catalog) -> Iterator[tuple[Channel, Entry, graph.Chain]]:
    """Yield each channel that has a head, and the chain down from it."""
    for channel in _channels(catalog):
        head = graph.head(channel)
        if head is not None:
            yield channel, head, graph.chain(channel, head)
