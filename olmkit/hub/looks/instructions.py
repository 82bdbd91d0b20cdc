"""All variants of the instructions in one text, whose differences are marked with the choice.

The manifests for each mode and platform share most of their lines. As separate texts, they are ten
times as large. So the variants of an OLM generation become one block, in which elements with
`data-p` and `data-m` contain the parts of some platforms and modes; the style sheet shows those for
the selected buttons. A page is complete without a script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from olmkit.hub.looks import editable
from olmkit.hub.looks.text import clean, code
from olmkit.hub.pages.instructions import Install, Variant

_CHOICES: Final = ("olm", "platform", "mode")
# The choices in attributes: short, because a page has some hundred of them.
_CODES: Final = {
    "v0": "0",
    "v1": "1",
    "v1-account": "2",
    "kubernetes": "k",
    "openshift": "o",
    "AllNamespaces": "a",
    "MultiNamespace": "m",
    "SingleNamespace": "s",
    "OwnNamespace": "o",
}


class Block(NamedTuple):
    """The variants of one generation of OLM; `attributes` name the choices for which it is shown.

    With a `refusal`, the other texts are empty.
    """

    is_v0: bool
    attributes: Markup
    title: Markup
    refusal: tuple[str, ...]
    text: Markup = Markup()
    notes: Markup = Markup()
    olmkit: Markup = Markup()
    command: Markup = Markup()
    after: Markup = Markup()
    removal: Markup = Markup()


class _Piece(NamedTuple):
    """A part of a text, and the positions of the variants that have it."""

    markup: str
    of: frozenset[int]


def blocks(install: Install) -> Iterator[Block]:
    """Yield the instructions of a version as shown."""
    bundle, version, _, channel = install.written
    template = Install(
        templates=install.templates,
        channel=channel or install.channel,
        is_head=install.is_head,
        bundle=bundle or install.bundle,
        version=version or install.version,
    )
    for block in _blocks(template):
        yield block._replace(
            olmkit=_fill_names(block.olmkit, install),
            command=_fill_names(block.command, install),
            after=_fill_names(block.after, install),
            removal=_fill_names(block.removal, install),
        )


def _fill_names(text: Markup, install: Install) -> Markup:
    # Placeholders are used only for names without characters that HTML must escape.
    return Markup(install.named(text))  # noqa: S704


@lru_cache(maxsize=64)
def _blocks(install: Install) -> tuple[Block, ...]:
    """Return the blocks, cached for versions with the same templates: it takes milliseconds."""
    v0 = [one for one in install.templates if one.olm == "v0"]
    others = [one for one in install.templates if one.olm != "v0"]
    return tuple(_block(group, install) for group in (v0, others) if group)


def _block(variants: Sequence[Variant], install: Install) -> Block:
    first = variants[0]
    generations = dict.fromkeys(one.olm for one in variants if one.olm)
    attributes = Markup(_attribute("olm", generations) if generations else "")  # noqa: S704
    if first.refusal:
        return Block(first.olm == "v0", attributes, escape(clean(first.title)), first.refusal)

    def text(pieces: Callable[[Variant], Sequence[str]], tag: str = "u") -> Markup:
        return _merge(variants, [pieces(one) for one in variants], tag)

    return Block(
        is_v0=first.olm == "v0",
        attributes=attributes,
        title=text(lambda one: _split_words(one.title)),
        refusal=(),
        text=text(lambda one: [escape(clean(one.text))] if one.text else []),
        notes=text(_notes, "div"),
        olmkit=text(lambda one: editable.olmkit(one, install) if one.olmkit else ()),
        command=text(lambda one: editable.command(one, install)),
        after=text(lambda one: editable.after(one, install) if one.after else ()),
        removal=text(lambda one: editable.removal(one) if one.removal else ()),
    )


def _split_words(text: str) -> list[str]:
    return [escape(one) for one in clean(text).replace(" ", "\0 ").split("\0")]


def _notes(variant: Variant) -> list[str]:
    return [Markup('<div class="note"><p>{}</p></div>').format(code(one)) for one in variant.notes]


def _merge(variants: Sequence[Variant], texts: Sequence[Sequence[str]], tag: str) -> Markup:
    """Merge several texts; parts of only some variants are in an element with their choices."""
    pieces: list[_Piece] = []
    for place, text in enumerate(texts):
        pieces = _with(pieces, text, place)
    made: list[str] = []
    start = 0
    for end in range(1, len(pieces) + 1):
        if end < len(pieces) and pieces[end].of == pieces[start].of:
            continue
        shown = "".join(one.markup for one in pieces[start:end])
        for of in _products(variants, pieces[start].of):
            opened = "".join(_attributes(variants, of))
            made.append(f"<{tag}{opened}>{shown}</{tag}>" if opened else shown)
        start = end
    return Markup("".join(made))  # noqa: S704 - the pieces are escaped


def _with(pieces: Sequence[_Piece], text: Sequence[str], place: int) -> list[_Piece]:
    """Merge the pieces with those of another variant, keeping the order of both."""
    made: list[_Piece] = []
    known = [one.markup for one in pieces]
    found = SequenceMatcher(None, known, list(text), autojunk=False).get_opcodes()
    for operation, first, last, start, end in found:
        if operation == "equal":
            made += [one._replace(of=one.of | {place}) for one in pieces[first:last]]
            continue
        made += pieces[first:last]
        made += [_Piece(one, frozenset({place})) for one in text[start:end]]
    return made


def _products(variants: Sequence[Variant], of: frozenset[int]) -> Iterator[frozenset[int]]:
    """Divide `of` into parts, each of which has all variants with some values of each choice."""
    chosen = [{getattr(variants[place], name) for place in of} for name in _CHOICES]
    whole = {
        place
        for place, one in enumerate(variants)
        if all(getattr(one, name) in values for name, values in zip(_CHOICES, chosen, strict=True))
    }
    if whole == of:
        yield of
        return
    name, values = next(
        (name, values) for name, values in zip(_CHOICES, chosen, strict=True) if len(values) > 1
    )
    for value in sorted(values):
        part = frozenset(place for place in of if getattr(variants[place], name) == value)
        yield from _products(variants, part)


def _attributes(variants: Sequence[Variant], of: frozenset[int]) -> Iterator[str]:
    """Yield the attributes that select these variants, one for each choice on which it depends."""
    for name in _CHOICES:
        values = dict.fromkeys(str(getattr(one, name)) for one in variants)
        chosen = dict.fromkeys(str(getattr(variants[place], name)) for place in sorted(of))
        if len(chosen) < len(values):
            yield _attribute(name, chosen)


def _attribute(name: str, chosen: Iterable[str]) -> str:
    codes = " ".join(_CODES.get(one, "-") for one in chosen)
    return f' data-{name[0]}="{codes}"' if " " in codes else f" data-{name[0]}={codes}"
