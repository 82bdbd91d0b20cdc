"""Convert names of fields to names of variables, like ansible-operator: `sizeGi` → `size_gi`.

The original separates the known words `HTTP`, `URL` and `IP` in a random order; here it is this
order. An empty name remains empty.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_NUMBERS = re.compile(r"([a-zA-Z])(\d+)([a-zA-Z]\d+)")
_WORDS = ("HTTP", "URL", "IP")


def convert(name: str) -> str:
    """Return the name of the variable."""
    text = _NUMBERS.sub(r"\1 \2 \3", name).strip(" ")
    begins_large = text[:1].isascii() and text[:1].isupper()
    if text.upper() != text:
        for word in _WORDS:
            text = _apart(text, word)
    parts = [part.lower() for part in _parts(text)]
    is_known = parts[0].upper() in _WORDS
    return ("_" if begins_large and not is_known else "") + "_".join(parts)


def convert_keys(value: Any) -> Any:
    """Return the value with all keys converted, at any depth; values are not changed."""
    if isinstance(value, Mapping):
        return dict(_pairs(value))
    if isinstance(value, list):
        return [convert_keys(one) for one in value]
    return value


def _pairs(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    # Two fields may get the same name: the last in the order of names wins, always the same one.
    for key in sorted(value):
        yield convert(key), convert_keys(value[key])


def _parts(text: str) -> Iterator[str]:
    """Return the words of a name: a run of capitals is one word."""
    part = ""
    for index, letter in enumerate(text):
        if part and _changes(letter, text[index + 1 : index + 2]):
            if letter.isupper():
                yield part
                part = letter
            else:
                yield part + letter
                part = ""
        elif letter in " _-":
            yield part
            part = ""
        else:
            part += letter
    yield part


def _changes(letter: str, following: str) -> bool:
    both = letter + following
    is_pair = len(both) == 2 and both.isascii() and both.isalpha()
    return is_pair and letter.isupper() is not following.isupper()


def _apart(text: str, word: str) -> str:
    """Separate the first occurrence of the word, including its plural, with `_`."""
    start = text.find(word)
    if start < 0:
        return text
    end = start + len(word)
    before, found, after = text[:start], text[start:end], text[end:]
    if after == "s":
        return f"{before}_{found}S"
    if not after:
        return f"{before}_{found}"
    if after.startswith("s"):
        found, after = found + "S", after[1:]
    return "_".join(part for part in (before, found, after) if part)
