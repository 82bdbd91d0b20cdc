"""Rules about install modes: the namespaces that an operator can watch according to its CSV."""

from __future__ import annotations

from collections.abc import Iterator

from olmkit.base.diagnostics import Related, Severity
from olmkit.bundle.model import INSTALL_MODES, Bundle
from olmkit.rules import fixes
from olmkit.rules.engine import SOUND_SUITE, Finding, rule


@rule("CSV012", "repeated-install-mode", suite=SOUND_SUITE)
def repeated_install_mode(bundle: Bundle) -> Iterator[Finding]:
    """An install mode is listed more than once.

    Why: OLM cannot choose between the entries and rejects the whole CSV. You notice this
    only when you install the bundle.

    Fix: keep one entry for each install mode.
    """
    csv = bundle.csv
    seen: dict[str, int] = {}
    for index, mode in enumerate(csv.install_modes if csv else ()):
        first = seen.setdefault(mode.type, index)
        if csv is not None and first != index:
            yield Finding(
                f"install mode `{mode.type}` is listed more than once",
                at=csv.at("spec", "installModes", index),
                hint="keep one entry for each install mode",
                related=(Related(csv.at("spec", "installModes", first), "first listed here"),),
                fix=fixes.remove_entry(csv.document, ("spec", "installModes", index))
                if mode == csv.install_modes[first]
                else None,
            )


@rule("CSV016", "no-install-modes")
def no_install_modes(bundle: Bundle) -> Iterator[Finding]:
    """The CSV lists no install modes.

    Why: OLM then treats all modes as unsupported, and cannot install the operator.

    Fix: list the four modes, each with `supported: true` or `supported: false`.
    """
    csv = bundle.csv
    if csv is not None and not csv.install_modes and csv.spec:
        yield Finding(
            "install modes not found",
            at=csv.at("spec", "installModes"),
            hint=f"list {', '.join(f'`{mode}`' for mode in INSTALL_MODES)} in `spec.installModes`",
        )


@rule("CSV018", "no-supported-install-mode")
def no_supported_install_mode(bundle: Bundle) -> Iterator[Finding]:
    """The CSV supports no install mode.

    Why: OLM cannot install the operator.

    Fix: set `supported: true` for at least one mode, usually `AllNamespaces`.
    """
    csv = bundle.csv
    if csv is not None and csv.install_modes and not any(m.supported for m in csv.install_modes):
        yield Finding(
            "none of InstallModeTypes are supported",
            at=csv.at("spec", "installModes"),
            hint="set `supported: true` for at least one, usually `AllNamespaces`",
        )


@rule("CSV030", "unknown-install-mode", suite=SOUND_SUITE)
def unknown_install_mode(bundle: Bundle) -> Iterator[Finding]:
    """An install mode is unknown.

    Why: OLM ignores it, and the intended mode counts as unsupported. The finding is a
    warning if another mode is supported.

    Fix: correct its name.
    """
    csv = bundle.csv
    modes = csv.install_modes if csv else ()
    usable = any(mode.supported for mode in modes if mode.type in INSTALL_MODES)
    for index, mode in enumerate(modes):
        if csv is not None and mode.type not in INSTALL_MODES:
            import difflib

            near = difflib.get_close_matches(mode.type, INSTALL_MODES, n=1)
            yield Finding(
                f"install mode `{mode.type}` does not exist",
                at=csv.at("spec", "installModes", index, "type"),
                hint=f"did you mean `{near[0]}`"
                if near
                else f"modes are {', '.join(INSTALL_MODES)}",
                severity=Severity.WARNING if usable else None,
                fix=fixes.replace_value(
                    csv.document, ("spec", "installModes", index, "type"), near[0]
                )
                if near and near[0] not in {other.type for other in modes}
                else None,
            )
