"""Syntax errors of the standard library's JSON parser, in the same words on each Python.

Python 3.13 has a separate message for a comma before a closing bracket, and points to the comma.
Earlier versions point to the bracket.
"""

from __future__ import annotations

import json
from typing import Final

# Messages of Python 3.11 and 3.12 at a closing bracket, and what the bracket ends.
_AFTER_COMMA: Final = {
    ("Expecting value", "]"): "array",
    ("Expecting property name enclosed in double quotes", "}"): "object",
}
_SPACE: Final = " \t\r\n"


def same_on_each_python(error: json.JSONDecodeError) -> json.JSONDecodeError:
    """Return the error as Python 3.13 and later raise it."""
    bracket = error.doc[error.pos : error.pos + 1]
    ended = _AFTER_COMMA.get((error.msg, bracket))
    before = error.doc[: error.pos].rstrip(_SPACE)
    if ended is None or not before.endswith(","):
        return error
    return json.JSONDecodeError(
        f"Illegal trailing comma before end of {ended}", error.doc, len(before) - 1
    )


def describe(error: Exception) -> str:
    """Return the text of an error of `json.loads`, with the place of a syntax error."""
    return str(same_on_each_python(error) if isinstance(error, json.JSONDecodeError) else error)
