"""Messages for YAML syntax errors, at the line of the error.

libyaml often reports errors lines after their cause: an open quote at the end of the text, an open
bracket at the next key. Its own messages are never shown to users.
"""

from __future__ import annotations

from typing import Final, NamedTuple

_SPACES: Final = "indent with spaces"
_INDENT: Final = "indent this line like the lines that it belongs to"
_UTF_8: Final = "save the file as UTF-8"
_BRACKET: Final = "close the bracket, or quote a string that begins with one"
_CONTROL: Final = "remove the character; a binary file is not a manifest"
_ESCAPE: Final = "use single quotes, in which a backslash has no special meaning"
_PERCENT: Final = "write a character as `%` and two hexadecimal digits"


class YamlProblem(NamedTuple):
    """The message and a hint. `at_context`: the error is at the start of the construct."""

    message: str
    hint: str
    at_context: bool = False


TABLE: Final = {
    "mapping values are not allowed in this context": YamlProblem(
        "a key cannot begin inside the value of another key",
        "quote a string with a colon and a space in it, or correct the indentation",
    ),
    "could not find expected ':'": YamlProblem(
        "expected `:` after the key that begins here",
        "add the colon, or indent the line like the string that it continues",
        at_context=True,
    ),
    "did not find expected key": YamlProblem(
        "expected a key or the end of the mapping",
        f"{_INDENT}, or quote the whole value",
    ),
    "did not find expected '-' indicator": YamlProblem(
        "expected `-` for the next entry, or the end of the list", _INDENT
    ),
    "did not find expected node content": YamlProblem("expected a value", _BRACKET),
    "did not find expected ',' or ']'": YamlProblem("expected `,` or `]`", _BRACKET),
    "did not find expected ',' or '}'": YamlProblem(
        "expected `,` or `}`", "close the brace, or quote a string that begins with one"
    ),
    "did not find expected alphabetic or numeric character": YamlProblem(
        "expected the name of an anchor", "quote a string that begins with `*` or `&`"
    ),
    "did not find expected <document start>": YamlProblem(
        "expected the end of the document",
        "put a line with `---` between documents, or correct the indentation",
    ),
    "did not find expected <stream-start>": YamlProblem("expected a document", _UTF_8),
    "block sequence entries are not allowed in this context": YamlProblem(
        "an entry of a list cannot begin here", "put the list on the lines below its key"
    ),
    "mapping keys are not allowed in this context": YamlProblem(
        "a key cannot begin here", "quote a string that begins with `?`"
    ),
    "found unexpected end of stream": YamlProblem(
        "the quote that begins here is not closed", "close the quote", at_context=True
    ),
    "found unexpected document indicator": YamlProblem(
        "the quote that begins here is not closed before `---`", "close the quote", at_context=True
    ),
    "found unexpected ':'": YamlProblem(
        "unexpected `:`", "put a space after the colon, or quote the string"
    ),
    "found unknown escape character": YamlProblem(
        "unknown escape in a double-quoted string", _ESCAPE
    ),
    "did not find expected hexdecimal number": YamlProblem(
        "expected hexadecimal digits of an escape", _ESCAPE
    ),
    "found invalid Unicode character escape code": YamlProblem(
        "the escape is not a Unicode character", _ESCAPE
    ),
    "found a tab character that violates indentation": YamlProblem(
        "a tab indents this line", _SPACES
    ),
    "found a tab character where an indentation space is expected": YamlProblem(
        "a tab indents this line", _SPACES
    ),
    "did not find expected comment or line break": YamlProblem(
        "expected the end of the line", "begin the text on the next line"
    ),
    "found an indentation indicator equal to 0": YamlProblem(
        "the indentation of a block scalar cannot be 0", "write `|` alone, or a number from 1 to 9"
    ),
    "did not find expected whitespace": YamlProblem("expected a space", "put a space there"),
    "did not find expected whitespace or line break": YamlProblem(
        "expected a space or the end of the line", "put a space there"
    ),
    "did not find expected tag URI": YamlProblem(
        "expected a tag", "quote a string that begins with `!`"
    ),
    "did not find expected '!'": YamlProblem("expected `!`", "quote a string that begins with `!`"),
    "did not find the expected '>'": YamlProblem("expected `>`", "close the tag"),
    "did not find URI escaped octet": YamlProblem("expected an escaped character", _PERCENT),
    "found an incorrect leading UTF-8 octet": YamlProblem("an escape is not UTF-8", _PERCENT),
    "found an incorrect trailing UTF-8 octet": YamlProblem("an escape is not UTF-8", _PERCENT),
    "found undefined tag handle": YamlProblem("unknown tag", "quote a string that begins with `!`"),
    "found unknown directive name": YamlProblem(
        "unknown directive", "quote a string that begins with `%`"
    ),
    "could not find expected directive name": YamlProblem(
        "expected the name of a directive", "quote a string that begins with `%`"
    ),
    "found unexpected non-alphabetical character": YamlProblem(
        "a directive contains only letters", "quote a string that begins with `%`"
    ),
    "found duplicate %YAML directive": YamlProblem("`%YAML` occurs twice", "remove one of them"),
    "found duplicate %TAG directive": YamlProblem("`%TAG` occurs twice", "remove one of them"),
    "found incompatible YAML document": YamlProblem(
        "unknown version of YAML", "remove the line with `%YAML`"
    ),
    "found extremely long version number": YamlProblem(
        "unknown version of YAML", "remove the line with `%YAML`"
    ),
    "did not find expected digit or '.' character": YamlProblem(
        "expected a version of YAML", "remove the line with `%YAML`"
    ),
    "did not find expected version number": YamlProblem(
        "expected a version of YAML", "remove the line with `%YAML`"
    ),
    "exceeded maximum simple key length": YamlProblem(
        "the key is longer than 1,024 characters", "shorten it, or quote the string"
    ),
    "exceeded maximum nesting depth": YamlProblem(
        "nested more than 1,000 levels deep",
        "real manifests need a few dozen levels; look for a repeated bracket",
    ),
    "control characters are not allowed": YamlProblem(
        "a control character is in the text", _CONTROL
    ),
    "invalid leading UTF-8 octet": YamlProblem("the text is not UTF-8", _UTF_8),
    "invalid trailing UTF-8 octet": YamlProblem("the text is not UTF-8", _UTF_8),
    "incomplete UTF-8 octet sequence": YamlProblem("the text is not UTF-8", _UTF_8),
    "invalid length of a UTF-8 sequence": YamlProblem("the text is not UTF-8", _UTF_8),
    "invalid Unicode character": YamlProblem("a character is not Unicode", _UTF_8),
    "unexpected low surrogate area": YamlProblem("the text is not UTF-16", _UTF_8),
    "unexpected high surrogate area": YamlProblem("the text is not UTF-16", _UTF_8),
    "expected low surrogate area": YamlProblem("the text is not UTF-16", _UTF_8),
    "incomplete UTF-16 character": YamlProblem("the text is not UTF-16", _UTF_8),
    "incomplete UTF-16 surrogate pair": YamlProblem("the text is not UTF-16", _UTF_8),
}
_START: Final = "found character that cannot start any token"
_OPEN: Final = {
    True: YamlProblem("the list that begins here is not closed with `]`", _BRACKET),
    False: YamlProblem(
        "the mapping that begins here is not closed with `}`",
        "close the brace, or quote a string that begins with one",
    ),
}
_UNKNOWN: Final = YamlProblem(
    "the structure cannot be read", "check indentation, quotes and brackets"
)


def describe(reason: str, character: str = "") -> YamlProblem:
    """Return a message for libyaml's `reason`; `character` is the one at its place."""
    if reason == _START:
        if character == "\t":
            return YamlProblem("a tab indents this line", _SPACES)
        if character.isprintable() and character.strip():
            return YamlProblem(
                f"a value cannot begin with `{character}`"
                if character != "`"
                else "a value cannot begin with a backtick",
                "put the value in quotes",
            )
        return YamlProblem("a value cannot begin with this character", "put the value in quotes")
    return TABLE.get(reason, _UNKNOWN)


def unclosed_collection(*, is_list: bool) -> YamlProblem:
    """Return an open bracket or brace, which is the place of the error."""
    return _OPEN[is_list]
