"""The instructions to install, use and remove one version."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class PickerChoice:
    value: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Picker:
    """A choice between variants of the instructions: `olm`, `platform` or `mode`."""

    name: str
    title: str
    choices: tuple[PickerChoice, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """Instructions for one choice of each picker; an empty field fits each choice.

    `command` applies `yaml` unchanged; `refusal` are the reasons why there is none.
    `namespace` is that of the installation, which a reader may change.
    """

    olm: str = ""
    platform: str = ""
    mode: str = ""
    title: str
    text: str = ""
    notes: tuple[str, ...] = ()
    refusal: tuple[str, ...] = ()
    yaml: str = ""
    command: str = ""
    olmkit: str = ""
    after: str = ""
    removal: str = ""
    namespace: str = ""


STAND_INS: Final = (
    "stand-in.of-the-bundle",
    "0.0.0-stand-in.of-the-version",
    "stand-in-of-the-package",
    "stand-in-of-the-channel",
)
"""Placeholders for the names of bundle, version, package, channel: plain in YAML, shell, HTML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Install:
    """How to install, use and remove one version.

    The manifests name `channel`, and `bundle` unless it is the head of that channel. `templates`
    are the variants with `written` for the names of bundle, version, package and channel:
    `STAND_INS`, so that many versions and packages share them, or the names themselves if they are
    not plain.
    """

    pickers: tuple[Picker, ...] = ()
    templates: tuple[Variant, ...] = ()
    written: tuple[str, str, str, str] = ("", "", "", "")
    notes: tuple[str, ...] = ()
    first_object: str = ""
    publisher_text: str = ""
    removal_text: str = ""
    package: str = ""
    channel: str = ""
    bundle: str = ""
    version: str = ""
    is_head: bool = True

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Return the instructions with the actual names."""
        return tuple(
            replace(
                one,
                yaml=self.named(one.yaml),
                command=self.named(one.command),
                olmkit=self.named(one.olmkit),
                after=self.named(one.after),
                removal=self.named(one.removal),
                namespace=self.named(one.namespace),
            )
            for one in self.templates
        )

    def named(self, text: str) -> str:
        """Return a text of `templates` with the actual names."""
        names = (self.bundle, self.version, self.package, self.channel)
        for written, name in zip(self.written, names, strict=True):
            if written and written != name:
                text = text.replace(written, name)
        return text
