"""The pictures of the README are the current output of the program."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

REMAKE = "run `python scripts/pictures.py`"


def test_the_pictures_are_up_to_date(root: Path) -> None:
    made = runpy.run_path(str(root / "scripts/pictures.py"))["pictures"]()
    readme = (root / "README.md").read_text()
    for name, text in made.items():
        assert (root / "docs/images" / name).read_text("utf-8") == text, REMAKE
        assert f"](docs/images/{name})" in readme
        ElementTree.fromstring(text)  # noqa: S314 - our own


def test_a_line_that_is_too_long_is_wrapped_at_a_space(root: Path) -> None:
    script = runpy.run_path(str(root / "scripts/pictures.py"))
    words = " ".join(["word"] * 40)
    picture = script["terminal"]("a & b", f"\x1b[36mhint\x1b[0m: {words}", "t")
    texts = ["".join(one.itertext()) for one in ElementTree.fromstring(picture).iter()  # noqa: S314
             if one.tag.endswith("}text")]  # fmt: skip
    assert texts[0] == "$ a & b"
    assert texts[1].startswith("hint: word")
    assert all(len(text) <= script["COLUMNS"] for text in texts)
    assert " ".join(" ".join(texts[1:]).split()) == f"hint: {words}"
