"""Draw upgrade graphs as SVG.

A package is drawn like the history of a repository: a row for each bundle, newest at the top, and a
vertical line for each channel with a dot where the channel has the bundle. A line connects a bundle
to the one that replaces it, a dashed arc to one that skips it, and the skip range of a channel's
head is a dotted bracket along its rows. Three or more skips of one bundle are one dashed bracket.
So a channel of 300 bundles is as legible as one of three, and a package with many channels is a
narrow table.

A picture may be folded: the older patch versions of a minor version share a row. Bundles that are
only named, and are not in a channel, share a row if there are many.

The picture needs no external font, script or file; its colors follow the theme of the page. Text is
escaped, so that a catalog cannot add markup to a page.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import escape

from olmkit.catalog.graph import links, upgrades
from olmkit.catalog.model import Channel, Entry, Package

ROW: Final = 22  # all lengths are pixels at the picture's natural size
LANE: Final = 24
_MARGIN: Final = 16
_DOT: Final = 5
_LETTER: Final = 6.8  # the width of an average letter at 12 pixels
_LEGEND: Final = 40
_TITLE: Final = 34
_WIDTH: Final = 660  # minimum width: that of the legend
_MANY: Final = 3  # number of skips that share a bracket, number of named bundles that share a row
_FOLDED: Final = 60  # number of rows from which an inline picture is folded
_LONGEST: Final = 60  # characters of a name or a note; tooltips have the whole text
# Colors that readers with color blindness can distinguish (Okabe and Ito), on light and dark
# ground.
_COLORS: Final = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6bb1")
_STYLE: Final = """\
svg{font:12px system-ui,sans-serif;fill:#1f2328;background:#fff}
.t{font-size:15px;font-weight:600}.c{font-weight:600}.n{fill:#59636e}.d{fill:#9a6700}
.g{fill:#818b98;font-style:italic}.x{text-decoration:line-through}.r{fill:#8c959f;fill-opacity:.1}
.e{fill:none;stroke-width:2}.s{stroke-dasharray:4 3;stroke-width:1.5}
.k{stroke-dasharray:1 3;stroke-width:1.5}.o{fill:#fff}
@media(prefers-color-scheme:dark){svg{fill:#f0f6fc;background:#0d1117}.n{fill:#9198a1}
.d{fill:#d29922}.g{fill:#656c76}.o{fill:#0d1117}}"""


@dataclass(frozen=True, slots=True)
class _Row:
    """One bundle; `entries` are those of the channels that have it.

    `stranded` are the channels in which no upgrade leads from the bundle to the head.
    `folded` are the names of all bundles in a shared row, the newest first.
    """

    name: str
    version: str
    entries: Mapping[str, Entry]
    deprecation: str | None
    is_bundle: bool
    stranded: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    oldest: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        return self.folded or (self.name,)


def svg(packages: Sequence[Package]) -> str:
    """Return one picture with the packages below each other."""
    drawings = [_Drawing(package) for package in packages]
    width = max([_WIDTH, *(drawing.width for drawing in drawings)])
    body: list[str] = []
    top = _MARGIN
    for drawing in drawings:
        body += drawing.draw(top, width)
        top += drawing.height + _MARGIN
    body += _legend(top)
    height = top + _LEGEND
    names = ", ".join(package.name for package in packages)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
            f'width="{width}" height="{height}" role="img">',
            f"<title>Upgrade graph of {_text(names, 200)}</title>",
            f"<style>{_STYLE}</style>",
            *body,
            "</svg>",
            "",
        ]
    )


def inline(package: Package) -> str:
    """Return the picture of one package for a page that has the style itself (class `picture`).

    The page also has the data as text, so the picture is hidden from screen readers.
    """
    drawing = _Drawing(package, is_folded=is_folded(package))
    width = max(_WIDTH, drawing.width)
    height = drawing.height + 2 * _MARGIN + _LEGEND
    body = [*drawing.draw(_MARGIN, width), *_legend(drawing.height + 2 * _MARGIN)]
    frame = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join([f'<svg class="picture" {frame} aria-hidden="true">', *body, "</svg>"])


def is_folded(package: Package) -> bool:
    """Return whether `inline` folds the older patch versions of a package."""
    return len(package.bundles) >= _FOLDED


class _Drawing:
    """One package: its rows, its lanes, and their positions."""

    def __init__(self, package: Package, *, is_folded: bool = False) -> None:
        self._package = package
        self._channels = sorted(
            package.channels.values(),
            key=lambda channel: (channel.name != package.default_channel, channel.name),
        )
        rows = _rows(package)
        self._rows = list(_merge_rows([*_fold(rows, package)] if is_folded else rows))
        self._places = {name: number for number, row in enumerate(self._rows) for name in row.names}
        longest = max((len(channel.name) for channel in self._channels), default=0)
        self._head = _TITLE + 12 + round(min(longest, _LONGEST) * _LETTER * 0.72)
        self._text_left = _MARGIN + LANE * len(self._channels) + 12
        widest = max((len(_plain(row)) for row in self._rows), default=0)
        last_channel = LANE * len(self._channels) + min(longest, _LONGEST) * _LETTER * 0.72
        self.width = round(
            max(self._text_left + widest * _LETTER, last_channel, 40 * _LETTER) + 2 * _MARGIN
        )
        self.height = self._head + ROW * max(len(self._rows), 1)

    def draw(self, top: int, width: int) -> Iterator[str]:
        yield f'<g transform="translate(0 {top})">'
        note = _deprecation_label(self._package.deprecation)
        name = _text(self._package.name, _LONGEST)
        yield f'<text class="t" x="{_MARGIN}" y="14">{name}{note}</text>'
        for lane in range(len(self._channels)):
            yield self._heading(lane)
        for number in range(0, len(self._rows), 2):
            y = self._y(number) - ROW // 2
            yield f'<rect class="r" x="0" y="{y}" width="{width}" height="{ROW}"/>'
        for lane in range(len(self._channels)):
            yield from self._lane(lane)
        for number, row in enumerate(self._rows):
            yield self._label(number, row)
        if not self._rows:
            place = f'x="{_MARGIN}" y="{self._head + 14}"'
            yield f'<text class="n" {place}>no channel has a bundle</text>'
        yield "</g>"

    def _x(self, lane: int) -> int:
        return _MARGIN + LANE * lane + LANE // 2

    def _y(self, number: int) -> int:
        return self._head + ROW * number + ROW // 2

    def _heading(self, lane: int) -> str:
        channel = self._channels[lane]
        default = " (default)" if channel.name == self._package.default_channel else ""
        struck = " x" if channel.deprecation is not None else ""
        title = f"channel {channel.name}{default}"
        if channel.deprecation is not None:
            title += f", deprecated: {channel.deprecation}"
        style = "c" if default else "n"
        return (
            f'<text class="{style}{struck}" fill="{_color(lane)}" '
            f'transform="translate({self._x(lane) - 2} {self._head - 4}) rotate(-46)">'
            f"<title>{_text(title, 500)}</title>{_text(channel.name, _LONGEST)}</text>"
        )

    def _lane(self, lane: int) -> Iterator[str]:
        channel = self._channels[lane]
        color = _color(lane)
        taken = {self._places[name] for name in channel.entries}
        heads = set(links.heads(channel))
        for entry in links.sort_by_version(channel.entries):
            if entry.name in heads:
                yield from self._bracket(lane, channel, entry)
            yield from self._skips(lane, entry)
            if entry.replaces and self._is_visible(entry):
                yield self._connection(lane, entry, taken)
        drawn: set[int] = set()
        for entry in links.sort_by_version(channel.entries):
            y, x = self._y(self._places[entry.name]), self._x(lane)
            if self._places[entry.name] in drawn:
                continue
            drawn.add(self._places[entry.name])
            is_head = entry.name in heads
            title = f"{entry.name} in channel {channel.name}{', its head' if is_head else ''}"
            inner = "" if not is_head else f'<circle class="o" cx="{x}" cy="{y}" r="2"/>'
            yield (
                f'<g><title>{_text(title, 500)}</title><circle cx="{x}" cy="{y}" '
                f'r="{_DOT + is_head}" fill="{color}"/>{inner}</g>'
            )

    def _is_visible(self, entry: Entry) -> bool:
        """Return whether both ends of a `replaces` edge are in separate rows."""
        place = self._places[entry.name]
        return place != self._places[entry.replaces] or not self._rows[place].folded

    def _skips(self, lane: int, entry: Entry) -> Iterator[str]:
        skips = list(dict.fromkeys(filter(None, entry.skips)))
        if len(skips) < _MANY:
            for old in skips:
                yield self._arc(lane, old, entry.name, "e s", f"{entry.name} skips {old}")
            return
        places = sorted({self._places[old] for old in skips} - {self._places[entry.name]})
        if not places:
            return
        x, top = self._x(lane), self._y(self._places[entry.name])
        ends = [self._y(number) for number in places]
        path = f"M{x} {top}H{x + 8}V{ends[-1]}" + "".join(f"M{x + 8} {end}h-4" for end in ends)
        title = f"{entry.name} skips {len(skips)} versions: {', '.join(skips)}"
        yield _path(path, "e s", _color(lane), title)

    def _connection(self, lane: int, entry: Entry, taken: set[int]) -> str:
        """Return a `replaces` edge: straight if no entry is in between, else an arc."""
        new, old = self._places[entry.name], self._places[entry.replaces]
        title = f"{entry.name} replaces {entry.replaces}"
        low, high = sorted((new, old))
        if taken.isdisjoint(range(low + 1, high)) and new != old:
            x = self._x(lane)
            path = f"M{x} {self._y(old)}V{self._y(new)}"
            return _path(path, "e", _color(lane), title)
        return self._arc(lane, entry.replaces, entry.name, "e", title)

    def _arc(self, lane: int, old: str, new: str, style: str, title: str) -> str:
        x = self._x(lane)
        start, end = self._y(self._places[old]), self._y(self._places[new])
        bend = min(8 + abs(end - start) // 10, LANE - 4)
        path = f"M{x} {start}C{x + bend} {start} {x + bend} {end} {x} {end}"
        return _path(path, style, _color(lane), title)

    def _bracket(self, lane: int, channel: Channel, entry: Entry) -> Iterator[str]:
        wanted = links.skip_range(entry)
        covered = [
            self._places[old.name]
            for old in channel.entries.values()
            if wanted is not None and old.bundle is not None and old.version.version in wanted
        ]
        if not covered:
            return
        x, top = self._x(lane) - 7, self._y(self._places[entry.name])
        ends = (min(covered), max(covered))
        path = f"M{x + 7} {top}H{x}V{self._y(ends[1])}" + "".join(
            f"M{x} {self._y(number)}h4" for number in sorted(covered)
        )
        title = f"skipRange of {entry.name}: {entry.skip_range}"
        yield _path(path, "e k", _color(lane), title)

    def _label(self, number: int, row: _Row) -> str:
        y = self._y(number) + 4
        struck = ' class="x"' if row.deprecation is not None else ""
        if row.folded:
            return (
                f'<text class="n" x="{self._text_left}" y="{y}">'
                f"<title>{_text(', '.join(row.folded), 500)}</title>"
                f"{_text(_folded_label(row), _LONGEST)}</text>"
            )
        if not row.is_bundle:
            return (
                f'<text class="g" x="{self._text_left}" y="{y}">{_text(row.name, _LONGEST)} '
                "(not in the catalog)</text>"
            )
        ranges = dict.fromkeys(entry.skip_range for entry in row.entries.values())
        notes = ", ".join(f"skipRange {text}" for text in ranges if text)
        title = f"{row.name} {notes}" + ("" if row.deprecation is None else f": {row.deprecation}")
        parts = [f"<tspan{struck}>{_text(row.version or row.name, _LONGEST)}</tspan>"]
        if row.version:
            parts.append(f'<tspan class="n" dx="8">{_text(row.name, _LONGEST)}</tspan>')
        if notes:
            parts.append(f'<tspan class="n" dx="8">{_text(notes, _LONGEST)}</tspan>')
        if row.stranded:
            parts.append(f'<tspan class="d" dx="8">{_text(_stranded_label(row), _LONGEST)}</tspan>')
        parts.append(_deprecation_label(row.deprecation))
        return (
            f'<text x="{self._text_left}" y="{y}"><title>{_text(title, 500)}</title>'
            f"{''.join(parts)}</text>"
        )


def _rows(package: Package) -> list[_Row]:
    """Return every bundle that a channel has or names, from the newest to the oldest."""
    found: dict[str, dict[str, Entry]] = {}
    for _, channel in sorted(package.channels.items()):
        for name, entry in channel.entries.items():
            found.setdefault(name, {})[channel.name] = entry
            for named in (entry.replaces, *entry.skips):
                if named:
                    found.setdefault(named, {})
    first = {name: next(iter(entries.values())) for name, entries in found.items() if entries}
    ordered = [entry.name for entry in links.sort_by_version(first)]
    ordered += sorted(found.keys() - first.keys())
    lost = {name: _bundles_without_path(channel) for name, channel in package.channels.items()}
    return [_row(name, found[name], lost) for name in ordered]


def _bundles_without_path(channel: Channel) -> frozenset[str]:
    """Return the bundles without a path to the head; none in a channel that OLM v0 refuses."""
    try:
        return upgrades.stranded_entries(channel)
    except upgrades.BrokenChannelError:
        return frozenset()


def _merge_rows(rows: Sequence[_Row]) -> Iterator[_Row]:
    """Yield the rows; if there are many bundles that are only named, they share one row."""
    named = [row for row in rows if not row.is_bundle and not row.folded]
    for row in rows:
        if row.is_bundle or row.folded or len(named) < _MANY:
            yield row
    if len(named) >= _MANY:
        yield _summary_row(named, is_bundle=False)


def _fold(rows: Sequence[_Row], package: Package) -> Iterator[_Row]:
    """Yield the rows; the older patch versions of a minor version share a row, except heads."""
    heads = {name for channel in package.channels.values() for name in links.heads(channel)}
    hidden: list[_Row] = []
    minor = ""
    for row in rows:
        own = ".".join(row.version.split(".")[:2]) if row.is_bundle else ""
        is_older = bool(own) and own == minor and row.name not in heads
        if is_older and row.deprecation is None and not row.stranded:
            hidden.append(row)
            continue
        yield from _visible_rows(hidden)
        hidden = []
        minor = own
        yield row
    yield from _visible_rows(hidden)


def _visible_rows(rows: list[_Row]) -> Iterator[_Row]:
    if len(rows) > 1:
        yield _summary_row(rows, is_bundle=True)
    else:
        yield from rows


def _summary_row(rows: Sequence[_Row], *, is_bundle: bool) -> _Row:
    return _Row(
        rows[0].name,
        rows[0].version,
        {},
        None,
        is_bundle=is_bundle,
        folded=tuple(row.name for row in rows),
        oldest=rows[-1].version,
    )


def _folded_label(row: _Row) -> str:
    if row.is_bundle:
        return f"{len(row.folded)} older: {row.version} to {row.oldest}"
    return f"{len(row.folded)} versions that are not in the catalog"


def _row(name: str, entries: Mapping[str, Entry], lost: Mapping[str, frozenset[str]]) -> _Row:
    bundle = next((entry.bundle for entry in entries.values() if entry.bundle), None)
    version = str(bundle.version) if bundle is not None and bundle.version is not None else ""
    deprecation = bundle.deprecation if bundle is not None else None
    stranded = tuple(channel for channel in entries if name in lost[channel])
    return _Row(name, version, entries, deprecation, is_bundle=bool(entries), stranded=stranded)


def _plain(row: _Row) -> str:
    """Return text with about the width of the row's label."""
    if row.folded:
        return _folded_label(row)
    ranges = dict.fromkeys(entry.skip_range for entry in row.entries.values())
    notes = ", ".join(f"skipRange {text}" for text in ranges if text)[:_LONGEST]
    note = "" if row.deprecation is None else f" deprecated: {row.deprecation}"[:_LONGEST]
    lost = _stranded_label(row)[:_LONGEST] if row.stranded else ""
    return f"{row.version}  {row.name[:_LONGEST]}  {notes}  {lost}  {note}" + (
        "" if row.is_bundle else " (not in the catalog)"
    )


def _stranded_label(row: _Row) -> str:
    return f"stranded in {', '.join(row.stranded)}"


def _deprecation_label(message: str | None) -> str:
    if message is None:
        return ""
    words = " ".join(f"deprecated: {message}".split())
    return f'<tspan class="d" dx="8">{_text(words, _LONGEST)}</tspan>'


def _legend(top: int) -> Iterator[str]:
    color, x = _COLORS[0], 0
    dot = f'<circle cx="6" cy="-4" r="{_DOT + 1}" fill="{color}"/>'
    marks = (
        (f'{dot}<circle class="o" cx="6" cy="-4" r="2"/>', "head of a channel", 150),
        (_path("M0 -4H18", "e", color, ""), "replaces", 100),
        (_path("M0 -4H18", "e s", color, ""), "skips", 82),
        (_path("M0 -4H18", "e k", color, ""), "skipRange of the head", 184),
        ('<text class="x">1.0.0</text>', "deprecated", 0),
    )
    yield f'<g transform="translate({_MARGIN} {top + 14})" class="n">'
    for mark, words, width in marks:
        offset = 40 if "text" in mark else 24
        yield f'<g transform="translate({x} 0)">{mark}<text x="{offset}">{words}</text></g>'
        x += width
    yield "</g>"


def _path(path: str, style: str, color: str, title: str) -> str:
    inner = f"<title>{_text(title, 500)}</title></path>" if title else "</path>"
    return f'<path class="{style}" stroke="{color}" d="{path}">{inner}'


def _color(lane: int) -> str:
    return _COLORS[lane % len(_COLORS)]


def _text(text: str, longest: int) -> str:
    """Return `text` as content of an element: short, escaped, without invalid XML characters."""
    shown = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return escape(
        "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in shown)
    )
