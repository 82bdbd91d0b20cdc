"""From comments to markers on a level, with findings for unreadable ones.

The reference silently ignores an unknown marker. Here, one with a known prefix, or a probable typo,
is a finding with the probable name.
"""

from __future__ import annotations

from olmkit.apis.findings import Findings
from olmkit.apis.markers import language
from olmkit.apis.markers.language import Comment, Marker, MarkerLevel
from olmkit.apis.markers.table import CSV, IGNORED_PREFIXES, REGISTRY, VALIDATION
from olmkit.apis.markers.values import MarkerError
from olmkit.base import documents
from olmkit.base.diagnostics import Location


def read_marker(comment: Comment, level: MarkerLevel, findings: Findings) -> Marker | None:
    """Return the marker of a comment on a level; oddities are added to `findings`."""
    definition = REGISTRY.find(comment.text, level)
    if definition:
        try:
            marker = language.parse(comment, definition)
            return marker if _is_writable(marker, findings) else None
        except MarkerError as error:
            if not definition.is_used:
                return None  # its reader supports more of its forms
            column = (comment.at.column or 1) + 1 + error.offset
            at = Location(
                path=comment.at.path,
                line=comment.at.line,
                column=column,
                end_line=comment.at.line,
                end_column=max(column + 1, comment.at.end_column or 0),
            )
            is_about_marker = error.message.partition(" ")[0] in ("takes", "needs", "lacks", "has")
            join = " " if is_about_marker else ": "
            message = f"`+{definition.name}`{join}{error.message}"
            findings.add("API003", message, at, hint=error.hint)
            return None
    _warn_unknown(comment, level, findings)
    return None


def _is_writable(marker: Marker, findings: Findings) -> bool:
    if documents.unwritable([marker.value, dict(marker.arguments)]) is None:
        return True
    findings.add(
        "API032",
        f"`+{marker.name}` contains a string that YAML cannot represent",
        marker.at,
        hint="remove the control characters",
    )
    return False


def _warn_unknown(comment: Comment, level: MarkerLevel, findings: Findings) -> None:
    name = language.marker_name(comment.text)
    levels = REGISTRY.levels(comment.text)
    known = [REGISTRY.find(comment.text, other) for other in levels]
    if levels and not any(definition and definition.is_used for definition in known):
        return
    if levels:
        places = " or ".join(f"a {other}" for other in levels)
        hint = f"it belongs on {places}"
        if MarkerLevel.PACKAGE in levels and level is MarkerLevel.TYPE:
            hint += ": put a blank line below it"
        name = REGISTRY.name(comment.text)
        findings.add("API005", f"`+{name}` has no effect on a {level}", comment.at, hint=hint)
        return
    if comment.text.startswith(IGNORED_PREFIXES):
        return
    if not comment.text[:1].isalpha():
        _warn_space(comment, findings)
        return
    suggestion = REGISTRY.suggestion(comment.text)
    if not language.is_ours(comment.text) and not suggestion:
        return
    last = name.rpartition(":")[2]
    hint = ""
    if name.startswith("operator-sdk:gen-csv:"):
        hint = f"since operator-sdk 1.0, it is spelled `+{CSV}:…`"
    elif suggestion:
        hint = f"did you mean `+{suggestion}`?"
    elif REGISTRY.find(VALIDATION + last[:1].upper() + last[1:], MarkerLevel.FIELD):
        hint = f"did you mean `+{VALIDATION}{last[:1].upper()}{last[1:]}`?"
    elif REGISTRY.find(name + "=", level):
        hint = "it needs a value"
    # A name up to the first `=` may contain an argument, which the intended marker does not.
    shown = ":".join(name.split(":")[: suggestion.count(":") + 1]) if suggestion else name
    findings.add("API004", f"`+{shown}` is not a known marker", comment.at, hint=hint)


def _warn_space(comment: Comment, findings: Findings) -> None:
    """Warn about `+ kubebuilder:…`, which the reference treats as a comment."""
    text = comment.text.lstrip(" \t+")
    if REGISTRY.levels(text):
        name = REGISTRY.name(text)
        message = f"`+ {name}` is not a marker"
        findings.add("API004", message, comment.at, hint=f"write `+{name}`, without a space")
