from __future__ import annotations

import io

import pytest

from olmkit.cli.frame import terminal
from olmkit.cli.frame.terminal import Terminal, one_line


class _Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "choice", "environment", "colored"),
    [
        (_Tty(), "auto", {}, True),
        (io.StringIO(), "auto", {}, False),
        (_Tty(), "auto", {"NO_COLOR": "1"}, False),
        (_Tty(), "auto", {"TERM": "dumb"}, False),
        (io.StringIO(), "auto", {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), "auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (_Tty(), "never", {"FORCE_COLOR": "1"}, False),
        (io.StringIO(), "always", {"NO_COLOR": "1"}, True),
    ],
)
def test_color_follows_flag_then_environment_then_stream(
    stream: io.StringIO, choice: str, environment: dict[str, str], colored: bool
) -> None:
    assert terminal.wants_color(stream, choice, environment) is colored


def test_notes_are_hidden_with_quiet() -> None:
    out, err = io.StringIO(), io.StringIO()
    quiet = Terminal(out=out, err=err, quiet=True)
    quiet.note("n")
    quiet.say("s")
    quiet.result("r")
    assert out.getvalue() == "r\n"
    assert err.getvalue() == "s\n"


def test_progress_is_one_plain_line_per_step_without_a_terminal() -> None:
    err = io.StringIO()
    with Terminal(out=io.StringIO(), err=err).progress("pushing", 2) as progress:
        progress.advance("pushed a")
        progress.advance("pushed b")
    assert err.getvalue() == "pushed a\npushed b\n"


def test_progress_is_redrawn_on_a_terminal_and_leaves_nothing() -> None:
    out, err = io.StringIO(), _Tty()
    with Terminal(out=out, err=err, environment={"TERM": "xterm"}).progress(
        "pushing", 1
    ) as progress:
        progress.advance("pushed a")
    assert "\x1b[" in err.getvalue()
    assert out.getvalue() == ""


def test_bytes_reach_stdout_unchanged() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    Terminal(out=out, err=io.StringIO()).result_bytes(b"\xff\n")
    assert raw.getvalue() == b"\xff\n"
    Terminal(out=out, err=io.StringIO()).result_stream(io.BytesIO(b"\xfe\n"))
    assert raw.getvalue() == b"\xff\n\xfe\n"


def test_brackets_are_text_and_not_styles() -> None:
    err = _Tty()
    terminal_ = Terminal(out=io.StringIO(), err=err, environment={"TERM": "xterm"})
    with terminal_.progress("waiting") as progress:
        progress.advance("cannot read [/etc/x]")


def test_external_data_cannot_move_the_cursor_and_styles_of_olmkit_are_kept() -> None:
    out, err = io.StringIO(), io.StringIO()
    shown = Terminal(out=out, err=err, color="always")
    shown.result(f"{terminal.paint('label', 'red', 'bold', on=True)}  a\x1b[2Jb\x9b8m\u202ec\td")
    shown.say("x\x1b]0;title\x07")
    shown.result('{"a": "\u202e"}', exact=True)
    assert out.getvalue() == (
        "\x1b[31;1mlabel\x1b[0m  a\\u001b[2Jb\\u009b8m\\u202ec\td\n" + '{"a": "\u202e"}\n'
    )
    assert err.getvalue() == "x\\u001b]0;title\\u0007\n"


def test_without_color_external_data_has_no_color_either() -> None:
    out, err = io.StringIO(), io.StringIO()
    shown = Terminal(out=out, err=err, color="never")
    shown.result("kettle\x1b[31m.v1")
    shown.say("kettle\x1b[31m.v1 failed")
    assert out.getvalue() == "kettle\\u001b[31m.v1\n"
    assert err.getvalue() == "kettle\\u001b[31m.v1 failed\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain ü", "plain ü"),
        ("a\nreference  other", "a\\nreference  other"),
        ("\x1b[31mred\x1b[0m", "\\u001b[31mred\\u001b[0m"),
        ("a\u2028b\u202ec", "a\\u2028b\\u202ec"),
    ],
)
def test_an_external_value_stays_on_its_line(value: str, shown: str) -> None:
    assert one_line(value) == shown
