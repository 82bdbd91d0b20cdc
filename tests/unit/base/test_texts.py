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
def test_a_message_shortens_a_long_value(message: str) -> None:
    assert len(texts.limit_message(message)) <= 600
    assert "x" * (texts.MOST + 1) not in texts.limit_message(message)


def test_a_value_that_was_cut_before_its_closing_quote_is_cut() -> None:
    shown = texts.limit_message("`" + "a b " * 250)
    assert len(shown) == texts.MOST + 2


def test_text_around_a_long_value_is_kept() -> None:
    shown = texts.limit_message(f"the name `{LONG}` is not valid")
    assert shown == f"the name `{'x' * (texts.MOST - 1)}…` is not valid"


def test_short_values_in_a_long_message_are_kept() -> None:
    message = " ".join(f"`name-{number}`" for number in range(40))
    assert texts.limit_message(message) == message


@pytest.mark.parametrize("quote", ["`", '"'])
def test_text_between_two_short_values_is_kept(quote: str) -> None:
    message = f"the kind {quote}a{quote} {'words between ' * 20}and {quote}b{quote} differ"
    assert texts.limit_message(message) == message
    assert texts.bounded_error(message) == message


def test_the_reason_after_a_url_in_quotes_is_kept() -> None:
    message = (
        "OLM cannot check the objects of `things.example.com` against the new "
        "CustomResourceDefinition, because nothing converts them: "
        'Post "https://gone.web.svc:443/convert?timeout=30s": service "gone" not found'
    )
    assert texts.bounded_error(message) == message


def test_an_image_reference_with_its_digest_is_kept() -> None:
    image = f"registry.example.com/{'p' * 50}/operator@sha256:{'0' * 64}"
    assert image in texts.limit_message(f"the registry does not have `{image}` at this moment")


def test_the_digest_does_not_count() -> None:
    digest = f"@sha256:{'0' * 64}"
    assert texts.shorten("p" * 120 + digest) == "p" * 120 + digest
    assert texts.shorten("p" * 130 + digest) == "p" * 119 + "…" + digest


def test_a_path_keeps_both_ends() -> None:
    shown = texts.shorten(f"/home/{'p' * 200}/config/manager.yaml")
    assert shown.startswith("/home/pp")
    assert shown.endswith("/config/manager.yaml")
    assert len(shown) == texts.MOST
    assert texts.shorten(shown) == shown


def test_the_reason_after_a_long_object_is_kept() -> None:
    dump = 'core.PodSpec{Volumes:[]core.Volume{{Name:"a b"}}, ' + 'Host:"x y", ' * 400 + "}"
    message = f'Deployment.apps "a" is invalid: spec: Invalid value: {dump}: field is immutable'
    shown = texts.bounded_error(message)
    assert shown.startswith('Deployment.apps "a" is invalid: spec: Invalid value: core.PodSpec{Vol')
    assert shown.endswith("}: field is immutable")
    assert len(shown) < 220


def test_a_long_message_of_an_api_server_is_cut() -> None:
    shown = texts.bounded_error("admission webhook denied the request: " + "some words " * 500)
    assert len(shown) <= texts.MOST_OF_MESSAGE
    shown = texts.bounded_error("\n".join(f"* line {number}" for number in range(5000)))
    assert shown.splitlines()[20] == "… (4960 more lines)"
    assert len(shown.splitlines()) == 41


def test_short_braces_and_unbalanced_ones_are_kept() -> None:
    message = "the value } is not { valid " + "and so on " * 20
    assert texts.bounded_error(message) == message
    assert texts.bounded_error("{" * 3000 + "}" * 3000).count("{") < 121


def test_a_value_with_escaped_quotes_is_cut() -> None:
    message = 'invalid name "' + r"a\" b" * 1000 + '": must be short'
    assert len(texts.limit_message(message)) < 160


def test_a_command_in_a_hint_is_kept_whole() -> None:
    hint = f"run `olmkit catalog add {'-v ' * 60}`"
    assert texts.limit_hint(hint) == hint
    assert len(texts.limit_hint(f"run `olmkit {LONG}`")) < 450
    assert len(texts.limit_hint(f"remove `{LONG}`")) < 180
    assert len(texts.limit_hint(f"write `{'a b ' * 900}`")) < 180


def test_every_string_of_a_finding_is_limited() -> None:
    at = Location("a.yaml")
    found = Diagnostic(
        "CSV001", "x", Severity.ERROR, LONG, at, LONG, LONG, related=(Related(at, LONG),)
    )
    shown = (found.message, found.subject, found.hint, found.related[0].message)
    assert max(map(len, shown)) <= 400
    assert found._replace(at=None) == Diagnostic(
        "CSV001", "x", Severity.ERROR, LONG, None, LONG, LONG, related=(Related(at, LONG),)
    )
