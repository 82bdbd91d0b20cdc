"""Instructions with marks around the parts that readers may change: namespaces, channel, approval.

Each mark is a `u` with `data-e`, whose text the script of the page replaces. So the text is
complete without a script, and users copy exactly the shown text. Some marks have text only in some
cases: `pin` for a version that is not the head of the channel, `manual` and `approve` for manual
approval, `place` for a namespace that is not shared. The script has the texts of the last three.
"""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterator
from typing import Final

from markupsafe import Markup, escape

from olmkit.hub.looks import yaml_colors
from olmkit.hub.looks.text import clean
from olmkit.hub.pages.instructions import Install, Variant

_WATCHED: Final = {"my-namespace": "watched", "my-other-namespace": "watched-2"}
# Private characters start and end a mark while the text is colored and escaped.
_CLOSE: Final = "\ue000"
_KINDS: Final = (
    "ns",
    "watched",
    "watched-2",
    "channel",
    "approval",
    "pin",
    "manual",
    "approve",
    "place",
)
_OPEN: Final = {kind: chr(0xE001 + number) for number, kind in enumerate(_KINDS)}
_WORD: Final = re.compile(r"(?:[\ue001-\ue0ff][^\ue000]*\ue000|[^\s\ue000-\ue0ff]+|\s)\s*")
_OPTION: Final = re.compile(r"(?<![\w-])(--[a-z][a-z-]*)")
_PRIVATE: Final = re.compile("[\ue000-\ue0ff]")
_MANUAL: Final = " --approval manual"
_APPROVE: Final = " patch installplan NAME --type merge -p " + shlex.quote(
    '{"spec":{"approved":true}}'
)
_PINS: Final = {"Subscription": "  startingCSV: ", "ClusterExtension": "      version: "}
# Not CatalogSource: the catalog stays where it is.
_NAMESPACED: Final = (
    "OperatorGroup",
    "Subscription",
    "ClusterExtension",
    "ServiceAccount",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
)


def manifests(variant: Variant, install: Install) -> list[Markup]:
    """Return the lines of the manifests of a variant, colored and marked."""
    *lines, last = _lines(_PRIVATE.sub("\ufffd", variant.yaml), variant, install)
    pieces = [f"{line}\n" for line in lines] + ([last] if last else [])
    pieces = [part for one in pieces for part in _split_at_mark(one, "pin")]
    if variant.olm == "v0" and "kind: OperatorGroup" not in variant.yaml:
        # A Namespace and an OperatorGroup, for a namespace that is not shared.
        pieces.insert(0, _mark("place", ""))
    pin = _pin(variant, install)
    return [Markup(_render_marks(str(yaml_colors.markup(one)), pin)) for one in pieces]  # noqa: S704


def command(variant: Variant, install: Install) -> list[Markup]:
    """Return the manifests inside the command that applies them, with the class `sh`."""
    before, yaml, after = variant.command.partition(variant.yaml)
    if not yaml:
        return [escape(clean(variant.command))]
    first, last = (
        Markup('<span class="sh">{}</span>').format(clean(one)) for one in (before, after)
    )
    return [first, *manifests(variant, install), last]


def olmkit(variant: Variant, install: Install) -> list[Markup]:
    """Return the equivalent command of olmkit, with optional parts at the end."""
    pin = f" --version {shlex.quote(install.version)}"
    text = _PRIVATE.sub("\ufffd", variant.olmkit).replace(pin, "").replace(_MANUAL, "")
    text = _mark_after_word(text, "--channel", shlex.quote(install.channel), "channel")
    text = _mark_after_word(text, "-n", variant.namespace, "ns")
    for name, kind in _WATCHED.items():
        text = re.sub(rf"(?<=[=,]){name}(?![\w-])", _mark(kind, name), text)
    text += _mark("pin", "" if install.is_head else pin)
    if variant.olm == "v0":
        text += _mark("manual", "" if install.is_head else _MANUAL)
    return _split_tokens(text, pin)


def after(variant: Variant, install: Install) -> list[Markup]:
    """Return the commands that follow: to watch, and to approve if approval is manual."""
    watch = _PRIVATE.sub("\ufffd", variant.after).partition("\n")[0]
    watch = _mark_after_word(watch, "-n", variant.namespace, "ns")
    if variant.olm != "v0":
        return _split_tokens(watch)
    approve = f"\nkubectl -n {variant.namespace}{_APPROVE}"
    return _split_tokens(watch + _mark("approve", "" if install.is_head else approve))


def removal(variant: Variant) -> list[Markup]:
    """Return the commands that remove the operator."""
    text = _PRIVATE.sub("\ufffd", variant.removal)
    return _split_tokens(_mark_after_word(text, "-n", variant.namespace, "ns"))


def _lines(text: str, variant: Variant, install: Install) -> list[str]:
    """Return the lines of the manifests with marks: olmkit writes them, so their form is known."""
    rules: dict[str, list[tuple[re.Pattern[str], str]]] = {}
    for of, rule, mark in _rules(variant):
        rules.setdefault(of, []).append((re.compile(rule), mark))
    pin = _mark("pin", "" if install.is_head else _pin(variant, install))
    kind = ""
    made: list[str] = []
    for line in text.split("\n"):
        if line.startswith("kind: "):
            kind = line.removeprefix("kind: ")
        if line.startswith(_PINS.get(kind, "\0")):
            continue  # it is in the mark `pin`, at the end of the previous line
        found = ((rule.fullmatch(line), mark) for rule, mark in rules.get(kind, ()))
        shown = next((f"{one[1]}{_mark(mark, one[2])}" for one, mark in found if one), line)
        if kind == "ClusterExtension" and line == "    sourceType: Catalog" and made:
            made[-1] += pin
        made.append(shown)
        if kind == "Subscription" and line.startswith("  sourceNamespace: "):
            made[-1] += pin
    return made


def _rules(variant: Variant) -> Iterator[tuple[str, str, str]]:
    """Return kind, pattern of the line with the value as its second group, and name of the mark."""
    place = rf"('?{re.escape(variant.namespace)}'?)"
    for kind in _NAMESPACED:
        yield kind, rf"(\s*(?:- )?namespace: ){place}", "ns"
    yield "Namespace", rf"(  name: ){place}", "ns"
    yield "OperatorGroup", rf"(\s*- ){place}", "ns"
    for name, mark in _WATCHED.items():
        yield "OperatorGroup", rf"(\s*- )({name})", mark
    yield "Subscription", r"(  channel: )(.+)", "channel"
    yield "Subscription", r"(  installPlanApproval: )(.+)", "approval"
    yield "ClusterExtension", r"(\s*- )(.+)", "channel"  # its only list


def _pin(variant: Variant, install: Install) -> str:
    if variant.olm == "v0":
        return f"\n  startingCSV: {_scalar(install.bundle)}"
    return f"\n      version: {_scalar(install.version)}"


def _scalar(value: str) -> str:
    is_plain = re.fullmatch(r"[A-Za-z][\w.+-]*|\d+\.\d+\.[\w.+-]+", value)
    return value if is_plain else "'" + value.replace("'", "''") + "'"


def _mark_after_word(text: str, word: str, value: str, kind: str) -> str:
    return text.replace(f"{word} {value}", f"{word} {_mark(kind, value)}")


def _mark(kind: str, text: str) -> str:
    return f"{_OPEN[kind]}{text}{_CLOSE}"


def _split_at_mark(text: str, kind: str) -> list[str]:
    """Return the text before the mark, and the rest."""
    before, opened, rest = text.partition(_OPEN[kind])
    return [before, opened + rest] if opened else [text]


def _split_tokens(text: str, pin: str = "") -> list[Markup]:
    """Return the tokens of a command with the spaces after them."""
    shown = (_OPTION.sub(r"<i>\1</i>", html.escape(one)) for one in _WORD.findall(text))
    return [Markup(_render_marks(one, pin)) for one in shown]  # noqa: S704


def _render_marks(text: str, pin: str) -> str:
    """Return the marks as elements. `data-text` is the `pin` that the script may write."""
    text = clean(text)
    for kind, char in _OPEN.items():
        is_hidden = kind == "pin" and char + _CLOSE in text
        more = f' data-text="{html.escape(clean(pin))}"' if is_hidden else ""
        text = text.replace(char, f"<u data-e={kind}{more}>")
    return text.replace(_CLOSE, "</u>")
