"""Values in messages are cut; commands in hints stay whole."""

from __future__ import annotations

import pytest

from olmkit.base import texts
from olmkit.base.diagnostics import Diagnostic, Location, Related, Severity

LONG = "x" * 5000


@pytest.mark.parametrize(
    "message",
    [
        f"the name `{LONG}` is not valid",
        f'the name "{LONG}" is not valid',
        f"the name {LONG} is not valid",
        "the value `" + "a b " * 900 + "` is not valid",
        "the value " + "a b " * 900 + "is not valid",
        f"`{LONG}` is neither `{LONG}` nor `{LONG}`",
    ],
)
def test_a_message_repeats_little_of_a_long_value(message: str) -> None:
    assert len(texts.bounded_message(message)) <= 600
    assert "x" * (texts.MOST + 1) not in texts.bounded_message(message)


def test_value_that_was_cut_before_its_closing_quote_is_cut() -> None:
    shown = texts.bounded_message("`" + "a b " * 250)
    assert len(shown) == texts.MOST + 2


def test_what_surrounds_a_long_value_stays() -> None:
    shown = texts.bounded_message(f"the name `{LONG}` is not valid")
    assert shown == f"the name `{'x' * (texts.MOST - 1)}…` is not valid"


def test_short_values_in_a_long_message_stay() -> None:
    message = " ".join(f"`name-{number}`" for number in range(40))
    assert texts.bounded_message(message) == message


def test_an_image_reference_with_its_digest_stays() -> None:
    image = f"registry.example.com/{'p' * 50}/operator@sha256:{'0' * 64}"
    assert image in texts.bounded_message(f"the registry does not have `{image}` at this moment")


def test_a_command_in_a_hint_stays_whole() -> None:
    hint = f"run `olmkit catalog add {'-v ' * 60}`"
    assert texts.bounded_hint(hint) == hint
    assert len(texts.bounded_hint(f"run `olmkit {LONG}`")) < 450
    assert len(texts.bounded_hint(f"remove `{LONG}`")) < 180


def test_every_text_of_a_finding_is_bounded() -> None:
    at = Location("a.yaml")
    found = Diagnostic(
        "CSV001", "x", Severity.ERROR, LONG, at, LONG, LONG, related=(Related(at, LONG),)
    )
    shown = (found.message, found.subject, found.hint, found.related[0].message)
    assert max(map(len, shown)) <= 400
    assert found._replace(at=None) == Diagnostic(
        "CSV001", "x", Severity.ERROR, LONG, None, LONG, LONG, related=(Related(at, LONG),)
    )
