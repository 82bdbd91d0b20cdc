"""Rules about the requirements of the community catalogs for a publication.

Source: the static check `check_required_fields` and the YAML lint of the pipelines behind
https://github.com/redhat-openshift-ecosystem/community-operators-prod. Problems that rules of other
suites already report (`spec.version`, an invalid icon, level or category) are not repeated.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from olmkit.base import documents
from olmkit.base.diagnostics import Fix, Location, Severity
from olmkit.bundle.model import Bundle
from olmkit.kube import objects as kube
from olmkit.rules.engine import Finding, rule
from olmkit.rules.publishing import hub_fields

SUITE = "required-fields"
LINT_SUITE = "yaml-lint"
_TIME = re.compile(
    r"\d{4}(?:-?\d{2}(?:-?\d{2})?)?(?:.\d{2}(?::?\d{2}(?::?\d{2}(?:[.,]\d+)?)?)?"
    r"(?:Z|[+-]\d{2}(?::?\d{2})?)?)?",
    re.ASCII,
)
_IMAGE = re.compile(r"([^/]+/)+[^/:]+:.+")
_MIN_DESCRIPTION = 20
_MIN_SHORT = 10
_MIN_WORD = 3
_MAX_NAME = 50
_MAX_SHOWN = 100


@rule("HUB040", "display-name-length", suite=SUITE)
def display_name_length(bundle: Bundle) -> Iterator[Finding]:
    """The display name is missing, too short or too long.

    Why: the community catalogs require 3 to 50 characters.

    Fix: write a short name at `spec.displayName`.
    """
    csv = bundle.csv
    if csv is not None and not _MIN_WORD <= len(csv.display_name) <= _MAX_NAME:
        yield Finding(
            f"`spec.displayName` has {len(csv.display_name)} characters, not 3 to 50",
            at=csv.at("spec", "displayName"),
            hint="write a name of 3 to 50 characters",
        )


@rule("HUB041", "description-length", suite=SUITE)
def description_length(bundle: Bundle) -> Iterator[Finding]:
    """The description is missing or too short.

    Why: the community catalogs require 20 characters. The page of the operator shows the
    description.

    Fix: describe at `spec.description` what the operator does and what users must prepare.
    """
    csv = bundle.csv
    text = kube.scalar_text(csv.spec.get("description")) if csv else ""
    if csv is not None and len(text) < _MIN_DESCRIPTION:
        yield Finding(
            f"`spec.description` has {len(text)} characters, and 20 are required",
            at=csv.at("spec", "description"),
            hint="describe what the operator does",
        )


@rule("HUB042", "icon-required", suite=SUITE)
def icon_required(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no icon.

    Why: the community catalogs require one.

    Fix: embed a PNG, JPEG, GIF or SVG image at `spec.icon`.
    """
    csv = bundle.csv
    if csv is not None and not kube.sequence(csv.spec.get("icon")):
        yield Finding(
            "`spec.icon` is missing",
            at=csv.at("spec", "icon"),
            hint="embed a PNG, JPEG, GIF or SVG image",
        )


@rule("HUB043", "maintainers-required", suite=SUITE)
def maintainers_required(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no maintainer.

    Why: the community catalogs require one with name and email address.

    Fix: write `spec.maintainers`.
    """
    yield from _required_list(bundle, "maintainers", "write an entry with `name` and `email`")


@rule("HUB044", "links-required", suite=SUITE)
def links_required(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no link.

    Why: the community catalogs require one with name and URL.

    Fix: write `spec.links`.
    """
    yield from _required_list(bundle, "links", "write an entry with `name` and `url`")


@rule("HUB045", "provider-length", suite=SUITE)
def provider_length(bundle: Bundle) -> Iterator[Finding]:
    """The name of the provider is missing or too short.

    Why: the community catalogs require 3 characters.

    Fix: write `spec.provider.name`.
    """
    csv = bundle.csv
    name = kube.scalar_text(kube.mapping(csv.spec.get("provider")).get("name")) if csv else ""
    if csv is not None and len(name) < _MIN_WORD:
        yield Finding(
            f"`spec.provider.name` has {len(name)} characters, and 3 are required",
            at=csv.at("spec", "provider", "name"),
            hint="write the name of your organization",
        )


@rule("HUB046", "catalog-annotation", severity=Severity.WARNING, suite=SUITE)
def catalog_annotation(bundle: Bundle) -> Iterator[Finding]:
    """An annotation that catalogs show is missing or malformed.

    Why: the page of the operator shows `capabilities`, `categories`, `containerImage`,
    `createdAt`, `repository`, `support` and `description`.

    Fix: write the annotation. In a project, the base CSV in `config/manifests/bases` has it.
    """
    csv = bundle.csv
    if csv is None:
        return
    for key, (is_right, words) in _ANNOTATIONS.items():
        hint = f"write {words}, in the base CSV"
        value = csv.annotations.get(key)
        if value is None:
            yield Finding(
                f"annotation `{key}` is missing", at=csv.at("metadata", "annotations"), hint=hint
            )
        elif not is_right(value):
            yield Finding(
                f"annotation `{key}` has an invalid value `{value[:_MAX_SHOWN]}`",
                at=csv.at("metadata", "annotations", key),
                hint=hint,
            )


@rule("HUB047", "keywords-missing", severity=Severity.WARNING, suite=SUITE)
def keywords_missing(bundle: Bundle) -> Iterator[Finding]:
    """The CSV has no keywords.

    Why: catalogs use them for the search.

    Fix: write `spec.keywords`, a list of strings.
    """
    yield from _required_list(bundle, "keywords", "write a list of strings")


@rule("DOC010", "trailing-spaces", suite=LINT_SUITE)
def trailing_spaces(bundle: Bundle) -> Iterator[Finding]:
    """A line of a YAML file has trailing spaces.

    Why: the pipeline of OpenShift's community catalog rejects the pull request.

    Fix: remove the spaces. `--fix` does this, except in literal block strings, where spaces
    are content.
    """
    for path, data in _yaml_files(bundle):
        literal: frozenset[int] | None = None
        for number, line in enumerate(data.split(b"\n"), start=1):
            stripped = line.removesuffix(b"\r")
            kept = stripped.rstrip(b" \t")
            if kept == stripped:
                continue
            if literal is None:
                literal = documents.literal_lines(data)
            column = len(kept.decode("utf-8", "surrogateescape")) + 1
            end = column + len(stripped) - len(kept)
            at = Location(path, number, column, number, end)
            yield Finding(
                "spaces at the end of the line",
                at=at,
                hint="remove them"
                if number not in literal
                else "remove them; they are part of a string, which changes",
                fix=Fix(at, "") if number not in literal else None,
            )


@rule("DOC011", "final-newline", suite=LINT_SUITE)
def final_newline(bundle: Bundle) -> Iterator[Finding]:
    """A YAML file does not end with a line break.

    Why: the pipeline of OpenShift's community catalog rejects the pull request.

    Fix: add a line break; `--fix` does this.
    """
    for path, data in _yaml_files(bundle):
        if data and not data.endswith(b"\n"):
            lines = data.decode("utf-8", "surrogateescape").split("\n")
            at = Location(path, len(lines), len(lines[-1]) + 1, len(lines), len(lines[-1]) + 1)
            yield Finding(
                "the file does not end in a line break",
                at=at,
                hint="add one",
                fix=Fix(at, "\n"),
            )


def _required_list(bundle: Bundle, section: str, hint: str) -> Iterator[Finding]:
    csv = bundle.csv
    if csv is not None and not kube.sequence(csv.spec.get(section)):
        yield Finding(f"`spec.{section}` is missing", at=csv.at("spec", section), hint=hint)


def _yaml_files(bundle: Bundle) -> Iterator[tuple[str, bytes]]:
    for path, file in bundle.tree.items():
        if path.endswith((".yaml", ".yml")):
            yield bundle.place(path).path, file.data


_ANNOTATIONS: Mapping[str, tuple[Any, str]] = {
    "capabilities": (lambda _: True, "the capability level, such as `Basic Install`"),
    "categories": (lambda _: True, "categories, such as `Database`"),
    "containerImage": (_IMAGE.match, "the operator's image with tag or digest"),
    "createdAt": (_TIME.fullmatch, "a time, such as `2026-01-31T12:00:00Z`"),
    "repository": (hub_fields.is_web_url, "the URL of the source code"),
    "support": (
        lambda text: len(text) >= _MIN_WORD,
        "the name of the organization that supports the operator",
    ),
    "description": (lambda text: len(text) >= _MIN_SHORT, "one sentence of 10 to 135 characters"),
}
