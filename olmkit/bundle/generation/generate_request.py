"""The request for a bundle: the user's settings and facts of the project."""

from __future__ import annotations

from dataclasses import dataclass

from olmkit.base.diagnostics import ConfigurationError, InputError
from olmkit.base.versions import Version


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """The user's request, and facts of the project.

    With an empty `version`, that of the base is used. `created_at` is the time to write; if empty,
    that of the base or of the existing CSV is used.
    """

    package: str
    builder: str
    project_layout: str = "unknown"
    version: str = ""
    version_from: str = "`--version`"
    extra_service_accounts: tuple[str, ...] = ()
    created_at: str = ""


def check_version(version: str) -> None:
    """Raise `ConfigurationError` unless `version` is empty or a version that a bundle can have."""
    if not version:
        return
    hint = "a version is MAJOR.MINOR.PATCH with an optional `-pre.release`, such as `1.2.3-rc.1`"
    try:
        parsed = Version.parse(version)
    except InputError as error:
        if _is_version(version.removeprefix("v")):
            hint = f"pass `--version {version.removeprefix('v')}`"
        reason = error.message.partition(": ")[2] or error.message
        raise ConfigurationError(
            f"{version} is not a valid semantic version: {reason}", hint=hint
        ) from None
    if parsed.build:
        raise ConfigurationError(
            f"{version} is not a version that a bundle can have: a build part after `+` cannot "
            "be part of an object's name",
            hint=f"pass `--version {parsed.without_build}`",
        )


def _is_version(text: str) -> bool:
    try:
        Version.parse(text)
    except InputError:
        return False
    return True
