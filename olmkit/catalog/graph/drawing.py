"""Draw upgrade graphs as text: Mermaid, DOT, and plain lines.

Mermaid's form is that of `opm alpha render-graph`, line by line, except for the numbers of links,
which are counted in the order of the text, as Mermaid counts them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from olmkit.base.quoting import quote
from olmkit.catalog.graph import links
from olmkit.catalog.graph.links import Edge, EdgeKind
from olmkit.catalog.model import Channel, Entry, Package

_VERBS = {EdgeKind.SKIPS: "skip", EdgeKind.REPLACES: "replace"}


def mermaid(packages: Sequence[Package], *, v0: bool = False) -> str:
    """Return a flow chart with a box for each package and channel.

    With `v0`, bundles that OLM v0 skips and edges that it never follows are marked.
    """
    drawn = _Drawn()
    lines = [
        "graph LR",
        "  classDef deprecated fill:#E8960F",
        "  classDef skipped stroke:#FF0000,stroke-width:4px",
        "  classDef deprecatedskipped fill:#E8960F,stroke:#FF0000,stroke-width:4px",
    ]
    for package in packages:
        lines.append(f"  %% package {quote(package.name)}")
        lines.append(f"  subgraph {quote(package.name)}")
        for _, channel in sorted(package.channels.items()):
            lines += _mermaid_channel(channel, drawn, v0=v0)
        lines.append("  end")
    lines += [
        f"style {package.name} fill:#989695"
        for package in packages
        if package.deprecation is not None and package.channels
    ]
    lines += [
        f"style {package.name}-{name} fill:#DCD0FF"
        for package in packages
        for name, channel in sorted(package.channels.items())
        if channel.deprecation is not None
    ]
    for style, nodes in sorted(drawn.nodes.items()):
        lines.append(f"class {','.join(sorted(nodes))} {style}")
    if drawn.unused:
        numbers = ",".join(map(str, drawn.unused))
        lines.append(f"linkStyle {numbers} stroke:#FF0000,stroke-width:3px,stroke-dasharray:5;")
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class _Drawn:
    """The drawing so far: nodes by style, the number of edges, unfollowed edges."""

    nodes: dict[str, list[str]] = field(default_factory=dict)
    edges: int = 0
    unused: list[int] = field(default_factory=list)


def _mermaid_channel(channel: Channel, drawn: _Drawn, *, v0: bool) -> Iterator[str]:
    prefix = f"{channel.package}-{channel.name}"
    yield f"    %% channel {quote(channel.name)}"
    yield f"    subgraph {prefix}[{quote(channel.name)}]"
    skipped: set[str] = set()
    for entry in links.sort_by_version(channel.entries):
        node = f"{prefix}-{entry.name}[{quote(entry.name)}]"
        yield f"      {node}"
        is_deprecated = entry.bundle is not None and entry.bundle.deprecation is not None
        style = "deprecated" * is_deprecated + "skipped" * (entry.name in skipped)
        if style:
            drawn.nodes.setdefault(style, []).append(f"{prefix}-{entry.name}")
        for edge in links.edges_to(channel, entry):
            label = _mermaid_label(edge, entry)
            yield f"      {prefix}-{edge.old}[{quote(edge.old)}]-- {label} --> {node}"
            is_skip = edge.kind is EdgeKind.SKIPS
            if v0 and (edge.old if is_skip else entry.name) in skipped:
                drawn.unused.append(drawn.edges)
            if v0 and is_skip:
                skipped.add(edge.old)
            drawn.edges += 1
    yield "    end"


def _mermaid_label(edge: Edge, entry: Entry) -> str:
    if edge.kind is EdgeKind.SKIP_RANGE:
        return f'"skipRange({entry.skip_range})"'
    return _VERBS[edge.kind]


def dot(packages: Sequence[Package]) -> str:
    """Return a directed graph for Graphviz."""
    lines = ["digraph catalog {", "  rankdir=LR", "  node [shape=box]"]
    for package in packages:
        lines.append(f"  subgraph {_dot(f'cluster {package.name}')} {{")
        lines.append(f"    label={_dot(package.name)}")
        for _, channel in sorted(package.channels.items()):
            lines += _dot_channel(channel)
        lines.append("  }")
    return "\n".join([*lines, "}"]) + "\n"


def _dot_channel(channel: Channel) -> Iterator[str]:
    prefix = f"{channel.package} {channel.name}"
    yield f"    subgraph {_dot(f'cluster {prefix}')} {{"
    yield f"      label={_dot(channel.name)}"
    named: set[str] = set()
    for entry in links.sort_by_version(channel.entries):
        edges = list(links.edges_to(channel, entry))
        for name in (entry.name, *(edge.old for edge in edges)):
            if name not in named:
                named.add(name)
                style = "" if name in channel.entries else " style=dashed"
                yield f"      {_dot(f'{prefix} {name}')} [label={_dot(name)}{style}]"
        for edge in edges:
            yield (
                f"      {_dot(f'{prefix} {edge.old}')} -> {_dot(f'{prefix} {edge.new}')} "
                f"[label={_dot(str(edge.kind))}]"
            )
    yield "    }"


def _dot(text: str) -> str:
    # Graphviz has one escape inside quotes; other backslashes are not changed.
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def lines(packages: Sequence[Package]) -> str:
    """Return each channel from its head down, with the upgrade edges of each entry."""
    text: list[str] = []
    for package in packages:
        default = f" (default channel {package.default_channel})" if package.default_channel else ""
        text.append(f"{package.name}{default}{_note(package.deprecation)}")
        for _, channel in sorted(package.channels.items()):
            text.append(f"  {channel.name}{_note(channel.deprecation)}")
            text += [f"    {line}" for line in _entry_lines(channel)]
    return "\n".join(text) + "\n"


def _entry_lines(channel: Channel) -> Iterator[str]:
    head = links.head(channel)
    passed_over = links.skipped_names(channel)
    for entry in links.sort_by_version(channel.entries):
        notes = []
        if head is not None and entry.name == head.name:
            notes.append("head")
        if entry.name in passed_over:
            notes.append("skipped")
        if entry.replaces:
            notes.append(f"replaces {entry.replaces}")
        if entry.skips:
            notes.append(f"skips {', '.join(entry.skips)}")
        if entry.skip_range:
            notes.append(f"skipRange {entry.skip_range}")
        deprecation = entry.bundle.deprecation if entry.bundle else None
        yield entry.name + (f"  {'; '.join(notes)}" if notes else "") + _note(deprecation)


def _note(deprecation: str | None) -> str:
    return "" if deprecation is None else f"  [deprecated: {' '.join(deprecation.split())}]"
