"""The register of all codes: rules, and the findings of commands that are not rules.

A rule documents itself in its docstring; the other codes are in the table of
`olmkit.base.findings`. A test compares the register with the codes in the sources.
"""

from __future__ import annotations

from collections.abc import Mapping

from olmkit.base.diagnostics import ConfigurationError
from olmkit.base.findings import CODES, Code
from olmkit.rules import engine


def register() -> Mapping[str, Code]:
    """Return every code that a command can report, sorted."""
    rules = [
        Code(rule.code, rule.name, rule.severity, rule.doc, f"rules of {subject}s")
        for subject in engine.MODULES
        for rule in engine.rules(subject)
    ]
    known = {**CODES, **{one.code: one for one in rules}}
    return {code: known[code] for code in sorted(known)}


def find(word: str) -> Code:
    """Return the code with this code or name, or raise `ConfigurationError`."""
    known = register()
    for one in known.values():
        if word.upper() == one.code or word.lower() == one.name:
            return one
    import difflib

    names = [word for one in known.values() for word in (one.code, one.name)]
    near = difflib.get_close_matches(word.upper(), names, n=1) or difflib.get_close_matches(
        word.lower(), names, n=1
    )
    raise ConfigurationError(
        f"unknown code `{word}`",
        hint=f"did you mean `{near[0]}`" if near else "`olmkit explain` lists all codes",
    )


def page(code: Code) -> str:
    """Return the documentation of a code, as text for people."""
    return f"{code.code} {code.name} ({code.severity}, {code.source})\n\n{code.doc}\n"
