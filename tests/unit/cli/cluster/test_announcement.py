"""The announcement before a change."""

from __future__ import annotations

import io

from olmkit.cli.cluster import announcement
from olmkit.cli.frame.app import App
from olmkit.cli.frame.terminal import Terminal
from olmkit.olm.preview import Preview


def test_values_of_a_bundle_cannot_move_the_cursor() -> None:
    evil = "a\x1b[2Jb"
    err = io.StringIO()
    app = App(command="install", terminal=Terminal(out=io.StringIO(), err=err))
    brings = Preview(csv="c.v1", version="1", modes=(), grants=(), images=(evil,))

    announcement.show(app, f"installing {evil}", brings, [""], [evil])

    assert "\x1b" not in err.getvalue()
    assert err.getvalue().count("\\u001b[2J") == 3
